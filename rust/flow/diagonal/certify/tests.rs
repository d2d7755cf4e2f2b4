//! Laws of the bound where the flow has a closed form: one sample, one coordinate, one side.

use super::super::problem::Problem;
use super::{Certificate, End, certify};
use crate::flow::outcome::Options;
use crate::linalg::Rows;
use crate::potential::Start;
use crate::real::{DoubleDouble, Real};

/// `β' = 2β(y − β)` from `β(0) = e^start` with `x = 1`, `A = 4β(0)`, `B = 0`: the logistic curve, rounded.
fn logistic(y: f64, start: f64, times: &[f64]) -> Vec<f64> {
    let exact = DoubleDouble::from_f64;
    let at = |t: &f64| {
        // y/(1 + (y e^−start − 1) e^−2yt), both exponents in one.
        let falling = (exact(y) * exact(-2.0 * t)).exp();
        let rising = (exact(y) * exact(-2.0 * t) - exact(start)).exp() * exact(y);
        (exact(y) / (exact(1.0) + rising - falling)).to_f64()
    };
    times.iter().map(at).collect()
}

fn bounds(y: f64, start: f64, times: &[f64], beta: &[f64], end: Option<End<'_>>) -> Vec<f64> {
    let log_a = vec![DoubleDouble::from_f64(start) + DoubleDouble::LN_2 + DoubleDouble::LN_2];
    let start = Start { log_a, log_b: vec![DoubleDouble::from_f64(f64::NEG_INFINITY)] };
    let Some(x) = Rows::new(&[1.0], 1, 1) else { panic!("shape") };
    let problem = Problem { x, y: &[y], y_low: None, start: (&start).into(), weights: None };
    let options = Options { rtol: 1e-12, ..Options::default() };
    match certify(&problem, &options, (times, beta), end, &|| false) {
        Ok(Certificate { error_bound, ended: None }) => error_bound,
        other => panic!("{other:?}"),
    }
}

#[test]
fn exact_rows_are_proven_to_ten_tolerances_of_the_mesh_at_any_scale() {
    // The rows are the truth, rounded once: what is left is the error of the polynomials, which are on the steps of a run at
    // rtol = 1e-12, whatever the scale.
    for (y, start) in [(1.5, -2.0), (0.7, -30.0), (3.0, -230.0), (1.0, -700.0)] {
        let times: Vec<f64> = (1..=12).map(|k| -start / (2.0 * y) * 0.15 * f64::from(k)).collect();
        let beta = logistic(y, start, &times);
        for (bound, beta) in bounds(y, start, &times, &beta, None).iter().zip(&beta) {
            assert!(*bound >= 0.0 && *bound <= 1e-11 * beta, "{bound:e} of {beta:e} from e^{start}");
        }
    }
}

#[test]
fn a_row_that_is_off_has_that_as_its_bound() {
    let (y, start) = (1.5, -60.0);
    let times = [5.0, 15.0, 20.0, 25.0, 40.0];
    let exact = logistic(y, start, &times);
    for off in [1e-3, -1e-6, 1e-9] {
        let beta: Vec<f64> = exact.iter().map(|beta| beta * (1.0 + off)).collect();
        for (bound, (beta, exact)) in bounds(y, start, &times, &beta, None).iter().zip(beta.iter().zip(&exact)) {
            let error = (beta - exact).abs();
            assert!(*bound >= error * (1.0 - 1e-6) && *bound <= error * 1.001, "{bound:e} for {error:e}");
        }
    }
}

#[test]
fn rows_near_the_end_are_bounded_by_what_the_end_is_known_to() {
    let (y, start) = (1.5, -20.0);
    let times = [30.0, 1e6, 1e12];
    let beta = [y; 3];
    let known = |error: f64| bounds(y, start, &times, &beta, Some(End { beta: &[y], error_bound: &[error] }));
    let with = known(1e-30);
    let without = bounds(y, start, &times, &beta, None);
    for (with, without) in with.iter().zip(&without) {
        assert!(with <= without);
    }
    assert!(with[2] < 1e-28, "{with:?}");
    // An end of which nothing is known changes nothing.
    assert_eq!(known(f64::INFINITY), without);
}
