//! `diagonal_limit`, `diagonal_limit_path`, `diagonal_check_kkt`.

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::convert::{StartArrays, matrix, rows, start_in, vector};
use super::interrupt::run_or_raise;
use crate::limit::diagonal::{self, Conditions, Limit, Options};

/// The limit from one start.
#[pyfunction]
#[pyo3(signature = (X, y, start, bounds, tol, n_jobs))]
#[allow(non_snake_case, reason = "the data are X in every paper")]
pub fn diagonal_limit<'py>(
    py: Python<'py>,
    X: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    start: StartArrays<'py>,
    bounds: bool,
    tol: f64,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let (x, y) = (rows(&X)?, y.as_slice()?);
    let start = start_in(&start, x.d())?;
    let options = Options { bounds, tol, ..Options::default() };
    let limit = run_or_raise(py, n_jobs, |stop| diagonal::limit(x, y, &start, &options, &|| stop()))?;
    let out = PyDict::new(py);
    out.set_item("beta", vector(py, limit.beta))?;
    out.set_item("multipliers", vector(py, limit.multipliers))?;
    out.set_item("error_bound", limit.error_bound.map(|b| vector(py, b)))?;
    out.set_item("backward_error", vector(py, limit.backward_error))?;
    out.set_item("n_iter", limit.n_iter)?;
    out.set_item("status", limit.status.name())?;
    conditions_out(&out, &limit.conditions)?;
    out.set_item("potential_value", limit.conditions.potential_value)?;
    Ok(out)
}

/// The limits from many starts.
#[pyfunction]
#[allow(non_snake_case, reason = "the data are X in every paper")]
pub fn diagonal_limit_path<'py>(
    py: Python<'py>,
    X: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    starts: Vec<StartArrays<'py>>,
    bounds: bool,
    tol: f64,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let (x, y) = (rows(&X)?, y.as_slice()?);
    let starts = starts.iter().map(|s| start_in(s, x.d())).collect::<PyResult<Vec<_>>>()?;
    let options = Options { bounds, tol, ..Options::default() };
    let limits = run_or_raise(py, n_jobs, |stop| diagonal::limit_path(x, y, &starts, &options, stop))?;
    let out = PyDict::new(py);
    let stack = |row: fn(&Limit) -> &[f64], columns: usize| {
        matrix(py, limits.iter().flat_map(|l| row(l).iter().copied()).collect(), limits.len(), columns)
    };
    let column = |value: fn(&Conditions) -> f64| vector(py, limits.iter().map(|l| value(&l.conditions)).collect());
    out.set_item("beta", stack(|l| &l.beta, x.d())?)?;
    out.set_item("multipliers", stack(|l| &l.multipliers, x.n())?)?;
    let bound = if bounds { Some(stack(|l| l.error_bound.as_deref().unwrap_or(&[]), x.d())?) } else { None };
    out.set_item("error_bound", bound)?;
    out.set_item("backward_error", stack(|l| &l.backward_error, x.n())?)?;
    out.set_item("potential_value", column(|c| c.potential_value))?;
    out.set_item("stationarity", column(|c| c.stationarity))?;
    out.set_item("feasibility", column(|c| c.feasibility))?;
    out.set_item("duality_gap", column(|c| c.duality_gap))?;
    let counts = limits.iter().map(|l| i64::try_from(l.n_iter).unwrap_or(i64::MAX)).collect();
    out.set_item("n_iter", PyArray1::from_vec(py, counts))?;
    out.set_item("status", PyList::new(py, limits.iter().map(|l| l.status.name()))?)?;
    Ok(out)
}

/// The optimality conditions at a β from elsewhere.
#[pyfunction]
#[allow(non_snake_case, reason = "the data are X in every paper")]
pub fn diagonal_check_kkt<'py>(
    py: Python<'py>,
    X: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    start: StartArrays<'py>,
    beta: PyReadonlyArray1<'py, f64>,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let (x, y, beta) = (rows(&X)?, y.as_slice()?, beta.as_slice()?);
    let start = start_in(&start, x.d())?;
    let report = run_or_raise(py, n_jobs, |stop| diagonal::check(x, y, &start, beta, &|| stop()))?;
    let out = PyDict::new(py);
    conditions_out(&out, &report.conditions)?;
    out.set_item("multipliers", vector(py, report.multipliers))?;
    out.set_item("error_bound", vector(py, report.error_bound))?;
    out.set_item("backward_error", vector(py, report.backward_error))?;
    Ok(out)
}

fn conditions_out(out: &Bound<'_, PyDict>, conditions: &Conditions) -> PyResult<()> {
    out.set_item("stationarity", conditions.stationarity)?;
    out.set_item("feasibility", conditions.feasibility)?;
    out.set_item("duality_gap", conditions.duality_gap)
}
