//! The public entry: prepare, choose a method, integrate, hand back rows.

use super::dual::DualFlow;
use super::number::Number;
use super::prepare::{Prepared, peak};
use super::problem::{Origin, Problem};
use super::raw;
use super::stopping::{Goal, Stopping, norm};
use super::table::Table;
use super::watch::{Plan, Watch};
use crate::flow::Invalid;
use crate::flow::budget::Budget;
use crate::flow::monitor::{Monitor, Way, arrived};
use crate::flow::outcome::{Flow, Method, Options, Precision, Stats, Status};
use crate::ode::{self, Explicit, Radau, integrate};
use crate::real::DoubleDouble;

/// Horizons below this many times `1/‖J‖` are not stiff: an explicit method of order 8 takes a few steps there.
const NOT_STIFF: f64 = 20.0;
/// Steps of a method of order 8 are too many below this tolerance, stiff or not.
const LEAST_FOR_ORDER_8: f64 = 1e-14;
/// Where no row is asked for, the residual is resolved that much more coarsely than β: a quarter fewer steps.
const UNASKED: f64 = 30.0;
/// At this part of the time scale something begins to be seen.
const SEEN: f64 = 0.01;
/// Logarithm of the largest float, rounded down.
const LARGEST_LOG: f64 = 709.0;
/// At tolerances below this no method of order below 13 is used.
const SMOOTH: f64 = 1e-8;

/// The trajectory of gradient flow from `problem.start`, row by row, and why it ended.
///
/// `monitor` is asked before every trial step, every Newton iteration and every batch of rows whether to go on; if not, the
/// run ends with the rows so far.
///
/// # Errors
/// [`Invalid`] where an argument is not allowed. A run that cannot be finished is not an error: its
/// [`Status`] says why.
pub fn gradient_flow(problem: &Problem<'_>, options: &Options<'_>, monitor: &dyn Monitor) -> Result<Flow, Invalid> {
    problem.validate()?;
    options.validate(problem.x.d())?;
    if options.method == Method::Weights {
        return raw::gradient_flow(problem, options, monitor);
    }
    if let (Origin::Tied(_), Precision::DoubleDouble) = (problem.start, options.precision) {
        return Err(Invalid::Value { name: "precision", found: 2.0, expected: "double for a tied network" });
    }
    match options.precision {
        Precision::Double => reduced::<f64>(problem, options, monitor),
        Precision::DoubleDouble => reduced::<DoubleDouble>(problem, options, monitor),
    }
}

/// The flow in the multipliers, in the numbers `R`.
fn reduced<R: Number>(problem: &Problem<'_>, options: &Options<'_>, monitor: &dyn Monitor) -> Result<Flow, Invalid> {
    let budget = Budget::new(options.max_seconds, monitor);
    let Some(prepared) = Prepared::<R>::of(problem, monitor) else { return Ok(Flow::interrupted(options)) };
    let (mut flow, stopping) = at_start(&prepared, problem, options)?;
    if monitor.interrupted() {
        return Ok(Flow::interrupted(options));
    }
    let (clock, goal) = (prepared.clock(options.time_unit), stopping.goal());
    let scaled: Option<Vec<R>> = options.times.map(|times| times.iter().map(|t| R::to_run(clock, *t)).collect());
    let last = R::from_f64(clock.last());
    let end = scaled.as_ref().map_or(last, |times| times.last().copied().unwrap_or(R::ZERO));
    let method = choose(options, &flow, end.to_f64());
    let plan = match scaled {
        Some(times) => Plan::Given { times, done: 0 },
        None => Plan::Automatic {
            segments: Vec::new(),
            reference: Box::new(flow.reference.clone()),
            first: SEEN * time_scale(&flow),
        },
    };
    let table = Table::new(&prepared, problem, options);
    let way =
        Way::of_residuals(table.size_of(&flow.here.residual), table.size_of(&[R::from_f64(goal.tol * goal.size)]));
    let mut watch = Watch::new(table, stopping, plan, budget, way, &flow);
    let (state, status, stats) = if watch.verdict.is_some() || end == R::ZERO {
        (vec![R::ZERO; flow.x.n()], Status::ReachedEnd, Stats::default())
    } else {
        run(method, &mut flow, end, options, &mut watch)
    };
    let status = watch.finish(&flow, &state, status);
    let residual = watch.table.size_of(&flow.here.residual);
    let rows = watch.table.finish(status, stats);
    arrived(monitor, &rows, residual);
    Ok(rows)
}

