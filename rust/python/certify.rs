//! `diagonal_error_bound`.

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::convert::{StartArrays, matrix, rows, start_in};
use super::interrupt::run_reporting;
use crate::flow::diagonal::{End, Problem, certify};
use crate::flow::{Options, Status};
use crate::limit::diagonal::{Limit, Options as LimitOptions, Status as LimitStatus, limit};

/// Where the flow ends, if that was found and has a proof.
fn end(limit: &Limit) -> Option<End<'_>> {
    let found = matches!(limit.status, LimitStatus::Converged | LimitStatus::RoundoffFloor | LimitStatus::LeastSquares);
    let bound = limit.error_bound.as_deref().filter(|_| found)?;
    Some(End { beta: &limit.beta, error_bound: bound })
}

/// A bound of the error of every row, and what ended the search for it, if it did not come to the last one.
#[pyfunction]
#[allow(non_snake_case, clippy::too_many_arguments, reason = "the data are X in every paper; one argument an option")]
pub fn diagonal_error_bound<'py>(
    py: Python<'py>,
    X: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    start: StartArrays<'py>,
    times: PyReadonlyArray1<'py, f64>,
    beta: PyReadonlyArray2<'py, f64>,
    time_unit: f64,
    rtol: f64,
    tol: f64,
    max_seconds: Option<f64>,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let (x, y) = (rows(&X)?, y.as_slice()?);
    let start = start_in(&start, x.d())?;
    let problem = Problem { x, y, y_low: None, start: (&start).into(), weights: None };
    let options = Options { time_unit, rtol, tol, max_seconds, ..Options::default() };
    let (count, table) = (beta.shape()[0], (times.as_slice()?, beta.as_slice()?));
    let (found, interruption) = run_reporting(py, n_jobs, None, |monitor| {
        // What is not allowed is for `certify` to say.
        let limit =
            problem.validate().ok().map(|()| limit(x, y, &start, &LimitOptions::default(), &|| monitor.interrupted()));
        certify(&problem, &options, table, limit.as_ref().and_then(end), monitor)
    })?;
    // Ctrl-C is the caller's to raise, with the rows that are there.
    if let Some(error) = interruption.filter(|error| !error.is_instance_of::<PyKeyboardInterrupt>(py)) {
        return Err(error);
    }
    let found = found.map_err(|invalid| PyValueError::new_err(invalid.to_string()))?;
    let out = PyDict::new(py);
    out.set_item("error_bound", matrix(py, found.error_bound, count, x.d())?)?;
    out.set_item("ended", found.ended.map(Status::name))?;
    Ok(out)
}
