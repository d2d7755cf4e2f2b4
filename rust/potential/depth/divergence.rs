//! The Bregman divergence of `q`, digits included where the two points are close.
//!
//! `D(x₀ + δ, x₀) = q(x) − q(x₀) − q'(x₀) δ` cancels like `δ²`. Close by, it is `δ² ∫₀¹ (1−t) q''(x₀ + tδ) dt` by Gauss's
//! rule: `q''` is analytic within `√(1 + x₀²)` of `x₀` (the zeros of `h'` lie at `±iy`, `|y| ≥ 1`), twenty times the length of
//! the segment and more, where an n-point rule errs by about `40^{−2n}`.

use super::Depth;
use crate::real::{DoubleDouble, Real, Scaled};

/// Points of the rule.
const POINTS: usize = 12;
/// Segments up to this part of `1 + |x₀|` are short.
const SHORT: f64 = 0.05;

/// `D(x₀ + gap, x₀)`: at least 0.
pub(super) fn bregman(depth: Depth, x0: Scaled, gap: Scaled) -> Scaled {
    if gap.is_zero() {
        return Scaled::ZERO;
    }
    let reach = (Scaled::ONE + x0.abs()) * Scaled::from(SHORT);
    if (gap.abs() - reach).is_negative() {
        return gap.square() * weighted_mean(depth, x0, gap);
    }
    let (x, start) = (x0 + gap, depth.inverse(x0));
    let rest = depth.q(x0, start) + start.z * gap;
    depth.q(x, depth.inverse(x)) - rest
}

/// `∫₀¹ (1−t) q''(x₀ + t gap) dt`, `q'' = 1/h'`.
fn weighted_mean(depth: Depth, x0: Scaled, gap: Scaled) -> Scaled {
    let half = DoubleDouble::from_f64(0.5);
    let mut sum = Scaled::ZERO;
    for j in 0..POINTS {
        let (node, weight) = legendre(j);
        let t = half + node * half;
        let there = depth.inverse(x0 + gap * Scaled::from(t));
        sum = sum + Scaled::from((half - node * half) * weight * half) / depth.slope(there);
    }
    sum
}

/// The `j`-th node of the Gauss–Legendre rule on `[−1, 1]` and its weight: Newton from Tricomi's estimate.
fn legendre(j: usize) -> (DoubleDouble, DoubleDouble) {
    let n = POINTS as f64;
    let mut x = DoubleDouble::from_f64((core::f64::consts::PI * (j as f64 + 0.75) / (n + 0.5)).cos());
    let mut slope = DoubleDouble::ONE;
    for _ in 0..6 {
        let (mut before, mut p) = (DoubleDouble::ONE, x);
        for k in 2..=POINTS {
            let k = k as f64;
            let next = ((x * p).mul_f64(2.0 * k - 1.0) - before.mul_f64(k - 1.0)) / DoubleDouble::from_f64(k);
            (before, p) = (p, next);
        }
        slope = (before - x * p).mul_f64(n) / (DoubleDouble::ONE - x * x);
        x -= p / slope;
    }
    (x, DoubleDouble::from_f64(2.0) / ((DoubleDouble::ONE - x * x) * slope * slope))
}
