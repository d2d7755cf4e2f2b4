//! A run: segments one after another, and what is decided between them.

use super::escape::{Escape, is_unseen};
use super::guards::Guards;
use super::number::Number;
use super::problem::Problem;
use super::raw::Raw;
use super::segment::Piece;
use super::shown::{Show, Weights};
use super::smooth::{Smooth, Work, activate, pull};
use super::span::Span;
use super::stopping::Goal;
use super::units::{exponent, peak, scaled};
use super::watch::{Ending, Watch};
use crate::flow::outcome::{Event, Method, Options, Stats, Status};
use crate::flow::recorder::{Formula, Recorder};
use crate::linalg::norm;
use crate::ode::{self, Explicit, Radau, integrate};
use crate::real::Real;
use std::rc::Rc;

/// Steps are this much more accurate than asked for: errors of a step pass on into the times of events, and through them
/// into everything after. Costs a tenth of the evaluations.
const MARGIN: f64 = 0.1;
/// With up to so many kinks, of so many samples, Radau integrates every segment: a tenth of the error for half the
/// evaluations, and a tail that is smooth to the last digit, where an explicit method at its stability limit moves slopes of
/// slides by its round-off. With more, the N × N systems of short segments cost more than that is worth, until stability
/// holds the explicit method back.
const FEW_KINKS: usize = 1024;
const FEW_SAMPLES: usize = 128;
/// At tolerances below this only the method of order 13 is used.
const SMOOTH: f64 = 1e-8;
/// Decisions at one time, for every kink there is: more are no progress.
const STALLED: usize = 4;

/// Where a run stands.
#[derive(Clone, Debug)]
pub(super) struct Now<R = f64> {
    pub(super) t: R,
    pub(super) state: Vec<R>,
    pub(super) exponents: Vec<f64>,
    pub(super) pieces: Vec<Piece<R>>,
}

impl<R: Real> Now<R> {
    /// The state as it is recorded.
    pub(super) fn extended(&self) -> Vec<R> {
        self.state.iter().copied().chain(self.exponents.iter().map(|e| R::from_f64(*e))).collect()
    }
}

/// What a run knows besides.
pub(super) struct Run<'a, R = f64> {
    pub(super) span: &'a Span<R>,
    weights: &'a Weights<R>,
    pub(super) slope: f64,
    pub(super) options: &'a Options<'a>,
    pub(super) goal: Goal,
    /// Largest `(|a|, ‖w‖)` so far, in the units of now.
    largest: Vec<(f64, f64)>,
    /// Whether to integrate by Radau.
    implicit: bool,
    pub(super) stats: Stats,
    pub(super) events: Vec<Event>,
    /// Decisions since time has moved.
    stalled: usize,
}

impl<'a, R: Number> Run<'a, R> {
    pub(super) fn new(
        problem: &Problem<'_>,
        options: &'a Options<'a>,
        span: &'a Span<R>,
        weights: &'a Weights<R>,
    ) -> Self {
        let few = span.n <= FEW_SAMPLES && span.kinks.len() * problem.start.a.len() <= FEW_KINKS;
        let goal = Goal { tol: options.tol, size: span.size, at_tolerance: options.times.is_none() };
        Self {
            span,
            weights,
            slope: problem.slope,
            options,
            goal,
            largest: vec![(0.0, 0.0); problem.start.a.len()],
            implicit: options.method == Method::Radau || options.method == Method::Auto && (few || R::IMPLICIT),
            stats: Stats::default(),
            events: Vec::new(),
            stalled: 0,
        }
    }

    pub(super) fn width(&self) -> usize {
        1 + self.span.k
    }

    /// `g_i`, which carry the neurons' units into the residual.
    pub(super) fn gains(&self, now: &Now<R>) -> Vec<f64> {
        let (x, y) = self.span.units;
        now.exponents.iter().map(|e| scaled(1.0, 2.0 * e + x - y)).collect()
    }

    pub(super) fn visit(&self, now: &Now<R>) -> Work<R> {
        let mut work = Work::new(now.pieces.len(), self.span.n);
        activate(self.span, &now.pieces, &self.gains(now), &now.state, &mut work);
        work
    }

    /// A time at which something begins to be seen: a weight has moved by 1 %.
    pub(super) fn first_time(&self, now: &Now<R>, work: &Work<R>) -> f64 {
        let mut pulled = vec![R::ZERO; self.span.k];
        let rates = now.pieces.iter().map(|piece| {
            pull(self.span, piece, &work.residual, &mut pulled);
            norm(pulled.iter().map(|v| v.to_f64()))
        });
        0.01 / rates.fold(f64::MIN_POSITIVE, f64::max)
    }

    /// Segment after segment.
    pub(super) fn go(
        &mut self,
        now: &mut Now<R>,
        recorder: &mut Recorder<'_, '_, R>,
        show: &mut Show<'_, R>,
    ) -> Status {
        loop {
            if self.options.max_events.is_some_and(|most| self.events.len() as u64 >= most) {
                return Status::MaxEvents;
            }
            if now.t >= recorder.horizon() {
                return Status::ReachedEnd;
            }
            if recorder.is_spent() {
                return Status::Interrupted;
            }
            self.prepare(now);
            let gains = self.gains(now);
            let work = self.visit(now);
            if let Some(status) = self.goal.judge(self.span, &now.pieces, &gains, &now.state, &work) {
                return status;
            }
            let before = now.t;
            let ending = if self.options.method != Method::Weights && is_unseen(self.span, &now.state, &gains) {
                self.escape(now, recorder, show)
            } else {
                self.integrate(now, &gains, recorder, show)
            };
            self.stalled = if now.t > before { 0 } else { self.stalled + 1 };
            match ending {
                Ok(Ending::Units) => {}
                Ok(Ending::Verdict(status)) | Err(status) => return status,
                Ok(Ending::Event(guards)) => {
                    if self.stalled > STALLED * (1 + self.span.kinks.len() * now.pieces.len()) {
                        return Status::StepTooSmall;
                    }
                    if !self.decide(now, &guards) {
                        return Status::Ambiguous;
                    }
                }
            }
        }
    }

