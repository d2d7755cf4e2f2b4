//! Watches the dual flow while it is integrated: saves rows, decides that it is over, keeps to the budgets.

use super::dual::DualFlow;
use super::number::Number;
use super::reference::Reference;
use super::stopping::Stopping;
use super::table::{BATCH, Table};
use crate::flow::budget::Budget;
use crate::flow::monitor::{Monitor, Progress, Way};
use crate::flow::numbers::Path;
use crate::flow::outcome::Status;
use crate::flow::segment::spread;
use crate::linalg::Rows;
use crate::ode::{Action, Observer, Step};

/// Rows that an interrupted run without requested times still writes between its first and its last: one batch, for a
/// Ctrl-C is to be answered within a fifth of a second, and before the end is known there is no row but the first.
const HASTY_ROWS: usize = BATCH - 1;

/// β that carries so many times the rounding of its exponents has too few digits to go on with.
const BLIND: f64 = 1e11;

/// The observer.
pub(super) struct Watch<'p, 'i, R: Number = f64> {
    pub(super) table: Table<'p, R>,
    stopping: Stopping<'p, R>,
    plan: Plan<R>,
    budget: Budget<'i>,
    way: Way,
    /// Why the observer stopped the run, if it did.
    pub(super) verdict: Option<Status>,
}

/// Where rows come from.
pub(super) enum Plan<R: Number> {
    /// These times; rows are written as the run passes them.
    Given {
        /// In the units of the run.
        times: Vec<R>,
        /// How many are written.
        done: usize,
    },
    /// Times chosen at the end: all steps are kept.
    Automatic {
        /// The steps.
        segments: Vec<R::Segment>,
        /// The reference they start from.
        reference: Box<Reference>,
        /// A time at which something begins to be seen.
        first: f64,
    },
}

impl<'p, 'i, R: Number> Watch<'p, 'i, R> {
    /// `flow` stands at the start, which gives the rows of time 0.
    pub(super) fn new(
        mut table: Table<'p, R>,
        stopping: Stopping<'p, R>,
        mut plan: Plan<R>,
        budget: Budget<'i>,
        way: Way,
        flow: &DualFlow<'_, R>,
    ) -> Self {
        let start = vec![R::ZERO; flow.x.n()];
        match &mut plan {
            Plan::Given { times, done } => {
                // Later ones than 0 may be 0 in the units of the run.
                *done = times.iter().take_while(|time| **time == R::ZERO).count();
                table.push_same(&flow.reference, &rounded(&times[..*done]), &start);
            }
            Plan::Automatic { .. } => table.push(&flow.reference, &[0.0], &start),
        }
        let mut watch = Self { table, stopping, plan, budget, way, verdict: None };
        watch.verdict = watch.stopping.judge(&flow.here.beta, &flow.here.residual, flow.amplification());
        watch
    }

    /// The rows still missing, when the run has ended at `Δν = state`: those of a flow that does not move any more, or
    /// those whose times were to be chosen. Returns why it ended, given why the integrator did.
    pub(super) fn finish(&mut self, flow: &DualFlow<'_, R>, state: &[R], integrator: Status) -> Status {
        let status = self.verdict.or(self.budget.verdict()).unwrap_or(integrator);
        match &mut self.plan {
            Plan::Given { times, done } => {
                if self.verdict.is_some() {
                    self.table.push_same(&flow.reference, &rounded(&times[*done..]), state);
                    *done = times.len();
                }
                if *done == times.len() { Status::ReachedEnd } else { status.unfinished() }
            }
            Plan::Automatic { segments, reference, first } => {
                let status = status.unfinished();
                let Some(end) = segments.last().map(|segment| segment.span().1.to_f64()) else { return status };
                let times = self.table.told_apart(spread(*first, end));
                let monitor = self.budget.monitor;
                let written = replay(&mut self.table, flow.x, reference, segments, &times, monitor);
                if written == times.len() {
                    return status;
                }
                hasten(&mut self.table, &flow.reference, state, segments, &times[written..]);
                Status::Interrupted
            }
        }
    }
}

/// Rows at `times` over the kept steps, the last one at their end; how many, for it ends early when it is told to.
fn replay<R: Number>(
    table: &mut Table<'_, R>,
    x: Rows<'_>,
    reference: &mut Reference,
    segments: &[R::Segment],
    times: &[f64],
    monitor: &dyn Monitor,
) -> usize {
    let mut written = 0;
    let (mut shift, two) = (vec![R::ZERO; x.d()], R::from_f64(2.0));
    for segment in segments {
        let inside = times[written..].iter().take_while(|time| **time <= segment.span().1.to_f64()).count();
        for batch in times[written..written + inside].chunks(BATCH) {
            if monitor.interrupted() {
                return written;
            }
            let mut states = vec![R::ZERO; batch.len() * x.n()];
            for (time, state) in batch.iter().zip(states.chunks_exact_mut(x.n())) {
                segment.at(R::from_f64(*time), state);
            }
            table.push(reference, batch, &states);
            written += batch.len();
        }
        if monitor.interrupted() {
            return written;
        }
        x.apply_transposed(segment.last(), &mut shift);
        for z in &mut shift {
            *z *= two;
        }
        R::advance(reference, x, segment.last(), &shift);
    }
    written
}

