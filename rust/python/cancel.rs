//! Stopping the calls of a thread from another one.
//!
//! Signals reach only the thread that Python calls main. A sweep computes on others, so it is the sweep that hears a
//! Ctrl-C and has to tell them.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyTuple;

thread_local! {
    /// The cancellation that calls of this thread obey.
    static OBEYED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// A flag that ends the computations of every thread that runs under it.
#[pyclass(frozen, module = "implicit_bias._core")]
pub struct Cancellation(Arc<AtomicBool>);

#[pymethods]
impl Cancellation {
    #[new]
    fn new() -> Self {
        Self(Arc::default())
    }

    /// End them: each raises `KeyboardInterrupt` or returns what it has, as for a Ctrl-C.
    fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether `cancel` was called.
    #[getter]
    fn cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// `function(*args)`, every computation of which obeys this cancellation.
    #[pyo3(signature = (function, /, *args))]
    fn call<'py>(&self, function: &Bound<'py, PyAny>, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let outer = OBEYED.replace(Some(Arc::clone(&self.0)));
        let outcome = function.call1(args);
        OBEYED.set(outer);
        outcome
    }
}

/// The flag that the calling thread obeys, if any.
pub fn obeyed() -> Option<Arc<AtomicBool>> {
    OBEYED.with_borrow(Clone::clone)
}
