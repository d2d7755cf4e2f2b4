//! Rows of a run, whatever it is put together from: steps, parts of steps between events, formulas. States in, columns of
//! a [`Flow`] out. Knows no model and no method; what a state looks like comes in through [`Shown`].

use super::budget::Budget;
use super::clock::Clock;
use super::monitor::{Monitor, Progress, Way, arrived};
use super::observable::{Columns, Observable, Row};
use super::outcome::{Event, Flow, Options, Stats, Status};
use super::segment::{Segment, nodes, spread};
use std::rc::Rc;

/// States that are shown together, so that they go through the data together: enough for a general product.
const BATCH: usize = 32;
/// Rows that an interrupted run without requested times still writes between its first and its last: half a batch, for a
/// Ctrl-C is to be answered within a fifth of a second.
const HASTY_ROWS: usize = BATCH / 2 - 1;

/// What a row shows of a state.
pub(crate) trait Shown {
    /// β and the residual `r_n = y_n − f(x_n)`, original rows and units, of states one after another. No room for β is no
    /// wish to see it.
    fn show(&mut self, states: &[f64], beta: &mut [f64], residual: &mut [f64]);

    /// `max|r|` as the stopping rule sees it: y projected onto what can be fitted.
    fn largest(&mut self, beta: &[f64], residual: &[f64]) -> f64;

    /// `D_Q(β, β(0))`; NaN where no theorem gives a Q.
    fn potential(&mut self, beta: &[f64]) -> f64;
}

/// A state in closed form, at a time of the run.
pub(crate) type Formula = Rc<dyn Fn(f64, &mut [f64])>;

/// Part of a run, kept for rows whose times are known only when it is over.
enum Piece {
    Steps(Segment),
    Formula { end: f64, at: Formula },
}

impl Piece {
    fn end(&self) -> f64 {
        match self {
            Self::Steps(segment) => segment.end,
            Self::Formula { end, .. } => *end,
        }
    }

    fn at(&self, t: f64, state: &mut [f64]) {
        match self {
            Self::Steps(segment) => segment.at(t, state),
            Self::Formula { at, .. } => at(t, state),
        }
    }
}

/// Where rows come from.
enum Plan<'p> {
    /// The times asked for, and the same in the units of the run; so many are written.
    Given { asked: &'p [f64], times: Vec<f64>, done: usize },
    /// Times chosen at the end; something begins to be seen at `first`.
    Automatic { pieces: Vec<Piece>, first: f64 },
}

/// Size of a problem, and the units of its run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Features d.
    pub(crate) features: usize,
    /// Samples N.
    pub(crate) samples: usize,
    /// Unknowns of the run.
    pub(crate) dim: usize,
    /// Times of the run and of the caller.
    pub(crate) clock: Clock,
    /// Where times are chosen: a time of the run at which something begins to be seen.
    pub(crate) first: f64,
}

/// The rows so far.
pub(crate) struct Recorder<'p, 'i> {
    frame: Frame,
    plan: Plan<'p>,
    budget: Budget<'i>,
    way: Way,
    columns: Columns<'p>,
    save_beta: bool,
    /// Rows are asked for numbers of β; otherwise only the last row has to have one.
    shows_beta: bool,
    flow: Flow,
    /// A row had a coefficient beyond the largest float: neither it nor any later one is written.
    overflown: bool,
    /// The last that was told.
    residual: f64,
}

impl<'p, 'i> Recorder<'p, 'i> {
    pub(crate) fn new(options: &Options<'p>, monitor: &'i dyn Monitor, frame: Frame) -> Self {
        let plan = match options.times {
            Some(asked) => {
                let times = asked.iter().map(|t| frame.clock.to_run(*t)).collect();
                Plan::Given { asked, times, done: 0 }
            }
            None => Plan::Automatic { pieces: Vec::new(), first: frame.first },
        };
        Self {
            frame,
            plan,
            budget: Budget::new(options.max_seconds, monitor),
            way: Way::of_residuals(1.0, 1.0),
            columns: Columns::new(options.observables, options.end.to_vec()),
            save_beta: options.save_beta,
            shows_beta: options.save_beta || options.observables.iter().any(|o| *o != Observable::Loss),
            flow: Flow::empty(),
            overflown: false,
            residual: f64::NAN,
        }
    }

