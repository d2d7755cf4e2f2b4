//! Is it over? From a state and its residual.

use super::segment::Piece;
use super::smooth::Work;
use super::span::Span;
use super::units::peak;
use crate::flow::Status;
use crate::linalg::norm;
use crate::real::Real;

/// A residual below so many roundings of its terms is the round-off floor; so is a gradient.
const FLOOR: f64 = 4.0;
const GRADIENT_FLOOR: f64 = 64.0;

/// When a run has converged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goal {
    /// `max|r| ≤ tol · size`.
    pub(super) tol: f64,
    /// The largest target, or the first residual where all targets are 0.
    pub(super) size: f64,
    /// False: the run goes on to the floor.
    pub(super) at_tolerance: bool,
}

impl Goal {
    /// Why to stop at a state, if at all.
    pub(super) fn judge(&self, span: &Span, pieces: &[Piece], gains: &[f64], state: &[f64], work: &Work) -> Option<Status> {
        let largest = peak(&work.residual);
        let converged = largest <= self.tol * self.size;
        if converged && self.at_tolerance || largest == 0.0 {
            return Some(Status::Converged);
        }
        if largest <= FLOOR * f64::EPSILON * terms(span, gains, state) {
            return Some(if converged { Status::Converged } else { Status::RoundoffFloor });
        }
        if !is_stationary(span, pieces, state, work, self.size) {
            return None;
        }
        Some(self.stationary(pieces, state, work, span.k))
    }

    /// Stationary without a fit. Where every sample still moves a neuron it is the least-squares fit of its pattern; a sample
    /// that is dead (slope 0 in every neuron that is alive) could be fitted by other weights, and weights that are all 0
    /// never move: points where the gradient vanishes, and no minimum.
    fn stationary(&self, pieces: &[Piece], state: &[f64], work: &Work, k: usize) -> Status {
        let alive = |i: usize| state[i * (1 + k)..(i + 1) * (1 + k)].iter().any(|v| *v != 0.0);
        let missed = |n: usize| work.residual[n].abs() > self.tol * self.size;
        let dead = |n: usize| {
            pieces.iter().enumerate().all(|(i, piece)| !alive(i) || piece.slopes[n] == 0.0 && !piece.slides(n))
        };
        let saddle = (0..work.residual.len()).any(|n| missed(n) && dead(n));
        if saddle { Status::Saddle } else { Status::LeastSquares }
    }
}

/// The largest sum of the magnitudes of the terms of a residual.
fn terms(span: &Span, gains: &[f64], state: &[f64]) -> f64 {
    let neurons = || state.chunks_exact(1 + span.k).zip(gains);
    let f: f64 = neurons().map(|(v, gain)| gain * v[0].abs() * norm(v[1..].iter().copied())).sum();
    span.targets.iter().zip(&span.norms).fold(0.0, |most: f64, (y, x)| most.max(y.abs() + x * f))
}

/// No weight moves, to round-off: neuron by neuron and relative to its own size, so that one that grows from next to
/// nothing is not taken for one that rests. (The tolerance must not decide: where X is ill conditioned the gradient is
/// small long before the residual is.)
fn is_stationary(span: &Span, pieces: &[Piece], state: &[f64], work: &Work, size: f64) -> bool {
    let mut pulled = vec![0.0; span.k];
    state.chunks_exact(1 + span.k).zip(pieces).enumerate().all(|(i, (neuron, piece))| {
        let reach: f64 = piece.slopes.iter().zip(&span.norms).map(|(c, x)| c * x).sum::<f64>() / span.n as f64;
        let bound = GRADIENT_FLOOR * f64::EPSILON * reach * size;
        let sigma = &work.sigma[i * span.n..(i + 1) * span.n];
        let slope = f64::dot(sigma, &work.residual) / span.n as f64;
        super::smooth::pull(span, piece, &work.residual, &mut pulled);
        let pull = norm(pulled.iter().copied());
        slope.abs() <= bound * norm(neuron[1..].iter().copied()) && (neuron[0] == 0.0 || pull <= bound)
    })
}
