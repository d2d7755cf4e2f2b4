//! Thirty digits: against the golden limits, and the laws that hold at any scale.

use super::*;
use crate::limit::diagonal::double_double::{self, check, limit_path};

const OPTIONS: Options = Options { bounds: true, tol: 1e-29, max_systems: 120 };

/// A limit, with its coefficients and multipliers whole.
struct Solved {
    found: Limit,
    beta: Vec<DoubleDouble>,
    nu: Vec<DoubleDouble>,
}

impl Solved {
    fn of(found: Limit) -> Self {
        let Some(low) = &found.low else { panic!("a limit in double-double has low parts") };
        let (beta, nu) = (parts(&found.beta, &low.beta), parts(&found.multipliers, &low.multipliers));
        Self { found, beta, nu }
    }

    fn bound(&self) -> &[f64] {
        self.found.error_bound.as_deref().unwrap_or(&[])
    }
}

fn parts(high: &[f64], low: &[f64]) -> Vec<DoubleDouble> {
    assert_eq!(high.len(), low.len());
    high.iter().zip(low).map(|(h, l)| DoubleDouble { high: *h, low: *l }).collect()
}

fn exactly(v: &[f64]) -> Vec<DoubleDouble> {
    v.iter().map(|v| DoubleDouble::from_f64(*v)).collect()
}

fn solved(problem: &Problem) -> Solved {
    Solved::of(double_double::limit(problem.rows(), &exactly(&problem.y), &problem.start, &OPTIONS, &|| false))
}

/// Largest difference.
fn off(found: &[DoubleDouble], truth: &[DoubleDouble]) -> f64 {
    assert_eq!(found.len(), truth.len());
    largest(&found.iter().zip(truth).map(|(f, t)| (*f - *t).to_f64()).collect::<Vec<_>>())
}

/// `y − Xβ` and `Xᵀ` of it.
fn residual_and_force(x: Rows<'_>, y: &[DoubleDouble], beta: &[DoubleDouble]) -> (Vec<f64>, Vec<f64>) {
    let mut residual = vec![DoubleDouble::ZERO; x.n()];
    x.apply(beta, &mut residual);
    residual.iter_mut().zip(y).for_each(|(r, y)| *r = *y - *r);
    let mut force = vec![DoubleDouble::ZERO; x.d()];
    x.apply_transposed(&residual, &mut force);
    let high = |v: &[DoubleDouble]| v.iter().map(|v| v.to_f64()).collect();
    (high(&residual), high(&force))
}

#[test]
fn golden_limits_have_twenty_seven_digits_and_bounds_that_hold_and_say_so() {
    for (k, case) in golden::cases().iter().enumerate() {
        let Solved { found, beta, nu } = solved(&case.problem);
        assert_eq!(found.status, Status::Converged, "case {k}");
        let size = largest(&found.beta);
        assert!(off(&beta, &case.beta) <= 1e-27 * size, "case {k}: β is off by {:e}", off(&beta, &case.beta));
        assert!(off(&nu, &case.nu) <= 1e-27 * largest(&found.multipliers), "case {k}: ν is off");
        let Some(low) = &found.low else { panic!("no low parts") };
        let cost = DoubleDouble { high: found.conditions.potential_value, low: low.potential_value };
        assert!(off(&[cost], &[case.cost]) <= 1e-27 * cost.high, "case {k}: D_Q is off");
        let bound = found.error_bound.unwrap_or_default();
        for (i, ((b, t), bound)) in beta.iter().zip(&case.beta).zip(&bound).enumerate() {
            let error = (*b - *t).to_f64().abs();
            assert!(error <= *bound, "case {k}, coefficient {i}: {error:e} > {bound:e}");
        }
        // Round-off is bounded by 20 units of 2^-104 of exponents that are up to 1000 long here, which the condition of the
        // data, up to 20 here, multiplies.
        assert!(largest(&bound) <= 1e-26 * size, "case {k}: the bound {:e} says nothing", largest(&bound) / size);
    }
}

