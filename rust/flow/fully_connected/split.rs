//! Matrices of double-double entries, high and low parts apart, so that the products with the high parts are those with data.
//! Knows nothing of where they come from.

use crate::linalg::Rows;
use crate::real::{DoubleDouble, Real};

/// `count` rows of `width` entries.
#[derive(Clone, Debug)]
pub(super) struct Split {
    count: usize,
    width: usize,
    high: Vec<f64>,
    /// Empty if all of them are 0.
    low: Vec<f64>,
}

impl Split {
    /// From entries row after row.
    pub(super) fn new(entries: &[DoubleDouble], width: usize) -> Self {
        let (high, low) = entries.iter().map(|entry| (entry.high, entry.low)).unzip();
        Self::from_parts(high, low, width)
    }

    /// From the high and the low parts of entries; no low parts are 0.
    pub(super) fn from_parts(high: Vec<f64>, low: Vec<f64>, width: usize) -> Self {
        Self { count: high.len().checked_div(width).unwrap_or(0), width, high, low }
    }

    /// The entries of a row.
    pub(super) fn row(&self, k: usize) -> impl Iterator<Item = DoubleDouble> {
        let low = |i: usize| self.low.get(i).copied().unwrap_or(0.0);
        (k * self.width..(k + 1) * self.width).map(move |i| DoubleDouble { high: self.high[i], low: low(i) })
    }

    /// How many rows.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Length of a row.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The high parts.
    pub(super) fn high(&self) -> Rows<'_> {
        Rows::from_parts(&self.high, self.count, self.width)
    }

    /// Inner products of `v` with every row. The low parts, 2^-53 of the high ones, need no more than binary64.
    pub(super) fn apply(&self, v: &[DoubleDouble], out: &mut [DoubleDouble]) {
        self.high().apply(v, out);
        if self.low.is_empty() {
            return;
        }
        let (highs, mut rest) = (highs(v), vec![0.0; out.len()]);
        Rows::from_parts(&self.low, self.count, self.width).apply(&highs, &mut rest);
        out.iter_mut().zip(rest).for_each(|(out, rest)| *out = out.add_f64(rest));
    }

    /// `Σ_k w_k row_k`.
    pub(super) fn combine(&self, w: &[DoubleDouble], out: &mut [DoubleDouble]) {
        self.high().apply_transposed(w, out);
        if self.low.is_empty() {
            return;
        }
        let (highs, mut rest) = (highs(w), vec![0.0; out.len()]);
        Rows::from_parts(&self.low, self.count, self.width).apply_transposed(&highs, &mut rest);
        out.iter_mut().zip(rest).for_each(|(out, rest)| *out = out.add_f64(rest));
    }

    /// The same for several `w`, one after another.
    pub(super) fn combine_many(&self, w: &[DoubleDouble], out: &mut [DoubleDouble]) {
        let pairs = w.chunks_exact(self.count.max(1)).zip(out.chunks_exact_mut(self.width.max(1)));
        pairs.for_each(|(w, out)| self.combine(w, out));
    }
}

/// The nearest binary64 numbers.
pub(super) fn highs(v: &[DoubleDouble]) -> Vec<f64> {
    v.iter().map(|v| v.to_f64()).collect()
}
