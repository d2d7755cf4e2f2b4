//! The same segments in the raw weights `(a_i, w_i)`, `a_i' = (1/N) Σ r_n σ(p_in)`, `w_i' = (a_i/N) Σ r_n c_in x_n`: the
//! cross-check. Its right-hand side shares nothing with the reduced one: plain loops over all d features, and the slopes of
//! sliding samples are formed, not projected away. What it shares, and cannot do without, is the pattern: which samples are
//! on which side, and what is decided when one of them arrives at its kink.

use super::number::Number;
use super::segment::Piece;
use super::span::Span;
use super::units::peak;
use crate::linalg::norm;
use crate::ode::System;

/// Smallest tolerance of a step: round-off of a weight, in units of its last place.
const ROUND_OFF: f64 = 4.0;

/// The flow of the weights while no pre-activation changes its side.
#[derive(Debug)]
pub(super) struct Raw<'a, R = f64> {
    span: &'a Span<R>,
    pieces: &'a [Piece<R>],
    gains: &'a [f64],
    slope: f64,
    rtol: f64,
    /// Absolute tolerances of the neurons.
    tolerances: Vec<f64>,
}

impl<'a, R: Number> Raw<'a, R> {
    /// In the coordinates of a span that is everything.
    pub(super) fn new(span: &'a Span<R>, pieces: &'a [Piece<R>], gains: &'a [f64], slope: f64, rtol: f64) -> Self {
        Self { span, pieces, gains, slope, rtol, tolerances: vec![0.0; pieces.len()] }
    }

    fn residual(&self, y: &[R]) -> Vec<R> {
        let mut residual = self.span.targets.clone();
        for (i, neuron) in y.chunks_exact(1 + self.span.k).enumerate() {
            for (n, r) in residual.iter_mut().enumerate() {
                let gain = R::from_f64(self.gains[i]) * neuron[0] * R::from_f64(self.pieces[i].slopes[n]);
                *r -= gain * self.activation(n, &neuron[1..]);
            }
        }
        residual
    }

    /// `x_nᵀw`.
    fn activation(&self, n: usize, w: &[R]) -> R {
        w.iter().zip(self.span.row(n)).fold(R::ZERO, |sum, (w, x)| sum + *w * R::from_f64(*x))
    }

    /// The slope of every sample in neuron i, those that slide included.
    fn slopes(&self, i: usize, residual: &[R]) -> Vec<R> {
        let piece = &self.pieces[i];
        let mut slopes: Vec<R> = piece.slopes.iter().map(|c| R::from_f64(*c)).collect();
        let found = piece.sliding_slopes(self.span, self.slope, residual);
        let held = piece.pattern.held.iter().map(|(g, c)| (*g, R::from_f64(*c)));
        for (g, c) in piece.sliding.iter().copied().zip(found).chain(held) {
            for (n, factor) in &self.span.kinks[g] {
                slopes[*n] = if *factor > R::ZERO { c } else { R::from_f64(1.0 + self.slope) - c };
            }
        }
        slopes
    }
}

impl<R: Number> System<R> for Raw<'_, R> {
    fn dim(&self) -> usize {
        self.pieces.len() * (1 + self.span.k)
    }

    fn rhs(&mut self, _t: R, y: &[R], dy: &mut [R]) {
        let (width, samples) = (1 + self.span.k, R::from_f64(self.span.n as f64));
        let residual = self.residual(y);
        for (i, (neuron, out)) in y.chunks_exact(width).zip(dy.chunks_exact_mut(width)).enumerate() {
            out.fill(R::ZERO);
            for (n, c) in self.slopes(i, &residual).into_iter().enumerate() {
                let (row, push) = (self.span.row(n), residual[n] / samples);
                // What a sample on its kink adds to a' is round-off of p = 0.
                out[0] += push * R::from_f64(self.pieces[i].slopes[n]) * self.activation(n, &neuron[1..]);
                let weight = neuron[0] * push * c;
                out[1..].iter_mut().zip(row).for_each(|(out, x)| *out += weight * R::from_f64(*x));
            }
        }
    }

    /// A neuron is measured as a whole. The tolerance falls with the residual: an explicit method at its stability limit
    /// would hold it at `rtol` for ever.
    fn set_error_weights(&mut self, _t: R, y: &[R], _dy: &[R]) {
        let left = peak(&self.residual(y)) / self.span.size;
        let rtol = (self.rtol * left.min(1.0)).max(ROUND_OFF * R::ULP);
        for (tolerance, neuron) in self.tolerances.iter_mut().zip(y.chunks_exact(1 + self.span.k)) {
            *tolerance = rtol * norm(neuron.iter().map(|v| v.to_f64()));
        }
    }

    fn error_norm(&mut self, e: &[f64]) -> f64 {
        let errors = e.chunks_exact(1 + self.span.k).map(|e| norm(e.iter().copied()));
        let mut size = 0.0;
        for (error, tolerance) in errors.zip(&self.tolerances) {
            let error = if error == 0.0 { 0.0 } else { error / tolerance };
            size = if error > size || error.is_nan() { error } else { size };
        }
        size
    }
}
