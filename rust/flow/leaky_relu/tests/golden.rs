//! Trajectories and events computed elsewhere, to 22 digits.

use crate::flow::leaky_relu::{Problem, gradient_flow};
use crate::flow::{Method, Neurons, Options};
use crate::linalg::{Rows, norm};
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(list) => list.iter().flat_map(numbers).collect(),
        Value::String(text) => vec![text.parse().unwrap_or(f64::NAN)],
        other => vec![other.as_f64().unwrap_or(f64::NAN)],
    }
}

fn check(method: Method) {
    let Ok(all) = serde_json::from_str::<Value>(include_str!("../../../../tests/golden/leaky_relu_trajectories.json"))
    else {
        panic!("the golden file is not JSON")
    };
    let Some(cases) = all["cases"].as_array() else { panic!("no cases") };
    for (index, case) in cases.iter().enumerate() {
        let number = |name: &str| numbers(&case[name])[0];
        let (x, y, u) = (numbers(&case["X"]), numbers(&case["y"]), numbers(&case["orientation"]));
        let (scale, shape) = (number("scale"), number("shape"));
        let a = (scale * (1.0 + shape) / (1.0 - shape)).sqrt();
        let factor = (scale * (1.0 - shape) / (1.0 + shape)).sqrt() / norm(u.iter().copied());
        let w: Vec<f64> = u.iter().map(|u| factor * u).collect();
        let Some(x) = Rows::new(&x, 3, 4) else { panic!() };
        let outer = [a];
        let problem = Problem { x, y: &y, start: Neurons::new(&outer, &w, 0.0), slope: number("slope") };
        let Some(points) = case["points"].as_array() else { panic!() };
        let times: Vec<f64> = points.iter().map(|point| numbers(&point["t"])[0]).collect();
        let options = Options { times: Some(&times), rtol: 1e-13, method, ..Options::default() };
        let flow = match gradient_flow(&problem, &options, &|| false) {
            Ok(flow) => flow,
            Err(invalid) => panic!("{invalid}"),
        };
        let Some(events) = case["events"].as_array() else { panic!() };
        for (event, golden) in flow.events.iter().zip(events) {
            assert_eq!(event.kind.name(), golden["kind"].as_str().unwrap_or(""));
            assert_eq!(event.sample as u64, golden["sample"].as_u64().unwrap_or(99));
            assert!((event.time - numbers(&golden["t"])[0]).abs() <= 1e-11, "case {index}: {event:?}");
        }
        assert_eq!(flow.events.len(), events.len());
        for (beta, point) in flow.beta.chunks_exact(4).zip(points) {
            let a = numbers(&point["a"])[0];
            let exact: Vec<f64> = numbers(&point["w"]).iter().map(|w| a * w).collect();
            let error = norm(beta.iter().zip(&exact).map(|(b, e)| b - e)) / norm(exact.iter().copied());
            assert!(error <= 1e-11, "case {index}: {error:e}");
        }
    }
}

#[test]
fn states_and_events_are_those_of_the_golden_file_in_auto() {
    check(Method::Auto);
}

#[test]
fn states_and_events_are_those_of_the_golden_file_in_radau() {
    check(Method::Radau);
}
