//! `neuron_start`, `neuron_start_from_scale_shape`, `neuron_limit`, `neuron_check_kkt`: one linear neuron to thirty digits.

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::convert::{NeuronArrays, double_doubles, neurons, rows, split, vector};
use super::interrupt::run_or_raise;
use crate::limit::neuron::{self, Neuron, Report};
use crate::linalg::Rows;
use crate::real::{DoubleDouble, Real};

/// w(0) as (high, low), δ as (high, low).
type NeuronOut = (Py<PyArray1<f64>>, Py<PyArray1<f64>>, f64, f64);
type NeuronIn<'py> = (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>, f64, f64);

/// The one neuron that weights are, `None` where they are none.
#[pyfunction]
pub fn neuron_start<'py>(py: Python<'py>, start: NeuronArrays<'py>) -> PyResult<Option<NeuronOut>> {
    let given = neurons(&start)?;
    let w = Rows::from_parts(given.w, given.a.len(), given.w.len() / given.a.len().max(1));
    Ok(Neuron::from_weights(given.a, w, given.log_magnitude).map(|neuron| out(py, &neuron)))
}

/// One neuron by its scale, or the logarithm of it, and shape.
#[pyfunction]
pub fn neuron_start_from_scale_shape<'py>(
    py: Python<'py>,
    orientation: PyReadonlyArray1<'py, f64>,
    scale: f64,
    is_logarithm: bool,
    shape: f64,
) -> PyResult<NeuronOut> {
    let scale = DoubleDouble::from_f64(scale);
    let scale = if is_logarithm { scale.exp() } else { scale };
    Ok(out(py, &Neuron::from_scale_shape(orientation.as_slice()?, scale, shape)))
}

/// The end of its flow, for the sign with which its outer weight ends.
#[pyfunction]
#[allow(non_snake_case, reason = "the data are X in every paper")]
pub fn neuron_limit<'py>(
    py: Python<'py>,
    X: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    y_low: PyReadonlyArray1<'py, f64>,
    start: NeuronIn<'py>,
    sign: f64,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let (x, y, start) = (rows(&X)?, double_doubles(&y, &y_low)?, neuron_in(&start)?);
    let (beta, report) = run_or_raise(py, n_jobs, |_| neuron::limit(x, &y, &start, sign))?;
    let found = report_out(py, report)?;
    split(&found, "beta", &beta)?;
    Ok(found)
}

/// The optimality conditions at a β from elsewhere.
#[pyfunction]
#[allow(non_snake_case, clippy::too_many_arguments, reason = "the data are X in every paper; pairs of arrays")]
pub fn neuron_check_kkt<'py>(
    py: Python<'py>,
    X: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    y_low: PyReadonlyArray1<'py, f64>,
    start: NeuronIn<'py>,
    sign: f64,
    beta: PyReadonlyArray1<'py, f64>,
    beta_low: PyReadonlyArray1<'py, f64>,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let (x, y, start) = (rows(&X)?, double_doubles(&y, &y_low)?, neuron_in(&start)?);
    let beta = double_doubles(&beta, &beta_low)?;
    let report = run_or_raise(py, n_jobs, |_| neuron::check(x, &y, &start, sign, &beta))?;
    report_out(py, report)
}

fn out(py: Python<'_>, neuron: &Neuron) -> NeuronOut {
    let (high, low) = neuron.w.iter().map(|w| (w.to_f64(), w.low())).unzip();
    (vector(py, high), vector(py, low), neuron.delta.to_f64(), neuron.delta.low())
}

fn neuron_in(arrays: &NeuronIn<'_>) -> PyResult<Neuron> {
    let delta = DoubleDouble::from_parts(arrays.2, arrays.3);
    Ok(Neuron { w: double_doubles(&arrays.0, &arrays.1)?, delta })
}

fn report_out(py: Python<'_>, report: Report) -> PyResult<Bound<'_, PyDict>> {
    let found = PyDict::new(py);
    split(&found, "multipliers", &report.multipliers)?;
    found.set_item("off", vector(py, report.off))?;
    found.set_item("stationarity", report.stationarity)?;
    found.set_item("residual", vector(py, report.residual))?;
    found.set_item("backward_error", vector(py, report.backward_error))?;
    found.set_item("potential_value", report.potential_value.to_f64())?;
    found.set_item("potential_value_low", report.potential_value.low())?;
    found.set_item("reachable", report.reachable)?;
    Ok(found)
}
