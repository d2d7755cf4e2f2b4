//! What a run may spend: seconds, and the patience of whoever waits for it. Knows no model and no method.

use super::monitor::Monitor;
use super::outcome::Status;
use std::time::{Duration, Instant};

/// Seconds and patience.
pub(crate) struct Budget<'i> {
    deadline: Option<Instant>,
    pub(crate) monitor: &'i dyn Monitor,
    /// Which of the two ended the run.
    spent: Option<Status>,
}

impl<'i> Budget<'i> {
    pub(crate) fn new(max_seconds: Option<f64>, monitor: &'i dyn Monitor) -> Self {
        // Times beyond what `Duration` holds are no limit.
        let limit = max_seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Self { deadline: limit.and_then(|limit| Instant::now().checked_add(limit)), monitor, spent: None }
    }

    /// True once the budget is used up or the caller has asked to stop.
    pub(crate) fn is_spent(&mut self) -> bool {
        if self.spent.is_none() {
            if self.monitor.interrupted() {
                self.spent = Some(Status::Interrupted);
            } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                self.spent = Some(Status::MaxSeconds);
            }
        }
        self.spent.is_some()
    }

    /// Why.
    pub(crate) fn verdict(&self) -> Option<Status> {
        self.spent
    }
}
