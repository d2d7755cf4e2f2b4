//! The public entry: prepare, run, hand back rows; and the weights behind them.

use super::problem::Problem;
use super::run::{Now, Run};
use super::shown::{Show, Weights};
use super::span::Span;
use super::units::{peak, scaled, split_exponential};
use crate::flow::Invalid;
use crate::flow::clock::Clock;
use crate::flow::fully_connected::divergence;
use crate::flow::monitor::Monitor;
use crate::flow::outcome::{Flow, Method, Options};
use crate::flow::recorder::{Frame, Recorder};

/// The trajectory of gradient flow from `problem.start`, row by row, every event of a pre-activation, and why it ended.
///
/// # Errors
/// [`Invalid`] where an argument is not allowed. A run that cannot be finished is not an error: its
/// [`Status`](crate::flow::Status) says why.
pub fn gradient_flow(problem: &Problem<'_>, options: &Options<'_>, monitor: &dyn Monitor) -> Result<Flow, Invalid> {
    problem.validate()?;
    options.validate(problem.x.d())?;
    let span = Span::new(problem.x, problem.y, options.method != Method::Weights);
    let (unit, factor) = split_exponential(problem.start.log_magnitude);
    let (weights, state) = Weights::start(problem, &span, factor, unit);
    let mut now = Now { t: 0.0, exponents: weights.exponents.clone(), state, pieces: Vec::new() };
    let m = now.exponents.len();
    let divergence = if m == 1 { divergence::of(&problem.start, problem.x.d()) } else { None };
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
    Ok(recorder.finish(&mut show, &now.extended(), status, run.stats, events))
}

/// The weights `(a, W)`, T × m and T × m × d, behind the recorded states of a run.
///
/// # Errors
/// [`Invalid`] if the problem is not valid or the states are none of its.
pub fn parameters(problem: &Problem<'_>, method: Method, states: &[f64]) -> Result<(Vec<f64>, Vec<f64>), Invalid> {
    problem.validate()?;
    let span = Span::new(problem.x, problem.y, method != Method::Weights);
    let (unit, factor) = split_exponential(problem.start.log_magnitude);
    let (weights, start) = Weights::start(problem, &span, factor, unit);
    let (m, width) = (problem.start.a.len(), 1 + span.k);
    let row = start.len() + m;
    if !states.len().is_multiple_of(row) {
        return Err(Invalid::Length { name: "states", found: states.len(), expected: row });
    }
    let (mut a, mut w) = (Vec::new(), Vec::new());
    for state in states.chunks_exact(row) {
        for (i, neuron) in state[..start.len()].chunks_exact(width).enumerate() {
            let exponent = state[start.len() + i].round();
            a.push(scaled(neuron[0], exponent));
            w.extend(weights.hidden(&span, i, &neuron[1..], exponent).iter().map(|w| scaled(*w, exponent)));
        }
    }
    Ok((a, w))
}
