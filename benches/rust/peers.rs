//! The integrators on the problems of `benches/peers`, one line of JSON for every run.
//!
//! `cargo bench --bench peers -- problems.json`: the file is what `benches/peers/problems.py` writes; the lines go to
//! standard output. Every run gives the states at the times it was asked for, as pairs `[high, low]`, the median time of
//! several repetitions, and what it counted.

use std::io::{Write, stdout};
use std::time::{Duration, Instant};

use implicit_bias::linalg::SquareMatrix;
use implicit_bias::ode::{Action, Explicit, Observer, Options, Outcome, Problem, Radau, Step, System, integrate};
use implicit_bias::real::{DoubleDouble, Real};
use serde_json::{Value, json};

/// A run that takes longer is given up, and with it all tighter tolerances.
const PATIENCE: Duration = Duration::from_secs(10);
/// Repetitions, while they fit in [`ENOUGH`].
const REPETITIONS: usize = 7;
const ENOUGH: Duration = Duration::from_millis(500);

/// Right-hand sides and Jacobians, the same for both number types.
enum Equations {
    Logistic,
    /// `ν' = (y − Xβ)/N`, `β = ½κ sinh 2Xᵀν`.
    Dual {
        x: Vec<Vec<f64>>,
        y: Vec<f64>,
        log_kappa: f64,
    },
    /// One linear neuron in the span of its samples: `a' = pᵀr/N`, `p' = aKr/N`, `r = y − ap`.
    Neuron {
        kernel: Vec<Vec<f64>>,
        y: Vec<f64>,
    },
    VanDerPol,
    Robertson,
    Pleiades,
    Arenstorf,
}

impl Equations {
    fn of(kind: &str, data: &Value) -> Self {
        match kind {
            "logistic" => Self::Logistic,
            "dual" => Self::Dual {
                x: matrix(&data["X"]),
                y: vector(&data["y"]),
                log_kappa: data["log_kappa"].as_f64().unwrap_or(f64::NAN),
            },
            "neuron" => Self::Neuron { kernel: matrix(&data["kernel"]), y: vector(&data["y"]) },
            "van der pol" => Self::VanDerPol,
            "robertson" => Self::Robertson,
            "pleiades" => Self::Pleiades,
            "arenstorf" => Self::Arenstorf,
            other => panic!("no equations are called {other}"),
        }
    }

    fn rhs<R: Real>(&self, y: &[R], dy: &mut [R]) {
        let real = R::from_f64;
        match self {
            Self::Logistic => dy[0] = y[0] * (R::ONE - y[0]),
            Self::Dual { x, y: targets, log_kappa } => {
                let samples = real(x.len() as f64);
                dy.iter_mut().zip(targets).for_each(|(dy, y)| *dy = real(*y));
                for i in 0..x[0].len() {
                    let (up, down) = Self::exponentials(x, *log_kappa, i, y);
                    let beta = (up - down) * real(0.5);
                    dy.iter_mut().zip(x).for_each(|(dy, row)| *dy -= beta * real(row[i]));
                }
                for dy in dy {
                    *dy /= samples;
                }
            }
            Self::Neuron { kernel, y: targets } => {
                let (a, p, samples) = (y[0], &y[1..], real(targets.len() as f64));
                dy.fill(R::ZERO);
                for (n, target) in targets.iter().enumerate() {
                    let residual = (real(*target) - a * p[n]) / samples;
                    dy[0] += p[n] * residual;
                    let pull = a * residual;
                    dy[1..].iter_mut().zip(kernel).for_each(|(dy, row)| *dy += pull * real(row[n]));
                }
            }
            Self::VanDerPol => {
                dy[0] = y[1];
                dy[1] = ((R::ONE - y[0] * y[0]) * y[1] - y[0]) * real(1e6);
            }
            Self::Robertson => {
                let (slow, fast) = (R::from_parts(0.04, -8.326_672_684_688_674e-19), real(1e4) * y[1] * y[2]);
                let last = real(3e7) * y[1] * y[1];
                dy[0] = fast - slow * y[0];
                dy[1] = slow * y[0] - fast - last;
                dy[2] = last;
            }
            Self::Pleiades => pleiades(y, dy),
            Self::Arenstorf => arenstorf(y, dy),
        }
    }

    /// `½κ e^z` and `½κ e^{−z}` of coordinate `i`, `z = 2x_iᵀν`.
    fn exponentials<R: Real>(x: &[Vec<f64>], log_kappa: f64, i: usize, nu: &[R]) -> (R, R) {
        let z = x.iter().zip(nu).fold(R::ZERO, |z, (row, nu)| z + *nu * R::from_f64(2.0 * row[i]));
        let log = R::from_f64(log_kappa) - R::LN_2;
        ((log + z).exp(), (log - z).exp())
    }

