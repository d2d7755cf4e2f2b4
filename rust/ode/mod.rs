//! How to integrate an initial value problem. Nothing here knows a network.

mod system;

pub use system::{Implicit, ShiftedSolver, System};
