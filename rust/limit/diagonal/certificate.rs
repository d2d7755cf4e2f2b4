//! A proven bound of `|β(∞)_i − β_i|` for every coefficient, round-off and factorization included.
//!
//! At any `ν`: `r = y − Xβ(ν)`, `H = X diag(S) Xᵀ = LLᵀ`, `τ_i = ‖L⁻¹x_i‖`, `λ = ‖L⁻¹r‖`. If `2τλ < 1` then with
//! `T = −ln(1 − 2τλ)/(2τ)`, `M = τT`, `ρ(M) = (e^{2M} − 1)/(2M) − 1` and
//! `D_i = min(τ_i T, |x_iᵀH⁻¹r| + τ_i ρ T)` every coefficient of the limit obeys `|β(∞)_i − β_i| ≤ ½ S_i (e^{2D_i} − 1)`.
//!
//! Proof. Let `Δ = ν* − ν`. On the way `S_i` changes by a factor within `e^{±2|x_iᵀΔ|}`, so
//! `λ‖Δ‖_H ≥ rᵀΔ ≥ ‖Δ‖²_H φ(M')`, `φ(M) = (1 − e^{−2M})/(2M)`, `M' = ‖XᵀΔ‖_∞ ≤ τ‖Δ‖_H`: hence `‖Δ‖_H ≤ T`, and
//! `‖L⁻¹(r − HΔ)‖ ≤ ρ‖Δ‖_H`. Every `D_i` bounds `|x_iᵀΔ|`, so `M` may be lowered to `max D` and `T` to `λ/φ(M)`, again
//! and again, until it stops moving.
//!
//! Nothing here knows how `ν` was found, nor in which precision `β` and `r` were evaluated: their errors are inputs.

use rayon::prelude::*;

use crate::linalg::{Cholesky, Rows, SquareMatrix, WeightedGram, norm};
use crate::real::Real;

use super::accuracy::SMALLEST;
use super::dual::largest;

/// What is known at one point of the dual. The rows of `x` span the row space of the data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence<'a> {
    pub x: Rows<'a>,
    /// `S`, and a bound of its relative error.
    pub slope: &'a [f64],
    pub slope_error: f64,
    /// Bound of the difference between the reported `β` and the exact `β(ν)`.
    pub beta_error: &'a [f64],
    /// `y − Xβ(ν)` for the rows of `x`, and a bound of its error.
    pub residual: &'a [f64],
    pub residual_error: &'a [f64],
    /// Factor of `X diag(S') Xᵀ` for slopes `S' = S e^{±moved}`.
    pub cholesky: &'a Cholesky,
    pub inverse: &'a Inverse,
    pub moved: f64,
    /// Normwise relative error of that factorization, see [`by_gram`] and [`by_qr`].
    pub factor_error: f64,
    /// A bound no larger than this needs no more work. 0: the sharpest.
    pub enough: f64,
}

/// Columns of `L⁻¹X` formed and summed up at a time: all of it would be as large as the data, and is never needed at once.
const COLUMNS: usize = 256;
/// Lowering `M` stops when it gains less than this.
const STOPS_MOVING: f64 = 0.999;
/// Kernels are certified from a diagonal of `LARGEST_SCALE^-2` on.
const LARGEST_SCALE: f64 = 1e145;
/// Rounding of the bound itself.
const OUTWARD: f64 = 1.0 + 1e-12;

/// `L⁻¹` of a factor, and an upper bound of `‖L⁻¹‖₂²`, rows in the units in which they were factored.
#[derive(Debug)]
pub(super) struct Inverse {
    lower: SquareMatrix,
    norm_squared: f64,
}

