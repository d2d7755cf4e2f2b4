//! `diagonal_flow` and `diagonal_distance_bound`.

use std::mem::take;
use std::time::Instant;

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::convert::{StartArrays, WeightArrays, matrix, rows, start_in, vector};
use super::interrupt::{run_or_raise, run_reporting};
use crate::flow::diagonal::{Problem, Weights, gradient_flow};
use crate::flow::{Flow, Method, Observable, Options, Precision, Stats};
use crate::limit::diagonal::{self, double_double};
use crate::potential::Start;
use crate::real::{DoubleDouble, Real};

/// Tolerance of the end that distances in double-double are measured from: it is polished to the round-off floor anyway.
const EXACT_TOL: f64 = 1e-29;

/// The trajectory from one start.
#[pyfunction]
#[pyo3(signature = (X, y, start, weights, times, time_unit, rtol, tol, method, max_steps, max_seconds, observables, save_beta,
    progress, n_jobs, precision = "double", y_low = None))]
#[allow(non_snake_case, clippy::too_many_arguments, reason = "the data are X in every paper; one argument an option")]
pub fn diagonal_flow<'py>(
    py: Python<'py>,
    X: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    start: StartArrays<'py>,
    weights: Option<WeightArrays<'py>>,
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
    precision: &str,
    y_low: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (x, y) = (rows(&X)?, y.as_slice()?);
    let y_low = y_low.as_ref().map(|low| low.as_slice()).transpose()?;
    let precision = precise(precision)?;
    let start = start_in(&start, x.d())?;
    let weights = weights.as_ref().map(weights_in).transpose()?;
    let method = named(method)?;
    let problem = Problem { x, y, y_low, start: (&start).into(), weights };
    let times = times.as_ref().map(|t| t.as_slice()).transpose()?;
    let observables = observables.iter().map(|name| observable(name)).collect::<PyResult<Vec<_>>>()?;
    let options = Options {
        times,
        time_unit,
        rtol,
        tol,
        precision,
        method,
        max_steps,
        max_seconds,
        observables: &observables,
        save_beta,
        ..Options::default()
    };
    let clock = Instant::now();
    let (flow, interruption) = run_reporting(py, n_jobs, progress.as_ref(), |monitor| {
        if !observables.contains(&Observable::Distance) {
            return gradient_flow(&problem, &options, monitor);
        }
        let (end, end_low) = end_of(&problem, &start, precision, &|| monitor.interrupted());
        // The budget is that of the whole call; what is left of it is above 0, or the flow would not accept it.
        let left = |seconds: f64| (seconds - clock.elapsed().as_secs_f64()).max(f64::MIN_POSITIVE);
        let max_seconds = max_seconds.map(left);
        gradient_flow(&problem, &Options { end: &end, end_low: &end_low, max_seconds, ..options.clone() }, monitor)
    })?;
    let mut flow = flow.map_err(|invalid| PyValueError::new_err(invalid.to_string()))?;
    let d = x.d();
    let (count, weights) = (flow.beta.len() / d, method == Method::Weights);
    // The path that was integrated: G, or the weights. Handed over, not copied: it may be as large as memory allows.
    let path = if weights {
        PyArray1::from_vec(py, take(&mut flow.states)).reshape([count, 4, d])?.into_any()
    } else {
        PyArray1::from_vec(py, take(&mut flow.dual)).reshape([count, d])?.into_any()
    };
    let multipliers = if weights { None } else { Some(matrix(py, take(&mut flow.multipliers), count, x.n())?) };
    let (path_low, multipliers_low) = (take(&mut flow.dual_low), take(&mut flow.multipliers_low));
    let out = flow_out(py, flow, &observables, d, clock.elapsed().as_secs_f64(), interruption)?;
    out.set_item("path", path)?;
    out.set_item("multipliers", multipliers)?;
    if precision == Precision::DoubleDouble {
        out.set_item("path_low", matrix(py, path_low, count, d)?)?;
        out.set_item("multipliers_low", matrix(py, multipliers_low, count, x.n())?)?;
    }
    Ok(out)
}

/// Where distances are measured from: in double-double in two parts.
fn end_of(
    problem: &Problem<'_>,
    start: &Start,
    precision: Precision,
    interrupted: &dyn Fn() -> bool,
) -> (Vec<f64>, Vec<f64>) {
    let (x, goal) = (problem.x, diagonal::Options { bounds: false, ..diagonal::Options::default() });
    if precision == Precision::Double {
        return (diagonal::limit(x, problem.y, start, &goal, interrupted).beta, Vec::new());
    }
    let low = |n: usize| problem.y_low.and_then(|low| low.get(n)).copied().unwrap_or(0.0);
    let y: Vec<_> = problem.y.iter().enumerate().map(|(n, y)| DoubleDouble::from_parts(*y, low(n))).collect();
    let goal = diagonal::Options { tol: EXACT_TOL, ..goal };
    let found = double_double::limit(x, &y, start, &goal, interrupted);
    (found.beta, found.low.map(|low| low.beta).unwrap_or_default())
}

