//! Laws of the closed form; independent digits come from mpmath, in the tests of the Python package.

use super::*;
use crate::real::Scaled;

/// Double-double operations, a few hundred of them on numbers of size one, between well-conditioned factors.
const TOLERANCE: f64 = 1e-29;

fn exactly(v: &[f64]) -> Vec<DoubleDouble> {
    v.iter().map(|v| DoubleDouble::from_f64(*v)).collect()
}

fn off(found: &[DoubleDouble], truth: &[DoubleDouble]) -> f64 {
    assert_eq!(found.len(), truth.len());
    largest(&found.iter().zip(truth).map(|(f, t)| (*f - *t).to_f64()).collect::<Vec<_>>())
}

fn one(a: f64, w: &[f64]) -> Neuron {
    let Some(neuron) = Neuron::from_weights(&exactly(&[a]), &exactly(w), DoubleDouble::ZERO) else {
        panic!("one neuron")
    };
    neuron
}

const X: [f64; 6] = [1.0, 0.5, -0.25, 0.75, -1.0, 0.5];

#[test]
fn the_end_fits_the_data_and_is_stationary_for_either_sign_of_delta_and_of_the_outer_weight() {
    let (x, y) = (Rows::from_parts(&X, 2, 3), exactly(&[1.0, -0.3]));
    for (a, w) in [(1.5, [0.3, -0.2, 0.1]), (0.2, [1.0, 2.0, -0.5]), (1e-8, [1e-8, 0.0, 1e-9]), (40.0, [3.0, 1.0, 2.0])]
    {
        for sign in [1.0, -1.0] {
            let (beta, report) = limit(x, &y, &one(a, &w), sign);
            let size = beta.iter().fold(0.0, |m: f64, b| m.max(b.to_f64().abs()));
            assert!(largest(&report.residual) <= TOLERANCE * size, "{:?}", report.residual);
            assert!(report.stationarity <= TOLERANCE, "a = {a}, sign {sign}: {:e}", report.stationarity);
            assert!(largest(&report.backward_error) <= TOLERANCE * size);
            assert!(report.reachable && report.potential_value.to_f64() > 0.0);
        }
    }
}

#[test]
fn without_hidden_weights_outside_of_the_span_the_end_is_the_interpolator_of_least_norm() {
    // w(0) = 0: β = Xᵀμ with XXᵀμ = y.
    let (x, y) = (Rows::from_parts(&[3.0, 4.0], 1, 2), exactly(&[5.0]));
    let (beta, report) = limit(x, &y, &one(1.0, &[0.0, 0.0]), 1.0);
    let fifth = DoubleDouble::from_f64(1.0) / DoubleDouble::from_f64(5.0);
    assert!(off(&beta, &[fifth.mul_f64(3.0), fifth.mul_f64(4.0)]) <= TOLERANCE);
    // D_Q = ¾a‖w‖² + ¼(a − 1)²(a + 2) with ‖β‖ = 1, δ = 1: a² = (√5 + 1)/2, ‖w‖ = 1/a.
    let a = (DoubleDouble::from_f64(5.0).sqrt().add_f64(1.0)).mul_f64(0.5).sqrt();
    let rest = a.add_f64(-1.0);
    let value = (DoubleDouble::from_f64(0.75) / a) + (rest * rest * a.add_f64(2.0)).mul_f64(0.25);
    assert!(off(&[report.potential_value], &[value]) <= TOLERANCE);
}

