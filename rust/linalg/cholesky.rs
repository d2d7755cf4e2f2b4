//! `H = L Lᵀ`: factors, solves and conditioning of symmetric positive definite systems.
//!
//! Every factorization scales rows and columns by powers of two first, which is exact, so only over- and underflow can
//! tell: Cholesky commutes with diagonal scaling, rounding errors included.
//!
//! # Sources
//! Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., theorems 10.3 (backward error
//! `|ΔH| ≤ γ_{n+1} |L||Lᵀ|`) and 10.7 (success as soon as the matrix of unit diagonal has `λ_min > n γ_{n+1}/(1 − γ_{n+1})`).

use super::blocks::{for_each_row_block, worth_threads};
use super::condition::inverse_norm_estimate;
use super::powers_of_two::unit_scale_of_square;
use super::scratch::Scratch;
use super::shape::agree;
use super::{Rows, SquareMatrix, weighted_qr};
use faer::linalg::cholesky::llt::factor::{LltRegularization, cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{MatMut, Par, Spec};

/// Relative shifts of the diagonal tried in turn (THEORY §1: unit diagonal, zero first).
const SHIFTS: [f64; 13] = [0.0, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5];
/// Columns of one block of `L⁻¹X`.
const COLUMN_BLOCK: usize = 256;

/// A Cholesky factorization with its workspace, reused from matrix to matrix.
///
/// With `D = diag(scale)`: `D H D = L_s L_sᵀ`, so `L = D⁻¹ L_s`. Before the first successful factorization it is that
/// of the identity; after a failed one its solves return unspecified numbers.
#[derive(Clone, Debug)]
pub struct Cholesky {
    factor: SquareMatrix,
    scale: Vec<f64>,
    scratch: Scratch,
}

impl Cholesky {
    /// Workspace for matrices of size `n`.
    #[must_use]
    pub fn new(n: usize) -> Self {
        let mut factor = SquareMatrix::zeros(n);
        (0..n).for_each(|i| factor.set(i, i, 1.0));
        Self {
            factor,
            scale: vec![1.0; n],
            scratch: Scratch::new(cholesky_in_place_scratch::<f64>(n, Par::Seq, Spec::default())),
        }
    }

    /// Size of the matrices.
    #[must_use]
    pub fn n(&self) -> usize {
        self.factor.n()
    }

    /// `H = L Lᵀ` as it is, from the lower triangle; false if a pivot is not positive or anything not finite.
    ///
    /// `|H − L Lᵀ| ≤ γ_{n+5} |L||Lᵀ|`, `γ_k = k u/(1 − k u)`: faer multiplies by the reciprocal of the root, two roundings
    /// more in each of two factors than the theorem's division.
    pub fn factor(&mut self, h: &SquareMatrix) -> bool {
        self.set_scale(h) && self.try_shift(h, 0.0)
    }

    /// `H + shift·diag(H) = L Lᵀ`, which is a shift of the matrix scaled to unit diagonal, for the least of the shifts
    /// 0, 1e-16, 1e-15, …, 1e-5 that succeeds. The shift, or `None` if none does.
    pub fn factor_scaled(&mut self, h: &SquareMatrix) -> Option<f64> {
        if !self.set_scale(h) {
            return None;
        }
        SHIFTS.into_iter().find(|shift| self.try_shift(h, *shift))
    }

    /// `X diag(s) Xᵀ = L Lᵀ` without forming it: `Lᵀ` is the triangular factor of `√S Xᵀ`, with errors of
    /// `cond(√S Xᵀ) u` where the formed matrix has its square. False if a row of `X` lies in the span of those before it up
    /// to about `16 (512 + 3n) ε` of its weighted norm (so always if `n > d`), or if anything is not finite.
    pub fn factor_by_qr(&mut self, x: Rows<'_>, s: &[f64]) -> bool {
        let (n, d) = (x.n(), x.d());
        agree("shapes of X and s", (n, s.len()), (self.n(), d));
        self.scale.iter_mut().enumerate().for_each(|(i, scale)| *scale = weighted_qr::scale_of_row(x.row(i), s));
        weighted_qr::triangle(x, s, &self.scale, &mut self.factor)
    }

    /// Entry of `L`, row `i`, column `j ≤ i`.
    #[must_use]
    pub fn lower(&self, i: usize, j: usize) -> f64 {
        // The scale is a power of two: its reciprocal is exact.
        self.factor.get(i, j) / self.scale[i]
    }

    /// `D`, powers of two: `D H D` has its diagonal between 1 and 4 and is what was factored.
    #[must_use]
    pub fn scale(&self) -> &[f64] {
        &self.scale
    }

    /// Trace of `D H D`, the squared Frobenius norm of its factor.
    #[must_use]
    pub fn scaled_trace(&self) -> f64 {
        (0..self.n()).flat_map(|j| &self.factor.column(j)[j..]).map(|entry| entry * entry).sum()
    }

    /// `b ← H⁻¹ b`.
    pub fn solve(&self, b: &mut [f64]) {
        self.solve_lower(b);
        self.solve_lower_transposed(b);
    }

    /// `b ← L⁻¹ b`.
    pub fn solve_lower(&self, b: &mut [f64]) {
        b.iter_mut().zip(&self.scale).for_each(|(b, scale)| *b *= scale);
        let n = self.n();
        let b = MatMut::from_column_major_slice_mut(b, n, 1);
        solve_lower_triangular_in_place(self.factor.as_faer(), b, Par::Seq);
    }

    /// `b ← L⁻ᵀ b`.
    pub fn solve_lower_transposed(&self, b: &mut [f64]) {
        let n = self.n();
        let column = MatMut::from_column_major_slice_mut(b, n, 1);
        solve_upper_triangular_in_place(self.factor.as_faer().transpose(), column, Par::Seq);
        b.iter_mut().zip(&self.scale).for_each(|(b, scale)| *b *= scale);
    }

    /// `out = L⁻¹ X`, row-major `n × d`, block of columns by block of columns.
    pub fn solve_lower_rows(&self, x: Rows<'_>, out: &mut Vec<f64>) {
        let (n, d) = (x.n(), x.d());
        agree("rows of X", n, self.n());
        out.resize(n * d, 0.0);
        let columns = MatMut::from_column_major_slice_mut(out, d, n);
        let threads = worth_threads(n * n * d / 2);
        for_each_row_block(columns, COLUMN_BLOCK, threads, &|start, mut block| {
            for (i, scale) in self.scale.iter().enumerate() {
                for (k, x) in x.row(i)[start..start + block.nrows()].iter().enumerate() {
                    block[(k, i)] = x * scale;
                }
            }
            solve_lower_triangular_in_place(self.factor.as_faer(), block.transpose_mut(), Par::Seq);
        });
    }

    /// `L⁻¹`, its upper triangle zero.
    #[must_use]
    pub fn inverse_lower(&self) -> SquareMatrix {
        let mut inverse = SquareMatrix::zeros(self.n());
        invert_lower_triangular(inverse.as_faer_mut(), self.factor.as_faer(), Par::Seq);
        for (j, scale) in self.scale.iter().enumerate() {
            inverse.column_mut(j).iter_mut().for_each(|entry| *entry *= scale);
        }
        inverse
    }

    /// A lower bound of the 1-norm condition number of `D H D`, `H = h` scaled to a diagonal between 1 and 4, nearly always
    /// within a factor 3. `h` is the matrix that was factored.
    #[must_use]
    pub fn condition_estimate(&self, h: &SquareMatrix) -> f64 {
        let n = self.n();
        agree("size of H", h.n(), n);
        let column = |j: usize| h.column(j).iter().zip(&self.scale).map(|(h, d)| h.abs() * d).sum::<f64>();
        let norm = self.scale.iter().enumerate().map(|(j, d)| d * column(j)).fold(0.0, f64::max);
        let l = self.factor.as_faer();
        let inverse_norm = inverse_norm_estimate(n, |b| {
            let mut b = MatMut::from_column_major_slice_mut(b, n, 1);
            solve_lower_triangular_in_place(l, b.as_mut(), Par::Seq);
            solve_upper_triangular_in_place(l.transpose(), b, Par::Seq);
        });
        norm * inverse_norm
    }

    /// Powers of two that bring the diagonal of `h` into [1, 4). False if it is not positive and finite.
    fn set_scale(&mut self, h: &SquareMatrix) -> bool {
        agree("size of H", h.n(), self.n());
        self.scale.iter_mut().zip(h.diagonal()).all(|(scale, h)| match unit_scale_of_square(h) {
            Some(unit) => {
                *scale = unit;
                true
            }
            None => false,
        })
    }

    fn try_shift(&mut self, h: &SquareMatrix, shift: f64) -> bool {
        for j in 0..self.n() {
            let column = &mut self.factor.column_mut(j)[j..];
            let scaled = self.scale[j..].iter().zip(&h.column(j)[j..]);
            column.iter_mut().zip(scaled).for_each(|(out, (scale, h))| *out = h * self.scale[j] * scale);
            column[0] += shift * column[0];
        }
        let stack = self.scratch.stack();
        cholesky_in_place(self.factor.as_faer_mut(), LltRegularization::default(), Par::Seq, stack, Spec::default())
            .is_ok()
            && self.factor.diagonal().all(|pivot| pivot.is_finite() && pivot > 0.0)
    }
}

#[cfg(test)]
mod tests;
