//! Rows of a run, whatever it is put together from: steps, parts of steps between events, formulas. States in, columns of
//! a [`Flow`] out, in any [`Numbers`]. Knows no model and no method; what a state looks like comes in through [`Shown`].

use super::budget::Budget;
use super::clock::Clock;
use super::monitor::{Monitor, Progress, Way, arrived};
use super::numbers::{Numbers, Path};
use super::observable::{Columns, Observable, Row};
use super::outcome::{Event, Flow, Options, Stats, Status};
use super::segment::spread;
use std::rc::Rc;

/// States that are shown together, so that they go through the data together: enough for a general product.
const BATCH: usize = 32;
/// Rows that an interrupted run without requested times still writes between its first and its last: half a batch, for a
/// Ctrl-C is to be answered within a fifth of a second.
const HASTY_ROWS: usize = BATCH / 2 - 1;

/// What a row shows of a state.
pub(crate) trait Shown<R = f64> {
    /// β and the residual `r_n = y_n − f(x_n)`, original rows and units, of states one after another. No room for β is no
    /// wish to see it.
    fn show(&mut self, states: &[R], beta: &mut [R], residual: &mut [R]);

    /// `max|r|` as the stopping rule sees it: y projected onto what can be fitted.
    fn largest(&mut self, beta: &[R], residual: &[R]) -> R;

    /// `D_Q(β, β(0))`; NaN where no theorem gives a Q.
    fn potential(&mut self, beta: &[R]) -> R;
}

/// A state in closed form, at a time of the run.
pub(crate) type Formula<R = f64> = Rc<dyn Fn(R, &mut [R])>;

/// Part of a run, kept for rows whose times are known only when it is over.
enum Piece<R: Numbers> {
    Steps(R::Segment),
    Formula { end: R, at: Formula<R> },
}

impl<R: Numbers> Piece<R> {
    fn end(&self) -> R {
        match self {
            Self::Steps(segment) => segment.span().1,
            Self::Formula { end, .. } => *end,
        }
    }

    fn at(&self, t: R, state: &mut [R]) {
        match self {
            Self::Steps(segment) => segment.at(t, state),
            Self::Formula { at, .. } => at(t, state),
        }
    }
}

