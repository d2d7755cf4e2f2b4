//! `exp`, `exp_m1`, `ln` and `ln_1p` of double-double numbers, within 16 · 2^-104 = 64 u².
//!
//! `exp`: `x = k ln 2 + 256 t`, a Taylor polynomial for `e^t − 1`, then `p ← 2p + p²` eight times. What is squared is
//! `e^t − 1`, not `e^t`: relative errors do not double, and `exp_m1` needs no cancelling subtraction. The idea is that of
//! Hida, Li, Bailey, *Library for double-double and quad-double arithmetic* (2007), sec. 3.3.
//! `ln`: one Newton step `ln(1 + w) = y + ln(1 + δ)`, `δ = w + (1 + w)(e^-y − 1)`, from the binary64 logarithm `y`: it
//! squares the error, and with `w` and `e^-y − 1` there is nothing to lose near `w = 0`.

use super::triple::Triple;
use super::{DoubleDouble, two_prod};
use crate::real::Real;
use crate::real::dispatch::{Kernel, dispatch};

/// A function of one number, evaluated where the fused multiply-add in every product is an instruction.
pub(super) struct Evaluate<F>(pub(super) F, pub(super) DoubleDouble);

impl<F: FnOnce(DoubleDouble) -> DoubleDouble> Kernel for Evaluate<F> {
    type Output = DoubleDouble;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> DoubleDouble {
        self.0(self.1)
    }
}

/// `e^x`: see the kernel.
pub(super) fn exp(x: DoubleDouble) -> DoubleDouble {
    dispatch(Evaluate(exp_kernel, x))
}

/// `e^x − 1`: see the kernel.
pub(super) fn exp_m1(x: DoubleDouble) -> DoubleDouble {
    dispatch(Evaluate(exp_m1_kernel, x))
}

/// `ln x`: see the kernel.
pub(super) fn ln(x: DoubleDouble) -> DoubleDouble {
    dispatch(Evaluate(ln_kernel, x))
}

/// `ln(1 + x)`: see the kernel.
pub(super) fn ln_1p(x: DoubleDouble) -> DoubleDouble {
    dispatch(Evaluate(ln_1p_kernel, x))
}

/// `ln 2` in three parts, the first two of 42 bits: their products with exponents (11 bits) are exact, and the rest is
/// known to 2^-139, so that reducing by 1024 ln 2 loses nothing.
pub(super) const LN_2_PARTS: [f64; 3] =
    [0.693_147_180_559_890_3, 5.497_923_018_707_21e-14, 1.161_222_722_936_253_2e-26];

/// Half of the reduced interval, `½ ln 2`.
const HALF_LN_2: f64 = 0.5 * core::f64::consts::LN_2;

/// `x − k ln 2` for `|k| ≤ 2^11`, to 2^-106 of the result and 2^-128 absolutely.
#[inline(always)]
pub(super) fn subtract_multiple_of_ln_2(x: DoubleDouble, k: f64) -> DoubleDouble {
    let [first, second, third] = LN_2_PARTS.map(|part| k * part);
    // The first difference is exact: multiples of one ulp, no larger than x.
    DoubleDouble { high: x.high - first, low: 0.0 } + DoubleDouble::from_parts(-second, x.low).add_f64(-third)
}

/// `1/n!` for n = 3, 4, 5 in two parts: rounded to 80 digits and split.
const INVERSE_FACTORIALS: [DoubleDouble; 3] = [
    DoubleDouble { high: 0.166_666_666_666_666_66, low: 9.251_858_538_542_97e-18 },
    DoubleDouble { high: 0.041_666_666_666_666_664, low: 2.312_964_634_635_742_7e-18 },
    DoubleDouble { high: 0.008_333_333_333_333_333, low: 1.156_482_317_317_871_4e-19 },
];

/// `1/n!` for n = 6 to 11, for the terms that are below 2^-57 of the first.
const SMALL_INVERSE_FACTORIALS: [f64; 6] = [
    0.001_388_888_888_888_889,
    0.000_198_412_698_412_698_4,
    2.480_158_730_158_73e-5,
    2.755_731_922_398_589_3e-6,
    2.755_731_922_398_589e-7,
    2.505_210_838_544_172e-8,
];

/// Halvings of the argument, as a power of two.
const SQUARINGS: i32 = 8;

