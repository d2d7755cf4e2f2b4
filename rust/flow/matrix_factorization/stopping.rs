//! Is the flow where it is going? Judged by the residual, never by the loss, nor by slowness: a plateau is no end.
//!
//! Ends that do not fit y are those where nothing moves. A plateau at a saddle of lower rank is none of them as long as a
//! column of Z is not at rest: it grows at the rate of the largest eigenvalue of B, small as it may be.
//!
//! With one factor, `B Z = 0` and `B ⪯ 0` are the conditions of optimality of least squares over positive semidefinite M, a
//! convex problem: there the flow is at the constrained minimum.

use super::prepare::Prepared;
use crate::flow::fully_connected::units::peak;
use crate::flow::outcome::Status;
use crate::linalg::{SymmetricEigen, length};

/// Rounding errors of the residual of a mode, in ulps of its terms.
const FLOOR: f64 = 8.0;
/// A column is at rest where its slope is below this many ulps of `‖B‖ ‖z_c‖`.
const REST: f64 = 64.0;
/// The share of B that may be positive at a constrained minimum: B is as exact as M, which is as exact as the tolerance.
const POSITIVE: f64 = 1e-8;

/// When to stop.
#[derive(Clone, Debug)]
pub(super) struct Stopping<'p> {
    prepared: &'p Prepared,
    /// Converged where `max|r|` is at most this; 0 where only the floor is an end.
    pub(super) goal: f64,
    tolerance: f64,
    m: Vec<f64>,
    residual: Vec<f64>,
    /// `max|r|` where the flow was judged last, or a bound of it that is above the goal by far.
    pub(super) largest: f64,
}

impl<'p> Stopping<'p> {
    /// For a run that is over at `tol`, or goes on from there if not `at_tolerance`.
    pub(super) fn new(prepared: &'p Prepared, tol: f64, at_tolerance: bool) -> Self {
        let mut m = vec![0.0; prepared.factors.features()];
        let mut residual = vec![0.0; prepared.modes.rank()];
        prepared.factors.product(&prepared.start, &mut m);
        prepared.modes.residual(&m, &mut residual);
        let largest = prepared.largest(&residual);
        let size = if prepared.size > 0.0 { prepared.size } else { largest };
        let tolerance = tol * size;
        let goal = if at_tolerance { tolerance } else { 0.0 };
        Self { prepared, goal, tolerance, m, residual, largest }
    }

    /// Why to stop at this state, where the slope is `slope`, if at all.
    pub(super) fn judge(&mut self, state: &[f64], slope: &[f64]) -> Option<Status> {
        self.judge_residual(state).or_else(|| self.at_rest(state, slope))
    }

    /// The same by the residual alone.
    pub(super) fn judge_residual(&mut self, state: &[f64]) -> Option<Status> {
        let Prepared { modes, factors, end, .. } = self.prepared;
        factors.product(state, &mut self.m);
        modes.residual(&self.m, &mut self.residual);
        // U is orthonormal: the norm bounds the largest entry from both sides, and spares N × rank products a step.
        let norm = length(&self.residual);
        let near = norm <= 2.0 * modes.samples().sqrt() * self.tolerance;
        self.largest = if near { self.prepared.largest(&self.residual) } else { norm };
        if self.largest <= self.goal {
            return Some(*end);
        }
        if self.at_floor(state) {
            let converged = self.prepared.largest(&self.residual) <= self.tolerance;
            return Some(if converged { *end } else { Status::RoundoffFloor });
        }
        None
    }

    /// Every residual is as small as the rounding errors of its own evaluation.
    fn at_floor(&mut self, state: &[f64]) -> bool {
        let Prepared { modes, factors, .. } = self.prepared;
        let ulps = (FLOOR + factors.k as f64) * f64::EPSILON;
        // The cheap bound first.
        let terms = peak(&modes.targets) + modes.largest() * length(state).powi(2);
        if peak(&self.residual) > ulps * terms {
            return false;
        }
        factors.magnitudes(state, &mut self.m);
        let mut terms = vec![0.0; self.residual.len()];
        modes.rows().apply_abs(&self.m, &mut terms);
        let mut each = self.residual.iter().zip(&modes.targets).zip(&terms);
        each.all(|((r, y), terms)| r.abs() <= ulps * (y.abs() + terms))
    }

    /// Nothing moves, and the data are not fitted.
    fn at_rest(&self, state: &[f64], slope: &[f64]) -> Option<Status> {
        let Prepared { modes, factors, .. } = self.prepared;
        if peak(slope) == 0.0 {
            return Some(Status::Saddle);
        }
        let (mut speeds, mut sizes) = (vec![0.0; factors.k], vec![0.0; factors.k]);
        factors.columns(slope, &mut speeds);
        factors.columns(state, &mut sizes);
        let mut gradient = vec![0.0; factors.features()];
        modes.gradient(&self.residual, &mut gradient);
        let rate = REST * f64::EPSILON * factors.gain() * length(&gradient);
        if length(&speeds) > rate * length(&sizes) {
            return None;
        }
        let b = SymmetricEigen::of(&factors.lift(&gradient))?;
        let (least, most) = (b.values().first()?, b.values().last()?);
        if factors.symmetric && *most <= POSITIVE * least.abs() {
            return Some(Status::InfeasibleSign);
        }
        let still = speeds.iter().zip(&sizes).all(|(speed, size)| *speed <= rate * size);
        still.then_some(Status::Saddle)
    }
}
