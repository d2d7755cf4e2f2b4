//! `leaky_relu_flow` and `leaky_relu_parameters`.

use std::mem::take;
use std::time::Instant;

use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::convert::{NeuronArrays, NeuronLows, WeightRows, matrix, neurons, rows, vector, weights_out, with_lows};
use super::flow::{named, neurons_out, observable, precise};
use super::interrupt::run_reporting;
use crate::flow::leaky_relu::{Problem, ending, gradient_flow, parameters};
use crate::flow::{Observable, Options, Precision};

/// The trajectory from one start. `end` is what the observable "distance" is measured from.
#[pyfunction]
#[pyo3(signature = (X, y, start, slope, times, time_unit, rtol, tol, method, max_steps, max_seconds, max_events, observables, end,
    save_beta, progress, n_jobs, precision = "double", y_low = None, start_low = None))]
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
    precision: &str,
    y_low: Option<PyReadonlyArray1<'py, f64>>,
    start_low: Option<NeuronLows<'py>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (x, y) = (rows(&X)?, y.as_slice()?);
    let precision = precise(precision)?;
    let y_low = y_low.as_ref().map(|low| low.as_slice()).transpose()?;
    let problem = Problem { x, y, y_low, start: with_lows(neurons(&start)?, start_low.as_ref())?, slope };
    let observables = observables.iter().map(|name| observable(name)).collect::<PyResult<Vec<_>>>()?;
    let end = end.as_ref().map(|end| end.as_slice()).transpose()?.unwrap_or(&[]);
    if precision == Precision::DoubleDouble && observables.contains(&Observable::Distance) {
        return Err(PyValueError::new_err("observables must be without 'distance' with precision 'double-double'"));
    }
    let times = times.as_ref().map(|t| t.as_slice()).transpose()?;
    let method = named(method)?;
    let options = Options {
        times,
        time_unit,
        rtol,
        tol,
        precision,
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
    let mut flow = flow.map_err(|invalid| PyValueError::new_err(invalid.to_string()))?;
    let low = take(&mut flow.states_low);
    let out = neurons_out(py, flow, &observables, x.d(), clock.elapsed().as_secs_f64(), interruption)?;
    if precision == Precision::DoubleDouble {
        let path = out.as_any().get_item("path")?.cast_into::<PyArray2<f64>>()?;
        out.set_item("path_low", matrix(py, low, path.shape()[0], path.shape()[1])?)?;
    }
    Ok(out)
}

/// The weights behind the path of a flow: a (T × m) and W (T × m × d), and in double-double what binary64 leaves out of each.
#[pyfunction]
#[pyo3(signature = (X, y, start, slope, method, path, precision = "double", path_low = None, start_low = None))]
#[allow(non_snake_case, clippy::too_many_arguments, reason = "the data are X in every paper; pairs of arrays")]
pub fn leaky_relu_parameters<'py>(
    py: Python<'py>,
    X: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    start: NeuronArrays<'py>,
    slope: f64,
    method: &str,
    path: PyReadonlyArray2<'py, f64>,
    precision: &str,
    path_low: Option<PyReadonlyArray2<'py, f64>>,
    start_low: Option<NeuronLows<'py>>,
) -> PyResult<(WeightRows, Option<WeightRows>)> {
    let (x, y, count) = (rows(&X)?, y.as_slice()?, path.shape()[0]);
    let (method, precision) = (named(method)?, precise(precision)?);
    let problem = Problem { x, y, y_low: None, start: with_lows(neurons(&start)?, start_low.as_ref())?, slope };
    let m = problem.start.a.len();
    let (path, low) = (path.as_slice()?, path_low.as_ref().map(|low| low.as_slice()).transpose()?.unwrap_or(&[]));
    let found = py.detach(|| parameters(&problem, method, precision, path, low));
    let found = found.map_err(|invalid| PyValueError::new_err(invalid.to_string()))?;
    let weights = weights_out(py, found.a, found.w, count, m, x.d())?;
    if precision == Precision::Double {
        return Ok((weights, None));
    }
    Ok((weights, Some(weights_out(py, found.a_low, found.w_low, count, m, x.d())?)))
}

/// Of the last state of a path in double-double: the residual, and how far W has left the span of the samples.
#[pyfunction]
#[allow(non_snake_case, clippy::too_many_arguments, reason = "the data are X in every paper; pairs of arrays")]
pub fn leaky_relu_end<'py>(
    py: Python<'py>,
    X: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    y_low: PyReadonlyArray1<'py, f64>,
    start: NeuronArrays<'py>,
    slope: f64,
    path: PyReadonlyArray2<'py, f64>,
    path_low: PyReadonlyArray2<'py, f64>,
    start_low: NeuronLows<'py>,
) -> PyResult<(Py<PyArray1<f64>>, f64)> {
    let start = with_lows(neurons(&start)?, Some(&start_low))?;
    let problem = Problem { x: rows(&X)?, y: y.as_slice()?, y_low: Some(y_low.as_slice()?), start, slope };
    let (state, low) = (path.as_slice()?, path_low.as_slice()?);
    let found = py.detach(|| ending(&problem, state, low));
    let (residual, outside) = found.map_err(|invalid| PyValueError::new_err(invalid.to_string()))?;
    Ok((vector(py, residual), outside))
}