#[test]
fn units_change_nothing() {
    // β and δ scale with c, the weights with √c: exact for c = 4^k.
    let (x, y) = (Rows::from_parts(&X, 2, 3), [1.0, -0.3]);
    let w = [0.3, -0.2, 0.1];
    let (beta, report) = limit(x, &exactly(&y), &one(0.7, &w), 1.0);
    for k in [-200, -40, 40, 200] {
        let power = |e: i32| 2.0_f64.powi(e);
        let scaled_w = w.map(|w| w * power(k));
        let (found, scaled) = limit(x, &exactly(&y.map(|y| y * power(2 * k))), &one(0.7 * power(k), &scaled_w), 1.0);
        let back: Vec<_> = found.iter().map(|b| exactly_scaled(*b, -2 * k)).collect();
        assert_eq!(off(&back, &beta), 0.0, "k = {k}");
        assert_eq!(scaled.stationarity, report.stationarity, "k = {k}");
        assert_eq!(exactly_scaled(scaled.potential_value, -3 * k), report.potential_value, "k = {k}");
    }
}

#[test]
fn neurons_in_a_line_are_one_and_others_are_not() {
    // ‖a‖ = 5 and W = a uᵀ.
    let u = [0.5, -0.25, 1.0];
    let rows: Vec<f64> = [3.0, 4.0].iter().flat_map(|a| u.map(|u| a * u)).collect();
    let Some(found) = Neuron::from_weights(&exactly(&[3.0, 4.0]), &exactly(&rows), DoubleDouble::ZERO) else {
        panic!("a line")
    };
    let expected = one(5.0, &u.map(|u| 5.0 * u));
    assert!(off(&found.w, &expected.w) <= TOLERANCE && off(&[found.delta], &[expected.delta]) <= 100.0 * TOLERANCE);
    let mut bent = rows;
    bent[5] += 1e-15;
    assert!(Neuron::from_weights(&exactly(&[3.0, 4.0]), &exactly(&bent), DoubleDouble::ZERO).is_none());
}

#[test]
fn contradicting_copies_of_a_sample_are_one_with_their_mean() {
    let neuron = one(0.7, &[0.3, -0.2, 0.1]);
    let (single, report) = limit(Rows::from_parts(&X, 2, 3), &exactly(&[1.0, -0.3]), &neuron, 1.0);
    let twice: Vec<f64> = X.iter().chain(&X[..3]).copied().collect();
    let (both, shared) = limit(Rows::from_parts(&twice, 3, 3), &exactly(&[0.75, -0.3, 1.25]), &neuron, 1.0);
    assert!(!shared.reachable && off(&both, &single) <= TOLERANCE);
    let halves = [shared.multipliers[0], shared.multipliers[2], shared.multipliers[0] + shared.multipliers[2]];
    assert!(off(&halves[..1], &halves[1..2]) <= TOLERANCE);
    assert!(off(&halves[2..], &report.multipliers[..1]) <= TOLERANCE);
}

#[test]
fn a_scale_beyond_binary64_has_the_weights_of_its_root() {
    // α = e^-1600, s = 0.6: |a| = 2e^-800 and ‖w‖ = ½e^-800 are 0 in binary64; with α = e^-1200 they are not.
    let (up, shape) = (exactly(&[3e200, -4e200]), DoubleDouble::from_f64(0.6));
    let (a, w) = weights(&up, Scaled::exp(DoubleDouble::from_f64(-1200.0)), shape);
    let unit = DoubleDouble::from_f64(-600.0).exp();
    let close = |found: DoubleDouble, truth: DoubleDouble| ((found - truth) / truth).to_f64().abs() < 1e-15;
    // 0.6 is the float next to it.
    assert!(close(a, unit.mul_f64(2.0)) && close(w[0], unit.mul_f64(0.3)) && close(w[1], unit.mul_f64(-0.4)), "{w:?}");
    let norm = (w[0] / unit) * (w[0] / unit) + (w[1] / unit) * (w[1] / unit);
    let product = (a / unit) * norm.sqrt();
    assert!((product.add_f64(-1.0)).to_f64().abs() < 1e-29, "|a|‖w‖ = {product:?} α");
    let found = Neuron::from_scale_shape(&up, Scaled::exp(DoubleDouble::from_f64(-1600.0)), shape);
    assert!(found.w.iter().all(|w| w.to_f64() == 0.0) && found.delta.to_f64() == 0.0);
}
