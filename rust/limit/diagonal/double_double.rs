//! The limit to thirty digits: coefficients, multipliers and potential in double-double, with the proven bound.
//!
//! The binary64 search brings the point near; `refine` takes its residual to the round-off of double-double, and the
//! certificate of THEORY §1 then speaks of that residual with double-double round-off: it proves about 1e-28 where it
//! proved 1e-13. Its own arithmetic stays binary64, for `H`, `L` and `τ` only multiply what is as small as the residual.
//! Dependent samples have their targets projected in double-double (`row_space`), and the least multipliers among equals.

mod afar;
mod finish;
mod kernel;
mod kkt;
mod potential;

pub use kkt::check;

use crate::linalg::Rows;
use crate::potential::Start;
use crate::real::{DoubleDouble, Real};

use super::path::follow_all;
use super::solve::Workspace;
use super::{Limit, Options, Problem, solve_one};
use crate::limit::row_space::{RowSpace, Targets};

pub(super) use finish::finish;

/// What double-double adds to the values of a limit: `value + low`, `|low| ≤ ulp(value)/2`.
#[derive(Clone, Debug, PartialEq)]
pub struct Low {
    /// Of the coefficients.
    pub beta: Vec<f64>,
    /// Of the multipliers.
    pub multipliers: Vec<f64>,
    /// Of `D_Q(β, β(0))`.
    pub potential_value: f64,
}

/// Targets as they were given, and what the row space makes of them.
#[derive(Debug)]
pub(super) struct Exact<'a> {
    pub y: &'a [DoubleDouble],
    pub scaled: Targets,
}

impl<'a> Exact<'a> {
    pub fn of(space: &RowSpace<'_>, y: &'a [DoubleDouble]) -> Self {
        Self { y, scaled: space.exact_targets(y) }
    }
}

/// As [`super::limit`], to thirty digits. `options.tol` may go down to the unit round-off of double-double, 1e-31.
#[must_use]
pub fn limit(
    x: Rows<'_>,
    y: &[DoubleDouble],
    start: &Start,
    options: &Options,
    interrupted: &dyn Fn() -> bool,
) -> Limit {
    let rounded = high(y);
    let space = RowSpace::of(x, &rounded);
    let exact = Exact::of(&space, y);
    let problem = Problem { space: &space, x, y: &rounded, exact: Some(&exact) };
    solve_one(&problem, &mut Workspace::new(&space), start, options, None, interrupted)
}

/// As [`super::limit_path`], to thirty digits.
#[must_use]
pub fn limit_path(
    x: Rows<'_>,
    y: &[DoubleDouble],
    starts: &[Start],
    options: &Options,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Vec<Limit> {
    let rounded = high(y);
    let space = RowSpace::of(x, &rounded);
    let exact = Exact::of(&space, y);
    follow_all(&Problem { space: &space, x, y: &rounded, exact: Some(&exact) }, starts, options, interrupted)
}

fn high(v: &[DoubleDouble]) -> Vec<f64> {
    v.iter().map(|v| v.to_f64()).collect()
}
