//! A row of the result and what it may be off by.

use super::super::prepare::Prepared;
use super::super::reference::Reference;
use super::frame::{Frame, Reach, SMALLEST};
use crate::real::Real;

/// One row: its time in the units of the run, and β as reported.
#[derive(Debug)]
pub(super) struct Row<'r> {
    pub(super) time: f64,
    pub(super) beta: &'r [f64],
    /// Bound of `|β_i − β(t)_i|`; infinite until something is known.
    pub(super) bound: Vec<f64>,
}

impl<'r> Row<'r> {
    pub(super) fn new(time: f64, beta: &'r [f64]) -> Self {
        Self { time, beta, bound: vec![f64::INFINITY; beta.len()] }
    }

    /// From a state `Δw` beside the reference that is off by `error` at most: the distance to β there, and what that β is off
    /// by. Columns that never move have β = 0, exactly.
    pub(super) fn bound(
        &mut self,
        prepared: &Prepared<'_>,
        frame: &Frame<'_>,
        reference: &Reference,
        state: &[f64],
        reach: Reach,
        error: f64,
    ) {
        let d = frame.z.d();
        let (mut shift, mut beta, mut slope) = (vec![0.0; d], vec![0.0; d], vec![0.0; d]);
        frame.z.apply_transposed(state, &mut shift);
        for z in &mut shift {
            *z *= 2.0;
        }
        reference.evaluate(&shift, &mut beta, &mut slope);
        let off: Vec<f64> = (beta.iter().zip(&slope).enumerate())
            .map(|(i, (beta, slope))| Frame::beta_error(*beta, *slope, frame.moved(i, reach, error)))
            .collect();
        let (mut here, mut within) = (vec![0.0; self.beta.len()], vec![0.0; self.beta.len()]);
        prepared.predictor(&beta, &mut here);
        prepared.predictor(&off, &mut within);
        self.within(&here, &within);
    }

    /// The flow is within `off` of `here`, both in the units of the caller: a bound by that, if it is smaller than the one
    /// there is.
    pub(super) fn within(&mut self, here: &[f64], off: &[f64]) {
        for ((bound, (here, off)), beta) in self.bound.iter_mut().zip(here.iter().zip(off)).zip(self.beta) {
            // What fell out of the range of floats on the way to the units of the caller was below the least of them.
            let underflow = if *off > 0.0 || *here != *beta { 4.0 * SMALLEST } else { 0.0 };
            let sum = ((here - beta).abs() + *off) * (1.0 + 8.0 * f64::UNIT_ROUNDOFF) + underflow;
            // A NaN, which is no smaller number, says nothing.
            *bound = bound.min(sum);
        }
    }
}
