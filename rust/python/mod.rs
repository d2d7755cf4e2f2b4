//! The Python binding: converts, releases the GIL, answers Ctrl-C, converts back. The only part that knows Python.

#![allow(clippy::needless_pass_by_value, reason = "Python hands arguments over by value")]

mod cancel;
mod certify;
mod convert;
mod depth;
mod double_double;
mod flow;
mod fully_connected;
mod interrupt;
mod leaky_relu;
mod limit;
mod matrix_factorization;
mod neuron_limit;
mod pools;
mod potential;
mod potential_double_double;
mod start;

use pyo3::prelude::*;

/// The compiled core of `implicit_bias`. Private: the public names are in the Python package.
#[pymodule]
mod _core {
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_export]
    use super::cancel::Cancellation;
    #[pymodule_export]
    use super::certify::diagonal_error_bound;
    #[pymodule_export]
    use super::depth::{depth_bregman, depth_check_kkt, depth_flow, depth_function, depth_limit, depth_potential};
    #[pymodule_export]
    use super::double_double::{double_double, log_scaled, read_double_double};
    #[pymodule_export]
    use super::flow::{diagonal_distance_bound, diagonal_flow};
    #[pymodule_export]
    use super::fully_connected::{fully_connected_flow, fully_connected_parameters, fully_connected_reach};
    #[pymodule_export]
    use super::leaky_relu::{leaky_relu_end, leaky_relu_flow, leaky_relu_parameters};
    #[pymodule_export]
    use super::limit::{diagonal_check_kkt, diagonal_limit, diagonal_limit_path};
    #[pymodule_export]
    use super::matrix_factorization::matrix_factorization_flow;
    #[pymodule_export]
    use super::neuron_limit::{
        neuron_check_kkt, neuron_limit, neuron_start, neuron_start_from_scale_shape, neuron_weights,
    };
    #[pymodule_export]
    use super::potential::{d2q_diagonal, diagonal_bregman, diagonal_potential, dq_diagonal, q_diagonal};
    #[pymodule_export]
    use super::potential::{d2q_neuron, dq_neuron, neuron_bregman, neuron_potential, q_neuron};
    #[pymodule_export]
    use super::potential_double_double::{diagonal_bregman_double_double, diagonal_potential_double_double};
    #[pymodule_export]
    use super::potential_double_double::{neuron_bregman_double_double, neuron_potential_double_double};
    #[pymodule_export]
    use super::start::{log_ab_from_kappa, log_ab_from_scale_shape, log_ab_from_weights};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
