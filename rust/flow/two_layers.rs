//! Flows in raw weights, by the explicit method: the cross-checks of the models whose predictor is a product of two layers.
//! Plain loops over all weights, no units, and nothing of what the other methods are made of. Knows no model: [`TwoLayers`]
//! says what the weights mean.
//!
//! [`residual`] and [`integrate_explicitly`] serve the diagonal network's cross-check as well.

use super::Invalid;
use super::clock::Clock;
use super::fully_connected::divergence::Divergence;
use super::fully_connected::units::peak;
use super::monitor::Monitor;
use super::outcome::{Flow, Options, Stats, Status};
use super::recorder::{Frame, Recorder, Shown};
use crate::linalg::{Rows, length};
use crate::ode::{self, Action, Explicit, Observer, Step, System, integrate};

/// Weights outside this range are too close to under- or overflow of their squares' derivatives.
const REPRESENTABLE: (f64, f64) = (1e-140, 1e100);
/// Smallest tolerance of a step: round-off of a weight.
pub(super) const ROUND_OFF: f64 = 4.0 * f64::EPSILON;
/// Rounding errors of the residual in ulps of `|X||β| + |y|`.
const FLOOR: f64 = 8.0;

/// What the weights of a model mean.
pub(super) trait TwoLayers {
    /// Number of weights.
    fn dim(&self) -> usize;
    /// β.
    fn predictor(&self, weights: &[f64]) -> Vec<f64>;
    /// Their slope, where `gradient` is `Xᵀr/N`.
    fn slope(&self, weights: &[f64], gradient: &[f64], slope: &mut [f64]);
    /// The two layers of weights, or of anything of their shape.
    fn layers<'v>(&self, weights: &'v [f64]) -> (&'v [f64], &'v [f64]);
    /// A bound of the norm of the derivative of β.
    fn reach(&self, weights: &[f64]) -> f64;
}

/// What is fitted, and when it is over.
pub(super) struct Task<'p> {
    /// Samples.
    pub(super) x: Rows<'p>,
    /// Targets.
    pub(super) y: &'p [f64],
    /// The part of y that can be fitted.
    pub(super) targets: &'p [f64],
    /// The status of a fit.
    pub(super) end: Status,
    /// True if there is something to fit: the residual is measured by it, else by the first one.
    pub(super) sized: bool,
    /// `D_Q(β, β(0))`, where a theorem gives a Q.
    pub(super) divergence: Option<Divergence>,
}

/// The flow of the weights.
struct RawFlow<'p, L> {
    task: &'p Task<'p>,
    layers: &'p L,
    rtol: f64,
    /// `1/(tolerance ‖layer‖)`.
    weights: (f64, f64),
    residual: Vec<f64>,
    gradient: Vec<f64>,
}

impl<L: TwoLayers> System<f64> for RawFlow<'_, L> {
    fn dim(&self) -> usize {
        self.layers.dim()
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) {
        let x = self.task.x;
        residual(x, self.task.y, &self.layers.predictor(y), &mut self.residual);
        self.gradient.fill(0.0);
        for (n, r) in self.residual.iter().enumerate() {
            self.gradient.iter_mut().zip(x.row(n)).for_each(|(g, x_n)| *g += x_n * r / x.n() as f64);
        }
        self.layers.slope(y, &self.gradient, dy);
    }

    /// A layer is measured by its norm, or by what it will be after the time scale `1/‖J‖` where it passes through 0. The
    /// tolerance falls with the residual: an explicit method at its stability limit would hold it at `rtol` for ever.
    fn set_error_weights(&mut self, _t: f64, y: &[f64], dy: &[f64]) {
        let Task { x, targets, .. } = *self.task;
        residual(x, targets, &self.layers.predictor(y), &mut self.residual);
        let left = (peak(&self.residual) / peak(targets)).min(1.0);
        let tolerance = (self.rtol * left).max(ROUND_OFF);
        let ((a, w), (da, dw)) = (self.layers.layers(y), self.layers.layers(dy));
        let squares = (length(x.data()) * self.layers.reach(y)).powi(2) / x.n() as f64;
        let tau = 1.0 / (squares + length(&self.gradient));
        let inverse = |size: f64| if size > 0.0 { 1.0 / (tolerance * size) } else { 0.0 };
        self.weights = (inverse(length(a) + tau * length(da)), inverse(length(w) + tau * length(dw)));
    }

    fn error_norm(&mut self, e: &[f64]) -> f64 {
        let (a, w) = self.layers.layers(e);
        (length(a) * self.weights.0).hypot(length(w) * self.weights.1)
    }
}

