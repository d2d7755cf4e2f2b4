//! Degenerate shapes, zeros, and units of every size.

use super::*;
use crate::limit::units::scale_by_power;

const X: [f64; 6] = [1.0, 2.0, -0.5, 0.25, -1.0, 2.0];
const Y: [f64; 2] = [1.0, -2.0];

fn solve(x: &[f64], y: &[f64], log_kappa: f64) -> Limit {
    Problem::unbiased(x, y, log_kappa).limit()
}

fn bound(limit: &Limit) -> f64 {
    largest(limit.error_bound.as_deref().unwrap_or(&[f64::INFINITY]))
}

#[test]
fn zero_targets_leave_an_unbiased_network_where_it_is() {
    for log_kappa in [5.0, -5.0, -690.0, -230_258.0] {
        let found = solve(&X, &[0.0, 0.0], log_kappa);
        assert_eq!(
            (found.status, &found.beta[..], &found.multipliers[..]),
            (Status::Converged, &[0.0; 3][..], &[0.0; 2][..])
        );
        assert_eq!(found.conditions.potential_value, 0.0);
    }
}

#[test]
fn one_sample_of_one_feature_is_a_quotient() {
    for log_kappa in [5.0, -5.0, -690.0, -230_258.0] {
        let found = solve(&[3.0], &[-7.5], log_kappa);
        assert_eq!(found.status, Status::Converged);
        assert!((found.beta[0] + 2.5).abs() <= bound(&found).min(1e-14), "{} at ln κ = {log_kappa}", found.beta[0]);
        // ν = arcsinh(2β/κ)/(2x), and arcsinh x = ln 2x to all digits here.
        if log_kappa < -40.0 {
            let nu = -(10.0_f64.ln() - log_kappa) / 6.0;
            assert!((found.multipliers[0] - nu).abs() <= 1e-14 * nu.abs(), "{} instead of {nu}", found.multipliers[0]);
        }
    }
}

#[test]
fn two_equal_features_share_their_coefficient_and_a_column_of_zeros_has_none() {
    let found = solve(&[2.0, 0.0, 2.0], &[6.0], -50.0);
    assert_eq!(found.beta[1], 0.0);
    assert_eq!(found.beta[0], found.beta[2]);
    assert!((found.beta[0] - 1.5).abs() <= bound(&found).min(1e-14));
}

#[test]
fn repeated_samples_change_neither_the_limit_nor_its_gradient() {
    let once = solve(&X, &Y, -20.0);
    let twice: Vec<f64> = [&X[..], &X[..]].concat();
    let again = solve(&twice, &[Y, Y].concat(), -20.0);
    assert!(again.status.success());
    for i in 0..3 {
        assert!((once.beta[i] - again.beta[i]).abs() <= bound(&once) + bound(&again));
    }
    assert!(bound(&again) <= 1e-12);
    // The multiplier of a sample is shared equally among its copies: that is the least norm.
    for n in 0..2 {
        let halves = [again.multipliers[n], again.multipliers[n + 2]];
        assert!(halves.iter().all(|h| (2.0 * h - once.multipliers[n]).abs() <= 1e-12), "{halves:?}");
    }
}

#[test]
fn a_sample_of_zeros_asks_for_nothing_and_cannot_have_a_target() {
    let x = [[0.0; 3].as_slice(), &X].concat();
    let plain = solve(&X, &Y, -20.0);
    for (target, status) in [(0.0, Status::Converged), (5.0, Status::LeastSquares)] {
        let found = solve(&x, &[target, Y[0], Y[1]], -20.0);
        assert_eq!(found.status, status);
        for i in 0..3 {
            assert!((found.beta[i] - plain.beta[i]).abs() <= bound(&found) + bound(&plain));
        }
        assert_eq!(found.multipliers[0], 0.0);
    }
}

#[test]
fn data_of_zeros_leave_everything_where_it_is() {
    for (y, status) in [(0.0, Status::Converged), (1.0, Status::LeastSquares)] {
        let found = solve(&[0.0; 3], &[y], -5.0);
        assert_eq!((found.status, &found.beta[..]), (status, &[0.0; 3][..]), "y = {y}");
    }
}

