//! What a caller sets and gets back, the same for every model. Knows no model and no method.

use super::observable::Observable;
use crate::ode;
pub use crate::ode::Stats;

/// How to integrate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// The implicit one, unless the horizon is so short that the flow is not stiff on it.
    #[default]
    Auto,
    /// Radau IIA of order 5, 9 and 13, in double-double to 21, in reduced coordinates.
    Radau,
    /// Dormand and Prince 8(5,3) in reduced coordinates.
    Explicit,
    /// Dormand and Prince 8(5,3) on the raw weights: the independent cross-check, slow and bound to representable scales.
    Weights,
}

/// Numbers that states, rows and residuals are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Binary64: sixteen digits.
    #[default]
    Double,
    /// Two of them, high and low: thirty-one digits. Not in raw weights, and not for every model.
    DoubleDouble,
}

/// Settings of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Options<'a> {
    /// Times of the rows, increasing, from 0 on. `None`: run to convergence, [`AUTOMATIC_ROWS`] rows.
    pub times: Option<&'a [f64]>,
    /// Unit of the times, those given and those of the rows, in times of the flow. A positive normal number; 1 by default.
    pub time_unit: f64,
    /// Relative tolerance of β at every time, and of the residual on its way to 0. In [1e-14, 0.1], in double-double from
    /// 1e-30; 1e-10 by default.
    pub rtol: f64,
    /// Converged where `max|r| ≤ tol · max|y|` (y projected onto the range of X). At least 0; 1e-12 by default.
    pub tol: f64,
    /// Numbers.
    pub precision: Precision,
    /// Integrator and coordinates.
    pub method: Method,
    /// Most trial steps. At least 1; no limit by default.
    pub max_steps: Option<u64>,
    /// Most seconds. Above 0; no limit by default.
    pub max_seconds: Option<f64>,
    /// Most events. At least 1; no limit by default.
    pub max_events: Option<u64>,
    /// Numbers to keep of every row. None by default.
    pub observables: &'a [Observable],
    /// β(∞), where [`Observable::Distance`] is measured from; of as many entries as β if that is asked for.
    pub end: &'a [f64],
    /// What binary64 leaves out of it; nothing, or of as many entries.
    pub end_low: &'a [f64],
    /// Keep β, the path and the multipliers of every row, or of the last one only. True by default.
    pub save_beta: bool,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            times: None,
            time_unit: 1.0,
            rtol: 1e-10,
            tol: 1e-12,
            precision: Precision::Double,
            method: Method::Auto,
            max_steps: None,
            max_seconds: None,
            max_events: None,
            observables: &[],
            end: &[],
            end_low: &[],
            save_beta: true,
        }
    }
}

/// Rows of a run whose times are not given.
pub const AUTOMATIC_ROWS: usize = 200;

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The residual is below the tolerance.
    Converged,
    /// The last requested time.
    ReachedEnd,
    /// The residual is as small as binary64 can tell, and above the tolerance.
    RoundoffFloor,
    /// Converged to the least-squares solution: no β fits y.
    LeastSquares,
    /// Converged to the least-squares solution among the signs that one-sided coordinates can take.
    InfeasibleSign,
    /// Stationary and not a minimum: weights that are exactly 0 never move.
    Saddle,
    /// More than one flow goes on from here.
    Ambiguous,
    /// The budget of steps is used up.
    MaxSteps,
    /// The budget of seconds is used up.
    MaxSeconds,
    /// The budget of events is used up.
    MaxEvents,
    /// The caller asked to stop.
    Interrupted,
    /// Binary64 cannot go on: the step fell below the spacing of numbers at t, or a time or a coefficient is beyond the
    /// largest of them.
    StepTooSmall,
}

impl From<ode::Status> for Status {
    /// Why the integrator ended; where an observer stopped it, the observer knows better.
    fn from(status: ode::Status) -> Self {
        match status {
            ode::Status::ReachedEnd | ode::Status::Stopped => Self::ReachedEnd,
            ode::Status::MaxSteps => Self::MaxSteps,
            ode::Status::Interrupted => Self::Interrupted,
            ode::Status::StepTooSmall | ode::Status::NotFinite | ode::Status::Stiff => Self::StepTooSmall,
        }
    }
}

