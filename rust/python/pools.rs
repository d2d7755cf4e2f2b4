//! The thread pools of this process: who computes, not what.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The process and the number of threads. Threads do not survive a fork, so a child makes pools of its own.
type Key = (u32, usize);

/// Pools that were made and that a call may take. Locked with the GIL held only: a fork, which Python does with the GIL
/// held as well, never finds it locked by a thread that the child does not have.
type Pools = Mutex<HashMap<Key, Vec<Arc<ThreadPool>>>>;

/// A pool for the time of one call.
///
/// Calls that ask for every core share one pool: more threads than cores help nobody. Calls that ask for fewer were
/// counted by their caller, who means them to run side by side: each has a pool of its own, handed on when it is done.
pub struct Lease {
    key: Key,
    pool: Arc<ThreadPool>,
    shared: bool,
}

impl Lease {
    /// A pool of `n_jobs` threads.
    pub fn new(n_jobs: usize) -> PyResult<Self> {
        let key = (std::process::id(), n_jobs);
        let shared = n_jobs > 1 && n_jobs >= std::thread::available_parallelism().map_or(1, NonZero::get);
        let mut pools = pools();
        let idle = pools.entry(key).or_default();
        let found = if shared { idle.last().map(Arc::clone) } else { idle.pop() };
        let pool = if let Some(pool) = found {
            pool
        } else {
            let pool = Arc::new(made(n_jobs)?);
            if shared {
                idle.push(Arc::clone(&pool));
            }
            pool
        };
        Ok(Self { key, pool, shared })
    }

    /// The pool.
    pub fn pool(&self) -> &ThreadPool {
        &self.pool
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.shared {
            pools().entry(self.key).or_default().push(Arc::clone(&self.pool));
        }
    }
}

fn pools() -> MutexGuard<'static, HashMap<Key, Vec<Arc<ThreadPool>>>> {
    static POOLS: OnceLock<Pools> = OnceLock::new();
    POOLS.get_or_init(Pools::default).lock().unwrap_or_else(PoisonError::into_inner)
}

fn made(n_jobs: usize) -> PyResult<ThreadPool> {
    let build = ThreadPoolBuilder::new().num_threads(n_jobs).build();
    build.map_err(|e| PyRuntimeError::new_err(format!("cannot start {n_jobs} threads: {e}")))
}
