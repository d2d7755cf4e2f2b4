//! The flow in the raw factors, `U' = G V`, `V' = Gᵀ U` or `W' = (G + Gᵀ) W`, `G = Σ r_n X_n / N`, by the explicit method: the
//! cross-check. Its right-hand side shares nothing with the other one: all columns of the factors, plain loops, no modes, no
//! units. Only for scales whose weights binary64 can hold.

use super::factors::Factors;
use super::prepare::{Prepared, length};
use super::problem::Problem;
use crate::flow::Invalid;
use crate::flow::clock::Clock;
use crate::flow::fully_connected::units::peak;
use crate::flow::monitor::Monitor;
use crate::flow::outcome::{Flow, Options, Stats, Status};
use crate::flow::recorder::{Frame, Recorder, Shown};
use crate::linalg::Rows;
use crate::ode::{self, Action, Explicit, Observer, Step, System, integrate};

/// Weights outside this range are too close to under- or overflow of their squares' derivatives.
const REPRESENTABLE: (f64, f64) = (1e-140, 1e100);
/// Smallest tolerance of a step: round-off of a weight.
const ROUND_OFF: f64 = 4.0 * f64::EPSILON;
/// Rounding errors of the residual in ulps of `|X||β| + |y|`.
const FLOOR: f64 = 8.0;

/// The flow of the weights.
struct RawFlow<'a> {
    x: Rows<'a>,
    y: &'a [f64],
    /// The part of y that can be fitted.
    targets: &'a [f64],
    factors: Factors,
    rtol: f64,
    /// `1/(tolerance ‖U‖)` and `1/(tolerance ‖V‖)`.
    weights: (f64, f64),
    residual: Vec<f64>,
    gradient: Vec<f64>,
}

impl System<f64> for RawFlow<'_> {
    fn dim(&self) -> usize {
        self.factors.dim()
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) {
        let samples = self.x.n() as f64;
        residual(self.x, self.y, &predictor(y, self.factors), &mut self.residual);
        self.gradient.fill(0.0);
        for (n, r) in self.residual.iter().enumerate() {
            self.gradient.iter_mut().zip(self.x.row(n)).for_each(|(g, x)| *g += x * r / samples);
        }
        let Factors { d1, d2, k, symmetric } = self.factors;
        let below = if symmetric { 0 } else { d1 };
        dy.fill(0.0);
        for (i, j, c) in entries(d1, d2, k) {
            let (up, down, g) = (i * k + c, (below + j) * k + c, self.gradient[i * d2 + j]);
            dy[up] += g * y[down];
            dy[down] += g * y[up];
        }
    }

    /// A factor is measured by its norm, or by what it will be after the time scale `1/‖J‖` where it passes through 0. The
    /// tolerance falls with the residual: an explicit method at its stability limit would hold it at `rtol` for ever.
    fn set_error_weights(&mut self, _t: f64, y: &[f64], dy: &[f64]) {
        residual(self.x, self.targets, &predictor(y, self.factors), &mut self.residual);
        let left = (peak(&self.residual) / peak(self.targets)).min(1.0);
        let tolerance = (self.rtol * left).max(ROUND_OFF);
        let ((u, v), (du, dv)) = (self.factors.split(y), self.factors.split(dy));
        let squares = (2.0 * length(self.x.data()) * length(y)).powi(2) / self.x.n() as f64;
        let tau = 1.0 / (squares + length(&self.gradient));
        let inverse = |size: f64| if size > 0.0 { 1.0 / (tolerance * size) } else { 0.0 };
        self.weights = (inverse(length(u) + tau * length(du)), inverse(length(v) + tau * length(dv)));
    }

    fn error_norm(&mut self, e: &[f64]) -> f64 {
        let (u, v) = self.factors.split(e);
        (length(u) * self.weights.0).hypot(length(v) * self.weights.1)
    }
}

/// A row of the weights.
struct RawRows<'p> {
    problem: &'p Problem<'p>,
    targets: &'p [f64],
}

impl Shown for RawRows<'_> {
    fn show(&mut self, states: &[f64], beta: &mut [f64], residuals: &mut [f64]) {
        let x = self.problem.x;
        let states = states.chunks_exact(self.problem.factors.dim());
        for (k, (state, r)) in states.zip(residuals.chunks_exact_mut(x.n())).enumerate() {
            let row = predictor(state, self.problem.factors);
            residual(x, self.problem.y, &row, r);
            if !beta.is_empty() {
                beta[k * x.d()..(k + 1) * x.d()].copy_from_slice(&row);
            }
        }
    }

    fn largest(&mut self, beta: &[f64], residuals: &[f64]) -> f64 {
        let mut r = vec![0.0; residuals.len()];
        residual(self.problem.x, self.targets, beta, &mut r);
        peak(&r)
    }

    fn potential(&mut self, _beta: &[f64]) -> f64 {
        f64::NAN
    }
}

/// Watches the integration.
struct RawWatch<'p, 'i> {
    recorder: Recorder<'p, 'i>,
    rows: RawRows<'p>,
    goal: f64,
    end: Status,
    verdict: Option<Status>,
}

