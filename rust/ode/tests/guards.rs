//! What happens when things go wrong, end, or are asked to.

use super::super::{
    Action, Explicit, Implicit, InvalidOption, Observer, Options, Outcome, Problem, Radau, Status, Step, System,
    integrate,
};
use super::radau;
use crate::linalg::SquareMatrix;

type Rhs = fn(f64, &[f64], &mut [f64]);
type Jacobian = fn(f64, &[f64], &mut SquareMatrix);

fn scalar(rhs: Rhs, jacobian: Jacobian) -> Problem<Rhs, Jacobian> {
    Problem::new(1, rhs, jacobian, 1e-8, 1e-300)
}

fn growth() -> Problem<Rhs, Jacobian> {
    scalar(|_, y, dy| dy[0] = y[0], |_, _, j| j.set(0, 0, 1.0))
}

/// Both methods on the same problem.
fn both(
    problem: &Problem<Rhs, Jacobian>,
    y: f64,
    t_end: f64,
    options: &Options,
    observer: &mut (impl Observer<f64, Problem<Rhs, Jacobian>> + Clone),
) -> [Outcome<f64>; 2] {
    let mut system = problem.clone();
    let implicit = radau(&mut system, 0.0, &[y], t_end, options, &mut observer.clone());
    let mut stepper = Explicit::new(&system, options);
    let Ok(explicit) = integrate(&mut stepper, &mut system, 0.0, &[y], t_end, options, observer) else {
        panic!("options")
    };
    [implicit, explicit]
}

fn options() -> Options {
    Options { rtol: 1e-8, ..Options::default() }
}

#[test]
fn a_blow_up_ends_with_a_status_just_before_it_and_a_finite_state() {
    let problem = scalar(|_, y, dy| dy[0] = y[0] * y[0], |_, y, j| j.set(0, 0, 2.0 * y[0]));
    for end in both(&problem, 1.0, 2.0, &options(), &mut ()) {
        assert_eq!(end.status, Status::StepTooSmall);
        assert!(end.y[0].is_finite() && end.y[0] > 1e6);
        // y = 1/(1 − t): the time of blow-up inherits the relative error of the solution.
        assert!((end.t - 1.0).abs() < 1e-6, "{}", end.t);
    }
}

#[test]
fn a_right_hand_side_that_ends_is_followed_to_its_end_and_never_beyond() {
    // y' = −1/√y reaches 0 at t = 2/3 y₀^(3/2) and is NaN from there.
    let problem = scalar(|_, y, dy| dy[0] = -1.0 / y[0].sqrt(), |_, y, j| j.set(0, 0, 0.5 / y[0].powf(1.5)));
    for end in both(&problem, 1.0, 1.0, &options(), &mut ()) {
        assert_eq!(end.status, Status::StepTooSmall);
        assert!(end.y[0] >= 0.0);
        assert!((end.t - 2.0 / 3.0).abs() < 1e-6, "{}", end.t);
    }
}

#[test]
fn a_start_without_a_finite_slope_is_reported_as_such() {
    let problem = scalar(|_, y, dy| dy[0] = y[0].sqrt(), |_, _, j| j.set(0, 0, 1.0));
    for end in both(&problem, -1.0, 1.0, &options(), &mut ()) {
        assert_eq!((end.status, end.t, end.stats.accepted), (Status::NotFinite, 0.0, 0));
    }
}

#[test]
fn nothing_that_moves_never_is_integrated_to_any_end_in_one_step() {
    let still = scalar(|_, _, dy| dy[0] = 0.0, |_, _, _| ());
    for t_end in [1e-300, 1.0, 1e300, f64::INFINITY] {
        for end in both(&still, 3.0, t_end, &options(), &mut ()) {
            assert_eq!((end.status, end.t, end.y[0]), (Status::ReachedEnd, t_end.min(f64::MAX), 3.0));
            assert_eq!(end.stats.accepted, 1);
        }
    }
}

#[test]
fn any_scale_of_time_takes_the_same_number_of_steps() {
    // y' = λ (1 − y) until t = 3/λ.
    let steps = |lambda: f64| {
        let rhs = move |_: f64, y: &[f64], dy: &mut [f64]| dy[0] = lambda * (1.0 - y[0]);
        let mut system =
            Problem::new(1, rhs, move |_: f64, _: &[f64], j: &mut SquareMatrix| j.set(0, 0, -lambda), 1e-8, 1e-8);
        let end = radau(&mut system, 0.0, &[0.0], 3.0 / lambda, &options(), &mut ());
        assert_eq!(end.status, Status::ReachedEnd);
        assert!((end.y[0] + (-3.0_f64).exp_m1()).abs() < 1e-8);
        end.stats.accepted
    };
    // Powers of two, so that rounding is the same.
    let one = steps(1.0);
    for exponent in [-990, -100, 100, 990] {
        assert_eq!(steps(2.0_f64.powi(exponent)), one);
    }
}

#[test]
fn the_interval_ends_exactly_where_it_was_told_to() {
    for t_end in [0.1, 1.0, 7.3, 0.0] {
        for end in both(&growth(), 1.0, t_end, &options(), &mut ()) {
            assert_eq!((end.status, end.t), (Status::ReachedEnd, t_end));
            assert!((end.y[0] / t_end.exp() - 1.0).abs() < 1e-7);
        }
    }
}

#[test]
fn the_budget_of_steps_is_kept_and_its_state_is_a_point_of_the_solution() {
    let few = Options { max_steps: Some(4), first_step: Some(1e-3), ..options() };
    for end in both(&growth(), 1.0, 100.0, &few, &mut ()) {
        assert_eq!(end.status, Status::MaxSteps);
        assert_eq!(end.stats.accepted + end.stats.rejected, 4);
        assert!((end.y[0] / end.t.exp() - 1.0).abs() < 1e-8 && end.t > 0.0);
    }
}

