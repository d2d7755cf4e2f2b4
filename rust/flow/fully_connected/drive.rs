//! The public entry: prepare, leave the start, integrate, hand back rows.

use super::escape::{Beginning, Escape};
use super::number::Number;
use super::prepare::Prepared;
use super::problem::Problem;
use super::raw;
use super::shown::SpanRows;
use super::span::SpanFlow;
use super::stopping::Stopping;
use super::units::peak;
use crate::flow::Invalid;
use crate::flow::clock::Clock;
use crate::flow::monitor::Monitor;
use crate::flow::outcome::{Flow, Method, Options, Precision, Stats, Status};
use crate::flow::recorder::{Formula, Frame, Recorder};
use crate::linalg::length;
use crate::ode::{self, Action, Explicit, Observer, Radau, Step, integrate};
use crate::real::DoubleDouble;
use std::rc::Rc;

/// Where no row is asked for, the residual is resolved that much more coarsely than β: a quarter fewer steps.
const UNASKED: f64 = 30.0;
/// At tolerances below this only the method of order 13 is used: the flow is smooth.
const SMOOTH: f64 = 1e-8;
/// Explicit steps after which [`Method::Auto`] goes on implicitly, stiff or not: runs that are not stiff were over after 50 to
/// 300 of them, and a mild stiffness that keeps a step just inside the stability region (wide layers, one of which is far
/// larger than the other) is not noticed by comparing slopes: 5,600 steps where the implicit method takes 40.
const PATIENCE: u64 = 400;
/// Steps of a method of order 8 are too many below this tolerance, stiff or not.
const LEAST_FOR_ORDER_8: f64 = 1e-14;
/// Logarithm of the largest weight whose square is a float.
const LARGEST: f64 = 354.8;
/// Something begins to be seen when a weight has moved by this.
const SEEN: f64 = 0.01;

/// The trajectory of gradient flow from `problem.neurons`, row by row, and why it ended.
///
/// [`Flow::states`] are, for [`Method::Weights`], the weights, `a` (m), then W row by row; for the other methods what
/// [`parameters`](super::parameters) makes weights of.
///
/// # Errors
/// [`Invalid`] where an argument is not allowed. A run that cannot be finished is not an error: its [`Status`] says why.
pub fn gradient_flow(problem: &Problem<'_>, options: &Options<'_>, monitor: &dyn Monitor) -> Result<Flow, Invalid> {
    problem.validate()?;
    options.validate(problem.x.d())?;
    if options.method == Method::Weights {
        return raw::gradient_flow(problem, options, monitor);
    }
    match options.precision {
        Precision::Double => in_span::<f64>(problem, options, monitor),
        Precision::DoubleDouble => in_span::<DoubleDouble>(problem, options, monitor),
    }
}

/// The flow in span coordinates, in the numbers `R`.
fn in_span<R: Number>(problem: &Problem<'_>, options: &Options<'_>, monitor: &dyn Monitor) -> Result<Flow, Invalid> {
    let neurons = problem.neurons;
    let largest = neurons.log_magnitude + peak(neurons.a).max(peak(neurons.w)).ln();
    let prepared = R::prepare(problem, false);
    if monitor.interrupted() {
        return Ok(Flow::interrupted(options));
    }
    let mut state = prepared.start();
    if largest > LARGEST || !state.iter().all(|z| z.is_finite()) {
        let expected = "such that the squares of the weights, in the units of y per unit of X, are floats";
        return Err(Invalid::Value { name: "log_magnitude", found: neurons.log_magnitude, expected });
    }
    let size = |v: &[R]| length(v).to_f64();
    let rate = size(&prepared.modes.drive) + prepared.modes.largest_decay() * size(&state).powi(2);
    let clock = Clock::new(options.time_unit, prepared.units.time());
    if options.times.is_none() && rate > 0.0 {
        // A vanishing start takes longer, but no more than a few decades.
        clock.untold(1.0 / rate).map_or(Ok(()), |exponent| Err(Invalid::Time { exponent }))?;
    }
    let frame =
        Frame { features: problem.x.d(), samples: problem.x.n(), dim: prepared.dim(), clock, first: SEEN / rate };
    let mut run = Run::new(problem, &prepared, options, Recorder::new(options, monitor, frame), &state);
    let (size, goal) = (run.watch.stopping.largest, run.watch.stopping.goal);
    let residuals = (prepared.in_units_of_y(size), prepared.in_units_of_y(goal));
    run.watch.recorder.start(&mut run.watch.rows, &state, residuals);
    // Without modes, and where nothing is left, nothing moves.
    let verdict =
        if prepared.modes.rank() == 0 { Some(prepared.end) } else { run.watch.stopping.judge_residual(&state) };
    run.watch.verdict = verdict;
    let status = if verdict.is_none() && run.watch.recorder.horizon() > R::ZERO {
        run.go(&mut state)
    } else {
        Status::ReachedEnd
    };
    let Run { watch, stats, .. } = run;
    let Watch { recorder, mut rows, verdict, .. } = watch;
    Ok(recorder.finish(&mut rows, &state, verdict.unwrap_or(status), stats, Vec::new()))
}

