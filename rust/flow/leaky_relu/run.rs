//! A run: segments one after another, and what is decided between them.

use super::decision::Decision;
use super::escape::{Escape, is_unseen};
use super::guards::{Guard, Guards, What};
use super::problem::{Problem, validate};
use super::raw::Raw;
use super::segment::{Pattern, Piece, Side};
use super::shown::{Show, Weights};
use super::smooth::{Smooth, Work, activate, pull};
use super::span::Span;
use super::stopping::Goal;
use super::units::{exponent, peak, scaled, split_exponential};
use super::watch::{Ending, Watch};
use crate::flow::diagonal::Invalid;
use crate::flow::monitor::Monitor;
use crate::flow::outcome::{Event, EventKind, Flow, Method, Options, Stats, Status};
use crate::flow::recorder::{Frame, Recorder};
use crate::linalg::norm;
use crate::ode::{self, Explicit, Radau, integrate};
use crate::real::{DoubleDouble, Real};
use std::rc::Rc;

/// Pre-activations that reach their kinks within this relative time, or this relative size, of each other do so at one
/// time; never more than the tolerance.
const TOGETHER: f64 = 1e-12;
/// Decisions at one time, for every kink there is: more are no progress.
const STALLED: usize = 4;

/// The trajectory of gradient flow from `problem.start`, row by row, every event of a pre-activation, and why it ended.
///
/// # Errors
/// [`Invalid`] where an argument is not allowed. A run that cannot be finished is not an error: its [`Status`] says why.
pub fn gradient_flow(problem: &Problem<'_>, options: &Options<'_>, monitor: &dyn Monitor) -> Result<Flow, Invalid> {
    problem.validate()?;
    validate(options)?;
    let span = Span::new(problem.x, problem.y, options.method != Method::Weights);
    let (unit, factor) = split_exponential(problem.start.log_magnitude);
    let (weights, state) = Weights::start(problem, &span, factor, unit);
    let mut now = Now { t: 0.0, exponents: weights.exponents.clone(), state, pieces: Vec::new() };
    let m = now.exponents.len();
    let time_unit = scaled(1.0, -(span.units.0 + span.units.1));
    let mut show = Show { span: &span, weights: &weights, slope: problem.slope, m };
    let mut run = Run::new(problem, options, &span, &weights);
    let start = run.start(&mut now, problem);
    let work = run.visit(&now);
    let first = run.first_time(&now, &work);
    let frame = Frame {
        features: problem.x.d(),
        samples: problem.x.n(),
        dim: now.state.len() + m,
        time_unit,
        first,
    };
    let mut recorder = Recorder::new(options, monitor, frame);
    let y = scaled(1.0, span.units.1);
    recorder.start(&mut show, &now.extended(), (peak(&work.residual) * y, run.goal.tol * run.goal.size * y));
    let status = match start {
        Some(status) => status,
        None => run.go(&mut now, &mut recorder, &mut show),
    };
    let events = run.events_in(time_unit);
    Ok(recorder.finish(&mut show, &now.extended(), status, run.stats, events))
}

/// The weights `(a, W)`, T × m and T × m × d, behind the recorded states of a run.
///
/// # Errors
/// [`Invalid`] if the problem is not valid or the states are none of its.
pub fn parameters(problem: &Problem<'_>, method: Method, states: &[f64]) -> Result<(Vec<f64>, Vec<f64>), Invalid> {
    problem.validate()?;
    let span = Span::new(problem.x, problem.y, method != Method::Weights);
    let (unit, factor) = split_exponential(problem.start.log_magnitude);
    let (weights, start) = Weights::start(problem, &span, factor, unit);
    let (m, width) = (problem.start.a.len(), 1 + span.k);
    let row = start.len() + m;
    if states.len() % row != 0 {
        return Err(Invalid::Length { name: "states", found: states.len(), expected: row });
    }
    let (mut a, mut w) = (Vec::new(), Vec::new());
    for state in states.chunks_exact(row) {
        for (i, neuron) in state[..start.len()].chunks_exact(width).enumerate() {
            let exponent = state[start.len() + i].round();
            a.push(scaled(neuron[0], exponent));
            w.extend(weights.hidden(&span, i, &neuron[1..], exponent).iter().map(|w| scaled(*w, exponent)));
        }
    }
    Ok((a, w))
}