impl Status {
    /// The name users see.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::ReachedEnd => "reached_end",
            Self::RoundoffFloor => "roundoff_floor",
            Self::LeastSquares => "least_squares",
            Self::InfeasibleSign => "infeasible_sign",
            Self::Saddle => "saddle",
            Self::Ambiguous => "ambiguous",
            Self::MaxSteps => "max_steps",
            Self::MaxSeconds => "max_seconds",
            Self::MaxEvents => "max_events",
            Self::Interrupted => "interrupted",
            Self::StepTooSmall => "step_too_small",
        }
    }

    /// Of a run that was to go on: the integrator may have come to the last time there is a number for.
    pub(crate) fn unfinished(self) -> Self {
        if self == Self::ReachedEnd { Self::StepTooSmall } else { self }
    }

    /// True where the flow has nowhere left to go: later rows repeat this state.
    #[must_use]
    pub const fn is_stationary(self) -> bool {
        matches!(self, Self::Converged | Self::RoundoffFloor | Self::LeastSquares | Self::InfeasibleSign | Self::Saddle)
    }
}

/// What a pre-activation does when it reaches its kink, or leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It goes through.
    Crosses,
    /// It stays.
    StartsSliding,
    /// It leaves to the positive side.
    StopsSlidingPositive,
    /// It leaves to the negative side.
    StopsSlidingNegative,
}

impl EventKind {
    /// The name users see.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Crosses => "crosses",
            Self::StartsSliding => "starts_sliding",
            Self::StopsSlidingPositive => "stops_sliding_positive",
            Self::StopsSlidingNegative => "stops_sliding_negative",
        }
    }
}

/// Something that happened to the pre-activation of one sample in one neuron.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When, as the caller counts.
    pub time: f64,
    /// Which sample, from 0.
    pub sample: usize,
    /// Which neuron, from 0.
    pub neuron: usize,
    /// What.
    pub kind: EventKind,
}

/// A trajectory: `T` rows, and why it ended. Of what is kept row by row, `R` rows: all `T`, or the last one.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Times (T).
    pub times: Vec<f64>,
    /// Predictors, R × d.
    pub beta: Vec<f64>,
    /// What binary64 leaves out of them. Like all low parts empty in [`Precision::Double`], unless it says something else.
    pub beta_low: Vec<f64>,
    /// `Σ r² / (2N)` (T), the part of y that no β reaches included.
    pub loss: Vec<f64>,
    /// Its low part.
    pub loss_low: Vec<f64>,
    /// A column (T) for every observable asked for.
    pub observables: Vec<Vec<f64>>,
    /// Their low parts.
    pub observables_low: Vec<Vec<f64>>,
    /// `G = Xᵀν`, R × d, and what binary64 leaves out of it. Empty for [`Method::Weights`].
    pub dual: Vec<f64>,
    /// The low parts of `dual`, in any precision.
    pub dual_low: Vec<f64>,
    /// Multipliers ν, R × N, those of least norm where they are not unique. Empty for [`Method::Weights`].
    pub multipliers: Vec<f64>,
    /// The low parts of `multipliers`, in any precision (0 in binary64 where N > d).
    pub multipliers_low: Vec<f64>,
    /// The states that were integrated, where they are no dual ones: for [`Method::Weights`] of the diagonal network the
    /// weights u₊, v₊, u₋, v₋, R × 4 × d; for networks of neurons what their module says.
    pub states: Vec<f64>,
    /// The low parts of `states`.
    pub states_low: Vec<f64>,
    /// What happened on the way, in the order of (time, neuron, sample).
    pub events: Vec<Event>,
    /// Why it ended.
    pub status: Status,
    /// What it cost.
    pub stats: Stats,
}

impl Flow {
    /// Ended before there was a row.
    pub(crate) fn interrupted(options: &Options<'_>) -> Self {
        let observables = vec![Vec::new(); options.observables.len()];
        Self { status: Status::Interrupted, observables, ..Self::empty() }
    }

    /// No rows.
    pub(crate) fn empty() -> Self {
        Self {
            times: Vec::new(),
            beta: Vec::new(),
            beta_low: Vec::new(),
            loss: Vec::new(),
            loss_low: Vec::new(),
            observables: Vec::new(),
            observables_low: Vec::new(),
            dual: Vec::new(),
            dual_low: Vec::new(),
            multipliers: Vec::new(),
            multipliers_low: Vec::new(),
            states: Vec::new(),
            states_low: Vec::new(),
            events: Vec::new(),
            status: Status::ReachedEnd,
            stats: Stats::default(),
        }
    }
}
