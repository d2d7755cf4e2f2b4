//! What round-off can have done to `β(ν)` and to the residual, in binary64 and in double-double. (For binary64 results of
//! double-double refinement see `refine`.)

use crate::linalg::Rows;
use crate::real::{DoubleDouble, Real, axpy_roundings, dot_roundings};

use super::exponents::Exponents;
use super::solve::CHORDS;

/// Bounds of the errors of an evaluated point.
#[derive(Clone, Debug)]
pub(super) struct Errors {
    /// Of each coefficient as it is reported (rounded to binary64) against the exact `β(ν)`.
    pub beta: Vec<f64>,
    /// Of each residual `y − Xβ(ν)`.
    pub residual: Vec<f64>,
    /// Relative, of the slopes.
    pub slope: f64,
}

/// A point to be judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evaluated<'a> {
    pub nu: &'a [f64],
    pub g: &'a [f64],
    pub beta: &'a [f64],
    pub slope: &'a [f64],
}

/// A point whose exponents, coefficients and residual are all binary64 (THEORY §1, the round-off terms of the certificate).
///
/// `stepped` bounds `|X|ᵀ|δ|` summed over the steps `δ` that were added to `G` since it was last formed from scratch:
/// their rounding is relative to them and to the `ν` they started from, either of which may exceed the final `|ν|`.
pub(super) fn in_binary64(x: Rows<'_>, y: &[f64], start: &Exponents, point: Evaluated<'_>, stepped: f64) -> Errors {
    let Evaluated { nu, g, beta, slope } = point;
    let u = f64::UNIT_ROUNDOFF;
    let path = abs_transposed(x, nu);
    // A product of N terms, and one more rounding for each chord step that was added to it.
    let product = 2.0 * ((axpy_roundings(x.n()) + 3 + 2 * CHORDS) as f64) * u;
    // Multipliers of 1e-300 and slopes of 1e300 meet where scales are large; every product may underflow once.
    let underflow = 2.0 * (x.n() as f64) * SMALLEST;
    let mut worst_slope = 0.0_f64;
    let beta_error: Vec<f64> = (0..beta.len())
        .map(|i| {
            let (exponent, shifted) = start.sizes(i, g[i]);
            let of_z = underflow + product * (path[i] + stepped) + 2.0 * u * shifted;
            // The two vector exponentials are good to 2 units, the common exponent to one more each.
            let of_exponent = 2.0 * u * (1.0 + exponent);
            worst_slope = worst_slope.max((of_z + of_exponent).exp_m1());
            0.5 * slope[i] * of_z.exp_m1() + beta[i].abs() * of_exponent.exp_m1() + 8.0 * u * beta[i].abs() + SMALLEST
        })
        .collect();
    let mut residual = abs_product(x, &beta_error);
    residual.iter_mut().zip(residual_noise(x, y, beta)).for_each(|(r, noise)| *r += noise);
    Errors { beta: beta_error, residual, slope: worst_slope + 4.0 * u }
}