/// Where a run stands.
#[derive(Clone, Debug)]
struct Now {
    t: f64,
    state: Vec<f64>,
    exponents: Vec<f64>,
    pieces: Vec<Piece>,
}

impl Now {
    /// The state as it is recorded.
    fn extended(&self) -> Vec<f64> {
        self.state.iter().chain(&self.exponents).copied().collect()
    }
}

/// What a run knows besides.
struct Run<'a> {
    span: &'a Span,
    weights: &'a Weights,
    slope: f64,
    options: &'a Options<'a>,
    goal: Goal,
    /// Largest `(|a|, ‖w‖)` so far, in the units of now.
    largest: Vec<(f64, f64)>,
    /// Whether to integrate by Radau.
    implicit: bool,
    stats: Stats,
    events: Vec<Event>,
    /// Decisions since time has moved.
    stalled: usize,
}

impl<'a> Run<'a> {
    fn new(problem: &Problem<'_>, options: &'a Options<'a>, span: &'a Span, weights: &'a Weights) -> Self {
        let goal = Goal { tol: options.tol, size: span.size, at_tolerance: options.times.is_none() };
        Self {
            span,
            weights,
            slope: problem.slope,
            options,
            goal,
            largest: vec![(0.0, 0.0); problem.start.a.len()],
            implicit: matches!(options.method, Method::Radau | Method::Auto),
            stats: Stats::default(),
            events: Vec::new(),
            stalled: 0,
        }
    }

    fn width(&self) -> usize {
        1 + self.span.k
    }

    /// `g_i`, which carry the neurons' units into the residual.
    fn gains(&self, now: &Now) -> Vec<f64> {
        let (x, y) = self.span.units;
        now.exponents.iter().map(|e| scaled(1.0, 2.0 * e + x - y)).collect()
    }

    fn visit(&self, now: &Now) -> Work {
        let mut work = Work { sigma: vec![0.0; now.pieces.len() * self.span.n], residual: vec![0.0; self.span.n] };
        activate(self.span, &now.pieces, &self.gains(now), &now.state, &mut work);
        work
    }

    /// The first pattern. A status if the run is over before it begins.
    fn start(&mut self, now: &mut Now, problem: &Problem<'_>) -> Option<Status> {
        let (span, d) = (self.span, problem.x.d());
        let mut on: Vec<Vec<usize>> = Vec::new();
        for (neuron, w) in now.state.chunks_exact(self.width()).zip(problem.start.w.chunks_exact(d)) {
            let mut sides = vec![Side::Positive; span.kinks.len()];
            let mut kinks = Vec::new();
            for (g, side) in sides.iter_mut().enumerate() {
                *side = Side::of(f64::dot(span.kink(g), &neuron[1..]));
                let row = problem.x.row(span.kinks[g][0].0);
                // A neuron whose weights are all 0 never moves.
                if self.slope < 1.0 && is_zero(row, w) && neuron.iter().any(|v| *v != 0.0) {
                    *side = Side::Sliding;
                    kinks.push(g);
                }
            }
            now.pieces.push(Piece::new(span, self.slope, Pattern { sides, held: Vec::new() }));
            on.push(kinks);
        }
        let work = self.visit(now);
        if self.goal.size == 0.0 {
            self.goal.size = peak(&work.residual);
        }
        if peak(&work.residual) == 0.0 {
            return Some(Status::Converged);
        }
        for (i, on) in on.iter().enumerate().filter(|(_, on)| !on.is_empty()) {
            if !self.settle(now, i, on, &[], &work) {
                return Some(Status::Ambiguous);
            }
        }
        None
    }

    /// A time at which something begins to be seen: a weight has moved by 1 %.
    fn first_time(&self, now: &Now, work: &Work) -> f64 {
        let mut pulled = vec![0.0; self.span.k];
        let rates = now.pieces.iter().map(|piece| {
            pull(self.span, piece, &work.residual, &mut pulled);
            norm(pulled.iter().copied())
        });
        0.01 / rates.fold(f64::MIN_POSITIVE, f64::max)
    }

