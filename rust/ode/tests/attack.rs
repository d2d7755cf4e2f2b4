//! The integrators under attack: right-hand sides that break their promises, and budgets of one. (With `guards`, the rows of
//! docs/integrator.md.) Every run ends, says why, and its state is a finite point of the solution.

use super::super::{Explicit, Options, Outcome, Problem, Status, integrate};
use super::radau;
use crate::linalg::SquareMatrix;

/// Both methods on `y' = f(t)` from `y(start) = 1`.
fn both(f: impl Fn(f64) -> f64 + Copy, (start, end): (f64, f64), options: &Options) -> [Outcome<f64>; 2] {
    let rhs = move |t: f64, _: &[f64], dy: &mut [f64]| dy[0] = f(t);
    let mut system = Problem::new(1, rhs, |_: f64, _: &[f64], _: &mut SquareMatrix| (), options.rtol, 1e-300);
    let implicit = radau(&mut system, start, &[1.0], end, options, &mut ());
    let mut stepper = Explicit::new(&system, options);
    let Ok(explicit) = integrate(&mut stepper, &mut system, start, &[1.0], end, options, &mut ()) else {
        panic!("options")
    };
    [implicit, explicit]
}

fn options() -> Options {
    Options { rtol: 1e-8, ..Options::default() }
}

#[test]
fn a_right_hand_side_that_turns_into_nan_or_infinity_on_the_way_ends_the_run_before_it() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for end in both(|t| if t <= 1.0 { 1.0 } else { bad }, (0.0, 3.0), &options()) {
            assert_eq!(end.status, Status::StepTooSmall, "{bad}");
            assert!(end.t <= 1.0 && end.t > 1.0 - 1e-6, "{bad}: {}", end.t);
            assert!((end.y[0] - 1.0 - end.t).abs() < 1e-12, "{bad}: {}", end.y[0]);
            assert!(end.status.message().contains("loosen the tolerance"));
        }
    }
}

#[test]
fn a_time_whose_neighbours_are_too_far_apart_for_the_solution_ends_the_run_at_once() {
    // Numbers near 1e17 are 16 apart.
    let start = 1e17;
    // A growth whose time is below the spacing: no step is short enough.
    let rhs = |_: f64, y: &[f64], dy: &mut [f64]| dy[0] = 1e3 * y[0];
    let mut system = Problem::new(1, rhs, |_: f64, _: &[f64], j: &mut SquareMatrix| j.set(0, 0, 1e3), 1e-8, 1e-300);
    let end = radau(&mut system, start, &[1.0], 2.0 * start, &options(), &mut ());
    assert_eq!((end.status, end.t, end.y[0]), (Status::StepTooSmall, start, 1.0));
}

#[test]
fn rates_whose_ratio_is_1e300_take_the_steps_of_the_slow_one() {
    let rhs = |_: f64, y: &[f64], dy: &mut [f64]| {
        dy[0] = -y[0];
        dy[1] = -1e300 * (y[1] - y[0]);
    };
    let jacobian = |_: f64, _: &[f64], j: &mut SquareMatrix| {
        j.set(0, 0, -1.0);
        j.set(1, 0, 1e300);
        j.set(1, 1, -1e300);
    };
    let mut system = Problem::new(2, rhs, jacobian, 1e-8, 1e-12);
    let end = radau(&mut system, 0.0, &[1.0, 1.0], 2.0, &options(), &mut ());
    assert_eq!(end.status, Status::ReachedEnd);
    for y in &end.y {
        assert!((y / (-2.0_f64).exp() - 1.0).abs() < 1e-6, "{:?}", end.y);
    }
    assert!(end.stats.accepted + end.stats.rejected < 1000, "{:?}", end.stats);
}

#[test]
fn a_start_exactly_on_a_saddle_stays_there() {
    // The logistic equation from 0: stationary, and never a number that round-off has put beside it.
    let rhs = |_: f64, y: &[f64], dy: &mut [f64]| dy[0] = y[0] * (1.0 - y[0]);
    let jacobian = |_: f64, y: &[f64], j: &mut SquareMatrix| j.set(0, 0, 1.0 - 2.0 * y[0]);
    let mut system = Problem::new(1, rhs, jacobian, 1e-8, 1e-300);
    let end = radau(&mut system, 0.0, &[0.0], 1e6, &options(), &mut ());
    assert_eq!((end.status, end.y[0]), (Status::ReachedEnd, 0.0));
}

#[test]
fn a_discontinuity_that_was_not_declared_costs_steps_and_stays_within_the_estimate() {
    for end in both(|t| if t < 0.7 { 1.0 } else { -2.0 }, (0.0, 2.0), &options()) {
        assert_eq!(end.status, Status::ReachedEnd);
        // 1 + 0.7 − 2·1.3. An estimate of order s that stands for an error of order 2s − 1 is allowed 0.1 rtol^((s+1)/2s), and
        // where the solution is not smooth the error is as large as the estimate: 2e-6 for seven stages, 5e-7 for three.
        assert!((end.y[0] + 0.9).abs() < 1e-5, "{}", end.y[0]);
        assert!(end.stats.accepted + end.stats.rejected < 500, "{:?}", end.stats);
    }
}

#[test]
fn a_budget_of_one_step_is_one_step() {
    let one = Options { max_steps: Some(1), ..options() };
    for end in both(f64::cos, (0.0, 100.0), &one) {
        assert_eq!(end.status, Status::MaxSteps);
        assert_eq!(end.stats.accepted + end.stats.rejected, 1);
        assert!((end.y[0] - 1.0 - end.t.sin()).abs() < 1e-7);
        assert!(end.status.message().contains("raise max_steps"));
    }
}
