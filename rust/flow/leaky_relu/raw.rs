//! The same segments in the raw weights `(a_i, w_i)`, `a_i' = (1/N) Σ r_n σ(p_in)`, `w_i' = (a_i/N) Σ r_n c_in x_n`: the
//! cross-check. Its right-hand side shares nothing with the reduced one: plain loops over all d features, and the slopes of
//! sliding samples are formed, not projected away. What it shares, and cannot do without, is the pattern: which samples are
//! on which side, and what is decided when one of them arrives at its kink.

use super::segment::Piece;
use super::span::Span;
use crate::ode::System;

/// Smallest tolerance of a step: round-off of a weight.
const ROUND_OFF: f64 = 4.0 * f64::EPSILON;

/// The flow of the weights while no pre-activation changes its side.
#[derive(Debug)]
pub(super) struct Raw<'a> {
    span: &'a Span,
    pieces: &'a [Piece],
    gains: &'a [f64],
    slope: f64,
    rtol: f64,
    /// Absolute tolerances of the neurons.
    tolerances: Vec<f64>,
}

impl<'a> Raw<'a> {
    /// In the coordinates of a span that is everything.
    pub(super) fn new(span: &'a Span, pieces: &'a [Piece], gains: &'a [f64], slope: f64, rtol: f64) -> Self {
        Self { span, pieces, gains, slope, rtol, tolerances: vec![0.0; pieces.len()] }
    }

    fn residual(&self, y: &[f64]) -> Vec<f64> {
        let mut residual = self.span.targets.clone();
        for (i, neuron) in y.chunks_exact(1 + self.span.k).enumerate() {
            for (n, r) in residual.iter_mut().enumerate() {
                let p: f64 = neuron[1..].iter().zip(self.span.row(n)).map(|(w, x)| w * x).sum();
                *r -= self.gains[i] * neuron[0] * self.pieces[i].slopes[n] * p;
            }
        }
        residual
    }

    /// The slope of every sample in neuron i, those that slide included.
    fn slopes(&self, i: usize, residual: &[f64]) -> Vec<f64> {
        let piece = &self.pieces[i];
        let mut slopes = piece.slopes.clone();
        let found = piece.sliding_slopes(self.span, self.slope, residual);
        let held = piece.pattern.held.iter().copied();
        for (g, c) in piece.sliding.iter().copied().zip(found).chain(held) {
            for (n, factor) in &self.span.kinks[g] {
                slopes[*n] = if *factor > 0.0 { c } else { 1.0 + self.slope - c };
            }
        }
        slopes
    }
}

impl System<f64> for Raw<'_> {
    fn dim(&self) -> usize {
        self.pieces.len() * (1 + self.span.k)
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) {
        let (width, samples) = (1 + self.span.k, self.span.n as f64);
        let residual = self.residual(y);
        for (i, (neuron, out)) in y.chunks_exact(width).zip(dy.chunks_exact_mut(width)).enumerate() {
            out.fill(0.0);
            for (n, c) in self.slopes(i, &residual).into_iter().enumerate() {
                let (row, push) = (self.span.row(n), residual[n] / samples);
                let p: f64 = neuron[1..].iter().zip(row).map(|(w, x)| w * x).sum();
                // What a sample on its kink adds to a' is round-off of p = 0.
                out[0] += push * self.pieces[i].slopes[n] * p;
                out[1..].iter_mut().zip(row).for_each(|(out, x)| *out += neuron[0] * push * c * x);
            }
        }
    }

    /// A neuron is measured as a whole. The tolerance falls with the residual: an explicit method at its stability limit
    /// would hold it at `rtol` for ever.
    fn set_error_weights(&mut self, _t: f64, y: &[f64], _dy: &[f64]) {
        let left = super::units::peak(&self.residual(y)) / self.span.size;
        let rtol = (self.rtol * left.min(1.0)).max(ROUND_OFF);
        for (tolerance, neuron) in self.tolerances.iter_mut().zip(y.chunks_exact(1 + self.span.k)) {
            *tolerance = rtol * crate::linalg::norm(neuron.iter().copied());
        }
    }

    fn error_norm(&mut self, e: &[f64]) -> f64 {
        let errors = e.chunks_exact(1 + self.span.k).map(|e| crate::linalg::norm(e.iter().copied()));
        let mut size = 0.0;
        for (error, tolerance) in errors.zip(&self.tolerances) {
            let error = if error == 0.0 { 0.0 } else { error / tolerance };
            size = if error > size || error.is_nan() { error } else { size };
        }
        size
    }
}
