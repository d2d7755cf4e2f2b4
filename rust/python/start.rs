//! Starts: weights, scale and shape, or κ, to ln A and ln B in double-double.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use super::convert::{double_doubles, start_out};
use crate::potential::{Start, Weights};

type FourArrays = [Py<PyArray1<f64>>; 4];

/// A start from its weights.
#[pyfunction]
pub fn log_ab_from_weights<'py>(
    py: Python<'py>,
    u_plus: PyReadonlyArray1<'py, f64>,
    v_plus: PyReadonlyArray1<'py, f64>,
    u_minus: PyReadonlyArray1<'py, f64>,
    v_minus: PyReadonlyArray1<'py, f64>,
    log_magnitude: PyReadonlyArray1<'py, f64>,
) -> PyResult<FourArrays> {
    let plus = u_plus.as_slice()?.iter().zip(v_plus.as_slice()?);
    let minus = u_minus.as_slice()?.iter().zip(v_minus.as_slice()?);
    let weights =
        plus.zip(minus).zip(log_magnitude.as_slice()?).map(|(((u_plus, v_plus), (u_minus, v_minus)), log)| Weights {
            u_plus: *u_plus,
            v_plus: *v_plus,
            u_minus: *u_minus,
            v_minus: *v_minus,
            log_magnitude: *log,
        });
    Ok(start_out(py, &Start::from_weights(weights)))
}

/// An unbiased start from ln scale and shape.
#[pyfunction]
pub fn log_ab_from_scale_shape<'py>(
    py: Python<'py>,
    log_scale_high: PyReadonlyArray1<'py, f64>,
    log_scale_low: PyReadonlyArray1<'py, f64>,
    shape: PyReadonlyArray1<'py, f64>,
) -> PyResult<FourArrays> {
    let log_scale = double_doubles(&log_scale_high, &log_scale_low)?;
    Ok(start_out(py, &Start::from_scale_shape(log_scale, shape.as_slice()?.iter().copied())))
}

/// A start from ln κ and β(0).
#[pyfunction]
pub fn log_ab_from_kappa<'py>(
    py: Python<'py>,
    log_kappa_high: PyReadonlyArray1<'py, f64>,
    log_kappa_low: PyReadonlyArray1<'py, f64>,
    beta0_high: PyReadonlyArray1<'py, f64>,
    beta0_low: PyReadonlyArray1<'py, f64>,
) -> PyResult<FourArrays> {
    let log_kappa = double_doubles(&log_kappa_high, &log_kappa_low)?;
    Ok(start_out(py, &Start::from_kappa(log_kappa, double_doubles(&beta0_high, &beta0_low)?)))
}
