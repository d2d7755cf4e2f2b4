//! Measured orders of convergence: the slope of log error over log step, with the step held fixed.
//!
//! `u = 1/(1+t)` and `v = 1/(1+t²)` solve `u' = −(1+t²) u² v`, `v' = −2t(1+t) u v²`: nonlinear, coupled, not autonomous,
//! and known exactly in any arithmetic. Measured in double-double, where round-off is out of the way.

use super::super::{
    Context, DenseJacobian, Explicit, Implicit, Options, Problem, Radau, Segment, Start, Stats, Stepper, System, Trial,
};
use super::only;
use crate::linalg::SquareMatrix;
use crate::real::{DoubleDouble, Real};

type D = DoubleDouble;

fn d(x: f64) -> D {
    D::from_f64(x)
}

fn rational(rtol: f64) -> impl Implicit<D, Solver = DenseJacobian> {
    let rhs = |t: D, y: &[D], dy: &mut [D]| {
        dy[0] = -((D::ONE + t * t) * y[0] * y[0] * y[1]);
        dy[1] = -(d(2.0) * t * (D::ONE + t) * y[0] * y[1] * y[1]);
    };
    let jacobian = |t: D, y: &[D], j: &mut SquareMatrix| {
        let (t, u, v) = (t.to_f64(), y[0].to_f64(), y[1].to_f64());
        j.set(0, 0, -2.0 * (1.0 + t * t) * u * v);
        j.set(0, 1, -(1.0 + t * t) * u * u);
        j.set(1, 0, -2.0 * t * (1.0 + t) * v * v);
        j.set(1, 1, -4.0 * t * (1.0 + t) * u * v);
    };
    Problem::new(2, rhs, jacobian, rtol, 0.0)
}

fn solution(t: D) -> [D; 2] {
    [D::ONE / (D::ONE + t), D::ONE / (D::ONE + t * t)]
}

fn error(y: &[D], t: D) -> f64 {
    y.iter().zip(solution(t)).map(|(y, exact)| (*y - exact).abs().to_f64()).fold(0.0, f64::max)
}

/// One step from `(t, y)`: its end, and the largest errors of dense and of refined output inside it.
fn step<S: System<D>>(stepper: &mut impl Stepper<D, S>, system: &mut S, t: D, y: &[D], h: D) -> ([D; 2], [f64; 2]) {
    let (mut dy, mut end, mut dy_end) = ([D::ZERO; 2], [D::ZERO; 2], [D::ZERO; 2]);
    let mut stats = Stats::default();
    system.rhs(t, y, &mut dy);
    system.set_error_weights(t, y, &dy);
    let start = Start { t, y, dy: &dy };
    let mut context = Context { stats: &mut stats, interrupted: &mut || false };
    let trial = stepper.attempt(system, start, h, &mut context);
    assert!(matches!(trial, Trial::Computed { .. }), "{trial:?}");
    end.copy_from_slice(stepper.end());
    system.rhs(t + h, &end, &mut dy_end);
    let segment = Segment { start, h, y_new: &end, dy_new: &dy_end };
    stepper.accept(system, &segment, 1.0);
    let mut inside = [0.0_f64; 2];
    for theta in [0.11, 0.37, 0.5, 0.83] {
        let (theta, mut out) = (d(theta), [D::ZERO; 2]);
        stepper.interpolate(system, &segment, theta, &mut out, context.stats);
        inside[0] = inside[0].max(error(&out, t + theta * h));
        assert!(stepper.refine(system, &segment, theta, &mut out, &mut context));
        inside[1] = inside[1].max(error(&out, t + theta * h));
    }
    (end, inside)
}

/// Errors with `steps` equal steps from 0 to 1: at the end, and of both outputs inside a step of that length that
/// starts from the exact solution at 1/2.
fn errors<S: System<D>>(stepper: &mut impl Stepper<D, S>, system: &mut S, steps: u32) -> [f64; 3] {
    let h = D::ONE / d(f64::from(steps));
    let mut y = solution(D::ZERO);
    for k in 0..steps {
        (y, _) = step(stepper, system, d(f64::from(k)) * h, &y, h);
    }
    let half = d(0.5);
    let (_, inside) = step(stepper, system, half, &solution(half), h);
    [error(&y, D::ONE), inside[0], inside[1]]
}

/// Measured orders at the end, of dense and of refined output, each between `steps` and `2·steps` steps of its own.
fn orders<S: System<D>, M: Stepper<D, S>>(make: impl Fn(&S) -> M, system: &mut S, steps: [u32; 3]) -> [f64; 3] {
    std::array::from_fn(|k| {
        let mut error = |steps| errors(&mut make(system), system, steps)[k];
        (error(steps[k]) / error(2 * steps[k])).log2()
    })
}

/// Between finitely long steps the next terms of the error expansion are still felt: half an order of slack.
fn assert_orders(measured: [f64; 3], expected: [f64; 3]) {
    for (m, e) in measured.iter().zip(expected) {
        assert!((m - e).abs() < 0.5, "measured {measured:?}, expected {expected:?}");
    }
}

