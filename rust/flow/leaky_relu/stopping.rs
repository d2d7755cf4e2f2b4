//! Is it over? From a state and its residual.

use super::columns::Columns;
use super::number::Number;
use super::segment::Piece;
use super::smooth::Work;
use super::span::Span;
use super::units::peak;
use crate::flow::Status;
use crate::linalg::norm;

/// A residual below so many roundings of its terms is the round-off floor.
const FLOOR: f64 = 4.0;

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
    pub(super) fn judge<R: Number>(
        &self,
        span: &Span<R>,
        pieces: &[Piece<R>],
        gains: &[f64],
        state: &[R],
        work: &Work<R>,
    ) -> Option<Status> {
        let largest = peak(&work.residual);
        let converged = largest <= self.tol * self.size;
        if converged && self.at_tolerance || largest == 0.0 {
            return Some(Status::Converged);
        }
        if largest <= FLOOR * R::ULP * terms(span, gains, state) {
            return Some(if converged { Status::Converged } else { Status::RoundoffFloor });
        }
        let rests = self.is_dead(pieces, state, work, span.k) || is_stationary(span, pieces, state, work, self.size);
        rests.then(|| self.stationary(span, pieces, state, work))
    }

    /// Only samples that no neuron sees are left to fit.
    fn is_dead<R: Number>(&self, pieces: &[Piece<R>], state: &[R], work: &Work<R>, k: usize) -> bool {
        let mut live = (0..work.residual.len()).filter(|n| !is_unseen(pieces, state, *n, k));
        let tol = if self.at_tolerance { self.tol } else { FLOOR * R::ULP };
        live.all(|n| work.residual[n].to_f64().abs() <= tol * self.size)
    }

    /// Stationary without a fit. Where every sample still moves a neuron it is the least-squares fit of its pattern; a sample
    /// that is dead (slope 0 in every neuron that is alive) could be fitted by other weights, and weights that are all 0
    /// never move: points where the gradient vanishes, and no minimum.
    fn stationary<R: Number>(&self, span: &Span<R>, pieces: &[Piece<R>], state: &[R], work: &Work<R>) -> Status {
        // A sample that is 0 is seen by nobody, and no weights could fit it.
        let missed = |n: usize| span.norms[n] > 0.0 && work.residual[n].to_f64().abs() > self.tol * self.size;
        let saddle = (0..span.n).any(|n| missed(n) && is_unseen(pieces, state, n, span.k));
        if saddle { Status::Saddle } else { Status::LeastSquares }
    }
}

/// True for a sample that has slope 0 in every neuron that is not 0.
fn is_unseen<R: Number>(pieces: &[Piece<R>], state: &[R], n: usize, k: usize) -> bool {
    let alive = |i: usize| state[i * (1 + k)..(i + 1) * (1 + k)].iter().any(|v| *v != R::ZERO);
    pieces.iter().enumerate().all(|(i, piece)| !alive(i) || piece.slopes[n] == 0.0 && !piece.slides(n))
}

/// The largest sum of the magnitudes of the terms of a residual.
pub(super) fn terms<R: Number>(span: &Span<R>, gains: &[f64], state: &[R]) -> f64 {
    let neurons = || state.chunks_exact(1 + span.k).zip(gains);
    let size = |u: &[R]| norm(u.iter().map(|v| v.to_f64()));
    let f: f64 = neurons().map(|(v, gain)| gain * v[0].to_f64().abs() * size(&v[1..])).sum();
    span.targets.iter().zip(&span.norms).fold(0.0, |most: f64, (y, x)| most.max(y.to_f64().abs() + x * f))
}

/// No weights fit better to first order: the residual is orthogonal to the range of `F_i = [σ_i, a_i C_i X̃P_i]`, the
/// derivatives of the outputs, neuron by neuron in its own unit, so that one that grows from next to nothing is not taken
/// for one that rests. A small gradient says less: where X or the slopes are ill conditioned it is small long before the
/// residual is; so it only says when to look.
fn is_stationary<R: Number>(span: &Span<R>, pieces: &[Piece<R>], state: &[R], work: &Work<R>, size: f64) -> bool {
    let neurons = || state.chunks_exact(1 + span.k).zip(pieces).enumerate();
    let (look, orthogonal, dependent) = R::RESTS;
    let length = |v: &[R]| norm(v.iter().map(|v| v.to_f64()));
    let mut pulled = vec![R::ZERO; span.k];
    let samples = span.n as f64;
    let small = neurons().all(|(i, (neuron, piece))| {
        let reach: f64 = piece.slopes.iter().zip(&span.norms).map(|(c, x)| c * x).sum::<f64>() / samples;
        let sigma = &work.sigma[i * span.n..(i + 1) * span.n];
        let slope = R::inner(sigma, &work.residual).to_f64() / samples;
        super::smooth::pull(span, piece, &work.residual, &mut pulled);
        let bound = look * reach * size;
        let pull = length(&pulled);
        slope.abs() <= bound * length(&neuron[1..]) && (neuron[0] == R::ZERO || pull <= bound)
    });
    if !small {
        return false;
    }
    let mut range = Columns::coarse(span.n, dependent);
    for (i, (neuron, piece)) in neurons() {
        range.push(&work.sigma[i * span.n..(i + 1) * span.n]);
        let rows: Vec<Vec<R>> = (0..span.n)
            .map(|n| {
                let mut row = span.rows.get(n);
                piece.slide.remove(&mut row);
                row
            })
            .collect();
        for j in (0..span.k).filter(|_| neuron[0] != R::ZERO) {
            let column: Vec<R> = rows.iter().zip(&piece.slopes).map(|(row, c)| R::from_f64(*c) * row[j]).collect();
            range.push(&column);
        }
    }
    let fitted = length(&range.coordinates(&work.residual));
    fitted <= orthogonal * length(&work.residual)
}
