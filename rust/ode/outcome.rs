//! How an integration ended: a value, never an exception.

/// Why the integration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The end of the interval.
    ReachedEnd,
    /// The observer stopped it.
    Stopped,
    /// The budget of trial steps is used up.
    MaxSteps,
    /// The step became so short that `t + h == t`.
    StepTooSmall,
    /// The initial state or its slope is not finite.
    NotFinite,
    /// The explicit method is held back by stability, not by accuracy.
    Stiff,
    /// The observer asked to be interrupted.
    Interrupted,
}

impl Status {
    /// True if the integration went where it was told to go.
    #[must_use]
    pub const fn is_success(self) -> bool {
        matches!(self, Self::ReachedEnd | Self::Stopped)
    }

    /// One sentence: what happened, and the remedy.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::ReachedEnd => "the end of the interval was reached",
            Self::Stopped => "the observer found what it was waiting for",
            Self::MaxSteps => "max_steps trial steps were not enough: raise max_steps, or loosen the tolerance",
            Self::StepTooSmall => {
                "the step fell below the spacing of numbers at t: the solution blows up or is not smooth there, or the \
                 tolerance is below round-off; loosen the tolerance or raise the precision"
            }
            Self::NotFinite => "the right-hand side is not finite at the start: change the initial state",
            Self::Stiff => "stability, not accuracy, limits the explicit method: use the implicit one",
            Self::Interrupted => "interrupted: integrate again from the returned state to go on",
        }
    }
}

/// What the integration cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Accepted steps.
    pub accepted: u64,
    /// Rejected steps: error too large, Newton not converging, or a state that is not finite.
    pub rejected: u64,
    /// Evaluations of the right-hand side at one state.
    pub rhs: u64,
    /// Evaluations of the Jacobian.
    pub jacobians: u64,
    /// Newton iterations, each over all stages of a step.
    pub newton_iterations: u64,
    /// Shifted linear systems solved, complex ones counted once.
    pub newton_systems: u64,
}

impl core::ops::AddAssign for Stats {
    fn add_assign(&mut self, more: Self) {
        self.accepted += more.accepted;
        self.rejected += more.rejected;
        self.rhs += more.rhs;
        self.jacobians += more.jacobians;
        self.newton_iterations += more.newton_iterations;
        self.newton_systems += more.newton_systems;
    }
}

/// The end of an integration.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<R> {
    /// Time reached.
    pub t: R,
    /// State there, in the representation the system last chose ([`System::accepted`](super::System::accepted)).
    pub y: Vec<R>,
    /// Why it ended.
    pub status: Status,
    /// What it cost.
    pub stats: Stats,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_says_what_to_do_about_it() {
        for status in [Status::MaxSteps, Status::StepTooSmall, Status::NotFinite, Status::Stiff, Status::Interrupted] {
            assert!(!status.is_success());
            assert!(status.message().contains(": "), "{status:?} has no remedy");
        }
    }
}
