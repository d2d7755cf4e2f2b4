//! The loop: the stepper proposes, the controller disposes, the observer watches. Knows no method and no problem.

use super::controller::{Accepted, Decision, History, StepControl};
use super::initial_step::{first_step, probe};
use super::observer::{Action, Observer, Step};
use super::options::{InvalidOption, Options};
use super::outcome::{Outcome, Stats, Status};
use super::stepper::{Context, Segment, Start, Stepper, Trial};
use super::system::System;
use crate::real::Real;
use core::cmp::Ordering;

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
        return Err(InvalidOption {
            name: "t_end",
            found: t_end.to_f64(),
            expected: "at least the initial time, which must be finite",
        });
    }
    let t_end = if t_end.is_finite() { t_end } else { R::from_f64(f64::MAX) };
    let mut run = Run::new(t, y, t_end, options);
    let status = run.go_to_the_end(stepper, system, observer);
    Ok(Outcome { t: run.t, y: run.y, status, stats: run.stats })
}

/// The state of the loop.
struct Run<'a, R> {
    t: R,
    y: Vec<R>,
    dy: Vec<R>,
    y_new: Vec<R>,
    dy_new: Vec<R>,
    difference: Vec<f64>,
    /// Room for a state inside a step.
    inside: Vec<R>,
    t_end: R,
    options: &'a Options,
    stats: Stats,
    history: History,
}

/// What came of one turn of the loop.
enum Turn {
    /// Go on with this step.
    Next(f64),
    /// It is over.
    End(Status),
}

impl<'a, R: Real> Run<'a, R> {
    fn new(t: R, y: &[R], t_end: R, options: &'a Options) -> Self {
        let n = y.len();
        Self {
            t,
            y: y.to_vec(),
            dy: vec![R::ZERO; n],
            y_new: y.to_vec(),
            dy_new: vec![R::ZERO; n],
            difference: vec![0.0; n],
            inside: vec![R::ZERO; n],
            t_end,
            options,
            stats: Stats::default(),
            history: History::default(),
        }
    }

    fn go_to_the_end<S, M, O>(&mut self, stepper: &mut M, system: &mut S, observer: &mut O) -> Status
    where
        S: System<R>,
        M: Stepper<R, S>,
        O: Observer<R, S>,
    {
        system.rhs(self.t, &self.y, &mut self.dy);
        self.stats.rhs += 1;
        if !(all_finite(&self.y) && all_finite(&self.dy)) {
            return Status::NotFinite;
        }
        let mut h = self.first_step(stepper.control(), system);
        loop {
            if self.t >= self.t_end {
                return Status::ReachedEnd;
            }
            match self.turn(h, stepper, system, observer) {
                Turn::Next(next) => h = next,
                Turn::End(status) => return status,
            }
        }
    }

    /// The stepper proposes, the controller disposes.
    fn turn<S, M, O>(&mut self, h: f64, stepper: &mut M, system: &mut S, observer: &mut O) -> Turn
    where
        S: System<R>,
        M: Stepper<R, S>,
        O: Observer<R, S>,
    {
        if self.options.max_steps.is_some_and(|most| self.stats.accepted + self.stats.rejected >= most) {
            return Turn::End(Status::MaxSteps);
        }
        if observer.interrupted() {
            return Turn::End(Status::Interrupted);
        }
        system.set_error_weights(self.t, &self.y, &self.dy);
        let (h, t_new) = self.fit(h.min(system.step_cap(self.t, &self.y, &self.dy)));
        // NaN ends here too.
        if t_new.partial_cmp(&self.t) != Some(Ordering::Greater) {
            return Turn::End(Status::StepTooSmall);
        }
        let start = Start { t: self.t, y: &self.y, dy: &self.dy };
        let mut interrupted = || observer.interrupted();
        let mut context = Context { stats: &mut self.stats, interrupted: &mut interrupted };
        let error = match stepper.attempt(system, start, h, &mut context) {
            Trial::Interrupted => return Turn::End(Status::Interrupted),
            Trial::Failed { factor } => return self.reject(h.to_f64() * factor),
            Trial::Computed { error } => error,
        };
        match stepper.control().judge(h.to_f64(), error, self.history) {
            Decision::Reject { h_retry } => self.reject(h_retry),
            Decision::Accept { h_next } => {
                self.y_new.copy_from_slice(stepper.end());
                system.rhs(t_new, &self.y_new, &mut self.dy_new);
                self.stats.rhs += 1;
                let finite = all_finite(&self.y_new) && all_finite(&self.dy_new);
                if !(finite && system.admits(&self.dy, &self.y_new, &self.dy_new)) {
                    return self.reject(h.to_f64() * stepper.control().min_factor);
                }
                let order = stepper.control().order;
                let segment = Segment { start, h, y_new: &self.y_new, dy_new: &self.dy_new };
                let growth = stepper.accept(system, &segment, h_next / h.to_f64());
                let kept = stepper.control().order == order;
                self.history = History { last: kept.then_some(Accepted { h: h.to_f64(), err: error }), retried: false };
                self.stats.accepted += 1;
                self.finish(h, t_new, growth, stepper, system, observer)
            }
        }
    }

