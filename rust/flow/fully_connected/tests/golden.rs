//! The golden trajectories: 22 and 25 digits by Taylor integration, independent of this project.

use super::{Case, distance};
use crate::flow::{Method, Options, Status};
use crate::real::{DoubleDouble, Real};
use serde_json::Value;

fn number(value: &Value) -> f64 {
    match value {
        Value::String(text) => text.parse().unwrap_or(f64::NAN),
        other => other.as_f64().unwrap_or(f64::NAN),
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().map(|values| values.iter().map(number).collect()).unwrap_or_default()
}

fn dot(x: &[f64], w: &[f64]) -> f64 {
    x.iter().zip(w).map(|(x, w)| x * w).sum()
}

fn matrix(value: &Value) -> Vec<f64> {
    value.as_array().map(|rows| rows.iter().flat_map(numbers).collect()).unwrap_or_default()
}

/// Times, outer weights, hidden weights and losses.
struct Points {
    times: Vec<f64>,
    a: Vec<f64>,
    w: Vec<f64>,
    loss: Vec<f64>,
}

/// The losses are those of the weights in the file, which holds none.
fn points(case: &Value, hidden: impl Fn(&Value) -> Vec<f64>, outer: impl Fn(&Value) -> Vec<f64>) -> Points {
    let (x, y) = (matrix(&case["X"]), numbers(&case["y"]));
    let loss = |a: &[f64], w: &[f64]| {
        let d = x.len() / y.len();
        let f = |x: &[f64]| a.iter().zip(w.chunks_exact(d)).map(|(a, w)| a * dot(x, w)).sum::<f64>();
        x.chunks_exact(d).zip(&y).map(|(x, y)| (y - f(x)).powi(2)).sum::<f64>() / (2.0 * y.len() as f64)
    };
    let mut points = Points { times: Vec::new(), a: Vec::new(), w: Vec::new(), loss: Vec::new() };
    for point in case["points"].as_array().into_iter().flatten() {
        points.times.push(number(&point["t"]));
        let (a, w) = (outer(point), hidden(point));
        points.loss.push(loss(&a, &w));
        points.a.extend(a);
        points.w.extend(w);
    }
    points
}

fn networks() -> Vec<(Case, Points)> {
    let text = include_str!("../../../../tests/golden/fully_connected_trajectories.json");
    let file: Value = serde_json::from_str(text).unwrap_or(Value::Null);
    let read = |case: &Value| {
        let (x, y, a, w) = (matrix(&case["X"]), numbers(&case["y"]), numbers(&case["a"]), matrix(&case["W"]));
        let (n, d) = (y.len(), x.len() / y.len());
        let points = points(case, |point| matrix(&point["W"]), |point| numbers(&point["a"]));
        (Case { n, d, x, y, a, w, ..Case::default() }, points)
    };
    file["cases"].as_array().into_iter().flatten().map(read).collect()
}

fn neurons() -> Vec<(Case, Points)> {
    let text = include_str!("../../../../tests/golden/neuron_trajectories.json");
    let file: Value = serde_json::from_str(text).unwrap_or(Value::Null);
    let read = |case: &Value| {
        let (x, y, orientation) = (matrix(&case["X"]), numbers(&case["y"]), numbers(&case["orientation"]));
        let (scale, shape) = (number(&case["scale"]), number(&case["shape"]));
        let norm = orientation.iter().map(|o| o * o).sum::<f64>().sqrt();
        let (a, size) =
            ((scale * (1.0 + shape) / (1.0 - shape)).sqrt(), (scale * (1.0 - shape) / (1.0 + shape)).sqrt());
        let w = orientation.iter().map(|o| o / norm * size).collect();
        let points = points(case, |point| numbers(&point["w"]), |point| vec![number(&point["a"])]);
        (Case { n: y.len(), d: orientation.len(), x, y, a: vec![a], w, ..Case::default() }, points)
    };
    file["cases"].as_array().into_iter().flatten().map(read).collect()
}

fn check(method: Method, rtol: f64, tolerance: f64) {
    let cases: Vec<_> = neurons().into_iter().chain(networks()).collect();
    assert_eq!(cases.len(), 6);
    for (k, (case, points)) in cases.iter().enumerate() {
        let flow = case.flow(&Options { times: Some(&points.times), rtol, method, ..Options::default() });
        assert_eq!((flow.status, flow.times.len()), (Status::ReachedEnd, points.times.len()));
        let (mut a, mut w) = (Vec::new(), Vec::new());
        if method == Method::Weights {
            for state in flow.states.chunks_exact(case.a.len() * (1 + case.d)) {
                a.extend_from_slice(&state[..case.a.len()]);
                w.extend_from_slice(&state[case.a.len()..]);
            }
        } else {
            let parameters = case.parameters(&flow);
            (a, w) = (parameters.a, parameters.w);
        }
        for t in 0..points.times.len() {
            let (outer, inner) = (case.a.len(), case.w.len());
            let error = distance(&a[t * outer..(t + 1) * outer], &points.a[t * outer..(t + 1) * outer])
                .max(distance(&w[t * inner..(t + 1) * inner], &points.w[t * inner..(t + 1) * inner]));
            assert!(
                error <= tolerance,
                "{method:?} {rtol:e}, case {k}, t = {}: weights off by {error:e}",
                points.times[t]
            );
            // |δr| ≤ |X||δβ| < 40 δ in these data; a residual is known to a few ulps of its terms.
            let residual = 40.0 * error.max(4.0 * f64::EPSILON);
            let allowed = residual * (2.0 * points.loss[t].sqrt() + residual);
            let error = (flow.loss[t] - points.loss[t]).abs();
            assert!(error <= allowed, "{method:?}, case {k}, t = {}: loss off by {error:e}", points.times[t]);
        }
    }
}

#[test]
fn every_method_is_right_to_eleven_digits_where_it_is_asked_for() {
    for method in [Method::Auto, Method::Radau, Method::Explicit] {
        check(method, 1e-12, 1e-11);
    }
    check(Method::Weights, 1e-13, 1e-11);
}

#[test]
fn the_default_tolerance_is_kept_with_a_factor_of_ten() {
    for method in [Method::Auto, Method::Radau, Method::Explicit] {
        check(method, 1e-10, 1e-9);
    }
}

#[test]
fn the_finest_tolerance_is_the_round_off_of_binary64() {
    for method in [Method::Auto, Method::Radau, Method::Explicit] {
        check(method, 1e-14, 1e-12);
    }
}

/// A case, its times, and β at each of them from the weights in the file.
pub(super) type Exactly = (Case, Vec<f64>, Vec<DoubleDouble>);

fn exact(value: &Value) -> DoubleDouble {
    match value {
        Value::String(text) => text.parse().unwrap_or(DoubleDouble::from(f64::NAN)),
        other => DoubleDouble::from(number(other)),
    }
}

fn exacts(value: &Value) -> Vec<DoubleDouble> {
    value.as_array().map(|values| values.iter().map(exact).collect()).unwrap_or_default()
}

/// `Σ_i a_i w_i`.
fn predictor(a: &[DoubleDouble], w: &[Vec<DoubleDouble>]) -> Vec<DoubleDouble> {
    let mut beta = vec![DoubleDouble::ZERO; w[0].len()];
    a.iter().zip(w).for_each(|(a, w)| DoubleDouble::add_multiple(*a, w, &mut beta));
    beta
}

pub(super) fn networks_exactly() -> Vec<Exactly> {
    let text = include_str!("../../../../tests/golden/fully_connected_trajectories.json");
    let file: Value = serde_json::from_str(text).unwrap_or(Value::Null);
    let beta = |point: &Value| {
        let w: Vec<_> = point["W"].as_array().into_iter().flatten().map(exacts).collect();
        predictor(&exacts(&point["a"]), &w)
    };
    let cases = file["cases"].as_array().into_iter().flatten();
    let rows = cases.map(|case| case["points"].as_array().into_iter().flatten().flat_map(&beta).collect());
    networks().into_iter().zip(rows).map(|((case, points), rows)| (case, points.times, rows)).collect()
}

/// Their starts are roots of the scale and the shape, which binary64 does not have.
pub(super) fn neurons_exactly() -> Vec<Exactly> {
    let text = include_str!("../../../../tests/golden/neuron_trajectories.json");
    let file: Value = serde_json::from_str(text).unwrap_or(Value::Null);
    let beta = |point: &Value| predictor(&[exact(&point["a"])], &[exacts(&point["w"])]);
    let read = |(case, (mut plain, points)): (&Value, (Case, Points))| {
        let rows = case["points"].as_array().into_iter().flatten().flat_map(&beta).collect();
        let (scale, shape) = (DoubleDouble::from(number(&case["scale"])), DoubleDouble::from(number(&case["shape"])));
        let orientation: Vec<_> = numbers(&case["orientation"]).into_iter().map(DoubleDouble::from).collect();
        let ratio = (DoubleDouble::ONE + shape) / (DoubleDouble::ONE - shape);
        let length = DoubleDouble::inner_product(&orientation, &orientation).sqrt();
        let (a, size) = ((scale * ratio).sqrt(), (scale / ratio).sqrt() / length);
        (plain.a, plain.a_low) = (vec![a.high], vec![a.low]);
        (plain.w, plain.w_low) = orientation.iter().map(|o| *o * size).map(|w| (w.high, w.low)).unzip();
        (plain, points.times, rows)
    };
    file["cases"].as_array().into_iter().flatten().zip(neurons()).map(read).collect()
}
