//! A row of the result and what it may be off by.

use super::super::exact;
use super::super::prepare::Prepared;
use super::super::reference::Reference;
use super::frame::{Frame, Reach, Rounding, SMALLEST};
use crate::real::{DoubleDouble, Real};

/// What a state lies beside.
pub(super) struct Beside<'r, 'p> {
    pub(super) prepared: &'r Prepared<'p>,
    pub(super) frame: &'r Frame<'p>,
    pub(super) reference: &'r Reference,
}

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
    /// by. Columns that never move have β = 0, exactly. In double-double, if `exact`.
    pub(super) fn bound(
        &mut self,
        at: &Beside<'_, '_>,
        state: &[DoubleDouble],
        (reach, path): (Reach, &[f64]),
        error: f64,
        exact: bool,
    ) {
        let Beside { prepared, frame, reference } = *at;
        let d = frame.z.d();
        let (mut beta, mut slope) = (vec![DoubleDouble::ZERO; d], vec![0.0; d]);
        let rounding = if exact {
            let mut shift = vec![DoubleDouble::ZERO; d];
            exact::shifts(frame.z, state, &mut shift);
            exact::evaluate(reference, &shift, &mut beta, &mut slope);
            frame.thirty()
        } else {
            let (mut shift, mut rough) = (vec![0.0; d], vec![0.0; d]);
            let state: Vec<f64> = state.iter().map(|state| 2.0 * state.high).collect();
            frame.z.apply_transposed(&state, &mut shift);
            reference.evaluate(&shift, &mut rough, &mut slope);
            beta.iter_mut().zip(&rough).for_each(|(beta, rough)| *beta = DoubleDouble::from_f64(*rough));
            Rounding::sixteen(d)
        };
        // What is left of β beside its binary64 part is an ulp of it.
        let off: Vec<f64> = (beta.iter().zip(&slope).enumerate())
            .map(|(i, (beta, slope))| {
                let moved = frame.moved(i, reach, error) + path.get(i).copied().unwrap_or(0.0);
                Frame::beta_error(beta.high, *slope, moved, rounding) + beta.low.abs()
            })
            .collect();
        let beta: Vec<f64> = beta.iter().map(|beta| beta.high).collect();
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
