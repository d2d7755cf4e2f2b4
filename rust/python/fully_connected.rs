//! `fully_connected_flow` and `fully_connected_parameters`.

use std::time::Instant;

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::convert::{NeuronArrays, WeightRows, neurons, rows, weights_out};
use super::flow::{named, neurons_out, observable};
use super::interrupt::{run_or_raise, run_reporting};
use crate::flow::Options;
use crate::flow::fully_connected::{Problem, gradient_flow, parameters};

/// The trajectory from one start. `end` is where the observable "distance" is measured from.
#[pyfunction]
#[pyo3(signature = (X, y, start, end, times, time_unit, rtol, tol, method, max_steps, max_seconds, observables, save_beta,
    progress, n_jobs))]
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
) -> PyResult<Bound<'py, PyDict>> {
    let problem = Problem { x: rows(&X)?, y: y.as_slice()?, neurons: neurons(&start)? };
    let times = times.as_ref().map(|t| t.as_slice()).transpose()?;
    let end = end.as_ref().map(|end| end.as_slice()).transpose()?.unwrap_or(&[]);
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

/// The weights behind the states of a flow: a (R × m) and W (R × m × d).
#[pyfunction]
#[allow(non_snake_case, reason = "the data are X in every paper")]
pub fn fully_connected_parameters<'py>(
    py: Python<'py>,
    X: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    start: NeuronArrays<'py>,
    states: PyReadonlyArray2<'py, f64>,
    n_jobs: usize,
) -> PyResult<WeightRows> {
    let problem = Problem { x: rows(&X)?, y: y.as_slice()?, neurons: neurons(&start)? };
    let (count, path) = (states.shape()[0], states.as_slice()?);
    let found = run_or_raise(py, n_jobs, |_| parameters(&problem, path))?;
    let found = found.ok_or_else(|| PyValueError::new_err("states must be those of a flow of this problem"))?;
    let (m, d) = (problem.neurons.a.len(), problem.x.d());
    weights_out(py, found.a, found.w, count, m, d)
}
