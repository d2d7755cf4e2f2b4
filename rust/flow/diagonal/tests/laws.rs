//! What holds for every trajectory.

use super::super::{conserved, parameters};
use super::{Case, distance, method};
use crate::flow::{AUTOMATIC_ROWS, Method, Options, Status};
use crate::real::{DoubleDouble, Real};

/// Starts of every kind: unbiased, biased, one-sided, scales of their own.
fn starts() -> Vec<Case> {
    let plain = Case::gaussian(4, 9, -3.0, 7);
    let mut biased = plain.clone();
    biased.weights[0].iter_mut().for_each(|u| *u += 0.5);
    biased.weights[3].iter_mut().for_each(|v| *v -= 0.25);
    let mut uneven = plain.clone();
    uneven.log_magnitude.iter_mut().enumerate().for_each(|(i, log)| *log -= 0.4 * i as f64);
    let mut one_sided = plain.clone();
    for i in 0..2 {
        // u₊ = v₊ and u₋ = −v₋: B = 0.
        one_sided.weights[1][i] = one_sided.weights[0][i];
        one_sided.weights[3][i] = -one_sided.weights[2][i];
    }
    vec![plain, biased, uneven, one_sided]
}

#[test]
fn dual_and_raw_weights_are_the_same_flow() {
    // Neither shares its right-hand side with the other. Both are asked for 1e-12; global errors of a few hundred raw
    // steps stay within a hundred times that.
    let times = [0.1, 0.5, 1.0, 3.0, 10.0, 30.0];
    for (k, case) in starts().iter().enumerate() {
        let at = |method| case.flow(&Options { times: Some(&times), rtol: 1e-12, method, ..Options::default() });
        let raw = at(Method::Weights);
        for method in [Method::Radau, Method::Explicit] {
            let dual = at(method);
            assert_eq!((dual.times.as_slice(), raw.times.as_slice()), (times.as_slice(), times.as_slice()));
            for (t, time) in times.iter().enumerate() {
                let row = t * case.d..(t + 1) * case.d;
                let error = distance(&dual.beta[row.clone()], &raw.beta[row]);
                assert!(error < 1e-10, "start {k}, {method:?}, t = {time}: {error:e}");
            }
        }
    }
}

#[test]
fn every_weight_follows_from_g_and_conserves_what_the_flow_conserves() {
    let times = [0.3, 2.0, 20.0];
    for case in starts() {
        let at = |method| case.flow(&Options { times: Some(&times), rtol: 1e-12, method, ..Options::default() });
        let (dual, raw) = (at(Method::Radau), at(Method::Weights));
        let d = case.d;
        let start = conserved(&parameters(&case.weights(), &vec![0.0; d], &vec![0.0; d]));
        for t in 0..times.len() {
            let row = t * d..(t + 1) * d;
            let now = parameters(&case.weights(), &dual.dual[row.clone()], &dual.dual_low[row]);
            let all = [&now.u_plus, &now.v_plus, &now.u_minus, &now.v_minus];
            let same: Vec<f64> = all.into_iter().flatten().copied().collect();
            assert!(distance(&same, &raw.states[4 * d * t..4 * d * (t + 1)]) < 1e-10);
            // δ and c are differences of products of weights: round-off of the products, a few ulps each.
            let ulps = |i: usize| {
                let square = |w: &[f64]| w[i] * w[i];
                16.0 * f64::EPSILON * all.iter().map(|w| square(w)).sum::<f64>()
            };
            let drift = conserved(&now);
            for i in 0..d {
                assert!((drift.delta_plus[i] - start.delta_plus[i]).abs() <= ulps(i));
                assert!((drift.delta_minus[i] - start.delta_minus[i]).abs() <= ulps(i));
                assert!((drift.c[i] - start.c[i]).abs() <= ulps(i));
            }
        }
    }
}

#[test]
fn the_loss_never_rises() {
    for case in starts() {
        let flow = case.flow(&method(Method::Radau));
        assert_eq!((flow.status, flow.times.len()), (Status::Converged, AUTOMATIC_ROWS));
        assert_eq!(flow.times[0], 0.0);
        for pair in flow.loss.windows(2) {
            // Rows are known to the dense output, 1e-8 of themselves at the default tolerance.
            assert!(pair[1] <= pair[0] * (1.0 + 1e-6), "{} after {}", pair[1], pair[0]);
        }
        assert!(flow.times.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

#[test]
fn the_last_automatic_row_is_converged() {
    for scale in [2.0, -14.0, -345.0, -115_129.0] {
        let case = Case::gaussian(5, 20, scale, 11);
        let flow = case.flow(&method(Method::Auto));
        assert_eq!((flow.status, flow.times.len()), (Status::Converged, AUTOMATIC_ROWS));
        let largest = case.y.iter().fold(0.0_f64, |m, y| m.max(y.abs()));
        assert!(flow.observables[0][AUTOMATIC_ROWS - 1] <= 1e-12 * largest);
    }
}

#[test]
fn beta_is_the_exact_function_of_its_multipliers_at_any_scale() {
    // ln κ near −230258. β from ν (high + low) by double-double throughout; the product is off by the rounding of β
    // alone. Exponents in binary64 would be off by 230258 ulps, 2.5e-11.
    let case = Case::gaussian(3, 8, -115_129.0, 5);
    let flow = case.flow(&Options { max_steps: Some(3000), ..Options::default() });
    assert_eq!(flow.status, Status::Converged);
    let (log_a, log_b) = case.logs();
    let last = flow.times.len() - 1;
    let exact: Vec<f64> = (0..case.d)
        .map(|i| {
            let nu = |n: usize| {
                let k = last * case.n + n;
                DoubleDouble::from_f64(flow.multipliers[k]) + DoubleDouble::from_f64(flow.multipliers_low[k])
            };
            let term = |n: usize| nu(n) * DoubleDouble::from_f64(2.0 * case.x[n * case.d + i]);
            let g = (0..case.n).map(term).fold(DoubleDouble::ZERO, |sum, term| sum + term);
            let quarter = DoubleDouble::LN_2 + DoubleDouble::LN_2;
            ((log_a[i] + g - quarter).exp() - (log_b[i] - g - quarter).exp()).to_f64()
        })
        .collect();
    let error = distance(&flow.beta[last * case.d..], &exact);
    assert!(error < 1e-14, "{error:e}");
}

#[test]
fn threads_change_no_bit() {
    let case = Case::gaussian(20, 3000, -10.0, 3);
    let on = |threads: usize| {
        let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(threads).build() else { panic!("no pool") };
        pool.install(|| case.flow(&Options { max_steps: Some(6), ..Options::default() }))
    };
    let (one, two) = (on(1), on(2));
    assert!(!one.beta.is_empty());
    assert_eq!(one, two);
}
