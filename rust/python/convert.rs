//! Between arrays of Python and slices.

use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::flow::Neurons;
use crate::linalg::Rows;
use crate::potential::Start;
use crate::real::{DoubleDouble, Real};

/// A start as Python holds it, a tuple of four arrays: ln A and ln B, each as (high, low).
pub type StartArrays<'py> =
    (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>);
/// The weights of a network, a tuple of five arrays: u₊, v₊, u₋, v₋ and the logarithm of their unit.
pub type WeightArrays<'py> = (
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
);

/// The weights of a network of neurons as Python holds them: a (m), W (m × d) and the logarithm of their unit.
pub type NeuronArrays<'py> = (PyReadonlyArray1<'py, f64>, PyReadonlyArray2<'py, f64>, f64);

/// The start of a network of neurons.
pub fn neurons<'a>(start: &'a NeuronArrays<'_>) -> PyResult<Neurons<'a>> {
    Ok(Neurons::new(start.0.as_slice()?, start.1.as_slice()?, start.2))
}

/// Weights at the times of some rows: a (T × m) and W (T × m × d).
pub type WeightRows = (Py<PyArray2<f64>>, Py<PyArray3<f64>>);

/// Their arrays, for `count` rows of `m` neurons.
pub fn weights_out(py: Python<'_>, a: Vec<f64>, w: Vec<f64>, count: usize, m: usize, d: usize) -> PyResult<WeightRows> {
    Ok((matrix(py, a, count, m)?, PyArray1::from_vec(py, w).reshape([count, m, d])?.unbind()))
}

/// A C-contiguous matrix as rows.
pub fn rows<'a>(x: &'a PyReadonlyArray2<'_, f64>) -> PyResult<Rows<'a>> {
    let [n, d] = [x.shape()[0], x.shape()[1]];
    Rows::new(x.as_slice()?, n, d).ok_or_else(|| PyValueError::new_err("X must be C-contiguous"))
}

/// Double-double numbers from their parts.
pub fn double_doubles(
    high: &PyReadonlyArray1<'_, f64>,
    low: &PyReadonlyArray1<'_, f64>,
) -> PyResult<Vec<DoubleDouble>> {
    Ok(high.as_slice()?.iter().zip(low.as_slice()?).map(|(h, l)| DoubleDouble::from_parts(*h, *l)).collect())
}

/// A start from its four arrays, one entry a coordinate.
pub fn start_in(arrays: &StartArrays<'_>, d: usize) -> PyResult<Start> {
    let start = Start { log_a: double_doubles(&arrays.0, &arrays.1)?, log_b: double_doubles(&arrays.2, &arrays.3)? };
    if start.log_a.len() == d && start.log_b.len() == d {
        return Ok(start);
    }
    Err(PyValueError::new_err(format!("a start of {} coordinates for {d} features", start.log_a.len())))
}

/// The four arrays of a start.
pub fn start_out(py: Python<'_>, start: &Start) -> [Py<PyArray1<f64>>; 4] {
    let ((a_high, a_low), (b_high, b_low)) = (parts(py, &start.log_a), parts(py, &start.log_b));
    [a_high, a_low, b_high, b_low]
}

/// The high and the low parts of double-double numbers.
pub type Parts = (Py<PyArray1<f64>>, Py<PyArray1<f64>>);

/// The two arrays of some numbers.
pub fn parts(py: Python<'_>, values: &[DoubleDouble]) -> Parts {
    (vector(py, values.iter().map(|v| v.to_f64()).collect()), vector(py, values.iter().map(|v| v.low()).collect()))
}

/// High and low parts of `values`, as `name` and `<name>_low`.
pub fn split(out: &Bound<'_, PyDict>, name: &str, values: &[DoubleDouble]) -> PyResult<()> {
    let (high, low) = parts(out.py(), values);
    out.set_item(name, high)?;
    out.set_item(format!("{name}_low"), low)
}

/// A new array.
pub fn vector(py: Python<'_>, values: Vec<f64>) -> Py<PyArray1<f64>> {
    PyArray1::from_vec(py, values).unbind()
}

/// A new array of `rows` rows of `columns` entries.
pub fn matrix(py: Python<'_>, values: Vec<f64>, rows: usize, columns: usize) -> PyResult<Py<PyArray2<f64>>> {
    Ok(PyArray1::from_vec(py, values).reshape([rows, columns])?.unbind())
}
