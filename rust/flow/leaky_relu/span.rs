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
//! Rows that are multiples of each other share their kink: `p_n = ±α p_g`. They are one *kink* here, with one slope. In
//! double-double that is asked of the binary64 data as they are: rows that round-off of binary64 has turned apart are apart.

use super::number::Number;
use super::units::{exponent, peak, scaled};
use super::vectors::Vectors;
use crate::linalg::{Rows, norm};
use crate::real::Real;

/// Directions closer than this are the same, in units of the last place of their numbers: rounding of a normalised row.
const SAME: f64 = 16.0;
/// A cosine below which nobody need look closer.
const ALMOST: f64 = 0.999_999;
/// Squares of lengths below this may have lost digits.
const SHORT: f64 = 1e-200;

/// The samples in span coordinates, in units in which the largest entry of X and of y is about 1.
#[derive(Clone, Debug)]
pub(super) struct Span<R = f64> {
    /// Samples.
    pub(super) n: usize,
    /// Dimension of the span.
    pub(super) k: usize,
    /// `Qᵀ`, k × d; none for the identity.
    q: Option<Vectors>,
    /// `X̃`, N × k, in the unit of X.
    pub(super) rows: Vectors,
    /// `X̃X̃ᵀ`, N × N, rounded.
    gram: Vec<f64>,
    /// `‖x̃_n‖`.
    pub(super) norms: Vec<f64>,
    /// `y` in its unit.
    pub(super) targets: Vec<R>,
    /// The largest `|y_n|` in its unit.
    pub(super) size: f64,
    /// Units of X and of y are 2 to these.
    pub(super) units: (f64, f64),
    /// The kinks: for each its samples, with the factor `±α` of `p_n = ±α p_g`; the first has factor 1.
    pub(super) kinks: Vec<Vec<(usize, R)>>,
}

impl<R: Number> Span<R> {
    /// Of finite data. With `reduced` false `Q = I`: the coordinates are the weights themselves.
    pub(super) fn new(x: Rows<'_>, y: &[R], reduced: bool) -> Self {
        let (n, d) = (x.n(), x.d());
        let units = (exponent(peak(x.data())), exponent(peak(y)));
        let data: Vec<f64> = x.data().iter().map(|v| scaled(*v, -units.0)).collect();
        let q = if reduced { R::basis(&data, n, d) } else { None };
        let k = q.as_ref().map_or(d, Vectors::len);
        let rows = coordinates_of_rows::<R>(q.as_ref(), d, &data);
        let norms = (0..n).map(|i| norm(rows.high(i).iter().copied())).collect();
        let targets: Vec<R> = y.iter().map(|v| scaled(*v, -units.1)).collect();
        let gram = (0..n * n).map(|e| f64::dot(rows.high(e / n), rows.high(e % n))).collect();
        let mut span = Self { n, k, q, rows, gram, norms, size: peak(&targets), targets, units, kinks: Vec::new() };
        span.find_kinks(&data);
        span
    }

    /// `x̃_n`, rounded.
    pub(super) fn row(&self, n: usize) -> &[f64] {
        self.rows.high(n)
    }

    /// `X̃X̃ᵀ`, N × N, rounded.
    pub(super) fn gram(&self) -> &[f64] {
        &self.gram
    }

    /// The row that stands for a kink.
    pub(super) fn kink(&self, g: usize) -> Vec<R> {
        self.rows.get(self.kinks[g][0].0)
    }

    /// Its product with a vector: the pre-activation of a neuron, or the speed of one.
    pub(super) fn along(&self, g: usize, u: &[R]) -> R {
        self.rows.dot(self.kinks[g][0].0, u)
    }

    /// `out += weight · x̃_g`.
    pub(super) fn push_along(&self, g: usize, weight: R, out: &mut [R]) {
        self.rows.axpy(self.kinks[g][0].0, weight, out);
    }

    /// The length of it.
    pub(super) fn kink_norm(&self, g: usize) -> f64 {
        self.norms[self.kinks[g][0].0]
    }

    /// `Qᵀ v`.
    pub(super) fn enter(&self, v: &[R]) -> Vec<R> {
        coordinates(self.q.as_ref(), v)
    }

    /// `out += Q u`.
    pub(super) fn add(&self, u: &[R], out: &mut [R]) {
        let Some(q) = &self.q else { return out.iter_mut().zip(u).for_each(|(out, u)| *out += *u) };
        for (j, u) in u.iter().enumerate() {
            q.axpy(j, *u, out);
        }
    }

