//! Tied networks of depth 3 and more: elementwise functions, potential, flow, limit and check.

use std::mem::take;
use std::time::Instant;

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::convert::{Parts, double_doubles, matrix, parts, rows, vector};
use super::flow::{flow_out, named, observable};
use super::interrupt::{run_or_raise, run_reporting};
use super::limit::{conditions_out, limit_out};
use crate::flow::{Observable, Options, depth as flow};
use crate::limit::depth as limit;
use crate::limit::diagonal;
use crate::potential::{Arc, Depth, DepthPotential, TiedStart};
use crate::real::{DoubleDouble, Real, Scaled};

/// High and low parts, of one length.
type PartsIn<'py> = (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>);

/// `"q"`, `"h"`, `"inverse"` or `"one_minus_inverse"` (of |z|) of numbers at their depths, in two parts.
#[pyfunction]
pub fn depth_function<'py>(
    py: Python<'py>,
    what: &str,
    x: PartsIn<'py>,
    depth: PyReadonlyArray1<'py, u32>,
) -> PyResult<Parts> {
    let function: fn(Depth, DoubleDouble) -> Scaled = match what {
        "q" => |depth, x| depth.q(Scaled::from(x), depth.inverse(Scaled::from(x))),
        "h" => |depth, z| {
            let one_minus = DoubleDouble::ONE - z.abs();
            if one_minus.high > 0.0 || depth.depth() <= 2 {
                return depth.h(Arc::from_z(Scaled::from(z)));
            }
            Scaled::from(f64::INFINITY.copysign(z.high))
        },
        "inverse" => |depth, x| depth.inverse(Scaled::from(x)).z,
        "one_minus_inverse" => |depth, x| depth.inverse(Scaled::from(x)).a,
        _ => return Err(unknown(what)),
    };
    let x = double_doubles(&x.0, &x.1)?;
    let values: Vec<_> =
        x.iter().zip(depth.as_slice()?).map(|(x, depth)| function(Depth::new(*depth), *x).value()).collect();
    Ok(parts(py, &values))
}

/// "value", an array of one, "gradient" or "hessian" of `Σ (αw)² q(β/(αw)^D)`, in two parts.
#[pyfunction]
pub fn depth_potential<'py>(
    py: Python<'py>,
    what: &str,
    beta: PartsIn<'py>,
    depth: u32,
    log_start: PartsIn<'py>,
) -> PyResult<Parts> {
    let beta = double_doubles(&beta.0, &beta.1)?;
    let start = start_in(depth, &log_start, beta.len())?;
    let each = |f: fn(&DepthPotential, DoubleDouble) -> Scaled| -> Vec<Scaled> {
        start.potentials().zip(&beta).map(|(q, b)| f(&q, *b)).collect()
    };
    let values = match what {
        "value" => vec![each(DepthPotential::value).into_iter().fold(Scaled::ZERO, |sum, q| sum + q)],
        "gradient" => each(DepthPotential::gradient),
        "hessian" => each(DepthPotential::hessian),
        _ => return Err(unknown(what)),
    };
    Ok(parts(py, &values.into_iter().map(Scaled::value).collect::<Vec<_>>()))
}

/// `D_Q(β, β₀)`, in two parts.
#[pyfunction]
pub fn depth_bregman(
    beta: PartsIn<'_>,
    beta0: PartsIn<'_>,
    depth: u32,
    log_start: PartsIn<'_>,
) -> PyResult<(f64, f64)> {
    let (beta, beta0) = (double_doubles(&beta.0, &beta.1)?, double_doubles(&beta0.0, &beta0.1)?);
    let start = start_in(depth, &log_start, beta.len())?;
    let each = start.potentials().zip(beta.iter().zip(&beta0)).map(|(q, (b, b0))| q.bregman(*b, *b0));
    let found = each.fold(Scaled::ZERO, |sum, value| sum + value).value();
    Ok((found.high, found.low))
}

/// The trajectory from one start.
#[pyfunction]
#[pyo3(signature = (X, y, depth, log_start, times, time_unit, rtol, tol, method, max_steps, max_seconds, observables,
    save_beta, progress, n_jobs))]
