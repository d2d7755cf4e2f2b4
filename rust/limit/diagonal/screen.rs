//! A kernel of the few coordinates that matter, for wide data: `H ≈ s̄ X Xᵀ + Σ (S_i − s̄) x_i x_iᵀ`.
//!
//! The sum is over the coordinates whose slopes exceed [`RELEVANT`] times the N-th largest, `s̄` is the mean slope of the
//! others and `X Xᵀ` is known: the others are replaced by their mean, which for thousands of columns is what they add up
//! to, correlated or not. (THEORY §1 puts their trace on the diagonal; the mean also knows their correlations, for the
//! same cost.) Steps with such a kernel converge at the rate of its error; residuals stay exact, and nothing is proven
//! with it.

use rayon::prelude::*;

use crate::linalg::{Rows, SquareMatrix, WeightedGram};

/// Slopes below this part of the N-th largest are averaged.
const RELEVANT: f64 = 1e-2;
/// Screening has to leave out all but one in so many columns to be worth gathering the rest.
const WORTH: usize = 8;

/// Are the data so wide that a few columns may make the kernel?
pub(super) fn pays(x: Rows<'_>) -> bool {
    x.n() > 0 && x.d() / WORTH > 2 * x.n()
}

/// Workspace, reused from system to system.
#[derive(Debug, Default)]
pub(super) struct Screen {
    sorted: Vec<f64>,
    kept: Vec<usize>,
    columns: Vec<f64>,
    weights: Vec<f64>,
}

impl Screen {
    /// Form the kernel from the slopes and `X Xᵀ`. False, and nothing formed, if too many coordinates matter.
    pub fn form(&mut self, x: Rows<'_>, kernel: &SquareMatrix, slope: &[f64], out: &mut SquareMatrix) -> bool {
        let (n, d) = (x.n(), x.d());
        if !pays(x) {
            return false;
        }
        self.sorted.clear();
        self.sorted.extend_from_slice(slope);
        let (_, nth, _) = self.sorted.select_nth_unstable_by(n - 1, |a, b| b.total_cmp(a));
        let threshold = RELEVANT * *nth;
        self.kept.clear();
        self.kept.extend((0..d).filter(|i| slope[*i] > threshold));
        let kept = self.kept.len();
        if kept > d / WORTH || kept == 0 {
            return false;
        }
        let rest: f64 = slope.iter().filter(|s| !(**s > threshold)).sum();
        let mean = rest / (d - kept) as f64;
        self.weights.clear();
        self.weights.extend(self.kept.iter().map(|i| slope[*i] - mean));
        self.columns.resize(n * kept, 0.0);
        let indices = &self.kept;
        self.columns.par_chunks_exact_mut(kept).enumerate().for_each(|(i, row)| {
            let data = x.row(i);
            row.iter_mut().zip(indices).for_each(|(out, k)| *out = data[*k]);
        });
        WeightedGram::new(n, kept).form(Rows::from_parts(&self.columns, n, kept), &self.weights, out);
        out.add_scaled(kernel, mean);
        true
    }
}
