//! What flows: one module a model, each a right-hand side and its Jacobian in reduced coordinates.

pub mod diagonal;
mod monitor;
mod observable;
mod outcome;

pub use monitor::{Monitor, Progress};
pub use observable::Observable;
pub use outcome::{AUTOMATIC_ROWS, Flow, Method, Options, Stats, Status};