    fn reject(&mut self, h_retry: f64) -> Turn {
        self.stats.rejected += 1;
        self.history.retried = true;
        Turn::Next(h_retry)
    }

    /// The accepted step is shown to the observer and becomes the state.
    fn finish<S, M, O>(
        &mut self,
        h: R,
        t_new: R,
        growth: f64,
        stepper: &mut M,
        system: &mut S,
        observer: &mut O,
    ) -> Turn
    where
        S: System<R>,
        M: Stepper<R, S>,
        O: Observer<R, S>,
    {
        let start = Start { t: self.t, y: &self.y, dy: &self.dy };
        let segment = Segment { start, h, y_new: &self.y_new, dy_new: &self.dy_new };
        let mut step = Step { t_new, segment, stepper, stats: &mut self.stats };
        let end = match observer.step(system, &mut step) {
            Action::Continue => None,
            Action::Stop => Some(Status::Stopped),
            Action::StopAt(t) => {
                let t = if t < self.t {
                    self.t
                } else if t < t_new {
                    t
                } else {
                    t_new
                };
                let mut inside = core::mem::take(&mut self.inside);
                // The run ends here in any case: nothing is left to be interrupted.
                step.refined_at(system, t, &mut inside, &mut || false);
                self.y.copy_from_slice(&inside);
                self.t = t;
                return Turn::End(Status::Stopped);
            }
        };
        let stiff = self.options.stop_when_stiff && stepper.is_stiff();
        core::mem::swap(&mut self.y, &mut self.y_new);
        core::mem::swap(&mut self.dy, &mut self.dy_new);
        self.t = t_new;
        if let Some(status) = end {
            return Turn::End(status);
        }
        system.accepted(t_new, &mut self.y);
        if stiff && t_new < self.t_end { Turn::End(Status::Stiff) } else { Turn::Next(h.to_f64() * growth) }
    }

    /// First step: as told, or from the slope and its change over a short probing step.
    fn first_step<S: System<R>>(&mut self, control: StepControl, system: &mut S) -> f64 {
        let longest = (self.t_end - self.t).to_f64().min(self.options.max_step);
        if let Some(h) = self.options.first_step {
            return h.min(longest);
        }
        system.set_error_weights(self.t, &self.y, &self.dy);
        for (d, slope) in self.difference.iter_mut().zip(&self.dy) {
            *d = slope.to_f64();
        }
        let slope = system.error_norm(&self.difference);
        let cap = longest.min(system.step_cap(self.t, &self.y, &self.dy));
        let short = probe(slope, cap);
        let h = R::from_f64(short);
        for ((new, y), slope) in self.y_new.iter_mut().zip(&self.y).zip(&self.dy) {
            *new = *y + h * *slope;
        }
        system.rhs(self.t + h, &self.y_new, &mut self.dy_new);
        self.stats.rhs += 1;
        for ((d, new), old) in self.difference.iter_mut().zip(&self.dy_new).zip(&self.dy) {
            *d = (*new - *old).to_f64();
        }
        let change = system.error_norm(&self.difference);
        if !change.is_finite() {
            return short;
        }
        // The time over which the slope changes; infinite where it does not.
        let tau = short * (slope / change);
        let cap = if tau > 0.0 { cap.min(control.first * tau) } else { cap };
        first_step(slope, change, short, control.order, self.options.rtol, cap)
    }

    /// The step to take when `h` is wanted, and where it ends: the end of the interval is met exactly, and not with a
    /// last step that is far shorter than the others.
    fn fit(&self, h: f64) -> (R, R) {
        let left = self.t_end - self.t;
        let ahead = left.to_f64();
        let h = h.min(self.options.max_step);
        if 1.01 * h >= ahead {
            (left, self.t_end)
        } else {
            let h = R::from_f64(if 2.0 * h > ahead { 0.5 * ahead } else { h });
            (h, self.t + h)
        }
    }
}

fn all_finite<R: Real>(v: &[R]) -> bool {
    v.iter().all(|x| x.is_finite())
}
