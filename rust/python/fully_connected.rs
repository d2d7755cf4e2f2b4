//! `fully_connected_flow`, `fully_connected_parameters` and `fully_connected_reach`.

use std::time::Instant;

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::convert::{
    NeuronArrays, NeuronLows, WeightRows, double_doubles, neurons, rows, vector, weights_out, with_lows,
};
use super::flow::{named, neurons_out, observable, precise};
use super::interrupt::{run_or_raise, run_reporting};
use crate::flow::fully_connected::{Problem, gradient_flow, parameters, reach};
use crate::flow::{Observable, Options, Precision};

/// The trajectory from one start. `end` is where the observable "distance" is measured from.
#[pyfunction]
#[pyo3(signature = (X, y, start, end, times, time_unit, rtol, tol, method, max_steps, max_seconds, observables, save_beta,
    progress, n_jobs, precision = "double", y_low = None, start_low = None))]
#[allow(non_snake_case, clippy::too_many_arguments, reason = "the data are X in every paper; one argument an option")]
pub fn fully_connected_flow<'py>(
    py: Python<'py>,
    X: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    start: NeuronArrays<'py>,
    end: Option<PyReadonlyArray1<'py, f64>>,
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
    start_low: Option<NeuronLows<'py>>,
) -> PyResult<Bound<'py, PyDict>> {
    let y_low = y_low.as_ref().map(|low| low.as_slice()).transpose()?;
    let neurons = with_lows(neurons(&start)?, start_low.as_ref())?;
    let problem = Problem { x: rows(&X)?, y: y.as_slice()?, y_low, neurons };
    let precision = precise(precision)?;
    let times = times.as_ref().map(|t| t.as_slice()).transpose()?;
    let end = end.as_ref().map(|end| end.as_slice()).transpose()?.unwrap_or(&[]);
    let observables = observables.iter().map(|name| observable(name)).collect::<PyResult<Vec<_>>>()?;
    if precision == Precision::DoubleDouble && observables.contains(&Observable::Distance) {
        return Err(PyValueError::new_err("observables must be without 'distance' with precision 'double-double'"));
    }
    let options = Options {
        times,
        time_unit,
        rtol,
        tol,
        precision,
        method: named(method)?,
        max_steps,
        max_seconds,
        observables: &observables,
        end,
        save_beta,
        ..Options::default()
    };
    let clock = Instant::now();
    let (flow, interruption) =
        run_reporting(py, n_jobs, progress.as_ref(), |monitor| gradient_flow(&problem, &options, monitor))?;
    let flow = flow.map_err(|invalid| PyValueError::new_err(invalid.to_string()))?;
    neurons_out(py, flow, &observables, problem.x.d(), clock.elapsed().as_secs_f64(), interruption)
}

/// The weights behind the states of a flow in that precision, to binary64: a (R × m) and W (R × m × d).
#[pyfunction]
#[pyo3(signature = (X, y, start, states, n_jobs, precision = "double", start_low = None))]
#[allow(non_snake_case, clippy::too_many_arguments, reason = "the data are X in every paper; pairs of arrays")]
pub fn fully_connected_parameters<'py>(
    py: Python<'py>,
    X: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    start: NeuronArrays<'py>,
    states: PyReadonlyArray2<'py, f64>,
    n_jobs: usize,
    precision: &str,
    start_low: Option<NeuronLows<'py>>,
) -> PyResult<WeightRows> {
    let neurons = with_lows(neurons(&start)?, start_low.as_ref())?;
    let problem = Problem { x: rows(&X)?, y: y.as_slice()?, y_low: None, neurons };
    let precision = precise(precision)?;
    let (count, path) = (states.shape()[0], states.as_slice()?);
    let found = run_or_raise(py, n_jobs, |_| parameters(&problem, precision, path))?;
    let found = found.ok_or_else(|| PyValueError::new_err("states must be those of a flow of this problem"))?;
    let (m, d) = (problem.neurons.a.len(), problem.x.d());
    weights_out(py, found.a, found.w, count, m, d)
}

/// How far a predictor in double-double is from what every end of the flow is.
#[pyfunction]
#[pyo3(signature = (X, y, y_low, start, start_low, beta, beta_low, n_jobs))]
#[allow(non_snake_case, clippy::too_many_arguments, reason = "the data are X in every paper; pairs of arrays")]
pub fn fully_connected_reach<'py>(
    py: Python<'py>,
    X: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    y_low: PyReadonlyArray1<'py, f64>,
    start: NeuronArrays<'py>,
    start_low: Option<NeuronLows<'py>>,
    beta: PyReadonlyArray1<'py, f64>,
    beta_low: PyReadonlyArray1<'py, f64>,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let neurons = with_lows(neurons(&start)?, start_low.as_ref())?;
    let problem = Problem { x: rows(&X)?, y: y.as_slice()?, y_low: Some(y_low.as_slice()?), neurons };
    let beta = double_doubles(&beta, &beta_low)?;
    let found = run_or_raise(py, n_jobs, |_| problem.validate().map(|()| reach(&problem, &beta)))?;
    let found = found.map_err(|invalid| PyValueError::new_err(invalid.to_string()))?;
    let out = PyDict::new(py);
    out.set_item("residual", vector(py, found.residual))?;
    out.set_item("feasibility", found.feasibility)?;
    out.set_item("stationarity", found.stationarity)?;
    Ok(out)
}
