//! Why runs end.

use super::{Case, Factors, shapes};
use crate::flow::{Method, Options, Status};

fn completion(d: usize, k: usize, symmetric: bool, entries: &[(usize, usize, f64)], z: Vec<f64>) -> Case {
    let mut x = vec![0.0; entries.len() * d * d];
    for (n, (i, j, _)) in entries.iter().enumerate() {
        x[n * d * d + i * d + j] = 1.0;
    }
    let factors = Factors { d1: d, d2: d, k, symmetric };
    Case { x, y: entries.iter().map(|(_, _, y)| *y).collect(), factors, z, log_magnitude: 0.0 }
}

#[test]
fn random_starts_converge_at_every_scale() {
    for (seed, factors) in shapes(4).into_iter().enumerate() {
        for log_magnitude in [5.0, 0.0, -9.0, -18.0, -100.0] {
            let case = Case { log_magnitude, ..Case::gaussian(2, factors, 1, 60 + seed as u64) };
            let flow = case.flow(&Options::default());
            // Terms of e^10 of a residual of 1e-12 are beyond binary64, 1e-16 of them is 2e-12: the last step may end below
            // that or not.
            let floor = log_magnitude == 5.0 && flow.status == Status::RoundoffFloor;
            assert!(floor || flow.status == Status::Converged, "{factors:?} at {log_magnitude}: {:?}", flow.stats);
            assert_eq!(flow.times.len(), crate::flow::AUTOMATIC_ROWS);
        }
    }
}

#[test]
fn a_positive_semidefinite_factorization_ends_at_the_constrained_minimum() {
    // Diagonal observations: w_i² cannot be −1, and is 0 at the end.
    let z = vec![1.0, 0.2, -0.3, 0.8];
    let case = completion(2, 2, true, &[(0, 0, 2.0), (1, 1, -1.0)], z);
    let flow = case.flow(&Options::default());
    assert_eq!(flow.status, Status::InfeasibleSign, "{:?}", flow.stats);
    let end = &flow.beta[flow.beta.len() - 4..];
    assert!((end[0] - 2.0).abs() < 1e-9 && end[3].abs() < 1e-9, "{end:?}");
}

#[test]
fn what_cannot_be_fitted_is_projected() {
    // One entry observed twice: their mean is fitted.
    let case = completion(2, 2, false, &[(0, 1, 1.0), (0, 1, 3.0)], (0..8).map(|k| f64::from(k).sin()).collect());
    let flow = case.flow(&Options::default());
    assert_eq!(flow.status, Status::LeastSquares);
    assert!((flow.beta[flow.beta.len() - 3] - 2.0).abs() < 1e-11);
    assert!((flow.loss[flow.loss.len() - 1] - 0.5).abs() < 1e-11);
}

#[test]
fn factors_that_are_0_rest_at_the_saddle() {
    for symmetric in [false, true] {
        let z = vec![0.0; if symmetric { 4 } else { 8 }];
        let flow = completion(2, 2, symmetric, &[(0, 0, 1.0)], z).flow(&Options::default());
        assert_eq!((flow.status, flow.stats.accepted), (Status::Saddle, 0));
    }
    // Rank 1 is not enough for the identity: the flow ends where nothing moves, off the data.
    let entries = [(0, 0, 1.0), (0, 1, 0.0), (1, 0, 0.0), (1, 1, 2.0)];
    let flow = completion(2, 1, false, &entries, vec![0.3, 0.1, 0.2, 0.4]).flow(&Options::default());
    assert_eq!(flow.status, Status::Saddle, "{:?}", flow.stats);
    assert!((flow.beta[flow.beta.len() - 1] - 2.0).abs() < 1e-6);
}

#[test]
fn budgets_end_a_run_with_the_rows_so_far() {
    let case = Case::gaussian(4, shapes(3)[2], 1, 7);
    for method in [Method::Auto, Method::Radau, Method::Weights] {
        let flow = case.flow(&Options { max_steps: Some(3), method, ..Options::default() });
        assert_eq!((flow.status, flow.stats.accepted + flow.stats.rejected), (Status::MaxSteps, 3));
        let flow = case.flow(&Options { max_seconds: Some(1e-300), method, ..Options::default() });
        assert_eq!(flow.status, Status::MaxSeconds);
    }
}

#[test]
fn bad_input_is_named() {
    let good = Case::gaussian(2, shapes(2)[0], 1, 8);
    let refused = |change: &dyn Fn(&mut Case)| {
        let mut case = good.clone();
        change(&mut case);
        match super::gradient_flow(&case.problem(), &Options::default(), &|| false) {
            Err(invalid) => invalid.to_string(),
            Ok(flow) => panic!("{:?}", flow.status),
        }
    };
    assert_eq!(refused(&|case| case.y[0] = f64::NAN), "y must be finite: got NaN");
    assert_eq!(refused(&|case| case.z[1] = f64::INFINITY), "U must be finite: got inf");
    assert_eq!(refused(&|case| case.z.truncate(5)), "U must have length 12: got 5");
    assert!(refused(&|case| case.log_magnitude = -400.0).starts_with("log_magnitude must be such that the factors"));
}