/// The same for a point whose exponents, coefficients and residual are all double-double, `residual` being rounded.
///
/// With `u = 2^-104`, the unit of all bounds in `real`: sums err by ¾ u, products by 5/4 u, the exponential functions by
/// 16 u, a product `Xᵀν` by `¾ (N + 1) u |X|ᵀ|ν|`. The start is not exact either: `ln A` and `ln B` are those of its
/// weights, or of its scale, to `4 u |ln A| + 40 u`, for a logarithm of `2^k m` is that of `m`, to 16 u, and a multiple of
/// ln 2, and is then added to others. Where the two are one number their difference is 0 all the same: an unbiased start.
/// At 10^-100000 nothing else counts.
pub(super) fn in_double_double(
    x: Rows<'_>,
    y: &[DoubleDouble],
    start: &Exponents,
    point: Evaluated<'_>,
    residual: &[f64],
) -> Errors {
    let Evaluated { nu, g, beta, slope } = point;
    let u = DoubleDouble::UNIT_ROUNDOFF;
    let path = abs_transposed(x, nu);
    let product = 1.5 * (x.n() as f64 + 1.0) * u;
    // Double-double keeps its digits down to 2^-960 only; below, every product loses up to the least float.
    let underflow = 8.0 * (x.n() as f64 + 1.0) * SMALLEST;
    let mut worst_slope = 0.0_f64;
    let beta_error: Vec<f64> = (0..beta.len())
        .map(|i| {
            let (exponent, shifted) = start.sizes(i, g[i]);
            let start = start.origin(i);
            let of_start = (4.0 * (start.root + start.shift) + 40.0) * u;
            let of_shift = if start.shift == 0.0 { 0.0 } else { of_start };
            let of_z = underflow + product * path[i] + u * shifted + of_shift;
            // Two functions and their product; `root` is halved exactly and measured in another unit.
            let of_exponent = (40.0 + 2.25 * exponent + 3.0 * start.log_unit) * u + of_start;
            worst_slope = worst_slope.max((of_z + of_exponent).exp_m1());
            0.5 * slope[i] * of_z.exp_m1() + beta[i] * of_exponent.exp_m1() + 4.0 * SMALLEST
        })
        .collect();
    let mut errors = abs_product(x, &beta_error);
    let sum = (exact_dot_units(x.d()) + 1.0) * u;
    let terms = abs_product(x, beta).into_iter().zip(y).zip(residual);
    for (error, ((size, y), rounded)) in errors.iter_mut().zip(terms) {
        let underflow = 8.0 * (x.d() as f64) * SMALLEST;
        *error += sum * (size + y.to_f64().abs()) + underflow + f64::UNIT_ROUNDOFF * rounded.abs();
    }
    // Slopes are rounded to binary64.
    Errors { beta: beta_error, residual: errors, slope: worst_slope + 4.0 * f64::UNIT_ROUNDOFF }
}

/// A double-double product of `d` binary64 numbers errs by so many units `u = 2^-104` of the sum of its magnitudes: one sum
/// after another up to sixteen, sixteen interleaved sums beyond (see `real`).
pub(super) fn exact_dot_units(d: usize) -> f64 {
    if d < 16 { 1.25 * d as f64 } else { d as f64 / 16.0 + 5.0 }
}

/// `y − Xβ` in binary64.
pub(super) fn in_binary64_residual(x: Rows<'_>, y: &[f64], beta: &[f64]) -> Vec<f64> {
    let mut r = vec![0.0; x.n()];
    x.apply(beta, &mut r);
    r.iter_mut().zip(y).for_each(|(r, y)| *r = y - *r);
    r
}

/// A bound of the round-off of that residual, `(k + 2) u (|X||β| + |y|)` for the `k` roundings of a product, and of
/// underflow.
pub(super) fn residual_noise(x: Rows<'_>, y: &[f64], beta: &[f64]) -> Vec<f64> {
    let sum = (dot_roundings(x.d()) as f64 + 2.0) * f64::UNIT_ROUNDOFF;
    let mut size = abs_product(x, &magnitudes(beta));
    size.iter_mut().zip(y).for_each(|(size, y)| *size = sum * (*size + y.abs()) + x.d() as f64 * SMALLEST);
    size
}

/// Largest error of an underflow.
pub(super) const SMALLEST: f64 = 5e-324;

/// A size of which nothing is known is infinite: what NaN, from infinities that met, says to whoever compares it.
pub(super) fn or_infinite(v: f64) -> f64 {
    if v.is_nan() { f64::INFINITY } else { v }
}

/// `|X| v`.
pub(super) fn abs_product(x: Rows<'_>, v: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; x.n()];
    x.apply_abs(v, &mut out);
    out
}

pub(super) fn abs_transposed(x: Rows<'_>, nu: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; x.d()];
    x.apply_transposed_abs(&magnitudes(nu), &mut out);
    out
}

pub(super) fn magnitudes(v: &[f64]) -> Vec<f64> {
    v.iter().map(|v| v.abs()).collect()
}
