//! What recorded states of a run stand for: the weights behind them, and how well a last one fits. Knows no integrator.
//!
//! A recorded state is `(a_i, u_i)` neuron after neuron, then the exponents of their units.

use super::drive::start;
use super::number::{Number, of_exact};
use super::problem::Problem;
use super::shown::Show;
use super::units::{peak, scaled};
use crate::flow::Invalid;
use crate::flow::outcome::{Method, Precision};
use crate::flow::recorder::Shown;
use crate::real::{DoubleDouble, Real};

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
    let states = joined::<R>(states, states_low);
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

/// The last state of a run in double-double, its low parts in `low`: the residual `y − f(X)`, rounded, and how far W has left
/// the span of the samples, relative to how far it has moved.
///
/// # Errors
/// [`Invalid`] if the problem is not valid or the state is none of its.
pub fn ending(problem: &Problem<'_>, state: &[f64], low: &[f64]) -> Result<(Vec<f64>, f64), Invalid> {
    problem.validate()?;
    let (span, weights, first) = start::<DoubleDouble>(problem, Method::Auto);
    let (m, d, width) = (problem.start.a.len(), problem.x.d(), 1 + span.k);
    for (name, found) in [("state", state.len()), ("the low part of the state", low.len())] {
        Invalid::unless_length(name, found, first.len() + m)?;
    }
    let state = joined::<DoubleDouble>(state, low);
    let mut show = Show { span: &span, weights: &weights, slope: problem.slope, m, divergence: None };
    let mut residual = vec![DoubleDouble::ZERO; problem.x.n()];
    show.show(&state, &mut [], &mut residual);
    let (hidden, log) = (of_exact::<DoubleDouble>(&problem.start.hidden()), problem.start.log());
    let (unit, factor) = DoubleDouble::split_exponential(log);
    let (mut left, mut moved) = (0.0_f64, 0.0_f64);
    for (i, (neuron, w0)) in state.chunks_exact(width).zip(hidden.chunks_exact(d)).take(m).enumerate() {
        let exponent = state[first.len() + i].high.round();
        let w = weights.hidden(&span, i, &neuron[1..], exponent);
        let change = w.iter().zip(w0).map(|(w, w0)| *w - scaled(factor * *w0, unit - exponent));
        let change: Vec<DoubleDouble> = change.collect();
        let mut inside = vec![DoubleDouble::ZERO; d];
        span.add(&span.enter(&change), &mut inside);
        let outside: Vec<DoubleDouble> = change.iter().zip(&inside).map(|(whole, inside)| *whole - *inside).collect();
        left = left.max(scaled(peak(&outside), exponent));
        moved = moved.max(scaled(peak(&change), exponent));
    }
    let residual = residual.iter().map(|r| r.high).collect();
    Ok((residual, if moved > 0.0 { left / moved } else { left }))
}

/// Numbers of their parts; none is 0.
fn joined<R: Real>(high: &[f64], low: &[f64]) -> Vec<R> {
    let low = |k: usize| low.get(k).copied().unwrap_or(0.0);
    high.iter().enumerate().map(|(k, high)| R::from_parts(*high, low(k))).collect()
}
