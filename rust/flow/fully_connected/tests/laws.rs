//! What holds of every trajectory.

use super::{Case, Random, distance};
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
fn networks_of_every_width_follow_their_raw_weights() {
    // 1000 neurons of 3 samples and more are folded into 4; data of more rows than columns, and dependent rows, too.
    for (n, d, m, seed) in [(3, 5, 1, 1), (3, 5, 2, 2), (4, 3, 10, 3), (3, 8, 1000, 4), (6, 2, 7, 5)] {
        let mut case = Case::gaussian(n, d, m, seed);
        case.w.iter_mut().chain(&mut case.a).for_each(|w| *w /= (m as f64).sqrt());
        if seed == 3 {
            let copy = case.x[..d].to_vec();
            case.x[2 * d..3 * d].copy_from_slice(&copy);
        }
        let (reduced, raw) = (at_times(&case, Method::Auto), at_times(&case, Method::Weights));
        let parameters = case.parameters(&reduced);
        for (t, time) in TIMES.iter().enumerate() {
            let error = distance(row(&reduced.beta, t), row(&raw.beta, t));
            assert!(error < 1e-10, "{n} x {d}, {m} neurons, t = {time}: β off by {error:e}");
            let (a, w) = row(&raw.states, t).split_at(m);
            let error = distance(row(&parameters.a, t), a).max(distance(row(&parameters.w, t), w));
            assert!(error < 1e-10, "{n} x {d}, {m} neurons, t = {time}: weights off by {error:e}");
            let error = (reduced.loss[t] - raw.loss[t]).abs() / raw.loss[0];
            assert!(error < 1e-10, "{n} x {d}, {m} neurons, t = {time}: loss off by {error:e}");
        }
    }
}

#[test]
fn balancedness_is_conserved() {
    let case = Case::gaussian(3, 6, 4, 11);
    for method in [Method::Radau, Method::Explicit] {
        let parameters = case.parameters(&at_times(&case, method));
        for t in 0..TIMES.len() {
            let (a, w) = (row(&parameters.a, t), row(&parameters.w, t));
            for (i, j) in (0..4).flat_map(|i| (0..4).map(move |j| (i, j))) {
                let entry = |a: &[f64], w: &[f64]| {
                    let dot: f64 = (0..6).map(|k| w[i * 6 + k] * w[j * 6 + k]).sum();
                    a[i] * a[j] - dot
                };
                // Weights are below 5, squares of them summed 6 times, at a tolerance of 1e-12.
                assert!((entry(a, w) - entry(&case.a, &case.w)).abs() < 1e-9, "{method:?} {i} {j}");
            }
        }
    }
}

#[test]
fn rotated_neurons_have_the_same_predictor() {
    let case = Case::gaussian(3, 4, 2, 21);
    let (cos, sin) = (0.6, 0.8);
    let turn = |u: f64, v: f64| [cos * u + sin * v, cos * v - sin * u];
    let mut turned = case.clone();
    turned.a = turn(case.a[0], case.a[1]).to_vec();
    for k in 0..4 {
        [turned.w[k], turned.w[4 + k]] = turn(case.w[k], case.w[4 + k]);
    }
    let (one, other) = (at_times(&case, Method::Radau), at_times(&turned, Method::Radau));
    assert!(distance(&one.beta, &other.beta) < 1e-10);
    assert!(distance(&one.loss, &other.loss) < 1e-10);
}

#[test]
fn units_of_data_targets_and_weights_do_not_matter() {
    let case = Case::gaussian(3, 5, 2, 31);
    let plain = case.flow(&Options::default());
    // X = 2^x, y = 2^(2h + x), weights 2^h: β is 2^2h of what it was.
    for (x, h) in [(300, 10), (-300, -50), (400, 40), (0, -480), (-400, 100)] {
        let mut scaled = case.clone();
        scaled.x.iter_mut().for_each(|v| *v *= 2.0_f64.powi(x));
        scaled.y.iter_mut().for_each(|v| *v *= 2.0_f64.powi(2 * h) * 2.0_f64.powi(x));
        scaled.log_magnitude = f64::from(h) * core::f64::consts::LN_2;
        let flow = scaled.flow(&Options::default());
        assert_eq!((flow.status, flow.times.len()), (plain.status, plain.times.len()), "x = {x}, h = {h}");
        let beta: Vec<f64> = flow.beta.iter().map(|b| b * 2.0_f64.powi(-2 * h)).collect();
        // The logarithm of a power of two is rounded, 480 ln 2 to 3e-14, and the steps are others from there on: rows of two
        // runs at a tolerance of 1e-10, at times that are only about the same but for the last one.
        assert!(distance(&beta[beta.len() - 5..], &plain.beta[beta.len() - 5..]) < 1e-9, "x = {x}, h = {h}");
    }
}