    /// True where rows are asked for at times of the caller's own.
    pub(crate) fn is_given(&self) -> bool {
        matches!(self.plan, Plan::Given { .. })
    }

    /// The last time of the run; where it goes on until it has converged, the last one that the caller can be told.
    pub(crate) fn horizon(&self) -> f64 {
        match &self.plan {
            Plan::Given { times, .. } => times.last().copied().unwrap_or(0.0),
            Plan::Automatic { .. } => self.frame.clock.last(),
        }
    }

    /// The state at time 0, a row unless the times asked for begin later. The run goes from a residual to a residual.
    pub(crate) fn start(&mut self, shown: &mut dyn Shown, state: &[f64], residuals: (f64, f64)) {
        self.way = Way::of_residuals(residuals.0, residuals.1);
        self.residual = residuals.0;
        match &mut self.plan {
            Plan::Given { asked, times, done } => {
                // Later ones than 0 may be 0 in the units of the run.
                *done = times.iter().take_while(|time| **time == 0.0).count();
                let asked = &asked[..*done];
                self.push_same(shown, asked, state);
            }
            Plan::Automatic { .. } => self.push(shown, &[0.0], state),
        }
    }

    /// The run has gone from `from` to `to`, and `at(t, state)` says how; false from it, or from here, is an interruption.
    pub(crate) fn pass(
        &mut self,
        shown: &mut dyn Shown,
        from: f64,
        to: f64,
        at: &mut dyn FnMut(f64, &mut [f64]) -> bool,
    ) -> bool {
        let dim = self.frame.dim;
        match &mut self.plan {
            Plan::Automatic { pieces, .. } => {
                let mut samples = vec![0.0; nodes().len() * dim];
                let mut each = nodes().into_iter().zip(samples.chunks_exact_mut(dim));
                let complete = each.all(|(node, sample)| at(from + node * (to - from), sample));
                if complete && to > from {
                    pieces.push(Piece::Steps(Segment::new(from, to, samples)));
                }
                complete
            }
            Plan::Given { .. } => self.rows_up_to(shown, to, at),
        }
    }

    /// The same where the states are known in closed form.
    pub(crate) fn pass_formula(&mut self, shown: &mut dyn Shown, to: f64, at: &Formula) -> bool {
        match &mut self.plan {
            Plan::Automatic { pieces, .. } => {
                pieces.push(Piece::Formula { end: to, at: Rc::clone(at) });
                true
            }
            Plan::Given { .. } => self.rows_up_to(shown, to, &mut |t, state| {
                at(t, state);
                true
            }),
        }
    }

    /// Rows at the requested times up to `to`, a batch at a time.
    fn rows_up_to(&mut self, shown: &mut dyn Shown, to: f64, at: &mut dyn FnMut(f64, &mut [f64]) -> bool) -> bool {
        let dim = self.frame.dim;
        loop {
            let Plan::Given { asked, times, done } = &self.plan else { return true };
            let inside = times[*done..].iter().take_while(|time| **time <= to).take(BATCH).count();
            if inside == 0 {
                return true;
            }
            let (asked, batch) = (&asked[*done..*done + inside], &times[*done..*done + inside]);
            let mut states = vec![0.0; inside * dim];
            let mut each = batch.iter().zip(states.chunks_exact_mut(dim));
            let refused = each.position(|(time, state)| self.budget.is_spent() || !at(*time, state));
            let ready = refused.unwrap_or(inside);
            self.push(shown, &asked[..ready], &states[..ready * dim]);
            if let Plan::Given { done, .. } = &mut self.plan {
                *done += ready;
            }
            if refused.is_some() || self.overflown {
                return false;
            }
        }
    }

