//! The reduced problem has the flow of the original one.

use super::{Case, distance, method};
use crate::flow::{Method, Options, Status};

const TIMES: [f64; 4] = [0.2, 1.0, 4.0, 25.0];

/// Reduced and dual against the raw weights, which are integrated as they are.
fn agrees(case: &Case) {
    let at = |method| case.flow(&Options { times: Some(&TIMES), rtol: 1e-12, method, ..Options::default() });
    let (dual, raw) = (at(Method::Radau), at(Method::Weights));
    for (t, time) in TIMES.iter().enumerate() {
        let row = t * case.d..(t + 1) * case.d;
        assert!(distance(&dual.beta[row.clone()], &raw.beta[row]) < 1e-10, "t = {time}");
        assert!((dual.loss[t] / raw.loss[t] - 1.0).abs() < 1e-9, "t = {time}");
    }
}

/// `max|Xᵀν − G| / max|G|` in the last row.
fn multipliers_fit(case: &Case, options: &Options<'_>) {
    let flow = case.flow(options);
    let last = flow.times.len() - 1;
    let nu = &flow.multipliers[last * case.n..];
    let g: Vec<f64> = (0..case.d).map(|i| (0..case.n).map(|n| case.x[n * case.d + i] * nu[n]).sum()).collect();
    assert!(distance(&g, &flow.dual[last * case.d..]) < 1e-12);
}

#[test]
fn more_samples_than_features_flow_in_d_dimensions() {
    let case = Case::gaussian(12, 5, -2.0, 21);
    agrees(&case);
    let flow = case.flow(&Options::default());
    assert_eq!(flow.status, Status::LeastSquares);
    multipliers_fit(&case, &Options::default());
}

#[test]
fn consistent_data_with_more_samples_than_features_converge() {
    let mut case = Case::gaussian(12, 5, -2.0, 22);
    for n in 0..case.n {
        case.y[n] = case.x[n * case.d] - 2.0 * case.x[n * case.d + 3];
    }
    let flow = case.flow(&Options::default());
    assert_eq!(flow.status, Status::Converged);
    let exact = [1.0, 0.0, 0.0, -2.0, 0.0];
    assert!(distance(&flow.beta[flow.beta.len() - 5..], &exact) < 1e-11);
}

#[test]
fn dependent_rows_leave_the_part_of_y_that_cannot_be_fitted() {
    let mut case = Case::gaussian(4, 9, -2.0, 23);
    for i in 0..case.d {
        case.x[3 * case.d + i] = case.x[i] + case.x[case.d + i];
    }
    agrees(&case);
    let flow = case.flow(&Options::default());
    assert_eq!(flow.status, Status::LeastSquares);
    assert_eq!(case.flow(&method(Method::Weights)).status, Status::LeastSquares);
    multipliers_fit(&case, &Options::default());
    // Consistent: the same rows, y with the same dependence.
    case.y[3] = case.y[0] + case.y[1];
    assert_eq!(case.flow(&Options::default()).status, Status::Converged);
}

#[test]
fn extreme_units_change_nothing_but_the_units() {
    // X → aX, y → by, κ → κ b/a, t → t/(ab): β → β b/a, and by powers of two exactly.
    let case = Case::gaussian(3, 7, -3.0, 24);
    let plain = case.flow(&Options { times: Some(&TIMES), ..Options::default() });
    for (a, b) in [(300, 0), (-300, 0), (0, 300), (0, -300), (200, -200)] {
        let (ea, eb) = (2.0_f64.powi(a), 2.0_f64.powi(b));
        let mut scaled = case.clone();
        scaled.x.iter_mut().for_each(|x| *x *= ea);
        scaled.y.iter_mut().for_each(|y| *y *= eb);
        // κ is quadratic in the weights.
        let shift = 0.5 * f64::from(b - a) * core::f64::consts::LN_2;
        scaled.log_magnitude.iter_mut().for_each(|log| *log += shift);
        let times = TIMES.map(|t| t / ea / eb);
        let flow = scaled.flow(&Options { times: Some(&times), ..Options::default() });
        assert_eq!(flow.times, times);
        // The shift of the logarithm is rounded: |ln κ| ulps.
        let rescaled: Vec<f64> = flow.beta.iter().map(|beta| beta / eb * ea).collect();
        assert!(distance(&rescaled, &plain.beta) < 2e-11, "2^{a}, 2^{b}: {:e}", distance(&rescaled, &plain.beta));
    }
}