    /// Segment after segment.
    fn go(&mut self, now: &mut Now, recorder: &mut Recorder<'_, '_>, show: &mut Show<'_>) -> Status {
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
    fn prepare(&mut self, now: &mut Now) {
        let width = self.width();
        for (i, neuron) in now.state.chunks_exact_mut(width).enumerate() {
            let outside = self.weights.outside_norm(i, now.exponents[i]);
            let shift = exponent(peak(neuron).max(outside));
            if shift.abs() > 8.0 {
                neuron.iter_mut().for_each(|v| *v = scaled(*v, -shift));
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
        now: &mut Now,
        recorder: &mut Recorder<'_, '_>,
        show: &mut Show<'_>,
    ) -> Result<Ending, Status> {
        let escape = Escape::new(self.span, &now.pieces, &now.state, &now.exponents, now.t);
        let horizon = escape.horizon(self.span, &now.pieces, self.slope);
        let end = horizon.time.min(recorder.horizon());
        if end == f64::INFINITY {
            return Err(Status::Saddle);
        }
        let (closed, dim) = (escape.clone(), now.state.len());
        let formula: Rc<dyn Fn(f64, &mut [f64])> = Rc::new(move |t, out: &mut [f64]| {
            let (state, exponents) = out.split_at_mut(dim);
            closed.at(t, state, exponents);
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
        now: &mut Now,
        gains: &[f64],
        recorder: &mut Recorder<'_, '_>,
        show: &mut Show<'_>,
    ) -> Result<Ending, Status> {
        let options = self.options;
        let spent = self.stats.accepted + self.stats.rejected;
        let left = options.max_steps.map(|most| most.saturating_sub(spent));
        if left == Some(0) {
            return Err(Status::MaxSteps);
        }
        let settings = ode::Options {
            rtol: options.rtol,
            max_steps: left,
            min_stages: if options.rtol <= 1e-8 { 7 } else { 3 },
            ..ode::Options::default()
        };
        let outside = now.exponents.iter().enumerate().map(|(i, e)| self.weights.outside_norm(i, *e)).collect();
        let mut flow = Smooth::new(self.span, &now.pieces, gains, options.rtol, outside, self.largest.clone());
        let guards = Guards::new(self.span, &now.pieces, gains, self.slope, &now.state);
        let exact = options.times.is_some();
        let end = recorder.horizon();
        let mut watch = Watch::new(guards, recorder, show, self.goal, &now.exponents, exact, self.stats.accepted);
        let (t, state) = (now.t, now.state.clone());
        let outcome = if options.method == Method::Weights {
            let tolerances = vec![0.0; now.exponents.len()];
            let Smooth { span, pieces, gains, .. } = flow;
            let mut raw = Raw { span, pieces, gains, slope: self.slope, rtol: options.rtol, tolerances };
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
        add(&mut self.stats, outcome.stats);
        (now.t, now.state) = (outcome.t, outcome.y);
        ending.ok_or(outcome.status.into())
    }

    /// What happens where these guards fire. False if the flow could go on in several ways.
    fn decide(&mut self, now: &mut Now, fired: &[Guard]) -> bool {
        let work = self.visit(now);
        for i in 0..now.pieces.len() {
            let mine = || fired.iter().filter(|guard| guard.neuron == i);
            if mine().any(|guard| guard.what == What::Repels) {
                return false;
            }
            let mut pattern = now.pieces[i].pattern.clone();
            let dependent = now.pieces[i].is_dependent();
            let mut ended = false;
            for guard in mine() {
                if let (What::Leaves(side), false) = (guard.what, dependent) {
                    pattern.sides[guard.kink] = side;
                    ended = true;
                    self.record(now.t, i, guard.kink, leaving(side));
                }
            }
            let arriving = self.arriving(now, i, fired, &work);
            if ended {
                now.pieces[i] = Piece::new(self.span, self.slope, pattern);
            }
            if arriving.is_empty() && !(dependent && mine().next().is_some()) {
                continue;
            }
            let sides = &now.pieces[i].pattern.sides;
            let sliding = (0..sides.len()).filter(|g| sides[*g] == Side::Sliding);
            let on: Vec<usize> = sliding.chain(arriving.iter().copied()).collect();
            if !self.settle(now, i, &on, &arriving, &work) {
                return false;
            }
        }
        true
    }

    /// The kinks of neuron i that are reached now: those whose guards have fired, and those that are as good as there.
    fn arriving(&self, now: &Now, i: usize, fired: &[Guard], work: &Work) -> Vec<usize> {
        let (span, piece) = (self.span, &now.pieces[i]);
        let neuron = &now.state[i * self.width()..(i + 1) * self.width()];
        let mut pulled = vec![0.0; span.k];
        pull(span, piece, &work.residual, &mut pulled);
        let size = norm(neuron[1..].iter().copied());
        let together = TOGETHER.min(self.options.rtol);
        (0..span.kinks.len())
            .filter(|g| piece.pattern.sides[*g] != Side::Sliding)
            .filter(|g| {
                if fired.contains(&Guard { neuron: i, kink: *g, what: What::Reaches }) {
                    return true;
                }
                let sign = piece.pattern.sides[*g].sign();
                let p = sign * f64::dot(span.kink(*g), &neuron[1..]);
                let v = sign * neuron[0] * f64::dot(span.kink(*g), &pulled);
                let near = p <= together * span.kink_norm(*g) * size;
                v < 0.0 && p > 0.0 && near && p <= together * now.t * -v
            })
            .collect()
    }

    /// One decision for the kinks `on` of neuron i. False if the flow could go on in several ways.
    fn settle(&mut self, now: &mut Now, i: usize, on: &[usize], arriving: &[usize], work: &Work) -> bool {
        let sigma = &work.sigma[i * self.span.n..(i + 1) * self.span.n];
        let a = now.state[i * self.width()];
        // Where a is 0 it is about to have the sign of a'.
        let sign = if a == 0.0 { f64::dot(sigma, &work.residual) } else { a };
        let sign = if sign == 0.0 { 0.0 } else { sign.signum() };
        let piece = &now.pieces[i];
        let decision =
            Decision { span: self.span, slope: self.slope, sign, residual: &work.residual, piece, on };
        let Some(pattern) = decision.settle(arriving) else { return false };
        let old = piece.pattern.sides.clone();
        let is_start = arriving.is_empty() && now.t == 0.0 && self.events.is_empty();
        for g in on {
            let (before, after) = (old[*g], pattern.sides[*g]);
            if after == Side::Sliding && (arriving.contains(g) || is_start) {
                self.record(now.t, i, *g, |_| EventKind::StartsSliding);
            } else if arriving.contains(g) && after != before {
                self.record(now.t, i, *g, |_| EventKind::Crosses);
            } else if !is_start && before == Side::Sliding && after != Side::Sliding {
                self.record(now.t, i, *g, leaving(after));
            }
        }
        now.pieces[i] = Piece::new(self.span, self.slope, pattern);
        true
    }

    /// One event for every sample of a kink.
    fn record(&mut self, time: f64, neuron: usize, g: usize, kind: impl Fn(f64) -> EventKind) {
        for (sample, factor) in &self.span.kinks[g] {
            self.events.push(Event { time, sample: *sample, neuron, kind: kind(*factor) });
        }
    }

    /// The events in the order users see, in the unit of their time.
    fn events_in(&self, unit: f64) -> Vec<Event> {
        let mut events = self.events.clone();
        events.sort_by(|a, b| a.time.total_cmp(&b.time).then((a.neuron, a.sample).cmp(&(b.neuron, b.sample))));
        events.iter_mut().for_each(|event| event.time *= unit);
        events
    }
}

/// What leaving a kink to a side is for a sample with a factor: antiparallel ones leave to the other.
fn leaving(side: Side) -> impl Fn(f64) -> EventKind {
    move |factor| {
        if side.sign() * factor > 0.0 { EventKind::StopsSlidingPositive } else { EventKind::StopsSlidingNegative }
    }
}

/// `xᵀw = 0` as far as its rounding can tell.
fn is_zero(x: &[f64], w: &[f64]) -> bool {
    let (sum, terms) = x.iter().zip(w).fold((DoubleDouble::ZERO, 0.0), |(sum, terms), (x, w)| {
        (sum + DoubleDouble::from_f64(*x) * DoubleDouble::from_f64(*w), terms + (x * w).abs())
    });
    sum.to_f64().abs() <= 4.0 * f64::EPSILON * terms
}

fn add(sum: &mut Stats, more: Stats) {
    sum.accepted += more.accepted;
    sum.rejected += more.rejected;
    sum.rhs += more.rhs;
    sum.jacobians += more.jacobians;
    sum.newton_iterations += more.newton_iterations;
    sum.newton_systems += more.newton_systems;
}