    /// True once the seconds are used up or the caller has asked to stop. Cheap, to be asked often.
    pub(crate) fn is_spent(&mut self) -> bool {
        self.budget.is_spent()
    }

    /// How far the run is, after a step to `time` (of the run) with `max|r|` left.
    pub(crate) fn tell(&mut self, time: f64, residual: f64, steps: u64) {
        self.residual = residual;
        let fraction = match &self.plan {
            Plan::Given { times, done, .. } => self.way.at_rows(times, *done, time),
            Plan::Automatic { .. } => self.way.at_residual(residual),
        };
        let time = self.frame.clock.to_caller(time);
        self.budget.monitor.progress(Progress { time, residual, steps, fraction });
    }

    /// The result of a run that has ended at `state`, with the rows still missing: those of a flow that does not move any
    /// more, or those whose times were to be chosen. `status` says why it ended, unless the budget knows better; events come
    /// with times of the run.
    pub(crate) fn finish(
        mut self,
        shown: &mut dyn Shown,
        state: &[f64],
        status: Status,
        stats: Stats,
        mut events: Vec<Event>,
    ) -> Flow {
        for event in &mut events {
            event.time = self.frame.clock.to_caller(event.time);
        }
        let status = if status.is_stationary() { status } else { self.budget.verdict().unwrap_or(status) };
        let status = match &self.plan {
            Plan::Given { asked, done, .. } => {
                let (missing, reached) = (&asked[*done..], *done == asked.len());
                if status.is_stationary() {
                    self.push_same(shown, missing, state);
                }
                if reached || status.is_stationary() { Status::ReachedEnd } else { status.unfinished() }
            }
            Plan::Automatic { .. } => self.write_automatic(shown, state, status.unfinished()),
        };
        if !self.shows_beta && !self.flow.states.is_empty() {
            let mut residual = vec![0.0; self.frame.samples];
            self.flow.beta.resize(self.frame.features, 0.0);
            shown.show(&self.flow.states, &mut self.flow.beta, &mut residual);
            self.overflown |= !self.flow.beta.iter().all(|beta| beta.is_finite());
            // A sum of two infinities is not known, and what is not known is infinite.
            self.flow.beta.iter_mut().filter(|beta| beta.is_nan()).for_each(|beta| *beta = f64::INFINITY);
        }
        // A run whose rows end early, at a number that binary64 cannot hold, has not come to any other end.
        let status = if self.overflown { Status::StepTooSmall } else { status };
        let monitor = self.budget.monitor;
        let flow = Flow { status, stats, events, observables: self.columns.into_values(), ..self.flow };
        arrived(monitor, &flow, self.residual);
        flow
    }

    /// Rows at times chosen now, the last one the end of the run; fewer of them for somebody who does not want to wait.
    fn write_automatic(&mut self, shown: &mut dyn Shown, state: &[f64], status: Status) -> Status {
        let Plan::Automatic { pieces, first } = &mut self.plan else { return status };
        let (pieces, first) = (core::mem::take(pieces), *first);
        let Some(end) = pieces.last().map(Piece::end) else { return status };
        let times = self.frame.clock.told_apart(spread(first, end));
        if self.save_beta {
            self.flow.beta.reserve_exact(times.len() * self.frame.features);
        }
        let mut written = 0;
        let monitor = self.budget.monitor;
        while written < times.len() && !monitor.interrupted() {
            let batch = &times[written..times.len().min(written + BATCH)];
            self.push_kept(shown, &pieces, batch, state);
            written += batch.len();
        }
        if written == times.len() {
            return status;
        }
        let left = &times[written..];
        let mut chosen: Vec<f64> = left.iter().rev().step_by(left.len().div_ceil(HASTY_ROWS)).copied().collect();
        chosen.reverse();
        self.push_kept(shown, &pieces, &chosen, state);
        Status::Interrupted
    }