impl Inverse {
    pub fn of(cholesky: &Cholesky) -> Self {
        let lower = cholesky.inverse_lower();
        let n = lower.n();
        let (mut rows, mut columns, mut frobenius) = (vec![0.0_f64; n], vec![0.0_f64; n], 0.0);
        for (j, scale) in cholesky.scale().iter().enumerate() {
            for (i, v) in lower.column(j).iter().enumerate().skip(j) {
                let v = v.abs() / scale;
                rows[i] += v;
                columns[j] += v;
                frobenius += v * v;
            }
        }
        Self { lower, norm_squared: f64::min(frobenius, largest(&rows) * largest(&columns)) }
    }
}

/// Error of a factor of the formed kernel: `‖L⁻¹‖² (k + 3N + 10) u tr H` for forming it with `k` roundings an entry,
/// factoring and solving.
pub(super) fn by_gram(x: Rows<'_>, cholesky: &Cholesky, inverse: &Inverse) -> f64 {
    let operations = (WeightedGram::roundings(x.d()) + 3 * x.n() + 10) as f64;
    inverse.norm_squared * operations * f64::UNIT_ROUNDOFF * cholesky.scaled_trace()
}

/// Error of a factor from the QR decomposition of `√S Xᵀ`: a perturbation of `√S Xᵀ` by `c u` of its norm, which
/// moves `H` by twice that times `‖L⁻¹‖`, not by its square.
pub(super) fn by_qr(x: Rows<'_>, cholesky: &Cholesky, inverse: &Inverse) -> f64 {
    let (n, d) = (x.n() as f64, x.d() as f64);
    // Householder QR: ‖δA‖_F ≤ N γ_{cd} ‖A‖_F (Higham, Accuracy and Stability, 2nd ed., Thm 19.4), c taken as 4;
    // ‖A‖²_F is the trace of H.
    // Strips of features, each at least 2N long and with N rows of the last triangle on top: 1.5 d rows in all.
    let perturbation = (6.0 * d + 3.0 * n + 12.0) * n * f64::UNIT_ROUNDOFF * cholesky.scaled_trace().sqrt();
    let relative = inverse.norm_squared.sqrt() * perturbation;
    2.0 * relative + relative * relative
}

/// The bound for every coefficient; all infinite where the theorem makes no statement.
pub(super) fn certify(evidence: &Evidence<'_>) -> Vec<f64> {
    let d = evidence.x.d();
    sharpest(evidence).unwrap_or_else(|| vec![f64::INFINITY; d])
}

fn sharpest(evidence: &Evidence<'_>) -> Option<Vec<f64>> {
    // L⁻¹HL⁻ᵀ is the product of what factoring, rounding the slopes and moving the point did to the identity.
    let theta = (1.0 + evidence.factor_error) * (1.0 + 2.0 * evidence.slope_error) * evidence.moved.exp() - 1.0;
    // `D_i` is about `1/√H_ii`: beyond `LARGEST_SCALE` the slopes that make up `H` are next to subnormal numbers, whose
    // errors are not relative.
    if evidence.cholesky.scale().iter().any(|scale| *scale > LARGEST_SCALE) {
        return None;
    }
    if !(theta < 0.5) {
        return None;
    }
    let residual = Residual::of(evidence, theta);
    let from = |whitened: Whitened| Some(evidence.bound(&whitened.movement()?));
    from(residual.estimated(evidence))
        .filter(|b| largest(b) <= evidence.enough)
        .or_else(|| from(residual.whitened(evidence)))
}

impl Evidence<'_> {
    /// From `|x_iᵀΔ|` to the coefficients.
    fn bound(&self, movement: &[f64]) -> Vec<f64> {
        let each = |((movement, slope), error): ((&f64, &f64), &f64)| {
            let slope = slope * (1.0 + self.slope_error) + SMALLEST;
            OUTWARD * (0.5 * slope * (2.0 * (movement + SMALLEST)).exp_m1() + error)
        };
        movement.iter().zip(self.slope).zip(self.beta_error).map(each).collect()
    }
}