/// A few rows of `times`, the last among them, in one batch: all of them relative to the end, `Δν = state` from
/// `reference`. β then carries the rounding of `z = 2XᵀΔν` of the whole way, ε|ln κ| where [`replay`] keeps ε.
fn hasten<R: Number>(
    table: &mut Table<'_, R>,
    reference: &Reference,
    state: &[R],
    segments: &[R::Segment],
    times: &[f64],
) {
    let stride = times.len().div_ceil(HASTY_ROWS).max(1);
    let mut chosen: Vec<f64> = times.iter().rev().step_by(stride).copied().collect();
    let (n, mut states) = (state.len(), Vec::new());
    // Backwards: where a segment starts is where it ends less what it adds.
    let mut start = state.to_vec();
    let mut left = chosen.iter().peekable();
    for segment in segments.iter().rev() {
        start.iter_mut().zip(segment.last()).for_each(|(start, last)| *start -= *last);
        while let Some(time) = left.next_if(|time| R::from_f64(**time) > segment.span().0) {
            let mut row = vec![R::ZERO; n];
            segment.at(R::from_f64(*time), &mut row);
            row.iter_mut().zip(&start).for_each(|(row, start)| *row += *start);
            states.push(row);
        }
    }
    chosen.reverse();
    states.reverse();
    table.push(reference, &chosen, &states.concat());
}

/// Times, as a caller can be told them.
fn rounded<R: Number>(times: &[R]) -> Vec<f64> {
    times.iter().map(|time| time.to_f64()).collect()
}

/// Rows at the requested times inside a step, a batch at a time. False if the run was told to end before they were all
/// there: in one step there may be any number of them.
fn rows_inside<'a, R: Number>(
    table: &mut Table<'_, R>,
    times: &[R],
    done: &mut usize,
    flow: &mut DualFlow<'a, R>,
    step: &mut Step<'_, R, DualFlow<'a, R>>,
    interrupted: &mut dyn FnMut() -> bool,
) -> bool {
    let n = flow.x.n();
    let inside = times[*done..].iter().take_while(|time| **time <= step.t_new).count();
    for batch in times[*done..*done + inside].chunks(BATCH) {
        // A refinement asks too, but not every method has to work for one.
        if interrupted() {
            return false;
        }
        let mut states = vec![R::ZERO; batch.len() * n];
        let mut slots = batch.iter().zip(states.chunks_exact_mut(n));
        let refused = slots.position(|(time, state)| !step.refined_at(flow, *time, state, interrupted));
        let ready = refused.unwrap_or(batch.len());
        table.push(&flow.reference, &rounded(&batch[..ready]), &states[..ready * n]);
        *done += ready;
        if refused.is_some() {
            return false;
        }
    }
    true
}

impl<'a, R: Number> Observer<R, DualFlow<'a, R>> for Watch<'_, '_, R> {
    fn step(&mut self, flow: &mut DualFlow<'a, R>, step: &mut Step<'_, R, DualFlow<'a, R>>) -> Action<R> {
        let n = flow.x.n();
        let Self { table, plan, budget, .. } = self;
        match plan {
            Plan::Given { times, done } => {
                let all = rows_inside(table, times, done, flow, step, &mut || budget.is_spent());
                if !all || table.is_overflown() {
                    return Action::Stop;
                }
            }
            Plan::Automatic { segments, .. } => {
                let (start, end) = (step.t_old(), step.t_new);
                let nodes = R::Segment::nodes();
                let mut samples = vec![R::ZERO; nodes.len() * n];
                for (node, sample) in nodes.iter().zip(samples.chunks_exact_mut(n)) {
                    if *node == 1.0 {
                        sample.copy_from_slice(step.y_new());
                    } else {
                        step.at(flow, start + R::from_f64(*node) * (end - start), sample);
                    }
                }
                segments.push(R::Segment::new(start, end, samples));
            }
        }
        flow.visit(step.y_new());
        let residual = self.table.size_of(&flow.here.residual);
        let fraction = match &self.plan {
            Plan::Given { times, done } => self.way.at_rows(times, *done, step.t_new.to_f64()),
            Plan::Automatic { .. } => self.way.at_residual(residual),
        };
        let (time, steps) = (self.table.time(step.t_new.to_f64()), step.stats().accepted);
        self.budget.monitor.progress(Progress { time, residual, steps, fraction });
        let amplified = flow.amplification();
        self.verdict = self.stopping.judge(&flow.here.beta, &flow.here.residual, amplified);
        if self.verdict.is_none() && amplified > BLIND {
            self.verdict = Some(Status::StepTooSmall);
        }
        if self.verdict.is_some() { Action::Stop } else { Action::Continue }
    }

    fn interrupted(&mut self) -> bool {
        self.budget.is_spent()
    }
}
