//! `A = Vᵀ diag(λ) V` of a symmetric matrix.
//!
//! # Source
//! Golub & Van Loan, *Matrix Computations*, 4th ed., §8.3.6: the computed decomposition is that of a matrix within
//! `c n u ‖A‖₂`, with vectors that are orthonormal within `c n u`.

use super::{Rows, SquareMatrix};
use faer::{Mat, Side};

/// Eigenvalues, least first, and orthonormal eigenvectors.
#[derive(Clone, Debug)]
pub struct SymmetricEigen {
    values: Vec<f64>,
    /// One after another.
    vectors: Vec<f64>,
}

impl SymmetricEigen {
    /// Decompose `a`, whose lower triangle is read. `None` if it is not finite.
    #[must_use]
    pub fn of(a: &SquareMatrix) -> Option<Self> {
        let n = a.n();
        if !a.data().iter().all(|entry| entry.is_finite()) {
            return None;
        }
        let eigen = Mat::from_fn(n, n, |i, j| a.get(i, j)).self_adjoint_eigen(Side::Lower).ok()?;
        let (values, vectors) = (eigen.S().column_vector(), eigen.U());
        Some(Self {
            values: values.iter().copied().collect(),
            vectors: (0..n * n).map(|k| vectors[(k % n, k / n)]).collect(),
        })
    }

    /// `λ`, least first.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The eigenvectors as rows: `V v` are the coefficients of `v`, and `Vᵀ` of these is `v`.
    #[must_use]
    pub fn vectors(&self) -> Rows<'_> {
        Rows::from_parts(&self.vectors, self.values.len(), self.values.len())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Random, U, max_abs};
    use super::*;

    #[test]
    fn the_matrix_comes_back_from_its_eigenvalues_and_vectors() {
        for n in [1, 2, 7, 40] {
            let entries = Random::new(n as u64).vector(n * n);
            let a = SquareMatrix::from_fn(n, |i, j| entries[i * n + j] + entries[j * n + i]);
            let Some(eigen) = SymmetricEigen::of(&a) else { panic!("finite") };
            assert!(eigen.values().is_sorted());
            let v = eigen.vectors();
            let back = |i: usize, j: usize| -> f64 {
                (0..n).map(|k| eigen.values()[k] * v.row(k)[i] * v.row(k)[j]).sum::<f64>() - a.get(i, j)
            };
            let off: Vec<f64> = (0..n * n).map(|k| back(k % n, k / n)).collect();
            let size = eigen.values().iter().fold(0.0_f64, |size, value| size.max(value.abs()));
            assert!(max_abs(&off) <= 10.0 * n as f64 * U * size, "n = {n}: {}", max_abs(&off));
        }
    }

    #[test]
    fn what_is_not_finite_has_no_eigenvalues() {
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(SymmetricEigen::of(&SquareMatrix::from_fn(2, |i, j| if i == j { 1.0 } else { bad })).is_none());
        }
    }
}