    fn jacobian<R: Real>(&self, y: &[R], j: &mut SquareMatrix) {
        let high: Vec<f64> = y.iter().map(|y| y.to_f64()).collect();
        match self {
            Self::Logistic => j.set(0, 0, 1.0 - 2.0 * high[0]),
            Self::Dual { x, log_kappa, .. } => {
                for i in 0..x[0].len() {
                    let (up, down) = Self::exponentials(x, *log_kappa, i, &high);
                    let slope = (up + down) / x.len() as f64;
                    for (n, row) in x.iter().enumerate() {
                        for (m, other) in x.iter().enumerate() {
                            j.set(n, m, j.get(n, m) - slope * row[i] * other[i]);
                        }
                    }
                }
            }
            Self::Neuron { kernel, y: targets } => {
                let (a, p, samples) = (high[0], &high[1..], targets.len() as f64);
                for (n, row) in kernel.iter().enumerate() {
                    j.set(0, 0, j.get(0, 0) - p[n] * p[n] / samples);
                    j.set(0, n + 1, (targets[n] - 2.0 * a * p[n]) / samples);
                    let down: f64 = row.iter().zip(targets).zip(p).map(|((k, y), p)| k * (y - 2.0 * a * p)).sum();
                    j.set(n + 1, 0, down / samples);
                    row.iter().enumerate().for_each(|(m, k)| j.set(n + 1, m + 1, -a * a * k / samples));
                }
            }
            Self::VanDerPol => {
                j.set(0, 1, 1.0);
                j.set(1, 0, (-2.0 * high[0] * high[1] - 1.0) * 1e6);
                j.set(1, 1, (1.0 - high[0] * high[0]) * 1e6);
            }
            Self::Robertson => {
                let rows = [
                    [-0.04, 1e4 * high[2], 1e4 * high[1]],
                    [0.04, -1e4 * high[2] - 6e7 * high[1], -1e4 * high[1]],
                    [0.0, 6e7 * high[1], 0.0],
                ];
                for (i, row) in rows.iter().enumerate() {
                    row.iter().enumerate().for_each(|(k, entry)| j.set(i, k, *entry));
                }
            }
            // Not stiff: nobody integrates them implicitly here.
            Self::Pleiades | Self::Arenstorf => {}
        }
    }
}

/// Seven stars of masses 1 to 7 in a plane (Hairer, Nørsett & Wanner I, II.10): `x, y, x', y'`.
fn pleiades<R: Real>(y: &[R], dy: &mut [R]) {
    dy[..14].copy_from_slice(&y[14..]);
    dy[14..].fill(R::ZERO);
    for i in 0..7 {
        for j in 0..i {
            let (x, z) = (y[j] - y[i], y[7 + j] - y[7 + i]);
            let square = x * x + z * z;
            let cube = square * square.sqrt();
            for (k, across) in [(0, x), (7, z)] {
                let pull = across / cube;
                dy[14 + k + i] += pull * R::from_f64((j + 1) as f64);
                dy[14 + k + j] -= pull * R::from_f64((i + 1) as f64);
            }
        }
    }
}

/// The restricted three-body problem (Hairer, Nørsett & Wanner I, II.0): `x, y, x', y'`.
fn arenstorf<R: Real>(y: &[R], dy: &mut [R]) {
    // 0.012277471, a decimal.
    let moon = R::from_f64(12_277_471.0) / R::from_f64(1e9);
    let earth = R::ONE - moon;
    let (left, right) = (y[0] + moon, y[0] - earth);
    let cube = |x: R| {
        let square = x * x + y[1] * y[1];
        square * square.sqrt()
    };
    let (d1, d2) = (cube(left), cube(right));
    dy[..2].copy_from_slice(&y[2..]);
    dy[2] = y[0] + y[3] + y[3] - earth * left / d1 - moon * right / d2;
    dy[3] = y[1] - y[2] - y[2] - earth * y[1] / d1 - moon * y[1] / d2;
}

/// Saves the states at the requested times; gives up when the time is over.
struct Watch<R> {
    times: Vec<R>,
    states: Vec<Vec<R>>,
    end: Instant,
}

impl<R: Real, S: System<R>> Observer<R, S> for Watch<R> {
    fn step(&mut self, system: &mut S, step: &mut Step<'_, R, S>) -> Action<R> {
        while let Some(time) = self.times.get(self.states.len()).filter(|time| **time <= step.t_new) {
            let mut state = step.y_new().to_vec();
            step.refined_at(system, *time, &mut state, &mut || false);
            self.states.push(state);
        }
        Action::Continue
    }

