//! `x^y = e^(y ln x)` of double-double numbers.
//!
//! The relative error of `x^y` is the absolute one of `y ln x`, up to 745 in size: a logarithm of 106 bits would cost ten of
//! them. So `ln x` and `y ln x` carry a third part. With `x = 2^k m`, `m` in `[1/√2, √2]` and `s = (m − 1)/(m + 1)`,
//! `|s| ≤ 0.172`,
//!
//! ```text
//! ln x = k ln 2 + 2s + 2s (s²/3 + s⁴/5 + …)
//! ```
//!
//! `k ln 2` and the quotient `s` are formed in three parts, the series in two: it is below 0.01 of `2s`, so its error of
//! 19 u² is 0.19 u² of the logarithm. The rejected alternatives: a Newton step on `e^L = x` needs the exponential to three
//! parts, a table of `ln` has three columns of hundred numbers.

use super::functions::{
    Evaluate, LN_2_PARTS, exp_of_reduced, exponent, mantissa_and_exponent, subtract_multiple_of_ln_2,
};
use super::triple::Triple;
use super::{DoubleDouble, quick_two_sum, two_prod, two_sum};
use crate::real::Real;
use crate::real::dispatch::dispatch;

/// `1/3, 1/5, …, 1/21` in two parts: rounded to 80 digits and split.
const INVERSE_ODD: [DoubleDouble; 10] = [
    DoubleDouble { high: 0.333_333_333_333_333_3, low: 1.850_371_707_708_594e-17 },
    DoubleDouble { high: 0.2, low: -1.110_223_024_625_156_6e-17 },
    DoubleDouble { high: 0.142_857_142_857_142_85, low: 7.930_164_461_608_26e-18 },
    DoubleDouble { high: 0.111_111_111_111_111_1, low: 6.167_905_692_361_980_4e-18 },
    DoubleDouble { high: 0.090_909_090_909_090_91, low: -2.523_234_146_875_356e-18 },
    DoubleDouble { high: 0.076_923_076_923_076_93, low: -4.270_088_556_250_602e-18 },
    DoubleDouble { high: 0.066_666_666_666_666_67, low: 9.251_858_538_542_971e-19 },
    DoubleDouble { high: 0.058_823_529_411_764_705, low: 8.163_404_592_832_033e-19 },
    DoubleDouble { high: 0.052_631_578_947_368_42, low: 2.921_639_538_487_254e-18 },
    DoubleDouble { high: 0.047_619_047_619_047_616, low: 2.643_388_153_869_42e-18 },
];

/// The terms of the series beyond, in binary64: the first is below 2^-53 of the sum, the next after the last below 2^-110.
const FIRST_SMALL: f64 = 23.0;
/// How many they are.
const SMALL_TERMS: u32 = 11;

/// Beyond this `|y ln x|` the result is inf or 0.
const OVERFLOW: f64 = 800.0;

/// `x^y`, relative error below `(6 + |y ln x|/16) · 2^-104`; special values as in C (IEEE 754 `pow`): 1 for `y = 0` and
/// `x = 1`, NaN for `x < 0` and a `y` that is no integer, signed where `y` is an odd one.
pub(super) fn pow(x: DoubleDouble, y: DoubleDouble) -> DoubleDouble {
    if x == DoubleDouble::ONE || y.high == 0.0 {
        return DoubleDouble::ONE;
    }
    if y.high.is_nan() {
        return y;
    }
    if y.high.is_infinite() && x.is_finite() {
        // Only the side of 1 counts, which `x.high` may hide.
        let size = x.abs();
        let base = if size == DoubleDouble::ONE {
            1.0
        } else if size > DoubleDouble::ONE {
            2.0
        } else {
            0.5
        };
        return DoubleDouble::from(f64::powf(base, y.high));
    }
    let size = if x.high == 0.0 || !x.is_finite() || !y.is_finite() {
        DoubleDouble::from(x.high.abs().powf(y.high))
    } else {
        dispatch(Evaluate(|x| pow_kernel(x, y), x.abs()))
    };
    if x.high.is_sign_positive() || x.high.is_nan() {
        return size;
    }
    match parity(y) {
        Parity::Odd => -size,
        Parity::Even => size,
        Parity::NoInteger if x.high == 0.0 || x.high.is_infinite() => size,
        Parity::NoInteger => DoubleDouble::from(f64::NAN),
    }
}

