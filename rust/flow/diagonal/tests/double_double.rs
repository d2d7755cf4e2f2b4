//! Thirty digits: golden trajectories to all that is printed of them, and laws.

use super::super::dual::DualFlow;
use super::super::number::Number;
use super::super::prepare::Prepared;
use super::super::{Problem, gradient_flow};
use super::Case;
use super::golden::{cases, digits};
use crate::flow::{Flow, Invalid, Method, Observable, Options, Precision, Status};
use crate::linalg::Rows;
use crate::ode::{self, Radau, integrate};
use crate::potential::Start;
use crate::real::{DoubleDouble, Real};
use allocation_counter::measure;

/// 2^-104.
const UNIT: f64 = DoubleDouble::UNIT_ROUNDOFF;

/// Defaults in double-double.
fn exactly(rtol: f64) -> Options<'static> {
    Options { rtol, tol: 1e-29, precision: Precision::DoubleDouble, ..Options::default() }
}

fn sums(high: &[f64], low: &[f64]) -> Vec<DoubleDouble> {
    assert_eq!(high.len(), low.len());
    high.iter().zip(low).map(|(high, low)| DoubleDouble::from_parts(*high, *low)).collect()
}

/// `max|a − b| / max|b|`.
fn apart(a: &[DoubleDouble], b: &[DoubleDouble]) -> f64 {
    assert!(a.len() == b.len() && !b.is_empty());
    let worst = a
        .iter()
        .zip(b)
        .map(|(a, b)| (*a - *b).abs().to_f64())
        .fold(0.0, |m, e| if e > m || e.is_nan() { e } else { m });
    worst / b.iter().fold(0.0_f64, |most, b| most.max(b.abs().to_f64()))
}

#[test]
fn golden_trajectories_are_met_to_all_printed_digits() {
    for (k, ((case, times, ..), (beta, loss))) in cases().iter().zip(digits()).enumerate() {
        let flow = case.flow(&Options { times: Some(times), ..exactly(1e-28) });
        assert_eq!((flow.status, flow.times.len()), (Status::ReachedEnd, times.len()));
        let (found, losses) = (sums(&flow.beta, &flow.beta_low), sums(&flow.loss, &flow.loss_low));
        for t in 0..times.len() {
            let row = t * case.d..(t + 1) * case.d;
            let error = apart(&found[row.clone()], &beta[row]);
            // The twenty-fifth digit, up to its rounding.
            assert!(error <= 5e-25, "case {k}, t = {}: β off by {error:e} of its largest entry", times[t]);
            // Losses are printed to 22 digits or more, all correct but at the end of the first trajectory. There the residual
            // is 1e-24, of terms of size 10 that are known to a few units.
            let residual = 100.0 * UNIT;
            let allowed = 1e-20 * loss[t].to_f64() + residual * (2.0 * loss[t].to_f64().sqrt() + residual);
            let error = (losses[t] - loss[t]).abs().to_f64();
            assert!(error <= allowed, "case {k}, t = {}: loss off by {error:e} of {:e}", times[t], loss[t].to_f64());
        }
    }
}

#[test]
fn errors_are_in_proportion_to_the_tolerance_down_to_the_last_digits() {
    for (k, (case, times, ..)) in cases().iter().enumerate() {
        let at = |rtol: f64| {
            let flow = case.flow(&Options { times: Some(times), method: Method::Radau, ..exactly(rtol) });
            sums(&flow.beta, &flow.beta_low)
        };
        let truth = at(1e-30);
        // Above a hundred round-off floors; the largest error of a row, relative to the row.
        let tolerances: Vec<f64> = (6..=13).map(|k| 10.0_f64.powi(-2 * k)).collect();
        let points: Vec<(f64, f64)> = tolerances
            .iter()
            .map(|rtol| {
                let rows = at(*rtol);
                let rows = rows.chunks_exact(case.d).zip(truth.chunks_exact(case.d));
                (rtol.log10(), rows.map(|(row, exact)| apart(row, exact)).fold(0.0, f64::max).log10())
            })
            .collect();
        let n = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
        let (x, y) = (mean(|p| p.0), mean(|p| p.1));
        let slope = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>()
            / points.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>();
        assert!((0.8..=1.2).contains(&slope), "case {k}: slope {slope} of {points:?}");
        assert!(points.iter().all(|p| p.1 <= p.0 + 1.0), "case {k}: more than ten tolerances: {points:?}");
    }
}

