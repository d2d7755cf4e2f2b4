//! Watches one segment while it is integrated: rows, events, the end.

use super::guards::{Guard, Guards};
use super::number::Number;
use super::smooth::{Work, activate};
use super::stopping::Goal;
use super::units::{peak, scaled};
use crate::flow::Status;
use crate::flow::recorder::{Recorder, Shown};
use crate::ode::{Action, EventFinder, Observer, Step, System};
use crate::real::Real;

/// Weights outside of this range of their unit get another one.
const LARGEST: f64 = 1e30;

/// Why a segment ended, if its watch ended it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ending {
    /// The run is over.
    Verdict(Status),
    /// These guards fired.
    Event(Vec<Guard>),
    /// A weight has outgrown its unit.
    Units,
}

/// The observer of a segment.
pub(super) struct Watch<'s, 'r, 'p, 'i, R: Number = f64> {
    pub(super) guards: Guards<'s, R>,
    finder: EventFinder<R>,
    pub(super) recorder: &'r mut Recorder<'p, 'i, R>,
    pub(super) show: &'r mut dyn Shown<R>,
    pub(super) goal: Goal,
    /// Units of the neurons, which a recorded state ends with.
    pub(super) exponents: &'s [f64],
    /// Rows are asked for at given times, and must be as accurate as steps.
    pub(super) exact_rows: bool,
    /// Accepted steps before this segment.
    pub(super) steps: u64,
    pub(super) ending: Option<Ending>,
    state: Vec<R>,
    work: Work<R>,
}

impl<'s, 'r, 'p, 'i, R: Number> Watch<'s, 'r, 'p, 'i, R> {
    pub(super) fn new(
        guards: Guards<'s, R>,
        recorder: &'r mut Recorder<'p, 'i, R>,
        show: &'r mut dyn Shown<R>,
        goal: Goal,
        exponents: &'s [f64],
        exact_rows: bool,
        steps: u64,
    ) -> Self {
        let (n, k, m) = (guards.span.n, guards.span.k, exponents.len());
        Self {
            finder: EventFinder::new(guards.len()),
            guards,
            recorder,
            show,
            goal,
            exponents,
            exact_rows,
            steps,
            ending: None,
            state: vec![R::ZERO; m * (1 + k)],
            work: Work::new(m, n),
        }
    }

    /// The first event inside a step, and the guards that fire there.
    fn event<S: System<R>>(&mut self, system: &mut S, step: &mut Step<'_, R, S>) -> Option<(R, Vec<Guard>)> {
        let mut from = step.t_old();
        let to = step.t_new;
        loop {
            let (guards, state) = (&mut self.guards, &mut self.state);
            let event = self.finder.find(from, to, |t, out| {
                step.at(system, t, state);
                guards.evaluate(state, out);
            })?;
            let (t, fired) = (event.t, event.guards.to_vec());
            let first = fired[0];
            let found = fired.into_iter().map(|k| self.guards.get(k)).collect();
            match self.refine(system, step, t, first) {
                Some(t) => return Some((t, found)),
                // The dense output dips below zero, the solution does not.
                None if t < to => from = t,
                None => return None,
            }
        }
    }

    /// Rows up to `end` inside a step. False if somebody does not want to wait for them.
    fn rows<S: System<R>>(&mut self, system: &mut S, step: &mut Step<'_, R, S>, end: R) -> bool {
        let (dim, exact, exponents) = (self.state.len(), self.exact_rows, self.exponents);
        self.recorder.pass(self.show, step.t_old(), end, &mut |t, out| {
            out[dim..].iter_mut().zip(exponents).for_each(|(out, e)| *out = R::from_f64(*e));
            if exact {
                return step.refined_at(system, t, &mut out[..dim], &mut || false);
            }
            step.at(system, t, &mut out[..dim]);
            true
        })
    }

    /// Whether the end of a step is the end of the segment; progress.
    fn judge(&mut self, t: R, state: &[R], steps: u64) -> Option<Ending> {
        let Guards { span, pieces, gains, .. } = self.guards;
        activate(span, pieces, gains, state, &mut self.work);
        let unit = scaled(1.0, span.units.1);
        self.recorder.tell(t, peak(&self.work.residual) * unit, self.steps + steps);
        if let Some(status) = self.goal.judge(span, pieces, gains, state, &self.work) {
            return Some(Ending::Verdict(status));
        }
        (peak(state) > LARGEST).then_some(Ending::Units)
    }

    /// Guards that have gone astray at the end of a step.
    fn astray(&mut self, state: &[R]) -> Vec<Guard> {
        let mut values = vec![R::ZERO; self.guards.len()];
        self.guards.evaluate(state, &mut values);
        let below = |(k, value): (usize, R)| self.guards.is_astray(k, value, state).then(|| self.guards.get(k));
        values.into_iter().enumerate().filter_map(below).collect()
    }

    /// The zero of a guard near `t`, on states as accurate as the steps. None if there is none in the step.
    fn refine<S: System<R>>(&mut self, system: &mut S, step: &mut Step<'_, R, S>, start: R, guard: usize) -> Option<R> {
        let (from, to) = (step.t_old(), step.t_new);
        let mut values = vec![R::ZERO; self.guards.len()];
        let reach = R::from_f64(1e-3) * (to - from);
        let (left, right) = (later(start - reach, from), earlier(start + reach, to));
        step.at(system, left, &mut self.state);
        self.guards.evaluate(&self.state, &mut values);
        let before = values[guard];
        step.at(system, right, &mut self.state);
        self.guards.evaluate(&self.state, &mut values);
        let slope = (values[guard] - before) / (right - left);
        if !(slope < R::ZERO) {
            return Some(start);
        }
        let mut t = start;
        for _ in 0..R::REFINEMENTS {
            if !step.refined_at(system, t, &mut self.state, &mut || false) {
                return Some(t);
            }
            self.guards.evaluate(&self.state, &mut values);
            let next = t - values[guard] / slope;
            if next > to && t == to && values[guard] > R::ZERO {
                return None;
            }
            // NaN stays what it is.
            let next = if next.is_finite() { earlier(later(next, from), to) } else { next };
            if (next - t).abs() <= R::from_f64(4.0 * R::ULP) * t.abs() || !next.is_finite() {
                return Some(t);
            }
            t = next;
        }
        Some(t)
    }
}

/// The later of two times.
fn later<R: Real>(a: R, b: R) -> R {
    if a > b { a } else { b }
}

/// The earlier of two times.
fn earlier<R: Real>(a: R, b: R) -> R {
    if a < b { a } else { b }
}

impl<R: Number, S: System<R>> Observer<R, S> for Watch<'_, '_, '_, '_, R> {
    fn step(&mut self, system: &mut S, step: &mut Step<'_, R, S>) -> Action<R> {
        let event = self.event(system, step).or_else(|| {
            let astray = self.astray(step.y_new());
            (!astray.is_empty()).then_some((step.t_new, astray))
        });
        let end = event.as_ref().map_or(step.t_new, |event| event.0);
        if !self.rows(system, step, end) {
            return Action::Stop;
        }
        if let Some((t, guards)) = event {
            self.ending = Some(Ending::Event(guards));
            return Action::StopAt(t);
        }
        self.ending = self.judge(step.t_new, step.y_new(), step.stats().accepted);
        if self.ending.is_some() { Action::Stop } else { Action::Continue }
    }

    fn interrupted(&mut self) -> bool {
        self.recorder.is_spent()
    }
}
