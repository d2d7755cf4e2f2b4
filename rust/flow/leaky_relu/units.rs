//! Powers of two: units in which data and weights are about 1, and numbers far outside the range of binary64.
//!
//! A neuron's own equations are linear in its weights given the residual, so every neuron may be measured in a unit `2^e`
//! of its own, and `e` is any integer: 10^-5000 is a start like any other.

use crate::real::{DoubleDouble, Real};

/// `ln 2` to 32 bits, so that its product with an exponent below 2^21 is exact, and the rest of it (Cody & Waite).
const LN_2: (f64, f64) = (0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10);

/// ln 2 in three parts, which with any exponent below 2^41 make 2^-104 of the rest of an argument of double-double.
const LN_2_PARTS: [f64; 3] = [core::f64::consts::LN_2, 2.319_046_813_846_299_6e-17, 5.707_708_438_416_212e-34];

/// `x · 2^e` for an integer `e`; 0 or infinite outside the range of binary64.
pub(super) fn scaled<R: Real>(x: R, e: f64) -> R {
    let e = e.clamp(-2400.0, 2400.0);
    let third = (e / 3.0).trunc();
    let [third, rest] = [third, e - 2.0 * third].map(|e| R::from_f64(e.exp2()));
    x * third * third * rest
}

/// The integer `e` with `2^e ≤ |x| < 2^(e+1)`; 0 for 0 and what is not finite.
pub(super) fn exponent(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return 0.0;
    }
    let wide = x * 2.0_f64.powi(200);
    // Subnormal numbers, and those whose multiple overflows, are told apart by their size.
    let (x, shift) = if x.abs() < 1e-200 { (wide, 200.0) } else { (x, 0.0) };
    ((x.to_bits() >> 52) & 0x7ff) as f64 - 1023.0 - shift
}

/// The largest magnitude; NaN if one is.
pub(super) fn largest<R: Real>(v: &[R]) -> R {
    v.iter().fold(R::ZERO, |most, v| if v.abs() > most || v.to_f64().is_nan() { v.abs() } else { most })
}

/// The same, rounded.
pub(super) fn peak<R: Real>(v: &[R]) -> f64 {
    largest(v).to_f64()
}

/// `e^x = 2^k · e^rest`: `(k, e^rest)` with `|rest| ≤ ½ ln 2`, the argument kept to the last place.
pub(super) fn split_exponential(x: f64) -> (f64, f64) {
    let k = (x * core::f64::consts::LOG2_E).round();
    let rest = (x - k * LN_2.0) - k * LN_2.1;
    (k, rest.exp())
}

/// The same in double-double, which keeps the argument to 2^-104 of the rest: `k` times each part of ln 2 is exact.
pub(super) fn split_exactly(x: DoubleDouble) -> (f64, DoubleDouble) {
    let k = (x.high * core::f64::consts::LOG2_E).round();
    let rest = LN_2_PARTS.iter().fold(x, |rest, part| rest - DoubleDouble::from_f64(*part).mul_f64(k));
    (k, rest.exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_by_a_power_of_two_is_exact_wherever_the_result_is_normal() {
        for (x, e) in [(1.5, -900.0), (1.25e-300, 2000.0), (1.75e300, -2010.0), (3.0, 0.0)] {
            assert_eq!(scaled(scaled(x, e), -e), x);
            assert_eq!(exponent(scaled(x, e)), exponent(x) + e);
        }
        assert_eq!((scaled(1.0, -5000.0), scaled(1.0, 5000.0)), (0.0, f64::INFINITY));
        assert_eq!((exponent(5e-324), exponent(1.0), exponent(0.0)), (-1074.0, 0.0, 0.0));
    }

    #[test]
    fn the_two_parts_of_ln_2_make_an_exponential_right_to_the_last_place_of_its_argument() {
        // e^-11513 = 2^k e^rest with k = −16610; rest from 50 digits of ln 2.
        let (k, mantissa) = split_exponential(-11513.0);
        assert_eq!(k, -16610.0);
        assert!((mantissa.ln() - 0.174_669_100_691_589_42_f64).abs() < 1e-15);
        let (k, exact) = split_exactly(DoubleDouble::from_f64(-11513.0));
        assert_eq!(k, -16610.0);
        let rest = DoubleDouble::from_parts(0.174_669_100_691_589_42, 1.797_386_172_304_433_8e-18);
        assert!(((exact.ln() - rest) / rest).to_f64().abs() < 1e-30, "{:?}", exact.ln());
    }
}
