//! Elementwise potentials: arrays of one length in, arrays out.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use super::convert::{StartArrays, start_in, vector};
use crate::potential::{HyperbolicEntropy, hyperbolic_entropy, neuron};
use crate::real::Real;

type Array = Py<PyArray1<f64>>;

/// Value, gradient and second derivative of `D_Q(·, β(0))` at every coordinate.
#[pyfunction]
pub fn diagonal_potential<'py>(
    py: Python<'py>,
    beta: PyReadonlyArray1<'py, f64>,
    start: StartArrays<'py>,
) -> PyResult<[Array; 3]> {
    let beta = beta.as_slice()?;
    let entropies = entropies(&start, beta.len())?;
    let each =
        |f: fn(HyperbolicEntropy, f64) -> f64| vector(py, entropies.iter().zip(beta).map(|(q, b)| f(*q, *b)).collect());
    Ok([each(HyperbolicEntropy::value), each(gradient), each(hessian)])
}

/// `D_Q(β, β₀)` at every coordinate.
#[pyfunction]
pub fn diagonal_bregman<'py>(
    py: Python<'py>,
    beta: PyReadonlyArray1<'py, f64>,
    beta0: PyReadonlyArray1<'py, f64>,
    start: StartArrays<'py>,
) -> PyResult<Array> {
    let (beta, beta0) = (beta.as_slice()?, beta0.as_slice()?);
    let entropies = entropies(&start, beta.len())?;
    let divergence = |(q, (b, b0)): (&HyperbolicEntropy, (&f64, &f64))| bregman(*q, *b, *b0);
    Ok(vector(py, entropies.iter().zip(beta.iter().zip(beta0)).map(divergence).collect()))
}

/// Functions of two numbers, over arrays of one length.
macro_rules! elementwise {
    ($($(#[$doc:meta])* $name:ident($parameter:ident) = $function:path;)*) => {$(
        $(#[$doc])*
        #[pyfunction]
        pub fn $name<'py>(
            py: Python<'py>,
            x: PyReadonlyArray1<'py, f64>,
            $parameter: PyReadonlyArray1<'py, f64>,
        ) -> PyResult<Array> {
            let pairs = x.as_slice()?.iter().zip($parameter.as_slice()?);
            Ok(vector(py, pairs.map(|(x, parameter)| $function(*x, *parameter)).collect()))
        }
    )*};
}

elementwise! {
    /// `q_κ(x)`.
    q_diagonal(log_kappa) = hyperbolic_entropy::value;
    /// `q_κ'(x)`.
    dq_diagonal(log_kappa) = hyperbolic_entropy::gradient;
    /// `q_κ''(x)`.
    d2q_diagonal(log_kappa) = hyperbolic_entropy::hessian;
    /// `q_δ(x)`.
    q_neuron(delta) = neuron::value;
    /// `q_δ'(x)`.
    dq_neuron(delta) = neuron::gradient;
    /// `q_δ''(x)`.
    d2q_neuron(delta) = neuron::hessian;
}

/// `q_δ(x)`, `q_δ'(x)`, `q_δ''(x)` and `q_δ'(x)/x` of one norm.
#[pyfunction]
pub fn neuron_potential(x: f64, delta: f64) -> (f64, f64, f64, f64) {
    let (value, gradient) = (neuron::value(x, delta), neuron::gradient(x, delta));
    (value, gradient, neuron::hessian(x, delta), neuron::hessian_across(x, delta))
}

/// `q_δ(x) − q_δ(x₀) − q_δ'(x₀)(x − x₀)` for `gap = x − x₀`.
#[pyfunction]
pub fn neuron_bregman(x: f64, x0: f64, gap: f64, delta: f64) -> f64 {
    neuron::bregman(x, x0, gap, delta)
}

fn entropies(arrays: &StartArrays<'_>, d: usize) -> PyResult<Vec<HyperbolicEntropy>> {
    let start = start_in(arrays, d)?;
    let each = start.log_a.iter().zip(&start.log_b);
    Ok(each.map(|(a, b)| HyperbolicEntropy { log_a: a.to_f64(), log_b: b.to_f64() }).collect())
}

/// Outside of the domain of a one-sided coordinate the gradient points back into it, as the derivative's limit does.
fn gradient(q: HyperbolicEntropy, beta: f64) -> f64 {
    let g = q.gradient(beta);
    if !g.is_nan() {
        return g;
    }
    match (q.log_a == f64::NEG_INFINITY, q.log_b == f64::NEG_INFINITY) {
        (true, true) if beta == 0.0 => 0.0,
        _ => f64::INFINITY.copysign(beta),
    }
}

fn hessian(q: HyperbolicEntropy, beta: f64) -> f64 {
    let h = q.hessian(beta);
    if h.is_nan() { f64::INFINITY } else { h }
}

fn bregman(q: HyperbolicEntropy, beta: f64, beta0: f64) -> f64 {
    if beta == beta0 {
        return 0.0;
    }
    if q.value(beta).is_infinite() || !q.gradient(beta0).is_finite() {
        return f64::INFINITY;
    }
    hyperbolic_entropy::bregman(beta, beta0, q.log_kappa())
}
