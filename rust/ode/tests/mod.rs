//! Laws of the whole integrator, on problems whose answer is known some other way.

mod convergence;
mod dual_flow;
mod stiff;

use super::{Action, Implicit, Observer, Options, Outcome, Radau, System, integrate};
use crate::real::Real;

/// Integrate by Radau; panics if an option is invalid.
fn radau<R: Real, S: Implicit<R>>(
    system: &mut S,
    t: R,
    y: &[R],
    t_end: R,
    options: &Options,
    observer: &mut impl Observer<R, S>,
) -> Outcome<R> {
    let mut stepper = Radau::new(system, options);
    match integrate(&mut stepper, system, t, y, t_end, options, observer) {
        Ok(outcome) => outcome,
        Err(error) => panic!("{error}"),
    }
}

/// Options for one method of Radau alone.
fn only(stages: usize, rtol: f64) -> Options {
    Options { rtol, min_stages: stages, max_stages: stages, ..Options::default() }
}

/// An observer that never stops, for closures whose type the compiler cannot guess.
fn carry_on<R: Real, S: System<R>>() -> impl Observer<R, S> {
    |_: &mut S, _: &mut super::Step<'_, R, S>| Action::Continue
}