    /// Collect rows of one direction. Rows that are 0 have no kink: their pre-activation is 0 for ever.
    fn find_kinks(&mut self, data: &[f64]) {
        let (compared, norms) = (R::directions(self.rows.all_high(), data), &self.norms);
        let width = compared.len() / self.n;
        let entries = |n: usize| compared[n * width..(n + 1) * width].iter().map(|v| R::from_f64(*v));
        let lengths: Vec<R> = (0..self.n).map(|n| norm(entries(n))).collect();
        let direction = |n: usize| {
            let length = lengths[n];
            entries(n).map(move |v| v / length)
        };
        let mut kinks: Vec<Vec<(usize, R)>> = Vec::new();
        for n in (0..self.n).filter(|n| norms[*n] > 0.0) {
            let home = kinks.iter_mut().find_map(|kink| {
                let first = kink[0].0;
                let (product, sizes) = (self.gram[n * self.n + first], norms[n] * norms[first]);
                // Of very short rows the product has underflown.
                let exact = || direction(n).zip(direction(first)).map(|(a, b)| (a * b).to_f64()).sum();
                let cosine: f64 = if sizes > SHORT { product / sizes } else { exact() };
                let sign = R::from_f64(cosine.signum());
                let close = |(a, b): (R, R)| (a - sign * b).to_f64().abs() <= SAME * R::ULP;
                let same = || direction(n).zip(direction(first)).all(close);
                (cosine.abs() > ALMOST && same()).then_some((sign * lengths[n] / lengths[first], kink))
            });
            match home {
                Some((factor, kink)) => kink.push((n, factor)),
                None => kinks.push(vec![(n, R::ONE)]),
            }
        }
        self.kinks = kinks;
    }
}

/// `Qᵀ v`.
fn coordinates<R: Real>(q: Option<&Vectors>, v: &[R]) -> Vec<R> {
    q.map_or_else(|| v.to_vec(), |q| (0..q.len()).map(|j| q.dot(j, v)).collect())
}

/// `XQ`; X itself, exactly, where there is no Q.
fn coordinates_of_rows<R: Real>(q: Option<&Vectors>, d: usize, data: &[f64]) -> Vectors {
    let Some(q) = q else { return Vectors::exact(d, data.to_vec()) };
    let mut rows = Vectors::new(q.len());
    for row in data.chunks_exact(d) {
        let row: Vec<R> = row.iter().map(|v| R::from_f64(*v)).collect();
        rows.push(&coordinates(Some(q), &row));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::super::testing::Random;
    use super::*;
    use crate::real::DoubleDouble;

    /// The samples of every kink.
    fn samples<R: Number>(span: &Span<R>) -> Vec<Vec<usize>> {
        span.kinks.iter().map(|kink| kink.iter().map(|(n, _)| *n).collect()).collect()
    }

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
        let span = Span::<f64>::new(x, &[1.0; 6], true);
        assert_eq!(span.k, 2);
        assert_eq!(samples(&span), [vec![0, 2, 3], vec![1, 4]]);
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

    #[test]
    fn in_double_double_coordinates_lose_nothing_of_the_data_and_kinks_are_shared_by_exact_multiples_only() {
        let mut random = Random::new(9);
        let (first, other) = (random.vector(7), random.vector(7));
        let mut data = Vec::new();
        // A third is rounded, entry by entry; a power of two is not.
        for (row, divisor) in [(&first, 1.0), (&other, 1.0), (&first, -3.0), (&first, -4.0), (&other, 1.0)] {
            data.extend(row.iter().map(|v| v / divisor));
        }
        let Some(x) = Rows::new(&data, 5, 7) else { panic!() };
        let rounded = Span::<f64>::new(x, &[1.0; 5], true);
        let exact = Span::<DoubleDouble>::new(x, &[DoubleDouble::ONE; 5], true);
        assert_eq!(samples(&rounded), [vec![0, 2, 3], vec![1, 4]]);
        assert_eq!(samples(&exact), [vec![0, 3], vec![1, 4], vec![2]]);
        // Rounded thirds are no multiple: a third direction, at an angle of 1e-16.
        assert_eq!((rounded.k, exact.k), (2, 3));
        for n in 0..5 {
            let mut back = vec![DoubleDouble::ZERO; 7];
            exact.add(&exact.rows.get(n), &mut back);
            for (back, v) in back.iter().zip(&data[n * 7..(n + 1) * 7]) {
                // Products of seven terms, twice.
                let off = scaled(*back, exact.units.0).add_f64(-*v).high;
                assert!(off.abs() < 30.0 * DoubleDouble::UNIT_ROUNDOFF, "{off:e}");
            }
        }
    }
}
