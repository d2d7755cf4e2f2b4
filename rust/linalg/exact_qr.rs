//! `A P = Q R` in double-double, by Householder reflections: a factor Q that is orthogonal to the last of thirty-one digits,
//! and a rank that tells data that are dependent from data that are so to sixteen digits.
//!
//! A product of reflections is orthogonal whatever the condition of A is (Higham, lemma 19.3); to correct a factorization in
//! binary64 instead, by Newton's iteration for the polar factor, takes an A that is far from dependent.
//!
//! # Source
//! Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., §19.1–19.3 (reflections, `‖A + E − QR‖`), §19.4 (pivots).

use super::norm;
use crate::real::{DoubleDouble, Real};
use rayon::prelude::*;

/// Columns shorter than this many units of 2^-104, times the longer side, of the first are round-off.
const ROUND_OFF: f64 = 16.0;
/// Updates of fewer numbers than this are not worth a second thread.
const WORTH_A_THREAD: usize = 1 << 13;

/// The factorization of a matrix of `height` rows.
#[derive(Clone, Debug)]
pub struct ExactQr {
    height: usize,
    rank: usize,
    order: Vec<usize>,
    /// Columns one after another: R on and above the diagonal, and below it the reflectors, whose first entry is 1.
    columns: Vec<DoubleDouble>,
    /// `H = I − τ v vᵀ`.
    tau: Vec<DoubleDouble>,
}

impl ExactQr {
    /// Of columns one after another; the longest of those that are left goes first if `pivot`.
    #[must_use]
    pub fn of(columns: Vec<DoubleDouble>, height: usize, pivot: bool) -> Self {
        let width = columns.len().checked_div(height).unwrap_or(0);
        let mut qr = Self { height, rank: 0, order: (0..width).collect(), columns, tau: Vec::new() };
        let mut least = 0.0;
        for j in 0..width.min(height) {
            let longest = qr.choose(j, pivot);
            if j == 0 {
                least = ROUND_OFF * height.max(width) as f64 * DoubleDouble::UNIT_ROUNDOFF * longest;
            }
            // Not `longest <= least`: what is not a number has no rank.
            if !(longest > least) {
                break;
            }
            qr.reflect(j);
            qr.rank += 1;
        }
        qr
    }

    /// Number of columns that are no round-off beside the others; of those without pivots up to the first that is.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Which column of A the columns of R belong to.
    #[must_use]
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// `R_ij`, `i < rank`.
    #[must_use]
    pub fn r(&self, i: usize, j: usize) -> DoubleDouble {
        if i > j { DoubleDouble::ZERO } else { self.columns[j * self.height + i] }
    }

    /// `Qᵀ b` of columns `b`, one after another.
    pub fn apply_transposed(&self, b: &mut [DoubleDouble]) {
        b.chunks_exact_mut(self.height.max(1)).for_each(|b| (0..self.rank).for_each(|j| self.apply_one(j, b)));
    }

    /// `Q b`.
    pub fn apply(&self, b: &mut [DoubleDouble]) {
        let each = |b: &mut [DoubleDouble]| (0..self.rank).rev().for_each(|j| self.apply_one(j, b));
        let threads = b.len() * self.rank >= WORTH_A_THREAD && rayon::current_num_threads() > 1;
        if threads {
            b.par_chunks_exact_mut(self.height.max(1)).for_each(each);
        } else {
            b.chunks_exact_mut(self.height.max(1)).for_each(each);
        }
    }

    /// The first `rank` columns of Q times a `rank × k` matrix, columns one after another.
    #[must_use]
    pub fn basis_times(&self, matrix: &[DoubleDouble]) -> Vec<DoubleDouble> {
        let count = matrix.len().checked_div(self.rank).unwrap_or(0);
        let mut out = vec![DoubleDouble::ZERO; count * self.height];
        let pairs = out.chunks_exact_mut(self.height.max(1)).zip(matrix.chunks_exact(self.rank.max(1)));
        pairs.for_each(|(out, column)| out[..self.rank].copy_from_slice(column));
        self.apply(&mut out);
        out
    }

    /// Bring the longest of the columns from `j` on, rows from `j` on, to place `j`; its length.
    fn choose(&mut self, j: usize, pivot: bool) -> f64 {
        let h = self.height;
        let length = |k: usize| norm(self.columns[k * h + j..(k + 1) * h].iter().map(|entry| entry.high));
        if !pivot {
            return length(j);
        }
        let (mut chosen, mut longest) = (j, length(j));
        for k in j + 1..self.order.len() {
            let found = length(k);
            if found > longest {
                (chosen, longest) = (k, found);
            }
        }
        if chosen > j {
            self.order.swap(j, chosen);
            let (front, back) = self.columns.split_at_mut(chosen * h);
            front[j * h..(j + 1) * h].swap_with_slice(&mut back[..h]);
        }
        longest
    }

