//! Every way a run can end, and the rows it leaves.

use super::{Case, method};
use crate::flow::{Method, Options, Status};
use core::cell::Cell;

/// One sample, two features, weights of its own.
fn small(y: f64, weights: [[f64; 2]; 4]) -> Case {
    let weights = weights.map(|w| w.to_vec());
    Case { n: 1, d: 2, x: vec![1.0, 2.0], y: vec![y], weights, log_magnitude: vec![0.0; 2] }
}

const UNBIASED: [[f64; 2]; 4] = [[0.5, 0.5]; 4];
/// u₊ = v₊ and u₋ = −v₋: B = 0, β cannot be negative.
const NEVER_NEGATIVE: [[f64; 2]; 4] = [[0.5, 0.5], [0.5, 0.5], [0.1, 0.1], [-0.1, -0.1]];

#[test]
fn zero_targets_from_zero_take_no_step() {
    for m in [Method::Radau, Method::Explicit, Method::Weights] {
        let flow = small(0.0, UNBIASED).flow(&method(m));
        assert_eq!((flow.status, flow.stats.accepted), (Status::Converged, 0), "{m:?}");
        assert_eq!((flow.times, flow.beta), (vec![0.0], vec![0.0, 0.0]));
    }
}

#[test]
fn a_start_that_interpolates_takes_no_step() {
    // β(0) = u₊v₊ − u₋v₋ = (¾, 0): 1·¾ + 2·0.
    let case = small(0.75, [[1.0, 0.5], [1.0, 0.5], [0.5, 0.5], [0.5, 0.5]]);
    let times = [0.0, 1.0, 2.0];
    let flow = case.flow(&Options { times: Some(&times), ..Options::default() });
    assert_eq!((flow.status, flow.stats.accepted), (Status::ReachedEnd, 0));
    assert_eq!(flow.beta, vec![0.75, 0.0, 0.75, 0.0, 0.75, 0.0]);
    assert_eq!(case.flow(&Options::default()).status, Status::Converged);
}

#[test]
fn one_number_of_one_feature_is_fitted() {
    let case = Case {
        n: 1,
        d: 1,
        x: vec![2.0],
        y: vec![3.0],
        weights: [const { [0.1] }; 4].map(|w| w.to_vec()),
        log_magnitude: vec![-50.0],
    };
    let flow = case.flow(&Options::default());
    assert_eq!(flow.status, Status::Converged);
    assert!((flow.beta[flow.beta.len() - 1] - 1.5).abs() < 3e-12);
}

#[test]
fn signs_that_cannot_be_taken_end_at_the_constrained_least_squares() {
    for m in [Method::Radau, Method::Weights] {
        let flow = small(-1.0, NEVER_NEGATIVE).flow(&method(m));
        assert_eq!(flow.status, Status::InfeasibleSign, "{m:?}");
        let last = &flow.beta[flow.beta.len() - 2..];
        assert!(last.iter().all(|beta| (0.0..1e-11).contains(beta)), "{last:?}");
        assert!((flow.observables[0][flow.times.len() - 1] - 1.0).abs() < 1e-10);
    }
    let possible = small(1.0, NEVER_NEGATIVE).flow(&Options::default());
    assert_eq!(possible.status, Status::Converged);
}

#[test]
fn weights_that_are_zero_leave_a_saddle() {
    let flow = small(1.0, [[0.0; 2]; 4]).flow(&Options::default());
    assert_eq!((flow.status, flow.stats.accepted), (Status::Saddle, 0));
    // With one coordinate alive y is reached all the same.
    let alive = small(1.0, [[0.0, 0.5]; 4]).flow(&Options::default());
    assert_eq!(alive.status, Status::Converged);
    assert_eq!(alive.beta[alive.beta.len() - 2], 0.0);
}

#[test]
fn a_plateau_is_no_end() {
    // Two coordinates that wake one after the other, at a scale of e^-200: the loss stands still in between.
    let case = Case {
        n: 2,
        d: 2,
        x: vec![1.0, 0.0, 0.0, 1.0],
        y: vec![1.0, 0.01],
        weights: [const { [1.0, 1.0] }; 4].map(|w| w.to_vec()),
        log_magnitude: vec![-100.0; 2],
    };
    let flow = case.flow(&Options::default());
    assert_eq!(flow.status, Status::Converged);
    let last = &flow.beta[flow.beta.len() - 2..];
    assert!((last[0] - 1.0).abs() < 1e-11 && (last[1] - 0.01).abs() < 1e-11, "{last:?}");
}

