//! What holds of every trajectory.

use super::{Case, Factors, distance, shapes};
use crate::flow::{Flow, Method, Options, Status};

/// A grid of times, from 0 on.
const TIMES: [f64; 5] = [0.0, 0.05, 0.5, 5.0, 50.0];

fn at_times(case: &Case, method: Method) -> Flow {
    case.flow(&Options { times: Some(&TIMES), rtol: 1e-12, method, ..Options::default() })
}

fn row(values: &[f64], t: usize) -> &[f64] {
    let width = values.len() / TIMES.len();
    &values[t * width..(t + 1) * width]
}

#[test]
fn every_method_follows_the_raw_factors() {
    for (seed, factors) in shapes(3).into_iter().chain(shapes(10)).enumerate() {
        let case = Case::gaussian(4, factors, 1, seed as u64 + 1);
        let raw = at_times(&case, Method::Weights);
        for method in [Method::Auto, Method::Radau, Method::Explicit] {
            let flow = at_times(&case, method);
            for (t, time) in TIMES.iter().enumerate() {
                let error = distance(row(&flow.beta, t), row(&raw.beta, t));
                assert!(error < 1e-10, "{factors:?} {method:?}, t = {time}: M off by {error:e}");
                let error = (flow.loss[t] - raw.loss[t]).abs() / raw.loss[0];
                assert!(error < 1e-10, "{factors:?} {method:?}, t = {time}: loss off by {error:e}");
            }
        }
    }
}

#[test]
fn balancedness_is_conserved() {
    // UᵀU − VᵀV of factors below 4, at a tolerance of 1e-12.
    let factors = Factors { d1: 3, d2: 4, k: 2, symmetric: false };
    let case = Case::gaussian(5, factors, 1, 11);
    for method in [Method::Radau, Method::Explicit] {
        let flow = at_times(&case, method);
        let balance = |z: &[f64], i: usize, j: usize| -> f64 {
            let entry = |p: usize| z[p * 2 + i] * z[p * 2 + j] * if p < 3 { 1.0 } else { -1.0 };
            (0..7).map(entry).sum()
        };
        let start = row(&flow.states, 0).to_vec();
        assert!(distance(&start, row(&flow.states, 3)) > 0.01, "nothing moved");
        for (t, (i, j)) in (0..TIMES.len()).flat_map(|t| [(t, (0, 0)), (t, (0, 1)), (t, (1, 1))]) {
            let drift = (balance(row(&flow.states, t), i, j) - balance(&start, i, j)).abs();
            assert!(drift < 1e-9, "{method:?}, t = {t}: {drift:e}");
        }
    }
}

#[test]
fn factors_of_one_product_are_one_flow() {
    // Rotated columns, and columns of 0, change Z and leave Z Zᵀ as it is.
    for (seed, factors) in shapes(2).into_iter().enumerate() {
        let case = Case::gaussian(4, factors, 1, 20 + seed as u64);
        let mut turned = case.clone();
        turned.factors.k = 3;
        turned.z =
            case.z.chunks_exact(2).flat_map(|z| [0.6 * z[0] + 0.8 * z[1], 0.0, 0.6 * z[1] - 0.8 * z[0]]).collect();
        let (one, other) = (at_times(&case, Method::Auto), at_times(&turned, Method::Auto));
        assert!(distance(&one.beta, &other.beta) < 1e-10 && distance(&one.loss, &other.loss) < 1e-10);
    }
}

#[test]
fn units_of_data_targets_and_weights_do_not_matter() {
    let case = Case::gaussian(4, shapes(2)[2], 1, 31);
    let plain = case.flow(&Options::default());
    // X = 2^x, y = 2^(2h + x), weights 2^h: M is 2^2h of what it was.
    for (x, h) in [(300, 10), (-300, -50), (400, 40), (0, -480), (-400, 100)] {
        let mut scaled = case.clone();
        scaled.x.iter_mut().for_each(|v| *v *= 2.0_f64.powi(x));
        scaled.y.iter_mut().for_each(|v| *v *= 2.0_f64.powi(2 * h) * 2.0_f64.powi(x));
        scaled.log_magnitude = f64::from(h) * core::f64::consts::LN_2;
        let flow = scaled.flow(&Options::default());
        assert_eq!((flow.status, flow.times.len()), (plain.status, plain.times.len()), "x = {x}, h = {h}");
        let beta: Vec<f64> = flow.beta[flow.beta.len() - 9..].iter().map(|b| b * 2.0_f64.powi(-2 * h)).collect();
        // The logarithm of a power of two is rounded, and the steps are others from there on.
        assert!(distance(&beta, &plain.beta[plain.beta.len() - 9..]) < 1e-8, "x = {x}, h = {h}");
    }
}

#[test]
fn a_single_entry_is_the_flow_of_two_numbers() {
    // u' = (y − uv) v, v' = (y − uv) u from u = v: u² = p has p' = 2 (y − p) p, the logistic function.
    let factors = Factors { d1: 1, d2: 1, k: 1, symmetric: false };
    for (log, horizon) in [(-1.0_f64, 5.0), (-18.0, 25.0), (-230.0, 260.0)] {
        let case = Case { x: vec![1.0], y: vec![1.0], factors, z: vec![1.0, 1.0], log_magnitude: log };
        let times: Vec<f64> = (0..=40).map(|k| horizon * f64::from(k) / 40.0).collect();
        let flow = case.flow(&Options { times: Some(&times), rtol: 1e-12, ..Options::default() });
        for (t, m) in times.iter().zip(&flow.beta) {
            // p = 1/(1 + (1/p₀ − 1) e^{−2t}): its logarithm, for the values on the way are of every size.
            let exact = -(((-2.0 * log).exp() - 1.0) * (-2.0 * t).exp()).ln_1p();
            // The relative errors of the steps add up, 1e-12 in each of one for every e-fold and more.
            assert!((m.ln() - exact).abs() < 1e-10 * (1.0 - log), "ln p(0) = {log}, t = {t}: {} {exact}", m.ln());
        }
    }
}

#[test]
fn a_flow_that_is_stiff_is_left_to_the_implicit_method() {
    // Rows that are nearly one: the last mode takes a million times longer than the first.
    let mut case = Case::gaussian(2, shapes(2)[0], 1, 41);
    for e in 0..8 {
        case.x[8 + e] = case.x[e] + 1e-3 * case.x[8 + e];
    }
    case.y[1] = case.y[0] + 1e-3;
    let [auto, radau] =
        [Method::Auto, Method::Radau].map(|method| case.flow(&Options { method, ..Options::default() }));
    assert_eq!((auto.status, radau.status), (Status::Converged, Status::Converged));
    assert!(auto.stats.jacobians > 0 && auto.stats.accepted < 2000, "{:?}", auto.stats);
    assert!(distance(&auto.beta[auto.beta.len() - 8..], &radau.beta[radau.beta.len() - 8..]) < 1e-7);
}
