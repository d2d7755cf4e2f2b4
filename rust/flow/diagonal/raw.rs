//! The flow in the raw weights, `u₊' = v₊∘g, v₊' = u₊∘g, u₋' = −v₋∘g, v₋' = −u₋∘g`, `g = Xᵀr/N`, by the explicit
//! method: the cross-check of the dual flow. Its right-hand side shares nothing with that one: 4d unknowns, plain loops,
//! no exponentials, no reference. Stiff and slow; only for scales whose weights binary64 can hold.

use super::clock::Clock;
use super::drive::at_start;
use super::prepare::{Prepared, peak};
use super::problem::{Invalid, Problem, Weights};
use super::raw_table::{RawTable, predictor, residual, split};
use super::stopping::{Goal, Stopping};
use super::watch::{Budget, spread, unfinished};
use crate::flow::monitor::{Monitor, Progress, Way, arrived};
use crate::flow::outcome::{Flow, Options, Stats, Status};
use crate::linalg::Rows;
use crate::ode::{self, Action, Explicit, Observer, Step, System, integrate};

/// Weights outside this range are too close to under- or overflow of their squares' derivatives.
const REPRESENTABLE: (f64, f64) = (1e-290, 1e150);

/// Smallest tolerance of a step: round-off of a weight.
const ROUND_OFF: f64 = 4.0 * f64::EPSILON;

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

/// Saves rows at given times, or only looks for the end.
struct RawWatch<'p, 'i> {
    times: &'p [f64],
    table: RawTable<'p>,
    stopping: Stopping<'p>,
    targets: &'p [f64],
    /// `max|r|` where the flow was judged last.
    largest: f64,
    verdict: Option<Status>,
    budget: Budget<'i>,
    way: Way,
}

impl RawWatch<'_, '_> {
    fn judge(&mut self, x: Rows<'_>, state: &[f64]) -> Option<Status> {
        let beta = predictor(state);
        let mut r = vec![0.0; x.n()];
        residual(x, self.targets, &beta, &mut r);
        self.largest = peak(&r);
        self.stopping.judge(&beta, &r)
    }

    /// Rows at the requested times inside a step. False if the run was told to end before they were all there.
    fn rows_inside<'a>(&mut self, flow: &mut RawFlow<'a>, step: &mut Step<'_, f64, RawFlow<'a>>) -> bool {
        let mut state = vec![0.0; flow.dim()];
        while let Some(time) = self.times.get(self.table.len()).filter(|time| **time <= step.t_new) {
            if self.table.is_overflown() {
                return false;
            }
            if self.budget.is_spent() || !step.refined_at(flow, *time, &mut state, &mut || self.budget.is_spent()) {
                return false;
            }
            self.table.push(*time, &state);
        }
        true
    }
}

impl<'a> Observer<f64, RawFlow<'a>> for RawWatch<'_, '_> {
    fn step(&mut self, flow: &mut RawFlow<'a>, step: &mut Step<'_, f64, RawFlow<'a>>) -> Action<f64> {
        if !self.rows_inside(flow, step) || self.table.is_overflown() {
            return Action::Stop;
        }
        self.verdict = self.judge(flow.x, step.y_new());
        let fraction = if self.times.is_empty() {
            self.way.at_residual(self.largest)
        } else {
            self.way.at_rows(self.times, self.table.len(), step.t_new)
        };
        let (time, residual, steps) = (self.table.time(step.t_new), self.largest, step.stats().accepted);
        self.budget.monitor.progress(Progress { time, residual, steps, fraction });
        if self.verdict.is_some() { Action::Stop } else { Action::Continue }
    }

    fn interrupted(&mut self) -> bool {
        self.budget.is_spent()
    }
}

/// One integration: what the watch saw, the last state and time, and why the integrator ended.
struct Pass<'p, 'i> {
    watch: RawWatch<'p, 'i>,
    last: (f64, Vec<f64>),
    status: Status,
    stats: Stats,
}

/// What both passes share.
struct Setting<'p> {
    problem: &'p Problem<'p>,
    options: &'p Options<'p>,
    start: Vec<f64>,
    targets: Vec<f64>,
    goal: Goal,
    sides: Vec<(bool, bool)>,
    clock: Clock,
    monitor: &'p dyn Monitor,
}

