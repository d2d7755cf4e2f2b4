//! Starts: weights, scale and shape, or κ, to ln A and ln B in double-double.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use super::convert::{double_doubles, start_out};
use crate::potential::{Start, Weights};

type FourArrays = [Py<PyArray1<f64>>; 4];

/// High and low parts of an array.
type Pair<'py> = (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>);

/// A start from `u₊, v₊, u₋, v₋` and the logarithm of their unit.
#[pyfunction]
pub fn log_ab_from_weights<'py>(py: Python<'py>, weights: [Pair<'py>; 5]) -> PyResult<FourArrays> {
    let mut columns = Vec::with_capacity(5);
    for (high, low) in &weights {
        columns.push(double_doubles(high, low)?);
    }
    let each = (0..columns[0].len()).map(|i| Weights {
        u_plus: columns[0][i],
        v_plus: columns[1][i],
        u_minus: columns[2][i],
        v_minus: columns[3][i],
        log_magnitude: columns[4][i],
    });
    Ok(start_out(py, &Start::from_weights(each)))
}

/// An unbiased start from ln scale and shape.
#[pyfunction]
pub fn log_ab_from_scale_shape<'py>(py: Python<'py>, log_scale: Pair<'py>, shape: Pair<'py>) -> PyResult<FourArrays> {
    let log_scale = double_doubles(&log_scale.0, &log_scale.1)?;
    Ok(start_out(py, &Start::from_scale_shape(log_scale, double_doubles(&shape.0, &shape.1)?)))
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
