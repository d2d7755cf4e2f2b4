//! Stiff problems: stability, accuracy, and agreement with published reference values.

use super::super::{Action, DenseJacobian, EventFinder, Implicit, Options, Problem, Status, Step};
use super::{forced_step, only, radau};
use crate::linalg::SquareMatrix;
use crate::real::{DoubleDouble, Real};

const METHODS: [usize; 5] = [3, 5, 7, 9, 11];

/// `y' = λ (y − cos t) − sin t`, with the solution `cos t` (Prothero & Robinson).
fn prothero_robinson(lambda: f64, rtol: f64) -> impl Implicit<f64, Solver = DenseJacobian> {
    let rhs = move |t: f64, y: &[f64], dy: &mut [f64]| dy[0] = lambda * (y[0] - t.cos()) - t.sin();
    let jacobian = move |_: f64, _: &[f64], j: &mut SquareMatrix| j.set(0, 0, lambda);
    Problem::new(1, rhs, jacobian, rtol, rtol)
}

/// `y' = z y`.
fn linear(z: f64) -> impl Implicit<f64, Solver = DenseJacobian> {
    let rhs = move |_: f64, y: &[f64], dy: &mut [f64]| dy[0] = z * y[0];
    Problem::new(1, rhs, move |_: f64, _: &[f64], j: &mut SquareMatrix| j.set(0, 0, z), 1e-14, 0.0)
}

/// The oscillator of Van der Pol, `ε x'' = (1 − x²) x' − x`.
pub fn van_der_pol<R: Real>(epsilon: f64, rtol: f64) -> impl Implicit<R, Solver = DenseJacobian> {
    let rhs = move |_: R, y: &[R], dy: &mut [R]| {
        dy[0] = y[1];
        dy[1] = ((R::ONE - y[0] * y[0]) * y[1] - y[0]) / R::from_f64(epsilon);
    };
    let jacobian = move |_: R, y: &[R], j: &mut SquareMatrix| {
        let (x, slope) = (y[0].to_f64(), y[1].to_f64());
        j.set(0, 1, 1.0);
        j.set(1, 0, (-2.0 * x * slope - 1.0) / epsilon);
        j.set(1, 1, (1.0 - x * x) / epsilon);
    };
    Problem::new(2, rhs, jacobian, rtol, rtol)
}

/// Robertson's chemical reaction.
fn robertson(rtol: f64) -> impl Implicit<f64, Solver = DenseJacobian> {
    let rhs = |_: f64, y: &[f64], dy: &mut [f64]| {
        let (slow, fast, back) = (0.04 * y[0], 3e7 * y[1] * y[1], 1e4 * y[1] * y[2]);
        (dy[0], dy[1], dy[2]) = (back - slow, slow - back - fast, fast);
    };
    let jacobian = |_: f64, y: &[f64], j: &mut SquareMatrix| {
        let columns =
            [[-0.04, 0.04, 0.0], [1e4 * y[2], -1e4 * y[2] - 6e7 * y[1], 6e7 * y[1]], [1e4 * y[1], -1e4 * y[1], 0.0]];
        for (k, column) in columns.iter().enumerate() {
            column.iter().enumerate().for_each(|(i, entry)| j.set(i, k, *entry));
        }
    };
    Problem::new(3, rhs, jacobian, rtol, 1e-10 * rtol)
}

/// `P/Q ≈ e^z` of degrees `(s−1, s)`.
fn pade(s: usize, z: f64) -> f64 {
    let falling = |n: usize, k: usize| (n - k + 1..=n).map(|m| m as f64).product::<f64>();
    let sum = |degree: usize, z: f64| {
        // (degree choose k) / ((2s−1)(2s−2)…) z^k, from Hairer & Wanner II, IV.3, (3.30).
        let term = |k: usize| falling(degree, k) / falling(2 * s - 1, k) / falling(k, k);
        (0..=degree).rev().fold(0.0, |p, k| p * z + term(k))
    };
    sum(s - 1, z) / sum(s, -z)
}

#[test]
fn a_linear_step_is_the_pade_approximant_of_the_exponential() {
    for s in METHODS {
        for z in [-0.1, -1.0, -7.0, -30.0, 0.5] {
            let difference = forced_step(&mut linear(z), s, 0.0, &[1.0], 1.0)[0] - pade(s, z);
            // Increments are of size 1 and rounded at 1e-16, amplified by T (condition number 1250 at most).
            assert!(difference.abs() < 1e-12, "{s} stages, z = {z}: {difference}");
        }
    }
}