impl<'p> Setting<'p> {
    /// Integrate to `end` and save rows at `times`; `part` is the part of the whole way that this is.
    fn pass(&'p self, times: &'p [f64], end: f64, at_tolerance: bool, part: (f64, f64)) -> Pass<'p, 'p> {
        let (x, y) = (self.problem.x, self.problem.y);
        let goal = Goal { at_tolerance, ..self.goal };
        let mut watch = RawWatch {
            times,
            table: RawTable::new(self.problem, &self.targets, self.options, self.clock),
            stopping: Stopping::new(x, &self.targets, goal, self.sides.clone()),
            targets: &self.targets,
            largest: 0.0,
            verdict: None,
            budget: Budget::new(self.options.max_seconds, self.monitor),
            way: Way::of_residuals(0.0, 0.0),
        };
        for time in times.iter().take_while(|time| **time == 0.0) {
            watch.table.push(*time, &self.start);
        }
        watch.verdict = watch.judge(x, &self.start);
        watch.way = Way::of_residuals(watch.largest, goal.tol * goal.size).part(part.0, part.1);
        if watch.verdict.is_some() || end <= 0.0 {
            let last = (0.0, self.start.clone());
            return Pass { watch, last, status: Status::ReachedEnd, stats: Stats::default() };
        }
        let (n, d) = (x.n(), x.d());
        let rtol = self.options.rtol;
        let mut flow = RawFlow {
            x,
            y,
            targets: &self.targets,
            rtol,
            step_rtol: rtol,
            residual: vec![0.0; n],
            gradient: vec![0.0; d],
            weights: vec![0.0; 2 * d],
        };
        let settings = ode::Options { rtol, max_steps: self.options.max_steps, ..ode::Options::default() };
        let mut stepper = Explicit::new(&flow, &settings);
        let result = integrate(&mut stepper, &mut flow, 0.0, &self.start, end, &settings, &mut watch);
        let Ok(out) = result else {
            // The settings are validated; what is left is a run that made no step.
            let last = (0.0, self.start.clone());
            return Pass { watch, last, status: Status::StepTooSmall, stats: Stats::default() };
        };
        Pass { watch, last: (out.t, out.y), status: out.status.into(), stats: out.stats }
    }

    /// Why a pass ended.
    fn status(pass: &Pass<'_, '_>) -> Status {
        pass.watch.verdict.or(pass.watch.budget.verdict()).unwrap_or(pass.status)
    }
}

/// [`gradient_flow`](super::gradient_flow) in the raw weights. Without times, a first pass finds the end, a second one
/// saves the rows; the counters are those of one.
pub(super) fn gradient_flow(
    problem: &Problem<'_>,
    options: &Options<'_>,
    monitor: &dyn Monitor,
) -> Result<Flow, Invalid> {
    let weights = problem.weights.ok_or(Invalid::NoWeights)?;
    let start = representable(&weights)?;
    let Some(prepared) = Prepared::of(problem, monitor) else { return Ok(Flow::interrupted(options)) };
    at_start(&prepared, problem, options)?;
    let (targets, goal) = (prepared.reachable(problem.y), prepared.goal(options.tol, true));
    let goal = Goal { size: peak(&targets), rotated: false, ..goal };
    let sides = sides(&weights);
    let clock = Clock::new(options.time_unit, 0);
    let setting = Setting { problem, options, start, targets, goal, sides, clock, monitor };
    if let Some(times) = options.times {
        let times: Vec<f64> = times.iter().map(|t| clock.to_run(*t)).collect();
        let mut pass = setting.pass(&times, times.last().copied().unwrap_or(0.0), false, (0.0, 1.0));
        if pass.watch.verdict.is_some() {
            // Nothing moves any more.
            for time in &times[pass.watch.table.len()..] {
                pass.watch.table.push(*time, &pass.last.1);
            }
        }
        let reached = pass.watch.table.len() == times.len();
        let status = if reached { Status::ReachedEnd } else { unfinished(Setting::status(&pass)) };
        let rows = pass.watch.table.finish(status, pass.stats);
        arrived(monitor, &rows, pass.watch.largest);
        return Ok(rows);
    }
    let first = setting.pass(&[], clock.last(), true, (0.0, 0.5));
    let (status, end) = (unfinished(Setting::status(&first)), first.last.0);
    let mut times = vec![0.0];
    if end > 0.0 {
        times.extend(clock.told_apart(spread(0.0, end)));
    }
    let mut second = setting.pass(&times, end, false, (0.5, 1.0));
    if second.watch.table.len() < times.len() {
        second.watch.table.push(end, &first.last.1);
    }
    let interrupted = second.watch.budget.verdict() == Some(Status::Interrupted);
    let status = if interrupted { Status::Interrupted } else { status };
    let rows = second.watch.table.finish(status, first.stats);
    arrived(monitor, &rows, first.watch.largest);
    Ok(rows)
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
