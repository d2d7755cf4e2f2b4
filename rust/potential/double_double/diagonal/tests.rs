//! The two implementations against each other, and the laws between value, gradient and divergence to thirty digits.

use super::*;
use crate::potential::HyperbolicEntropy as Plain;
use proptest::prelude::*;

const UNIT: f64 = DoubleDouble::UNIT_ROUNDOFF;

fn precise(log_a: f64, log_b: f64) -> HyperbolicEntropy {
    HyperbolicEntropy { log_a: DoubleDouble::from(log_a), log_b: DoubleDouble::from(log_b) }
}

/// Relative difference of a double-double number from what binary64 says; 0 where both over- or underflow.
fn difference(found: DoubleDouble, expected: f64) -> f64 {
    if found.high == expected || expected.abs() < f64::MIN_POSITIVE && found.high.abs() < 1e-307 {
        return 0.0;
    }
    (found.high - expected).abs() / expected.abs()
}

fn size() -> impl Strategy<Value = f64> {
    (prop_oneof![Just(-1.0), Just(1.0)], -250.0..250.0_f64).prop_map(|(sign, decade)| sign * 10.0_f64.powf(decade))
}

proptest! {
    #[test]
    fn the_leading_digits_are_those_of_binary64(x in size(), middle in -600.0..600.0_f64, bias in -60.0..60.0_f64) {
        for (log_a, log_b) in [(middle, middle), (middle + bias, middle - bias), (middle, f64::NEG_INFINITY)] {
            let (q, plain) = (precise(log_a, log_b), Plain { log_a, log_b });
            // What the binary64 ones promise, beside the rounding of their logarithms.
            let rounding = 2.0_f64.powi(-53);
            let allowed = rounding * (40.0 + 2.0 * (log_a.abs() + log_b.abs().min(1e3) + x.abs().ln().abs()));
            let value = difference(q.value(DoubleDouble::from(x)), plain.value(x));
            prop_assert!(value <= allowed, "value off by {}", value);
            if log_b.is_infinite() && x < 0.0 {
                continue; // outside of the domain
            }
            let hessian = difference(q.hessian(DoubleDouble::from(x)), plain.hessian(x));
            prop_assert!(hessian <= allowed, "hessian off by {}", hessian);
            // A difference of logarithms: relative to the larger of them.
            let gradient = (q.gradient(DoubleDouble::from(x)).high - plain.gradient(x)).abs();
            let terms = plain.gradient(x).abs() + plain.shift().abs().min(1e3) * f64::from(u8::from(log_a != log_b));
            prop_assert!(gradient <= allowed * terms, "gradient off by {}", gradient);
        }
    }

    #[test]
    fn divergences_of_three_points_add_up(
        x in -3.0..3.0_f64, y in -3.0..3.0_f64, z in -3.0..3.0_f64, log_kappa in -50.0..5.0_f64, shift in -3.0..3.0_f64,
    ) {
        // D(x, z) = D(x, y) + D(y, z) + (D'(y) − D'(z))(x − y), for a start of any bias, which only adds a linear term.
        let q = precise(log_kappa + shift, log_kappa - shift);
        let [x, y, z] = [x, y, z].map(DoubleDouble::from);
        let (slopes, step) = (q.gradient(y) - q.gradient(z), x - y);
        let error = q.bregman(x, z) - (q.bregman(x, y) + q.bregman(y, z) + slopes * step);
        let terms = q.bregman(x, y) + q.bregman(y, z) + (q.gradient(y).abs() + q.gradient(z).abs()) * step.abs();
        prop_assert!(error.abs().high <= 200.0 * UNIT * (terms.high + log_kappa.abs() + 10.0));
        // and the value is the divergence from the start.
        let start = DoubleDouble::from(0.5 * log_kappa.exp() * (shift.sinh()));
        let linear = q.gradient(start).abs() * (x - start).abs() + q.value(start);
        prop_assert!((q.value(x) - q.bregman(x, start)).abs().high <= 1.01 * linear.high + 200.0 * UNIT * (10.0 + log_kappa.abs()));
    }

    #[test]
    fn close_points_keep_their_digits(decade in -60.0..60.0_f64, gap in -25.0..-16.0_f64, log_kappa in -100.0..100.0_f64) {
        // q is quadratic between them, to the square of their distance beside that of x and κ.
        let q = precise(log_kappa, log_kappa);
        let x = DoubleDouble::from(-10.0_f64.powf(decade));
        let step = x.mul_f64(10.0_f64.powf(gap));
        let quadratic = (step * q.hessian(x) * step).mul_f64(0.5);
        let found = q.bregman(x + step, x);
        prop_assert!((found - quadratic).abs().high <= quadratic.high * (2.0 * 10.0_f64.powf(gap) + UNIT / 10.0_f64.powf(gap)));
    }
}

#[test]
fn one_sided_and_fixed_coordinates_are_as_in_binary64() {
    let never = f64::NEG_INFINITY;
    let x = |value: f64| DoubleDouble::from(value);
    let positive = precise(4.0_f64.ln(), never);
    // ½ (x ln x − x + 1) to the rounding of ln 4
    let expected = (x(3.0) * x(3.0).ln() - x(2.0)).mul_f64(0.5);
    assert!((positive.value(x(3.0)) - expected).abs().high < 1e-15);
    assert_eq!(positive.value(x(-1e-300)).high, f64::INFINITY);
    assert_eq!([positive.gradient(x(0.0)).high, positive.gradient(x(-1.0)).high], [f64::NEG_INFINITY; 2]);
    assert_eq!([positive.hessian(x(0.0)).high, positive.hessian(x(-1.0)).high], [f64::INFINITY; 2]);
    assert!((positive.value(x(0.0)).high - 0.5).abs() < 1e-15);
    let negative = precise(never, 4.0_f64.ln());
    assert_eq!(negative.value(x(-3.0)), positive.value(x(3.0)));
    assert_eq!(negative.gradient(x(-3.0)), -positive.gradient(x(3.0)));
    assert_eq!([negative.gradient(x(0.0)).high, negative.gradient(x(1.0)).high], [f64::INFINITY; 2]);
    let fixed = precise(never, never);
    assert_eq!([fixed.value(x(0.0)).high, fixed.value(x(1.0)).high], [0.0, f64::INFINITY]);
    assert_eq!([-1.0, 0.0, 1.0].map(|value| fixed.gradient(x(value)).high), [never, 0.0, f64::INFINITY]);
    assert_eq!(positive.bregman(x(1.0), x(0.0)).high, f64::INFINITY);
    assert!((positive.bregman(x(0.0), x(1.0)).high - 0.5).abs() < 1e-15);
}