/// The residual and its error in the coordinates in which `H` is the identity.
struct Residual {
    /// `L⁻¹r`, and its norm.
    inner: Vec<f64>,
    size: f64,
    /// `|L⁻¹|` times the error of the residual, and a bound of the norm of what that stands for.
    noise: Vec<f64>,
    noise_size: f64,
    /// A bound of the norm of `L⁻¹`, rows in the units in which they were factored.
    inverse_norm: f64,
    /// Relative error of the computed `H`, and the factor by which norms may exceed the computed ones.
    theta: f64,
    grow: f64,
}

impl Residual {
    fn of(evidence: &Evidence<'_>, theta: f64) -> Self {
        let grow = 1.0 / (1.0 - theta).sqrt();
        let mut inner = evidence.residual.to_vec();
        evidence.cholesky.solve_lower(&mut inner);
        let noise = abs_lower_product(&evidence.inverse.lower, evidence.residual_error);
        // The computed inverse is off by `N u ‖L⁻¹‖ ‖L‖` of itself, which `θ` exceeds.
        let inverse_norm = grow * (1.0 + theta) * OUTWARD * evidence.inverse.norm_squared.sqrt();
        let length = |v: &[f64]| norm(v.iter().copied());
        Self { size: length(&inner), noise_size: grow * length(&noise), inner, noise, inverse_norm, theta, grow }
    }

    fn lambda(&self) -> f64 {
        self.grow * self.size + self.noise_size
    }

    /// With `τ_i ≤ min(1/√S_i, ‖L⁻¹‖‖x_i‖)` instead of `L⁻¹X`, which costs as much as the kernel: at the end of a solve
    /// `λ` is so small that only `|x_iᵀH⁻¹r|` matters. (`S_i x_i x_iᵀ ≤ H` is what makes `x_iᵀH⁻¹x_i ≤ 1/S_i`.)
    fn estimated(&self, evidence: &Evidence<'_>) -> Whitened {
        let (x, n) = (evidence.x, evidence.x.n() as f64);
        let scale = evidence.cholesky.scale();
        let (mut tau, mut along) = (vec![0.0; x.d()], vec![0.0; x.d()]);
        x.apply_transposed_squares(scale, &mut tau);
        let mut multipliers = self.inner.clone();
        evidence.cholesky.solve_lower_transposed(&mut multipliers);
        x.apply_transposed(&multipliers, &mut along);
        let underflow = 2.0 * n * SMALLEST;
        let of_slope = 1.0 / (1.0 - evidence.slope_error);
        // Rounding of the product with X is below `u N ‖Dx_i‖ ‖D⁻¹H⁻¹r‖`, D the scale: part of `θ τ_i ‖L⁻¹r‖`, for
        // `θ ≥ N u ‖L⁻¹D⁻¹‖² tr(DHD)` and `τ_i ≥ ‖Dx_i‖/√tr(DHD)`; from QR `θ ≥ N² u ‖L⁻¹D⁻¹‖ √tr(DHD)` is as good.
        for ((tau, along), slope) in tau.iter_mut().zip(&mut along).zip(evidence.slope) {
            let by_norm = self.inverse_norm * (tau.sqrt() * (1.0 + (n + 2.0) * f64::UNIT_ROUNDOFF) + underflow.sqrt());
            *tau = f64::min(by_norm, OUTWARD * (of_slope / slope).sqrt());
            *along = underflow
                + (1.0 + 2.0 * self.theta) * along.abs()
                + (2.0 * self.theta * self.size + (1.0 + 2.0 * self.theta) * self.noise_size) * *tau;
        }
        Whitened { tau, along, lambda: self.lambda() }
    }

