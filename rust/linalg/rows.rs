//! The data and products with it.

use super::blocks::{for_each_chunk, for_each_row_block, worth_threads};
use super::shape::agree;
use crate::real::Real;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// Columns of one block of `Xᵀw`: its part of the result stays in the first-level cache while the rows go by.
const COLUMN_BLOCK: usize = 1024;
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

    /// `out = Xᵀ w`, [`Real::axpy`] over blocks of columns, rows in order: `|error_k| ≤ (n + 1) u Σ_i |x_ik w_i|`.
    pub fn apply_transposed<R: Real>(&self, w: &[R], out: &mut [R]) {
        agree("shapes of Xᵀ w", (w.len(), out.len()), (self.n, self.d));
        let x = *self;
        for_each_chunk(out, COLUMN_BLOCK, self.worth_threads(1), |start, out| {
            out.fill(R::ZERO);
            for (i, w) in w.iter().enumerate() {
                R::axpy(*w, &x.row(i)[start..start + out.len()], out);
            }
        });
    }

    /// `out_k = X v_k` for the vectors of `v`, one after another: `(s, d) → (s, n)`. The data are read once.
    pub fn apply_many(&self, v: &[f64], out: &mut [f64]) {
        let Some(s) = Self::vectors(v.len(), self.d, out.len(), self.n) else { return };
        let x = self.as_faer();
        let v = MatRef::from_column_major_slice(v, self.d, s);
        let out = MatMut::from_column_major_slice_mut(out, self.n, s);
        for_each_row_block(out, self.row_block(), self.worth_threads(s), &|start, out| {
            let x = x.subrows(start, out.nrows());
            matmul(out, Accum::Replace, x, v, 1.0, Par::Seq);
        });
    }

    /// `out_k = Xᵀ w_k` for the vectors of `w`, one after another: `(s, n) → (s, d)`. The data are read once.
    pub fn apply_transposed_many(&self, w: &[f64], out: &mut [f64]) {
        let Some(s) = Self::vectors(w.len(), self.n, out.len(), self.d) else { return };
        let x = self.as_faer();
        let w = MatRef::from_column_major_slice(w, self.n, s);
        let out = MatMut::from_column_major_slice_mut(out, self.d, s);
        for_each_row_block(out, COLUMN_BLOCK, self.worth_threads(s), &|start, out| {
            let x = x.subcols(start, out.nrows());
            matmul(out, Accum::Replace, x.transpose(), w, 1.0, Par::Seq);
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

    /// `out = |X|ᵀ w`, entries of `X` by magnitude: for bounds of rounding errors.
    pub fn apply_transposed_abs(&self, w: &[f64], out: &mut [f64]) {
        agree("shapes of |X|ᵀ w", (w.len(), out.len()), (self.n, self.d));
        let x = *self;
        for_each_chunk(out, COLUMN_BLOCK, self.worth_threads(1), |start, out| {
            out.fill(0.0);
            for (i, w) in w.iter().enumerate() {
                for (out, x) in out.iter_mut().zip(&x.row(i)[start..]) {
                    *out += x.abs() * w;
                }
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

/// Lanes of [`dot_abs`]: the compiler keeps that many independent sums.
const LANES: usize = 8;

fn dot_abs(x: &[f64], v: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (x_lanes, x_rest) = x.as_chunks::<LANES>();
    let (v_lanes, v_rest) = v.as_chunks::<LANES>();
    for (x, v) in x_lanes.iter().zip(v_lanes) {
        for lane in 0..LANES {
            sums[lane] += x[lane].abs() * v[lane];
        }
    }
    let rest: f64 = x_rest.iter().zip(v_rest).map(|(x, v)| x.abs() * v).sum();
    sums.iter().sum::<f64>() + rest
}