#[allow(non_snake_case, clippy::too_many_arguments, reason = "the data are X in every paper; one argument an option")]
pub fn depth_flow<'py>(
    py: Python<'py>,
    X: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    depth: u32,
    log_start: PartsIn<'py>,
    times: Option<PyReadonlyArray1<'py, f64>>,
    time_unit: f64,
    rtol: f64,
    tol: f64,
    method: &str,
    max_steps: Option<u64>,
    max_seconds: Option<f64>,
    observables: Vec<String>,
    save_beta: bool,
    progress: Option<Py<PyAny>>,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let (x, y) = (rows(&X)?, y.as_slice()?);
    let start = start_in(depth, &log_start, x.d())?;
    let times = times.as_ref().map(|t| t.as_slice()).transpose()?;
    let observables = observables.iter().map(|name| observable(name)).collect::<PyResult<Vec<_>>>()?;
    let options = Options {
        times,
        time_unit,
        rtol,
        tol,
        method: named(method)?,
        max_steps,
        max_seconds,
        observables: &observables,
        save_beta,
        ..Options::default()
    };
    let clock = Instant::now();
    let problem = flow::Problem { x, y, start: &start };
    let (found, interruption) = run_reporting(py, n_jobs, progress.as_ref(), |monitor| {
        let goal = diagonal::Options { bounds: false, ..diagonal::Options::default() };
        let end = if observables.contains(&Observable::Distance) {
            limit::limit(x, y, &start, &goal, &|| monitor.interrupted()).beta
        } else {
            Vec::new()
        };
        // The budget is that of the whole call; what is left of it is above 0, or the flow would not accept it.
        let left = |seconds: f64| (seconds - clock.elapsed().as_secs_f64()).max(f64::MIN_POSITIVE);
        let max_seconds = max_seconds.map(left);
        flow::gradient_flow(&problem, &Options { end: &end, max_seconds, ..options.clone() }, monitor)
    })?;
    let mut found = found.map_err(|invalid| PyValueError::new_err(invalid.to_string()))?;
    let count = found.beta.len() / x.d();
    let path = matrix(py, take(&mut found.dual), count, x.d())?;
    // Those of ∇Q(β) = Xᵀν: Q grows D(D−2) times as fast as the integral of the gradient.
    let factor = f64::from(depth) * (f64::from(depth) - 2.0);
    let multipliers = take(&mut found.multipliers).into_iter().map(|nu| factor * nu).collect();
    let multipliers = matrix(py, multipliers, count, x.n())?;
    let out = flow_out(py, found, &observables, x.d(), clock.elapsed().as_secs_f64(), interruption)?;
    out.set_item("path", path)?;
    out.set_item("multipliers", multipliers)?;
    Ok(out)
}

/// The limit from one start.
#[pyfunction]
#[allow(non_snake_case, clippy::too_many_arguments, reason = "the data are X in every paper; one argument an option")]
pub fn depth_limit<'py>(
    py: Python<'py>,
    X: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    depth: u32,
    log_start: PartsIn<'py>,
    bounds: bool,
    tol: f64,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let (x, y) = (rows(&X)?, y.as_slice()?);
    let start = start_in(depth, &log_start, x.d())?;
    let options = diagonal::Options { bounds, tol, ..diagonal::Options::default() };
    let found = run_or_raise(py, n_jobs, |stop| limit::limit(x, y, &start, &options, &|| stop()))?;
    limit_out(py, found)
}

/// The optimality conditions at a β from elsewhere.
#[pyfunction]
#[allow(non_snake_case, reason = "the data are X in every paper")]
pub fn depth_check_kkt<'py>(
    py: Python<'py>,
    X: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    depth: u32,
    log_start: PartsIn<'py>,
    beta: PyReadonlyArray1<'py, f64>,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let (x, y, beta) = (rows(&X)?, y.as_slice()?, beta.as_slice()?);
    let start = start_in(depth, &log_start, x.d())?;
    let report = run_or_raise(py, n_jobs, |stop| limit::check(x, y, &start, beta, &|| stop()))?;
    let out = PyDict::new(py);
    conditions_out(&out, &report.conditions)?;
    out.set_item("multipliers", vector(py, report.multipliers))?;
    out.set_item("multipliers_low", py.None())?;
    out.set_item("error_bound", vector(py, report.error_bound))?;
    out.set_item("backward_error", vector(py, report.backward_error))?;
    Ok(out)
}

fn start_in(depth: u32, log_start: &PartsIn<'_>, d: usize) -> PyResult<TiedStart> {
    let log_start = double_doubles(&log_start.0, &log_start.1)?;
    if log_start.len() == d {
        return Ok(TiedStart { depth, log_start });
    }
    Err(PyValueError::new_err(format!("a start of {} coordinates for {d} features", log_start.len())))
}

fn unknown(what: &str) -> PyErr {
    PyValueError::new_err(format!("no function {what} of a depth"))
}
