//! Vectors that products are formed with: samples in span coordinates, bases of them. Knows no network.
//!
//! Their entries are binary64, or sums of two where the run has more digits than that. A product with the low parts needs
//! one rounding of the other factor only, so they cost a binary64 product each, and what they are multiplied with goes
//! through the kernels of binary64 data.

use crate::real::Real;

/// Vectors of one length, one after another.
#[derive(Clone, Debug)]
pub(super) struct Vectors {
    width: usize,
    high: Vec<f64>,
    /// What binary64 leaves out; nothing where it leaves out nothing.
    low: Vec<f64>,
}

impl Vectors {
    /// None yet, of entries that are `width` long.
    pub(super) fn new(width: usize) -> Self {
        Self { width, high: Vec::new(), low: Vec::new() }
    }

    /// Of binary64 numbers, vector after vector.
    pub(super) fn exact(width: usize, high: Vec<f64>) -> Self {
        Self { width, high, low: Vec::new() }
    }

    /// One more.
    pub(super) fn push<R: Real>(&mut self, v: &[R]) {
        let held = self.high.len();
        self.high.extend(v.iter().map(|v| v.to_f64()));
        if !self.low.is_empty() || v.iter().any(|v| v.low() != 0.0) {
            self.low.resize(held, 0.0);
            self.low.extend(v.iter().map(|v| v.low()));
        }
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.high.len().checked_div(self.width).unwrap_or(0)
    }

    /// The i-th, rounded.
    pub(super) fn high(&self, i: usize) -> &[f64] {
        &self.high[i * self.width..(i + 1) * self.width]
    }

    /// All of them, rounded.
    pub(super) fn all_high(&self) -> &[f64] {
        &self.high
    }

    /// The i-th.
    pub(super) fn get<R: Real>(&self, i: usize) -> Vec<R> {
        let low = self.low(i);
        let part = |(k, high): (usize, &f64)| R::from_parts(*high, low.map_or(0.0, |low| low[k]));
        self.high(i).iter().enumerate().map(part).collect()
    }

    /// The product of the i-th with `v`: `|error| ≤ (k + 3) u Σ|x v|`, `u` that of `R`.
    pub(super) fn dot<R: Real>(&self, i: usize, v: &[R]) -> R {
        let sum = R::dot(self.high(i), v);
        let Some(low) = self.low(i) else { return sum };
        sum + R::from_f64(low.iter().zip(v).map(|(x, v)| x * v.to_f64()).sum())
    }

    /// `out += alpha` times the i-th.
    pub(super) fn axpy<R: Real>(&self, i: usize, alpha: R, out: &mut [R]) {
        R::axpy(alpha, self.high(i), out);
        let Some(low) = self.low(i) else { return };
        let alpha = alpha.to_f64();
        out.iter_mut().zip(low).for_each(|(out, x)| *out += R::from_f64(alpha * x));
    }

    fn low(&self, i: usize) -> Option<&[f64]> {
        (!self.low.is_empty()).then(|| &self.low[i * self.width..(i + 1) * self.width])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::DoubleDouble;

    #[test]
    fn products_have_the_digits_of_both_parts() {
        let third = DoubleDouble::ONE / DoubleDouble::from_f64(3.0);
        let seventh = DoubleDouble::ONE / DoubleDouble::from_f64(7.0);
        let mut vectors = Vectors::new(2);
        vectors.push(&[DoubleDouble::ONE, DoubleDouble::from_f64(2.0)]);
        vectors.push(&[third, seventh]);
        assert_eq!(vectors.len(), 2);
        let v = [seventh, -third];
        // 1/21 − 1/21 = 0 to the round-off of terms of 0.05.
        assert!(vectors.dot(1, &v).to_f64().abs() < 1e-32);
        assert!((vectors.dot(0, &v) - (seventh - third - third)).to_f64().abs() < 1e-31);
        let mut out = [DoubleDouble::ZERO; 2];
        vectors.axpy(1, third, &mut out);
        for (out, expected) in out.iter().zip([third * third, third * seventh]) {
            assert!((*out - expected).to_f64().abs() < 1e-32);
        }
    }
}
