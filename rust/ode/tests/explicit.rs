//! The explicit method as a whole.

use super::super::{Action, EventFinder, Explicit, Options, Outcome, Problem, Status, Step, System, integrate};
use crate::real::{DoubleDouble, Real};

fn explicit<R: Real, S: System<R>>(system: &mut S, y: &[R], t_end: R, options: &Options) -> Outcome<R> {
    let mut stepper = Explicit::new(system, options);
    match integrate(&mut stepper, system, R::ZERO, y, t_end, options, &mut ()) {
        Ok(outcome) => outcome,
        Err(error) => panic!("{error}"),
    }
}

/// An orbit of eccentricity 1/2 around a fixed centre, from its perihelion; period 2π.
fn kepler(rtol: f64) -> impl System<f64> {
    let rhs = |_: f64, y: &[f64], dy: &mut [f64]| {
        let cube = y[0].hypot(y[1]).powi(3);
        (dy[0], dy[1], dy[2], dy[3]) = (y[2], y[3], -y[0] / cube, -y[1] / cube);
    };
    Problem::new(4, rhs, (), rtol, rtol)
}

const PERIHELION: [f64; 4] = [0.5, 0.0, 0.0, 1.732_050_807_568_877_2];

#[test]
fn an_orbit_closes_with_an_error_in_proportion_to_the_tolerance() {
    let period = std::f64::consts::TAU;
    let mut last = f64::INFINITY;
    for digits in [5, 7, 9, 11, 13] {
        let rtol = 10.0_f64.powi(-digits);
        let end = explicit(&mut kepler(rtol), &PERIHELION, period, &Options { rtol, ..Options::default() });
        assert_eq!(end.status, Status::ReachedEnd);
        let error = end.y.iter().zip(PERIHELION).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        // Errors grow along an orbit, and the estimate is of an order less than the method.
        assert!(error < 100.0 * rtol && error < 0.2 * last, "rtol {rtol}: {error}");
        last = error;
    }
}

#[test]
fn thirteen_right_hand_sides_make_a_step_with_dense_output_adding_three() {
    let end = explicit(&mut kepler(1e-8), &PERIHELION, 5.0, &Options { rtol: 1e-8, ..Options::default() });
    // Two for the first step, eleven for a trial, one for the end of an accepted one.
    assert_eq!(end.stats.rhs, 2 + 11 * (end.stats.accepted + end.stats.rejected) + end.stats.accepted);
}

#[test]
fn a_stiff_problem_is_reported_and_a_smooth_one_is_not() {
    let stiff = |lambda: f64| {
        let rhs = move |t: f64, y: &[f64], dy: &mut [f64]| dy[0] = -lambda * (y[0] - t.cos());
        let options = Options { rtol: 1e-8, stop_when_stiff: true, ..Options::default() };
        explicit(&mut Problem::new(1, rhs, (), 1e-8, 1e-8), &[1.0], 20.0, &options)
    };
    assert_eq!(stiff(1e5).status, Status::Stiff);
    assert_eq!(stiff(1.0).status, Status::ReachedEnd);
    let options = Options { rtol: 1e-8, stop_when_stiff: true, ..Options::default() };
    assert_eq!(explicit(&mut kepler(1e-8), &PERIHELION, 50.0, &options).status, Status::ReachedEnd);
}

#[test]
fn double_double_states_reach_twenty_eight_digits() {
    let rhs = |_: DoubleDouble, y: &[DoubleDouble], dy: &mut [DoubleDouble]| dy[0] = -(y[0] * y[0]);
    let mut system = Problem::new(1, rhs, (), 1e-28, 0.0);
    let one = DoubleDouble::ONE;
    let end = explicit(&mut system, &[one], one, &Options { rtol: 1e-28, ..Options::default() });
    assert_eq!(end.status, Status::ReachedEnd);
    // y = 1/(1+t), which contracts errors: those of the steps add up to less than ten tolerances.
    assert!((end.y[0] - DoubleDouble::from_f64(0.5)).abs().to_f64() < 1e-27);
}

#[test]
fn events_along_an_orbit_are_located_on_the_dense_output() {
    // The orbit crosses its long axis downwards at half a period; seen from y > 0 armed on the way.
    let rtol = 1e-12;
    let mut system = kepler(rtol);
    let mut finder = EventFinder::new(1);
    let mut observe = |system: &mut _, step: &mut Step<'_, f64, _>| {
        let mut y = [0.0; 4];
        let (from, to) = (step.t_old(), step.t_new);
        match finder.find(from, to, |t, g| {
            step.at(system, t, &mut y);
            g[0] = y[1];
        }) {
            Some(event) => Action::StopAt(event.t),
            None => Action::Continue,
        }
    };
    let options = Options { rtol, ..Options::default() };
    let mut stepper = Explicit::new(&system, &options);
    let Ok(end) = integrate(&mut stepper, &mut system, 0.0, &PERIHELION, f64::INFINITY, &options, &mut observe) else {
        panic!("options")
    };
    assert_eq!(end.status, Status::Stopped);
    assert!((end.t - std::f64::consts::PI).abs() < 1e-10, "{}", end.t - std::f64::consts::PI);
    assert!((end.y[0] + 1.5).abs() < 1e-10 && end.y[1].abs() < 1e-15);
}
