//! Who watches an integration: saves rows, looks for events, decides that it is over.

use super::stepper::Stepper;
use super::system::System;
use crate::real::Real;

/// What the observer wants after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action<R> {
    /// Go on.
    Continue,
    /// End here, at the end of the step.
    Stop,
    /// End at this time inside the step (clamped to it): the state returned is [`Step::refined_at`] it.
    StopAt(R),
}

/// Watches an integration of a system of type `S`.
pub trait Observer<R: Real, S: System<R>> {
    /// Called after every accepted step, before [`System::accepted`].
    fn step(&mut self, system: &mut S, step: &mut Step<'_, R, S>) -> Action<R>;

    /// Polled often (before every trial step and every Newton iteration), so it must be cheap. True ends the
    /// integration at the last accepted state.
    fn interrupted(&mut self) -> bool {
        false
    }
}

/// Nobody watches.
impl<R: Real, S: System<R>> Observer<R, S> for () {
    fn step(&mut self, _system: &mut S, _step: &mut Step<'_, R, S>) -> Action<R> {
        Action::Continue
    }
}

/// A closure watches.
impl<R: Real, S: System<R>, F: FnMut(&mut S, &mut Step<'_, R, S>) -> Action<R>> Observer<R, S> for F {
    fn step(&mut self, system: &mut S, step: &mut Step<'_, R, S>) -> Action<R> {
        self(system, step)
    }
}

/// An accepted step from `(t_old, y_old)` to `(t_new, y_new)`, and the solution in between.
pub struct Step<'a, R: Real, S: System<R>> {
    /// Time at its start.
    pub t_old: R,
    /// Time at its end.
    pub t_new: R,
    /// State at its start.
    pub y_old: &'a [R],
    /// State at its end.
    pub y_new: &'a [R],
    /// Slope at its start.
    pub dy_old: &'a [R],
    pub(super) stepper: &'a mut dyn Stepper<R, S>,
    pub(super) rhs: &'a mut u64,
}

impl<R: Real, S: System<R>> Step<'_, R, S> {
    /// The state at `t_old ≤ t ≤ t_new` from the dense output of the method: cheap, continuous from step to step, and
    /// as accurate as the estimate that was controlled (which for Radau is coarser than the solution at the end).
    pub fn at(&mut self, system: &mut S, t: R, out: &mut [R]) {
        todo!()
    }

    /// The state at `t_old ≤ t ≤ t_new` as accurately as the end of a step: for Radau a step of its own from the start
    /// to `t`, begun from the dense output with the Jacobian at hand. Where that step fails, the dense output.
    pub fn refined_at(&mut self, system: &mut S, t: R, out: &mut [R]) {
        todo!()
    }
}
