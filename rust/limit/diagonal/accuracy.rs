//! What round-off can have done to `β(ν)` and to the residual. (For points refined in double-double see `refine`.)

use crate::linalg::Rows;
use crate::real::{Real, axpy_roundings, dot_roundings};

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