#[test]
fn no_step_is_longer_than_the_longest_allowed() {
    let short = Options { max_step: 0.125, ..options() };
    let mut watch = |_: &mut Problem<Rhs, Jacobian>, step: &mut Step<'_, f64, Problem<Rhs, Jacobian>>| {
        // The last step may stretch by 1 % to meet the end.
        assert!(step.t_new - step.t_old() <= 0.125 * 1.01);
        Action::Continue
    };
    for end in both(&growth(), 1.0, 2.0, &short, &mut watch) {
        assert!(end.stats.accepted >= 15);
    }
}

#[test]
fn the_observer_stops_at_the_end_of_a_step_or_inside_it() {
    let mut at_end = |_: &mut Problem<Rhs, Jacobian>, step: &mut Step<'_, f64, Problem<Rhs, Jacobian>>| {
        if step.t_new > 1.0 { Action::Stop } else { Action::Continue }
    };
    let mut inside = |_: &mut Problem<Rhs, Jacobian>, step: &mut Step<'_, f64, Problem<Rhs, Jacobian>>| {
        if step.t_new > 1.0 { Action::StopAt(1.0) } else { Action::Continue }
    };
    for end in both(&growth(), 1.0, f64::INFINITY, &options(), &mut at_end) {
        assert_eq!(end.status, Status::Stopped);
        assert!(end.t > 1.0 && (end.y[0] / end.t.exp() - 1.0).abs() < 1e-7);
    }
    for end in both(&growth(), 1.0, f64::INFINITY, &options(), &mut inside) {
        assert_eq!((end.status, end.t), (Status::Stopped, 1.0));
        assert!((end.y[0] / 1.0_f64.exp() - 1.0).abs() < 1e-7);
    }
}

/// Interrupts at its `after`-th poll.
#[derive(Clone)]
struct Impatient {
    polls: u32,
    after: u32,
}

impl<S: System<f64>> Observer<f64, S> for Impatient {
    fn step(&mut self, _: &mut S, _: &mut Step<'_, f64, S>) -> Action<f64> {
        Action::Continue
    }

    fn interrupted(&mut self) -> bool {
        self.polls += 1;
        self.polls > self.after
    }
}

#[test]
fn an_interruption_returns_the_last_accepted_state() {
    for after in [0, 1, 7, 40] {
        for end in both(&growth(), 1.0, 1e3, &options(), &mut Impatient { polls: 0, after }) {
            assert_eq!(end.status, Status::Interrupted);
            assert!((end.y[0] / end.t.exp() - 1.0).abs() < 1e-6);
        }
    }
}

#[test]
fn arguments_that_make_no_sense_are_refused_by_name() {
    let refuse = |y: &[f64], t: f64, t_end: f64| -> InvalidOption {
        let mut system = growth();
        let mut stepper = Radau::new::<Problem<Rhs, Jacobian>>(&system, &options());
        match integrate(&mut stepper, &mut system, t, y, t_end, &options(), &mut ()) {
            Ok(end) => panic!("accepted: {end:?}"),
            Err(error) => error,
        }
    };
    assert_eq!(refuse(&[1.0, 2.0], 0.0, 1.0).to_string(), "y must be as long as the system's dimension: got 2");
    assert_eq!(
        refuse(&[1.0], 0.0, -1.0).to_string(),
        "t_end must be at least the initial time, which must be finite: got -1"
    );
    assert_eq!(refuse(&[1.0], 0.0, f64::NAN).name, "t_end");
    assert_eq!(refuse(&[1.0], f64::INFINITY, f64::INFINITY).name, "t_end");
}

/// `y' = y` with the state kept as an offset from a reference that moves with it.
struct Rebased {
    reference: f64,
    inner: Problem<Rhs, Jacobian>,
}

impl System<f64> for Rebased {
    fn dim(&self) -> usize {
        1
    }

    fn rhs(&mut self, _: f64, y: &[f64], dy: &mut [f64]) {
        dy[0] = self.reference + y[0];
    }

    fn set_error_weights(&mut self, t: f64, y: &[f64], dy: &[f64]) {
        self.inner.set_error_weights(t, &[self.reference + y[0]], dy);
    }

    fn error_norm(&mut self, e: &[f64]) -> f64 {
        System::<f64>::error_norm(&mut self.inner, e)
    }

    fn accepted(&mut self, _: f64, y: &mut [f64]) -> bool {
        self.reference += y[0];
        y[0] = 0.0;
        true
    }
}

impl Implicit<f64> for Rebased {
    type Solver = super::super::DenseJacobian;

    fn jacobian(&mut self, t: f64, y: &[f64], solver: &mut Self::Solver) -> bool {
        self.inner.jacobian(t, y, solver)
    }

    fn new_solver(&self) -> Self::Solver {
        Implicit::<f64>::new_solver(&self.inner)
    }
}

#[test]
fn a_system_may_move_its_state_into_a_reference_after_every_step() {
    let mut rebased = Rebased { reference: 1.0, inner: growth() };
    let end = radau(&mut rebased, 0.0, &[0.0], 5.0, &options(), &mut ());
    let plain = radau(&mut growth(), 0.0, &[1.0], 5.0, &options(), &mut ());
    assert_eq!(end.y, [0.0]);
    assert_eq!(end.stats, plain.stats, "the extrapolated first guesses must not notice");
    assert!((rebased.reference / plain.y[0] - 1.0).abs() < 1e-13);
}
