//! Is it over? From a state and its residual.

use super::columns::Columns;
use super::segment::Piece;
use super::smooth::Work;
use super::span::Span;
use super::units::peak;
use crate::flow::Status;
use crate::linalg::norm;
use crate::real::Real;

/// A residual below so many roundings of its terms is the round-off floor.
const FLOOR: f64 = 4.0;
/// A gradient this small, relative to what it could be, is worth a look.
const LOOK: f64 = 1e-9;
/// The part of the residual that weights could still fit, where they rest.
const ORTHOGONAL: f64 = 1e-10;
/// Directions of the outputs weaker than this count for nothing.
const DEPENDENT: f64 = 1e-9;

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
    pub(super) fn judge(
        &self,
        span: &Span,
        pieces: &[Piece],
        gains: &[f64],
        state: &[f64],
        work: &Work,
    ) -> Option<Status> {
        let largest = peak(&work.residual);
        let converged = largest <= self.tol * self.size;
        if converged && self.at_tolerance || largest == 0.0 {
            return Some(Status::Converged);
        }
        if largest <= FLOOR * f64::EPSILON * terms(span, gains, state) {
            return Some(if converged { Status::Converged } else { Status::RoundoffFloor });
        }
        let rests = self.is_dead(pieces, state, work, span.k) || is_stationary(span, pieces, state, work, self.size);
        rests.then(|| self.stationary(span, pieces, state, work))
    }

    /// Only samples that no neuron sees are left to fit.
    fn is_dead(&self, pieces: &[Piece], state: &[f64], work: &Work, k: usize) -> bool {
        let mut live = (0..work.residual.len()).filter(|n| !is_unseen(pieces, state, *n, k));
        let tol = if self.at_tolerance { self.tol } else { FLOOR * f64::EPSILON };
        live.all(|n| work.residual[n].abs() <= tol * self.size)
    }

    /// Stationary without a fit. Where every sample still moves a neuron it is the least-squares fit of its pattern; a sample
    /// that is dead (slope 0 in every neuron that is alive) could be fitted by other weights, and weights that are all 0
    /// never move: points where the gradient vanishes, and no minimum.
    fn stationary(&self, span: &Span, pieces: &[Piece], state: &[f64], work: &Work) -> Status {
        // A sample that is 0 is seen by nobody, and no weights could fit it.
        let missed = |n: usize| span.norms[n] > 0.0 && work.residual[n].abs() > self.tol * self.size;
        let saddle = (0..span.n).any(|n| missed(n) && is_unseen(pieces, state, n, span.k));
        if saddle { Status::Saddle } else { Status::LeastSquares }
    }
}

/// True for a sample that has slope 0 in every neuron that is not 0.
fn is_unseen(pieces: &[Piece], state: &[f64], n: usize, k: usize) -> bool {
    let alive = |i: usize| state[i * (1 + k)..(i + 1) * (1 + k)].iter().any(|v| *v != 0.0);
    pieces.iter().enumerate().all(|(i, piece)| !alive(i) || piece.slopes[n] == 0.0 && !piece.slides(n))
}

/// The largest sum of the magnitudes of the terms of a residual.
pub(super) fn terms(span: &Span, gains: &[f64], state: &[f64]) -> f64 {
    let neurons = || state.chunks_exact(1 + span.k).zip(gains);
    let f: f64 = neurons().map(|(v, gain)| gain * v[0].abs() * norm(v[1..].iter().copied())).sum();
    span.targets.iter().zip(&span.norms).fold(0.0, |most: f64, (y, x)| most.max(y.abs() + x * f))
}

/// No weights fit better to first order: the residual is orthogonal to the range of `F_i = [σ_i, a_i C_i X̃P_i]`, the
/// derivatives of the outputs, neuron by neuron in its own unit, so that one that grows from next to nothing is not taken
/// for one that rests. A small gradient says less: where X or the slopes are ill conditioned it is small long before the
/// residual is; so it only says when to look.
fn is_stationary(span: &Span, pieces: &[Piece], state: &[f64], work: &Work, size: f64) -> bool {
    let neurons = || state.chunks_exact(1 + span.k).zip(pieces).enumerate();
    let mut pulled = vec![0.0; span.k];
    let samples = span.n as f64;
    let small = neurons().all(|(i, (neuron, piece))| {
        let reach: f64 = piece.slopes.iter().zip(&span.norms).map(|(c, x)| c * x).sum::<f64>() / samples;
        let sigma = &work.sigma[i * span.n..(i + 1) * span.n];
        let slope = f64::dot(sigma, &work.residual) / samples;
        super::smooth::pull(span, piece, &work.residual, &mut pulled);
        let bound = LOOK * reach * size;
        let pull = norm(pulled.iter().copied());
        slope.abs() <= bound * norm(neuron[1..].iter().copied()) && (neuron[0] == 0.0 || pull <= bound)
    });
    if !small {
        return false;
    }
    let mut range = Columns::coarse(span.n, DEPENDENT);
    for (i, (neuron, piece)) in neurons() {
        range.push(&work.sigma[i * span.n..(i + 1) * span.n]);
        let rows: Vec<Vec<f64>> = (0..span.n)
            .map(|n| {
                let mut row = span.row(n).to_vec();
                piece.slide.remove(&mut row);
                row
            })
            .collect();
        for j in (0..span.k).filter(|_| neuron[0] != 0.0) {
            let column: Vec<f64> = rows.iter().zip(&piece.slopes).map(|(row, c)| c * row[j]).collect();
            range.push(&column);
        }
    }
    let fitted = norm(range.coordinates(&work.residual).into_iter());
    fitted <= ORTHOGONAL * norm(work.residual.iter().copied())
}
