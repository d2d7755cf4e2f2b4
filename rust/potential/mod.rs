//! What the flow implicitly minimised: Q, its derivatives and its conjugate, one file a theorem.
//!
//! Scalar functions of one coordinate; a potential of `d` coordinates is their sum. Nothing here knows data, a flow or a
//! solver.

pub mod hyperbolic_entropy;

mod diagonal;
mod divergence;
mod exponential;
mod relative_entropy;
mod start;

pub use diagonal::HyperbolicEntropy;
pub use start::{Start, Weights};