    /// Rows at times of the run; the end of the run is `state`, not what its last piece makes of it.
    fn push_kept(&mut self, shown: &mut dyn Shown, pieces: &[Piece], times: &[f64], state: &[f64]) {
        let dim = self.frame.dim;
        let Some(end) = pieces.last().map(Piece::end) else { return };
        let mut states = vec![0.0; times.len() * dim];
        for (time, out) in times.iter().zip(states.chunks_exact_mut(dim)) {
            let at = pieces.partition_point(|piece| piece.end() < *time);
            match pieces.get(at) {
                Some(piece) if *time < end => piece.at(*time, out),
                _ => out.copy_from_slice(state),
            }
        }
        let asked: Vec<f64> = times.iter().map(|t| self.frame.clock.to_caller(*t)).collect();
        self.push(shown, &asked, &states);
    }

    /// One row for each of `times`, of the caller, up to the first that binary64 cannot hold.
    fn push(&mut self, shown: &mut dyn Shown, times: &[f64], states: &[f64]) {
        let Frame { features, samples, dim, .. } = self.frame;
        let width = if self.shows_beta { features } else { 0 };
        let before = if self.save_beta { Vec::new() } else { core::mem::take(&mut self.flow.beta) };
        // Shown where they stay: of many features the rows are most of what there is to write.
        let first = self.flow.beta.len();
        self.flow.beta.resize(first + times.len() * width, 0.0);
        let mut residual = vec![0.0; times.len() * samples];
        shown.show(states, &mut self.flow.beta[first..], &mut residual);
        let finite =
            |k: usize| self.flow.beta[first + k * width..first + (k + 1) * width].iter().all(|b| b.is_finite());
        let held = (0..times.len()).take_while(|k| finite(*k)).count();
        self.overflown |= held < times.len();
        self.flow.beta.truncate(first + held * width);
        for (k, (time, residual)) in times[..held].iter().zip(residual.chunks_exact(samples)).enumerate() {
            let beta = &self.flow.beta[first + k * width..first + (k + 1) * width];
            let loss = residual.iter().map(|r| r * r).sum::<f64>() / (2.0 * samples as f64);
            // NaN is a residual of two infinities, of data whose products with weights are beyond the largest float.
            let loss = if loss.is_nan() { f64::INFINITY } else { loss };
            self.flow.times.push(*time);
            self.flow.loss.push(loss);
            let shown = core::cell::RefCell::new(&mut *shown);
            self.columns.push(&Row {
                beta,
                loss,
                residual: &|| shown.borrow_mut().largest(beta, residual),
                potential: &|| shown.borrow_mut().potential(beta),
            });
        }
        let states = &states[..held * dim];
        if self.save_beta {
            self.flow.states.extend_from_slice(states);
        } else if held > 0 {
            self.flow.beta.drain(..(held - 1) * width);
            self.flow.states.clear();
            self.flow.states.extend_from_slice(&states[(held - 1) * dim..]);
        } else {
            self.flow.beta = before;
        }
    }

    /// Rows at `times`, of the caller, that all have the same state.
    fn push_same(&mut self, shown: &mut dyn Shown, times: &[f64], state: &[f64]) {
        let Some((first, others)) = times.split_first() else { return };
        self.push(shown, &[*first], state);
        if self.overflown {
            return;
        }
        let Flow { times, loss, beta, states, .. } = &mut self.flow;
        times.extend_from_slice(others);
        loss.resize(times.len(), loss.last().copied().unwrap_or(f64::NAN));
        self.columns.repeat(others.len());
        if self.save_beta {
            for (rows, width) in [(beta, self.frame.features), (states, self.frame.dim)] {
                let last = rows.len() - width;
                (0..others.len()).for_each(|_| rows.extend_from_within(last..last + width));
            }
        }
    }
}

#[cfg(test)]
mod tests;
