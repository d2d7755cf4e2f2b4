//! `X diag(s) Xᵀ`, the kernel of every Newton system.

use super::blocks::{for_each, worth_threads};
use super::shape::agree;
use super::{Rows, SquareMatrix};
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, MatRef, Par};

/// Columns packed at a time: a scaled copy of 128 columns of 100 rows fills a tenth of a second-level cache.
const PACKED_COLUMNS: usize = 128;
/// Parts a sum over the columns is cut into at most, each with an `n × n` partial result.
const MAX_PARTS: usize = 16;

/// Workspace for `X diag(s) Xᵀ` of one shape, reused from call to call.
#[derive(Clone, Debug)]
pub struct WeightedGram {
    n: usize,
    d: usize,
    columns_per_part: usize,
    parts: Vec<Part>,
}

/// What one thread works on: its columns scaled, and its share of the sum.
#[derive(Clone, Debug)]
struct Part {
    packed: Vec<f64>,
    sum: SquareMatrix,
}

impl WeightedGram {
    /// Workspace for `n` rows and `d` columns; at most `n d / 2` numbers beyond one block and one partial result.
    #[must_use]
    pub fn new(n: usize, d: usize) -> Self {
        let affordable = d / (2 * n.max(1));
        let useful = d.div_ceil(PACKED_COLUMNS);
        let count = affordable.min(useful).clamp(1, MAX_PARTS);
        let columns_per_part = d.div_ceil(count).max(1);
        let width = PACKED_COLUMNS.min(columns_per_part);
        let part = |_| Part { packed: vec![0.0; n * width], sum: SquareMatrix::zeros(n) };
        Self { n, d, columns_per_part, parts: (0..d.div_ceil(columns_per_part).max(1)).map(part).collect() }
    }

    /// `out = X diag(s) Xᵀ` for `s ≥ 0`, the lower triangle computed and mirrored.
    ///
    /// Every entry is a sum of `d` products `x_ik · fl(x_jk s_k)` in some fixed order, so
    /// `|out_ij − H_ij| ≤ (d + 2) u Σ_k |x_ik x_jk| s_k` up to underflow (to first order `d + 1` would do).
    pub fn form(&mut self, x: Rows<'_>, s: &[f64], out: &mut SquareMatrix) {
        agree("shape of X", (x.n(), x.d()), (self.n, self.d));
        agree("shapes of s and of the result", (s.len(), out.n()), (self.d, self.n));
        let (n, d, step) = (self.n, self.d, self.columns_per_part);
        let threads = self.parts.len() > 1 && worth_threads(n * n * d / 2);
        for_each(&mut self.parts, threads, |k, part| part.accumulate(x, s, k * step, d.min((k + 1) * step)));
        let (first, others) = self.parts.split_at(1);
        out.data_mut().copy_from_slice(first[0].sum.data());
        for part in others {
            for j in 0..n {
                let (out, part) = (&mut out.column_mut(j)[j..], &part.sum.column(j)[j..]);
                out.iter_mut().zip(part).for_each(|(out, part)| *out += part);
            }
        }
        out.mirror_lower();
    }
}

impl Part {
    /// Lower triangle of the sum over the columns `start..end`.
    fn accumulate(&mut self, x: Rows<'_>, s: &[f64], start: usize, end: usize) {
        let n = x.n();
        self.sum.data_mut().fill(0.0);
        if n == 0 {
            return;
        }
        let capacity = self.packed.len() / n;
        let mut from = start;
        while from < end {
            let width = capacity.min(end - from);
            let packed = &mut self.packed[..n * width];
            for (i, row) in packed.chunks_exact_mut(width).enumerate() {
                let data = &x.row(i)[from..from + width];
                for ((packed, x), s) in row.iter_mut().zip(data).zip(&s[from..]) {
                    *packed = x * s;
                }
            }
            matmul(
                self.sum.as_faer_mut(),
                BlockStructure::TriangularLower,
                Accum::Add,
                x.as_faer().subcols(from, width),
                BlockStructure::Rectangular,
                MatRef::from_row_major_slice(packed, n, width).transpose(),
                BlockStructure::Rectangular,
                1.0,
                Par::Seq,
            );
            from += width;
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

    /// The bound of `form` twice, because the naive sum has the same one.
    fn assert_is_gram(x: Rows<'_>, s: &[f64]) {
        let (h, exact, size) = (formed(x, s), gram(x, s, |t| t), gram(x, s, f64::abs));
        let bound = 2.0 * (x.d() + 2) as f64 * U;
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
        for (n, d) in [(3, 1000), (7, 1013), (40, 130), (33, 129), (64, 257), (2, 5000)] {
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
            row.iter_mut().for_each(|x| *x *= scale);
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
        let (n, d) = (50, 3000);
        let mut random = Random::new(2);
        let (data, s) = (random.vector(n * d), random.weights(d, 5.0));
        assert!(WeightedGram::new(n, d).parts.len() > 3 && n * n * d / 2 > 1_000_000, "too small to be parallel");
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
