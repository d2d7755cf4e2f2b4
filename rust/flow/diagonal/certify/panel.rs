//! One step of the flow as a polynomial. Knows no flow.

use super::polynomial::{ExactWeights, Polynomial, STAGES, Weights};
use crate::linalg::norm;
use crate::real::{DoubleDouble, Real};

/// The slopes of a polynomial of length `h` from the reference, at the nodes one after another (K × n).
#[derive(Clone, Debug)]
pub(super) struct Panel {
    pub(super) h: f64,
    pub(super) slopes: Vec<DoubleDouble>,
}

impl Panel {
    /// A state that does not move.
    pub(super) fn still(n: usize) -> Self {
        Self { h: 0.0, slopes: vec![DoubleDouble::ZERO; STAGES * n] }
    }

    /// From increments `Δw` at the nodes.
    pub(super) fn through(table: &Polynomial, h: f64, increments: &[f64], n: usize) -> Self {
        let mut slopes = vec![0.0; STAGES * n];
        combine(&table.inverse, increments, 1.0 / h, &mut slopes);
        Self { h, slopes: slopes.into_iter().map(DoubleDouble::from_f64).collect() }
    }

    /// The slopes, rounded.
    pub(super) fn rounded(&self) -> Vec<f64> {
        self.slopes.iter().map(|f| f.high).collect()
    }

    /// `Σ w_k f_k`.
    pub(super) fn slope(&self, weights: &ExactWeights, out: &mut [DoubleDouble]) {
        out.fill(DoubleDouble::ZERO);
        for (w, f) in weights.iter().zip(self.slopes.chunks_exact(out.len().max(1))) {
            out.iter_mut().zip(f).for_each(|(out, f)| *out += *w * *f);
        }
    }

    /// `Δw = h Σ w_k f_k`.
    pub(super) fn at(&self, weights: &ExactWeights, out: &mut [DoubleDouble]) {
        self.slope(weights, out);
        for out in out.iter_mut() {
            *out = out.mul_f64(self.h);
        }
    }

    /// `|ν_ref| + h Σ |w_k||f_k|`, entry by entry.
    pub(super) fn magnitudes(&self, weights: &ExactWeights, reference: &[DoubleDouble]) -> Vec<f64> {
        let mut sum: Vec<f64> = reference.iter().map(|nu| nu.high.abs()).collect();
        for (w, f) in weights.iter().zip(self.slopes.chunks_exact(sum.len().max(1))) {
            sum.iter_mut().zip(f).for_each(|(sum, f)| *sum += self.h * w.high.abs() * f.high.abs());
        }
        sum
    }

    /// `‖f_j‖`.
    pub(super) fn lengths(&self) -> Weights {
        let n = self.slopes.len() / STAGES;
        core::array::from_fn(|j| norm(self.slopes[j * n..(j + 1) * n].iter().map(|f| f.high)))
    }
}

/// `Σ |w_k| l_k`: a bound of a sum of vectors of these lengths, term by term.
pub(super) fn terms(weights: &ExactWeights, lengths: &Weights) -> f64 {
    weights.iter().zip(lengths).map(|(w, length)| w.high.abs() * length).sum()
}

/// `out_m = factor Σ_k w_mk v_k`, rows of weights over as many vectors.
pub(super) fn combine<const K: usize>(weights: &[[f64; K]], vectors: &[f64], factor: f64, out: &mut [f64]) {
    let n = vectors.len() / K;
    for (weights, out) in weights.iter().zip(out.chunks_exact_mut(n.max(1))) {
        out.fill(0.0);
        for (w, v) in weights.iter().zip(vectors.chunks_exact(n.max(1))) {
            let w = factor * w;
            out.iter_mut().zip(v).for_each(|(out, v)| *out += w * v);
        }
    }
}
