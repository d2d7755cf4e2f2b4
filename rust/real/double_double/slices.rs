//! `exp` and `exp_m1` over slices of double-double numbers: the hot loop of a right-hand side in double-double. Branch-free,
//! written so that the compiler vectorises it; an element's result is the same bits wherever it stands in the slice.
//!
//! 1. `x = k ln 2 + 16 t`, `|t| ≤ 0.0217`, `ln 2` in three parts (Cody & Waite, as in `vector`);
//! 2. `p = e^t − 1` by its Taylor polynomial of degree 15, whose rest is below 2^-117 of it, the terms below 2^-54 of the
//!    first in binary64;
//! 3. `p ← 2p + p²` four times: what is squared is `e^t − 1`, so that relative errors do not double.
//!
//! Sums are those of a larger number and a smaller one, so that their order is known and three operations do for six
//! (Dekker, *Numer. Math.* 18 (1971)). Each loses at most 2 u² (`u = 2^-53`), each product 5 u²; a squaring passes on what
//! went in and adds 4 u²: 30 u² in all, 8 units of 2^-104, before the last sum.

use super::{DoubleDouble, quick_two_sum, two_prod, two_sum};
use crate::real::dispatch::{Kernel, dispatch};

/// `x ← e^x`: within 10 units of 2^-104 down to results of 2^-968, whose low parts underflow below; inf above 709.79, 0 below
/// −745.14, NaN for NaN.
pub fn exact_exp(x: &mut [DoubleDouble]) {
    dispatch(Map::<false>(x));
}

/// `x ← e^x − 1` without cancellation: within 16 units of 2^-104 of the result, of 2^-968 where that is larger; inf above
/// 709.79, −1 far below 0, NaN for NaN.
pub fn exact_exp_m1(x: &mut [DoubleDouble]) {
    dispatch(Map::<true>(x));
}

struct Map<'a, const MINUS_ONE: bool>(&'a mut [DoubleDouble]);

impl<const MINUS_ONE: bool> Kernel for Map<'_, MINUS_ONE> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        for x in self.0 {
            let (high, low) = if MINUS_ONE { exp_m1(x.high, x.low) } else { exp(x.high, x.low) };
            (x.high, x.low) = (high, low);
        }
    }
}

type Pair = (f64, f64);

/// `ln 2` in three parts, the first two of 42 bits: their products with exponents (11 bits) are exact.
const LN_2_PARTS: [f64; 3] = [0.693_147_180_559_890_3, 5.497_923_018_707_21e-14, 1.161_222_722_936_253_2e-26];

/// `1/n!` for n = 2 to 8, lowest first: rounded to 80 digits and split.
const INVERSE_FACTORIALS: [Pair; 7] = [
    (0.5, 0.0),
    (0.166_666_666_666_666_66, 9.251_858_538_542_97e-18),
    (0.041_666_666_666_666_664, 2.312_964_634_635_742_7e-18),
    (0.008_333_333_333_333_333, 1.156_482_317_317_871_4e-19),
    (0.001_388_888_888_888_889, -5.300_543_954_373_577e-20),
    (0.000_198_412_698_412_698_4, 1.720_955_829_342_070_5e-22),
    (2.480_158_730_158_73e-5, 2.151_194_786_677_588_2e-23),
];

/// `1/n!` for n = 9 to 15.
const SMALL_INVERSE_FACTORIALS: [f64; 7] = [
    2.755_731_922_398_589_3e-6,
    2.755_731_922_398_589e-7,
    2.505_210_838_544_172e-8,
    2.087_675_698_786_81e-9,
    1.605_904_383_682_161_3e-10,
    1.147_074_559_772_972_5e-11,
    7.647_163_731_819_816e-13,
];

/// 1.5·2^52: adding it rounds to an integer, which then stands in the last bits of the sum.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// `a + b` for `|a| ≥ |b|` or `a = 0`.
#[inline(always)]
fn add(a: Pair, b: Pair) -> Pair {
    let (sum, error) = quick_two_sum(a.0, b.0);
    quick_two_sum(sum, error + (a.1 + b.1))
}

#[inline(always)]
fn multiply(a: Pair, b: Pair) -> Pair {
    let (product, error) = two_prod(a.0, b.0);
    quick_two_sum(product, a.1.mul_add(b.0, a.0.mul_add(b.1, error)))
}

/// `k` and `e^(x − k ln 2) − 1` for `|x| < 800`.
#[inline(always)]
fn reduced(high: f64, low: f64) -> (f64, Pair) {
    let k = high.mul_add(core::f64::consts::LOG2_E, ROUND) - ROUND;
    // The first difference is exact: multiples of one ulp, no larger than x.
    let (first, rest) = two_sum((-k).mul_add(LN_2_PARTS[0], high), -k * LN_2_PARTS[1]);
    let (low, low_rest) = two_sum(low, -k * LN_2_PARTS[2]);
    let (sum, error) = two_sum(first, low);
    let r = quick_two_sum(sum, error + (rest + low_rest));
    let t = (0.0625 * r.0, 0.0625 * r.1);
    let small = SMALL_INVERSE_FACTORIALS.iter().rev().fold(0.0, |sum, c| t.0.mul_add(sum, *c));
    let mut sum = (small, 0.0);
    for coefficient in INVERSE_FACTORIALS.iter().rev() {
        sum = add(*coefficient, multiply(sum, t));
    }
    let mut p = add(t, multiply(t, multiply(t, sum)));
    for _ in 0..4 {
        p = add((2.0 * p.0, 2.0 * p.1), multiply(p, p));
    }
    (k, p)
}