/// A row of the weights.
struct RawRows<'p, L> {
    task: &'p Task<'p>,
    layers: &'p L,
}

impl<L: TwoLayers> Shown for RawRows<'_, L> {
    fn show(&mut self, states: &[f64], beta: &mut [f64], residuals: &mut [f64]) {
        let x = self.task.x;
        let states = states.chunks_exact(self.layers.dim());
        for (k, (state, r)) in states.zip(residuals.chunks_exact_mut(x.n())).enumerate() {
            let row = self.layers.predictor(state);
            residual(x, self.task.y, &row, r);
            if !beta.is_empty() {
                beta[k * x.d()..(k + 1) * x.d()].copy_from_slice(&row);
            }
        }
    }

    fn largest(&mut self, beta: &[f64], residuals: &[f64]) -> f64 {
        let mut r = vec![0.0; residuals.len()];
        residual(self.task.x, self.task.targets, beta, &mut r);
        peak(&r)
    }

    fn potential(&mut self, beta: &[f64]) -> f64 {
        self.task.divergence.as_ref().map_or(f64::NAN, |divergence| divergence(beta))
    }
}

/// Watches the integration.
struct RawWatch<'p, 'i, L> {
    recorder: Recorder<'p, 'i>,
    rows: RawRows<'p, L>,
    goal: f64,
    verdict: Option<Status>,
}

impl<L: TwoLayers> RawWatch<'_, '_, L> {
    /// Why to stop here, if at all, and `max|r|`.
    fn judge(&self, state: &[f64], slope: Option<&[f64]>) -> (Option<Status>, f64) {
        let Task { x, targets, end, .. } = *self.rows.task;
        let beta = self.rows.layers.predictor(state);
        let mut r = vec![0.0; x.n()];
        residual(x, targets, &beta, &mut r);
        let largest = peak(&r);
        if largest <= self.goal {
            return (Some(end), largest);
        }
        let magnitudes: Vec<f64> = beta.iter().map(|beta| beta.abs()).collect();
        let mut terms = vec![0.0; x.n()];
        x.apply_abs(&magnitudes, &mut terms);
        let floor = terms.iter().zip(targets).fold(0.0, |most: f64, (sum, y)| most.max(sum + y.abs()));
        if largest <= FLOOR * f64::EPSILON * floor {
            return (Some(if self.goal > 0.0 { Status::RoundoffFloor } else { end }), largest);
        }
        let still = slope.is_some_and(|slope| slope.iter().all(|slope| *slope == 0.0));
        (still.then_some(Status::Saddle), largest)
    }
}

impl<'p, L: TwoLayers> Observer<f64, RawFlow<'p, L>> for RawWatch<'_, '_, L> {
    fn step(&mut self, flow: &mut RawFlow<'p, L>, step: &mut Step<'_, f64, RawFlow<'p, L>>) -> Action<f64> {
        let (from, to) = (step.t_old(), step.t_new);
        let mut at = |t, state: &mut [f64]| step.refined_at(flow, t, state, &mut || false);
        if !self.recorder.pass(&mut self.rows, from, to, &mut at) {
            return Action::Stop;
        }
        let (verdict, largest) = self.judge(step.y_new(), Some(step.dy_new()));
        self.verdict = verdict;
        self.recorder.tell(to, largest, step.stats().accepted);
        if self.verdict.is_some() { Action::Stop } else { Action::Continue }
    }