#[test]
fn a_start_of_any_smallness_goes_where_the_small_ones_go() {
    // As z → 0 the limit is the least-norm interpolator; what is left of the start is O(√scale).
    let mut random = Random(41);
    let (x, y) = (random.vector(2 * 4), random.vector(2));
    let case = |log_magnitude| Case {
        n: 2,
        d: 4,
        x: x.clone(),
        y: y.clone(),
        a: vec![1.0, -0.3],
        w: (0..8).map(|k| (f64::from(k) * 1.7).sin()).collect(),
        log_magnitude,
        ..Case::default()
    };
    let ends: Vec<Flow> =
        [-20.0, -200.0, -700.0, -11_513.0, -1e6].map(|log| case(log).flow(&Options::default())).into();
    for (k, flow) in ends.iter().enumerate() {
        assert_eq!(flow.status, Status::Converged);
        assert_eq!(flow.times.len(), crate::flow::AUTOMATIC_ROWS);
        assert!(flow.beta.iter().all(|b| b.is_finite()));
        // e^-20 = 2e-9 times weights of order 1, over a β of order 0.1.
        let tolerance = if k == 0 { 1e-6 } else { 1e-9 };
        let end = |flow: &Flow| flow.beta[flow.beta.len() - 4..].to_vec();
        let error = distance(&end(flow), &end(&ends[2]));
        assert!(error < tolerance, "{k}: {error:e}");
    }
}

#[test]
fn the_formula_of_the_escape_meets_the_integration() {
    // At 1e-10 the share of the gradient that the formula leaves out is 1e-20 at the start and 1e-17 where it ends: one
    // half of this run is the formula, and the raw weights know of none.
    let mut case = Case::gaussian(3, 5, 2, 51);
    case.log_magnitude = -23.0;
    let raw = case.flow(&Options { rtol: 1e-12, method: Method::Weights, ..Options::default() });
    let times: Vec<f64> = (0..=8).map(|k| f64::from(k) / 8.0 * raw.times[raw.times.len() - 1]).collect();
    let options = Options { times: Some(&times), rtol: 1e-12, ..Options::default() };
    let (reduced, raw) = (case.flow(&options), case.flow(&Options { method: Method::Weights, ..options.clone() }));
    for (t, time) in times.iter().enumerate() {
        let here = t * 5..(t + 1) * 5;
        let error = distance(&reduced.beta[here.clone()], &raw.beta[here]);
        assert!(error < 1e-9, "t = {time}: {error:e}");
    }
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    let case = Case::gaussian(40, 300, 3000, 61);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let Ok(pool) = pool else { panic!("no pool") };
        let times = [0.0, 1e-4, 1e-3];
        pool.install(|| case.flow(&Options { times: Some(&times), ..Options::default() }))
    };
    assert_eq!(run(1), run(2));
}

#[test]
fn a_flow_that_is_stiff_is_left_to_the_implicit_method() {
    // Two rows that are nearly one: σ₂ = 1e-3 σ₁, so the last mode takes a million times longer than the first. And hidden
    // weights a hundred times larger than the outer ones, whose fast direction is no mode of the data.
    let x = vec![1.0, 0.0, 0.5, 1.0, 1e-3, 0.5];
    let modes = Case { n: 2, d: 3, x, y: vec![1.0, 1.1], a: vec![1.0, 0.2], w: vec![0.1; 6], ..Case::default() };
    let mut layers = Case::gaussian(20, 400, 2, 71);
    layers.a.iter_mut().for_each(|a| *a *= 0.2);
    for case in [modes, layers] {
        let [auto, radau] =
            [Method::Auto, Method::Radau].map(|method| case.flow(&Options { method, ..Options::default() }));
        assert_eq!((auto.status, radau.status), (Status::Converged, Status::Converged));
        assert!(auto.stats.jacobians > 0 && auto.stats.accepted < radau.stats.accepted + 500, "{:?}", auto.stats);
        assert!(distance(&auto.beta[auto.beta.len() - case.d..], &radau.beta[radau.beta.len() - case.d..]) < 1e-7);
    }
}
