//! Depth: the flow of a tied network is that of its dual, and ends at its limit.

use crate::flow::depth::{Problem, gradient_flow};
use crate::flow::{Invalid, Options, Status};
use crate::limit::{depth, diagonal};
use crate::linalg::Rows;
use crate::potential::TiedStart;
use crate::real::{DoubleDouble, Real};

const X: [f64; 10] = [0.3, -1.1, 0.7, 1.9, -0.2, 1.4, 0.6, -0.8, 0.1, 1.2];
const Y: [f64; 2] = [0.9, -1.3];

fn start(depth: u32, log: f64) -> TiedStart {
    TiedStart { depth, log_start: [0.0, 0.2, -0.3, 0.1, 0.0].map(|w| DoubleDouble::from_f64(log + w)).to_vec() }
}

#[test]
fn a_flow_of_powers_ends_at_its_limit() {
    let Some(x) = Rows::new(&X, 2, 5) else { panic!("shape") };
    for (deep, log) in [(3, 2.0), (3, -1.0), (4, 0.0), (4, -2.0), (8, 1.0), (8, -1.0)] {
        let start = start(deep, log);
        let end = depth::limit(x, &Y, &start, &diagonal::Options::default(), &|| false);
        let found = gradient_flow(&Problem { x, y: &Y, start: &start }, &Options::default(), &|| false);
        let Ok(flow) = found else { panic!("refused") };
        assert_eq!(flow.status, Status::Converged, "depth {deep}, ln α = {log}");
        let last = &flow.beta[flow.beta.len() - 5..];
        for (found, wanted) in last.iter().zip(&end.beta) {
            // The residual stops at 1e-12 of the targets, and the slowest direction is ten times as soft.
            assert!((found - wanted).abs() < 1e-10, "depth {deep}, ln α = {log}: {found} {wanted}");
        }
    }
}

#[test]
fn a_scale_whose_times_are_no_floats_is_refused() {
    let Some(x) = Rows::new(&X, 2, 5) else { panic!("shape") };
    let start = start(3, -2000.0);
    let refused = gradient_flow(&Problem { x, y: &Y, start: &start }, &Options::default(), &|| false);
    assert!(matches!(refused, Err(Invalid::Value { name: "log_scale", .. })));
}