#[test]
fn the_conditions_see_thirty_digits() {
    for (k, case) in golden::cases().iter().enumerate() {
        let (x, y) = (case.problem.rows(), exactly(&case.problem.y));
        let report = check(x, &y, &case.problem.start, &case.beta, &|| false);
        let conditions = report.conditions;
        assert!(conditions.stationarity <= 1e-27 && conditions.feasibility <= 1e-27, "case {k}: {conditions:?}");
        assert!(conditions.duality_gap <= 1e-27, "case {k}: {conditions:?}");
        assert!(largest(&report.error_bound) <= 1e-26 * largest(&report.limit.beta), "case {k}");
        // One unit of 1e-20 in one coefficient is seen, and covered.
        let mut moved = case.beta.clone();
        let step = 1e-20 * largest(&report.limit.beta);
        moved[0] = moved[0].add_f64(step);
        let report = check(x, &y, &case.problem.start, &moved, &|| false);
        assert!(report.error_bound[0] >= 0.999 * step && report.error_bound[0] <= 1.001 * step, "case {k}");
        assert!(report.conditions.feasibility > 1e-24, "case {k}: {:?}", report.conditions);
    }
}

#[test]
fn the_high_parts_are_the_binary64_limit_and_the_low_parts_are_normalised() {
    let mut random = Random(17);
    for n in 1..6 {
        for log_kappa in [3.0, -27.0, -690.0, -11_513.0, -230_258.0] {
            let problem = Problem::random(&mut random, n, log_kappa);
            let (plain, solved) = (problem.limit(), solved(&problem));
            let size = largest(&plain.beta);
            for (i, (b, plain)) in solved.beta.iter().zip(&plain.beta).enumerate() {
                assert!((b.high - plain).abs() <= 1e-11 * size, "{n} samples, ln κ = {log_kappa}, coefficient {i}");
            }
            for v in solved.beta.iter().chain(&solved.nu) {
                assert!(v.high + v.low == v.high && v.high.is_finite(), "{v:?} is not normalised");
            }
            assert!(solved.found.status.success(), "{n} samples, ln κ = {log_kappa}: {:?}", solved.found.status);
            // Exponents of this length are known to about 2^-103 each, and so is the residual.
            let floor = (10.0 + log_kappa.abs()) * 2.0_f64.powi(-102);
            assert!(solved.found.conditions.feasibility <= floor, "ln κ = {log_kappa}");
            assert!(largest(solved.bound()).is_finite(), "{n} samples, ln κ = {log_kappa}");
        }
    }
}

#[test]
fn the_low_part_of_a_target_is_a_part_of_the_target() {
    let mut random = Random(18);
    let problem = Problem::random(&mut random, 3, -40.0);
    let y: Vec<DoubleDouble> = problem.y.iter().map(|y| DoubleDouble::from_f64(*y).mul_f64(1.0 / 3.0)).collect();
    assert!(y.iter().all(|y| y.low != 0.0));
    let found = double_double::limit(problem.rows(), &y, &problem.start, &OPTIONS, &|| false);
    assert_eq!(found.status, Status::Converged);
    let solved = Solved::of(found);
    let (residual, _) = residual_and_force(problem.rows(), &y, &solved.beta);
    assert!(largest(&residual) <= 1e-29, "{residual:?}");
    // To 17 digits the targets are others, and so is the limit.
    let rounded: Vec<DoubleDouble> = y.iter().map(|y| DoubleDouble::from_f64(y.high)).collect();
    let other = Solved::of(double_double::limit(problem.rows(), &rounded, &problem.start, &OPTIONS, &|| false));
    assert!(off(&solved.beta, &other.beta) > 1e-19);
}

#[test]
fn repeated_samples_with_other_targets_are_one_sample_with_their_mean() {
    let mut random = Random(19);
    for log_kappa in [1.0, -60.0, -690.0] {
        let single = Problem::random(&mut random, 3, log_kappa);
        let d = single.rows().d();
        let mut twice = single.clone();
        twice.x.extend_from_slice(&single.x[..d]);
        for gap in [0.0, 0.25, 1.0 / 3.0] {
            // y₁ ± gap: their mean is y₁ up to the rounding of the two, which is taken into account.
            (twice.y, twice.y[0]) = (single.y.clone(), single.y[0] + gap);
            twice.y.push(single.y[0] - gap);
            let mut mean = exactly(&single.y);
            mean[0] = (DoubleDouble::from_f64(twice.y[0]) + DoubleDouble::from_f64(twice.y[3])).mul_f64(0.5);
            let one = double_double::limit(single.rows(), &mean, &single.start, &OPTIONS, &|| false);
            let (one, two) = (Solved::of(one), solved(&twice));
            let expected = if gap == 0.0 { Status::Converged } else { Status::LeastSquares };
            assert_eq!(two.found.status, expected, "ln κ = {log_kappa}, gap {gap}");
            let scale = largest(&one.found.beta) * (10.0 + log_kappa.abs());
            assert!(off(&one.beta, &two.beta) <= 1e-29 * scale, "{:e}", off(&one.beta, &two.beta));
            // Least multipliers: the two copies share that of the one.
            let shared = [two.nu[0], two.nu[3], two.nu[0] + two.nu[3]];
            assert!(off(&shared[..1], &shared[1..2]) <= 1e-28 * (10.0 + log_kappa.abs()));
            assert!(off(&shared[2..], &one.nu[..1]) <= 1e-28 * (10.0 + log_kappa.abs()));
            let error = off(&one.beta, &two.beta);
            assert!(error <= largest(one.bound()) + largest(two.bound()), "{error:e}");
        }
    }
}

