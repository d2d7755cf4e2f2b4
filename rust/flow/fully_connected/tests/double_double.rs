//! Laws of the flow in double-double.

use super::super::{gradient_flow, reach};
use super::golden::{networks_exactly, neurons_exactly};
use super::{Case, Random};
use crate::flow::{Flow, Method, Neurons, Options, Precision, Status};
use crate::real::{DoubleDouble, Real};

const EXACTLY: Options<'static> = Options {
    times: None,
    time_unit: 1.0,
    rtol: 1e-28,
    tol: 1e-29,
    precision: Precision::DoubleDouble,
    method: Method::Auto,
    max_steps: None,
    max_seconds: None,
    max_events: None,
    observables: &[],
    end: &[],
    end_low: &[],
    save_beta: true,
};

fn joined(high: &[f64], low: &[f64]) -> Vec<DoubleDouble> {
    assert_eq!(high.len(), low.len());
    high.iter().zip(low).map(|(high, low)| DoubleDouble { high: *high, low: *low }).collect()
}

fn beta(flow: &Flow) -> Vec<DoubleDouble> {
    joined(&flow.beta, &flow.beta_low)
}

fn last(values: &[DoubleDouble], width: usize) -> &[DoubleDouble] {
    &values[values.len() - width..]
}

/// `max|a − b| / max|b|`.
fn distance(a: &[DoubleDouble], b: &[DoubleDouble]) -> f64 {
    assert_eq!(a.len(), b.len());
    let peak = b.iter().fold(0.0, |most: f64, b| most.max(b.high.abs()));
    a.iter().zip(b).fold(0.0, |most: f64, (a, b)| most.max((*a - *b).high.abs())) / peak
}

#[test]
fn the_golden_trajectories_are_met_to_their_printed_digits() {
    let cases: Vec<_> = neurons_exactly().into_iter().chain(networks_exactly()).collect();
    assert_eq!(cases.len(), 6);
    for (k, (case, times, betas)) in cases.iter().enumerate() {
        for method in [Method::Auto, Method::Radau] {
            let problem = case.problem();
            let options = Options { times: Some(times), method, ..EXACTLY };
            let Ok(flow) = gradient_flow(&problem, &options, &|| false) else { panic!("case {k}") };
            assert_eq!((flow.status, flow.times.len()), (Status::ReachedEnd, times.len()));
            let found = beta(&flow);
            for (t, time) in times.iter().enumerate() {
                let row = t * case.d..(t + 1) * case.d;
                let error = distance(&found[row.clone()], &betas[row]);
                assert!(error < 1e-20, "case {k}, t = {time}, {method:?}: {error:e}");
            }
        }
    }
}

#[test]
fn a_tighter_tolerance_confirms_the_digits_of_rows_and_of_the_end() {
    for (n, d, m, seed) in [(3, 6, 1, 1), (4, 3, 3, 2), (3, 8, 40, 3)] {
        let mut case = Case::gaussian(n, d, m, seed);
        case.w.iter_mut().chain(&mut case.a).for_each(|w| *w /= (m as f64).sqrt());
        let times = [0.0, 0.1, 1.0, 3.0];
        let [loose, tight] = [1e-26, 1e-30].map(|rtol| case.flow(&Options { times: Some(&times), rtol, ..EXACTLY }));
        let error = distance(&beta(&loose), &beta(&tight));
        assert!(error < 1e-24 && error > 0.0, "{n} x {d}, {m}: rows off by {error:e}");
        let [loose, tight] = [1e-26, 1e-30].map(|rtol| case.flow(&Options { rtol, ..EXACTLY }));
        assert!(loose.status.is_stationary() && loose.status == tight.status, "{:?}", loose.status);
        let error = distance(last(&beta(&loose), d), last(&beta(&tight), d));
        assert!(error < 1e-24, "{n} x {d}, {m}: end off by {error:e}");
    }
}