    /// Every neuron in a unit that fits it, and on its kinks exactly.
    fn prepare(&mut self, now: &mut Now<R>) {
        let width = self.width();
        for (i, neuron) in now.state.chunks_exact_mut(width).enumerate() {
            let outside = self.weights.outside_norm(i, now.exponents[i]);
            let shift = exponent(peak(neuron).max(outside));
            if shift.abs() > 8.0 {
                for v in neuron.iter_mut() {
                    *v = scaled(*v, -shift);
                }
                now.exponents[i] += shift;
                let (a, w) = self.largest[i];
                self.largest[i] = (scaled(a, -shift), scaled(w, -shift));
            }
            now.pieces[i].slide.remove(&mut neuron[1..]);
        }
    }

    /// In closed form, while f cannot be seen beside y.
    fn escape(
        &mut self,
        now: &mut Now<R>,
        recorder: &mut Recorder<'_, '_, R>,
        show: &mut Show<'_, R>,
    ) -> Result<Ending, Status> {
        let escape = Escape::new(self.span, &now.pieces, &now.state, &now.exponents, now.t);
        let horizon = escape.horizon(self.span, &now.pieces, self.slope);
        let last = recorder.horizon();
        let end = if horizon.time < last { horizon.time } else { last };
        // Nothing grows: all weights fall to a saddle, for ever.
        if horizon.time.to_f64() == f64::INFINITY && self.options.times.is_none() {
            return Err(Status::Saddle);
        }
        let (closed, dim) = (escape.clone(), now.state.len());
        let formula: Formula<R> = Rc::new(move |t, out: &mut [R]| {
            let (state, units) = out.split_at_mut(dim);
            let mut exponents = vec![0.0; units.len()];
            closed.at(t, state, &mut exponents);
            units.iter_mut().zip(exponents).for_each(|(out, e)| *out = R::from_f64(e));
        });
        if !recorder.pass_formula(show, end, &formula) {
            return Err(Status::Interrupted);
        }
        escape.at(end, &mut now.state, &mut now.exponents);
        now.t = end;
        self.largest.fill((0.0, 0.0));
        if end < horizon.time {
            return Err(Status::ReachedEnd);
        }
        Ok(if horizon.guards.is_empty() { Ending::Units } else { Ending::Event(horizon.guards) })
    }

    /// Step by step, to the next event.
    fn integrate(
        &mut self,
        now: &mut Now<R>,
        gains: &[f64],
        recorder: &mut Recorder<'_, '_, R>,
        show: &mut Show<'_, R>,
    ) -> Result<Ending, Status> {
        let settings = self.settings()?;
        let outside = now.exponents.iter().enumerate().map(|(i, e)| self.weights.outside_norm(i, *e)).collect();
        let mut flow = Smooth::new(self.span, &now.pieces, gains, settings.rtol, outside, self.largest.clone());
        let guards = Guards::new(self.span, &now.pieces, gains, self.slope, &now.state, self.options.rtol);
        let (exact, end) = (self.options.times.is_some(), recorder.horizon());
        let mut watch = Watch::new(guards, recorder, show, self.goal, &now.exponents, exact, self.stats.accepted);
        let (t, state) = (now.t, now.state.clone());
        let outcome = if self.options.method == Method::Weights {
            let mut raw = Raw::new(self.span, &now.pieces, gains, self.slope, settings.rtol);
            integrate(&mut Explicit::new(&raw, &settings), &mut raw, t, &state, end, &settings, &mut watch)
        } else if self.implicit {
            integrate(&mut Radau::new(&flow, &settings), &mut flow, t, &state, end, &settings, &mut watch)
        } else {
            integrate(&mut Explicit::new(&flow, &settings), &mut flow, t, &state, end, &settings, &mut watch)
        };
        let ending = watch.ending.take();
        self.largest = flow.largest().to_vec();
        // The settings are validated; what is left is a run that made no step.
        let Ok(outcome) = outcome else { return Err(Status::StepTooSmall) };
        self.stats += outcome.stats;
        (now.t, now.state) = (outcome.t, outcome.y);
        if ending.is_none() && outcome.status == ode::Status::Stiff {
            self.implicit = true;
            return Ok(Ending::Units);
        }
        ending.ok_or(outcome.status.into())
    }

    /// The settings of a segment. An error if the steps are used up.
    fn settings(&self) -> Result<ode::Options, Status> {
        let spent = self.stats.accepted + self.stats.rejected;
        let left = self.options.max_steps.map(|most| most.saturating_sub(spent));
        if left == Some(0) {
            return Err(Status::MaxSteps);
        }
        let rtol = (MARGIN * self.options.rtol).max(R::FINEST);
        Ok(ode::Options {
            rtol,
            max_steps: left,
            min_stages: if rtol <= SMOOTH { 7 } else { 3 },
            stop_when_stiff: self.options.method == Method::Auto && !self.implicit,
            ..ode::Options::default()
        })
    }
}