enum Parity {
    Odd,
    Even,
    NoInteger,
}

/// Of `high + low`: both parts are integers or the sum is none, as `low` is below half a unit of `high`.
fn parity(y: DoubleDouble) -> Parity {
    if !y.is_finite() {
        return Parity::Even;
    }
    if y.high.fract() != 0.0 || y.low.fract() != 0.0 {
        return Parity::NoInteger;
    }
    // Exact, and even for every number of 2^53 or more.
    let odd = |part: f64| part % 2.0 != 0.0;
    if odd(y.high) == odd(y.low) { Parity::Even } else { Parity::Odd }
}

/// For finite `x > 0` and `y`: 0.2 u² of `y ln x` from the logarithm, the 18 u² of `exp`, and a sum for the third part.
#[inline(always)]
fn pow_kernel(x: DoubleDouble, y: DoubleDouble) -> DoubleDouble {
    let Triple([first, second, third]) = ln(x);
    let estimate = y.high * first;
    if estimate.is_nan() || estimate.abs() > OVERFLOW {
        return DoubleDouble::from(estimate.exp());
    }
    let (p, p_error) = two_prod(y.high, first);
    let (q, q_error) = two_prod(y.high, second);
    let (r, r_error) = two_prod(y.low, first);
    let exact = Triple::of(&[p, p_error, q, r, q_error + r_error + y.low * second + y.high * third]);
    let exponents = exact.leading();
    if exponents.high > 710.0 || exponents.high < -746.0 {
        return DoubleDouble::from(exponents.high.exp());
    }
    let k = exponent(exponents.high);
    exp_of_reduced(subtract_multiple_of_ln_2(exponents, f64::from(k)).add_f64(exact.0[2]), k)
}

/// `ln x` within 0.2 u², for a finite `x > 0`.
#[inline(always)]
fn ln(x: DoubleDouble) -> Triple {
    let (mantissa, k) = mantissa_and_exponent(x);
    let s = quotient(mantissa);
    let rest = s.leading() * series(s.leading());
    let k = f64::from(k);
    // The first two are exact (11 bits times 42).
    let [first, second, third] = LN_2_PARTS.map(|part| k * part);
    let [s_first, s_second, s_third] = s.0;
    Triple::of(&[first, 2.0 * s_first, second, 2.0 * rest.high, 2.0 * s_second, third, 2.0 * rest.low, 2.0 * s_third])
}

/// `(m − 1)/(m + 1)`: the double-double quotient and what it leaves of the dividend, over the divisor.
#[inline(always)]
fn quotient(m: DoubleDouble) -> Triple {
    let (dividend, dividend_low) = two_sum(m.high - 1.0, m.low); // exact: m.high is in [½, 2]
    let (sum, sum_error) = two_sum(m.high, 1.0);
    let (sum_error, lost) = two_sum(sum_error, m.low);
    let (divisor, divisor_low) = quick_two_sum(sum, sum_error);
    let (n, d) = (DoubleDouble { high: dividend, low: dividend_low }, DoubleDouble { high: divisor, low: divisor_low });
    let s = n / d;
    let (p, p_error) = two_prod(s.high, d.high);
    let (q, q_error) = two_prod(s.high, d.low);
    let (r, r_error) = two_prod(s.low, d.high);
    // n − s d cancels to 2^-102 of n; the last terms are below 2^-105 of it.
    let small = s.low * d.low + s.high * lost;
    let terms = [n.high, -p, n.low, -p_error, -q, -r, -q_error, -r_error, -small];
    let Triple([remainder, ..]) = Triple::of(&terms);
    Triple::of(&[s.high, s.low, remainder / d.high])
}

/// `s²/3 + s⁴/5 + …` for `|s| ≤ 0.172`, relative error below 14 u².
#[inline(always)]
fn series(s: DoubleDouble) -> DoubleDouble {
    let z = s * s;
    let small = (0..SMALL_TERMS).rev().fold(0.0, |sum, n| sum * z.high + 1.0 / (FIRST_SMALL + 2.0 * f64::from(n)));
    INVERSE_ODD.iter().rev().fold(DoubleDouble::from(small), |sum, c| sum * z + *c) * z
}
