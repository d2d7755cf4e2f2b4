//! What round-off can have done to `β(ν)` and to the residual. (For points refined in double-double see `refine`.)

use crate::linalg::Rows;
use crate::real::Real;

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

/// A point whose exponents, coefficients and residual are all binary64 (THEORY §1, the round-off terms of the certificate).
pub(super) fn in_binary64(
    x: Rows<'_>,
    y: &[f64],
    start: &Exponents,
    nu: &[f64],
    g: &[f64],
    beta: &[f64],
    slope: &[f64],
) -> Errors {
    let u = f64::UNIT_ROUNDOFF;
    let path = abs_transposed(x, nu);
    // A product of N terms, and one more rounding for each chord step that was added to it.
    let product = 2.0 * ((x.n() + 3 + 2 * CHORDS) as f64) * u;
    let mut worst_slope = 0.0_f64;
    let beta_error: Vec<f64> = (0..beta.len())
        .map(|i| {
            let (exponent, shifted) = start.sizes(i, g[i]);
            let of_z = product * path[i] + 2.0 * u * shifted;
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

/// A bound of the round-off of that residual, `(d + 2) u (|X||β| + |y|)`.
pub(super) fn residual_noise(x: Rows<'_>, y: &[f64], beta: &[f64]) -> Vec<f64> {
    let sum = (x.d() as f64 + 2.0) * f64::UNIT_ROUNDOFF;
    let mut size = abs_product(x, &magnitudes(beta));
    size.iter_mut().zip(y).for_each(|(size, y)| *size = sum * (*size + y.abs()));
    size
}

/// Largest error of an underflow.
pub(super) const SMALLEST: f64 = 5e-324;
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
