//! The public entry: prepare, integrate, hand back rows.

use super::lifted::LiftedFlow;
use super::prepare::{LiftedRows, Prepared};
use super::problem::Problem;
use super::raw;
use super::stopping::Stopping;
use crate::flow::Invalid;
use crate::flow::clock::Clock;
use crate::flow::fully_connected::units::multiply_by_power;
use crate::flow::monitor::Monitor;
use crate::flow::outcome::{Flow, Method, Options, Stats, Status};
use crate::flow::recorder::{Frame, Recorder};
use crate::linalg::length;
use crate::ode::{self, Action, Explicit, Observer, Radau, Step, integrate};

/// Where no row is asked for, the residual is resolved that much more coarsely than M: a quarter fewer steps.
const UNASKED: f64 = 30.0;
/// At tolerances below this only the method of order 13 is used: the flow is smooth.
const SMOOTH: f64 = 1e-8;
/// Explicit steps after which [`Method::Auto`] goes on implicitly, stiff or not: those that are not stiff are over by then,
/// however long they rest near a saddle.
const PATIENCE: u64 = 1500;
/// Factors outside of this range have squares that are no floats: the flow of a vanishing start is that of 0.
const REPRESENTABLE: (f64, f64) = (1e-150, 1e150);
/// Something begins to be seen when a weight has moved by this.
const SEEN: f64 = 0.01;

/// The trajectory of gradient flow from `problem.z`, row by row, and why it ended.
///
/// [`Flow::states`] are the factors, Z row by row, 0 and infinite where they under- and overflow; [`Flow::beta`] is M, row by row.
///
/// # Errors
/// [`Invalid`] where an argument is not allowed. A run that cannot be finished is not an error: its [`Status`] says why.
pub fn gradient_flow(problem: &Problem<'_>, options: &Options<'_>, monitor: &dyn Monitor) -> Result<Flow, Invalid> {
    problem.validate()?;
    options.validate(problem.x.d())?;
    if options.method == Method::Weights {
        return raw::gradient_flow(problem, options, monitor);
    }
    let prepared = Prepared::of(problem);
    if monitor.interrupted() {
        return Ok(Flow::interrupted(options));
    }
    let mut state = prepared.start.clone();
    let size = length(&state);
    let zero = problem.z.iter().all(|z| *z == 0.0);
    if !(zero || (REPRESENTABLE.0..=REPRESENTABLE.1).contains(&size)) {
        let expected = "such that the factors are within 1e-150 and 1e150, in the units of y per unit of X";
        return Err(Invalid::Value { name: "log_magnitude", found: problem.log_magnitude, expected });
    }
    let (modes, gain) = (&prepared.modes, prepared.factors.gain());
    let drive = gain * modes.largest() * (length(&modes.targets) / modes.samples());
    let rate = drive + modes.largest_decay() * (gain * size).powi(2);
    let clock = Clock::new(options.time_unit, prepared.units.time());
    if options.times.is_none() && rate > 0.0 {
        // A vanishing start takes longer, but no more than a few decades.
        clock.untold(1.0 / rate).map_or(Ok(()), |exponent| Err(Invalid::Time { exponent }))?;
    }
    let (features, samples) = (problem.x.d(), problem.x.n());
    let frame = Frame { features, samples, dim: state.len(), clock, first: SEEN / rate };
    let mut run = Run {
        prepared: &prepared,
        options,
        watch: Watch {
            recorder: Recorder::new(options, monitor, frame),
            rows: LiftedRows { prepared: &prepared },
            stopping: Stopping::new(&prepared, options.tol, options.times.is_none()),
            offset: 0.0,
            steps: 0,
            patience: u64::MAX,
            verdict: None,
        },
        stats: Stats::default(),
    };
    let (largest, goal) = (run.watch.stopping.largest, run.watch.stopping.goal);
    let residuals = (prepared.in_units_of_y(largest), prepared.in_units_of_y(goal));
    run.watch.recorder.start(&mut run.watch.rows, &state, residuals);
    // Without modes, and where nothing is left, nothing moves.
    let verdict = match (modes.rank(), zero) {
        (0, _) => Some(prepared.end),
        (_, true) => run.watch.stopping.judge_residual(&state).or(Some(Status::Saddle)),
        _ => run.watch.stopping.judge_residual(&state),
    };
    run.watch.verdict = verdict;
    let status =
        if verdict.is_none() && run.watch.recorder.horizon() > 0.0 { run.go(&mut state) } else { Status::ReachedEnd };
    let Run { watch, stats, .. } = run;
    let Watch { recorder, mut rows, verdict, .. } = watch;
    let mut flow = recorder.finish(&mut rows, &state, verdict.unwrap_or(status), stats, Vec::new());
    multiply_by_power(&mut flow.states, prepared.units.weights);
    Ok(flow)
}

