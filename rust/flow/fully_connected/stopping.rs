//! Is the flow where it is going? Judged by the residual, never by the loss, nor by slowness: a plateau is no end.
//!
//! The one other end is the saddle: all outer weights and all components of the hidden ones along the gradient vanish. Near it
//! the flow is linear, and `Σ rising · falling` is conserved (`escape`); up to rest of the hidden weights it is δ, which a
//! start knows to a few ulps of its squares only. A flow that comes in with less than that does not come out again.

use super::modes::Modes;
use super::prepare::{Prepared, length};
use super::span::{in_span, split};
use super::units::peak;
use crate::flow::outcome::Status;

/// Rounding errors of the residual of a mode, in ulps of its terms.
const FLOOR: f64 = 8.0;
/// Share of the gradient that a predictor near a saddle leaves as it is.
const NEAR: f64 = 1e-10;
/// Rounding errors of δ, in ulps of the squares of the start.
const INVARIANT: f64 = 16.0;

/// When to stop.
#[derive(Clone, Debug)]
pub(super) struct Stopping<'p> {
    prepared: &'p Prepared,
    /// Converged where `max|r|` is at most this; 0 where only the floor is an end.
    pub(super) goal: f64,
    tolerance: f64,
    /// The largest norm of the weights so far.
    size: f64,
    q: Vec<f64>,
    residual: Vec<f64>,
    /// `max|r|` where the flow was judged last, or a bound of it that is above the goal by far.
    pub(super) largest: f64,
}

impl<'p> Stopping<'p> {
    /// For a run from `start` that is over at `tol`, or goes on from there if not `at_tolerance`.
    pub(super) fn new(prepared: &'p Prepared, start: &[f64], tol: f64, at_tolerance: bool) -> Self {
        let room = || vec![0.0; prepared.modes.rank()];
        let (mut q, mut residual) = (room(), room());
        in_span(split(start, prepared.m()).0, split(start, prepared.m()).1, &mut q);
        prepared.modes.residual(&q, &mut residual);
        let largest = prepared.largest(&residual);
        let size = if prepared.size > 0.0 { prepared.size } else { largest };
        let tolerance = tol * size;
        let goal = if at_tolerance { tolerance } else { 0.0 };
        Self { prepared, goal, tolerance, size: length(start), q, residual, largest }
    }

    /// Why to stop at this state, if at all.
    pub(super) fn judge(&mut self, state: &[f64]) -> Option<Status> {
        self.size = self.size.max(length(state));
        self.judge_residual(state).or_else(|| self.at_saddle(state).then_some(Status::Saddle))
    }

    /// The same by the residual alone, which is all that a start may be judged by: it may underflow.
    pub(super) fn judge_residual(&mut self, state: &[f64]) -> Option<Status> {
        let modes = &self.prepared.modes;
        let (a, c) = split(state, self.prepared.m());
        in_span(a, c, &mut self.q);
        modes.residual(&self.q, &mut self.residual);
        // U is orthonormal: the norm bounds the largest entry from both sides, and spares N × rank products a step.
        let norm = length(&self.residual);
        let samples = self.prepared.svd.u_rows().d() as f64;
        let near = norm <= 2.0 * samples.sqrt() * self.tolerance;
        self.largest = if near { self.prepared.largest(&self.residual) } else { norm };
        if self.largest <= self.goal {
            return Some(self.prepared.end);
        }
        if at_floor(modes, a, c, &self.residual) {
            let converged = self.prepared.largest(&self.residual) <= self.tolerance;
            return Some(if converged { self.prepared.end } else { Status::RoundoffFloor });
        }
        None
    }

    fn at_saddle(&self, state: &[f64]) -> bool {
        let modes = &self.prepared.modes;
        let (a, c) = split(state, self.prepared.m());
        let rate = length(&modes.drive);
        let left_out = self.q.iter().zip(&modes.decay).map(|(q, s)| (q * s).powi(2)).sum::<f64>().sqrt();
        if left_out > NEAR * rate || rate == 0.0 {
            return false;
        }
        // In units of the largest weights: their squares may underflow.
        let (mut rising, mut falling) = (0.0, 0.0);
        for (a, c) in a.iter().zip(c.chunks_exact(modes.rank())) {
            let p = c.iter().zip(&modes.drive).map(|(c, h)| c / self.size * (h / rate)).sum::<f64>();
            rising += (0.5 * (a / self.size + p)).powi(2);
            falling += (0.5 * (a / self.size - p)).powi(2);
        }
        rising <= falling && (rising * falling).sqrt() <= INVARIANT * f64::EPSILON
    }
}

/// Every residual is as small as the rounding errors of its own evaluation.
fn at_floor(modes: &Modes, a: &[f64], c: &[f64], residual: &[f64]) -> bool {
    let ulps = (FLOOR + a.len() as f64) * f64::EPSILON;
    // The cheap bound first: |σ_k q_k| ≤ |y_k| + |r_k|.
    let suspect = peak(residual)
        <= 2.0 * ulps * (peak(&modes.targets) + modes.sigma.first().unwrap_or(&0.0) * length(a) * length(c));
    suspect
        && residual.iter().enumerate().all(|(k, r)| {
            let terms: f64 = a.iter().zip(c.chunks_exact(modes.rank())).map(|(a, c)| (a * c[k]).abs()).sum();
            r.abs() <= ulps * (modes.targets[k].abs() + modes.sigma[k] * terms)
        })
}