/// `¼(A e^{2G} − B e^{−2G})` at `G = Xᵀν` of the last row.
fn predictor_of_multipliers(case: &Case, flow: &Flow) -> Vec<DoubleDouble> {
    let nu = sums(&flow.multipliers, &flow.multipliers_low);
    let nu = &nu[nu.len() - case.n..];
    let (log_a, log_b) = case.logs();
    let quarter = DoubleDouble::LN_2 + DoubleDouble::LN_2;
    (0..case.d)
        .map(|i| {
            let g = (0..case.n)
                .fold(DoubleDouble::ZERO, |sum, n| sum + nu[n] * DoubleDouble::from_f64(2.0 * case.x[n * case.d + i]));
            (log_a[i] + g - quarter).exp() - (log_b[i] - g - quarter).exp()
        })
        .collect()
}

#[test]
fn beta_is_the_exact_function_of_its_multipliers_at_any_scale() {
    for log_magnitude in [0.0, -14.0, -345.0, -115_129.0] {
        let case = Case::gaussian(3, 8, log_magnitude, 5);
        let flow =
            case.flow(&Options { max_steps: Some(1000), observables: &[Observable::Residual], ..exactly(1e-28) });
        assert_eq!((flow.status, flow.times.len()), (Status::Converged, crate::flow::AUTOMATIC_ROWS));
        assert!(
            flow.observables[0][flow.times.len() - 1] <= 1e-29 * case.y.iter().fold(0.0, |m: f64, y| m.max(y.abs()))
        );
        let beta = sums(&flow.beta, &flow.beta_low);
        let error = apart(&beta[beta.len() - case.d..], &predictor_of_multipliers(&case, &flow));
        // Exponents are known to a unit of ln κ = 2 log_magnitude + 3, and so are the sums that make them here; steps add some.
        assert!(error <= 16.0 * UNIT * (10.0 + 2.0 * log_magnitude.abs()), "{log_magnitude}: {error:e}");
    }
}

#[test]
fn the_explicit_method_comes_to_the_same_digits() {
    let case = Case::gaussian(3, 7, -1.0, 9);
    let times = [0.05, 0.2];
    let at = |method| {
        let flow = case.flow(&Options { times: Some(&times), method, ..exactly(1e-24) });
        assert_eq!(flow.status, Status::ReachedEnd);
        sums(&flow.beta, &flow.beta_low)
    };
    // A hundred explicit steps and more, each within the tolerance; they share no error.
    assert!(apart(&at(Method::Explicit), &at(Method::Radau)) < 1e-22);
}

#[test]
fn the_low_part_of_a_target_moves_the_end_as_a_target_does() {
    // β(∞) fits y: with y + δ it fits that, to the last digit of either.
    let case = Case::gaussian(2, 5, -1.0, 31);
    let delta: Vec<f64> = case.y.iter().map(|y| 1e-20 * y).collect();
    let end = |y_low: Option<&[f64]>| {
        let (log_a, log_b) = case.logs();
        let start = Start { log_a, log_b };
        let x = Rows::from_parts(&case.x, case.n, case.d);
        let problem = Problem { x, y: &case.y, y_low, start: (&start).into(), weights: None };
        let Ok(flow) = gradient_flow(&problem, &exactly(1e-28), &|| false) else { panic!("refused") };
        let beta = sums(&flow.beta, &flow.beta_low);
        let mut fitted = [DoubleDouble::ZERO; 2];
        x.apply(&beta[beta.len() - case.d..], &mut fitted);
        fitted
    };
    let (plain, moved) = (end(None), end(Some(&delta)));
    for n in 0..case.n {
        let (y, size) =
            (DoubleDouble::from_f64(case.y[n]), 1e-28 * case.y.iter().fold(0.0, |m: f64, y| m.max(y.abs())));
        assert!((plain[n] - y).abs().to_f64() <= size);
        assert!((moved[n] - y - DoubleDouble::from_f64(delta[n])).abs().to_f64() <= size);
    }
}

