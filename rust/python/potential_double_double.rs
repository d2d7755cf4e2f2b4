//! Potentials in double-double: arrays of high and low parts in and out.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::convert::{Parts, StartArrays, double_doubles, parts, start_in};
use crate::potential::double_double::diagonal::HyperbolicEntropy;
use crate::potential::double_double::neuron::NeuronPotential;
use crate::real::{DoubleDouble, Real};

/// High and low parts, of one length.
type PartsIn<'py> = (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>);

/// `D_Q(·, β(0))`: its "value", an array of one, or its "gradient" or "hessian" at every coordinate.
#[pyfunction]
pub fn diagonal_potential_double_double<'py>(
    py: Python<'py>,
    what: &str,
    beta: PartsIn<'py>,
    start: StartArrays<'py>,
) -> PyResult<Parts> {
    let beta = numbers(&beta)?;
    let entropies = entropies(&start, beta.len())?;
    let each = |f: fn(HyperbolicEntropy, DoubleDouble) -> DoubleDouble| -> Vec<DoubleDouble> {
        entropies.iter().zip(&beta).map(|(q, b)| f(*q, *b)).collect()
    };
    let values = match what {
        "value" => vec![each(HyperbolicEntropy::value).into_iter().fold(DoubleDouble::ZERO, |sum, q| sum + q)],
        "gradient" => each(HyperbolicEntropy::gradient),
        "hessian" => each(HyperbolicEntropy::hessian),
        _ => return Err(unknown(what)),
    };
    Ok(parts(py, &values))
}

/// `D_Q(β, β₀)`.
#[pyfunction]
pub fn diagonal_bregman_double_double(
    beta: PartsIn<'_>,
    beta0: PartsIn<'_>,
    start: StartArrays<'_>,
) -> PyResult<(f64, f64)> {
    let (beta, beta0) = (numbers(&beta)?, numbers(&beta0)?);
    let pairs = entropies(&start, beta.len())?.into_iter().zip(beta.iter().zip(&beta0));
    Ok(pair(pairs.fold(DoubleDouble::ZERO, |sum, (q, (b, b0))| sum + q.bregman(*b, *b0))))
}

/// `Q` of one neuron: its "value", an array of one, its "gradient", or its "hessian" row by row.
#[pyfunction]
pub fn neuron_potential_double_double<'py>(
    py: Python<'py>,
    what: &str,
    beta: PartsIn<'py>,
    delta: (f64, f64),
    linear: Option<PartsIn<'py>>,
) -> PyResult<Parts> {
    let beta = numbers(&beta)?;
    let potential = neuron(delta, linear.as_ref().map(numbers).transpose()?);
    let values = match what {
        "value" => vec![potential.value(&beta)],
        "gradient" => potential.gradient(&beta),
        "hessian" => potential.hessian(&beta),
        _ => return Err(unknown(what)),
    };
    Ok(parts(py, &values))
}

/// `D_Q(β, β₀)` of one neuron.
#[pyfunction]
pub fn neuron_bregman_double_double(beta: PartsIn<'_>, beta0: PartsIn<'_>, delta: (f64, f64)) -> PyResult<(f64, f64)> {
    Ok(pair(neuron(delta, None).bregman(&numbers(&beta)?, &numbers(&beta0)?)))
}

fn numbers(parts: &PartsIn<'_>) -> PyResult<Vec<DoubleDouble>> {
    double_doubles(&parts.0, &parts.1)
}

fn pair(value: DoubleDouble) -> (f64, f64) {
    (value.to_f64(), value.low())
}

fn entropies(arrays: &StartArrays<'_>, d: usize) -> PyResult<Vec<HyperbolicEntropy>> {
    let start = start_in(arrays, d)?;
    let each = start.log_a.iter().zip(&start.log_b);
    Ok(each.map(|(a, b)| HyperbolicEntropy { log_a: *a, log_b: *b }).collect())
}

fn neuron((high, low): (f64, f64), linear: Option<Vec<DoubleDouble>>) -> NeuronPotential {
    NeuronPotential { delta: DoubleDouble::from_parts(high, low), linear }
}

fn unknown(what: &str) -> PyErr {
    PyValueError::new_err(format!("what must be 'value', 'gradient' or 'hessian': got {what:?}"))
}