#[test]
fn infinitely_stiff_components_are_gone_after_one_step() {
    // R(z) = O(1/z) at infinity; what is left beyond is the round-off of the increment, which is −y.
    for s in METHODS {
        for z in [-1e6, -1e10, -1e14] {
            let left = forced_step(&mut linear(z), s, 0.0, &[1.0], 1.0)[0].abs();
            assert!(left < 50.0 / z.abs() + 1e-12, "{s} stages, z = {z}: {left}");
        }
    }
}

#[test]
fn the_error_on_prothero_and_robinson_falls_with_stiffness() {
    // A stiffly accurate method of stage order s has the local error O(h^s / λ) here, which vanishes as λ → −∞.
    for s in METHODS {
        let error = |lambda: f64| {
            (forced_step(&mut prothero_robinson(lambda, 1e-14), s, 0.3, &[0.3_f64.cos()], 1.0)[0] - 1.3_f64.cos()).abs()
        };
        let (mild, stiff) = (error(-1e3), error(-1e6));
        assert!(stiff < 2e-3 * mild + 1e-14, "{s} stages: {mild} then {stiff}");
    }
}

#[test]
fn a_stiff_problem_takes_the_steps_of_its_smooth_solution() {
    for lambda in [-1e2, -1e6, -1e10] {
        let end = radau(&mut prothero_robinson(lambda, 1e-8), 0.0, &[1.0], 10.0, &only(7, 1e-8), &mut ());
        assert_eq!(end.status, Status::ReachedEnd);
        assert!((end.y[0] - 10.0_f64.cos()).abs() < 1e-8, "{lambda}: {}", end.y[0] - 10.0_f64.cos());
        assert!(end.stats.accepted < 30, "{lambda}: {:?}", end.stats);
    }
}

/// Integrate at several tolerances; the largest relative error of a component must keep below the tolerance times
/// `slack` and fall with it.
fn assert_proportional<S: Implicit<f64>>(
    make: impl Fn(f64) -> S,
    start: &[f64],
    t_end: f64,
    reference: &[f64],
    slack: f64,
) {
    let mut last = f64::INFINITY;
    for rtol in [1e-4, 1e-7, 1e-10] {
        let end = radau(&mut make(rtol), 0.0, start, t_end, &Options { rtol, ..Options::default() }, &mut ());
        assert_eq!(end.status, Status::ReachedEnd);
        let error = end.y.iter().zip(reference).map(|(y, exact)| (y / exact - 1.0).abs()).fold(0.0, f64::max);
        assert!(error < slack * rtol && error < 0.1 * last, "rtol {rtol}: error {error}");
        assert!(end.stats.rejected * 3 <= end.stats.accepted, "rtol {rtol}: {:?}", end.stats);
        last = error;
    }
}

#[test]
fn van_der_pol_agrees_with_the_published_reference_in_proportion_to_the_tolerance() {
    // ε = 1e-6, t = 2, from (2, 0): Test Set for Initial Value Problem Solvers (Bari), problem VDPOL.
    let reference = [0.170_616_773_217_046_9e1, -0.892_809_701_024_812_5];
    assert_proportional(|rtol| van_der_pol(1e-6, rtol), &[2.0, 0.0], 2.0, &reference, 1.0);
}

#[test]
fn errors_follow_the_tolerance_over_many_digits_where_the_order_is_reduced() {
    // Counting on the order 2s − 1 everywhere, the slope is 0.6, and 1e-28 is missed by seven digits.
    let end = |rtol: f64| {
        let options = Options { rtol, ..Options::default() };
        let two = DoubleDouble::from_f64(2.0);
        let start = [two, DoubleDouble::ZERO];
        let end = radau(&mut van_der_pol(1e-6, rtol), DoubleDouble::ZERO, &start, two, &options, &mut ());
        assert_eq!(end.status, Status::ReachedEnd);
        end.y
    };
    let truth = end(1e-30);
    let points: Vec<(f64, f64)> = (3..=13)
        .map(|k| {
            let rtol = 10.0_f64.powi(-2 * k);
            let errors = end(rtol).into_iter().zip(&truth).map(|(y, exact)| ((y - *exact) / *exact).abs().to_f64());
            (rtol.log10(), errors.fold(0.0, f64::max).log10())
        })
        .collect();
    let mean = |f: fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>() / points.len() as f64;
    let (rtol, error) = (mean(|p| p.0), mean(|p| p.1));
    let (above, below) =
        points.iter().fold((0.0, 0.0), |(a, b), p| (a + (p.0 - rtol) * (p.1 - error), b + (p.0 - rtol).powi(2)));
    assert!((0.8..1.2).contains(&(above / below)), "{points:?}");
    // Single errors are larger, up to 400 tolerances, in the slaved component at the end of a step of 1e5 times its time; the
    // other one, and rows inside steps, keep the tolerance (radau_error says why that is not mended).
    assert!(points.iter().all(|(rtol, error)| error < &(rtol + 3.0)), "{points:?}");
}

