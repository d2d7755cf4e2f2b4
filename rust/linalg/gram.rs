//! `X diag(s) Xᵀ`, the kernel of every Newton system.
//!
//! The lower triangle is cut into strips of columns and the sum over the features into parts; each pair of the two is a
//! task with a result of its own. Parts feed the threads where the rows are few; where they are many, partial results
//! are dear and strips do. A task goes through its features panel by panel, each small enough to stay in the
//! second-level cache while [`row_products`] forms all its products.

use super::blocks::{for_each, worth_threads};
use super::row_products::{PANEL, Strip};
use super::shape::agree;
use super::{Rows, SquareMatrix};

/// Columns of a strip at most: more rows than that have strips to share among threads.
const STRIP: usize = 120;
/// Tasks that are enough to keep threads busy.
const TASKS: usize = 16;
/// Products like these run about four times as many multiply-adds a second as those that wait for memory.
const MULTIPLY_ADDS_PER_WORK: usize = 4;

/// Workspace for `X diag(s) Xᵀ` of one shape, reused from call to call.
#[derive(Clone, Debug)]
pub struct WeightedGram {
    n: usize,
    d: usize,
    /// Part after part, each with all strips from left to right.
    tasks: Vec<Task>,
    strips: usize,
}

/// The columns `first..first + width` of the lower triangle, summed over the features `start..end`.
#[derive(Clone, Debug)]
struct Task {
    first: usize,
    width: usize,
    start: usize,
    end: usize,
    /// Rows `first..n` of the strip, column-major.
    sum: Vec<f64>,
}

impl WeightedGram {
    /// Workspace for `n` rows and `d` columns: about `n d / 2` numbers at most.
    #[must_use]
    pub fn new(n: usize, d: usize) -> Self {
        let strips = n.div_ceil(STRIP).max(1);
        let width = n.div_ceil(strips);
        let (useful, affordable) = (d / PANEL, d / n.max(1));
        let parts = TASKS.div_ceil(strips).min(useful).min(affordable).max(1);
        let features = d.div_ceil(parts).next_multiple_of(8);
        let task = |k: usize| {
            let (first, start) = (k % strips * width, d.min(k / strips * features));
            let (width, end) = (width.min(n - first), d.min(start + features));
            Task { first, width, start, end, sum: vec![0.0; width * (n - first)] }
        };
        Self { n, d, tasks: (0..strips * parts).map(task).collect(), strips }
    }

    /// `X diag(s) Xᵀ`, once: [`WeightedGram::form`] with a workspace that nobody needs again.
    #[must_use]
    pub fn of(x: Rows<'_>, s: &[f64]) -> SquareMatrix {
        let mut out = SquareMatrix::zeros(x.n());
        Self::new(x.n(), x.d()).form(x, s, &mut out);
        out
    }

    /// How often an entry for `d` features is rounded, at most: one after another within a panel, then panel after panel of
    /// a part, then part after part.
    #[must_use]
    pub const fn roundings(d: usize) -> usize {
        let by_panels = PANEL + d.div_ceil(PANEL) + TASKS + 2;
        if d + 2 < by_panels { d + 2 } else { by_panels }
    }

    /// `out = X diag(s) Xᵀ` for `s ≥ 0`, the lower triangle computed and mirrored.
    ///
    /// Every entry is a sum of `d` products `x_ik · fl(x_jk s_k)` in an order fixed by the shape, so
    /// `|out_ij − H_ij| ≤ k u Σ_k |x_ik x_jk| s_k` up to underflow, `k` from [`WeightedGram::roundings`].
    pub fn form(&mut self, x: Rows<'_>, s: &[f64], out: &mut SquareMatrix) {
        agree("shape of X", (x.n(), x.d()), (self.n, self.d));
        agree("shapes of s and of the result", (s.len(), out.n()), (self.d, self.n));
        let work = self.n * self.n * self.d / (2 * MULTIPLY_ADDS_PER_WORK);
        for_each(&mut self.tasks, worth_threads(work), |_, task| task.run(x, s));
        for k in 0..self.strips {
            self.reduce(k, out);
        }
        out.mirror_lower();
    }