/// The flow at its start, if binary64 holds it and the times it takes, and when it is over.
///
/// Asked before any work, and the same for every method: whether a problem is allowed does not depend on how it is solved.
/// Given times are no one's to refuse: the rows of those that are too early or too late for the flow are its first or its
/// last state.
pub(super) fn at_start<'p, R: Number>(
    prepared: &'p Prepared<'_, R>,
    problem: &Problem<'_>,
    options: &Options<'_>,
) -> Result<(DualFlow<'p, R>, Stopping<'p, R>), Invalid> {
    let residual_rtol = if options.times.is_some() { options.rtol } else { UNASKED * options.rtol };
    let mut flow = DualFlow::new(prepared, prepared.reference(problem), (options.rtol, residual_rtol));
    flow.visit(&vec![R::ZERO; flow.x.n()]);
    let finite = flow.here.slope.iter().all(|s| s.is_finite()) && flow.here.residual.iter().all(|r| r.is_finite());
    if !finite || !prepared.holds(&flow.here.beta) {
        let found = problem.start.log_size();
        return Err(Invalid::Start { found, most: LARGEST_LOG - prepared.log_unit().max(0.0) });
    }
    let goal = prepared.goal(options.tol, options.times.is_none());
    let goal = if goal.size > 0.0 { goal } else { Goal { size: norm(&flow.here.residual), ..goal } };
    let sides = (0..flow.x.d()).map(|i| flow.reference.sides(i)).collect();
    let mut stopping = Stopping::new(prepared.x(), &prepared.targets, goal, sides).within(prepared.dependent());
    if options.times.is_none() && stopping.judge(&flow.here.beta, &flow.here.residual, 1.0).is_none() {
        let untold = prepared.clock(options.time_unit).untold(time_scale(&flow));
        untold.map_or(Ok(()), |exponent| Err(Invalid::Time { exponent }))?;
    }
    Ok((flow, stopping))
}

/// Integrate to `end` with the watch; the last state, why the integrator ended, what it cost.
fn run<R: Number>(
    method: Method,
    flow: &mut DualFlow<'_, R>,
    end: R,
    options: &Options<'_>,
    watch: &mut Watch<'_, '_, R>,
) -> (Vec<R>, Status, Stats) {
    // The flow is smooth: more stages pay at every tolerance but the coarsest, where Hairer's selection decides.
    let min_stages = if options.rtol <= SMOOTH { 7 } else { 3 };
    let settings =
        ode::Options { rtol: options.rtol, max_steps: options.max_steps, min_stages, ..ode::Options::default() };
    let start = vec![R::ZERO; flow.x.n()];
    let result = if method == Method::Explicit {
        integrate(&mut Explicit::new(&*flow, &settings), flow, R::ZERO, &start, end, &settings, watch)
    } else {
        integrate(&mut Radau::new(&*flow, &settings), flow, R::ZERO, &start, end, &settings, watch)
    };
    match result {
        Ok(outcome) => (outcome.y, outcome.status.into(), outcome.stats),
        // The settings are validated above; what is left is a run that made no step.
        Err(_) => (start, Status::StepTooSmall, Stats::default()),
    }
}

/// The method that [`Method::Auto`] stands for.
fn choose<R: Number>(options: &Options<'_>, flow: &DualFlow<'_, R>, end: f64) -> Method {
    if options.method != Method::Auto {
        return options.method;
    }
    if options.rtol < LEAST_FOR_ORDER_8 {
        return Method::Radau;
    }
    // ‖J‖ ≤ Σ S_i ‖x_i‖² / N, with S as it is now or as it becomes where a coefficient fits a sample alone.
    let slope = peak(&flow.here.slope).max(2.0 * peak(flow.y) / peak(flow.x.data()));
    let norm = slope * flow.norm.column_squares().iter().sum::<f64>() / flow.samples;
    if end * norm <= NOT_STIFF { Method::Explicit } else { Method::Radau }
}

/// The time scale of the start: that of the fastest exponent or of the fastest mode, whichever is less.
fn time_scale<R: Number>(flow: &DualFlow<'_, R>) -> f64 {
    let mut rates = vec![R::ZERO; flow.x.d()];
    flow.x.apply_transposed(&flow.here.residual, &mut rates);
    let fastest = flow.here.slope.iter().zip(flow.norm.column_squares()).map(|(s, square)| s * square).sum::<f64>();
    flow.samples / (2.0 * peak(&rates)).max(fastest)
}
