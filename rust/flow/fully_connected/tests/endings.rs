//! Every way in which a run ends.

use super::{Case, distance};
use crate::flow::{Flow, Method, Options, Status};

fn end(flow: &Flow, d: usize) -> &[f64] {
    &flow.beta[flow.beta.len() - d..]
}

#[test]
fn a_run_to_convergence_has_its_rows_and_fits_the_data() {
    for method in [Method::Auto, Method::Radau, Method::Explicit, Method::Weights] {
        let case = Case::gaussian(4, 7, 3, 1);
        let flow = case.flow(&Options { method, ..Options::default() });
        assert_eq!((flow.status, flow.times.len()), (Status::Converged, 200), "{method:?}");
        assert!(flow.loss.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-9)), "the loss falls");
        for n in 0..4 {
            let f: f64 = (0..7).map(|k| case.x[n * 7 + k] * end(&flow, 7)[k]).sum();
            assert!((f - case.y[n]).abs() < 1e-11, "{method:?}");
        }
    }
}

#[test]
fn targets_out_of_reach_end_in_least_squares() {
    let case = Case::gaussian(9, 3, 2, 2);
    for method in [Method::Auto, Method::Radau, Method::Weights] {
        let flow = case.flow(&Options { method, ..Options::default() });
        assert_eq!(flow.status, Status::LeastSquares);
        let residual: Vec<f64> =
            (0..9).map(|n| case.y[n] - (0..3).map(|k| case.x[n * 3 + k] * end(&flow, 3)[k]).sum::<f64>()).collect();
        for k in 0..3 {
            let gradient: f64 = (0..9).map(|n| case.x[n * 3 + k] * residual[n]).sum();
            assert!(gradient.abs() < 1e-9, "{method:?}: {gradient:e}");
        }
    }
}

#[test]
fn weights_that_never_move_are_a_saddle() {
    let mut case = Case::gaussian(3, 5, 2, 3);
    for zero_w in [true, false] {
        case.a.fill(0.0);
        if zero_w {
            case.w.fill(0.0);
        } else {
            // Every w_i ⟂ h = Xᵀy, which leaves a' = 0.
            let h: Vec<f64> = (0..5).map(|k| (0..3).map(|n| case.x[n * 5 + k] * case.y[n]).sum()).collect();
            let square: f64 = h.iter().map(|h| h * h).sum();
            case.w = Case::gaussian(3, 5, 2, 3).w;
            for w in case.w.chunks_exact_mut(5) {
                for _ in 0..2 {
                    let p = w.iter().zip(&h).map(|(w, h)| w * h).sum::<f64>() / square;
                    w.iter_mut().zip(&h).for_each(|(w, h)| *w -= p * h);
                }
            }
        }
        for method in [Method::Auto, Method::Radau] {
            let flow = case.flow(&Options { method, ..Options::default() });
            assert_eq!(flow.status, Status::Saddle);
            assert!(end(&flow, 5).iter().all(|b| *b == 0.0));
            let times = [0.0, 1.0, 10.0];
            let flow = case.flow(&Options { method, times: Some(&times), ..Options::default() });
            assert_eq!((flow.status, flow.times.len()), (Status::ReachedEnd, 3));
        }
    }
}

#[test]
fn a_flow_into_the_saddle_is_no_convergence() {
    // d = 1, a = w = 1, y = −1: β = a² stays positive and falls to 0.
    for (a, method) in [(1.0, Method::Auto), (1.0, Method::Radau), (-1.0, Method::Explicit)] {
        let case = Case { n: 1, d: 1, x: vec![1.0], y: vec![-1.0], a: vec![a], w: vec![a], ..Case::default() };
        let flow = case.flow(&Options { method, ..Options::default() });
        assert_eq!(flow.status, Status::Saddle, "{method:?}");
        assert!(end(&flow, 1)[0].abs() < 1e-9);
        let tiny = Case { log_magnitude: -5000.0, ..case };
        assert_eq!(tiny.flow(&Options { method, ..Options::default() }).status, Status::Saddle);
    }
}