/// What the result of every model says.
pub fn flow_out<'py>(
    py: Python<'py>,
    flow: Flow,
    observables: &[Observable],
    features: usize,
    seconds: f64,
    interruption: Option<PyErr>,
) -> PyResult<Bound<'py, PyDict>> {
    // Rows to look at are what somebody who pressed Ctrl-C gets; any other error is the caller's own.
    let interrupted = match interruption {
        Some(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => return Err(error),
        found => found.is_some(),
    };
    let out = PyDict::new(py);
    let count = flow.beta.len() / features;
    let exact = flow.loss_low.len() == flow.loss.len() && count > 0;
    let named = |columns: Vec<Vec<f64>>| -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        for (observable, column) in observables.iter().zip(columns) {
            out.set_item(observable.name(), vector(py, column))?;
        }
        Ok(out)
    };
    out.set_item("t", vector(py, flow.times))?;
    out.set_item("beta", matrix(py, flow.beta, count, features)?)?;
    out.set_item("loss", vector(py, flow.loss))?;
    out.set_item("observables", named(flow.observables)?)?;
    if exact {
        out.set_item("beta_low", matrix(py, flow.beta_low, count, features)?)?;
        out.set_item("loss_low", vector(py, flow.loss_low))?;
        out.set_item("observables_low", named(flow.observables_low)?)?;
    }
    let events = flow.events.iter().map(|event| (event.time, event.sample, event.neuron, event.kind.name()));
    out.set_item("events", PyList::new(py, events)?)?;
    out.set_item("status", flow.status.name())?;
    out.set_item("stats", stats_out(py, &flow.stats, seconds)?)?;
    out.set_item("interrupted", interrupted)?;
    Ok(out)
}

/// The result of a network of neurons: its path are the states, and it has no multipliers along the way.
pub fn neurons_out<'py>(
    py: Python<'py>,
    mut flow: Flow,
    observables: &[Observable],
    features: usize,
    seconds: f64,
    interruption: Option<PyErr>,
) -> PyResult<Bound<'py, PyDict>> {
    let count = flow.beta.len() / features;
    let width = flow.states.len().checked_div(count).unwrap_or(0);
    let path = matrix(py, take(&mut flow.states), count, width)?;
    let out = flow_out(py, flow, observables, features, seconds, interruption)?;
    out.set_item("path", path)?;
    out.set_item("multipliers", py.None())?;
    Ok(out)
}

/// A bound of the distance of every row to the limit.
#[pyfunction]
#[allow(non_snake_case, reason = "the data are X in every paper")]
pub fn diagonal_distance_bound<'py>(
    py: Python<'py>,
    X: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    start: StartArrays<'py>,
    beta: PyReadonlyArray2<'py, f64>,
    n_jobs: usize,
) -> PyResult<Py<PyArray2<f64>>> {
    let (x, y) = (rows(&X)?, y.as_slice()?);
    let start = start_in(&start, x.d())?;
    let (count, beta) = (beta.shape()[0], beta.as_slice()?);
    let bound: Vec<f64> = run_or_raise(py, n_jobs, |stop| {
        let limit = diagonal::limit(x, y, &start, &diagonal::Options::default(), &|| stop());
        beta.chunks_exact(x.d()).flat_map(|row| diagonal::distance_bound(row, &limit)).collect()
    })?;
    matrix(py, bound, count, x.d())
}

fn weights_in<'a>(arrays: &'a WeightArrays<'_>) -> PyResult<Weights<'a>> {
    let (u_plus, v_plus, u_minus, v_minus, log_magnitude) = arrays;
    Ok(Weights {
        u_plus: u_plus.as_slice()?,
        v_plus: v_plus.as_slice()?,
        u_minus: u_minus.as_slice()?,
        v_minus: v_minus.as_slice()?,
        log_magnitude: log_magnitude.as_slice()?,
    })
}

/// The observable of that name.
pub fn observable(name: &str) -> PyResult<Observable> {
    Observable::named(name)
        .ok_or_else(|| PyValueError::new_err(format!("observables must be known names: got '{name}'")))
}

/// The numbers of that name.
pub fn precise(precision: &str) -> PyResult<Precision> {
    match precision {
        "double" => Ok(Precision::Double),
        "double-double" => Ok(Precision::DoubleDouble),
        _ => Err(PyValueError::new_err(format!("precision must be 'double' or 'double-double': got '{precision}'"))),
    }
}

/// The method of that name.
pub fn named(method: &str) -> PyResult<Method> {
    match method {
        "auto" => Ok(Method::Auto),
        "radau" => Ok(Method::Radau),
        "explicit" => Ok(Method::Explicit),
        "weights" => Ok(Method::Weights),
        _ => {
            Err(PyValueError::new_err(format!("method must be one of auto, radau, explicit, weights: got '{method}'")))
        }
    }
}

pub(super) fn stats_out<'py>(py: Python<'py>, stats: &Stats, seconds: f64) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("accepted", stats.accepted)?;
    out.set_item("rejected", stats.rejected)?;
    out.set_item("rhs", stats.rhs)?;
    out.set_item("jacobians", stats.jacobians)?;
    out.set_item("newton_iterations", stats.newton_iterations)?;
    out.set_item("newton_systems", stats.newton_systems)?;
    out.set_item("seconds", seconds)?;
    Ok(out)
}