#[test]
fn a_network_without_weights_stays_at_zero() {
    let never = DoubleDouble::from_f64(f64::NEG_INFINITY);
    let start: Start = (0..3).map(|_| (never, never)).collect();
    let found = Problem { x: X.to_vec(), y: Y.to_vec(), start }.limit();
    assert_eq!((found.status, &found.beta[..]), (Status::Saddle, &[0.0; 3][..]));
}

#[test]
fn a_budget_of_one_system_is_used_up_before_the_end() {
    let problem = Problem::unbiased(&X, &Y, -20.0);
    let budget = Options { max_systems: 1, ..Options::default() };
    let found = limit(problem.rows(), &problem.y, &problem.start, &budget, &|| false);
    assert_eq!(found.status, Status::MaxSteps);
    assert!(!found.status.success());
}

#[test]
fn powers_of_two_of_the_data_and_the_targets_change_no_digit() {
    for power in [-900, -332, -21, 0, 40, 332, 900] {
        // X → 2^p X, y → 2^q y, β → 2^(q−p) β, κ → 2^(q−p) κ: no multiplier of a scaled row changes its digits.
        for (p, q) in [(power, 0), (0, power), (power, power)] {
            let x: Vec<f64> = X.iter().map(|v| scale_by_power(*v, p)).collect();
            let y: Vec<f64> = Y.iter().map(|v| scale_by_power(*v, q)).collect();
            let scaled = DoubleDouble::LN_2 * DoubleDouble::from_f64(f64::from(q - p));
            let log = DoubleDouble::from_f64(-12.0) + scaled;
            let start: Start = (0..3).map(|_| (log, log)).collect();
            let found = Problem { x, y, start }.limit();
            let plain = solve(&X, &Y, -12.0);
            assert_eq!(found.status, Status::Converged, "X by 2^{p}, y by 2^{q}");
            for i in 0..3 {
                let back = scale_by_power(found.beta[i], p - q);
                // ln κ is rounded to binary64 in both, and differently: within the bounds.
                let allowed = bound(&plain) + scale_by_power(bound(&found), p - q);
                assert!((back - plain.beta[i]).abs() <= allowed, "X by 2^{p}, y by 2^{q}: {back}");
                assert!(allowed <= 1e-12, "X by 2^{p}, y by 2^{q}: the bounds {allowed:e} say nothing");
            }
        }
    }
}

#[test]
fn more_samples_than_features_end_at_least_squares_within_the_bound() {
    // Integers, so that the normal equations are exact: XᵀX = [[4, 2], [2, 6]], Xᵀy = [1e6 + 3, 2e6 + 1].
    let x = [1.0, 1.0, 1.0, 2.0, 1.0, 0.0, 1.0, -1.0];
    let y = [2.0, 1e6, 1.0 - 1e3, 1e3];
    let (s, t) = (y.iter().sum::<f64>(), y[0] + 2.0 * y[1] - y[3]);
    let truth = [(6.0 * s - 2.0 * t) / 20.0, (4.0 * t - 2.0 * s) / 20.0];
    for log_kappa in [3.0, -10.0, -690.0] {
        let found = solve(&x, &y, log_kappa);
        assert_eq!(found.status, Status::LeastSquares);
        for (i, bound) in found.error_bound.clone().unwrap_or_default().iter().enumerate() {
            let error = (found.beta[i] - truth[i]).abs();
            // `truth` is rounded twice.
            assert!(error <= bound + f64::EPSILON * truth[i].abs(), "{error:e} > {bound:e}");
            assert!(*bound <= 1e-9 * largest(&truth), "{bound:e} says nothing");
        }
    }
}

#[test]
fn rows_of_very_different_size_are_not_called_converged_where_their_residual_is_not_small() {
    let x: Vec<f64> = X.iter().enumerate().map(|(k, v)| if k < 3 { v * 1e150 } else { v * 1e-150 }).collect();
    let found = solve(&x, &Y, -5.0);
    // β of 1e150 cannot meet y = 1 in rows of 1e150: the least binary64 residual is about 1e284.
    assert!(found.conditions.feasibility > 1e-12);
    assert_ne!(found.status, Status::Converged);
}
