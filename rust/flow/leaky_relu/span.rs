//! The data of a leaky-ReLU network in coordinates in which d drops out.
//!
//! `w_i' = (a_i/N) Σ r_n c_in x_n` moves `w_i` in the span of the samples only. With an orthonormal basis `Q` (d × k) of it
//! the state of a neuron is `(a_i, u_i)`, `u_i = Qᵀw_i`: `w_i = w_i(0) + Q(u_i − u_i(0))`, `p_i = X̃u_i` with `X̃ = XQ`
//! (N × k), `u_i' = (a_i/N) X̃ᵀ(r∘c_i)`.
//!
//! The alternatives lose digits or need full rank. Multipliers μ with `w = w(0) + Xᵀμ` (THEORY §5) drift for ever in the
//! null space of Xᵀ where rows are dependent and the residual does not vanish, and a given error of w is an error of μ as
//! large as `1/σ_min(X)`. Pre-activations p put the kinks into the state, but `w − w(0) = X⁺(p − p(0))` loses cond(X) again.
//! `Q` is an isometry: errors of u are errors of w, k = rank X ≤ min(N, d), and guards are products with bounded rows.
//!
//! Rows that are multiples of each other share their kink: `p_n = ±α p_g`. They are one *kink* here, with one slope.

use super::units::{exponent, peak, scaled};
use crate::linalg::{RowBasis, Rows, norm};
use crate::real::Real;

/// Directions closer than this are the same: rounding of a normalised row.
const SAME: f64 = 16.0 * f64::EPSILON;
/// A cosine below which nobody need look closer.
const ALMOST: f64 = 0.999_999;
/// Squares of lengths below this may have lost digits.
const SHORT: f64 = 1e-200;

/// The samples in span coordinates, in units in which the largest entry of X and of y is about 1.
#[derive(Clone, Debug)]
pub(super) struct Span {
    /// Samples.
    pub(super) n: usize,
    /// Dimension of the span.
    pub(super) k: usize,
    d: usize,
    /// `Qᵀ`, k × d; none for the identity.
    q: Option<Vec<f64>>,
    /// `X̃`, N × k, in the unit of X.
    rows: Vec<f64>,
    /// `X̃X̃ᵀ`, N × N.
    gram: Vec<f64>,
    /// `‖x̃_n‖`.
    pub(super) norms: Vec<f64>,
    /// `y` in its unit.
    pub(super) targets: Vec<f64>,
    /// The largest `|y_n|` in its unit.
    pub(super) size: f64,
    /// Units of X and of y are 2 to these.
    pub(super) units: (f64, f64),
    /// The kinks: for each its samples, with the factor `±α` of `p_n = ±α p_g`; the first has factor 1.
    pub(super) kinks: Vec<Vec<(usize, f64)>>,
}

impl Span {
    /// Of finite data. With `reduced` false `Q = I`: the coordinates are the weights themselves.
    pub(super) fn new(x: Rows<'_>, y: &[f64], reduced: bool) -> Self {
        let (n, d) = (x.n(), x.d());
        let units = (exponent(peak(x.data())), exponent(peak(y)));
        let data: Vec<f64> = x.data().iter().map(|v| scaled(*v, -units.0)).collect();
        let basis = if reduced { basis(&data, n, d) } else { None };
        let k = basis.as_ref().map_or(d, |(_, rank)| *rank);
        let q = basis.map(|(q, _)| q);
        let rows: Vec<f64> = data.chunks_exact(d).flat_map(|row| coordinates(q.as_deref(), d, row)).collect();
        let norms = (0..n).map(|i| norm(rows[i * k..(i + 1) * k].iter().copied())).collect();
        let targets: Vec<f64> = y.iter().map(|v| scaled(*v, -units.1)).collect();
        let gram = (0..n * n)
            .map(|e| f64::dot(&rows[e / n * k..(e / n + 1) * k], &rows[e % n * k..(e % n + 1) * k]))
            .collect();
        let mut span = Self { n, k, d, q, rows, gram, norms, size: peak(&targets), targets, units, kinks: Vec::new() };
        span.find_kinks();
        span
    }

    /// `x̃_n`.
    pub(super) fn row(&self, n: usize) -> &[f64] {
        &self.rows[n * self.k..(n + 1) * self.k]
    }

    /// `X̃X̃ᵀ`, N × N.
    pub(super) fn gram(&self) -> &[f64] {
        &self.gram
    }

