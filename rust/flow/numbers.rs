//! What the rows of a run ask of the numbers it is integrated in, beyond arithmetic. Knows no model.

use super::clock::Clock;
use super::kept::Kept;
use super::segment::{self, Segment};
use crate::real::{DoubleDouble, Real};
use core::fmt::Debug;

/// A number type in which a flow can be integrated and told.
pub(crate) trait Numbers: Real {
    /// A step that is kept for rows at times chosen later.
    type Segment: Path<Self>;
    /// True if there are low parts to report.
    const HAS_LOW: bool;

    /// A time of the caller in the units of the run.
    fn to_run(clock: Clock, t: f64) -> Self;
    /// High and low parts; no low parts where there are none to report.
    fn into_parts(values: Vec<Self>) -> (Vec<f64>, Vec<f64>);
}

/// A polynomial that a step is kept as.
pub(crate) trait Path<R>: Debug {
    /// Where it has to be sampled, as fractions of the step; the last is 1.
    fn nodes() -> Vec<f64>;
    /// From times and states, one after another.
    fn new(start: R, end: R, samples: Vec<R>) -> Self;
    /// Its first and its last time.
    fn span(&self) -> (R, R);
    /// The state at the end.
    fn last(&self) -> &[R];
    /// The state at `t`, times beyond the end clamped to it.
    fn at(&self, t: R, out: &mut [R]);
}

impl Numbers for f64 {
    type Segment = Segment;

    const HAS_LOW: bool = false;

    fn to_run(clock: Clock, t: f64) -> f64 {
        clock.to_run(t)
    }

    fn into_parts(values: Vec<f64>) -> (Vec<f64>, Vec<f64>) {
        (values, Vec::new())
    }
}

impl Numbers for DoubleDouble {
    type Segment = Kept;

    const HAS_LOW: bool = true;

    fn to_run(clock: Clock, t: f64) -> Self {
        clock.to_run_exactly(t)
    }

    fn into_parts(values: Vec<Self>) -> (Vec<f64>, Vec<f64>) {
        values.iter().map(|value| (value.to_f64(), value.low())).unzip()
    }
}

impl Path<f64> for Segment {
    fn nodes() -> Vec<f64> {
        segment::nodes().to_vec()
    }

    fn new(start: f64, end: f64, samples: Vec<f64>) -> Self {
        Self::new(start, end, samples)
    }

    fn span(&self) -> (f64, f64) {
        (self.start, self.end)
    }

    fn last(&self) -> &[f64] {
        self.last()
    }

    fn at(&self, t: f64, out: &mut [f64]) {
        self.at(t, out);
    }
}