/// One run.
struct Run<'p, 'i, R: Number> {
    prepared: &'p Prepared<R>,
    options: &'p Options<'p>,
    watch: Watch<'p, 'i, R>,
    stats: Stats,
}

impl<'p, 'i, R: Number> Run<'p, 'i, R> {
    fn new(
        problem: &'p Problem<'p>,
        prepared: &'p Prepared<R>,
        options: &'p Options<'p>,
        recorder: Recorder<'p, 'i, R>,
        start: &[R],
    ) -> Self {
        let watch = Watch {
            recorder,
            rows: SpanRows { prepared, divergence: R::divergence(problem) },
            stopping: Stopping::new(prepared, start, options.tol, options.times.is_none()),
            offset: R::ZERO,
            steps: 0,
            patience: u64::MAX,
            verdict: None,
        };
        Self { prepared, options, watch, stats: Stats::default() }
    }

    /// From the start to the end; `state` becomes the last one. Why it ended, where the watch does not know better.
    fn go(&mut self, state: &mut Vec<R>) -> Status {
        match Beginning::of(self.prepared) {
            Beginning::Stuck => {
                self.watch.verdict = Some(Status::Saddle);
                return Status::Saddle;
            }
            Beginning::Escape(escape) => {
                if let Some(status) = self.escape(&escape, state) {
                    return status;
                }
            }
            Beginning::Nonlinear => {}
        }
        // Data that are well conditioned are not stiff, and a step of the explicit method is the cheaper one by far. It
        // says when stability holds it back, and from there on the implicit one pays.
        let method = self.options.method;
        let few_digits = method == Method::Explicit || self.options.rtol >= LEAST_FOR_ORDER_8;
        if method != Method::Radau && few_digits {
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

    /// The linear phase in closed form. Some if the run is over before it is.
    fn escape(&mut self, escape: &Escape<R>, state: &mut [R]) -> Option<Status> {
        let formula: Formula<R> = {
            let escape = escape.clone();
            Rc::new(move |t, state: &mut [R]| escape.at(t, state))
        };
        let horizon = self.watch.recorder.horizon();
        let end = if escape.end < horizon { escape.end } else { horizon };
        let complete = self.watch.recorder.pass_formula(&mut self.watch.rows, end, &formula);
        escape.at(end, state);
        self.watch.offset = end;
        if !complete {
            return Some(Status::Interrupted);
        }
        (end >= self.watch.recorder.horizon()).then_some(Status::ReachedEnd)
    }

    /// Integrate to the end, or until the explicit method finds that it is stiff.
    fn integrate(&mut self, state: &mut Vec<R>, explicit: bool) -> ode::Status {
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
        let mut flow = SpanFlow::new(&self.prepared.modes, self.prepared.m(), (rtol, residual_rtol), !explicit);
        let (watch, from) = (&mut self.watch, R::ZERO);
        let horizon = watch.recorder.horizon() - watch.offset;
        let result = if explicit {
            integrate(&mut Explicit::new(&flow, &settings), &mut flow, from, state, horizon, &settings, watch)
        } else {
            integrate(&mut Radau::new(&flow, &settings), &mut flow, from, state, horizon, &settings, watch)
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

/// The observer. The run is integrated in pieces whose time begins at 0, for a step after a long escape may be far shorter
/// than the spacing of numbers at its time.
struct Watch<'p, 'i, R: Number> {
    recorder: Recorder<'p, 'i, R>,
    rows: SpanRows<'p, R>,
    stopping: Stopping<'p, R>,
    /// Time of the run at which the time of the piece is 0.
    offset: R,
    /// Steps accepted before it.
    steps: u64,
    /// Steps until the method is changed.
    patience: u64,
    verdict: Option<Status>,
}

impl<'a, R: Number> Observer<R, SpanFlow<'a, R>> for Watch<'_, '_, R> {
    fn step(&mut self, flow: &mut SpanFlow<'a, R>, step: &mut Step<'_, R, SpanFlow<'a, R>>) -> Action<R> {
        let (from, to, offset) = (step.t_old(), step.t_new, self.offset);
        let given = self.recorder.is_given();
        let mut at = |t: R, state: &mut [R]| {
            if given {
                return step.refined_at(flow, t - offset, state, &mut || false);
            }
            step.at(flow, t - offset, state);
            true
        };
        if !self.recorder.pass(&mut self.rows, offset + from, offset + to, &mut at) {
            return Action::Stop;
        }
        self.verdict = self.stopping.judge(step.y_new());
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