/// `e^r − 1` for `|r| ≤ 0.36`, relative error below 34 u².
///
/// With `t = r/256`, `|t| < 0.0015`, the first term left out is `t^11/12! < 2^-130` of the sum, which is rounded to 3 u².
/// A squaring adds the rounding of one sum (3 u²) and, damped by `p/2`, of one product (5 u²; 2.4 u² for all eight). What
/// went in is amplified by `(1 + p)/(1 + p/2)`, in all by `r e^r/(e^r − 1) ≤ 1.19`: 3.6 u² of the first sum, and the eight
/// last factors add up to 9.1 times 3 u².
#[inline(always)]
fn exp_m1_reduced(r: DoubleDouble) -> DoubleDouble {
    if r.high.abs() < 1e-18 {
        // e^r − 1 = r + r²/2 to 2^-120; scaling down would underflow the low part first.
        return r.add_f64(0.5 * r.high * r.high);
    }
    let t = r.scaled(1.0 / f64::from(1 << SQUARINGS));
    let small = SMALL_INVERSE_FACTORIALS.iter().rev().fold(0.0, |sum, c| sum * t.high + c);
    let mut sum = DoubleDouble::from(small);
    for coefficient in INVERSE_FACTORIALS.iter().rev() {
        sum = sum * t + *coefficient;
    }
    let mut p = t + t * t * (sum * t).add_f64(0.5);
    for _ in 0..SQUARINGS {
        p = p.scaled(2.0) + p * p;
    }
    p
}

/// `(e^r, k)` with `e^x = 2^k e^r`, `|r| ≤ 0.36`, for any `|x| < 2^53`: within 5 · 2^-104.
///
/// Each product of `k` with a part of `ln 2` is exact in two parts, and the last part is known to 2^-139: `r` is off by
/// `2^-139 |k|`, below 2^-107 up to `|x| = 1e9`, where the last place of `x` is worth 2^-76.
pub(in crate::real) fn exp_with_exponent(x: DoubleDouble) -> (DoubleDouble, f64) {
    let k = (x.high * core::f64::consts::LOG2_E).round();
    let [(p, p_low), (q, q_low), (r, r_low)] = LN_2_PARTS.map(|part| two_prod(k, part));
    let reduced = Triple::of(&[x.high, -p, -p_low, x.low, -q, -q_low, -r, -r_low]).leading();
    (dispatch(Evaluate(|r| exp_of_reduced(r, 0), reduced)), k)
}

/// `2^k` for `−1022 ≤ k ≤ 1023`.
#[inline(always)]
pub(super) fn power_of_two(k: i32) -> f64 {
    f64::from_bits(u64::from((k + 1023).unsigned_abs()) << 52)
}

/// The exponent of the reduction of `x`, `|x| < 800`: an integer.
#[inline(always)]
pub(super) fn exponent(x: f64) -> i32 {
    #[allow(clippy::cast_possible_truncation, reason = "|x / ln 2| < 1155")]
    let k = (x * core::f64::consts::LOG2_E).round() as i32;
    k
}

/// `e^x`, relative error below 5 · 2^-104 of the result; inf above 709.79 and 0 below −745.14. Results below 2^-968
/// lose their low part to underflow.
///
/// Of the 34 u² of `e^r − 1` the sum with 1 keeps 14 u² (`r < 0`), and its own rounding is 2 u², that of `r` 1.1 u².
#[inline(always)]
pub(super) fn exp_kernel(x: DoubleDouble) -> DoubleDouble {
    if x.high.is_nan() || x.high > 710.0 || x.high < -746.0 {
        return DoubleDouble::from(x.high.exp());
    }
    let k = exponent(x.high);
    exp_of_reduced(subtract_multiple_of_ln_2(x, f64::from(k)), k)
}

/// `2^k e^r` for `|r| ≤ 0.36` and `|k| ≤ 2044`.
#[inline(always)]
pub(super) fn exp_of_reduced(r: DoubleDouble, k: i32) -> DoubleDouble {
    let reduced = exp_m1_reduced(r).add_f64(1.0);
    // Two factors: 2^1024 and 2^-1075 are no binary64 numbers.
    let half = k / 2;
    let scaled = reduced.scaled(power_of_two(half)).scaled(power_of_two(k - half));
    DoubleDouble::normalised(scaled.high, scaled.low)
}

