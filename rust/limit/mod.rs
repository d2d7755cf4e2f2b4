//! Where the flow ends, t = ∞, without integration; and the proof of it.

pub mod depth;
pub mod diagonal;
pub mod neuron;
mod row_space;
mod units;
