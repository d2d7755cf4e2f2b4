//! The two implementations against each other, homogeneity bit by bit, and the identity of three points.

use super::*;
use crate::potential::neuron;
use crate::real::Real;
use proptest::prelude::*;

const UNIT: f64 = DoubleDouble::UNIT_ROUNDOFF;

fn potential(delta: f64) -> NeuronPotential {
    NeuronPotential { delta: DoubleDouble::from(delta), linear: None }
}

fn vector(values: &[f64]) -> Vec<DoubleDouble> {
    values.iter().map(|x| DoubleDouble::from(*x)).collect()
}

fn near(found: f64, expected: f64) -> bool {
    found == expected || (found - expected).abs() <= 40.0 * f64::EPSILON * expected.abs() + f64::MIN_POSITIVE
}

fn delta() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        (prop_oneof![Just(-1.0), Just(1.0)], -200.0..200.0_f64).prop_map(|(s, d)| s * 10.0_f64.powf(d))
    ]
}

proptest! {
    #[test]
    fn the_leading_digits_are_those_of_binary64(decade in -200.0..200.0_f64, to in -200.0..200.0_f64, delta in delta()) {
        let (x, y) = (10.0_f64.powf(decade), 10.0_f64.powf(to));
        let (q, point) = (potential(delta), vector(&[-x]));
        prop_assert!(near(q.value(&point).high, neuron::value(x, delta)));
        prop_assert!(near(-q.gradient(&point)[0].high, neuron::gradient(x, delta)));
        prop_assert!(near(q.hessian(&point)[0].high, neuron::hessian(x, delta)));
        prop_assert!(near(q.bregman(&point, &vector(&[-y])).high, neuron::bregman(x, y, x - y, delta)));
        // Across the point, beside an axis.
        let plane = q.hessian(&vector(&[0.0, x]));
        prop_assert!(near(plane[0].high, neuron::hessian_across(x, delta)));
        prop_assert!(near(plane[3].high, neuron::hessian(x, delta)));
        prop_assert_eq!([plane[1].high, plane[2].high], [0.0; 2]);
    }

    #[test]
    fn it_is_homogeneous_bit_by_bit(
        beta in prop::array::uniform3(-2.0..2.0_f64), other in prop::array::uniform3(-2.0..2.0_f64),
        delta in -3.0..3.0_f64, k in -100..100_i32,
    ) {
        // Q_(cδ)(cβ) = c^(3/2) Q_δ(β), and powers of four have exact roots.
        let (c, root) = (4.0_f64.powi(k), 2.0_f64.powi(k));
        let (q, far) = (potential(delta), potential(c * delta));
        let (here, there) = (vector(&beta), vector(&other));
        let (a, b) = (vector(&beta.map(|x| c * x)), vector(&other.map(|x| c * x)));
        prop_assert_eq!(far.value(&a), q.value(&here).mul_f64(c * root));
        prop_assert_eq!(far.bregman(&a, &b), q.bregman(&here, &there).mul_f64(c * root));
        prop_assert_eq!(far.gradient(&a), q.gradient(&here).iter().map(|g| g.mul_f64(root)).collect::<Vec<_>>());
        prop_assert_eq!(far.hessian(&a), q.hessian(&here).iter().map(|h| h.mul_f64(1.0 / root)).collect::<Vec<_>>());
    }

    #[test]
    fn the_divergence_is_the_excess_over_the_tangent(
        beta in prop::array::uniform3(-2.0..2.0_f64), other in prop::array::uniform3(-2.0..2.0_f64),
        z in prop::array::uniform3(-2.0..2.0_f64), delta in -3.0..3.0_f64,
    ) {
        let q = NeuronPotential { linear: Some(vector(&z)), ..potential(delta) };
        let (here, there) = (vector(&beta), vector(&other));
        let slope = q.gradient(&there);
        let tangent = (0..3).fold(q.value(&there), |sum, i| sum + slope[i] * (here[i] - there[i]));
        let error = (q.bregman(&here, &there) - (q.value(&here) - tangent)).abs().high;
        // Values below 40 and slopes below 10 of either sign, each within 20 units, 100 of the divergence.
        prop_assert!(error <= UNIT * 20.0 * 100.0 + UNIT * 100.0 * q.bregman(&here, &there).high, "{}", error / UNIT);
    }

    #[test]
    fn close_points_keep_their_digits(
        beta in prop::array::uniform3(0.5..2.0_f64), step in prop::array::uniform3(-1.0..1.0_f64), delta in -3.0..3.0_f64,
    ) {
        prop_assume!(step.iter().any(|x| x.abs() > 0.1));
        let q = potential(delta);
        let (here, step) = (vector(&beta), step.map(|x| DoubleDouble::from(1e-16 * x)));
        let there: Vec<_> = here.iter().zip(&step).map(|(x, s)| *x + *s).collect();
        let curvature = q.hessian(&here);
        let quadratic = (0..9).fold(DoubleDouble::ZERO, |sum, k| sum + step[k / 3] * step[k % 3] * curvature[k]).mul_f64(0.5);
        // The cubic term is 1e-16 of it times third derivatives; the points are rounded to 1e-16 of the step.
        let found = q.bregman(&there, &here);
        prop_assert!((found - quadratic).abs().high <= 1e-14 * quadratic.high, "{found} against {quadratic}");
    }
}

#[test]
fn the_kink_is_where_binary64_has_it() {
    for delta in [0.0, -2.0] {
        let q = NeuronPotential { linear: Some(vector(&[1.0, -3.0])), ..potential(delta) };
        let zero = vector(&[0.0, 0.0]);
        assert_eq!(q.value(&zero), DoubleDouble::ZERO);
        assert_eq!(q.gradient(&zero), vector(&[1.0, -3.0]));
        assert_eq!(
            q.hessian(&zero).iter().map(|h| h.high).collect::<Vec<_>>(),
            [f64::INFINITY, 0.0, 0.0, f64::INFINITY]
        );
        assert_eq!(q.bregman(&zero, &zero), DoubleDouble::ZERO);
    }
    let smooth = potential(2.25).hessian(&vector(&[0.0, 0.0]));
    assert_eq!(smooth, vector(&[1.0, 0.0, 0.0, 1.0]));
}
