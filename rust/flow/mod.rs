//! What flows: one module a model, each a right-hand side and its Jacobian in reduced coordinates.

mod budget;
mod clock;
pub mod depth;
pub mod diagonal;
pub mod fully_connected;
mod invalid;
mod kept;
pub mod leaky_relu;
pub mod matrix_factorization;
mod monitor;
mod neurons;
mod numbers;
mod observable;
mod outcome;
mod recorder;
mod segment;
mod two_layers;

pub use invalid::Invalid;
pub use monitor::{Monitor, Progress};
pub use neurons::Neurons;
pub use observable::Observable;
pub use outcome::{AUTOMATIC_ROWS, Event, EventKind, Flow, Method, Options, Precision, Stats, Status};
