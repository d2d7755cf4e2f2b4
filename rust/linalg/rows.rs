//! The data and products with it.

use core::array::from_fn;

use super::blocks::{for_each_chunk, for_each_row_block, worth_threads};
use super::few_vectors;
use super::shape::agree;
use crate::real::{Real, add_squares, axpy_abs, dot_abs};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// Columns of one block of `Xᵀw`: its part of the result stays in the first-level cache while the rows go by.
const COLUMN_BLOCK: usize = 512;
/// Up to so many vectors are multiplied without packing them: more are worth a general product.
const FEW_VECTORS: usize = 16;
/// Entries of `X` behind one block of rows of `X v`.
const ROW_BLOCK_ENTRIES: usize = 1 << 14;

/// A row-major view of data: `n` samples (rows) of `d` features.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    data: &'a [f64],
    n: usize,
    d: usize,
}

impl<'a> Rows<'a> {
    /// View `data`, row after row. `None` unless its length is `n · d`.
    #[must_use]
    pub fn new(data: &'a [f64], n: usize, d: usize) -> Option<Self> {
        (n.checked_mul(d) == Some(data.len())).then_some(Self { data, n, d })
    }
    /// View `data` whose length is known to be `n · d`.
    #[track_caller]
    pub(crate) fn from_parts(data: &'a [f64], n: usize, d: usize) -> Self {
        agree("entries of X", data.len(), n * d);
        Self { data, n, d }
    }
    /// Number of rows (samples).
    #[must_use]
    pub fn n(&self) -> usize {
        self.n
    }
    /// Number of columns (features).
    #[must_use]
    pub fn d(&self) -> usize {
        self.d
    }
    /// The i-th row.
    #[must_use]
    pub fn row(&self, i: usize) -> &'a [f64] {
        &self.data[i * self.d..(i + 1) * self.d]
    }
    /// All entries, row after row.
    #[must_use]
    pub fn data(&self) -> &'a [f64] {
        self.data
    }
    /// faer's view of `X`.
    #[must_use]
    pub fn as_faer(&self) -> MatRef<'a, f64> {
        MatRef::from_row_major_slice(self.data, self.n, self.d)
    }

    /// `out = X v`, one [`Real::dot`] a row: `|error_i| ≤ (d + 2) u Σ_k |x_ik v_k|` to first order, `u` that of `R`.
    ///
    /// # Panics
    /// If `v` is not `d` long or `out` not `n`; so do all products here, for their own shapes.
    pub fn apply<R: Real>(&self, v: &[R], out: &mut [R]) {
        agree("shapes of X v", (v.len(), out.len()), (self.d, self.n));
        let (x, block) = (*self, self.row_block());
        for_each_chunk(out, block, self.worth_threads(1), |start, out| {
            for (i, out) in out.iter_mut().enumerate() {
                *out = R::dot(x.row(start + i), v);
            }
        });
    }

    /// `out = Xᵀ w` over blocks of columns, eight rows at a time: `|error_k| ≤ k u Σ_i |x_ik w_i|`, `k` the
    /// [`axpy_roundings`](crate::real::axpy_roundings) of binary64 and `n + 1` of other types.
    pub fn apply_transposed<R: Real>(&self, w: &[R], out: &mut [R]) {
        agree("shapes of Xᵀ w", (w.len(), out.len()), (self.n, self.d));
        let x = *self;
        for_each_chunk(out, COLUMN_BLOCK, self.worth_threads(1), |start, out| {
            out.fill(R::ZERO);
            let columns = start..start + out.len();
            let (groups, rest) = w.as_chunks::<8>();
            for (k, w) in groups.iter().enumerate() {
                R::axpy_rows(w, &from_fn(|j| &x.row(8 * k + j)[columns.clone()]), out);
            }
            for (w, i) in rest.iter().zip(x.n - rest.len()..) {
                R::axpy(*w, &x.row(i)[columns.clone()], out);
            }
        });
    }

    /// `out_k = X v_k` for the vectors of `v`, one after another: `(s, d) → (s, n)`. The data are read once.
    pub fn apply_many(&self, v: &[f64], out: &mut [f64]) {
        let Some(s) = Self::vectors(v.len(), self.d, out.len(), self.n) else { return };
        let x = self.as_faer();
        let out = MatMut::from_column_major_slice_mut(out, self.n, s);
        for_each_row_block(out, self.row_block(), self.worth_threads(s), &|start, out| {
            if (2..=FEW_VECTORS).contains(&s) {
                few_vectors::forward(*self, start, v, out);
            } else {
                let v = MatRef::from_column_major_slice(v, self.d, s);
                let x = x.subrows(start, out.nrows());
                matmul(out, Accum::Replace, x, v, 1.0, Par::Seq);
            }
        });
    }

    /// `out_k = Xᵀ w_k` for the vectors of `w`, one after another: `(s, n) → (s, d)`. The data are read once.
    pub fn apply_transposed_many(&self, w: &[f64], out: &mut [f64]) {
        let Some(s) = Self::vectors(w.len(), self.n, out.len(), self.d) else { return };
        let x = self.as_faer();
        let out = MatMut::from_column_major_slice_mut(out, self.d, s);
        for_each_row_block(out, COLUMN_BLOCK, self.worth_threads(s), &|start, out| {
            if (2..=FEW_VECTORS).contains(&s) {
                few_vectors::backward(*self, start, w, out);
            } else {
                let w = MatRef::from_column_major_slice(w, self.n, s);
                let x = x.subcols(start, out.nrows());
                matmul(out, Accum::Replace, x.transpose(), w, 1.0, Par::Seq);
            }
        });
    }

    /// `out = |X| v`, entries of `X` by magnitude: for bounds of rounding errors.
    pub fn apply_abs(&self, v: &[f64], out: &mut [f64]) {
        agree("shapes of |X| v", (v.len(), out.len()), (self.d, self.n));
        let x = *self;
        for_each_chunk(out, self.row_block(), self.worth_threads(1), |start, out| {
            for (i, out) in out.iter_mut().enumerate() {
                *out = dot_abs(x.row(start + i), v);
            }
        });
    }

    /// `out_k = Σ_i (w_i x_ik)²`: squared norms of the columns, rows weighted.
    pub fn apply_transposed_squares(&self, w: &[f64], out: &mut [f64]) {
        agree("shapes of weighted column norms", (w.len(), out.len()), (self.n, self.d));
        let x = *self;
        for_each_chunk(out, COLUMN_BLOCK, self.worth_threads(1), |start, out| {
            out.fill(0.0);
            for (i, w) in w.iter().enumerate() {
                add_squares(*w, &x.row(i)[start..start + out.len()], out);
            }
        });
    }

    /// `out = |X|ᵀ w`, entries of `X` by magnitude: for bounds of rounding errors.
    pub fn apply_transposed_abs(&self, w: &[f64], out: &mut [f64]) {
        agree("shapes of |X|ᵀ w", (w.len(), out.len()), (self.n, self.d));
        let x = *self;
        for_each_chunk(out, COLUMN_BLOCK, self.worth_threads(1), |start, out| {
            out.fill(0.0);
            for (i, w) in w.iter().enumerate() {
                axpy_abs(*w, &x.row(i)[start..start + out.len()], out);
            }
        });
    }

    /// Rows of one block, so that a block is about [`ROW_BLOCK_ENTRIES`] entries.
    fn row_block(&self) -> usize {
        ROW_BLOCK_ENTRIES.div_ceil(self.d.max(1)).next_multiple_of(8)
    }

    fn worth_threads(&self, vectors: usize) -> bool {
        worth_threads(self.data.len() * vectors)
    }

    /// How many vectors of length `from` are mapped to vectors of length `to`; `None` if there are none to map.
    fn vectors(input: usize, from: usize, output: usize, to: usize) -> Option<usize> {
        let s = input.checked_div(from).unwrap_or(output / to.max(1));
        agree("shapes of a product with several vectors", (input, output), (s * from, s * to));
        (output > 0).then_some(s)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Random, U, on_one_two_and_three_threads, rows};
    use super::*;
    use crate::real::DoubleDouble;
    use proptest::prelude::*;

    /// `Σ_k x_ik v_k` and `Σ_k |x_ik v_k|`.
    fn row_sums(x: Rows<'_>, v: &[f64]) -> Vec<(f64, f64)> {
        let terms = |i: usize| x.row(i).iter().zip(v).map(|(x, v)| x * v);
        (0..x.n()).map(|i| (terms(i).sum(), terms(i).map(f64::abs).sum())).collect()
    }

    fn transposed(data: &[f64], n: usize, d: usize) -> Vec<f64> {
        (0..n * d).map(|k| data[k % n * d + k / n]).collect()
    }

    /// Two orders of the same sum of `terms` products, each within `terms · u Σ|x v|` to first order.
    fn assert_sums(found: &[f64], expected: &[(f64, f64)], terms: usize) {
        assert_eq!(found.len(), expected.len());
        for (found, (sum, size)) in found.iter().zip(expected) {
            assert!((found - sum).abs() <= 2.0 * (terms + 2) as f64 * U * size, "{found} instead of {sum}");
        }
    }

    fn assert_products(n: usize, d: usize, s: usize, seed: u64) {
        let mut random = Random::new(seed);
        let (data, v, w) = (random.vector(n * d), random.vector(s * d), random.vector(s * n));
        let turned = transposed(&data, n, d);
        let (x, xt) = (rows(&data, n, d), rows(&turned, d, n));
        let (mut many, mut many_t) = (vec![f64::NAN; s * n], vec![f64::NAN; s * d]);
        x.apply_many(&v, &mut many);
        x.apply_transposed_many(&w, &mut many_t);
        let magnitudes: Vec<f64> = data.iter().map(|x| x.abs()).collect();
        let turned_magnitudes: Vec<f64> = turned.iter().map(|x| x.abs()).collect();
        for k in 0..s {
            let (v, w) = (&v[k * d..(k + 1) * d], &w[k * n..(k + 1) * n]);
            let (sums, sums_t) = (row_sums(x, v), row_sums(xt, w));
            assert_sums(&many[k * n..(k + 1) * n], &sums, d);
            assert_sums(&many_t[k * d..(k + 1) * d], &sums_t, n);
            let (mut one, mut one_t) = (vec![f64::NAN; n], vec![f64::NAN; d]);
            x.apply(v, &mut one);
            x.apply_transposed(w, &mut one_t);
            assert_sums(&one, &sums, d);
            assert_sums(&one_t, &sums_t, n);
            x.apply_abs(v, &mut one);
            x.apply_transposed_abs(w, &mut one_t);
            assert_sums(&one, &row_sums(rows(&magnitudes, n, d), v), d);
            assert_sums(&one_t, &row_sums(rows(&turned_magnitudes, d, n), w), n);
        }
    }

    proptest! {
        #[test]
        fn products_are_the_sums_they_stand_for(n in 1_usize..20, d in 1_usize..20, s in 1_usize..9, seed: u64) {
            assert_products(n, d, s, seed);
        }
    }

    #[test]
    fn products_over_several_blocks_are_the_sums_they_stand_for() {
        for (n, d) in [(3, 2500), (700, 60), (1, 5000), (2500, 1)] {
            for s in [3, FEW_VECTORS, FEW_VECTORS + 1] {
                assert_products(n, d, s, 7);
            }
        }
    }

    #[test]
    fn column_norms_are_those_of_the_weighted_columns() {
        for (n, d) in [(3, 7), (5, 1300), (1, 1), (0, 4)] {
            let mut random = Random::new(9);
            let (data, w) = (random.vector(n * d), random.vector(n));
            let mut squares = vec![f64::NAN; d];
            rows(&data, n, d).apply_transposed_squares(&w, &mut squares);
            for (k, square) in squares.iter().enumerate() {
                let exact: f64 = (0..n).map(|i| (w[i] * data[i * d + k]).powi(2)).sum();
                // Three roundings a term and n − 1 additions, in either sum.
                assert!((square - exact).abs() <= 2.0 * (n + 3) as f64 * U * exact, "column {k} of {n} x {d}");
            }
        }
    }

    #[test]
    fn double_double_vectors_keep_their_digits() {
        // 1 + 2⁻⁶⁰ − 1: binary64 would lose the middle term.
        let data = [1.0, 1.0, -1.0];
        let x = rows(&data, 1, 3);
        let v = [1.0, 2.0_f64.powi(-60), 1.0].map(|v| DoubleDouble::from_parts(v, 0.0));
        let mut out = [DoubleDouble::ZERO];
        x.apply(&v, &mut out);
        assert_eq!(out[0].to_f64(), 2.0_f64.powi(-60));
        let (data, w) = ([1.0, 1.0, -1.0], v);
        let mut out = [DoubleDouble::ZERO];
        rows(&data, 3, 1).apply_transposed(&w, &mut out);
        assert_eq!(out[0].to_f64(), 2.0_f64.powi(-60));
    }

    #[test]
    fn no_vectors_and_no_data_are_answered() {
        let x = rows(&[], 0, 3);
        x.apply_many(&[1.0, 2.0, 3.0], &mut []);
        let mut out = [f64::NAN; 3];
        x.apply_transposed(&[], &mut out);
        assert_eq!(out, [0.0; 3]);
        rows(&[1.0, 2.0], 1, 2).apply_many(&[], &mut []);
        rows(&[1.0, 2.0], 1, 2).apply_transposed_many(&[], &mut []);
        let mut out = [f64::NAN; 3];
        x.apply_transposed_many(&[], &mut out);
        assert_eq!(out, [0.0; 3]);
    }

    #[test]
    fn the_bits_do_not_depend_on_the_number_of_threads() {
        let (n, d, s) = (160, 13_000, 3);
        let mut random = Random::new(6);
        let (data, v, w) = (random.vector(n * d), random.vector(s * d), random.vector(s * n));
        let x = rows(&data, n, d);
        assert!(n * d > 2_000_000 && d > 3 * COLUMN_BLOCK && n > 3 * x.row_block(), "too small to be parallel");
        let results = on_one_two_and_three_threads(|| {
            let mut results = [n, d, s * n, s * d, n, d].map(|len| vec![f64::NAN; len]);
            x.apply(&v[..d], &mut results[0]);
            x.apply_transposed(&w[..n], &mut results[1]);
            x.apply_many(&v, &mut results[2]);
            x.apply_transposed_many(&w, &mut results[3]);
            x.apply_abs(&v[..d], &mut results[4]);
            x.apply_transposed_abs(&w[..n], &mut results[5]);
            results
        });
        assert!(results[0].iter().flatten().all(|x| x.is_finite()));
        assert_eq!(results[0], results[1]);
        assert_eq!(results[0], results[2]);
    }
}
