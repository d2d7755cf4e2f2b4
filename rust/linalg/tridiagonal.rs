//! Shifted solves with a symmetric matrix: one reduction `A = Q T Qᵀ`, then every shift costs O(n) in the basis of `Q`.
//!
//! `Q` is formed, not kept as reflections: applied to the few vectors of a step, a product with `Q` is one pass of
//! matrix multiplication where reflections are many short ones, and it is applied far more often than it is formed.
//!
//! # Sources
//! Golub & Van Loan, *Matrix Computations*, 4th ed., §8.3.1 (`‖A − Q T Qᵀ‖ ≤ c n u ‖A‖`).

use super::SquareMatrix;
use super::scratch::Scratch;
use super::shape::agree;
use super::tridiagonal_lu::TridiagonalLu;
use faer::linalg::evd::tridiag::{tridiag_in_place, tridiag_in_place_scratch};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj,
};
use faer::linalg::matmul::matmul;
use faer::{Accum, Conj, Mat, MatMut, MatRef, Par, Spec, c64};

/// Reflections multiplied out together.
const BLOCK: usize = 16;

/// `A = Q T Qᵀ` and the factorizations of `shift I − T` in use.
#[derive(Clone, Debug)]
pub struct SymmetricTridiagonal {
    q: SquareMatrix,
    diagonal: Vec<f64>,
    off_diagonal: Vec<f64>,
    real: TridiagonalLu<f64>,
    complex: Vec<TridiagonalLu<c64>>,
    reflectors: SquareMatrix,
    coefficients: Mat<f64>,
    scratch: Scratch,
    work: Vec<f64>,
}

impl SymmetricTridiagonal {
    /// Workspace for matrices of size `n`; the zero matrix until the first [`Self::reduce`].
    #[must_use]
    pub fn new(n: usize) -> Self {
        let last = n.saturating_sub(1);
        let block = BLOCK.min(last.max(1));
        Self {
            q: identity(n),
            diagonal: vec![0.0; n],
            off_diagonal: vec![0.0; last],
            real: TridiagonalLu::new(n),
            complex: Vec::new(),
            reflectors: SquareMatrix::zeros(n),
            coefficients: Mat::zeros(block, last),
            scratch: Scratch::new(faer::dyn_stack::StackReq::any_of(&[
                tridiag_in_place_scratch::<f64>(n, Par::Seq, Spec::default()),
                apply_block_householder_sequence_on_the_left_in_place_scratch::<f64>(last, block, last),
            ])),
            work: Vec::new(),
        }
    }

    /// Size of the matrices.
    #[must_use]
    pub fn n(&self) -> usize {
        self.diagonal.len()
    }

    /// The diagonal of `T`.
    #[must_use]
    pub fn diagonal(&self) -> &[f64] {
        &self.diagonal
    }

    /// The off-diagonal of `T`.
    #[must_use]
    pub fn off_diagonal(&self) -> &[f64] {
        &self.off_diagonal
    }

    /// `A = Q T Qᵀ`, `A` given by its lower triangle. If `A` is not finite every later factorization says false.
    pub fn reduce(&mut self, a: &SquareMatrix) {
        let n = self.n();
        agree("size of A", a.n(), n);
        if n == 0 {
            return;
        }
        self.reflectors.data_mut().copy_from_slice(a.data());
        tridiag_in_place(
            self.reflectors.as_faer_mut(),
            self.coefficients.as_mut(),
            Par::Seq,
            self.scratch.stack(),
            Spec::default(),
        );
        for i in 0..n {
            self.diagonal[i] = self.reflectors.get(i, i);
            if i + 1 < n {
                self.off_diagonal[i] = self.reflectors.get(i + 1, i);
            }
        }
        self.form_q();
    }

    /// `b ← Qᵀ b`: into the basis in which the matrix is tridiagonal.
    pub fn to_basis(&mut self, b: &mut [f64]) {
        self.to_basis_many(b);
    }

    /// `b ← Q b`: back from the basis in which the matrix is tridiagonal.
    pub fn from_basis(&mut self, b: &mut [f64]) {
        self.from_basis_many(b);
    }

    /// [`Self::to_basis`] of several vectors, one after another.
    pub fn to_basis_many(&mut self, b: &mut [f64]) {
        multiply(self.q.as_faer().transpose(), b, &mut self.work);
    }

    /// [`Self::from_basis`] of several vectors, one after another.
    pub fn from_basis_many(&mut self, b: &mut [f64]) {
        multiply(self.q.as_faer(), b, &mut self.work);
    }

    /// Get ready for `(shift I − T) x = b`. False if it is singular to working precision or not finite.
    pub fn factor_real(&mut self, shift: f64) -> bool {
        self.real.factor(shift, &self.diagonal, &self.off_diagonal)
    }

    /// Get ready for the `slot`-th complex shift `re + i im`. False if singular to working precision or not finite.
    pub fn factor_complex(&mut self, slot: usize, re: f64, im: f64) -> bool {
        while self.complex.len() <= slot {
            self.complex.push(TridiagonalLu::new(self.n()));
        }
        self.complex[slot].factor(c64::new(re, im), &self.diagonal, &self.off_diagonal)
    }

    /// `b ← (shift I − T)⁻¹ b`, `b` in the tridiagonal basis, for the shift last factored.
    pub fn solve_real(&self, b: &mut [f64]) {
        agree("length of the right-hand side", b.len(), self.n());
        self.real.solve(b);
    }

    /// The same for the `slot`-th complex shift and the right-hand side `re + i im`.
    ///
    /// # Panics
    /// If the slot was never factored.
    pub fn solve_complex(&self, slot: usize, re: &mut [f64], im: &mut [f64]) {
        agree("length of the right-hand side", (re.len(), im.len()), (self.n(), self.n()));
        self.complex[slot].solve((re, im));
    }

    /// Multiply the reflections out, block by block. They leave the first coordinate alone.
    fn form_q(&mut self) {
        let n = self.n();
        self.q.data_mut().fill(0.0);
        (0..n).for_each(|i| self.q.set(i, i, 1.0));
        if n < 2 {
            return;
        }
        apply_block_householder_sequence_on_the_left_in_place_with_conj(
            self.reflectors.as_faer().get(1.., ..n - 1),
            self.coefficients.as_ref(),
            Conj::No,
            self.q.as_faer_mut().get_mut(1.., 1..),
            Par::Seq,
            self.scratch.stack(),
        );
    }
}

/// Each vector of `b` becomes `m` times it.
fn multiply(m: MatRef<'_, f64>, b: &mut [f64], work: &mut Vec<f64>) {
    let n = m.nrows();
    if n == 0 {
        return;
    }
    let s = b.len() / n;
    agree("length of the vectors", b.len(), n * s);
    work.resize(b.len().max(work.len()), 0.0);
    let out = &mut work[..b.len()];
    matmul(
        MatMut::from_column_major_slice_mut(out, n, s),
        Accum::Replace,
        m,
        MatRef::from_column_major_slice(b, n, s),
        1.0,
        Par::Seq,
    );
    b.copy_from_slice(out);
}

fn identity(n: usize) -> SquareMatrix {
    SquareMatrix::from_fn(n, |i, j| if i == j { 1.0 } else { 0.0 })
}

#[cfg(test)]
mod tests;