/// One run.
struct Run<'p, 'i> {
    prepared: &'p Prepared,
    options: &'p Options<'p>,
    watch: Watch<'p, 'i>,
    stats: Stats,
}

impl Run<'_, '_> {
    /// From the start to the end; `state` becomes the last one. Why it ended, where the watch does not know better.
    fn go(&mut self, state: &mut Vec<f64>) -> Status {
        // Most of these flows are not stiff until they are nearly over, and a step of the explicit method is the cheaper
        // one by far. It says when stability holds it back, and from there on the implicit one pays.
        let method = self.options.method;
        if method != Method::Radau {
            self.watch.patience = if method == Method::Auto { PATIENCE } else { u64::MAX };
            let status = self.integrate(state, true);
            let tired = self.watch.patience == 0 && self.watch.verdict.is_none();
            let at_end = self.watch.offset >= self.watch.recorder.horizon();
            if method != Method::Auto || at_end || !(tired || status == ode::Status::Stiff) {
                return status.into();
            }
        }
        self.watch.patience = u64::MAX;
        self.integrate(state, false).into()
    }

    /// Integrate to the end, or until the explicit method finds that it is stiff.
    fn integrate(&mut self, state: &mut Vec<f64>, explicit: bool) -> ode::Status {
        let Options { rtol, times, method, max_steps, .. } = *self.options;
        let used = self.stats.accepted + self.stats.rejected;
        let settings = ode::Options {
            rtol,
            max_steps: max_steps.map(|most| most.saturating_sub(used).max(1)),
            min_stages: if rtol <= SMOOTH { 7 } else { 3 },
            stop_when_stiff: explicit && method == Method::Auto,
            ..ode::Options::default()
        };
        if max_steps.is_some_and(|most| used >= most) {
            return ode::Status::MaxSteps;
        }
        let residual_rtol = if times.is_some() { rtol } else { UNASKED * rtol };
        let Prepared { modes, factors, .. } = self.prepared;
        let mut flow = LiftedFlow::new(modes, *factors, (rtol, residual_rtol), !explicit);
        let watch = &mut self.watch;
        let horizon = watch.recorder.horizon() - watch.offset;
        let result = if explicit {
            integrate(&mut Explicit::new(&flow, &settings), &mut flow, 0.0, state, horizon, &settings, watch)
        } else {
            integrate(&mut Radau::new(&flow, &settings), &mut flow, 0.0, state, horizon, &settings, watch)
        };
        // The settings are validated; what is left is a run that made no step.
        let Ok(outcome) = result else { return ode::Status::StepTooSmall };
        *state = outcome.y;
        self.watch.offset += outcome.t;
        self.watch.steps += outcome.stats.accepted;
        self.stats += outcome.stats;
        outcome.status
    }
}

/// The observer. The run is integrated in pieces whose time begins at 0.
struct Watch<'p, 'i> {
    recorder: Recorder<'p, 'i>,
    rows: LiftedRows<'p>,
    stopping: Stopping<'p>,
    /// Time of the run at which the time of the piece is 0.
    offset: f64,
    /// Steps accepted before it.
    steps: u64,
    /// Steps until the method is changed.
    patience: u64,
    verdict: Option<Status>,
}

impl<'a> Observer<f64, LiftedFlow<'a>> for Watch<'_, '_> {
    fn step(&mut self, flow: &mut LiftedFlow<'a>, step: &mut Step<'_, f64, LiftedFlow<'a>>) -> Action<f64> {
        let (from, to, offset) = (step.t_old(), step.t_new, self.offset);
        let given = self.recorder.is_given();
        let mut at = |t: f64, state: &mut [f64]| {
            if given {
                return step.refined_at(flow, t - offset, state, &mut || false);
            }
            step.at(flow, t - offset, state);
            true
        };
        if !self.recorder.pass(&mut self.rows, offset + from, offset + to, &mut at) {
            return Action::Stop;
        }
        self.verdict = self.stopping.judge(step.y_new(), step.dy_new());
        let largest = self.rows.prepared.in_units_of_y(self.stopping.largest);
        self.recorder.tell(offset + to, largest, self.steps + step.stats().accepted);
        self.patience -= 1;
        let over = self.verdict.is_some() || self.patience == 0;
        if over { Action::Stop } else { Action::Continue }
    }

    fn interrupted(&mut self) -> bool {
        self.recorder.is_spent()
    }
}
