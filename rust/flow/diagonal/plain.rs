//! The flow at the stages of a step in binary64: one product with the data for the shifts, one for the predictors.

use super::dual::Point;
use super::number::Stages;
use super::reference::Reference;
use super::shifts::Shifts;
use crate::linalg::Rows;

/// Shifts of the stages seen last, and room for their predictors.
#[derive(Debug, Default)]
pub(super) struct Plain {
    shifts: Shifts,
    /// Of one state.
    shift: Vec<f64>,
    beta: Vec<f64>,
    slope: Vec<f64>,
}

impl Plain {
    fn make_room(&mut self, size: usize) {
        for buffer in [&mut self.beta, &mut self.slope] {
            buffer.resize(size.max(buffer.len()), 0.0);
        }
    }
}

impl Stages<f64> for Plain {
    fn fitted(&mut self, x: Rows<'_>, reference: &Reference, states: &[f64], fitted: &mut [f64]) {
        let size = states.len() / x.n().max(1) * x.d();
        self.make_room(size);
        let (beta, slope) = (&mut self.beta[..size], &mut self.slope[..size]);
        let shift = self.shifts.of_states(x, states);
        reference.evaluate(shift, beta, slope);
        x.apply_many(beta, fitted);
    }

    fn visit(&mut self, x: Rows<'_>, reference: &Reference, state: &[f64], here: &mut Point) {
        self.shifts.of_state(x, state, &mut here.shift);
        reference.evaluate(&here.shift, &mut here.beta, &mut here.slope);
        x.apply_many(&here.beta, &mut here.residual);
    }

    fn of_errors(&mut self, x: Rows<'_>, errors: &[f64]) -> &[f64] {
        self.shifts.of_errors(x, errors)
    }

    fn slope(&mut self, x: Rows<'_>, reference: &Reference, state: &[f64]) -> &[f64] {
        let d = x.d();
        self.make_room(d);
        self.shift.resize(d, 0.0);
        self.shifts.of_state(x, state, &mut self.shift);
        reference.evaluate(&self.shift, &mut self.beta[..d], &mut self.slope[..d]);
        &self.slope[..d]
    }

    /// Nothing is taken for known but states that are the last ones and their corrections, to the bit.
    fn forget(&mut self) {}
}
