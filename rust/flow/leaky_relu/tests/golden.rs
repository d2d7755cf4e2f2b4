//! Trajectories and events computed elsewhere, to 22 digits.

use crate::flow::leaky_relu::{Problem, gradient_flow};
use crate::flow::{Method, Neurons, Options, Precision};
use crate::linalg::{Rows, norm};
use crate::real::{DoubleDouble, Real};
use serde_json::Value;

/// Numbers of a file, to all digits that it has. Those that are not in quotation marks are binary64.
fn exact(value: &Value) -> Vec<DoubleDouble> {
    let nothing = DoubleDouble::from_f64(f64::NAN);
    match value {
        Value::Array(list) => list.iter().flat_map(exact).collect(),
        Value::String(text) => vec![text.parse().unwrap_or(nothing)],
        other => vec![other.as_f64().map_or(nothing, DoubleDouble::from_f64)],
    }
}

fn rounded(values: &[DoubleDouble]) -> Vec<f64> {
    values.iter().map(|value| value.high).collect()
}

fn rests(values: &[DoubleDouble]) -> Vec<f64> {
    values.iter().map(|value| value.low).collect()
}

/// Every case in `precision`, its states and the times of its events within `bound`.
fn check(method: Method, precision: Precision, rtol: f64, bound: f64) {
    let Ok(all) = serde_json::from_str::<Value>(include_str!("../../../../tests/golden/leaky_relu_trajectories.json"))
    else {
        panic!("the golden file is not JSON")
    };
    let Some(cases) = all["cases"].as_array() else { panic!("no cases") };
    for (index, case) in cases.iter().enumerate() {
        let number = |name: &str| exact(&case[name])[0];
        let (x, y, u) = (rounded(&exact(&case["X"])), rounded(&exact(&case["y"])), exact(&case["orientation"]));
        let (scale, shape, one) = (number("scale"), number("shape"), DoubleDouble::ONE);
        let a = [(scale * (one + shape) / (one - shape)).sqrt()];
        let factor = (scale * (one - shape) / (one + shape)).sqrt() / norm(u.iter().copied());
        let w: Vec<DoubleDouble> = u.iter().map(|u| factor * *u).collect();
        let Some(x) = Rows::new(&x, 3, 4) else { panic!() };
        let (highs, lows) = ((rounded(&a), rounded(&w)), (rests(&a), rests(&w)));
        let start = Neurons { a_low: Some(&lows.0), w_low: Some(&lows.1), ..Neurons::new(&highs.0, &highs.1, 0.0) };
        let problem = Problem { x, y: &y, y_low: None, start, slope: number("slope").high };
        let Some(points) = case["points"].as_array() else { panic!() };
        let times: Vec<f64> = points.iter().map(|point| exact(&point["t"])[0].high).collect();
        let options = Options { times: Some(&times), rtol, method, precision, ..Options::default() };
        let flow = match gradient_flow(&problem, &options, &|| false) {
            Ok(flow) => flow,
            Err(invalid) => panic!("{invalid}"),
        };
        let Some(events) = case["events"].as_array() else { panic!() };
        for (event, golden) in flow.events.iter().zip(events) {
            assert_eq!(event.kind.name(), golden["kind"].as_str().unwrap_or(""));
            assert_eq!(event.sample as u64, golden["sample"].as_u64().unwrap_or(99));
            // Times of events are told in binary64.
            let off = (event.time - exact(&golden["t"])[0].high).abs();
            assert!(off <= bound.max(2.0 * f64::EPSILON * event.time), "case {index}: {event:?}, off by {off:e}");
        }
        assert_eq!(flow.events.len(), events.len());
        for (row, (beta, point)) in flow.beta.chunks_exact(4).zip(points).enumerate() {
            let a = exact(&point["a"])[0];
            let golden: Vec<DoubleDouble> = exact(&point["w"]).iter().map(|w| a * *w).collect();
            let low = flow.beta_low.get(4 * row..4 * row + 4).unwrap_or(&[0.0; 4]);
            let found = beta.iter().zip(low).map(|(high, low)| DoubleDouble::from_parts(*high, *low));
            let off = norm(found.zip(&golden).map(|(b, e)| (b - *e).high).collect::<Vec<_>>().into_iter());
            let error = off / norm(golden.iter().map(|b| b.high));
            assert!(error <= bound, "case {index}, row {row}: {error:e}");
        }
    }
}

#[test]
fn states_and_events_are_those_of_the_golden_file_in_auto() {
    check(Method::Auto, Precision::Double, 1e-13, 1e-11);
}

#[test]
fn states_and_events_are_those_of_the_golden_file_in_radau() {
    check(Method::Radau, Precision::Double, 1e-13, 1e-11);
}

/// The file is printed to 22 digits, slides included: a unit of the last of `a` and of `w`, and their product.
#[test]
fn all_digits_of_the_golden_file_are_met_in_double_double() {
    check(Method::Auto, Precision::DoubleDouble, 1e-26, 2e-21);
}
