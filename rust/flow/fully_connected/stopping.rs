//! Is the flow where it is going? Judged by the residual, never by the loss, nor by slowness: a plateau is no end.
//!
//! The one other end is the saddle: all outer weights and all components of the hidden ones along the gradient vanish. Near it
//! the flow is linear, and `Σ rising · falling` is conserved (`escape`); up to rest of the hidden weights it is δ, which a
//! start knows to a few ulps of its squares only. A flow that comes in with less than that does not come out again.

use super::modes::{Modes, Work};
use super::number::{Basis, Number};
use super::prepare::{Prepared, most};
use super::span::{in_span, split};
use crate::flow::outcome::Status;
use crate::linalg::length;

/// Rounding errors of the residual of a mode, in ulps of its terms.
const FLOOR: f64 = 8.0;
/// Share of the gradient that a predictor near a saddle leaves as it is.
const NEAR: f64 = 1e-10;
/// Rounding errors of δ, in ulps of the squares of the start.
const INVARIANT: f64 = 16.0;

/// When to stop.
#[derive(Clone, Debug)]
pub(super) struct Stopping<'p, R: Number = f64> {
    prepared: &'p Prepared<R>,
    /// Converged where `max|r|` is at most this; 0 where only the floor is an end.
    pub(super) goal: f64,
    tolerance: f64,
    /// The largest norm of the weights so far.
    size: f64,
    work: Work<R>,
    /// `max|r|` where the flow was judged last, or a bound of it that is above the goal by far.
    pub(super) largest: f64,
}

impl<'p, R: Number> Stopping<'p, R> {
    /// For a run from `start` that is over at `tol`, or goes on from there if not `at_tolerance`.
    pub(super) fn new(prepared: &'p Prepared<R>, start: &[R], tol: f64, at_tolerance: bool) -> Self {
        let mut work = Work::new(prepared.modes.rank());
        in_span(split(start, prepared.m()).0, split(start, prepared.m()).1, &mut work.q);
        prepared.modes.residual_waited_for(&mut work);
        let largest = prepared.largest(&work.r);
        let size = if prepared.size > 0.0 { prepared.size } else { largest };
        let tolerance = tol * size;
        let goal = if at_tolerance { tolerance } else { 0.0 };
        Self { prepared, goal, tolerance, size: length(start).to_f64(), work, largest }
    }

    /// Why to stop at this state, if at all.
    pub(super) fn judge(&mut self, state: &[R]) -> Option<Status> {
        self.size = self.size.max(length(state).to_f64());
        self.judge_residual(state).or_else(|| self.at_saddle(state).then_some(Status::Saddle))
    }

    /// The same by the residual alone, which is all that a start may be judged by: it may underflow.
    pub(super) fn judge_residual(&mut self, state: &[R]) -> Option<Status> {
        let modes = &self.prepared.modes;
        let (a, c) = split(state, self.prepared.m());
        in_span(a, c, &mut self.work.q);
        modes.residual_waited_for(&mut self.work);
        // U is orthonormal: the norm bounds the largest entry from both sides, and spares N × rank products a step.
        let norm = length(&self.work.r).to_f64();
        let samples = self.prepared.basis.samples() as f64;
        let near = norm <= 2.0 * samples.sqrt() * self.tolerance;
        self.largest = if near { self.prepared.largest(&self.work.r) } else { norm };
        if self.largest <= self.goal {
            return Some(self.prepared.end);
        }
        if at_floor(modes, a, c, &self.work.r) {
            let converged = self.prepared.largest(&self.work.r) <= self.tolerance;
            return Some(if converged { self.prepared.end } else { Status::RoundoffFloor });
        }
        None
    }

    fn at_saddle(&self, state: &[R]) -> bool {
        let modes = &self.prepared.modes;
        let (a, c) = split(state, self.prepared.m());
        let rate = length(&modes.drive);
        let parts = self.work.q.iter().zip(&modes.decay).map(|(q, s)| (q.to_f64() * s).powi(2));
        let left_out = parts.sum::<f64>().sqrt();
        if left_out > NEAR * rate.to_f64() || rate == R::ZERO {
            return false;
        }
        // In units of the largest weights: their squares may underflow.
        let (mut rising, mut falling) = (0.0, 0.0);
        let (size, half) = (R::from_f64(self.size), R::from_f64(0.5));
        for (a, c) in a.iter().zip(c.chunks_exact(modes.rank())) {
            let p = c.iter().zip(&modes.drive).fold(R::ZERO, |sum, (c, h)| sum + *c / size * (*h / rate));
            rising += (half * (*a / size + p)).to_f64().powi(2);
            falling += (half * (*a / size - p)).to_f64().powi(2);
        }
        rising <= falling && (rising * falling).sqrt() <= INVARIANT * R::ULP
    }
}

/// Every residual is as small as the rounding errors of its own evaluation.
fn at_floor<R: Number>(modes: &Modes<R>, a: &[R], c: &[R], residual: &[R]) -> bool {
    let ulps = (FLOOR + a.len() as f64) * R::ULP;
    let size = |v: &[R]| length(v).to_f64();
    // The cheap bound first: |σ_k q_k| ≤ |y_k| + |r_k|.
    let sigma = modes.sigma.first().map_or(0.0, |sigma| sigma.to_f64());
    let suspect = most(residual).to_f64() <= 2.0 * ulps * (most(&modes.targets).to_f64() + sigma * size(a) * size(c));
    suspect
        && residual.iter().enumerate().all(|(k, r)| {
            let terms: f64 =
                a.iter().zip(c.chunks_exact(modes.rank())).map(|(a, c)| (a.to_f64() * c[k].to_f64()).abs()).sum();
            let others = modes.coupled_terms(k, size(a) * size(c));
            let (y, sigma) = (modes.targets[k].to_f64().abs(), modes.sigma[k].to_f64().abs());
            r.to_f64().abs() <= ulps * (y + sigma * terms + others)
        })
}
