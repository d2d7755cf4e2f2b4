//! Gradient flow on the tied diagonal network `β = u₊^D − u₋^D`, `D ≥ 3`, from `u± = αw` (\[W\] Theorem 3; THEORY §6).
//!
//! The dual flow `ν' = r/N` is that of the untied network, with another β of `G = Xᵀν`: what integrates, watches and tells
//! is `diagonal`. Times grow as `α^{2−D}`: scales at which they are beyond binary64 have limits, but no trajectories.

use crate::flow::Invalid;
use crate::flow::diagonal::{self, Origin};
use crate::flow::monitor::Monitor;
use crate::flow::outcome::{Flow, Options};
use crate::linalg::Rows;
use crate::potential::TiedStart;

/// `β = u₊^D − u₋^D` fitted to `y ≈ Xβ` by gradient flow on `Σ r² / (2N)`.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// Samples, N × d.
    pub x: Rows<'a>,
    /// Targets (N).
    pub y: &'a [f64],
    /// The start.
    pub start: &'a TiedStart,
}

/// Smallest and largest `ln c`, `c = D(D−2)(αw)^{D−2}`, for which times are numbers.
const RANGE: (f64, f64) = (-600.0, 600.0);

/// The trajectory of gradient flow from `problem.start`, row by row, and why it ended.
///
/// # Errors
/// [`Invalid`] where an argument is not allowed, the scale among them.
pub fn gradient_flow(problem: &Problem<'_>, options: &Options<'_>, monitor: &dyn Monitor) -> Result<Flow, Invalid> {
    let d = f64::from(problem.start.depth);
    for log in &problem.start.log_start {
        let rate = (d - 2.0) * log.high;
        if !(RANGE.0..=RANGE.1).contains(&rate) {
            let expected = "such that (D-2) times it is within 600: beyond, the times of the flow are no floats";
            return Err(Invalid::Value { name: "log_scale", found: log.high, expected });
        }
    }
    let Problem { x, y, start } = *problem;
    let problem = diagonal::Problem { x, y, y_low: None, start: Origin::Tied(start), weights: None };
    diagonal::gradient_flow(&problem, options, monitor)
}
