//! `matrix_factorization_flow`.

use std::time::Instant;

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::convert::rows;
use super::flow::{named, neurons_out, observable};
use super::interrupt::run_reporting;
use crate::flow::Options;
use crate::flow::matrix_factorization::{Factors, Problem, gradient_flow};

/// Factors as Python holds them: `Z = [U; V]` or W, the shape of M, whether it is W, and the logarithm of their unit.
type FactorArrays<'py> = (PyReadonlyArray2<'py, f64>, (usize, usize), bool, f64);

/// The trajectory from one start. `end` is where the observable "distance" is measured from.
#[pyfunction]
#[pyo3(signature = (X, y, start, end, times, time_unit, rtol, tol, method, max_steps, max_seconds, observables, save_beta,
    progress, n_jobs))]
#[allow(non_snake_case, clippy::too_many_arguments, reason = "the data are X in every paper; one argument an option")]
pub fn matrix_factorization_flow<'py>(
    py: Python<'py>,
    X: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    start: FactorArrays<'py>,
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
    let (z, (d1, d2), symmetric, log_magnitude) = &start;
    let factors = Factors { d1: *d1, d2: *d2, k: z.shape()[1], symmetric: *symmetric };
    let problem = Problem { x: rows(&X)?, y: y.as_slice()?, factors, z: z.as_slice()?, log_magnitude: *log_magnitude };
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
