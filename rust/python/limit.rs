//! `diagonal_limit`, `diagonal_limit_path`, `diagonal_check_kkt`: in double-double where the low part of y is given.

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::convert::{StartArrays, double_doubles, matrix, rows, start_in, vector};
use super::interrupt::run_or_raise;
use crate::limit::diagonal::{self, Conditions, Limit, Options, double_double};
use crate::real::DoubleDouble;

/// The limit from one start.
#[pyfunction]
#[pyo3(signature = (X, y, start, bounds, tol, n_jobs, y_low = None))]
#[allow(non_snake_case, clippy::too_many_arguments, reason = "the data are X in every paper; one argument an option")]
pub fn diagonal_limit<'py>(
    py: Python<'py>,
    X: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    start: StartArrays<'py>,
    bounds: bool,
    tol: f64,
    n_jobs: usize,
    y_low: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (x, exact, y) = (rows(&X)?, exactly(&y, y_low.as_ref())?, y.as_slice()?);
    let start = start_in(&start, x.d())?;
    let options = Options { bounds, tol, ..Options::default() };
    let limit = run_or_raise(py, n_jobs, |stop| match &exact {
        Some(y) => double_double::limit(x, y, &start, &options, &|| stop()),
        None => diagonal::limit(x, y, &start, &options, &|| stop()),
    })?;
    limit_out(py, limit)
}

/// A limit of any diagonal network.
pub(super) fn limit_out(py: Python<'_>, limit: Limit) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    let low = limit.low.as_ref();
    out.set_item("beta_low", low.map(|low| vector(py, low.beta.clone())))?;
    out.set_item("multipliers_low", low.map(|low| vector(py, low.multipliers.clone())))?;
    out.set_item("potential_value_low", low.map(|low| low.potential_value))?;
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
#[pyo3(signature = (X, y, starts, bounds, tol, n_jobs, y_low = None))]
#[allow(non_snake_case, clippy::too_many_arguments, reason = "the data are X in every paper; one argument an option")]
pub fn diagonal_limit_path<'py>(
    py: Python<'py>,
    X: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    starts: Vec<StartArrays<'py>>,
    bounds: bool,
    tol: f64,
    n_jobs: usize,
    y_low: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (x, exact, y) = (rows(&X)?, exactly(&y, y_low.as_ref())?, y.as_slice()?);
    let starts = starts.iter().map(|s| start_in(s, x.d())).collect::<PyResult<Vec<_>>>()?;
    let options = Options { bounds, tol, ..Options::default() };
    let limits = run_or_raise(py, n_jobs, |stop| match &exact {
        Some(y) => double_double::limit_path(x, y, &starts, &options, stop),
        None => diagonal::limit_path(x, y, &starts, &options, stop),
    })?;
    let out = PyDict::new(py);
    let stack = |row: fn(&Limit) -> &[f64], columns: usize| {
        matrix(py, limits.iter().flat_map(|l| row(l).iter().copied()).collect(), limits.len(), columns)
    };
    let column = |value: fn(&Conditions) -> f64| vector(py, limits.iter().map(|l| value(&l.conditions)).collect());
    if exact.is_some() {
        let low = |l: &Limit| l.low.as_ref().map_or(0.0, |low| low.potential_value);
        out.set_item("beta_low", stack(|l| l.low.as_ref().map_or(&[], |low| &low.beta), x.d())?)?;
        out.set_item("multipliers_low", stack(|l| l.low.as_ref().map_or(&[], |low| &low.multipliers), x.n())?)?;
        out.set_item("potential_value_low", vector(py, limits.iter().map(low).collect()))?;
    } else {
        for name in ["beta_low", "multipliers_low", "potential_value_low"] {
            out.set_item(name, py.None())?;
        }
    }
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
#[pyo3(signature = (X, y, start, beta, n_jobs, y_low = None, beta_low = None))]
#[allow(non_snake_case, clippy::too_many_arguments, reason = "the data are X in every paper; one argument an option")]
pub fn diagonal_check_kkt<'py>(
    py: Python<'py>,
    X: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    start: StartArrays<'py>,
    beta: PyReadonlyArray1<'py, f64>,
    n_jobs: usize,
    y_low: Option<PyReadonlyArray1<'py, f64>>,
    beta_low: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (x, exact) = (rows(&X)?, (exactly(&y, y_low.as_ref())?, exactly(&beta, beta_low.as_ref())?));
    let (y, beta) = (y.as_slice()?, beta.as_slice()?);
    let start = start_in(&start, x.d())?;
    let report = run_or_raise(py, n_jobs, |stop| match &exact {
        (Some(y), Some(beta)) => double_double::check(x, y, &start, beta, &|| stop()),
        _ => diagonal::check(x, y, &start, beta, &|| stop()),
    })?;
    let out = PyDict::new(py);
    out.set_item("multipliers_low", report.multipliers_low.map(|low| vector(py, low)))?;
    conditions_out(&out, &report.conditions)?;
    out.set_item("multipliers", vector(py, report.multipliers))?;
    out.set_item("error_bound", vector(py, report.error_bound))?;
    out.set_item("backward_error", vector(py, report.backward_error))?;
    Ok(out)
}

/// The whole numbers, where their low part is given.
fn exactly(
    high: &PyReadonlyArray1<'_, f64>,
    low: Option<&PyReadonlyArray1<'_, f64>>,
) -> PyResult<Option<Vec<DoubleDouble>>> {
    low.map(|low| double_doubles(high, low)).transpose()
}

pub(super) fn conditions_out(out: &Bound<'_, PyDict>, conditions: &Conditions) -> PyResult<()> {
    out.set_item("stationarity", conditions.stationarity)?;
    out.set_item("feasibility", conditions.feasibility)?;
    out.set_item("duality_gap", conditions.duality_gap)
}