    fn whitened(&self, evidence: &Evidence<'_>) -> Whitened {
        let (n, d) = (evidence.x.n(), evidence.x.d());
        let Self { inner, noise, theta, .. } = self;
        // Slopes of 1e300 leave entries of 1e-150, whose squares and products may underflow.
        let underflow = (2 * n) as f64 * SMALLEST;
        let underflow_of_square = underflow.sqrt();
        let (mut tau, mut along, mut blurred) = (vec![0.0; d], vec![0.0; d], vec![0.0; d]);
        let columns =
            tau.par_chunks_mut(COLUMNS).zip(along.par_chunks_mut(COLUMNS)).zip(blurred.par_chunks_mut(COLUMNS));
        columns.enumerate().for_each(|(k, ((tau, along), blurred))| {
            let (start, width) = (k * COLUMNS, tau.len());
            let mut block = Vec::with_capacity(n * width);
            (0..n).for_each(|i| block.extend_from_slice(&evidence.x.row(i)[start..start + width]));
            let mut rows = Vec::new();
            evidence.cholesky.solve_lower_rows(Rows::from_parts(&block, n, width), &mut rows);
            for (row, (inner, noise)) in rows.chunks_exact(width).zip(inner.iter().zip(noise)) {
                for (((c, tau), along), blurred) in row.iter().zip(&mut *tau).zip(&mut *along).zip(&mut *blurred) {
                    *tau += c * c;
                    *along += c * inner;
                    *blurred += c.abs() * noise;
                }
            }
        });
        for ((tau, along), blurred) in tau.iter_mut().zip(&mut along).zip(&blurred) {
            *tau = self.grow * (tau.sqrt() + underflow_of_square);
            let noise = self.noise_size;
            *along = underflow
                + (1.0 + 2.0 * theta) * along.abs()
                + 2.0 * theta * *tau * self.size
                + f64::min(*tau * noise, underflow + (1.0 + 2.0 * theta) * blurred + 2.0 * theta * *tau * noise);
        }
        Whitened { tau, along, lambda: self.lambda() }
    }
}

/// The quantities of the theorem.
struct Whitened {
    /// A bound of `τ_i`.
    tau: Vec<f64>,
    /// A bound of `|x_iᵀH⁻¹r|`.
    along: Vec<f64>,
    /// A bound of `λ`.
    lambda: f64,
}

impl Whitened {
    /// `D_i ≥ |x_iᵀΔ|`, or `None` where `2τλ ≥ 1`.
    fn movement(&self) -> Option<Vec<f64>> {
        let reach = 2.0 * largest(&self.tau) * self.lambda;
        if !(reach < 1.0) {
            return None;
        }
        let mut most = -0.5 * (-reach).ln_1p();
        loop {
            let length = self.lambda / phi(most);
            let bend = rho(most) * length;
            let each = |(tau, along): (&f64, &f64)| f64::min(tau * length, along + tau * bend);
            let movement: Vec<f64> = self.tau.iter().zip(&self.along).map(each).collect();
            let next = OUTWARD * largest(&movement);
            // It cannot rise, for each D_i ≤ τ_i T ≤ M, and it falls by a fixed factor or the loop ends.
            // (Among subnormal numbers 0.999 M rounds to M: there it has to fall at all.)
            if !(next <= STOPS_MOVING * most && next < most) {
                return Some(movement);
            }
            most = next;
        }
    }
}

/// `|L⁻¹| v` for a lower triangular `L⁻¹`.
fn abs_lower_product(inverse: &SquareMatrix, v: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; v.len()];
    for (j, v) in v.iter().enumerate() {
        out[j..].iter_mut().zip(&inverse.column(j)[j..]).for_each(|(out, entry)| *out += entry.abs() * v);
    }
    out
}

/// `(1 − e^{−2M})/(2M)`, rounded down.
fn phi(m: f64) -> f64 {
    if m > 1e-8 { -(-2.0 * m).exp_m1() / (2.0 * m) } else { 1.0 - m }
}

/// `(e^{2M} − 1)/(2M) − 1`, rounded up.
fn rho(m: f64) -> f64 {
    // Below 1e-3 the difference would cancel to more than `OUTWARD`; M + ⅔M² + ⅓M³ + … ≤ M(1 + M) there.
    if m > 1e-3 { OUTWARD * ((2.0 * m).exp_m1() / (2.0 * m) - 1.0) } else { m * (1.0 + m) }
}
