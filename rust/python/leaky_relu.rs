//! `leaky_relu_flow` and `leaky_relu_parameters`.

use std::time::Instant;

use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::convert::{matrix, rows, vector};
use super::flow::{named, observable, stats_out};
use super::interrupt::run_reporting;
use crate::flow::leaky_relu::{Problem, gradient_flow, parameters};
use crate::flow::{Neurons, Options};

/// `a` (m), `W` (m × d) and the logarithm of their unit.
type NeuronArrays<'py> = (PyReadonlyArray1<'py, f64>, PyReadonlyArray2<'py, f64>, f64);

/// `a` (T × m) and `W` (T × m × d).
type Rows<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray3<f64>>);

/// The trajectory from one start. `end` is what the observable "distance" is measured from.
#[pyfunction]
#[pyo3(signature = (X, y, start, slope, times, time_unit, rtol, tol, method, max_steps, max_seconds, max_events, observables, end,
    save_beta, progress, n_jobs))]
#[allow(non_snake_case, clippy::too_many_arguments, reason = "the data are X in every paper; one argument an option")]
pub fn leaky_relu_flow<'py>(
    py: Python<'py>,
    X: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    start: NeuronArrays<'py>,
    slope: f64,
    times: Option<PyReadonlyArray1<'py, f64>>,
    time_unit: f64,
    rtol: f64,
    tol: f64,
    method: &str,
    max_steps: Option<u64>,
    max_seconds: Option<f64>,
    max_events: Option<u64>,
    observables: Vec<String>,
    end: Option<PyReadonlyArray1<'py, f64>>,
    save_beta: bool,
    progress: Option<Py<PyAny>>,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let (x, y) = (rows(&X)?, y.as_slice()?);
    let (a, w, log_magnitude) = &start;
    let start = Neurons { a: a.as_slice()?, w: w.as_slice()?, log_magnitude: *log_magnitude };
    let problem = Problem { x, y, start, slope };
    let observables = observables.iter().map(|name| observable(name)).collect::<PyResult<Vec<_>>>()?;
    let end = end.as_ref().map(|end| end.as_slice()).transpose()?.unwrap_or(&[]);
    let times = times.as_ref().map(|t| t.as_slice()).transpose()?;
    let method = named(method)?;
    let options = Options {
        times,
        time_unit,
        rtol,
        tol,
        method,
        max_steps,
        max_seconds,
        max_events,
        observables: &observables,
        end,
        save_beta,
    };
    let clock = Instant::now();
    let (flow, interruption) =
        run_reporting(py, n_jobs, progress.as_ref(), |monitor| gradient_flow(&problem, &options, monitor))?;
    let flow = flow.map_err(|invalid| PyValueError::new_err(invalid.to_string()))?;
    // Rows to look at are what somebody who pressed Ctrl-C gets; any other error is the caller's own.
    let interrupted = match interruption {
        Some(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => return Err(error),
        found => found.is_some(),
    };
    let stats = stats_out(py, &flow.stats, clock.elapsed().as_secs_f64())?;
    let count = flow.beta.len() / x.d();
    let width = flow.states.len() / count.max(1);
    let out = PyDict::new(py);
    out.set_item("t", vector(py, flow.times))?;
    out.set_item("beta", matrix(py, flow.beta, count, x.d())?)?;
    out.set_item("loss", vector(py, flow.loss))?;
    let columns = PyDict::new(py);
    for (observable, column) in observables.iter().zip(flow.observables) {
        columns.set_item(observable.name(), vector(py, column))?;
    }
    out.set_item("observables", columns)?;
    out.set_item("path", matrix(py, flow.states, count, width)?)?;
    out.set_item("multipliers", None::<Py<PyAny>>)?;
    let events = flow.events.iter().map(|event| (event.time, event.sample, event.neuron, event.kind.name()));
    out.set_item("events", PyList::new(py, events)?)?;
    out.set_item("status", flow.status.name())?;
    out.set_item("stats", stats)?;
    out.set_item("interrupted", interrupted)?;
    Ok(out)
}

/// The weights behind the path of a flow: a (T × m) and W (T × m × d).
#[pyfunction]
#[allow(non_snake_case, reason = "the data are X in every paper")]
pub fn leaky_relu_parameters<'py>(
    py: Python<'py>,
    X: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    start: NeuronArrays<'py>,
    slope: f64,
    method: &str,
    path: PyReadonlyArray2<'py, f64>,
) -> PyResult<Rows<'py>> {
    let (x, y, count) = (rows(&X)?, y.as_slice()?, path.shape()[0]);
    let (a, w, log_magnitude) = &start;
    let start = Neurons { a: a.as_slice()?, w: w.as_slice()?, log_magnitude: *log_magnitude };
    let (m, method) = (start.a.len(), named(method)?);
    let problem = Problem { x, y, start, slope };
    let (a, w) = parameters(&problem, method, path.as_slice()?).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok((PyArray1::from_vec(py, a).reshape([count, m])?, PyArray1::from_vec(py, w).reshape([count, m, x.d()])?))
}
