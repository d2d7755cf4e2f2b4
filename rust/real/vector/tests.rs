//! Against double-double (itself held against 2500-bit values), over all magnitudes.

use super::*;
use crate::real::{DoubleDouble, Real};
use proptest::prelude::*;

/// Distance of `value` from `exact · 2^shift` in units in the last place of the latter, at least 2^-1074.
fn ulps(value: f64, exact: DoubleDouble, shift: i32) -> f64 {
    let lifted = value * 2f64.powi(-shift); // exact: by a positive power where shift < 0
    let least = 2f64.powi(-1074 / 2) * 2f64.powi(-1074 / 2 - shift);
    let binade = f64::from_bits(exact.high.to_bits() & (0x7ff << 52)).abs();
    let ulp = (binade * f64::EPSILON).max(least);
    ((lifted - exact.high) - exact.low).abs() / ulp
}

/// The largest error of `exp` over `x`; results too small for a low part are compared 2^300 times larger.
fn worst_exp(x: &[f64]) -> f64 {
    let mut out = vec![0.0; x.len()];
    exp(x, &mut out);
    let shift = |x: f64| if x < -400.0 { -300 } else { 0 };
    let exact = |x: f64| (DoubleDouble::from(x) - DoubleDouble::LN_2.mul_f64(f64::from(shift(x)))).exp();
    x.iter().zip(&out).map(|(x, out)| ulps(*out, exact(*x), shift(*x))).fold(0.0, f64::max)
}

fn worst_exp_m1(x: &[f64]) -> f64 {
    let mut out = vec![0.0; x.len()];
    exp_m1(x, &mut out);
    x.iter().zip(&out).map(|(x, out)| ulps(*out, DoubleDouble::from(*x).exp_m1(), 0)).fold(0.0, f64::max)
}

/// `n` numbers spread evenly over `[low, high]`, with a period that no binary grid shares.
fn spread(low: f64, high: f64, n: usize) -> Vec<f64> {
    let golden = 0.618_033_988_749_894_9;
    (0..n).map(|i| low + (high - low) * (i as f64 * golden).fract()).collect()
}

/// `n` numbers of either sign whose magnitude is spread over the decades `10^low` to `10^high`.
fn spread_magnitudes(low: f64, high: f64, n: usize) -> Vec<f64> {
    spread(low, high, n).into_iter().enumerate().map(|(i, e)| 10f64.powf(e) * [1.0, -1.0][i % 2]).collect()
}

#[test]
fn the_exponential_is_within_three_quarters_of_an_ulp() {
    let errors = [
        worst_exp(&spread(-708.0, 709.78, 100_000)),
        worst_exp(&spread(-1.0, 1.0, 50_000)),
        worst_exp(&spread_magnitudes(-320.0, 2.8, 20_000)),
    ];
    assert!(errors.iter().all(|error| *error <= 0.75), "{errors:?}");
}

#[test]
fn a_subnormal_exponential_is_within_nine_tenths_of_an_ulp() {
    let error = worst_exp(&spread(-745.2, -708.0, 50_000));
    assert!(error <= 0.9, "{error}");
}

#[test]
fn the_exponential_minus_one_is_within_thirteen_tenths_of_an_ulp_also_where_it_cancels() {
    let errors = [
        worst_exp_m1(&spread(-50.0, 709.78, 100_000)),
        worst_exp_m1(&spread(-1.5, 1.5, 100_000)),
        worst_exp_m1(&spread_magnitudes(-290.0, 0.0, 50_000)),
    ];
    assert!(errors.iter().all(|error| *error <= 1.3), "{errors:?}");
}

#[test]
fn the_ends_of_the_range_are_those_of_the_functions() {
    let x = [f64::INFINITY, f64::MAX, 709.79, -745.14, f64::MIN, f64::NEG_INFINITY, 0.0, -0.0, 5e-324, -5e-324];
    let (mut e, mut m) = ([1.0; 10], [1.0; 10]);
    exp(&x, &mut e);
    exp_m1(&x, &mut m);
    let inf = f64::INFINITY;
    assert_eq!(e, [inf, inf, inf, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
    assert_eq!(m.map(f64::to_bits), [inf, inf, inf, -1.0, -1.0, -1.0, 0.0, -0.0, 5e-324, -5e-324].map(f64::to_bits));
    for x in [f64::NAN, -f64::NAN] {
        let mut out = [0.0];
        exp(&[x], &mut out);
        assert!(out[0].is_nan());
        exp_m1(&[x], &mut out);
        assert!(out[0].is_nan());
    }
}

proptest! {
    #[test]
    fn an_element_has_the_same_bits_wherever_it_stands(
        x in prop::collection::vec(prop_oneof![-750.0..720.0_f64, -1.0..1.0_f64, any::<f64>()], 1..70),
        from in 0_usize..70,
        length in 1_usize..70,
    ) {
        let from = from % x.len();
        let to = (from + length).min(x.len());
        for function in [exp, exp_m1] {
            let (mut whole, mut part, mut alone) = (vec![0.0; x.len()], vec![0.0; to - from], [0.0]);
            function(&x, &mut whole);
            function(&x[from..to], &mut part);
            for (i, part) in part.iter().enumerate() {
                function(&x[from + i..=from + i], &mut alone);
                let same = whole[from + i].to_bits() == part.to_bits() && part.to_bits() == alone[0].to_bits();
                prop_assert!(same || part.is_nan() && whole[from + i].is_nan() && alone[0].is_nan());
            }
        }
    }
}
