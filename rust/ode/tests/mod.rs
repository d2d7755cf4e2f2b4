//! Laws of the whole integrator, on problems whose answer is known some other way.

mod allocations;
mod attack;
mod convergence;
mod dual_flow;
mod explicit;
mod guards;
mod stiff;

use super::{Context, Implicit, Observer, Options, Outcome, Radau, Start, Stats, Stepper, Trial, integrate};
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

/// The end of one step from `(t, y)` with `stages` stages, whatever its error.
fn forced_step<R: Real, S: Implicit<R>>(system: &mut S, stages: usize, t: R, y: &[R], h: R) -> Vec<R> {
    let mut stepper = Radau::new(system, &only(stages, 1e-14));
    let mut dy = vec![R::ZERO; y.len()];
    system.rhs(t, y, &mut dy);
    system.set_error_weights(t, y, &dy);
    let mut stats = Stats::default();
    let mut context = Context { stats: &mut stats, interrupted: &mut || false };
    let trial = Stepper::<R, S>::attempt(&mut stepper, system, Start { t, y, dy: &dy }, h, &mut context);
    assert!(matches!(trial, Trial::Computed { .. }), "{trial:?}");
    Stepper::<R, S>::end(&stepper).to_vec()
}
