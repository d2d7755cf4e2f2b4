//! What the loop asks of a one-step method.

use super::controller::StepControl;
use super::outcome::Stats;
use super::system::System;
use crate::real::Real;

/// Where a step starts.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a, R> {
    /// Time.
    pub t: R,
    /// State.
    pub y: &'a [R],
    /// Slope `f(t, y)`.
    pub dy: &'a [R],
}

/// A step that was accepted.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a, R> {
    /// Where it started.
    pub start: Start<'a, R>,
    /// Its length.
    pub h: R,
    /// State at its end.
    pub y_new: &'a [R],
    /// Slope at its end.
    pub dy_new: &'a [R],
}

/// What a step may use besides the system.
pub struct Context<'a> {
    /// Counters to add to.
    pub stats: &'a mut Stats,
    /// True: give up, the caller wants to end.
    pub interrupted: &'a mut dyn FnMut() -> bool,
}

/// What came of a trial step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trial {
    /// It was computed; its scaled error, to be compared with 1.
    Computed {
        /// The scaled error.
        error: f64,
    },
    /// It could not be computed (not finite, Newton does not converge, singular system): try again with the step
    /// times `factor`.
    Failed {
        /// What to multiply the step with, in (0, 1).
        factor: f64,
    },
    /// The caller wanted to end.
    Interrupted,
}

/// A one-step method with its workspace.
pub trait Stepper<R: Real, S: System<R>> {
    /// Order of the error estimate, and the caution that fits the step last tried.
    fn control(&self) -> StepControl;

    /// Try a step of length `h > 0`. The weights of the error norm are set.
    fn attempt(&mut self, system: &mut S, start: Start<'_, R>, h: R, context: &mut Context<'_>) -> Trial;

    /// State at the end of the step last tried.
    fn end(&self) -> &[R];

    /// The step last tried is accepted, and the controller proposes the factor `growth` for the next one: keep what
    /// dense output and the next step need. Returns the factor really wanted (a method may prefer to keep its step).
    fn accept(&mut self, system: &mut S, segment: &Segment<'_, R>, growth: f64) -> f64;

    /// Dense output of the accepted step at the fraction `theta` of it.
    fn interpolate(&mut self, system: &mut S, segment: &Segment<'_, R>, theta: R, out: &mut [R], stats: &mut Stats);

    /// The accepted step cut at the fraction `theta`, as accurate as a step of that length. False if that failed, or if
    /// the caller wanted to end.
    fn refine(
        &mut self,
        system: &mut S,
        segment: &Segment<'_, R>,
        theta: R,
        out: &mut [R],
        context: &mut Context<'_>,
    ) -> bool;

    /// True if stability has limited the steps of late.
    fn is_stiff(&self) -> bool {
        false
    }
}