#[test]
fn radau_has_order_2s_minus_1_dense_output_of_order_s_and_refined_output_of_the_order_of_the_step() {
    // Newton's iteration goes as far, and the step is as short, as each error can be told from round-off.
    for (s, rtol, steps) in [(3, 1e-20, [64; 3]), (5, 1e-25, [32; 3]), (7, 1e-30, [10, 32, 8])] {
        let order = s as f64;
        let measured = orders(|system| Radau::new(system, &only(s, rtol)), &mut rational(rtol), steps);
        // Local errors inside a step, from exact data, have one order more.
        assert_orders(measured, [2.0 * order - 1.0, order + 1.0, 2.0 * order]);
    }
}

/// The end of a step of an autonomous problem from `y`, whatever its error.
fn one_step<R: Real, S: System<R>>(stepper: &mut impl Stepper<R, S>, system: &mut S, y: [R; 1], h: R) -> [R; 1] {
    let (mut dy, mut stats) = ([R::ZERO], Stats::default());
    system.rhs(R::ZERO, &y, &mut dy);
    system.set_error_weights(R::ZERO, &y, &dy);
    let mut context = Context { stats: &mut stats, interrupted: &mut || false };
    let trial = stepper.attempt(system, Start { t: R::ZERO, y: &y, dy: &dy }, h, &mut context);
    assert!(matches!(trial, Trial::Computed { .. }), "{trial:?}");
    [stepper.end()[0]]
}

/// Error of `y' = −y` at `end`, in so many steps, by Radau with `s` stages or, without any, by Dormand & Prince.
fn error_of_decay<R: Real>(s: usize, end: f64, steps: u32, rtol: f64) -> f64 {
    let rhs = |_: R, y: &[R], dy: &mut [R]| dy[0] = -y[0];
    let mut system = Problem::new(1, rhs, |_: R, _: &[R], j: &mut SquareMatrix| j.set(0, 0, -1.0), rtol, 0.0);
    let (h, mut y) = (R::from_f64(end) / R::from_f64(f64::from(steps)), [R::ONE]);
    for _ in 0..steps {
        y = match s {
            0 => one_step(&mut Explicit::new(&system, &Options::default()), &mut system, y, h),
            _ => one_step(&mut Radau::new(&system, &only(s, rtol)), &mut system, y, h),
        };
    }
    (y[0] - R::from_f64(-end).exp()).abs().to_f64()
}

#[test]
fn every_radau_has_its_order_where_the_error_is_one_term_long() {
    // Order 21 goes through all of double-double when steps are halved twice: of a problem whose solution has poles, as the one
    // above, there is no pair of steps at which the first term of the error is all of it.
    for (s, steps) in [(3, 64), (5, 16), (7, 4), (9, 2), (11, 1)] {
        let error = |steps| error_of_decay::<D>(s, 4.0, steps, 1e-30);
        let order = (error(steps) / error(2 * steps)).log2();
        assert!((order - (2 * s - 1) as f64).abs() < 0.15, "{s} stages: {order}");
    }
}

#[test]
fn every_method_has_its_order_in_binary64_down_to_its_round_off() {
    // As many steps as leave the longer ones a term of the error and the shorter ones some digits: the higher the order the
    // fewer there are, and a step of several units of time still feels the next term: a twentieth of the order.
    for (s, order, end, steps) in
        [(0, 8.0, 4.0, 8), (3, 5.0, 4.0, 32), (5, 9.0, 4.0, 4), (7, 13.0, 8.0, 2), (9, 17.0, 16.0, 2)]
    {
        let error = |steps| error_of_decay::<f64>(s, end, steps, 1e-14);
        let measured = (error(steps) / error(2 * steps)).log2();
        assert!((measured - order).abs() < 0.05 * order, "{s} stages: {measured}");
        // What is forgotten decays with the solution: the roundings of the steps in one unit of time are left.
        let many = 64 * steps;
        let left = (f64::from(many) / end + 8.0) * f64::UNIT_ROUNDOFF * (-end).exp();
        assert!(error(many) <= 2.0 * left, "{s} stages: {}", error(many));
    }
}

#[test]
fn errors_of_every_radau_go_down_to_round_off_and_stay_there() {
    // A step is done when Newton's corrections are ten units of round-off, and rounds its increment once.
    for (s, enough) in [(7, 128), (9, 24), (11, 12)] {
        for steps in [enough, 2 * enough] {
            let [error, ..] = errors(&mut Radau::new(&rational(1e-30), &only(s, 1e-30)), &mut rational(1e-30), steps);
            assert!(error < 100.0 * D::UNIT_ROUNDOFF, "{s} stages, {steps} steps: {error:e}");
        }
    }
}

#[test]
fn dormand_and_prince_has_order_8_with_dense_output_of_order_7() {
    let measured = orders(|system| Explicit::new(system, &Options::default()), &mut rational(1e-30), [32; 3]);
    assert_orders(measured, [8.0, 8.0, 8.0]);
}