#[test]
fn robertson_agrees_with_the_published_reference_in_proportion_to_the_tolerance() {
    // t = 1e11: Test Set for Initial Value Problem Solvers (Bari), problem ROBER.
    let reference = [0.208_334_014_970_125_5e-7, 0.833_336_077_033_471_3e-13, 0.999_999_979_166_505];
    assert_proportional(robertson, &[1.0, 0.0, 0.0], 1e11, &reference, 1.0);
}

#[test]
fn robertson_conserves_mass_to_round_off() {
    // Runge–Kutta methods keep linear invariants; every step rounds the sum once, and there are about a hundred.
    let mut drift = 0.0_f64;
    let mut watch = |_: &mut _, step: &mut Step<'_, f64, _>| {
        drift = drift.max((step.y_new().iter().sum::<f64>() - 1.0).abs());
        Action::Continue
    };
    let end = radau(&mut robertson(1e-7), 0.0, &[1.0, 0.0, 0.0], 1e11, &only(7, 1e-7), &mut watch);
    assert_eq!(end.status, Status::ReachedEnd);
    assert!(drift < 1e-14, "{drift}");
}

#[test]
fn double_double_states_reach_twenty_eight_digits_with_a_binary64_jacobian() {
    // y' = −λ y², stiff at the start: y = 1/(1 + λ t).
    let lambda = 1e6;
    let rhs = move |_: DoubleDouble, y: &[DoubleDouble], dy: &mut [DoubleDouble]| {
        dy[0] = -(DoubleDouble::from_f64(lambda) * y[0] * y[0]);
    };
    let jacobian =
        move |_: DoubleDouble, y: &[DoubleDouble], j: &mut SquareMatrix| j.set(0, 0, -2.0 * lambda * y[0].to_f64());
    let rtol = 1e-28;
    let options = Options { rtol, ..Options::default() };
    let mut system = Problem::new(1, rhs, jacobian, rtol, 0.0);
    let end = radau(&mut system, DoubleDouble::ZERO, &[DoubleDouble::ONE], DoubleDouble::ONE, &options, &mut ());
    assert_eq!(end.status, Status::ReachedEnd);
    let exact = DoubleDouble::ONE / DoubleDouble::from_f64(1.0 + lambda);
    let relative = ((end.y[0] - exact) / exact).abs().to_f64();
    assert!(relative < 10.0 * rtol, "{relative}, {:?}", end.stats);
    // Order 13: five decades of time at 28 digits; order 5 would take 10^(28/6) steps a decade.
    assert!(end.stats.accepted < 3000, "{:?}", end.stats);
}

#[test]
fn the_period_of_a_relaxation_oscillation_is_the_known_expansion() {
    // T = 3 − 2 ln 2 + 3 α μ^(−4/3) − (2/3) μ^(−2) ln μ + O(μ^(−2)) in units of μ, where ε = μ^(−2) and −α is the first
    // zero of Airy's function (Dorodnitsyn 1947).
    let mu = 1e4_f64;
    let expected = 3.0 - 2.0 * 2.0_f64.ln() + 3.0 * 2.338_107_410_459_767 * mu.powf(-4.0 / 3.0)
        - 2.0 / 3.0 * mu.powi(-2) * mu.ln();
    let mut finder = EventFinder::new(1);
    let mut zeros = Vec::new();
    let mut observe = |system: &mut _, step: &mut Step<'_, f64, _>| {
        let (from, to, mut y) = (step.t_old(), step.t_new, [0.0; 2]);
        let event = finder.find(from, to, |t, guards| {
            step.at(system, t, &mut y);
            guards[0] = -y[0];
        });
        zeros.extend(event.map(|event| event.t));
        if zeros.len() == 2 { Action::Stop } else { Action::Continue }
    };
    let options = Options { rtol: 1e-10, ..Options::default() };
    let mut system = van_der_pol(mu.powi(-2), 1e-10);
    radau(&mut system, 0.0, &[2.0, 0.0], f64::INFINITY, &options, &mut observe);
    let period = zeros[1] - zeros[0];
    // What the expansion leaves out is a few times μ^(−2).
    assert!((period - expected).abs() < 5.0 * mu.powi(-2), "{period} {expected}");
}