#[test]
fn dependent_and_tall_data_end_where_they_do_in_binary64_with_more_digits() {
    let tall = Case::gaussian(9, 4, -1.0, 41);
    let mut twice = Case::gaussian(4, 9, -1.0, 42);
    twice.x.extend_from_within(..9);
    twice.y.push(twice.y[0] + 1.0);
    twice.n += 1;
    let mut nearly = twice.clone();
    // The sum of two rows up to its rounding: dependent to binary64, and a direction that takes for ever in more digits.
    (0..9).for_each(|i| nearly.x[36 + i] = nearly.x[i] + nearly.x[9 + i]);
    for (k, case) in [tall, twice, nearly].iter().enumerate() {
        let (plain, exact) =
            (case.flow(&Options::default()), case.flow(&Options { max_steps: Some(500), ..exactly(1e-28) }));
        assert_eq!((exact.status, exact.status), (plain.status, Status::LeastSquares), "case {k}");
        let last = |rows: &[f64]| rows[rows.len() - case.d..].to_vec();
        assert!(super::distance(&last(&exact.beta), &last(&plain.beta)) < 1e-10, "case {k}");
        assert!((exact.loss[exact.loss.len() - 1] / plain.loss[plain.loss.len() - 1] - 1.0).abs() < 1e-12, "case {k}");
    }
    // Xᵀr = 0 at the end of the first, where every column can move.
    let case = Case::gaussian(9, 4, -1.0, 41);
    let flow = case.flow(&exactly(1e-28));
    let beta = sums(&flow.beta, &flow.beta_low);
    let x = Rows::from_parts(&case.x, case.n, case.d);
    let (mut r, mut gradient) = (vec![DoubleDouble::ZERO; 9], vec![DoubleDouble::ZERO; 4]);
    x.apply(&beta[beta.len() - 4..], &mut r);
    r.iter_mut().zip(&case.y).for_each(|(r, y)| *r = DoubleDouble::from_f64(*y) - *r);
    x.apply_transposed(&r, &mut gradient);
    assert!(gradient.iter().all(|g| g.abs().to_f64() < 1e-27), "{gradient:?}");
}

#[test]
fn observables_have_the_digits_of_the_rows() {
    let (case, times) = (Case::gaussian(3, 8, -2.0, 51), [0.0, 0.5, 4.0]);
    let flow = case.flow(&Options { times: Some(&times), observables: &Observable::ALL[..6], ..exactly(1e-28) });
    let columns: Vec<Vec<DoubleDouble>> =
        flow.observables.iter().zip(&flow.observables_low).map(|(high, low)| sums(high, low)).collect();
    let [loss, residual, l1, l2, largest, potential] = &columns[..] else { panic!("columns") };
    assert_eq!(loss, &sums(&flow.loss, &flow.loss_low));
    let (beta, g) = (sums(&flow.beta, &flow.beta_low), sums(&flow.dual, &flow.dual_low));
    let (log_a, log_b) = case.logs();
    for t in 0..times.len() {
        let (beta, g) = (&beta[t * 8..(t + 1) * 8], &g[t * 8..(t + 1) * 8]);
        let close = |a: DoubleDouble, b: DoubleDouble| {
            assert!(
                (a - b).abs().to_f64() <= 200.0 * UNIT * b.abs().to_f64().max(1e-6),
                "t = {}: {a:?} for {b:?}",
                times[t]
            );
        };
        close(l1[t], beta.iter().fold(DoubleDouble::ZERO, |sum, b| sum + b.abs()));
        close(l2[t] * l2[t], beta.iter().fold(DoubleDouble::ZERO, |sum, b| sum + *b * *b));
        assert!(beta.iter().any(|b| b.abs() == largest[t]) && beta.iter().all(|b| b.abs() <= largest[t]));
        let mut fitted = [DoubleDouble::ZERO; 3];
        Rows::from_parts(&case.x, 3, 8).apply(beta, &mut fitted);
        let r: Vec<DoubleDouble> = fitted.iter().zip(&case.y).map(|(f, y)| DoubleDouble::from_f64(*y) - *f).collect();
        close(residual[t], r.iter().fold(DoubleDouble::ZERO, |most, r| if r.abs() > most { r.abs() } else { most }));
        // D = Σ G β − ¼(S − S(0)), another form of the same: Legendre's.
        let dual = (0..8).fold(DoubleDouble::ZERO, |sum, i| {
            let (a, b, shift) = (log_a[i].exp(), log_b[i].exp(), g[i] + g[i]);
            let gained = a * shift.exp_m1() + b * (-shift).exp_m1();
            sum + g[i] * beta[i] - gained * DoubleDouble::from_f64(0.125)
        });
        close(potential[t], dual);
    }
}

