//! An `n × n` matrix in one allocation.

use super::Rows;
use faer::{MatMut, MatRef};

/// An `n × n` matrix, column-major; symmetric by convention where said.
#[derive(Clone, Debug, PartialEq)]
pub struct SquareMatrix {
    n: usize,
    data: Vec<f64>,
}

impl SquareMatrix {
    /// The zero matrix.
    #[must_use]
    pub fn zeros(n: usize) -> Self {
        Self { n, data: vec![0.0; n * n] }
    }

    /// The matrix of entries `entry(i, j)`.
    #[must_use]
    pub fn from_fn(n: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        Self { n, data: (0..n * n).map(|k| entry(k % n, k / n)).collect() }
    }

    /// Number of rows, and of columns.
    #[must_use]
    pub fn n(&self) -> usize {
        self.n
    }

    /// Entry in row `i`, column `j`.
    #[must_use]
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.data[j * self.n + i]
    }

    /// Replace the entry in row `i`, column `j`.
    pub fn set(&mut self, i: usize, j: usize, value: f64) {
        self.data[j * self.n + i] = value;
    }

    /// The diagonal, top to bottom.
    pub fn diagonal(&self) -> impl Iterator<Item = f64> + '_ {
        self.data.iter().step_by(self.n + 1).copied()
    }

    /// `tr A`.
    #[must_use]
    pub fn trace(&self) -> f64 {
        self.diagonal().sum()
    }

    /// The j-th column.
    #[must_use]
    pub fn column(&self, j: usize) -> &[f64] {
        &self.data[j * self.n..(j + 1) * self.n]
    }

    /// The j-th column, to be written.
    pub fn column_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.data[j * self.n..(j + 1) * self.n]
    }

    /// All entries, column after column.
    #[must_use]
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    /// All entries, column after column, to be written.
    pub fn data_mut(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// Become `factor · other`. Same size.
    pub fn copy_scaled(&mut self, other: &Self, factor: f64) {
        self.data_mut().iter_mut().zip(other.data()).for_each(|(out, v)| *out = factor * v);
    }

    /// Add `factor · other`. Same size.
    pub fn add_scaled(&mut self, other: &Self, factor: f64) {
        self.data_mut().iter_mut().zip(other.data()).for_each(|(out, v)| *out += factor * v);
    }

    /// `out_k = A v_k` for the vectors of `v`, one after another, if `A` is symmetric.
    ///
    /// # Panics
    /// If `out` is not as long as `v`.
    pub fn apply_symmetric_many(&self, v: &[f64], out: &mut [f64]) {
        Rows::from_parts(&self.data, self.n, self.n).apply_many(v, out);
    }

    /// faer's view.
    #[must_use]
    pub fn as_faer(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.data, self.n, self.n)
    }

    /// faer's view, to be written.
    pub fn as_faer_mut(&mut self) -> MatMut<'_, f64> {
        MatMut::from_column_major_slice_mut(&mut self.data, self.n, self.n)
    }

    /// Copy the lower triangle onto the upper.
    pub fn mirror_lower(&mut self) {
        for j in 0..self.n {
            for i in j + 1..self.n {
                self.data[i * self.n + j] = self.data[j * self.n + i];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_vectors_are_multiplied_by_a_symmetric_matrix_one_by_one() {
        // Small integers: every sum is exact, whatever its order.
        let a = SquareMatrix::from_fn(3, |i, j| (i + j) as f64 - 2.0);
        let (v, mut out) = ([1.0, -2.0, 3.0, 0.0, 4.0, 1.0], [f64::NAN; 6]);
        a.apply_symmetric_many(&v, &mut out);
        for (v, out) in v.chunks_exact(3).zip(out.chunks_exact(3)) {
            for (i, out) in out.iter().enumerate() {
                assert_eq!(*out, (0..3).map(|j| a.get(i, j) * v[j]).sum::<f64>());
            }
        }
    }
}
