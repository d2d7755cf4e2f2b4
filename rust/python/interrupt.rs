//! Work without the GIL on a pool of threads, while the calling thread listens for Ctrl-C.
//!
//! Signals reach only the thread that Python calls main, so it must not be the one that computes: the work runs in a pool
//! and polls a flag; the caller waits for it, waking often enough that a Ctrl-C is answered within [`LISTEN`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;

use super::cancel::obeyed;
use super::pools::Lease;

/// How long a Ctrl-C can go unheard.
const LISTEN: Duration = Duration::from_millis(20);

/// Run `work` with `n_jobs` threads. It is handed a question to ask now and then: should it stop? The second value is
/// what Python said when it was interrupted; `work` has then returned what it had.
pub fn run<T: Send>(
    py: Python<'_>,
    n_jobs: usize,
    work: impl FnOnce(&(dyn Fn() -> bool + Sync)) -> T + Send,
) -> PyResult<(T, Option<PyErr>)> {
    let lease = Lease::new(n_jobs)?;
    let pool = lease.pool();
    let stop = AtomicBool::new(false);
    let cancelled = obeyed();
    let cancelled = || cancelled.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
    let asked: &(dyn Fn() -> bool + Sync) = &|| stop.load(Ordering::Relaxed) || cancelled();
    let mut interruption = None;
    let outcome = py.detach(|| {
        let (done, wait) = sync_channel(1);
        pool.in_place_scope(|scope| {
            scope.spawn(move |_| {
                // A panic drops the sender, which ends the wait and is raised by the scope.
                // The receiver outlives the scope: sending cannot fail while it waits.
                let _ = done.send(work(asked));
            });
            loop {
                match wait.recv_timeout(LISTEN) {
                    Ok(outcome) => return Some(outcome),
                    Err(RecvTimeoutError::Disconnected) => return None,
                    Err(RecvTimeoutError::Timeout) if interruption.is_none() => {
                        interruption = signal();
                        stop.store(interruption.is_some(), Ordering::Relaxed);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        })
    });
    let outcome = outcome.ok_or_else(|| PyRuntimeError::new_err("the computation ended without a result"))?;
    if interruption.is_none() && cancelled() {
        interruption = Some(PyKeyboardInterrupt::new_err("cancelled"));
    }
    Ok((outcome, interruption))
}

/// [`run`] for work whose partial result is worth nothing: an interruption is raised.
pub fn run_or_raise<T: Send>(
    py: Python<'_>,
    n_jobs: usize,
    work: impl FnOnce(&(dyn Fn() -> bool + Sync)) -> T + Send,
) -> PyResult<T> {
    match run(py, n_jobs, work)? {
        (outcome, None) => Ok(outcome),
        (_, Some(interruption)) => Err(interruption),
    }
}

/// What Python's signal handlers raise, if a signal has come.
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method is bound to one lifetime, the closure to any"
)]
fn signal() -> Option<PyErr> {
    Python::attach(|py| py.check_signals()).err()
}