#[test]
fn threads_change_no_bit() {
    // Enough coordinates for threads of exponentials, and enough products for those of the data.
    let case = Case::gaussian(40, 8000, -3.0, 3);
    let on = |threads: usize| {
        let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(threads).build() else { panic!("no pool") };
        pool.install(|| case.flow(&Options { max_steps: Some(3), save_beta: false, ..exactly(1e-28) }))
    };
    let (one, two) = (on(1), on(2));
    assert!(one.stats.accepted > 0 && !one.beta_low.is_empty());
    assert_eq!(one, two);
}

/// How often a run of so many steps allocates, and the steps it took.
fn allocations<R: Number>(case: &Case, rtol: f64, steps: u64) -> (u64, u64) {
    let (log_a, log_b) = case.logs();
    let start = Start { log_a, log_b };
    let x = Rows::from_parts(&case.x, case.n, case.d);
    let problem = Problem { x, y: &case.y, y_low: None, start: (&start).into(), weights: None };
    let mut taken = 0;
    let count = measure(|| {
        let Some(prepared) = Prepared::<R>::of(&problem, &|| false) else { panic!("interrupted") };
        let mut flow = DualFlow::<R>::new(&prepared, prepared.reference(&problem), (rtol, rtol));
        let settings = ode::Options { rtol, max_steps: Some(steps), min_stages: 7, ..ode::Options::default() };
        let mut stepper = Radau::new(&flow, &settings);
        let (zero, end) = (vec![R::ZERO; case.n], R::from_f64(f64::MAX));
        let Ok(end) = integrate(&mut stepper, &mut flow, R::ZERO, &zero, end, &settings, &mut ()) else {
            panic!("refused")
        };
        taken = end.stats.accepted;
    });
    (count.count_total, taken)
}

#[test]
fn a_step_allocates_nothing() {
    // Below the work that is worth a thread, whose pool allocates.
    let case = Case::gaussian(6, 40, -8.0, 61);
    let check = |of: &dyn Fn(u64) -> (u64, u64)| {
        let ((few, short), (many, long)) = (of(8), of(24));
        assert!(long > short + 8, "{short} and {long} steps do not tell");
        assert_eq!(few, many, "{short} and {long} steps");
    };
    check(&|steps| allocations::<f64>(&case, 1e-12, steps));
    check(&|steps| allocations::<DoubleDouble>(&case, 1e-28, steps));
}

#[test]
fn what_double_double_does_not_have_is_refused_by_name() {
    let case = Case::gaussian(2, 3, 0.0, 71);
    let (log_a, log_b) = case.logs();
    let start = Start { log_a, log_b };
    let x = Rows::from_parts(&case.x, 2, 3);
    let refused = |options: Options<'_>, y_low: Option<&[f64]>| -> Invalid {
        let problem = Problem { x, y: &case.y, y_low, start: (&start).into(), weights: Some(case.weights()) };
        let Err(error) = gradient_flow(&problem, &options, &|| false) else { panic!("accepted") };
        error
    };
    let raw = refused(Options { method: Method::Weights, ..exactly(1e-20) }, None);
    assert_eq!(
        raw.to_string(),
        "method must be 'auto', 'radau' or 'explicit' with precision 'double-double': got 'weights'"
    );
    let floor = refused(exactly(1e-31), None);
    assert_eq!(floor.to_string(), "rtol must be in [1e-30, 0.1], the floor of double-double: got 1e-31");
    assert_eq!(refused(exactly(1e-20), Some(&[0.0])).to_string(), "y_low must have length 2: got 1");
    assert_eq!(refused(exactly(1e-20), Some(&[0.0, f64::NAN])).to_string(), "y_low must be finite: got NaN");
}