    fn reflect(&mut self, j: usize) {
        let h = self.height;
        let (front, rest) = self.columns.split_at_mut((j + 1) * h);
        let v = &mut front[j * h + j..];
        let size = norm(v.iter().copied());
        // Away from the first entry, so that nothing cancels.
        let diagonal = if v[0].high > 0.0 { -size } else { size };
        let first = v[0] - diagonal;
        v[1..].iter_mut().for_each(|entry| *entry /= first);
        v[0] = DoubleDouble::ONE;
        let tau = -first / diagonal;
        let update = |column: &mut [DoubleDouble]| reflected(v, tau, &mut column[j..]);
        if rest.len() >= WORTH_A_THREAD && rayon::current_num_threads() > 1 {
            rest.par_chunks_exact_mut(h).for_each(update);
        } else {
            rest.chunks_exact_mut(h).for_each(update);
        }
        v[0] = diagonal;
        self.tau.push(tau);
    }

    fn apply_one(&self, j: usize, b: &mut [DoubleDouble]) {
        let v = &self.columns[j * self.height + j + 1..(j + 1) * self.height];
        let (first, below) = b[j..].split_at_mut(1);
        let size = self.tau[j] * (first[0] + DoubleDouble::inner_product(v, below));
        first[0] -= size;
        DoubleDouble::add_multiple(-size, v, below);
    }
}

/// `b − τ v (vᵀb)`.
fn reflected(v: &[DoubleDouble], tau: DoubleDouble, b: &mut [DoubleDouble]) {
    let size = tau * DoubleDouble::inner_product(v, b);
    DoubleDouble::add_multiple(-size, v, b);
}

#[cfg(test)]
mod tests {
    use super::super::testing::Random;
    use super::*;

    /// Roundings of sums of some twenty products of numbers below 1, and of as many reflections.
    const ROUNDINGS: f64 = 1e3 * DoubleDouble::UNIT_ROUNDOFF;

    fn random(len: usize, seed: u64) -> Vec<DoubleDouble> {
        let (high, low) = (Random::new(seed).vector(len), Random::new(seed + 1).vector(len));
        high.iter().zip(low).map(|(high, low)| DoubleDouble::from_parts(*high, 1e-17 * low)).collect()
    }

    fn identity(n: usize) -> Vec<DoubleDouble> {
        (0..n * n).map(|k| if k / n == k % n { DoubleDouble::ONE } else { DoubleDouble::ZERO }).collect()
    }

    #[test]
    fn the_factors_multiply_to_the_matrix_and_one_of_them_is_orthogonal_to_thirty_digits() {
        for (height, width, pivot) in [(1, 1, true), (7, 4, true), (4, 7, true), (20, 20, false), (30, 5, false)] {
            let a = random(height * width, 3);
            let qr = ExactQr::of(a.clone(), height, pivot);
            assert_eq!(qr.rank(), height.min(width));
            let rank = qr.rank();
            let r: Vec<DoubleDouble> = (0..rank * width).map(|k| qr.r(k % rank, k / rank)).collect();
            let product = qr.basis_times(&r);
            for (j, of) in qr.order().iter().enumerate() {
                for i in 0..height {
                    let off = product[j * height + i] - a[of * height + i];
                    assert!(off.high.abs() < ROUNDINGS, "{height} x {width}: {off:e}");
                }
            }
            let q = qr.basis_times(&identity(rank));
            for (j, k) in (0..rank).flat_map(|j| (0..rank).map(move |k| (j, k))) {
                let column = |j: usize| &q[j * height..(j + 1) * height];
                let off = DoubleDouble::inner_product(column(j), column(k)).add_f64(-f64::from(u8::from(j == k)));
                assert!(off.high.abs() < ROUNDINGS, "{height} x {width}: QᵀQ off by {off:e}");
            }
            let mut back = q;
            qr.apply_transposed(&mut back);
            let there = |k: usize| f64::from(u8::from(k % height == k / height));
            assert!(back.iter().enumerate().all(|(k, b)| b.add_f64(-there(k)).high.abs() < ROUNDINGS));
        }
    }

    #[test]
    fn columns_that_are_dependent_to_thirty_digits_are_told_from_those_that_are_to_sixteen() {
        let [u, v] = [random(9, 5), random(9, 7)];
        let sum: Vec<DoubleDouble> = u.iter().zip(&v).map(|(u, v)| *u + *v).collect();
        let rounded: Vec<DoubleDouble> = sum.iter().map(|sum| DoubleDouble::from(sum.high)).collect();
        assert_eq!(ExactQr::of([u.clone(), v.clone(), sum].concat(), 9, true).rank(), 2);
        assert_eq!(ExactQr::of([u, v, rounded].concat(), 9, true).rank(), 3);
        assert_eq!(ExactQr::of(vec![DoubleDouble::ZERO; 6], 3, true).rank(), 0);
        assert_eq!(ExactQr::of(vec![DoubleDouble::from(f64::NAN); 6], 3, true).rank(), 0);
        assert_eq!(ExactQr::of(Vec::new(), 0, true).rank(), 0);
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let a = random(200 * 60, 11);
        let with = |threads: usize| {
            let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(threads).build() else { panic!("no pool") };
            let qr = pool.install(|| ExactQr::of(a.clone(), 200, true));
            (qr.columns.clone(), pool.install(|| qr.basis_times(&identity(60))))
        };
        assert_eq!(with(1), with(2));
    }
}
