//! The limit of gradient flow on an untied diagonal network, t = ∞ without integration.
//!
//! `β(∞) = argmin D_Q(β, β(0))` subject to `Xβ = y` (\[A\] Theorem 1), the minimiser of the dual
//! `Ψ(ν) = ¼ Σ S_i(Xᵀν) − yᵀν`: THEORY §1. The pieces, in the order in which they are used:
//!
//! * `units` (of all models): everything scaled to size one by powers of two; `row_space`: a basis in which no system
//!   squares cond(X);
//! * `exponents`: β(G) and S(G) at any scale; `dual`: a point and its residual;
//! * `solve`: interior point (`interior_point`) from afar, Newton from near by (damped: `line_search`;
//!   wide data: `screen`); `refine`: the last digits in double-double;
//! * `certificate`: the proven bound per coefficient, with the round-off of `accuracy`;
//! * `signs`: what one-sided coordinates cannot reach; `path`: many starts on one data set;
//! * `double_double`: the same limits to thirty digits.

mod accuracy;
mod certificate;
pub mod double_double;
mod dual;
mod exponents;
mod finish;
mod interior_point;
mod kkt;
mod line_search;
mod path;
mod refine;
mod screen;
mod signs;
mod solve;

pub use kkt::{Conditions, Report, check, distance_bound};
pub use path::limit_path;

use crate::linalg::Rows;

use crate::potential::Start;

use crate::limit::row_space::RowSpace;
use double_double::{Exact, Low};
use dual::largest;
use exponents::Exponents;
use finish::Finished;
use solve::{End, Workspace};

/// Why the search for the limit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The residual is at most `tol · max|y|`.
    Converged,
    /// The residual is above `tol`, but at its round-off floor: no binary64 β does better.
    RoundoffFloor,
    /// `y` is not in the range of `X`, or there are more samples than features: min Q over the least-squares set.
    LeastSquares,
    /// One-sided coordinates cannot take the signs that `y` needs: the constrained least-squares end of the flow.
    InfeasibleSign,
    /// Coordinates whose weights are all 0 never move, and without them `y` is out of reach: stationary, no minimum.
    Saddle,
    /// The budget of systems was used up before the residual was at its floor.
    MaxSteps,
    /// The caller asked to stop.
    Interrupted,
}

impl Status {
    /// Did the flow's end come out?
    #[must_use]
    pub fn success(self) -> bool {
        !matches!(self, Self::Saddle | Self::MaxSteps | Self::Interrupted)
    }

    /// The name in the public API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::RoundoffFloor => "roundoff_floor",
            Self::LeastSquares => "least_squares",
            Self::InfeasibleSign => "infeasible_sign",
            Self::Saddle => "saddle",
            Self::MaxSteps => "max_steps",
            Self::Interrupted => "interrupted",
        }
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Compute the proven bound per coefficient. True by default.
    pub bounds: bool,
    /// Largest `max|y − Xβ| / max|y|` that is called converged; decides the status only. In (0, 1); 1e-12 by default.
    pub tol: f64,
    /// Systems at most. At least 1; 120 by default, where no known problem needs more than 60.
    pub max_systems: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { bounds: true, tol: 1e-12, max_systems: 120 }
    }
}

/// The end of the flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// Coefficients.
    pub beta: Vec<f64>,
    /// Multipliers ν of the samples, `∇Q(β) = Xᵀν`; of least norm where several serve.
    pub multipliers: Vec<f64>,
    /// Proven bound of `|β(∞)_i − β_i|`; infinite where the theorem makes no statement. `None` if not asked for.
    pub error_bound: Option<Vec<f64>>,
    /// Bound of `|y − Xβ|` (projected y): β is the exact limit for targets this close.
    pub backward_error: Vec<f64>,
    /// How well β and ν satisfy the optimality conditions, and the potential.
    pub conditions: Conditions,
    /// N × N systems formed and factored.
    pub n_iter: usize,
    /// Why the search ended.
    pub status: Status,
    /// What the values leave out, where they were asked for in double-double.
    pub low: Option<Low>,
}

/// Find the limit. `interrupted` is asked once a system.
#[must_use]
pub fn limit(x: Rows<'_>, y: &[f64], start: &Start, options: &Options, interrupted: &dyn Fn() -> bool) -> Limit {
    let space = RowSpace::of(x, y);
    let mut work = Workspace::new(&space);
    let problem = Problem { space: &space, x, y, exact: None };
    solve_one(&problem, &mut work, start, options, None, interrupted)
}

/// The data twice, raw and analysed.
#[derive(Clone, Copy, Debug)]
struct Problem<'a> {
    space: &'a RowSpace<'a>,
    x: Rows<'a>,
    y: &'a [f64],
    /// The targets to thirty digits, where as many are asked for; `y` is then their binary64 part.
    exact: Option<&'a Exact<'a>>,
}

/// One limit in a prepared row space, from a neighbour's multipliers or from scratch.
fn solve_one(
    problem: &Problem<'_>,
    work: &mut Workspace,
    start: &Start,
    options: &Options,
    warm: Option<&[f64]>,
    interrupted: &dyn Fn() -> bool,
) -> Limit {
    let Problem { space, x, .. } = *problem;
    let exponents = Exponents::of(start, space.units().unit);
    let outcome = work.solve(space, &exponents, warm, options.max_systems, interrupted);
    if outcome.end == End::Exhausted
        && exponents.any_one_sided()
        && let Some(end) = signs::constrained_end(problem, start, options, interrupted)
    {
        return Limit { n_iter: outcome.systems + end.n_iter, ..end };
    }
    if let Some(exact) = problem.exact {
        return double_double::finish(problem, exact, (start, &exponents), work, outcome, options, interrupted);
    }
    let finished = Finished::of(space, &exponents, work, outcome, options);
    finished.into_limit(space, x, start, outcome, options)
}

/// The status of a solve that ended in `end` with this residual relative to the targets.
fn judge(space: &RowSpace<'_>, end: End, residual: f64, tol: f64) -> Status {
    let surplus = space.samples().n() > space.samples().d();
    match end {
        End::Interrupted => Status::Interrupted,
        _ if (end == End::Floor || residual <= tol) && (surplus || !space.reachable) => Status::LeastSquares,
        _ if residual <= tol => Status::Converged,
        End::Floor => Status::RoundoffFloor,
        End::Exhausted => Status::MaxSteps,
    }
}

/// `max|r| / max|y|`, or `max|r|` where all targets are 0.
fn relative_residual(residual: &[f64], y: &[f64]) -> f64 {
    let size = largest(y);
    largest(residual) / if size > 0.0 { size } else { 1.0 }
}

#[cfg(test)]
mod tests;
