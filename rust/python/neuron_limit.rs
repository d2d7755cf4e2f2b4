//! `neuron_start`, `neuron_start_from_scale_shape`, `neuron_weights`, `neuron_limit`, `neuron_check_kkt`: one linear neuron
//! to thirty digits.

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::convert::{NeuronArrays, Parts, double_doubles, parts, rows, split, vector};
use super::interrupt::run_or_raise;
use crate::limit::neuron::{self, Neuron, Report};
use crate::real::{DoubleDouble, Real, Scaled};

/// w(0) as (high, low), δ as (high, low).
type NeuronOut = (Py<PyArray1<f64>>, Py<PyArray1<f64>>, f64, f64);
type NeuronIn<'py> = (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>, f64, f64);

/// The one neuron that weights are, `None` where they are none: a, W (m × d) and the logarithm of their unit, and the same
/// of what binary64 leaves out of them.
#[pyfunction]
#[allow(non_snake_case, reason = "the weights are W in every paper")]
pub fn neuron_start<'py>(
    py: Python<'py>,
    start: NeuronArrays<'py>,
    a_low: PyReadonlyArray1<'py, f64>,
    W_low: PyReadonlyArray2<'py, f64>,
    log_magnitude_low: f64,
) -> PyResult<Option<NeuronOut>> {
    let a = double_doubles(&start.0, &a_low)?;
    let w = start.1.as_slice()?.iter().zip(W_low.as_slice()?);
    let w: Vec<_> = w.map(|(high, low)| DoubleDouble::from_parts(*high, *low)).collect();
    let log_magnitude = DoubleDouble::from_parts(start.2, log_magnitude_low);
    Ok(Neuron::from_weights(&a, &w, log_magnitude).map(|neuron| out(py, &neuron)))
}

type Number = (f64, f64);

/// One neuron by its scale, or the logarithm of it, and shape.
#[pyfunction]
pub fn neuron_start_from_scale_shape<'py>(
    py: Python<'py>,
    orientation: (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>),
    scale: Number,
    is_logarithm: bool,
    shape: Number,
) -> PyResult<NeuronOut> {
    let scale = scale_in(scale, is_logarithm);
    let orientation = double_doubles(&orientation.0, &orientation.1)?;
    Ok(out(py, &Neuron::from_scale_shape(&orientation, scale, DoubleDouble::from_parts(shape.0, shape.1))))
}

/// Its weights: |a| as (high, low), w as (high, low).
#[pyfunction]
pub fn neuron_weights<'py>(
    py: Python<'py>,
    orientation: (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>),
    scale: Number,
    shape: Number,
) -> PyResult<(Number, Parts)> {
    let orientation = double_doubles(&orientation.0, &orientation.1)?;
    let shape = DoubleDouble::from_parts(shape.0, shape.1);
    let (a, w) = neuron::weights(&orientation, scale_in(scale, false), shape);
    Ok(((a.to_f64(), a.low()), parts(py, &w)))
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

fn scale_in(scale: Number, is_logarithm: bool) -> Scaled {
    let scale = DoubleDouble::from_parts(scale.0, scale.1);
    if is_logarithm { Scaled::exp(scale) } else { Scaled::from(scale) }
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