#[test]
fn more_samples_than_features_end_at_least_squares() {
    let mut random = Random(20);
    for (n, d) in [(4, 3), (9, 2), (6, 6)] {
        let (x, y) = (random.vector(n * d), random.vector(n));
        let solved = solved(&Problem::unbiased(&x, &y, -30.0));
        let rows = Rows::from_parts(&x, n, d);
        let (residual, force) = residual_and_force(rows, &exactly(&y), &solved.beta);
        assert!(largest(&force) <= 1e-27, "{n} x {d}: {force:?}");
        assert_eq!(solved.found.status == Status::LeastSquares, n > d, "{n} x {d}");
        assert_eq!(largest(&residual) > 1e-6, n > d, "{n} x {d}: {residual:?}");
        assert!(solved.found.conditions.feasibility <= 1e-28, "{:?}", solved.found.conditions);
    }
}

#[test]
fn signs_that_cannot_be_had_leave_a_force_on_coefficients_at_zero_only() {
    let never = DoubleDouble::from_f64(f64::NEG_INFINITY);
    let log = DoubleDouble::from_f64(-20.0);
    let x = [1.0, 0.5, 0.25, -0.5, 1.0, 0.75];
    let (y, start) = (vec![-1.0, 0.5], [(log, never), (log, never), (log, never)].into_iter().collect());
    let solved = solved(&Problem { x: x.to_vec(), y: y.clone(), start });
    assert_eq!(solved.found.status, Status::InfeasibleSign);
    let (_, force) = residual_and_force(Rows::from_parts(&x, 2, 3), &exactly(&y), &solved.beta);
    assert!(solved.beta.iter().all(|b| b.high >= 0.0) && largest(&solved.found.beta) > 0.1);
    for (b, force) in solved.beta.iter().zip(force) {
        let stationary = if b.high > 0.0 { force.abs() <= 1e-29 } else { force <= 1e-29 };
        assert!(stationary, "{b:?} with a force of {force:e}");
    }
}

#[test]
fn nothing_to_do_is_done_exactly() {
    let problem = Problem::unbiased(&[1.0, 2.0, 3.0, -1.0, 0.5, 2.0], &[0.0, 0.0], -5000.0);
    let solved = solved(&problem);
    assert_eq!((solved.found.status, solved.found.n_iter), (Status::Converged, 0));
    assert_eq!(off(&solved.beta, &exactly(&[0.0; 3])), 0.0);
}

#[test]
fn a_path_is_its_limits_one_by_one_and_its_bits_do_not_depend_on_threads() {
    let mut random = Random(21);
    let (x, y) = (random.vector(20 * 90), exactly(&random.vector(20)));
    let rows = Rows::from_parts(&x, 20, 90);
    let starts: Vec<Start> = (0..20)
        .map(|k| {
            let log = DoubleDouble::from_f64(-3.0 * f64::from(k));
            core::iter::repeat_n((log, log), 90).collect()
        })
        .collect();
    let paths = on_one_two_and_three_threads(|| limit_path(rows, &y, &starts, &OPTIONS, &|| false));
    assert!(paths[0] == paths[1] && paths[0] == paths[2]);
    for (k, (on_path, start)) in paths[0].iter().zip(&starts).enumerate() {
        let alone = Solved::of(double_double::limit(rows, &y, start, &OPTIONS, &|| false));
        let on_path = Solved::of(on_path.clone());
        assert_eq!(on_path.found.status, Status::Converged, "start {k}");
        let (error, size) = (off(&alone.beta, &on_path.beta), largest(&alone.found.beta));
        assert!(error <= 1e-27 * size, "start {k}: {error:e}");
    }
}