    fn interrupted(&mut self) -> bool {
        Instant::now() >= self.end
    }
}

/// What is asked of one problem.
struct Task<'a, R> {
    equations: &'a Equations,
    start: Vec<R>,
    times: Vec<R>,
    rtol: f64,
    atol: f64,
    method: &'a str,
}

impl<R: Real> Task<'_, R> {
    fn run(&self) -> (Watch<R>, Option<Outcome<R>>) {
        let options = Options { rtol: self.rtol, ..Options::default() };
        let mut watch = Watch { times: self.times.clone(), states: Vec::new(), end: Instant::now() + PATIENCE };
        let rhs = |_t: R, y: &[R], dy: &mut [R]| self.equations.rhs(y, dy);
        let jacobian = |_t: R, y: &[R], j: &mut SquareMatrix| self.equations.jacobian(y, j);
        let mut system = Problem::new(self.start.len(), rhs, jacobian, self.rtol, self.atol);
        let Some(end) = self.times.last().copied() else { return (watch, None) };
        let outcome = if self.method == "explicit" {
            let mut stepper = Explicit::new(&system, &options);
            integrate(&mut stepper, &mut system, R::ZERO, &self.start, end, &options, &mut watch)
        } else {
            let mut stepper = Radau::new(&system, &options);
            integrate(&mut stepper, &mut system, R::ZERO, &self.start, end, &options, &mut watch)
        };
        (watch, outcome.ok())
    }

    /// The median time, and what came of it.
    fn measure(&self) -> Value {
        let (mut seconds, begin) = (Vec::new(), Instant::now());
        loop {
            let start = Instant::now();
            let (watch, outcome) = self.run();
            seconds.push(start.elapsed().as_secs_f64());
            if seconds.len() < REPETITIONS && begin.elapsed() < ENOUGH {
                continue;
            }
            seconds.sort_by(f64::total_cmp);
            let pair = |v: &R| json!([v.to_f64(), v.low()]);
            let states: Vec<Vec<Value>> = watch.states.iter().map(|state| state.iter().map(pair).collect()).collect();
            let (stats, success) = outcome.map_or_else(Default::default, |o| (o.stats, o.status.is_success()));
            return json!({
                "seconds": seconds[seconds.len() / 2], "states": states, "success": success, "rhs": stats.rhs,
                "steps": stats.accepted, "jacobians": stats.jacobians,
            });
        }
    }
}

fn main() {
    // Cargo adds arguments of its own.
    let Some(path) = std::env::args().skip(1).find(|argument| argument.to_lowercase().ends_with(".json")) else {
        return;
    };
    let problems = std::fs::read_to_string(&path).map(|text| serde_json::from_str::<Value>(&text));
    let Ok(Ok(problems)) = problems else { panic!("{path} is no list of problems") };
    for problem in problems.as_array().into_iter().flatten() {
        let text = |name: &str| problem[name].as_str().unwrap_or_default();
        let equations = Equations::of(text("kind"), &problem["data"]);
        let unit = problem["atol_unit"].as_f64().unwrap_or(0.0);
        let methods: Vec<&str> =
            problem["methods"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (precision, tolerances) in [("double", &problem["rtol"]), ("double-double", &problem["rtol_low"])] {
            for method in &methods {
                for rtol in vector(tolerances) {
                    let (start, times) = (pairs(&problem["start"]), pairs(&problem["times"]));
                    let (equations, atol) = (&equations, rtol * unit);
                    let mut line = if precision == "double" {
                        let real = |v: &[DoubleDouble]| v.iter().map(|v| v.to_f64()).collect();
                        let (start, times) = (real(&start), real(&times));
                        Task::<f64> { equations, start, times, rtol, atol, method }.measure()
                    } else {
                        Task { equations, start, times, rtol, atol, method }.measure()
                    };
                    line["problem"] = json!(text("name"));
                    line["method"] = json!(method);
                    line["precision"] = json!(precision);
                    line["rtol"] = json!(rtol);
                    let done = line["success"] == json!(true);
                    let written = writeln!(stdout(), "{line}");
                    assert!(written.is_ok(), "nobody reads the results");
                    if !done {
                        break;
                    }
                }
            }
        }
    }
}

fn vector(value: &Value) -> Vec<f64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

fn matrix(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().into_iter().flatten().map(vector).collect()
}

/// `[high, low]` each.
fn pairs(value: &Value) -> Vec<DoubleDouble> {
    let pair = |v: &Vec<f64>| DoubleDouble::from_parts(v[0], v[1]);
    matrix(value).iter().map(pair).collect()
}