#[test]
fn a_tolerance_below_round_off_ends_at_the_floor() {
    let flow = Case::gaussian(4, 12, -2.0, 2).flow(&Options { tol: 0.0, ..method(Method::Auto) });
    assert_eq!(flow.status, Status::RoundoffFloor);
    assert!(flow.observables[0][flow.times.len() - 1] < 1e-14);
}

#[test]
fn budgets_and_interrupts_leave_the_rows_so_far() {
    let case = Case::gaussian(6, 30, -20.0, 4);
    for m in [Method::Radau, Method::Explicit, Method::Weights] {
        let flow = case.flow(&Options { max_steps: Some(3), ..method(m) });
        assert_eq!(flow.status, Status::MaxSteps, "{m:?}");
        assert!(flow.stats.accepted + flow.stats.rejected <= 3 && flow.times.len() > 1, "{m:?}");
        let times = [0.0, 1e-3, 1e6];
        let given = case.flow(&Options { max_steps: Some(3), times: Some(&times), ..method(m) });
        assert_eq!((given.status, &given.times[..]), (Status::MaxSteps, &times[..2]), "{m:?}");
        let flow = case.flow(&Options { max_seconds: Some(1e-9), ..method(m) });
        assert_eq!(flow.status, Status::MaxSeconds, "{m:?}");
        let polls = Cell::new(0);
        let patience = || {
            polls.set(polls.get() + 1);
            polls.get() > 5
        };
        assert_eq!(case.flow_until(&method(m), &patience).status, Status::Interrupted, "{m:?}");
    }
}

#[test]
fn a_coefficient_beyond_the_largest_float_ends_the_rows_and_is_no_success() {
    let case = Case {
        n: 1,
        d: 1,
        x: vec![1e-150],
        y: vec![1e190],
        weights: [const { [1.0] }; 4].map(|w| w.to_vec()),
        log_magnitude: vec![0.0],
    };
    let given = [0.0, 1e-60, 1e300];
    for times in [None, Some(&given[..])] {
        for m in [Method::Auto, Method::Radau, Method::Explicit, Method::Weights] {
            let flow = case.flow(&Options { times, ..method(m) });
            assert_eq!(flow.status, Status::StepTooSmall, "{m:?}");
            assert!(flow.beta.len() == flow.times.len() && flow.times.len() == flow.loss.len(), "{m:?}");
            assert!(flow.times.len() > 1 && flow.beta.iter().all(|beta| beta.is_finite()), "{m:?}: {:?}", flow.beta);
        }
    }
}

#[test]
fn given_times_are_those_of_the_rows_bit_for_bit_in_any_unit() {
    // 2^332 is taken out of X and 2^431 out of y; the times come back from neither.
    let mut case = Case::gaussian(2, 5, -3.0, 11);
    case.x.iter_mut().for_each(|x| *x *= 1e100);
    case.y.iter_mut().for_each(|y| *y *= 1e130);
    let times: Vec<f64> = (1..40).map(|k| 1.9e-230 * f64::from(k).sqrt()).collect();
    for time_unit in [1.0, 0.3, 230_258.5] {
        let flow = case.flow(&Options { times: Some(&times), time_unit, ..method(Method::Auto) });
        assert_eq!((flow.status, &flow.times), (Status::ReachedEnd, &times));
    }
}

#[test]
fn after_the_floor_the_rows_stay() {
    let case = Case::gaussian(3, 10, -1.0, 9);
    let times = [1.0, 1e4, 1e5, 1e300];
    let flow = case.flow(&Options { times: Some(&times), ..method(Method::Auto) });
    assert_eq!((flow.status, &flow.times[..]), (Status::ReachedEnd, &times[..]));
    assert_eq!(flow.beta[2 * case.d..3 * case.d], flow.beta[3 * case.d..]);
    assert!(flow.observables[0][3] < 1e-14);
}