impl RawWatch<'_, '_> {
    /// Why to stop here, if at all, and `max|r|`.
    fn judge(&self, state: &[f64], slope: Option<&[f64]>) -> (Option<Status>, f64) {
        let (x, targets) = (self.rows.problem.x, self.rows.targets);
        let beta = predictor(state, self.rows.problem.factors);
        let mut r = vec![0.0; x.n()];
        residual(x, targets, &beta, &mut r);
        let largest = peak(&r);
        if largest <= self.goal {
            return (Some(self.end), largest);
        }
        let magnitudes: Vec<f64> = beta.iter().map(|beta| beta.abs()).collect();
        let mut terms = vec![0.0; x.n()];
        x.apply_abs(&magnitudes, &mut terms);
        let floor = terms.iter().zip(targets).fold(0.0, |most: f64, (sum, y)| most.max(sum + y.abs()));
        if largest <= FLOOR * f64::EPSILON * floor {
            return (Some(if self.goal > 0.0 { Status::RoundoffFloor } else { self.end }), largest);
        }
        let still = slope.is_some_and(|slope| slope.iter().all(|slope| *slope == 0.0));
        (still.then_some(Status::Saddle), largest)
    }
}

impl<'a> Observer<f64, RawFlow<'a>> for RawWatch<'_, '_> {
    fn step(&mut self, flow: &mut RawFlow<'a>, step: &mut Step<'_, f64, RawFlow<'a>>) -> Action<f64> {
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

/// [`gradient_flow`](super::gradient_flow) in the raw weights.
pub(super) fn gradient_flow(
    problem: &Problem<'_>,
    options: &Options<'_>,
    monitor: &dyn Monitor,
) -> Result<Flow, Invalid> {
    let start = representable(problem)?;
    // Only what of y can be fitted is taken from there: it says when the flow is over.
    let prepared = Prepared::of(problem);
    let (x, targets) = (problem.x, prepared.reachable(problem.y));
    let frame = Frame {
        features: x.d(),
        samples: x.n(),
        dim: start.len(),
        clock: Clock::new(options.time_unit, 0),
        first: 0.0,
    };
    let rows = RawRows { problem, targets: &targets };
    let recorder = Recorder::new(options, monitor, frame);
    let mut watch = RawWatch { recorder, rows, goal: 0.0, end: prepared.end, verdict: None };
    let mut flow = RawFlow {
        x,
        y: problem.y,
        targets: &targets,
        factors: problem.factors,
        rtol: options.rtol,
        weights: (0.0, 0.0),
        residual: vec![0.0; x.n()],
        gradient: vec![0.0; x.d()],
    };
    let mut slope = vec![0.0; start.len()];
    flow.rhs(0.0, &start, &mut slope);
    let largest = watch.judge(&start, None).1;
    let size = if prepared.size > 0.0 { peak(&targets) } else { largest };
    let goal = options.tol * size;
    watch.goal = if options.times.is_none() { goal } else { 0.0 };
    watch.verdict = watch.judge(&start, Some(&slope)).0;
    watch.recorder.start(&mut watch.rows, &start, (largest, goal));
    let (state, status, stats) = if watch.verdict.is_some() {
        (start, Status::ReachedEnd, Stats::default())
    } else {
        run(flow, &start, options, &mut watch)
    };
    let status = watch.verdict.unwrap_or(status);
    Ok(watch.recorder.finish(&mut watch.rows, &state, status, stats, Vec::new()))
}

/// Integrate from `start` with the watch; the last state, why the integrator ended, what it cost.
fn run(
    mut flow: RawFlow<'_>,
    start: &[f64],
    options: &Options<'_>,
    watch: &mut RawWatch<'_, '_>,
) -> (Vec<f64>, Status, Stats) {
    let settings = ode::Options { rtol: options.rtol, max_steps: options.max_steps, ..ode::Options::default() };
    let (mut stepper, end) = (Explicit::new(&flow, &settings), watch.recorder.horizon());
    match integrate(&mut stepper, &mut flow, 0.0, start, end, &settings, watch) {
        Ok(outcome) => (outcome.y, outcome.status.into(), outcome.stats),
        // The settings are validated; what is left is a run that made no step.
        Err(_) => (start.to_vec(), Status::StepTooSmall, Stats::default()),
    }
}

/// The start as numbers.
fn representable(problem: &Problem<'_>) -> Result<Vec<f64>, Invalid> {
    let unit = problem.log_magnitude.exp();
    let start: Vec<f64> = problem.z.iter().map(|weight| weight * unit).collect();
    if peak(problem.z) == 0.0 || (REPRESENTABLE.0..=REPRESENTABLE.1).contains(&peak(&start)) {
        return Ok(start);
    }
    let expected = "such that the largest weight is within [1e-140, 1e100] for method 'weights'";
    Err(Invalid::Value { name: "log_magnitude", found: problem.log_magnitude, expected })
}

/// All (i, j, c): a row of U, a row of V and a column of both.
fn entries(d1: usize, d2: usize, k: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..d1 * d2 * k).map(move |e| (e / (d2 * k), e / k % d2, e % k))
}

/// `M = U Vᵀ`, row by row.
fn predictor(state: &[f64], factors: Factors) -> Vec<f64> {
    let Factors { d1, d2, k, symmetric } = factors;
    let below = if symmetric { 0 } else { d1 };
    let mut m = vec![0.0; d1 * d2];
    for (i, j, c) in entries(d1, d2, k) {
        m[i * d2 + j] += state[i * k + c] * state[(below + j) * k + c];
    }
    m
}

/// `y − Xβ`, sums in the order of the columns.
fn residual(x: Rows<'_>, y: &[f64], beta: &[f64], out: &mut [f64]) {
    for (n, (out, y)) in out.iter_mut().zip(y).enumerate() {
        *out = y - x.row(n).iter().zip(beta).map(|(x, beta)| x * beta).sum::<f64>();
    }
}
