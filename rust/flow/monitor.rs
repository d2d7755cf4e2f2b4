//! Who asks for a run, while it goes on: how far is it, and should it stop? Knows no model and no method.

use super::outcome::{Flow, Status};
use crate::real::Real;

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Time of the flow.
    pub time: f64,
    /// `max|r|`, y projected onto the range of X, in the rows that are integrated.
    pub residual: f64,
    /// Accepted steps.
    pub steps: u64,
    /// Share of the way, in [0, 1] and never falling: of the requested rows; without requested times of the decades
    /// between the first residual and the tolerance, in which a flow that rests at a saddle makes no progress.
    pub fraction: f64,
}

/// Watches a run from outside. A closure that says whether to stop is one that does not care how far it is.
pub trait Monitor {
    /// Polled often, so it must be cheap: true ends the run with the rows so far.
    fn interrupted(&self) -> bool;

    /// Told after every accepted step, and at the end of a run that went the whole way.
    fn progress(&self, _now: Progress) {}
}

/// Tell of the end of a run that went the whole way, steps or not.
pub(crate) fn arrived(monitor: &dyn Monitor, flow: &Flow, residual: f64) {
    if flow.status == Status::ReachedEnd || flow.status.is_stationary() {
        let time = flow.times.last().copied().unwrap_or(0.0);
        monitor.progress(Progress { time, residual, steps: flow.stats.accepted, fraction: 1.0 });
    }
}

impl<F: Fn() -> bool> Monitor for F {
    fn interrupted(&self) -> bool {
        self()
    }
}

/// The share of the way, which never falls.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    first: f64,
    last: f64,
    share: f64,
}

impl Way {
    /// From the residual `first` to `last` and below.
    pub(crate) fn of_residuals(first: f64, last: f64) -> Self {
        Self { first, last, share: 0.0 }
    }

    /// The share at `residual`, in decades.
    pub(crate) fn at_residual(&mut self, residual: f64) -> f64 {
        self.at((self.first / residual).ln() / (self.first / self.last).ln())
    }

    /// The share of `done` rows of `times`, and of the way to the next at `time`.
    pub(crate) fn at_rows<R: Real>(&mut self, times: &[R], done: usize, time: f64) -> f64 {
        let from = if done == 0 { 0.0 } else { times[done - 1].to_f64() };
        let between = times.get(done).map_or(0.0, |next| ((time - from) / (next.to_f64() - from)).clamp(0.0, 1.0));
        self.at((done as f64 + between) / times.len() as f64)
    }

    fn at(&mut self, share: f64) -> f64 {
        // NaN, as of no residual at all, changes nothing.
        if share > self.share {
            self.share = share.min(1.0);
        }
        self.share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_decades_is_half_of_the_way_and_the_way_back_does_not_count() {
        let mut way = Way::of_residuals(10.0, 1e-11);
        assert!((way.at_residual(1e-5) - 0.5).abs() < 1e-15);
        assert!((way.at_residual(1e-3) - 0.5).abs() < 1e-15);
        assert_eq!((way.at_residual(1e-300), way.at_residual(f64::NAN)), (1.0, 1.0));
        let mut nowhere = Way::of_residuals(0.0, 0.0);
        assert_eq!(nowhere.at_residual(0.0), 0.0);
    }

    #[test]
    fn rows_count_alike_and_time_counts_between_them() {
        let (times, mut way) = ([0.0, 10.0, 1000.0, 1010.0], Way::of_residuals(1.0, 1.0));
        assert_eq!(way.at_rows(&times, 1, 5.0), 0.375);
        assert_eq!(way.at_rows(&times, 2, 10.0), 0.5);
        assert_eq!(way.at_rows(&times, 4, 1010.0), 1.0);
    }

    #[test]
    fn a_closure_is_a_monitor_that_does_not_care_how_far_it_is() {
        let monitor: &dyn Monitor = &|| true;
        monitor.progress(Progress { time: 0.0, residual: 1.0, steps: 0, fraction: 0.0 });
        assert!(monitor.interrupted());
    }
}