    /// Add the parts of the k-th strip, in order.
    fn reduce(&self, k: usize, out: &mut SquareMatrix) {
        let mut parts = self.tasks[k..].iter().step_by(self.strips);
        let Some(task) = parts.next() else { return };
        let rows = self.n - task.first;
        for j in 0..task.width {
            let below = j * rows + j..(j + 1) * rows;
            let column = &mut out.column_mut(task.first + j)[task.first + j..];
            column.copy_from_slice(&task.sum[below.clone()]);
            for part in parts.clone() {
                column.iter_mut().zip(&part.sum[below.clone()]).for_each(|(out, sum)| *out += sum);
            }
        }
    }
}

impl Task {
    fn run(&mut self, x: Rows<'_>, s: &[f64]) {
        self.sum.fill(0.0);
        for from in (self.start..self.end).step_by(PANEL) {
            let features = from..self.end.min(from + PANEL);
            Strip { x, s, first: self.first, width: self.width, features, sum: &mut self.sum }.add();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Random, U, gram, on_one_two_and_three_threads, rows};
    use super::*;
    use proptest::prelude::*;

    fn formed(x: Rows<'_>, s: &[f64]) -> SquareMatrix {
        let mut out = SquareMatrix::zeros(x.n());
        WeightedGram::new(x.n(), x.d()).form(x, s, &mut out);
        out
    }

    /// The bound of `form` and that of the naive sum.
    fn assert_is_gram(x: Rows<'_>, s: &[f64]) {
        let (h, exact, size) = (formed(x, s), gram(x, s, |t| t), gram(x, s, f64::abs));
        let bound = ((x.d() + 2) + WeightedGram::roundings(x.d())) as f64 * U;
        for i in 0..x.n() {
            for j in 0..x.n() {
                assert!((h.get(i, j) - exact.get(i, j)).abs() <= bound * size.get(i, j), "entry ({i}, {j})");
                assert_eq!(h.get(i, j), h.get(j, i));
            }
        }
    }

    proptest! {
        #[test]
        fn every_entry_is_within_the_stated_bound_of_its_definition(n in 1_usize..20, d in 1_usize..20, seed: u64) {
            let mut random = Random::new(seed);
            let (data, s) = (random.vector(n * d), random.weights(d, 20.0));
            assert_is_gram(rows(&data, n, d), &s);
        }
    }

    #[test]
    fn shapes_of_several_parts_and_of_ragged_blocks_are_within_the_bound() {
        for (n, d) in
            [(3, 1000), (7, 1013), (40, 130), (33, 129), (64, 257), (2, 5000), (290, 70), (5, 0), (0, 40), (0, 0)]
        {
            let mut random = Random::new(n as u64);
            let (data, s) = (random.vector(n * d), random.weights(d, 20.0));
            assert_is_gram(rows(&data, n, d), &s);
        }
    }

    #[test]
    fn rows_two_hundred_decades_apart_keep_their_relative_accuracy() {
        let (n, d) = (6, 40);
        let mut random = Random::new(5);
        let mut data = random.vector(n * d);
        for (i, row) in data.chunks_exact_mut(d).enumerate() {
            let scale = 10.0_f64.powi([100, -100, 0, 50, -50, 99][i]);
            for x in row {
                *x *= scale;
            }
        }
        assert_is_gram(rows(&data, n, d), &random.weights(d, 3.0));
    }

    #[test]
    fn a_second_call_forgets_the_first() {
        let (n, d) = (5, 700);
        let mut random = Random::new(1);
        let (first, second, s) = (random.vector(n * d), random.vector(n * d), random.weights(d, 2.0));
        let mut gram = WeightedGram::new(n, d);
        let mut out = SquareMatrix::zeros(n);
        gram.form(rows(&first, n, d), &s, &mut out);
        gram.form(rows(&second, n, d), &s, &mut out);
        assert_eq!(out, formed(rows(&second, n, d), &s));
    }

    #[test]
    fn the_bits_do_not_depend_on_the_number_of_threads() {
        let (n, d) = (80, 3000);
        let mut random = Random::new(2);
        let (data, s) = (random.vector(n * d), random.weights(d, 5.0));
        assert!(WeightedGram::new(n, d).tasks.len() > 3 && n * n * d / 8 > 2_000_000, "too small to be parallel");
        let [one, two, three] = on_one_two_and_three_threads(|| formed(rows(&data, n, d), &s));
        assert_eq!(one, two);
        assert_eq!(one, three);
    }

    #[test]
    fn data_that_are_not_finite_give_a_matrix_that_is_not() {
        let data = [1.0, f64::NAN, 2.0, 3.0];
        assert!(formed(rows(&data, 2, 2), &[1.0, 1.0]).data().iter().any(|h| h.is_nan()));
    }
}