    fn interrupted(&mut self) -> bool {
        self.recorder.is_spent()
    }
}

/// The trajectory of the weights from `start`.
pub(super) fn gradient_flow<L: TwoLayers>(
    task: &Task<'_>,
    layers: &L,
    start: Vec<f64>,
    options: &Options<'_>,
    monitor: &dyn Monitor,
) -> Flow {
    let (x, clock) = (task.x, Clock::new(options.time_unit, 0));
    let frame = Frame { features: x.d(), samples: x.n(), dim: start.len(), clock, first: 0.0 };
    let recorder = Recorder::new(options, monitor, frame);
    let mut watch = RawWatch { recorder, rows: RawRows { task, layers }, goal: 0.0, verdict: None };
    let (residual, gradient) = (vec![0.0; x.n()], vec![0.0; x.d()]);
    let mut flow = RawFlow { task, layers, rtol: options.rtol, weights: (0.0, 0.0), residual, gradient };
    let mut slope = vec![0.0; start.len()];
    flow.rhs(0.0, &start, &mut slope);
    let largest = watch.judge(&start, None).1;
    let goal = options.tol * if task.sized { peak(task.targets) } else { largest };
    watch.goal = if options.times.is_none() { goal } else { 0.0 };
    watch.verdict = watch.judge(&start, Some(&slope)).0;
    watch.recorder.start(&mut watch.rows, &start, (largest, goal));
    let (state, status, stats) = if watch.verdict.is_some() {
        (start, Status::ReachedEnd, Stats::default())
    } else {
        let horizon = watch.recorder.horizon();
        integrate_explicitly(flow, &start, horizon, options, &mut watch)
    };
    let status = watch.verdict.unwrap_or(status);
    watch.recorder.finish(&mut watch.rows, &state, status, stats, Vec::new())
}

/// From `start` to the time `end` with an observer; the last state, why the integrator ended, what it cost.
pub(super) fn integrate_explicitly<S: System<f64>>(
    mut flow: S,
    start: &[f64],
    end: f64,
    options: &Options<'_>,
    watch: &mut impl Observer<f64, S>,
) -> (Vec<f64>, Status, Stats) {
    let settings = ode::Options { rtol: options.rtol, max_steps: options.max_steps, ..ode::Options::default() };
    let mut stepper = Explicit::new(&flow, &settings);
    match integrate(&mut stepper, &mut flow, 0.0, start, end, &settings, watch) {
        Ok(outcome) => (outcome.y, outcome.status.into(), outcome.stats),
        // The settings are validated; what is left is a run that made no step.
        Err(_) => (start.to_vec(), Status::StepTooSmall, Stats::default()),
    }
}

/// Weights as numbers, in units of `exp(log_magnitude)` before.
///
/// # Errors
/// [`Invalid`] where they are not all 0 and the largest is next to the ends of binary64.
pub(super) fn representable(weights: impl Iterator<Item = f64>, log_magnitude: f64) -> Result<Vec<f64>, Invalid> {
    let (unit, mut zero) = (log_magnitude.exp(), true);
    let start: Vec<f64> = weights
        .map(|weight| {
            zero &= weight == 0.0;
            weight * unit
        })
        .collect();
    if zero || (REPRESENTABLE.0..=REPRESENTABLE.1).contains(&peak(&start)) {
        return Ok(start);
    }
    let expected = "such that the largest weight is within [1e-140, 1e100] for method 'weights'";
    Err(Invalid::Value { name: "log_magnitude", found: log_magnitude, expected })
}

/// `y − Xβ`, sums in the order of the columns.
pub(super) fn residual(x: Rows<'_>, y: &[f64], beta: &[f64], out: &mut [f64]) {
    for (n, (out, y)) in out.iter_mut().zip(y).enumerate() {
        *out = y - x.row(n).iter().zip(beta).map(|(x, beta)| x * beta).sum::<f64>();
    }
}