/// Where rows come from.
enum Plan<'p, R: Numbers> {
    /// The times asked for, and the same in the units of the run; so many are written.
    Given { asked: &'p [f64], times: Vec<R>, done: usize },
    /// Times chosen at the end; something begins to be seen at `first`.
    Automatic { pieces: Vec<Piece<R>>, first: f64 },
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

/// The rows so far: times of all of them, and what is kept of each.
struct Table<R> {
    times: Vec<f64>,
    loss: Vec<R>,
    beta: Vec<R>,
    states: Vec<R>,
}

/// The rows so far, and where more come from.
pub(crate) struct Recorder<'p, 'i, R: Numbers = f64> {
    frame: Frame,
    plan: Plan<'p, R>,
    budget: Budget<'i>,
    way: Way,
    columns: Columns<'p, R>,
    save_beta: bool,
    /// Rows are asked for numbers of β; otherwise only the last row has to have one.
    shows_beta: bool,
    table: Table<R>,
    /// A row had a coefficient beyond the largest float: neither it nor any later one is written.
    overflown: bool,
    /// The last that was told.
    residual: f64,
}

impl<'p, 'i, R: Numbers> Recorder<'p, 'i, R> {
    pub(crate) fn new(options: &Options<'p>, monitor: &'i dyn Monitor, frame: Frame) -> Self {
        let plan = match options.times {
            Some(asked) => {
                let times = asked.iter().map(|t| R::to_run(frame.clock, *t)).collect();
                Plan::Given { asked, times, done: 0 }
            }
            None => Plan::Automatic { pieces: Vec::new(), first: frame.first },
        };
        let low = |i: usize| options.end_low.get(i).copied().unwrap_or(0.0);
        let end = options.end.iter().enumerate().map(|(i, end)| R::from_parts(*end, low(i))).collect();
        Self {
            frame,
            plan,
            budget: Budget::new(options.max_seconds, monitor),
            way: Way::of_residuals(1.0, 1.0),
            columns: Columns::new(options.observables, end),
            save_beta: options.save_beta,
            shows_beta: options.save_beta || options.observables.iter().any(|o| *o != Observable::Loss),
            table: Table { times: Vec::new(), loss: Vec::new(), beta: Vec::new(), states: Vec::new() },
            overflown: false,
            residual: f64::NAN,
        }
    }

    /// True where rows are asked for at times of the caller's own.
    pub(crate) fn is_given(&self) -> bool {
        matches!(self.plan, Plan::Given { .. })
    }

    /// The last time of the run; where it goes on until it has converged, the last one that the caller can be told.
    pub(crate) fn horizon(&self) -> R {
        match &self.plan {
            Plan::Given { times, .. } => times.last().copied().unwrap_or(R::ZERO),
            Plan::Automatic { .. } => R::from_f64(self.frame.clock.last()),
        }
    }

    /// The state at time 0, a row unless the times asked for begin later. The run goes from a residual to a residual.
    pub(crate) fn start(&mut self, shown: &mut dyn Shown<R>, state: &[R], residuals: (f64, f64)) {
        self.way = Way::of_residuals(residuals.0, residuals.1);
        self.residual = residuals.0;
        match &mut self.plan {
            Plan::Given { asked, times, done } => {
                // Later ones than 0 may be 0 in the units of the run.
                *done = times.iter().take_while(|time| **time == R::ZERO).count();
                let asked = &asked[..*done];
                self.push_same(shown, asked, state);
            }
            Plan::Automatic { .. } => self.push(shown, &[0.0], state),
        }
    }

    /// The run has gone from `from` to `to`, and `at(t, state)` says how; false from it, or from here, is an interruption.
    pub(crate) fn pass(
        &mut self,
        shown: &mut dyn Shown<R>,
        from: R,
        to: R,
        at: &mut dyn FnMut(R, &mut [R]) -> bool,
    ) -> bool {
        let dim = self.frame.dim;
        match &mut self.plan {
            Plan::Automatic { pieces, .. } => {
                let nodes = R::Segment::nodes();
                let mut samples = vec![R::ZERO; nodes.len() * dim];
                let mut each = nodes.into_iter().zip(samples.chunks_exact_mut(dim));
                let complete = each.all(|(node, sample)| at(from + R::from_f64(node) * (to - from), sample));
                if complete && to > from {
                    pieces.push(Piece::Steps(R::Segment::new(from, to, samples)));
                }
                complete
            }
            Plan::Given { .. } => self.rows_up_to(shown, to, at),
        }
    }

    /// The same where the states are known in closed form.
    pub(crate) fn pass_formula(&mut self, shown: &mut dyn Shown<R>, to: R, at: &Formula<R>) -> bool {
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
    fn rows_up_to(&mut self, shown: &mut dyn Shown<R>, to: R, at: &mut dyn FnMut(R, &mut [R]) -> bool) -> bool {
        let dim = self.frame.dim;
        loop {
            let Plan::Given { asked, times, done } = &self.plan else { return true };
            let inside = times[*done..].iter().take_while(|time| **time <= to).take(BATCH).count();
            if inside == 0 {
                return true;
            }
            let (asked, batch) = (&asked[*done..*done + inside], &times[*done..*done + inside]);
            let mut states = vec![R::ZERO; inside * dim];
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
    pub(crate) fn tell(&mut self, time: R, residual: f64, steps: u64) {
        self.residual = residual;
        let time = time.to_f64();
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
        shown: &mut dyn Shown<R>,
        state: &[R],
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
        if !self.shows_beta && !self.table.states.is_empty() {
            let mut residual = vec![R::ZERO; self.frame.samples];
            let Table { beta, states, .. } = &mut self.table;
            beta.resize(self.frame.features, R::ZERO);
            shown.show(states, beta, &mut residual);
            self.overflown |= !beta.iter().all(|beta| beta.is_finite());
            // A sum of two infinities is not known, and what is not known is infinite.
            let unknown = beta.iter_mut().filter(|beta| beta.to_f64().is_nan());
            unknown.for_each(|beta| *beta = R::from_f64(f64::INFINITY));
        }
        // A run whose rows end early, at a number that binary64 cannot hold, has not come to any other end.
        let status = if self.overflown { Status::StepTooSmall } else { status };
        let (monitor, residual) = (self.budget.monitor, self.residual);
        let flow = Flow { events, status, stats, ..self.into_columns() };
        arrived(monitor, &flow, residual);
        flow
    }

    /// The rows, high and low parts apart.
    fn into_columns(self) -> Flow {
        let Table { times, loss, beta, states } = self.table;
        let ((loss, loss_low), (beta, beta_low)) = (R::into_parts(loss), R::into_parts(beta));
        let (states, states_low) = R::into_parts(states);
        let (observables, lows): (_, Vec<_>) = self.columns.into_values().into_iter().map(R::into_parts).unzip();
        let observables_low = if R::HAS_LOW { lows } else { Vec::new() };
        let highs = Flow { times, beta, loss, observables, states, ..Flow::empty() };
        Flow { beta_low, loss_low, observables_low, states_low, ..highs }
    }

    /// Rows at times chosen now, the last one the end of the run; fewer of them for somebody who does not want to wait.
    fn write_automatic(&mut self, shown: &mut dyn Shown<R>, state: &[R], status: Status) -> Status {
        let Plan::Automatic { pieces, first } = &mut self.plan else { return status };
        let (pieces, first) = (core::mem::take(pieces), *first);
        let Some(end) = pieces.last().map(|piece| piece.end().to_f64()) else { return status };
        let times = self.frame.clock.told_apart(spread(first, end));
        if self.save_beta {
            self.table.beta.reserve_exact(times.len() * self.frame.features);
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
    fn push_kept(&mut self, shown: &mut dyn Shown<R>, pieces: &[Piece<R>], times: &[f64], state: &[R]) {
        let dim = self.frame.dim;
        // Times that the caller can be told are binary64, and so are those of the ends to him.
        let Some(end) = pieces.last().map(|piece| piece.end().to_f64()) else { return };
        let mut states = vec![R::ZERO; times.len() * dim];
        for (time, out) in times.iter().zip(states.chunks_exact_mut(dim)) {
            let at = pieces.partition_point(|piece| piece.end().to_f64() < *time);
            match pieces.get(at) {
                Some(piece) if *time < end => piece.at(R::from_f64(*time), out),
                _ => out.copy_from_slice(state),
            }
        }
        let asked: Vec<f64> = times.iter().map(|t| self.frame.clock.to_caller(*t)).collect();
        self.push(shown, &asked, &states);
    }

    /// One row for each of `times`, of the caller, up to the first that binary64 cannot hold.
    fn push(&mut self, shown: &mut dyn Shown<R>, times: &[f64], states: &[R]) {
        let Frame { features, samples, dim, .. } = self.frame;
        let width = if self.shows_beta { features } else { 0 };
        let before = if self.save_beta { Vec::new() } else { core::mem::take(&mut self.table.beta) };
        let table = &mut self.table;
        // Shown where they stay: of many features the rows are most of what there is to write.
        let first = table.beta.len();
        table.beta.resize(first + times.len() * width, R::ZERO);
        let mut residual = vec![R::ZERO; times.len() * samples];
        shown.show(states, &mut table.beta[first..], &mut residual);
        let finite = |k: usize| table.beta[first + k * width..first + (k + 1) * width].iter().all(|b| b.is_finite());
        let held = (0..times.len()).take_while(|k| finite(*k)).count();
        self.overflown |= held < times.len();
        table.beta.truncate(first + held * width);
        for (k, (time, residual)) in times[..held].iter().zip(residual.chunks_exact(samples)).enumerate() {
            let beta = &table.beta[first + k * width..first + (k + 1) * width];
            let squares = residual.iter().fold(R::ZERO, |sum, r| sum + *r * *r);
            let loss = squares / R::from_f64(2.0 * samples as f64);
            // NaN is a residual of two infinities, of data whose products with weights are beyond the largest float.
            let loss = if loss.to_f64().is_nan() { R::from_f64(f64::INFINITY) } else { loss };
            table.times.push(*time);
            table.loss.push(loss);
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
            table.states.extend_from_slice(states);
        } else if held > 0 {
            table.beta.drain(..(held - 1) * width);
            table.states.clear();
            table.states.extend_from_slice(&states[(held - 1) * dim..]);
        } else {
            table.beta = before;
        }
    }

    /// Rows at `times`, of the caller, that all have the same state.
    fn push_same(&mut self, shown: &mut dyn Shown<R>, times: &[f64], state: &[R]) {
        let Some((first, others)) = times.split_first() else { return };
        self.push(shown, &[*first], state);
        if self.overflown {
            return;
        }
        let Table { times, loss, beta, states } = &mut self.table;
        times.extend_from_slice(others);
        loss.resize(times.len(), loss.last().copied().unwrap_or(R::from_f64(f64::NAN)));
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
