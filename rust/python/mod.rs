//! The Python binding: converts, releases the GIL, answers Ctrl-C, converts back. The only part that knows Python.

use pyo3::prelude::*;

/// The compiled core of `implicit_bias`. Private: the public names are in the Python package.
#[pymodule]
mod _core {}