    /// The row that stands for a kink.
    pub(super) fn kink(&self, g: usize) -> &[f64] {
        self.row(self.kinks[g][0].0)
    }

    /// The length of it.
    pub(super) fn kink_norm(&self, g: usize) -> f64 {
        self.norms[self.kinks[g][0].0]
    }

    /// `Qᵀ v`.
    pub(super) fn enter(&self, v: &[f64]) -> Vec<f64> {
        coordinates(self.q.as_deref(), self.d, v)
    }

    /// `out += Q u`.
    pub(super) fn add(&self, u: &[f64], out: &mut [f64]) {
        let Some(q) = &self.q else { return f64::axpy(1.0, u, out) };
        for (u, q) in u.iter().zip(q.chunks_exact(self.d)) {
            f64::axpy(*u, q, out);
        }
    }

    /// Collect rows of one direction. Rows that are 0 have no kink: their pre-activation is 0 for ever.
    fn find_kinks(&mut self) {
        let (rows, norms, k) = (&self.rows, &self.norms, self.k);
        let direction = |n: usize| rows[n * k..(n + 1) * k].iter().map(move |v| v / norms[n]);
        let mut kinks: Vec<Vec<(usize, f64)>> = Vec::new();
        for n in (0..self.n).filter(|n| norms[*n] > 0.0) {
            let home = kinks.iter_mut().find_map(|kink| {
                let first = kink[0].0;
                let (product, lengths) = (self.gram[n * self.n + first], norms[n] * norms[first]);
                // Of very short rows the product has underflown.
                let exact = || direction(n).zip(direction(first)).map(|(a, b)| a * b).sum();
                let cosine: f64 = if lengths > SHORT { product / lengths } else { exact() };
                let sign = cosine.signum();
                let same = || direction(n).zip(direction(first)).all(|(a, b)| (a - sign * b).abs() <= SAME);
                (cosine.abs() > ALMOST && same()).then_some((sign * norms[n] / norms[first], kink))
            });
            match home {
                Some((factor, kink)) => kink.push((n, factor)),
                None => kinks.push(vec![(n, 1.0)]),
            }
        }
        self.kinks = kinks;
    }
}

/// `Qᵀ v`.
fn coordinates(q: Option<&[f64]>, d: usize, v: &[f64]) -> Vec<f64> {
    q.map_or_else(|| v.to_vec(), |q| q.chunks_exact(d).map(|q| f64::dot(q, v)).collect())
}

/// `Qᵀ`; none where the span is everything, and needs no basis. Rows are brought to one size first: a sample counts as
/// dependent for its direction, not for its length.
fn basis(data: &[f64], n: usize, d: usize) -> Option<(Vec<f64>, usize)> {
    let even: Vec<f64> =
        data.chunks_exact(d.max(1)).flat_map(|row| row.iter().map(|v| scaled(*v, -exponent(peak(row))))).collect();
    let basis = RowBasis::of(Rows::new(&even, n, d)?);
    (basis.rank() < d).then(|| (basis.q_rows().data().to_vec(), basis.rank()))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Random;
    use super::*;

    #[test]
    fn parallel_and_antiparallel_rows_share_a_kink_whatever_their_length() {
        let mut random = Random::new(3);
        let (first, other) = (random.vector(5), random.vector(5));
        let mut data = Vec::new();
        for (row, factor) in [(&first, 1.0), (&other, 1.0), (&first, -3.0), (&first, 1e-9), (&other, 1.0)] {
            data.extend(row.iter().map(|v| factor * v));
        }
        data.extend([0.0; 5]);
        let Some(x) = Rows::new(&data, 6, 5) else { panic!() };
        let span = Span::new(x, &[1.0; 6], true);
        assert_eq!(span.k, 2);
        let samples: Vec<Vec<usize>> = span.kinks.iter().map(|kink| kink.iter().map(|(n, _)| *n).collect()).collect();
        assert_eq!(samples, [vec![0, 2, 3], vec![1, 4]]);
        for ((_, factor), expected) in span.kinks[0].iter().zip([1.0, -3.0, 1e-9]) {
            assert!((factor / expected - 1.0).abs() < 1e-14);
        }
        // Q is an isometry: products of samples with weights are products of their coordinates.
        let w = random.vector(5);
        let u = span.enter(&w);
        for n in 0..5 {
            let p = f64::dot(&data[n * 5..(n + 1) * 5], &w);
            assert!((scaled(f64::dot(span.row(n), &u), span.units.0) - p).abs() < 1e-14);
        }
    }
}