#[test]
fn the_highs_are_what_binary64_finds() {
    for (n, d, m, seed) in [(3, 6, 1, 11), (5, 3, 2, 12), (3, 8, 40, 13), (2, 4, 200, 14)] {
        let mut case = Case::gaussian(n, d, m, seed);
        case.w.iter_mut().chain(&mut case.a).for_each(|w| *w /= (m as f64).sqrt());
        let times = [0.0, 0.2, 2.0, 20.0];
        let (plain, exact) = (
            case.flow(&Options { times: Some(&times), rtol: 1e-13, ..Options::default() }),
            case.flow(&Options { times: Some(&times), ..EXACTLY }),
        );
        assert!(super::distance(&plain.beta, &exact.beta) < 1e-11, "{n} x {d}, {m}");
        assert!(super::distance(&plain.loss, &exact.loss) < 1e-11, "{n} x {d}, {m}");
        let Some(weights) = super::super::parameters(&case.problem(), Precision::DoubleDouble, &exact.states) else {
            panic!("states of another problem")
        };
        let Some(same) = super::super::parameters(&case.problem(), Precision::Double, &plain.states) else {
            panic!("states of another problem")
        };
        assert!(super::distance(&weights.a, &same.a) < 1e-11 && super::distance(&weights.w, &same.w) < 1e-11);
    }
}

#[test]
fn balancedness_is_conserved_to_twenty_eight_digits() {
    // In the span a aᵀ − C Cᵀ: the rest of the hidden weights is constant by construction.
    for (m, method) in [(1, Method::Radau), (3, Method::Auto), (30, Method::Radau)] {
        let case = Case::gaussian(3, 7, m, 21);
        let flow = case.flow(&Options { times: Some(&[0.0, 0.1, 1.0, 10.0]), method, ..EXACTLY });
        let states = joined(&flow.states, &flow.states_low);
        let width = states.len() / 4;
        let few = width / 4;
        let product = |state: &[DoubleDouble], i: usize, j: usize| {
            let (a, c) = state.split_at(few);
            a[i] * a[j] - DoubleDouble::inner_product(&c[i * 3..(i + 1) * 3], &c[j * 3..(j + 1) * 3])
        };
        for state in states.chunks_exact(width) {
            let size = state.iter().fold(0.0, |sum, z| sum + z.high * z.high);
            for (i, j) in (0..few).flat_map(|i| (0..few).map(move |j| (i, j))) {
                let change = (product(state, i, j) - product(&states[..width], i, j)).high.abs();
                assert!(change < 1e-28 * size, "{m} neurons, {i} {j}: {:e}", change / size);
            }
        }
    }
}

#[test]
fn scales_beyond_every_float_end_where_least_norms_are() {
    // α → 0 gives the interpolator of least norm, off by O(α): nothing of 10^-300 is left in thirty digits.
    let case = Case::gaussian(3, 6, 2, 31);
    let options = EXACTLY;
    let [small, tiny] = [-700.0, -23_025.0].map(|log_magnitude| Case { log_magnitude, ..case.clone() }.flow(&options));
    for flow in [&small, &tiny] {
        assert_eq!(flow.status, Status::Converged);
        let found = reach(&case.problem(), last(&beta(flow), 6));
        assert!(found.feasibility < 1e-28, "{found:?}");
        // Nothing of the hidden weights outside the span is left either.
        let mut bare = case.clone();
        bare.w = vec![0.0; 12];
        let found = reach(&bare.problem(), last(&beta(flow), 6));
        assert!(found.stationarity < 1e-28, "{found:?}");
    }
    let error = distance(last(&beta(&small), 6), last(&beta(&tiny), 6));
    assert!(error < 1e-27, "{error:e}");
}

#[test]
fn data_that_are_dependent_or_out_of_reach_end_in_least_squares() {
    // A row twice, one that is the sum of others to sixteen digits, more rows than columns.
    for (n, d, kind) in [(4, 6, 0), (4, 6, 1), (7, 3, 2)] {
        let mut case = Case::gaussian(n, d, 2, 41);
        for k in 0..d {
            if kind == 0 {
                case.x[d + k] = case.x[k];
            } else if kind == 1 {
                case.x[2 * d + k] = (case.x[k] + case.x[d + k]) / 3.0;
            }
        }
        let flow = case.flow(&EXACTLY);
        assert_eq!(flow.status, Status::LeastSquares, "{kind}");
        let end = beta(&flow);
        let found = reach(&case.problem(), last(&end, d));
        assert!(found.feasibility < 1e-28 && found.stationarity < 1e-28, "{kind}: {found:?}");
        // The gradient Xᵀr vanishes to thirty digits.
        let x = case.problem().x;
        let (mut fitted, mut gradient) = (vec![DoubleDouble::ZERO; n], vec![DoubleDouble::ZERO; d]);
        x.apply(last(&end, d), &mut fitted);
        let r: Vec<_> = fitted.iter().zip(&case.y).map(|(f, y)| DoubleDouble::from(*y) - *f).collect();
        x.apply_transposed(&r, &mut gradient);
        assert!(gradient.iter().all(|g| g.high.abs() < if kind == 1 { 1e-14 } else { 1e-27 }), "{kind}: {gradient:?}");
    }
}

