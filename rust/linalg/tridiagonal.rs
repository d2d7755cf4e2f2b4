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
mod tests {
    use super::super::testing::{Random, U, max_abs, times};
    use super::*;
    use proptest::prelude::*;

    fn symmetric(n: usize, random: &mut Random) -> SquareMatrix {
        let half = random.vector(n * n);
        SquareMatrix::from_fn(n, |i, j| half[i * n + j] + half[j * n + i])
    }

    fn reduced(a: &SquareMatrix) -> SymmetricTridiagonal {
        let mut t = SymmetricTridiagonal::new(a.n());
        t.reduce(a);
        t
    }

    fn norm(x: &[f64]) -> f64 {
        x.iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    /// `T b`.
    fn tridiagonal_times(t: &SymmetricTridiagonal, b: &[f64]) -> Vec<f64> {
        let off =
            |i: usize, j: usize| t.off_diagonal().get(i).map_or(0.0, |off| off * b.get(j).copied().unwrap_or(0.0));
        (0..b.len())
            .map(|i| t.diagonal()[i] * b[i] + off(i, i + 1) + if i > 0 { off(i - 1, i - 1) } else { 0.0 })
            .collect()
    }

    /// `10 n u ‖·‖`: the constant of the n reflections, each with a backward error of a few u (Higham, lemma 19.3).
    fn reflections(n: usize) -> f64 {
        10.0 * (n + 1) as f64 * U
    }

    proptest! {
        #[test]
        fn the_basis_is_orthonormal_and_makes_the_matrix_tridiagonal(n in 1_usize..30, seed: u64) {
            let mut random = Random::new(seed);
            let (a, b) = (symmetric(n, &mut random), random.vector(n));
            let mut t = reduced(&a);
            let mut inside = b.clone();
            t.to_basis(&mut inside);
            let image = tridiagonal_times(&t, &inside);
            t.from_basis(&mut inside);
            prop_assert!(max_abs(&b.iter().zip(&inside).map(|(b, c)| b - c).collect::<Vec<_>>()) <= reflections(n) * norm(&b));
            let mut direct = times(&a, &b);
            t.to_basis(&mut direct);
            let tolerance = reflections(n) * norm(a.data()) * norm(&b);
            prop_assert!(max_abs(&direct.iter().zip(&image).map(|(b, c)| b - c).collect::<Vec<_>>()) <= tolerance);
        }

        #[test]
        fn shifted_solves_leave_residuals_of_rounding_size(n in 1_usize..30, seed: u64, re in -3.0..3.0, im in -3.0..3.0) {
            let mut random = Random::new(seed);
            let (a, b, c) = (symmetric(n, &mut random), random.vector(n), random.vector(n));
            let mut t = reduced(&a);
            prop_assume!(t.factor_real(re) && t.factor_complex(1, re, im));
            // Partial pivoting on a tridiagonal matrix grows entries at most twofold (Higham, §9.6): a residual of
            // a few u ‖shift I − T‖ ‖x‖, beside that of the reduction.
            let size = norm(a.data()) + re.abs() + im.abs();
            let mut x = b.clone();
            t.to_basis(&mut x);
            t.solve_real(&mut x);
            t.from_basis(&mut x);
            let back: Vec<f64> = times(&a, &x).iter().zip(&x).zip(&b).map(|((ax, x), b)| re * x - ax - b).collect();
            prop_assert!(max_abs(&back) <= 2.0 * reflections(n) * size * norm(&x));

            let (mut x, mut y) = (b.clone(), c.clone());
            t.to_basis(&mut x);
            t.to_basis(&mut y);
            t.solve_complex(1, &mut x, &mut y);
            t.from_basis(&mut x);
            t.from_basis(&mut y);
            let (ax, ay) = (times(&a, &x), times(&a, &y));
            let tolerance = 2.0 * reflections(n) * size * (norm(&x) + norm(&y));
            for i in 0..n {
                prop_assert!((re * x[i] - im * y[i] - ax[i] - b[i]).abs() <= tolerance);
                prop_assert!((re * y[i] + im * x[i] - ay[i] - c[i]).abs() <= tolerance);
            }
        }

        #[test]
        fn several_vectors_at_once_are_the_vectors_one_by_one(n in 1_usize..30, s in 1_usize..9, seed: u64) {
            let mut random = Random::new(seed);
            let mut t = reduced(&symmetric(n, &mut random));
            let b = random.vector(n * s);
            let (mut together, mut apart) = (b.clone(), b.clone());
            t.to_basis_many(&mut together);
            apart.chunks_exact_mut(n).for_each(|b| t.to_basis(b));
            // Two orders of the same n products: 2 n u Σ|q b| ≤ 2 n u ‖b‖, for each of them.
            for (x, y) in together.iter().zip(&apart) {
                prop_assert!((x - y).abs() <= 4.0 * n as f64 * U * norm(&b));
            }
            t.from_basis_many(&mut together);
            for (x, y) in together.iter().zip(&b) {
                prop_assert!((x - y).abs() <= reflections(n) * norm(&b));
            }
        }
    }

    #[test]
    fn a_zero_pivot_of_a_regular_matrix_is_exchanged() {
        // T = [[0, 1], [1, 0]] at shift 0: elimination without exchange divides by zero.
        let mut t = reduced(&SquareMatrix::from_fn(2, |i, j| if i == j { 0.0 } else { 1.0 }));
        assert!(t.factor_real(0.0) && t.factor_complex(0, 0.0, 0.0));
        let mut b = [3.0, 5.0];
        t.to_basis(&mut b);
        t.solve_real(&mut b);
        t.from_basis(&mut b);
        assert_eq!(b, [-5.0, -3.0]);
    }

    #[test]
    fn a_shift_on_an_eigenvalue_is_refused() {
        let mut t = reduced(&SquareMatrix::from_fn(3, |i, j| if i == j { i as f64 } else { 0.0 }));
        for eigenvalue in [0.0, 1.0, 2.0] {
            assert!(!t.factor_real(eigenvalue) && !t.factor_complex(0, eigenvalue, 0.0));
        }
        assert!(t.factor_real(0.5) && t.factor_complex(0, 1.0, 1e-300));
    }

    #[test]
    fn a_single_unknown_is_a_division() {
        let mut t = reduced(&SquareMatrix::from_fn(1, |_, _| -4.0));
        let (mut b, mut re, mut im) = ([6.0], [0.0], [10.0]);
        assert!(t.factor_real(-1.0) && t.factor_complex(0, -1.0, 1.0));
        t.to_basis(&mut b);
        t.solve_real(&mut b);
        t.solve_complex(0, &mut re, &mut im);
        assert_eq!(b, [2.0]);
        assert!((re[0] - 1.0).abs() < 1e-15 && (im[0] - 3.0).abs() < 1e-15);
    }

    #[test]
    fn matrices_and_shifts_that_are_not_finite_are_refused() {
        for bad in [f64::NAN, f64::INFINITY] {
            for place in [(0, 0), (2, 1), (3, 3), (3, 0)] {
                let mut a = symmetric(4, &mut Random::new(1));
                a.set(place.0, place.1, bad);
                a.set(place.1, place.0, bad);
                let mut t = reduced(&a);
                assert!(!t.factor_real(1.0) && !t.factor_complex(0, 1.0, 1.0), "{bad} at {place:?}");
            }
            let mut t = reduced(&symmetric(4, &mut Random::new(1)));
            assert!(!t.factor_real(bad) && !t.factor_complex(0, bad, 1.0) && !t.factor_complex(0, 1.0, bad));
        }
    }
}
