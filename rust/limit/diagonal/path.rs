//! Many starts on one data set: neighbours in ln κ start from each other's multipliers.
//!
//! The limit moves smoothly with the start: with `δ` the change of `½ ln(AB)` and `ε` that of `½ ln(A/B)`,
//! `H dν = −X(β∘δ + ½S∘ε)`, one solve with a factorization that is there anyway. From that prediction one system is the rule.
//!
//! Starts are sorted and cut into runs of fixed length, whatever the number of threads, so that the answers do not
//! depend on it. The first of a run starts from scratch.

use rayon::prelude::*;

use crate::linalg::Rows;

use crate::potential::Start;

use super::exponents::Exponents;
use super::solve::Workspace;
use super::{Limit, Options, Problem, Status, solve_one};
use crate::limit::row_space::RowSpace;

/// Starts in a run.
const RUN: usize = 16;
/// Neighbours whose exponents differ by more start from scratch.
const NEIGHBOURS: f64 = 3.0;

/// The limits from all `starts`, in their order. `interrupted` is asked once a system; the limits not reached by then
/// have that status.
#[must_use]
pub fn limit_path(
    x: Rows<'_>,
    y: &[f64],
    starts: &[Start],
    options: &Options,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Vec<Limit> {
    let space = RowSpace::of(x, y);
    follow_all(&Problem { space: &space, x, y, exact: None }, starts, options, interrupted)
}

/// The same in a prepared row space.
pub(super) fn follow_all(
    problem: &Problem<'_>,
    starts: &[Start],
    options: &Options,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Vec<Limit> {
    let space = problem.space;
    let exponents: Vec<Exponents> = starts.iter().map(|s| Exponents::of(s, space.units().unit)).collect();
    let mut order: Vec<usize> = (0..starts.len()).collect();
    order.sort_by(|a, b| exponents[*b].mean_root().total_cmp(&exponents[*a].mean_root()));
    // Runs of equal length, so that no thread is left with a short one.
    let runs = starts.len().div_ceil(RUN).max(1);
    let length = starts.len().div_ceil(runs).max(1);
    let solved: Vec<Vec<(usize, Limit)>> =
        order.par_chunks(length).map(|run| follow(problem, starts, &exponents, run, options, interrupted)).collect();
    let mut limits: Vec<(usize, Limit)> = solved.into_iter().flatten().collect();
    limits.sort_by_key(|(i, _)| *i);
    limits.into_iter().map(|(_, limit)| limit).collect()
}

/// One run, neighbour after neighbour.
fn follow(
    problem: &Problem<'_>,
    starts: &[Start],
    exponents: &[Exponents],
    run: &[usize],
    options: &Options,
    interrupted: &dyn Fn() -> bool,
) -> Vec<(usize, Limit)> {
    let space = problem.space;
    let mut work = Workspace::new(space);
    let mut before: Option<usize> = None;
    let mut limits = Vec::with_capacity(run.len());
    for &i in run {
        let warm = before.and_then(|b| predict(space, &mut work, &exponents[b], &exponents[i]));
        let limit = solve_one(problem, &mut work, &starts[i], options, warm.as_deref(), interrupted);
        let usable = limit.status.success() && limit.status != Status::InfeasibleSign;
        before = usable.then_some(i);
        limits.push((i, limit));
    }
    limits
}

/// The multipliers of the next start by the tangent of the path. `None` if it is too far away.
fn predict(space: &RowSpace<'_>, work: &mut Workspace, from: &Exponents, to: &Exponents) -> Option<Vec<f64>> {
    let change = from.change(to).filter(|c| c.iter().all(|(d, e)| d.abs().max(e.abs()) < NEIGHBOURS))?;
    let point = work.point();
    let rhs = |((delta, epsilon), (beta, slope)): (&(f64, f64), (&f64, &f64))| beta * delta + 0.5 * slope * epsilon;
    let moved: Vec<f64> = change.iter().zip(point.beta.iter().zip(&point.slope)).map(rhs).collect();
    let mut product = vec![0.0; space.samples().n()];
    space.samples().apply(&moved, &mut product);
    let mut step = vec![0.0; space.dim()];
    space.whiten(&product, &mut step);
    work.cholesky.solve(&mut step);
    let nu: Vec<f64> = point.nu.iter().zip(&step).map(|(nu, s)| nu - s).collect();
    nu.iter().all(|v| v.is_finite()).then_some(nu)
}
