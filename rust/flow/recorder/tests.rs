//! The recorder on a run that is known in closed form, `β(t) = 1 − e^{−t}`, with the residual `e^{−t}`.

use super::{Frame, Recorder, Shown};
use crate::flow::clock::Clock;
use crate::flow::outcome::AUTOMATIC_ROWS;
use crate::flow::{Flow, Monitor, Observable, Options, Stats, Status};
use std::cell::Cell;
use std::rc::Rc;

/// The state is the residual.
struct Decay;

impl Shown for Decay {
    fn show(&mut self, states: &[f64], beta: &mut [f64], residual: &mut [f64]) {
        residual.copy_from_slice(states);
        beta.iter_mut().zip(states).for_each(|(beta, r)| *beta = 1.0 - r);
    }

    fn largest(&mut self, _beta: &[f64], residual: &[f64]) -> f64 {
        residual[0].abs()
    }

    fn potential(&mut self, beta: &[f64]) -> f64 {
        0.5 * beta[0] * beta[0]
    }
}

const OBSERVABLES: [Observable; 3] = [Observable::Residual, Observable::Potential, Observable::MaxNorm];
/// Flow time in a unit of the run.
const UNIT: f64 = 4.0;

/// From 0 to 1 by a formula, then in steps of a quarter to `to`, in the time of the run, where it ends with `status`.
fn run(options: &Options<'_>, monitor: &dyn Monitor, to: f64, status: Status) -> Flow {
    let frame = Frame { features: 1, samples: 1, dim: 1, clock: Clock::new(1.0, -2), first: 1e-3 };
    let mut recorder = Recorder::new(options, monitor, frame);
    let at = |t: f64, state: &mut [f64]| state[0] = (-UNIT * t).exp();
    recorder.start(&mut Decay, &[1.0], (1.0, 1e-12));
    let mut going = recorder.pass_formula(&mut Decay, 1.0, &(Rc::new(at) as super::Formula));
    let mut from = 1.0;
    while going && from < to.min(recorder.horizon()) {
        let next = from + 0.25;
        going = recorder.pass(&mut Decay, from, next, &mut |t, state| {
            at(t, state);
            true
        });
        from = next;
    }
    let end = [(-UNIT * from).exp()];
    recorder.finish(&mut Decay, &end, status, Stats::default(), Vec::new())
}

fn assert_exact(flow: &Flow, tol: f64) {
    for (row, time) in flow.times.iter().enumerate() {
        let r = (-time).exp();
        assert!((flow.beta[row] - (1.0 - r)).abs() < tol, "t = {time}");
        assert!((flow.loss[row] - 0.5 * r * r).abs() < tol);
        assert!((flow.observables[0][row] - r).abs() < tol);
        assert!((flow.observables[1][row] - 0.5 * (1.0 - r).powi(2)).abs() < tol);
    }
}

#[test]
fn rows_at_given_times_carry_those_times_and_the_states_there() {
    let times = [0.0, 1e-300, 0.3, 4.0, 4.1, 11.3];
    let options = Options { times: Some(&times), observables: &OBSERVABLES, ..Options::default() };
    let flow = run(&options, &|| false, f64::INFINITY, Status::ReachedEnd);
    assert_eq!((flow.times.as_slice(), flow.status), (times.as_slice(), Status::ReachedEnd));
    // The states come from the exponential itself.
    assert_exact(&flow, 1e-15);
}

#[test]
fn rows_past_an_end_that_is_stationary_repeat_it_and_those_past_any_other_are_missing() {
    let times = [1.0, 9.0, 100.0, 200.0];
    let options = Options { times: Some(&times), observables: &OBSERVABLES, ..Options::default() };
    let flow = run(&options, &|| false, 5.0, Status::Converged);
    assert_eq!((flow.times.as_slice(), flow.status), (times.as_slice(), Status::ReachedEnd));
    assert_eq!((flow.beta[2], flow.beta[3]), (1.0 - (-20.0f64).exp(), flow.beta[2]));
    assert_eq!(flow.observables[2], [flow.beta[0], flow.beta[1], flow.beta[2], flow.beta[2]]);
    let flow = run(&options, &|| false, 5.0, Status::MaxSteps);
    assert_eq!((flow.times.as_slice(), flow.status), (&times[..2], Status::MaxSteps));
}

#[test]
fn automatic_rows_begin_at_0_rise_and_end_with_the_run() {
    let options = Options { observables: &OBSERVABLES, ..Options::default() };
    let flow = run(&options, &|| false, 8.0, Status::Converged);
    assert_eq!((flow.times.len(), flow.status), (AUTOMATIC_ROWS, Status::Converged));
    assert_eq!((flow.times[0], flow.times[AUTOMATIC_ROWS - 1]), (0.0, 8.0 * UNIT));
    assert!(flow.times.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(flow.beta[AUTOMATIC_ROWS - 1], 1.0 - (-8.0 * UNIT).exp());
    // On a step of length 1 in t, interpolation of e^{−t} at 8 Chebyshev points errs by 2 (1/4)^8 / 8! = 8e-10.
    assert_exact(&flow, 1e-9);
}

#[test]
fn only_the_last_row_is_kept_where_the_others_are_not_wanted() {
    let options = Options { observables: &OBSERVABLES, save_beta: false, ..Options::default() };
    let flow = run(&options, &|| false, 8.0, Status::Converged);
    assert_eq!((flow.beta.len(), flow.states.len(), flow.loss.len()), (1, 1, AUTOMATIC_ROWS));
    assert_eq!(flow.states[0], (-8.0 * UNIT).exp());
}

#[test]
fn the_last_row_has_a_beta_though_no_number_of_it_was_asked_for() {
    let options = Options { save_beta: false, ..Options::default() };
    let flow = run(&options, &|| false, 8.0, Status::Converged);
    assert_eq!(flow.beta, [1.0 - (-8.0 * UNIT).exp()]);
    assert_eq!((flow.states.len(), flow.loss.len()), (1, AUTOMATIC_ROWS));
}

#[test]
fn whoever_presses_ctrl_c_gets_a_few_rows_and_the_last_one() {
    // Asked before the first batch of rows, and so on: the third answer is yes.
    let asked = Cell::new(0);
    let impatient = || asked.replace(asked.get() + 1) >= 2;
    let flow = run(&Options::default(), &impatient, 8.0, Status::Converged);
    assert_eq!(flow.status, Status::Interrupted);
    assert!((66..=80).contains(&flow.times.len()), "{} rows", flow.times.len());
    assert_eq!(flow.times.last(), Some(&(8.0 * UNIT)));
    assert!(flow.times.windows(2).all(|pair| pair[0] < pair[1]));
}

#[test]
fn a_run_that_is_told_to_stop_at_its_rows_keeps_those_before() {
    let times: Vec<f64> = (0..100).map(f64::from).collect();
    let asked = Cell::new(0);
    let impatient = || asked.replace(asked.get() + 1) >= 7;
    let options = Options { times: Some(&times), ..Options::default() };
    let flow = run(&options, &impatient, f64::INFINITY, Status::ReachedEnd);
    assert_eq!((flow.times.len(), flow.status), (8, Status::Interrupted));
}