/// `2^k` for an integer `−1022 ≤ k ≤ 1023`.
#[inline(always)]
fn power_of_two(k: f64) -> f64 {
    f64::from_bits((k + (ROUND + 1023.0)).to_bits() << 52)
}

/// The number, or the bound that it is beyond; NaN becomes one.
#[inline(always)]
fn within(high: f64, low: f64, least: f64, most: f64) -> Pair {
    let inside = high > least && high < most;
    let bound = if high >= most { most } else { least };
    (if inside { high } else { bound }, if inside { low } else { 0.0 })
}

#[inline(always)]
fn exp(high: f64, low: f64) -> Pair {
    let x = within(high, low, -746.0, 710.0);
    let (k, p) = reduced(x.0, x.1);
    let sum = add((1.0, 0.0), p);
    // 2^1024 and 2^-1075 are no binary64 numbers, their halves in the exponent are.
    let half = k.mul_add(0.5, ROUND) - ROUND;
    let (first, second) = (power_of_two(half), power_of_two(k - half));
    finished(high, sum.0 * first * second, sum.1 * first * second)
}

#[inline(always)]
fn exp_m1(high: f64, low: f64) -> Pair {
    // e^-80 is 2^-115.
    let x = within(high, low, -80.0, 710.0);
    let (k, p) = reduced(x.0, x.1);
    // k = 1024 is the only exponent that needs a second factor, 2.
    let main = if k < 1023.0 { k } else { 1023.0 };
    let power = power_of_two(main);
    let (constant, constant_low) = two_sum(power, -1.0);
    let (sum, error) = two_sum(constant, power * p.0);
    let (sum, error) = quick_two_sum(sum, error + (constant_low + power * p.1));
    let second = 1.0 + (k - main);
    finished(high, sum * second, error * second)
}

/// An infinite number has no low part, and what is not a number is none.
#[inline(always)]
fn finished(x: f64, high: f64, low: f64) -> Pair {
    let finite = high.abs() < f64::INFINITY;
    (if x.is_nan() { x } else { high }, if finite { low } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::Real;

    /// Of either function at some arguments: over the whole range, near its ends, and near 0.
    fn arguments() -> Vec<DoubleDouble> {
        let mut x: Vec<f64> = (0..4000).map(|i| 1.0e-3 * f64::from(i) * f64::from(i - 2000) / 5.4).collect();
        x.extend((-60..10).flat_map(|e| [1.37, -1.11].map(|m| m * 10.0_f64.powi(e))));
        x.extend((0..200).map(|i| (f64::from(i) - 100.0) * 0.5 * core::f64::consts::LN_2));
        x.into_iter()
            .filter(|x| *x != 0.0 && x.abs() < 640.0)
            .map(|x| DoubleDouble::from_parts(x, 0.3e-16 * x))
            .collect()
    }

    /// Largest difference to the function for one number, which has a table of its own, in units of 2^-104.
    fn apart(of_slices: fn(&mut [DoubleDouble]), of_one: fn(DoubleDouble) -> DoubleDouble) -> f64 {
        let x = arguments();
        let mut found = x.clone();
        of_slices(&mut found);
        let units = |(x, found): (&DoubleDouble, &DoubleDouble)| {
            let exact = of_one(*x);
            ((*found - exact) / exact).abs().to_f64() / DoubleDouble::UNIT_ROUNDOFF
        };
        x.iter().zip(&found).map(units).fold(0.0, |worst, e| if e > worst || e.is_nan() { e } else { worst })
    }

    #[test]
    fn over_slices_and_of_one_number_the_functions_are_the_same() {
        // Those of one number are within 16 units, and within two on all of their table.
        let (exp, exp_m1) = (apart(exact_exp, Real::exp), apart(exact_exp_m1, Real::exp_m1));
        assert!(exp <= 10.0 && exp_m1 <= 16.0, "{exp} {exp_m1} units");
    }

    #[test]
    fn the_ends_of_the_range_are_those_of_binary64() {
        let ends = [f64::INFINITY, 1e300, 710.5, -746.5, -1e300, f64::NEG_INFINITY, f64::NAN, 0.0];
        let (mut exp, mut exp_m1) = (ends.map(DoubleDouble::from), ends.map(DoubleDouble::from));
        exact_exp(&mut exp);
        exact_exp_m1(&mut exp_m1);
        for (k, x) in ends.into_iter().enumerate() {
            for (found, expected) in [(exp[k], x.exp()), (exp_m1[k], x.exp_m1())] {
                assert!(found.high == expected || found.high.is_nan() && expected.is_nan(), "{x}: {found:?}");
                assert!(found.low.abs() <= DoubleDouble::UNIT_ROUNDOFF, "{x}: {found:?}");
            }
        }
    }

    #[test]
    fn an_element_is_the_same_bits_wherever_it_stands() {
        let x = arguments();
        let mut all = x.clone();
        exact_exp(&mut all);
        for start in [0, 1, 3, 17] {
            let mut some = x[start..start + 70].to_vec();
            exact_exp(&mut some);
            assert_eq!(some, all[start..start + 70]);
        }
    }
}
