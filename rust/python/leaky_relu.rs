//! `leaky_relu_flow` and `leaky_relu_parameters`.

use std::time::Instant;

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::convert::{NeuronArrays, WeightRows, neurons, rows, weights_out};
use super::flow::{named, neurons_out, observable};
use super::interrupt::run_reporting;
use crate::flow::Options;
use crate::flow::leaky_relu::{Problem, gradient_flow, parameters};

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
    let start = neurons(&start)?;
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
        ..Options::default()
    };
    let clock = Instant::now();
    let (flow, interruption) =
        run_reporting(py, n_jobs, progress.as_ref(), |monitor| gradient_flow(&problem, &options, monitor))?;
    let flow = flow.map_err(|invalid| PyValueError::new_err(invalid.to_string()))?;
    neurons_out(py, flow, &observables, x.d(), clock.elapsed().as_secs_f64(), interruption)
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
) -> PyResult<WeightRows> {
    let (x, y, count) = (rows(&X)?, y.as_slice()?, path.shape()[0]);
    let problem = Problem { x, y, start: neurons(&start)?, slope };
    let (m, method) = (problem.start.a.len(), named(method)?);
    let path = path.as_slice()?;
    let found = py.detach(|| parameters(&problem, method, path));
    let (a, w) = found.map_err(|invalid| PyValueError::new_err(invalid.to_string()))?;
    weights_out(py, a, w, count, m, x.d())
}
