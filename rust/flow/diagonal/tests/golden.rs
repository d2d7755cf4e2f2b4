//! The golden trajectories: 25 digits by Taylor integration, independent of this project.

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

/// A case with its times, predictors and losses.
pub type Golden = (Case, Vec<f64>, Vec<f64>, Vec<f64>);

pub fn cases() -> Vec<Golden> {
    let text = include_str!("../../../../tests/golden/diagonal_trajectories.json");
    let file: Value = serde_json::from_str(text).unwrap_or(Value::Null);
    let Some(cases) = file["cases"].as_array() else { panic!("no cases") };
    let read = |case: &Value| {
        let (u, v, y) = (numbers(&case["u"]), numbers(&case["v"]), numbers(&case["y"]));
        let x = case["X"].as_array().map(|rows| rows.iter().flat_map(numbers).collect()).unwrap_or_default();
        let (n, d) = (y.len(), u.len());
        let log_magnitude = vec![number(&case["log_parameter_scale"]); d];
        let (mut times, mut beta, mut loss) = (Vec::new(), Vec::new(), Vec::new());
        for point in case["points"].as_array().into_iter().flatten() {
            times.push(number(&point["t"]));
            beta.extend(numbers(&point["beta"]));
            loss.push(number(&point["loss"]));
        }
        (Case { n, d, x, y, weights: [u.clone(), v.clone(), u, v], log_magnitude }, times, beta, loss)
    };
    cases.iter().map(read).collect()
}

/// All that is printed of the predictors and losses of every case.
pub fn digits() -> Vec<(Vec<DoubleDouble>, Vec<DoubleDouble>)> {
    let text = include_str!("../../../../tests/golden/diagonal_trajectories.json");
    let file: Value = serde_json::from_str(text).unwrap_or(Value::Null);
    let read = |case: &Value| {
        let (mut beta, mut loss) = (Vec::new(), Vec::new());
        for point in case["points"].as_array().into_iter().flatten() {
            beta.extend(point["beta"].as_array().into_iter().flatten().map(exact));
            loss.push(exact(&point["loss"]));
        }
        (beta, loss)
    };
    file["cases"].as_array().into_iter().flatten().map(read).collect()
}

/// A printed decimal number.
pub fn exact(value: &Value) -> DoubleDouble {
    let Value::String(text) = value else { return DoubleDouble::from_f64(number(value)) };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let mut exponent: i32 = exponent.parse().unwrap_or(i32::MAX);
    exponent -= mantissa.split_once('.').map_or(0, |(_, digits)| i32::try_from(digits.len()).unwrap_or(0));
    let ten = DoubleDouble::from_f64(10.0);
    let digits = mantissa.bytes().filter(u8::is_ascii_digit);
    let size =
        digits.fold(DoubleDouble::ZERO, |sum, digit| sum * ten + DoubleDouble::from_f64(f64::from(digit - b'0')));
    let power = (0..exponent.unsigned_abs()).fold(DoubleDouble::ONE, |power, _| power * ten);
    let size = if exponent < 0 { size / power } else { size * power };
    if mantissa.starts_with('-') { -size } else { size }
}

fn check(method: Method, rtol: f64, tolerance: f64) {
    let cases = cases();
    assert_eq!(cases.len(), 3);
    for (k, (case, times, beta, loss)) in cases.iter().enumerate() {
        let flow = case.flow(&Options { times: Some(times), rtol, method, ..Options::default() });
        assert_eq!((flow.status, flow.times.len()), (Status::ReachedEnd, times.len()));
        for t in 0..times.len() {
            let row = t * case.d..(t + 1) * case.d;
            let error = distance(&flow.beta[row.clone()], &beta[row]);
            assert!(error <= tolerance, "case {k}, t = {}: β off by {error:e} of its largest entry", times[t]);
            // A residual follows β, |δr| ≤ |X| δβ < 10 δβ, and is known to a few ulps of |X||β| + |y| < 10 at best.
            let residual = 10.0 * error.max(f64::EPSILON) * 2.0;
            let allowed = residual * (2.0 * loss[t].sqrt() + residual);
            let error = (flow.loss[t] - loss[t]).abs();
            assert!(error <= allowed, "case {k}, t = {}: loss off by {error:e} of {:e}", times[t], loss[t]);
        }
    }
}

#[test]
fn radau_keeps_ten_times_its_tolerance() {
    check(Method::Radau, 1e-10, 1e-11);
    for rtol in [1e-12, 1e-13] {
        check(Method::Radau, rtol, 10.0 * rtol);
    }
    // 1e-14 is round-off: the exponents move by 30, and each e-fold costs a few ulps.
    check(Method::Radau, 1e-14, 2e-13);
}

#[test]
fn the_explicit_method_in_the_dual_keeps_its_tolerance() {
    check(Method::Explicit, 1e-13, 1e-12);
}

#[test]
fn the_raw_weights_come_to_the_same_without_sharing_anything() {
    // Weights grow by e^15: their relative errors add up over a hundred steps.
    check(Method::Weights, 1e-13, 1e-11);
}
