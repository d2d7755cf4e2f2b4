//! `exp` and `exp_m1` over slices: the hot loop of every right-hand side. Knows nothing about networks.
//!
//! One branch-free evaluation an element, written so that the compiler vectorises it:
//! 1. `x = k ln 2 + r`, `|r| ≤ ½ ln 2`, with `ln 2` in two parts, so that `r` is known to 2^-86 (Cody & Waite, *Software
//!    Manual for the Elementary Functions*, 1980, ch. 6);
//! 2. `e^r = 1 + r + r² q(r)`, `q` a polynomial of degree 10;
//! 3. the sum is formed with the rounding error of `1 + r` added back, then scaled by `2^k` in two factors.
//!
//! The last addition rounds to half an ulp. What precedes it: `r² q(r)` with a relative error below `3.5 u` (`u = 2^-53`;
//! a square, a polynomial, a product), where `r² q(r) ≤ 0.054` if `r < 0` and `≤ 0.068` otherwise, and the rounding of
//! the low terms, `2^-57`. In units of the result's last place that is 0.25 more for `exp`. For `exp_m1` the result can
//! be as small as 0.29 while `2^k r² q(r)` is 0.11: 0.8 more. An element's result is the same bits wherever it stands in
//! the slice: vector code and scalar code do the same operations.

use super::dispatch::{Kernel, dispatch, multiply_add};
pub use super::double_double::slices::{exact_exp, exact_exp_m1};

/// `out = e^x`: within 0.75 ulp (0.9 where subnormal: two roundings); inf above 709.79, 0 below −745.14, NaN for NaN. Same length.
pub fn exp(x: &[f64], out: &mut [f64]) {
    debug_assert_eq!(x.len(), out.len());
    dispatch(Map { x, out, function: Exp });
}

/// `out = e^x − 1` without cancellation: within 1.3 ulp; inf above 709.79, −1 at −inf, NaN for NaN, −0 for −0. Same
/// length.
pub fn exp_m1(x: &[f64], out: &mut [f64]) {
    debug_assert_eq!(x.len(), out.len());
    dispatch(Map { x, out, function: ExpM1 });
}

/// A branch-free function of one number.
trait Elementwise: Copy {
    fn at<const FUSED: bool>(self, x: f64) -> f64;
}

struct Map<'a, F> {
    x: &'a [f64],
    out: &'a mut [f64],
    function: F,
}

impl<F: Elementwise> Kernel for Map<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        // One plain loop, for the compiler to vectorise and to finish the tail of: blocks of fixed arrays with a padded
        // tail took as long on long slices and 80 ns more on short ones.
        for (out, x) in self.out.iter_mut().zip(self.x) {
            *out = self.function.at::<FUSED>(*x);
        }
    }
}

/// `ln 2` to 42 bits: its product with any exponent of binary64 (11 bits) is exact.
const LN_2_HIGH: f64 = 0.693_147_180_559_890_3;
/// `ln 2 − LN_2_HIGH`, rounded.
const LN_2_LOW: f64 = 5.497_923_018_708_371e-14;

/// 1.5·2^52: adding it rounds to an integer, which then stands in the last bits of the sum.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// The same plus the exponent bias of binary64: shifted left by 52, the bits of `k + ROUND_BIASED` are those of `2^k`.
const ROUND_BIASED: f64 = ROUND + 1023.0;

/// `q(r) = (e^r − 1 − r)/r²` on `|r| ≤ ½ ln 2 (1 + 2^-20)`, lowest power first: interpolation in Chebyshev nodes at 80
/// digits (`mpmath.chebyfit`), rounded to binary64. Largest error 1.4e-18, so 2e-19 in `e^r`.
const Q: [f64; 11] = [
    0.5,
    0.166_666_666_666_666_7,
    0.041_666_666_666_666_67,
    0.008_333_333_333_326_141,
    0.001_388_888_888_888_375_2,
    0.000_198_412_698_748_006_83,
    2.480_158_732_553_350_2e-5,
    2.755_725_542_550_29e-6,
    2.755_727_366_117_472_6e-7,
    2.510_520_647_533_483_4e-8,
    2.091_467_944_897_855e-9,
];

