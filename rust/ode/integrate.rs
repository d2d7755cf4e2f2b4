//! The loop: the stepper proposes, the controller disposes, the observer watches. Knows no method and no problem.

use super::controller::{Accepted, Decision, History};
use super::initial_step::{first_step, probe};
use super::observer::{Action, Observer, Step};
use super::options::{InvalidOption, Options};
use super::outcome::{Outcome, Stats, Status};
use super::stepper::{Context, Start, Stepper, Trial};
use super::system::System;
use crate::real::Real;

/// Integrate `y' = f(t, y)` from `(t, y)` to `t_end ≥ t` (which may be infinite) with `stepper`.
///
/// The final state is in the outcome whatever the status. An infinite end stands for the largest finite time.
///
/// # Errors
/// [`InvalidOption`] if a setting is outside its interval, `y` has not [`System::dim`] entries, or `t_end < t`.
pub fn integrate<R, S, M, O>(
    stepper: &mut M,
    system: &mut S,
    t: R,
    y: &[R],
    t_end: R,
    options: &Options,
    observer: &mut O,
) -> Result<Outcome<R>, InvalidOption>
where
    R: Real,
    S: System<R>,
    M: Stepper<R, S>,
    O: Observer<R, S>,
{
    options.validate()?;
    let n = system.dim();
    if y.len() != n {
        return Err(InvalidOption { name: "y", found: y.len() as f64, expected: "as long as the system's dimension" });
    }
    if !(t.is_finite() && t <= t_end) {
        return Err(InvalidOption { name: "t_end", found: t_end.to_f64(), expected: "at least the initial time" });
    }
    let t_end = if t_end.is_finite() { t_end } else { R::from_f64(f64::MAX) };
    let mut run = Run::new(t, y, t_end, options);
    let status = run.to_the_end(stepper, system, observer);
    Ok(Outcome { t: run.t, y: run.y, status, stats: run.stats })
}

/// The state of the loop.
struct Run<'a, R> {
    t: R,
    y: Vec<R>,
    dy: Vec<R>,
    y_new: Vec<R>,
    scratch: Vec<f64>,
    t_end: R,
    options: &'a Options,
    stats: Stats,
    history: History,
}

impl<'a, R: Real> Run<'a, R> {
    fn new(t: R, y: &[R], t_end: R, options: &'a Options) -> Self {
        let n = y.len();
        Self {
            t,
            y: y.to_vec(),
            dy: vec![R::ZERO; n],
            y_new: y.to_vec(),
            scratch: vec![0.0; n],
            t_end,
            options,
            stats: Stats::default(),
            history: History::default(),
        }
    }

    fn to_the_end<S, M, O>(&mut self, stepper: &mut M, system: &mut S, observer: &mut O) -> Status
    where
        S: System<R>,
        M: Stepper<R, S>,
        O: Observer<R, S>,
    {
        todo!()
    }
}
