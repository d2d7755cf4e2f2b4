//! The flow in the raw weights, `u₊' = v₊∘g, v₊' = u₊∘g, u₋' = −v₋∘g, v₋' = −u₋∘g`, `g = Xᵀr/N`, by the explicit
//! method: the cross-check of the dual flow. Its right-hand side shares nothing with that one: 4d unknowns, plain loops,
//! no exponentials, no reference. Stiff and slow; only for scales whose weights binary64 can hold.

use super::drive::at_start;
use super::prepare::{Prepared, peak};
use super::problem::{Problem, Weights};
use super::stopping::{Goal, Stopping};
use crate::flow::Invalid;
use crate::flow::clock::Clock;
use crate::flow::monitor::Monitor;
use crate::flow::outcome::{Flow, Options, Stats, Status};
use crate::flow::recorder::{Frame, Recorder, Shown};
use crate::flow::two_layers::{ROUND_OFF, integrate_explicitly, residual};
use crate::linalg::Rows;
use crate::ode::{Action, Observer, Step, System};

/// Weights outside this range are too close to under- or overflow of their squares' derivatives.
const REPRESENTABLE: (f64, f64) = (1e-290, 1e150);

/// The flow of the weights.
struct RawFlow<'a> {
    x: Rows<'a>,
    y: &'a [f64],
    /// The part of y that can be fitted.
    targets: &'a [f64],
    rtol: f64,
    /// The tolerance of the step at hand.
    step_rtol: f64,
    residual: Vec<f64>,
    gradient: Vec<f64>,
    /// `1/√(u² + v²)` of both pairs of each coordinate; 0 for pairs that are 0 and never move.
    weights: Vec<f64>,
}

impl<'a> RawFlow<'a> {
    fn new(problem: &Problem<'a>, targets: &'a [f64], rtol: f64) -> Self {
        let Problem { x, y, .. } = *problem;
        let (residual, gradient) = (vec![0.0; x.n()], vec![0.0; x.d()]);
        Self { x, y, targets, rtol, step_rtol: rtol, residual, gradient, weights: vec![0.0; 2 * x.d()] }
    }
}

impl System<f64> for RawFlow<'_> {
    fn dim(&self) -> usize {
        4 * self.x.d()
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) {
        let d = self.x.d();
        residual(self.x, self.y, &predictor(y), &mut self.residual);
        self.gradient.fill(0.0);
        for (n, r) in self.residual.iter().enumerate() {
            self.gradient.iter_mut().zip(self.x.row(n)).for_each(|(g, x)| *g += x * r);
        }
        let [u_plus, v_plus, u_minus, v_minus] = split(y);
        let samples = self.x.n() as f64;
        for (i, g) in self.gradient.iter().enumerate() {
            let g = g / samples;
            dy[i] = v_plus[i] * g;
            dy[d + i] = u_plus[i] * g;
            dy[2 * d + i] = -v_minus[i] * g;
            dy[3 * d + i] = -u_minus[i] * g;
        }
    }

    /// A weight is measured by its pair, `√(u² + v²)`: both are sums of one growing and one falling exponential. The
    /// tolerance falls with the residual: an explicit method at its stability limit would hold it at `rtol` for ever.
    fn set_error_weights(&mut self, _t: f64, y: &[f64], _dy: &[f64]) {
        let [u_plus, v_plus, u_minus, v_minus] = split(y);
        let d = self.x.d();
        residual(self.x, self.targets, &predictor(y), &mut self.residual);
        let left = (peak(&self.residual) / peak(self.targets)).min(1.0);
        self.step_rtol = (self.rtol * left).max(ROUND_OFF);
        for (k, (u, v)) in [(u_plus, v_plus), (u_minus, v_minus)].into_iter().enumerate() {
            for i in 0..d {
                let size = u[i].hypot(v[i]);
                self.weights[k * d + i] = if size > 0.0 { 1.0 / size } else { 0.0 };
            }
        }
    }

    fn error_norm(&mut self, e: &[f64]) -> f64 {
        let d = self.x.d();
        let mut size = 0.0;
        for (k, e) in e.iter().enumerate() {
            let error = e.abs() * self.weights[k / (2 * d) * d + k % d];
            size = if error > size || error.is_nan() { error } else { size };
        }
        size / self.step_rtol
    }
}

/// A row of the weights.
struct RawRows<'p> {
    problem: &'p Problem<'p>,
    /// The part of y that can be fitted.
    targets: &'p [f64],
}

impl Shown for RawRows<'_> {
    fn show(&mut self, states: &[f64], beta: &mut [f64], residuals: &mut [f64]) {
        let Problem { x, y, .. } = *self.problem;
        let states = states.chunks_exact(4 * x.d());
        for (k, (state, r)) in states.zip(residuals.chunks_exact_mut(x.n())).enumerate() {
            let row = predictor(state);
            residual(x, y, &row, r);
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
        self.problem.start.divergence(beta)
    }
}

