//! Who watches an integration: saves rows, looks for events, decides that it is over.

use super::outcome::Stats;
use super::stepper::{Context, Segment, Stepper};
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
    /// Time at its end. (`t_old + h` up to rounding; exactly the end of the interval in the last step.)
    pub t_new: R,
    pub(super) segment: Segment<'a, R>,
    pub(super) stepper: &'a mut dyn Stepper<R, S>,
    pub(super) stats: &'a mut Stats,
}

impl<R: Real, S: System<R>> Step<'_, R, S> {
    /// Time at the start.
    #[must_use]
    pub fn t_old(&self) -> R {
        self.segment.start.t
    }

    /// State at the start.
    #[must_use]
    pub fn y_old(&self) -> &[R] {
        self.segment.start.y
    }

    /// Slope at the start.
    #[must_use]
    pub fn dy_old(&self) -> &[R] {
        self.segment.start.dy
    }

    /// State at the end.
    #[must_use]
    pub fn y_new(&self) -> &[R] {
        self.segment.y_new
    }

    /// Slope at the end.
    #[must_use]
    pub fn dy_new(&self) -> &[R] {
        self.segment.dy_new
    }

    /// Counters so far.
    #[must_use]
    pub fn stats(&self) -> &Stats {
        self.stats
    }

    /// The state at `t_old ≤ t ≤ t_new` from the dense output of the method: cheap, continuous from step to step, and
    /// as accurate as the estimate that was controlled (which for Radau is coarser than the solution at the end).
    pub fn at(&mut self, system: &mut S, t: R, out: &mut [R]) {
        let theta = self.fraction(t);
        self.stepper.interpolate(system, &self.segment, theta, out, self.stats);
    }

    /// The state at `t_old ≤ t ≤ t_new` as accurately as the end of a step: for Radau a step of its own from the start
    /// to `t`, begun from the dense output with the Jacobian at hand. Where that step fails, the dense output.
    ///
    /// `interrupted` is polled as [`Observer::interrupted`] is; once it is true this returns false, and `out` means nothing.
    pub fn refined_at(&mut self, system: &mut S, t: R, out: &mut [R], interrupted: &mut dyn FnMut() -> bool) -> bool {
        let theta = self.fraction(t);
        if theta == R::ONE {
            out.copy_from_slice(self.segment.y_new);
        } else if theta == R::ZERO {
            out.copy_from_slice(self.segment.start.y);
        } else if !self.refine(system, theta, out, interrupted) {
            if interrupted() {
                return false;
            }
            self.stepper.interpolate(system, &self.segment, theta, out, self.stats);
        }
        true
    }

    fn refine(&mut self, system: &mut S, theta: R, out: &mut [R], interrupted: &mut dyn FnMut() -> bool) -> bool {
        let mut context = Context { stats: &mut *self.stats, interrupted };
        self.stepper.refine(system, &self.segment, theta, out, &mut context)
    }

    /// `t` as a fraction of the step, in [0, 1].
    fn fraction(&self, t: R) -> R {
        if t >= self.t_new {
            R::ONE
        } else if t > self.segment.start.t {
            (t - self.segment.start.t) / self.segment.h
        } else {
            R::ZERO
        }
    }
}
