//! Watches the dual flow while it is integrated: saves rows, decides that it is over, keeps to the budgets.

use super::dual::{DualFlow, advance};
use super::record::{Segment, nodes};
use super::reference::Reference;
use super::stopping::Stopping;
use super::table::Table;
use crate::flow::outcome::{AUTOMATIC_ROWS, Status};
use crate::linalg::Rows;
use crate::ode::{Action, Observer, Step};
use std::time::{Duration, Instant};

/// The time of the second automatic row is at most this fraction of the last one, and at least the next.
const LATEST_FIRST: f64 = 1e-3;
const EARLIEST_FIRST: f64 = 1e-12;

/// The observer.
pub(super) struct Watch<'p, 'i> {
    pub(super) table: Table<'p>,
    stopping: Stopping<'p>,
    plan: Plan,
    budget: Budget<'i>,
    /// Why the observer stopped the run, if it did.
    pub(super) verdict: Option<Status>,
}

/// Where rows come from.
pub(super) enum Plan {
    /// These times; rows are written as the run passes them.
    Given {
        /// In the units of the run.
        times: Vec<f64>,
        /// How many are written.
        done: usize,
    },
    /// Times chosen at the end: all steps are kept.
    Automatic {
        /// The steps.
        segments: Vec<Segment>,
        /// The reference they start from.
        reference: Box<Reference>,
        /// A time at which something begins to be seen.
        first: f64,
    },
}

/// Seconds and patience.
pub(super) struct Budget<'i> {
    deadline: Option<Instant>,
    interrupt: &'i dyn Fn() -> bool,
    /// Which of the two ended the run.
    spent: Option<Status>,
}

impl<'i> Budget<'i> {
    pub(super) fn new(max_seconds: Option<f64>, interrupt: &'i dyn Fn() -> bool) -> Self {
        // Times beyond what `Duration` holds are no limit.
        let limit = max_seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Self { deadline: limit.and_then(|limit| Instant::now().checked_add(limit)), interrupt, spent: None }
    }

    /// True once the budget is used up or the caller has asked to stop.
    pub(super) fn is_spent(&mut self) -> bool {
        if self.spent.is_none() {
            if (self.interrupt)() {
                self.spent = Some(Status::Interrupted);
            } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                self.spent = Some(Status::MaxSeconds);
            }
        }
        self.spent.is_some()
    }

    /// Why.
    pub(super) fn verdict(&self) -> Option<Status> {
        self.spent
    }
}

impl<'p, 'i> Watch<'p, 'i> {
    /// `flow` stands at the start, which gives the rows of time 0.
    pub(super) fn new(
        mut table: Table<'p>,
        stopping: Stopping<'p>,
        mut plan: Plan,
        budget: Budget<'i>,
        flow: &DualFlow<'_>,
    ) -> Self {
        let start = vec![0.0; flow.x.n()];
        match &mut plan {
            Plan::Given { times, done } => {
                if times.first() == Some(&0.0) {
                    table.push(&flow.reference, &[0.0], &start);
                    *done = 1;
                }
            }
            Plan::Automatic { .. } => table.push(&flow.reference, &[0.0], &start),
        }
        let mut watch = Self { table, stopping, plan, budget, verdict: None };
        watch.verdict = watch.stopping.judge(&flow.here.beta, &flow.here.residual);
        watch
    }

    /// The rows still missing, when the run has ended at `Δν = state`: those of a flow that does not move any more, or
    /// those whose times were to be chosen. Returns why it ended, given why the integrator did.
    pub(super) fn finish(&mut self, flow: &DualFlow<'_>, state: &[f64], integrator: Status) -> Status {
        let status = self.verdict.or(self.budget.verdict()).unwrap_or(integrator);
        match &mut self.plan {
            Plan::Given { times, done } => {
                if self.verdict.is_some() {
                    let left = &times[*done..];
                    let states: Vec<f64> = left.iter().flat_map(|_| state.iter().copied()).collect();
                    self.table.push(&flow.reference, left, &states);
                    *done = times.len();
                }
                if *done == times.len() { Status::ReachedEnd } else { status }
            }
            Plan::Automatic { segments, reference, first } => {
                replay(&mut self.table, flow.x, reference, segments, *first);
                status
            }
        }
    }
}

/// Rows at times spread evenly in ln t over the kept steps, the last one at their end.
fn replay(table: &mut Table<'_>, x: Rows<'_>, reference: &mut Reference, segments: &[Segment], first: f64) {
    let Some(end) = segments.last().map(|segment| segment.end) else { return };
    let mut times = spread(first, end).into_iter().peekable();
    let mut shift = vec![0.0; x.d()];
    for segment in segments {
        let mut inside = Vec::new();
        while let Some(time) = times.next_if(|time| *time <= segment.end) {
            inside.push(time);
        }
        let mut states = vec![0.0; inside.len() * x.n()];
        for (time, state) in inside.iter().zip(states.chunks_exact_mut(x.n())) {
            segment.at(*time, state);
        }
        table.push(reference, &inside, &states);
        x.apply_transposed(segment.last(), &mut shift);
        for z in &mut shift {
            *z *= 2.0;
        }
        advance(reference, x, segment.last(), &shift);
    }
}

/// [`AUTOMATIC_ROWS`]` − 1` times from about `first` to exactly `end`.
pub(super) fn spread(first: f64, end: f64) -> Vec<f64> {
    let first = first.clamp(EARLIEST_FIRST * end, LATEST_FIRST * end);
    let last = AUTOMATIC_ROWS - 2;
    let time = |k: usize| if k == last { end } else { first * (end / first).powf(k as f64 / last as f64) };
    (0..=last).map(time).collect()
}

impl<'a> Observer<f64, DualFlow<'a>> for Watch<'_, '_> {
    fn step(&mut self, flow: &mut DualFlow<'a>, step: &mut Step<'_, f64, DualFlow<'a>>) -> Action<f64> {
        let n = flow.x.n();
        match &mut self.plan {
            Plan::Given { times, done } => {
                let inside = times[*done..].iter().take_while(|time| **time <= step.t_new).count();
                let mut states = vec![0.0; inside * n];
                let times = &times[*done..*done + inside];
                for (time, state) in times.iter().zip(states.chunks_exact_mut(n)) {
                    step.refined_at(flow, *time, state);
                }
                self.table.push(&flow.reference, times, &states);
                *done += inside;
            }
            Plan::Automatic { segments, .. } => {
                let (start, end) = (step.t_old(), step.t_new);
                let nodes = nodes();
                let mut samples = vec![0.0; nodes.len() * n];
                for (node, sample) in nodes.iter().zip(samples.chunks_exact_mut(n)) {
                    if *node == 1.0 {
                        sample.copy_from_slice(step.y_new());
                    } else {
                        step.at(flow, start + node * (end - start), sample);
                    }
                }
                segments.push(Segment::new(start, end, samples));
            }
        }
        flow.visit(step.y_new());
        self.verdict = self.stopping.judge(&flow.here.beta, &flow.here.residual);
        if self.verdict.is_some() { Action::Stop } else { Action::Continue }
    }

    fn interrupted(&mut self) -> bool {
        self.budget.is_spent()
    }
}
