//! The public entry: prepare, run, hand back rows; and the weights behind them.

use super::number::Number;
use super::problem::Problem;
use super::run::{Now, Run};
use super::shown::{Show, Weights};
use super::span::Span;
use super::units::{peak, scaled};
use crate::flow::Invalid;
use crate::flow::clock::Clock;
use crate::flow::monitor::Monitor;
use crate::flow::outcome::{Flow, Method, Options, Precision};
use crate::flow::recorder::{Frame, Recorder};
use crate::real::DoubleDouble;

/// The trajectory of gradient flow from `problem.start`, row by row, every event of a pre-activation, and why it ended.
///
/// # Errors
/// [`Invalid`] where an argument is not allowed. A run that cannot be finished is not an error: its
/// [`Status`](crate::flow::Status) says why.
pub fn gradient_flow(problem: &Problem<'_>, options: &Options<'_>, monitor: &dyn Monitor) -> Result<Flow, Invalid> {
    problem.validate()?;
    options.validate(problem.x.d())?;
    Ok(match options.precision {
        Precision::Double => run::<f64>(problem, options, monitor),
        Precision::DoubleDouble => run::<DoubleDouble>(problem, options, monitor),
    })
}

/// The trajectory in the numbers `R`.
fn run<R: Number>(problem: &Problem<'_>, options: &Options<'_>, monitor: &dyn Monitor) -> Flow {
    let (span, weights, state) = start::<R>(problem, options.method);
    let mut now = Now { t: R::ZERO, exponents: weights.exponents.clone(), state, pieces: Vec::new() };
    let m = now.exponents.len();
    let divergence = if m == 1 { R::divergence(&problem.start, problem.x.d()) } else { None };
    let mut show = Show { span: &span, weights: &weights, slope: problem.slope, m, divergence };
    let mut run = Run::new(problem, options, &span, &weights);
    let start = run.start(&mut now, problem);
    let work = run.visit(&now);
    // Sums of two exponents of binary64.
    #[allow(clippy::cast_possible_truncation)]
    let clock = Clock::new(options.time_unit, (span.units.0 + span.units.1) as i32);
    let (features, samples, dim) = (problem.x.d(), problem.x.n(), now.state.len() + m);
    let frame = Frame { features, samples, dim, clock, first: run.first_time(&now, &work) };
    let mut recorder = Recorder::new(options, monitor, frame);
    let y = scaled(1.0, span.units.1);
    recorder.start(&mut show, &now.extended(), (peak(&work.residual) * y, run.goal.tol * run.goal.size * y));
    let status = match start {
        Some(status) => status,
        None => run.go(&mut now, &mut recorder, &mut show),
    };
    let events = run.sorted_events();
    recorder.finish(&mut show, &now.extended(), status, run.stats, events)
}

/// Coordinates, and the start in them.
pub(super) fn start<R: Number>(problem: &Problem<'_>, method: Method) -> (Span<R>, Weights<R>, Vec<R>) {
    let span = Span::new(problem.x, &problem.targets::<R>(), method != Method::Weights);
    let log = problem.start.log();
    let (unit, factor) = R::split_exponential(R::from_parts(log.high, log.low));
    let (weights, state) = Weights::start(problem, &span, factor, unit);
    (span, weights, state)
}
