//! What round-off can have done to `β(ν)` and to the residual, in binary64 and in double-double.

use crate::linalg::Rows;
use crate::real::{DoubleDouble, Real};

use super::exponents::Exponents;

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

/// The unit round-off of double-double arithmetic as used here: each operation errs by at most 2^-102 relative, the
/// functions by 2^-98.
const DOUBLE_DOUBLE: f64 = 1.0 / (1u128 << 98) as f64;

/// A point whose exponents, coefficients and residual are all binary64 (THEORY §1, the round-off terms of the certificate).
pub(super) fn in_binary64(x: Rows<'_>, y: &[f64], start: &Exponents, nu: &[f64], g: &[f64], beta: &[f64], slope: &[f64]) -> Errors {
    let u = f64::UNIT_ROUNDOFF;
    let path = abs_transposed(x, nu);
    let product = 2.0 * (x.n() as f64 + 3.0) * u;
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

/// A point evaluated in double-double, except coordinates of slope below `floor`, and then rounded.
pub(super) fn in_double_double(
    x: Rows<'_>,
    y: &[f64],
    start: &Exponents,
    nu: &[DoubleDouble],
    g: &[DoubleDouble],
    slope: &[f64],
    floor: f64,
    beta: &[DoubleDouble],
    rounded_residual: &[f64],
) -> Errors {
    let u = DOUBLE_DOUBLE;
    let path = abs_transposed(x, &nu.iter().map(|v| v.to_f64()).collect::<Vec<_>>());
    let product = 2.0 * (x.n() as f64 + 3.0) * u;
    let mut exact_to = vec![0.0; beta.len()];
    let mut worst = 0.0_f64;
    for (i, error) in exact_to.iter_mut().enumerate() {
        let (exponent, shifted) = start.sizes(i, g[i].to_f64());
        let of_z = product * path[i] + 2.0 * u * shifted;
        let of_exponent = 4.0 * u * (1.0 + exponent);
        let size = beta[i].to_f64().abs();
        *error = 0.5 * slope[i] * of_z.exp_m1() + size * of_exponent.exp_m1();
        worst = worst.max((of_z + of_exponent).exp_m1());
        if slope[i] <= 2.0 * floor {
            // Evaluated in binary64 from a rounded exponent of at most 745 in size: 2^-42 relative.
            *error += ROUGH * slope[i];
        }
    }
    let mut residual = abs_product(x, &exact_to);
    let size = abs_product(x, &beta.iter().map(|b| b.to_f64().abs()).collect::<Vec<_>>());
    let sum = (x.d() as f64 + 2.0) * u;
    for ((error, size), (y, r)) in residual.iter_mut().zip(size).zip(y.iter().zip(rounded_residual)) {
        *error += sum * (size + y.abs()) + f64::UNIT_ROUNDOFF * r.abs();
    }
    let rounded = |(b, e): (&DoubleDouble, &f64)| e + f64::UNIT_ROUNDOFF * b.to_f64().abs() + SMALLEST;
    Errors { beta: beta.iter().zip(&exact_to).map(rounded).collect(), residual, slope: worst + ROUGH }
}

/// Largest error of an underflow.
pub(super) const SMALLEST: f64 = 5e-324;
/// Relative error of coefficients too small to be worth double-double.
const ROUGH: f64 = 1.0 / (1u64 << 42) as f64;

/// `|X| v`.
pub(super) fn abs_product(x: Rows<'_>, v: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; x.n()];
    x.apply_abs(v, &mut out);
    out
}

fn abs_transposed(x: Rows<'_>, nu: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; x.d()];
    x.apply_transposed_abs(&magnitudes(nu), &mut out);
    out
}

fn magnitudes(v: &[f64]) -> Vec<f64> {
    v.iter().map(|v| v.abs()).collect()
}
