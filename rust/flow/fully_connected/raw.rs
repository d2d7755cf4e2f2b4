//! The flow in the raw weights, `a_i' = w_i·g`, `w_i' = a_i g`, `g = Xᵀr/N`, by the explicit method: the cross-check of the
//! flow in span coordinates. Its right-hand side shares nothing with that one: m(1 + d) unknowns, plain loops, no modes, no
//! rotation, no formula for the escape. Only for scales whose weights binary64 can hold.

use super::divergence::{self, Divergence};
use super::prepare::{self, length};
use super::problem::Problem;
use super::units::peak;
use crate::flow::Invalid;
use crate::flow::clock::Clock;
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
    m: usize,
    rtol: f64,
    /// `1/(tolerance ‖a‖)` and `1/(tolerance ‖W‖)`.
    weights: (f64, f64),
    residual: Vec<f64>,
    gradient: Vec<f64>,
}

impl System<f64> for RawFlow<'_> {
    fn dim(&self) -> usize {
        self.m * (1 + self.x.d())
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) {
        let (d, samples) = (self.x.d(), self.x.n() as f64);
        residual(self.x, self.y, &predictor(y, self.m, d), &mut self.residual);
        self.gradient.fill(0.0);
        for (n, r) in self.residual.iter().enumerate() {
            self.gradient.iter_mut().zip(self.x.row(n)).for_each(|(g, x)| *g += x * r / samples);
        }
        let ((a, w), (da, dw)) = (y.split_at(self.m), dy.split_at_mut(self.m));
        for (i, a) in a.iter().enumerate() {
            da[i] = w[i * d..(i + 1) * d].iter().zip(&self.gradient).map(|(w, g)| w * g).sum();
            dw[i * d..(i + 1) * d].iter_mut().zip(&self.gradient).for_each(|(dw, g)| *dw = a * g);
        }
    }

    /// A layer is measured by its norm, or by what it will be after the time scale `1/‖J‖` where it passes through 0. The
    /// tolerance falls with the residual: an explicit method at its stability limit would hold it at `rtol` for ever.
    fn set_error_weights(&mut self, _t: f64, y: &[f64], dy: &[f64]) {
        residual(self.x, self.targets, &predictor(y, self.m, self.x.d()), &mut self.residual);
        let left = (peak(&self.residual) / peak(self.targets)).min(1.0);
        let tolerance = (self.rtol * left).max(ROUND_OFF);
        let ((a, w), (da, dw)) = (y.split_at(self.m), dy.split_at(self.m));
        let squares = (length(self.x.data()) * length(a).max(length(w))).powi(2) / self.x.n() as f64;
        let tau = 1.0 / (squares + length(&self.gradient));
        let inverse = |size: f64| if size > 0.0 { 1.0 / (tolerance * size) } else { 0.0 };
        self.weights = (inverse(length(a) + tau * length(da)), inverse(length(w) + tau * length(dw)));
    }

    fn error_norm(&mut self, e: &[f64]) -> f64 {
        let (a, w) = e.split_at(self.m);
        (length(a) * self.weights.0).hypot(length(w) * self.weights.1)
    }
}

/// A row of the weights.
struct RawRows<'p> {
    problem: &'p Problem<'p>,
    targets: &'p [f64],
    divergence: Option<Divergence>,
}

impl RawRows<'_> {
    fn m(&self) -> usize {
        self.problem.neurons.a.len()
    }
}

impl Shown for RawRows<'_> {
    fn show(&mut self, states: &[f64], beta: &mut [f64], residuals: &mut [f64]) {
        let (x, m) = (self.problem.x, self.m());
        let states = states.chunks_exact(m * (1 + x.d()));
        for (k, (state, r)) in states.zip(residuals.chunks_exact_mut(x.n())).enumerate() {
            let row = predictor(state, m, x.d());
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

    fn potential(&mut self, beta: &[f64]) -> f64 {
        self.divergence.as_ref().map_or(f64::NAN, |divergence| divergence(beta))
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
        let beta = predictor(state, self.rows.m(), x.d());
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
    let prepared = prepare::of(problem, false);
    let (x, targets) = (problem.x, prepared.reachable(problem.y));
    let (m, rtol) = (problem.neurons.a.len(), options.rtol);
    let frame = Frame {
        features: x.d(),
        samples: x.n(),
        dim: start.len(),
        clock: Clock::new(options.time_unit, 0),
        first: 0.0,
    };
    let rows = RawRows { problem, targets: &targets, divergence: divergence::of(&problem.neurons, problem.x.d()) };
    let recorder = Recorder::new(options, monitor, frame);
    let mut watch = RawWatch { recorder, rows, goal: 0.0, end: prepared.end, verdict: None };
    let mut flow = RawFlow {
        x,
        y: problem.y,
        targets: &targets,
        m,
        rtol,
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
    let neurons = problem.neurons;
    let unit = neurons.log_magnitude.exp();
    let start: Vec<f64> = neurons.a.iter().chain(neurons.w).map(|weight| weight * unit).collect();
    let largest = peak(&start);
    let zero = peak(neurons.a) == 0.0 && peak(neurons.w) == 0.0;
    if zero || (REPRESENTABLE.0..=REPRESENTABLE.1).contains(&largest) {
        return Ok(start);
    }
    let expected = "such that the largest weight is within [1e-140, 1e100] for method 'weights'";
    Err(Invalid::Value { name: "log_magnitude", found: neurons.log_magnitude, expected })
}

/// `β = Wᵀa`.
fn predictor(state: &[f64], m: usize, d: usize) -> Vec<f64> {
    let (a, w) = state.split_at(m);
    let mut beta = vec![0.0; d];
    for (a, w) in a.iter().zip(w.chunks_exact(d)) {
        beta.iter_mut().zip(w).for_each(|(beta, w)| *beta += a * w);
    }
    beta
}

/// `y − Xβ`, sums in the order of the columns.
fn residual(x: Rows<'_>, y: &[f64], beta: &[f64], out: &mut [f64]) {
    for (n, (out, y)) in out.iter_mut().zip(y).enumerate() {
        *out = y - x.row(n).iter().zip(beta).map(|(x, beta)| x * beta).sum::<f64>();
    }
}