/// `x = k ln 2 + r + r_low`: `(k, r, r_low)` for `|x| < 800`.
#[inline(always)]
fn reduce<const FUSED: bool>(x: f64) -> (f64, f64, f64) {
    let k = multiply_add::<FUSED>(x, core::f64::consts::LOG2_E, ROUND) - ROUND;
    let high = multiply_add::<FUSED>(-k, LN_2_HIGH, x); // exact: the product is, and the difference is small
    let low = k * LN_2_LOW;
    let r = high - low;
    (k, r, (high - r) - low)
}

/// `e^(r + r_low) − 1 − r`, from `r² q(r)`: Estrin's scheme, half the latency of Horner's.
#[inline(always)]
fn beyond_linear<const FUSED: bool>(r: f64, r_low: f64) -> f64 {
    let r2 = r * r;
    let r4 = r2 * r2;
    let pair = |i: usize| multiply_add::<FUSED>(Q[i + 1], r, Q[i]);
    let first = multiply_add::<FUSED>(pair(2), r2, pair(0));
    let second = multiply_add::<FUSED>(pair(6), r2, pair(4));
    let third = multiply_add::<FUSED>(Q[10], r2, pair(8));
    let q = multiply_add::<FUSED>(multiply_add::<FUSED>(third, r4, second), r4, first);
    multiply_add::<FUSED>(r2, q, r_low)
}

/// `2^k` for an integer `−1022 ≤ k ≤ 1023`.
#[inline(always)]
fn power_of_two(k: f64) -> f64 {
    f64::from_bits((k + ROUND_BIASED).to_bits() << 52)
}

/// `x` within `[low, high]`; NaN becomes a bound. (`f64::clamp` has a branch for NaN.)
#[inline(always)]
fn within(x: f64, low: f64, high: f64) -> f64 {
    let x = if x > low { x } else { low };
    if x < high { x } else { high }
}

#[derive(Clone, Copy)]
struct Exp;

impl Elementwise for Exp {
    #[inline(always)]
    fn at<const FUSED: bool>(self, x: f64) -> f64 {
        // Beyond these bounds the result is inf or 0 all the same.
        let (k, r, r_low) = reduce::<FUSED>(within(x, -746.0, 710.0));
        let rest = beyond_linear::<FUSED>(r, r_low);
        let sum = 1.0 + r;
        let value = sum + ((r - (sum - 1.0)) + rest);
        // 2^1024 and 2^-1075 are no binary64 numbers, their halves in the exponent are.
        let half = multiply_add::<FUSED>(k, 0.5, ROUND) - ROUND;
        let value = value * power_of_two(half) * power_of_two(k - half);
        if x.is_nan() { x } else { value }
    }
}

#[derive(Clone, Copy)]
struct ExpM1;

impl Elementwise for ExpM1 {
    #[inline(always)]
    fn at<const FUSED: bool>(self, x: f64) -> f64 {
        // e^-45 is far below the last place of 1.
        let (k, r, r_low) = reduce::<FUSED>(within(x, -45.0, 710.0));
        let rest = beyond_linear::<FUSED>(r, r_low);
        // k = 1024 is the only exponent that needs a second factor, 2; halving every k would cost subnormal x a bit.
        let main = if k < 1023.0 { k } else { 1023.0 };
        let power = power_of_two(main);
        // 2^k e^r − 1 = (2^k − 1) + 2^k r + 2^k rest; the first term is 0 or the larger of the first two.
        let (constant, linear) = (power - 1.0, power * r);
        let sum = constant + linear;
        let error = linear - (sum - constant);
        let value = (sum + multiply_add::<FUSED>(power, rest, error)) * (1.0 + (k - main));
        // The sign of the result is that of x, also for zero and where the sum above made +0 of −0.
        let value = value.abs().copysign(x);
        if x.is_nan() { x } else { value }
    }
}

#[cfg(test)]
mod tests;