#[test]
fn an_outer_weight_that_changes_its_sign_is_no_obstacle() {
    // δ < 0, and a starts on the wrong side.
    let case =
        Case { n: 1, d: 2, x: vec![1.0, 0.0], y: vec![1.0], a: vec![-0.1], w: vec![1.0, 1.0], ..Case::default() };
    let reduced = case.flow(&Options { rtol: 1e-12, ..Options::default() });
    let raw = case.flow(&Options { rtol: 1e-12, method: Method::Weights, ..Options::default() });
    assert_eq!((reduced.status, raw.status), (Status::Converged, Status::Converged));
    assert!(distance(end(&reduced, 2), end(&raw, 2)) < 1e-10);
    assert!(case.parameters(&reduced).a.last().is_some_and(|a| *a > 0.0));
}

#[test]
fn nothing_to_fit_and_nothing_to_fit_with_take_no_steps() {
    let zero =
        Case { n: 2, d: 2, x: vec![0.0; 4], y: vec![1.0, 2.0], a: vec![1.0], w: vec![1.0, 1.0], ..Case::default() };
    let flow = zero.flow(&Options::default());
    assert_eq!((flow.status, flow.stats.accepted), (Status::LeastSquares, 0));
    assert_eq!(end(&flow, 2), [1.0, 1.0]);
    let mut fitted = Case::gaussian(2, 3, 1, 5);
    fitted.y = (0..2).map(|n| fitted.a[0] * (0..3).map(|k| fitted.x[n * 3 + k] * fitted.w[k]).sum::<f64>()).collect();
    let flow = fitted.flow(&Options::default());
    assert!(flow.stats.accepted == 0 && flow.status.is_stationary(), "{:?}", flow.status);
    // y = 0: β goes to what of it is outside the span.
    let mut nothing = Case::gaussian(2, 3, 1, 6);
    nothing.y.fill(0.0);
    for log_magnitude in [0.0, -100.0] {
        nothing.log_magnitude = log_magnitude;
        assert_eq!(nothing.flow(&Options::default()).status, Status::Converged);
    }
}

#[test]
fn budgets_end_a_run_with_the_rows_so_far() {
    let case = Case::gaussian(4, 7, 3, 7);
    for method in [Method::Auto, Method::Radau, Method::Weights] {
        let flow = case.flow(&Options { max_steps: Some(3), method, ..Options::default() });
        assert_eq!((flow.status, flow.stats.accepted + flow.stats.rejected), (Status::MaxSteps, 3));
        let flow = case.flow(&Options { max_seconds: Some(1e-300), method, ..Options::default() });
        assert_eq!(flow.status, Status::MaxSeconds);
    }
}

#[test]
fn bad_input_is_named() {
    let good = Case::gaussian(2, 3, 2, 8);
    let refused = |change: &dyn Fn(&mut Case)| {
        let mut case = good.clone();
        change(&mut case);
        match super::gradient_flow(&case.problem(), &Options::default(), &|| false) {
            Err(invalid) => invalid.to_string(),
            Ok(flow) => panic!("{:?}", flow.status),
        }
    };
    assert_eq!(refused(&|case| case.y[0] = f64::NAN), "y must be finite: got NaN");
    assert_eq!(refused(&|case| case.a[1] = f64::INFINITY), "a must be finite: got inf");
    assert_eq!(refused(&|case| case.log_magnitude = f64::NAN), "log_magnitude must be finite: got NaN");
    assert_eq!(refused(&|case| case.y.push(1.0)), "y must have length 2: got 3");
    assert_eq!(refused(&|case| case.w.truncate(5)), "W must have length 6: got 5");
    assert_eq!(refused(&|case| case.a.clear()), "a must be not empty: got 0.0");
}