/// Watches the integration.
struct RawWatch<'p, 'i> {
    recorder: Recorder<'p, 'i>,
    rows: RawRows<'p>,
    stopping: Stopping<'p>,
    verdict: Option<Status>,
}

impl RawWatch<'_, '_> {
    /// Why to stop here, if at all, and `max|r|`.
    fn judge(&mut self, x: Rows<'_>, state: &[f64]) -> (Option<Status>, f64) {
        let beta = predictor(state);
        let mut r = vec![0.0; x.n()];
        residual(x, self.rows.targets, &beta, &mut r);
        (self.stopping.judge(&beta, &r, 1.0), peak(&r))
    }
}

impl<'a> Observer<f64, RawFlow<'a>> for RawWatch<'_, '_> {
    fn step(&mut self, flow: &mut RawFlow<'a>, step: &mut Step<'_, f64, RawFlow<'a>>) -> Action<f64> {
        let (from, to) = (step.t_old(), step.t_new);
        let mut at = |t, state: &mut [f64]| step.refined_at(flow, t, state, &mut || false);
        if !self.recorder.pass(&mut self.rows, from, to, &mut at) {
            return Action::Stop;
        }
        let (verdict, largest) = self.judge(flow.x, step.y_new());
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
    let weights = problem.weights.ok_or(Invalid::NoWeights)?;
    let start = representable(&weights)?;
    let Some(prepared) = Prepared::<f64>::of(problem, monitor) else { return Ok(Flow::interrupted(options)) };
    at_start(&prepared, problem, options)?;
    let (x, targets) = (problem.x, prepared.reachable(problem));
    let goal = prepared.goal(options.tol, options.times.is_none());
    let goal = Goal { size: peak(&targets), rotated: false, ..goal };
    let frame = Frame {
        features: x.d(),
        samples: x.n(),
        dim: start.len(),
        clock: Clock::new(options.time_unit, 0),
        first: 0.0,
    };
    let mut watch = RawWatch {
        recorder: Recorder::new(options, monitor, frame),
        rows: RawRows { problem, targets: &targets },
        stopping: Stopping::new(x, &targets, goal, sides(&weights)),
        verdict: None,
    };
    let (verdict, largest) = watch.judge(x, &start);
    watch.verdict = verdict;
    watch.recorder.start(&mut watch.rows, &start, (largest, goal.tol * goal.size));
    let (state, status, stats) = if verdict.is_some() {
        (start, Status::ReachedEnd, Stats::default())
    } else {
        let (flow, horizon) = (RawFlow::new(problem, &targets, options.rtol), watch.recorder.horizon());
        integrate_explicitly(flow, &start, horizon, options, &mut watch)
    };
    let status = watch.verdict.unwrap_or(status);
    Ok(watch.recorder.finish(&mut watch.rows, &state, status, stats, Vec::new()))
}

/// The start as numbers.
fn representable(weights: &Weights<'_>) -> Result<Vec<f64>, Invalid> {
    let mut state = Vec::with_capacity(4 * weights.u_plus.len());
    for values in [weights.u_plus, weights.v_plus, weights.u_minus, weights.v_minus] {
        for (value, log) in values.iter().zip(weights.log_magnitude) {
            let weight = value * log.exp();
            if *value != 0.0 && !(REPRESENTABLE.0..=REPRESENTABLE.1).contains(&weight.abs()) {
                let expected = "such that every weight is 0 or within [1e-290, 1e150] for method 'weights'";
                return Err(Invalid::Value { name: "log_magnitude", found: *log, expected });
            }
            state.push(weight);
        }
    }
    Ok(state)
}

/// Whether `β_i` can rise (`A_i > 0`) and fall (`B_i > 0`).
fn sides(weights: &Weights<'_>) -> Vec<(bool, bool)> {
    let pairs = weights.u_plus.iter().zip(weights.v_plus).zip(weights.u_minus.iter().zip(weights.v_minus));
    pairs.map(|((up, vp), (um, vm))| (*up != -*vp || *um != *vm, *up != *vp || *um != -*vm)).collect()
}

/// Where u₊, v₊, u₋, v₋ start in the state.
fn split(state: &[f64]) -> [&[f64]; 4] {
    let d = state.len() / 4;
    [&state[..d], &state[d..2 * d], &state[2 * d..3 * d], &state[3 * d..]]
}

/// β of the weights.
fn predictor(state: &[f64]) -> Vec<f64> {
    let [u_plus, v_plus, u_minus, v_minus] = split(state);
    let products = u_plus.iter().zip(v_plus).zip(u_minus.iter().zip(v_minus));
    products.map(|((up, vp), (um, vm))| up * vp - um * vm).collect()
}
