//! Shifted solves with a general matrix: one dense LU with partial pivoting a shift, O(n³).
//!
//! # Sources
//! Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., theorem 9.3 (`|ΔA| ≤ γ_n |L||U|`).

use super::SquareMatrix;
use super::scratch::Scratch;
use super::shape::agree;
use faer::linalg::lu::partial_pivoting::factor::{lu_in_place, lu_in_place_scratch};
use faer::linalg::triangular_solve::{solve_unit_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::traits::ComplexField;
use faer::traits::math_utils::recip;
use faer::{Mat, Par, Spec, c64};

/// A matrix `J` and the factorizations of `shift I − J` in use.
#[derive(Clone, Debug)]
pub struct ShiftedLu {
    matrix: SquareMatrix,
    real: Lu<f64>,
    complex: Vec<Lu<c64>>,
}

impl ShiftedLu {
    /// Workspace for matrices of size `n`; the zero matrix until the first [`Self::set`].
    #[must_use]
    pub fn new(n: usize) -> Self {
        Self { matrix: SquareMatrix::zeros(n), real: Lu::new(n), complex: Vec::new() }
    }

    /// Size of the matrices.
    #[must_use]
    pub fn n(&self) -> usize {
        self.matrix.n()
    }

    /// Replace `J`. Factorizations made before are of the old one.
    pub fn set(&mut self, j: &SquareMatrix) {
        agree("size of J", j.n(), self.n());
        self.matrix.data_mut().copy_from_slice(j.data());
    }

    /// `J`, to be written in place.
    pub fn matrix_mut(&mut self) -> &mut SquareMatrix {
        &mut self.matrix
    }

    /// Get ready for `(shift I − J) x = b`. False if it is singular to working precision or not finite.
    pub fn factor_real(&mut self, shift: f64) -> bool {
        self.real.factor(&self.matrix, shift, |entry| entry, f64::is_finite)
    }

    /// Get ready for the `slot`-th complex shift `re + i im`. False if singular to working precision or not finite.
    pub fn factor_complex(&mut self, slot: usize, re: f64, im: f64) -> bool {
        while self.complex.len() <= slot {
            self.complex.push(Lu::new(self.n()));
        }
        self.complex[slot].factor(&self.matrix, c64::new(re, im), |entry| c64::new(entry, 0.0), c64::is_finite)
    }

    /// `b ← (shift I − J)⁻¹ b` for the shift last factored.
    pub fn solve_real(&mut self, b: &mut [f64]) {
        agree("length of the right-hand side", b.len(), self.n());
        self.real.solve(|i| b[i]);
        (0..b.len()).for_each(|i| b[i] = self.real.work[(i, 0)]);
    }

    /// The same for the `slot`-th complex shift and the right-hand side `re + i im`.
    ///
    /// # Panics
    /// If the slot was never factored.
    pub fn solve_complex(&mut self, slot: usize, re: &mut [f64], im: &mut [f64]) {
        agree("length of the right-hand side", (re.len(), im.len()), (self.n(), self.n()));
        let lu = &mut self.complex[slot];
        lu.solve(|i| c64::new(re[i], im[i]));
        (0..re.len()).for_each(|i| (re[i], im[i]) = (lu.work[(i, 0)].re, lu.work[(i, 0)].im));
    }
}

/// `P A = L U` in one square, `L` with a unit diagonal.
#[derive(Clone, Debug)]
pub(crate) struct Lu<T: ComplexField> {
    factors: Mat<T>,
    permutation: Vec<usize>,
    inverse_permutation: Vec<usize>,
    scratch: Scratch,
    work: Mat<T>,
}

impl<T: ComplexField + Copy> Lu<T> {
    /// Workspace for matrices of size `n`.
    pub(crate) fn new(n: usize) -> Self {
        Self {
            factors: Mat::zeros(n, n),
            permutation: (0..n).collect(),
            inverse_permutation: (0..n).collect(),
            scratch: Scratch::new(lu_in_place_scratch::<usize, T>(n, n, Par::Seq, Spec::default())),
            work: Mat::zeros(n, 1),
        }
    }

    /// Factor `shift I − J`.
    fn factor(&mut self, j: &SquareMatrix, shift: T, lift: impl Fn(f64) -> T, is_finite: impl Fn(T) -> bool) -> bool {
        for k in 0..j.n() {
            for (out, entry) in self.factors.as_mut().col_mut(k).iter_mut().zip(j.column(k)) {
                *out = lift(-entry);
            }
            self.factors[(k, k)] = shift + self.factors[(k, k)];
        }
        self.factor_in_place(is_finite)
    }

    /// Factor the matrix of these entries. False if it is singular to working precision or not finite.
    pub(crate) fn factor_entries(&mut self, entry: impl Fn(usize, usize) -> T, is_finite: impl Fn(T) -> bool) -> bool {
        for k in 0..self.factors.ncols() {
            for (i, out) in self.factors.as_mut().col_mut(k).iter_mut().enumerate() {
                *out = entry(i, k);
            }
        }
        self.factor_in_place(is_finite)
    }

    fn factor_in_place(&mut self, is_finite: impl Fn(T) -> bool) -> bool {
        let n = self.factors.ncols();
        let finite = (0..n).all(|k| self.factors.as_ref().col(k).iter().all(|entry| is_finite(*entry)));
        if !finite {
            return false;
        }
        lu_in_place(
            self.factors.as_mut(),
            &mut self.permutation,
            &mut self.inverse_permutation,
            Par::Seq,
            self.scratch.stack(),
            Spec::default(),
        );
        (0..n).all(|k| is_finite(self.factors[(k, k)]) && is_finite(recip(&self.factors[(k, k)])))
    }

    /// The solution for the right-hand side `b(i)`, which is kept in `work`.
    pub(crate) fn solve(&mut self, b: impl Fn(usize) -> T) -> &Mat<T> {
        for (i, from) in self.permutation.iter().enumerate() {
            self.work[(i, 0)] = b(*from);
        }
        solve_unit_lower_triangular_in_place(self.factors.as_ref(), self.work.as_mut(), Par::Seq);
        solve_upper_triangular_in_place(self.factors.as_ref(), self.work.as_mut(), Par::Seq);
        &self.work
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Random, U, max_abs, times};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shifted_solves_leave_residuals_of_rounding_size(n in 1_usize..25, seed: u64, re in -3.0..3.0, im in -3.0..3.0) {
            let mut random = Random::new(seed);
            let (entries, b, c) = (random.vector(n * n), random.vector(n), random.vector(n));
            let j = SquareMatrix::from_fn(n, |i, k| entries[i * n + k]);
            let mut lu = ShiftedLu::new(n);
            lu.set(&j);
            prop_assume!(lu.factor_real(re) && lu.factor_complex(2, re, im));
            // γ_{3n} |L||U||x| (Higham, theorem 9.4) with |L| ≤ 1 and |U| ≤ 2^(n−1) in theory, below n on random data:
            // n² times the largest entry bounds the product.
            let tolerance = 4.0 * n as f64 * U * (n * n) as f64 * (1.0 + re.abs() + im.abs());
            let mut x = b.clone();
            lu.solve_real(&mut x);
            let back: Vec<f64> = times(&j, &x).iter().zip(&x).zip(&b).map(|((jx, x), b)| re * x - jx - b).collect();
            prop_assert!(max_abs(&back) <= tolerance * max_abs(&x));
            let (mut x, mut y) = (b.clone(), c.clone());
            lu.solve_complex(2, &mut x, &mut y);
            let (jx, jy) = (times(&j, &x), times(&j, &y));
            let tolerance = tolerance * (max_abs(&x) + max_abs(&y));
            for i in 0..n {
                prop_assert!((re * x[i] - im * y[i] - jx[i] - b[i]).abs() <= tolerance);
                prop_assert!((re * y[i] + im * x[i] - jy[i] - c[i]).abs() <= tolerance);
            }
        }
    }

    #[test]
    fn a_cyclic_permutation_is_undone() {
        // shift 0 and J = −P: x must be Pᵀ b, and every row moves.
        let n = 7;
        let mut lu = ShiftedLu::new(n);
        lu.set(&SquareMatrix::from_fn(n, |i, j| if (i + 3) % n == j { -1.0 } else { 0.0 }));
        assert!(lu.factor_real(0.0));
        let mut b: Vec<f64> = (0..n).map(|i| i as f64).collect();
        lu.solve_real(&mut b);
        assert_eq!(b, (0..n).map(|j| ((j + n - 3) % n) as f64).collect::<Vec<_>>());
    }

    #[test]
    fn singular_and_non_finite_matrices_are_refused() {
        let mut lu = ShiftedLu::new(3);
        assert!(!lu.factor_real(0.0) && !lu.factor_complex(0, 0.0, 0.0));
        assert!(lu.factor_real(2.0) && lu.factor_complex(0, 0.0, 2.0));
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(!lu.factor_real(bad) && !lu.factor_complex(0, 1.0, bad));
            lu.set(&SquareMatrix::from_fn(3, |i, j| if (i, j) == (2, 1) { bad } else { 1.0 }));
            assert!(!lu.factor_real(1.0) && !lu.factor_complex(0, 1.0, 1.0));
            lu.set(&SquareMatrix::zeros(3));
        }
    }
}
