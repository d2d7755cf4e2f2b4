//! The public entry: prepare, choose a method, integrate, hand back rows.

use super::dual::DualFlow;
use super::prepare::{Prepared, peak};
use super::problem::{Invalid, Problem};
use super::raw;
use super::stopping::{Goal, Stopping, norm};
use super::table::Table;
use super::watch::{Plan, Watch};
use crate::flow::budget::Budget;
use crate::flow::monitor::{Monitor, Way, arrived};
use crate::flow::observable::Observable;
use crate::flow::outcome::{Flow, Method, Options, Stats, Status};
use crate::ode::{self, Explicit, Radau, integrate};

/// Horizons below this many times `1/‖J‖` are not stiff: an explicit method of order 8 takes a few steps there.
const NOT_STIFF: f64 = 20.0;
/// Where no row is asked for, the residual is resolved that much more coarsely than β: a quarter fewer steps.
const UNASKED: f64 = 30.0;
/// At tolerances below this only the method of order 13 is used.
const SMOOTH: f64 = 1e-8;
/// What the tolerances may be, as messages say it.
const RTOL: (f64, f64, &str) = (1e-14, 0.1, "in [1e-14, 0.1], the floor of binary64");

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
    validate_options(options, problem.x.d())?;
    if options.method == Method::Weights {
        return raw::gradient_flow(problem, options, monitor);
    }
    let budget = Budget::new(options.max_seconds, monitor);
    let Some(prepared) = Prepared::of(problem, monitor) else { return Ok(Flow::interrupted(options)) };
    let reference = prepared.reference(problem);
    let residual_rtol = if options.times.is_some() { options.rtol } else { UNASKED * options.rtol };
    let mut flow = DualFlow::new(&prepared, reference.clone(), (options.rtol, residual_rtol));
    flow.visit(&vec![0.0; flow.x.n()]);
    if !flow.here.slope.iter().chain(&flow.here.residual).all(|v| v.is_finite()) {
        let largest =
            problem.start.log_a.iter().chain(&problem.start.log_b).fold(f64::NEG_INFINITY, |a, b| a.max(b.high));
        return Err(Invalid::Value { name: "net", found: largest, expected: "of ln kappa below 709 for a flow" });
    }
    if monitor.interrupted() {
        return Ok(Flow::interrupted(options));
    }
    let scaled: Option<Vec<f64>> = options.times.map(|times| times.iter().map(|t| prepared.scaled_time(*t)).collect());
    let end = scaled.as_ref().map_or(f64::INFINITY, |times| times.last().copied().unwrap_or(0.0));
    let method = choose(options.method, &flow, end);
    let plan = match scaled {
        Some(times) => Plan::Given { times, done: 0 },
        None => Plan::Automatic { segments: Vec::new(), reference: Box::new(reference), first: first_time(&flow) },
    };
    let goal = prepared.goal(options.tol, options.times.is_none());
    let goal = if goal.size > 0.0 { goal } else { Goal { size: norm(&flow.here.residual), ..goal } };
    let sides = (0..flow.x.d()).map(|i| flow.reference.sides(i)).collect();
    let stopping = Stopping::new(prepared.x(), &prepared.targets, goal, sides);
    let table = Table::new(&prepared, problem, options);
    let way = Way::of_residuals(table.size_of(&flow.here.residual), table.size_of(&[goal.tol * goal.size]));
    let mut watch = Watch::new(table, stopping, plan, budget, way, &flow);
    let (state, status, stats) = if watch.verdict.is_some() || end == 0.0 {
        (vec![0.0; flow.x.n()], Status::ReachedEnd, Stats::default())
    } else {
        run(method, &mut flow, end, options, &mut watch)
    };
    let status = watch.finish(&flow, &state, status);
    let residual = watch.table.size_of(&flow.here.residual);
    let rows = watch.table.finish(status, stats);
    arrived(monitor, &rows, residual);
    Ok(rows)
}

/// Integrate to `end` with the watch; the last state, why the integrator ended, what it cost.
fn run(
    method: Method,
    flow: &mut DualFlow<'_>,
    end: f64,
    options: &Options<'_>,
    watch: &mut Watch<'_, '_>,
) -> (Vec<f64>, Status, Stats) {
    // The flow is smooth: more stages pay at every tolerance but the coarsest, where Hairer's selection decides.
    let min_stages = if options.rtol <= SMOOTH { 7 } else { 3 };
    let settings =
        ode::Options { rtol: options.rtol, max_steps: options.max_steps, min_stages, ..ode::Options::default() };
    let start = vec![0.0; flow.x.n()];
    let result = if method == Method::Explicit {
        integrate(&mut Explicit::new(&*flow, &settings), flow, 0.0, &start, end, &settings, watch)
    } else {
        integrate(&mut Radau::new(&*flow, &settings), flow, 0.0, &start, end, &settings, watch)
    };
    match result {
        Ok(outcome) => (outcome.y, outcome.status.into(), outcome.stats),
        // The settings are validated above; what is left is a run that made no step.
        Err(_) => (start, Status::StepTooSmall, Stats::default()),
    }
}

/// The method that [`Method::Auto`] stands for.
fn choose(method: Method, flow: &DualFlow<'_>, end: f64) -> Method {
    if method != Method::Auto {
        return method;
    }
    // ‖J‖ ≤ Σ S_i ‖x_i‖² / N, with S as it is now or as it becomes where a coefficient fits a sample alone.
    let slope = peak(&flow.here.slope).max(2.0 * peak(flow.y) / peak(flow.x.data()));
    let norm = slope * flow.norm.column_squares().iter().sum::<f64>() / flow.samples;
    if end * norm <= NOT_STIFF { Method::Explicit } else { Method::Radau }
}

/// A time at which something begins to be seen: an exponent has moved by 1 %, or the fastest mode by as much.
fn first_time(flow: &DualFlow<'_>) -> f64 {
    let mut rates = vec![0.0; flow.x.d()];
    flow.x.apply_transposed(&flow.here.residual, &mut rates);
    let fastest = flow.here.slope.iter().zip(flow.norm.column_squares()).map(|(s, square)| s * square).sum::<f64>();
    0.01 * flow.samples / (2.0 * peak(&rates)).max(fastest)
}

/// The first option outside its interval, for data of `features` columns.
pub(crate) fn validate_options(options: &Options<'_>, features: usize) -> Result<(), Invalid> {
    let value =
        |name, found: f64, ok: bool, expected| if ok { Ok(()) } else { Err(Invalid::Value { name, found, expected }) };
    value("rtol", options.rtol, (RTOL.0..=RTOL.1).contains(&options.rtol), RTOL.2)?;
    value("tol", options.tol, options.tol >= 0.0 && options.tol < 1.0, "in [0, 1)")?;
    value("max_steps", 0.0, options.max_steps != Some(0), "at least 1")?;
    let seconds = options.max_seconds.unwrap_or(1.0);
    value("max_seconds", seconds, seconds > 0.0, "positive")?;
    if options.observables.contains(&Observable::Distance) && options.end.len() != features {
        return Err(Invalid::Length { name: "end", found: options.end.len(), expected: features });
    }
    let Some(times) = options.times else { return Ok(()) };
    value("t", f64::NAN, !times.is_empty(), "not empty")?;
    let mut last = f64::NEG_INFINITY;
    for time in times {
        value("t", *time, time.is_finite() && *time >= 0.0, "finite and at least 0")?;
        value("t", *time, *time > last, "strictly increasing")?;
        last = *time;
    }
    Ok(())
}
