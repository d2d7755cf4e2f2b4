//! Work without the GIL on a pool of threads, while the calling thread listens for Ctrl-C and says how far it is.
//!
//! Signals reach only the thread that Python calls main, so it must not be the one that computes: the work runs in a pool
//! and polls a flag; the caller waits for it, waking often enough that a Ctrl-C is answered within [`LISTEN`]. A callback
//! for progress is called from there too: it may print, draw and raise like any other code of that thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;

use super::cancel::obeyed;
use super::pools::Lease;
use crate::flow::{Monitor, Progress};

/// How long a Ctrl-C can go unheard.
const LISTEN: Duration = Duration::from_millis(20);
/// Least time between two calls of a callback: ten a second are enough for the eye, and cost the work nothing.
const REPORT: Duration = Duration::from_millis(100);

/// Between the work and the thread that waits for it.
#[derive(Default)]
struct Desk {
    stop: AtomicBool,
    /// The cancellation that the calling thread obeys, if any.
    cancelled: Option<Arc<AtomicBool>>,
    /// The last that was said, until it is passed on.
    news: Mutex<Option<Progress>>,
}

impl Monitor for Desk {
    fn interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.is_cancelled()
    }

    fn progress(&self, now: Progress) {
        *self.news.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }
}

impl Desk {
    /// True if another thread has ended what this one computes.
    fn is_cancelled(&self) -> bool {
        self.cancelled.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// What is new since the last call.
    fn take_news(&self) -> Option<Progress> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Who is told of progress, and when last.
struct Listener<'a> {
    callback: Option<&'a Py<PyAny>>,
    last: Instant,
}

impl Listener<'_> {
    /// Tell it, unless that was done just now. Whatever it raises ends the work.
    fn tell(&mut self, py: Python<'_>, desk: &Desk, at_once: bool) -> PyResult<()> {
        let Some(callback) = self.callback else { return Ok(()) };
        if !at_once && self.last.elapsed() < REPORT {
            return Ok(());
        }
        let Some(Progress { time, residual, steps, fraction }) = desk.take_news() else { return Ok(()) };
        self.last = Instant::now();
        callback.call1(py, (time, residual, steps, fraction)).map(drop)
    }
}

/// Run `work` with `n_jobs` threads. It is handed a monitor, whose progress goes to `callback(time, residual, steps,
/// fraction)` at most ten times a second and once at the end. The second value is what Python said when it interrupted
/// the work, be it Ctrl-C or the callback; `work` has then returned what it had.
pub fn run_reporting<T: Send>(
    py: Python<'_>,
    n_jobs: usize,
    callback: Option<&Py<PyAny>>,
    work: impl FnOnce(&(dyn Monitor + Sync)) -> T + Send,
) -> PyResult<(T, Option<PyErr>)> {
    let lease = Lease::new(n_jobs)?;
    let pool = lease.pool();
    let desk = Desk { cancelled: obeyed(), ..Desk::default() };
    let monitor: &(dyn Monitor + Sync) = &desk;
    let mut listener = Listener { callback, last: Instant::now() };
    let mut interruption = None;
    let outcome = py.detach(|| {
        let (done, wait) = sync_channel(1);
        pool.in_place_scope(|scope| {
            scope.spawn(move |_| {
                // A panic drops the sender, which ends the wait and is raised by the scope.
                // The receiver outlives the scope: sending cannot fail while it waits.
                let _ = done.send(work(monitor));
            });
            loop {
                match wait.recv_timeout(LISTEN) {
                    Ok(outcome) => return Some(outcome),
                    Err(RecvTimeoutError::Disconnected) => return None,
                    Err(RecvTimeoutError::Timeout) if interruption.is_none() => {
                        let heard = |py: Python<'_>| py.check_signals().and_then(|()| listener.tell(py, &desk, false));
                        interruption = Python::attach(heard).err();
                        desk.stop.store(interruption.is_some(), Ordering::Relaxed);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        })
    });
    let outcome = outcome.ok_or_else(|| PyRuntimeError::new_err("the computation ended without a result"))?;
    if interruption.is_none() {
        interruption = listener.tell(py, &desk, true).err();
    }
    if interruption.is_none() && desk.is_cancelled() {
        interruption = Some(PyKeyboardInterrupt::new_err("cancelled"));
    }
    Ok((outcome, interruption))
}

/// Run work whose partial result is worth nothing, and that only asks now and then whether it should stop: an
/// interruption is raised.
pub fn run_or_raise<T: Send>(
    py: Python<'_>,
    n_jobs: usize,
    work: impl FnOnce(&(dyn Fn() -> bool + Sync)) -> T + Send,
) -> PyResult<T> {
    match run_reporting(py, n_jobs, None, |monitor| work(&|| monitor.interrupted()))? {
        (outcome, None) => Ok(outcome),
        (_, Some(interruption)) => Err(interruption),
    }
}
