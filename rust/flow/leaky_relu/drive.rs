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
fn start<R: Number>(problem: &Problem<'_>, method: Method) -> (Span<R>, Weights<R>, Vec<R>) {
    let span = Span::new(problem.x, &problem.targets::<R>(), method != Method::Weights);
    let log = problem.start.log();
    let (unit, factor) = R::split_exponential(R::from_parts(log.high, log.low));
    let (weights, state) = Weights::start(problem, &span, factor, unit);
    (span, weights, state)
}

/// The weights `(a, W)`, T × m and T × m × d, behind the recorded states of a run, and what binary64 leaves out of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// Output weights, T × m.
    pub a: Vec<f64>,
    /// Hidden weights, T × m × d.
    pub w: Vec<f64>,
    /// The low parts of `a`; like those of `w` empty in binary64.
    pub a_low: Vec<f64>,
    /// The low parts of `w`.
    pub w_low: Vec<f64>,
}

/// The weights behind the states of a run by `method` in `precision`, `states_low` their low parts.
///
/// # Errors
/// [`Invalid`] if the problem is not valid or the states are none of its.
pub fn parameters(
    problem: &Problem<'_>,
    method: Method,
    precision: Precision,
    states: &[f64],
    states_low: &[f64],
) -> Result<Parameters, Invalid> {
    problem.validate()?;
    match precision {
        Precision::Double => weights_of::<f64>(problem, method, states, states_low),
        Precision::DoubleDouble => weights_of::<DoubleDouble>(problem, method, states, states_low),
    }
}

fn weights_of<R: Number>(
    problem: &Problem<'_>,
    method: Method,
    states: &[f64],
    states_low: &[f64],
) -> Result<Parameters, Invalid> {
    let (span, weights, start) = start::<R>(problem, method);
    let (m, width) = (problem.start.a.len(), 1 + span.k);
    let row = start.len() + m;
    if !states.len().is_multiple_of(row) {
        return Err(Invalid::Length { name: "states", found: states.len(), expected: row });
    }
    if !(states_low.is_empty() || states_low.len() == states.len()) {
        let (found, expected) = (states_low.len(), states.len());
        return Err(Invalid::Length { name: "the low part of states", found, expected });
    }
    let low = |k: usize| states_low.get(k).copied().unwrap_or(0.0);
    let states: Vec<R> = states.iter().enumerate().map(|(k, high)| R::from_parts(*high, low(k))).collect();
    let (mut a, mut w) = (Vec::new(), Vec::new());
    for state in states.chunks_exact(row) {
        for (i, neuron) in state[..start.len()].chunks_exact(width).enumerate() {
            let exponent = state[start.len() + i].to_f64().round();
            a.push(scaled(neuron[0], exponent));
            w.extend(weights.hidden(&span, i, &neuron[1..], exponent).iter().map(|w| scaled(*w, exponent)));
        }
    }
    let ((a, a_low), (w, w_low)) = (R::into_parts(a), R::into_parts(w));
    Ok(Parameters { a, w, a_low, w_low })
}