/// `e^x − 1`, relative error below 15 · 2^-104; −1 far below 0, inf above 709.79, ±0 for ±0.
///
/// The 34 u² of `e^r − 1` count most at `x = ½ ln 2`, where 2 (1 − 1/√2) of it is √2 of the result; 3 u² of the sum.
#[inline(always)]
pub(super) fn exp_m1_kernel(x: DoubleDouble) -> DoubleDouble {
    if x.high == 0.0 {
        return x;
    }
    if x.high.abs() <= HALF_LN_2 {
        return exp_m1_reduced(x);
    }
    if x.high.is_nan() || x.high.abs() > 100.0 {
        // 1 is beyond the last place of e^x, or e^x of 1, or both are infinite.
        return exp_kernel(x).add_f64(-1.0);
    }
    let k = exponent(x.high);
    let power = power_of_two(k);
    let reduced = exp_m1_reduced(subtract_multiple_of_ln_2(x, f64::from(k)));
    DoubleDouble::from_parts(power, -1.0) + reduced.scaled(power)
}

/// `ln(1 + w)` for `−0.4 ≤ w ≤ √2 − 1`, relative error below 13.5 · 2^-104.
///
/// `δ` is off by 41 u² of `w` (34 u² of `e^-y − 1`, a sum and a product), and `|w/ln(1 + w)| ≤ 1.2`; two sums, 2 u² each.
#[inline(always)]
fn ln_1p_reduced(w: DoubleDouble) -> DoubleDouble {
    let y = w.high.ln_1p();
    if y.abs() < 1e-18 {
        // ln(1 + w) = w − w²/2 to 2^-119.
        return w.add_f64(-0.5 * w.high * w.high);
    }
    let delta = w + w.add_f64(1.0) * exp_m1_reduced(DoubleDouble::from(-y));
    // |δ| is about an ulp of y: ln(1 + δ) = δ − δ²/2 to 2^-150.
    delta.add_f64(-0.5 * delta.high * delta.high).add_f64(y)
}

/// Natural logarithm, relative error below 15 · 2^-104, also near 1; −inf at 0, NaN below, inf at inf.
#[inline(always)]
pub(super) fn ln_kernel(x: DoubleDouble) -> DoubleDouble {
    if x.high <= 0.0 || !x.high.is_finite() {
        return DoubleDouble::from(x.high.ln());
    }
    let (mantissa, k) = mantissa_and_exponent(x);
    let logarithm = ln_1p_reduced(mantissa.add_f64(-1.0));
    let k = f64::from(k);
    let [first, second, third] = LN_2_PARTS.map(|part| k * part);
    DoubleDouble::from_parts(first, second) + logarithm.add_f64(third)
}

/// `ln(1 + x)`, relative error below 16 · 2^-104; −inf at −1, NaN below, inf at inf, ±0 for ±0.
///
/// Far from 0 the rounding of `1 + x`, 2 u², is at most `2 u²/ln 1.4` of the result.
#[inline(always)]
pub(super) fn ln_1p_kernel(x: DoubleDouble) -> DoubleDouble {
    if x.high == 0.0 {
        x
    } else if x.high.abs() <= 0.4 {
        ln_1p_reduced(x)
    } else if x.high == f64::INFINITY {
        DoubleDouble::from(x.high)
    } else {
        ln_kernel(x.add_f64(1.0))
    }
}

/// `(m, k)` with `x = 2^k m`, `m` in `[1/√2, √2]`, for a finite `x > 0`: near 1 nothing is split off, so nothing cancels.
#[inline(always)]
pub(in crate::real) fn mantissa_and_exponent(x: DoubleDouble) -> (DoubleDouble, i32) {
    let (x, shift) = if x.high < f64::MIN_POSITIVE { (x.scaled(power_of_two(600)), 600) } else { (x, 0) };
    let k = exponent_of_mantissa(x.high);
    let half = k / 2;
    (x.scaled(power_of_two(-half)).scaled(power_of_two(half - k)), k - shift)
}

/// `k` with `x/2^k` in `[1/√2, √2]`, for a normal `x > 0`.
#[inline(always)]
fn exponent_of_mantissa(x: f64) -> i32 {
    #[allow(clippy::cast_possible_truncation, reason = "11 bits")]
    let biased = (x.to_bits() >> 52) as i32;
    let mantissa = f64::from_bits((x.to_bits() & ((1 << 52) - 1)) | (1023 << 52));
    biased - 1023 + i32::from(mantissa > core::f64::consts::SQRT_2)
}