#[test]
fn errors_are_proportional_to_tolerances() {
    let case = Case::gaussian(3, 6, 2, 51);
    let times = [1.0];
    let at = |rtol: f64| beta(&case.flow(&Options { times: Some(&times), method: Method::Radau, rtol, ..EXACTLY }));
    let truth = at(1e-30);
    // Least squares of log error against log rtol over fourteen decades: single steps of the order are uneven.
    let points: Vec<(f64, f64)> = (0..8)
        .map(|k| {
            let rtol = 10.0_f64.powi(-12 - 2 * k);
            (rtol.log10(), distance(&at(rtol), &truth).log10())
        })
        .collect();
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(&|p| p.0), mean(&|p| p.1));
    let slope = mean(&|p| (p.0 - x) * (p.1 - y)) / mean(&|p| (p.0 - x).powi(2));
    assert!((0.8..=1.2).contains(&slope), "slope {slope}: {points:?}");
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let case = Case::gaussian(12, 900, 3, 61);
    let with = |threads: usize| {
        let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(threads).build() else { panic!("no pool") };
        pool.install(|| case.flow(&Options { times: Some(&[0.0, 1e-3, 1e-2]), ..EXACTLY }))
    };
    let (one, two) = (with(1), with(2));
    assert!(one.beta == two.beta && one.beta_low == two.beta_low && one.loss_low == two.loss_low);
}

#[test]
fn low_parts_of_targets_and_weights_count() {
    let case = Case::gaussian(2, 4, 1, 71);
    let mut random = Random(72);
    let (y_low, a_low, w_low): (Vec<f64>, Vec<f64>, Vec<f64>) = (
        random.vector(2).iter().map(|v| 1e-17 * v).collect(),
        random.vector(1).iter().map(|v| 1e-17 * v).collect(),
        random.vector(4).iter().map(|v| 1e-17 * v).collect(),
    );
    let options = Options { times: Some(&[0.5]), ..EXACTLY };
    let neurons = Neurons { a_low: Some(&a_low), w_low: Some(&w_low), ..case.problem().neurons };
    let problem = super::Problem { y_low: Some(&y_low), neurons, ..case.problem() };
    let run = |problem: &super::Problem<'_>| gradient_flow(problem, &options, &|| false);
    let (Ok(plain), Ok(exact)) = (run(&case.problem()), run(&problem)) else { panic!("refused") };
    let error = distance(&beta(&plain), &beta(&exact));
    assert!((1e-19..1e-14).contains(&error), "{error:e}");
    // ln 2 and its low part are a factor of two, which is exact.
    let log = DoubleDouble::LN_2;
    let halved: (Vec<f64>, Vec<f64>) =
        (case.a.iter().map(|a| a / 2.0).collect(), case.w.iter().map(|w| w / 2.0).collect());
    let neurons = Neurons { log_magnitude_low: log.low, ..Neurons::new(&halved.0, &halved.1, log.high) };
    let Ok(same) = run(&super::Problem { neurons, ..case.problem() }) else { panic!("refused") };
    assert!(distance(&beta(&plain), &beta(&same)) < 1e-28);
}

#[test]
fn what_is_not_allowed_is_named() {
    let case = Case::gaussian(2, 4, 1, 81);
    for (options, message) in [
        (Options { rtol: 1e-31, ..EXACTLY }, "rtol must be in [1e-30, 0.1], the floor of double-double"),
        (Options { method: Method::Weights, ..EXACTLY }, "method must be 'auto', 'radau' or 'explicit'"),
    ] {
        let Err(invalid) = gradient_flow(&case.problem(), &options, &|| false) else { panic!("accepted: {message}") };
        assert!(invalid.to_string().starts_with(message), "{invalid}");
    }
    let problem = super::Problem { y_low: Some(&[0.0]), ..case.problem() };
    let Err(invalid) = gradient_flow(&problem, &EXACTLY, &|| false) else { panic!("accepted") };
    assert_eq!(invalid.to_string(), "y_low must have length 2: got 1");
}
