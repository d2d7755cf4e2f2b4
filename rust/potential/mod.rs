//! What the flow implicitly minimised: Q, its derivatives and its conjugate, one file a theorem.
//!
//! Scalar functions of one coordinate, of which a potential of `d` coordinates is the sum, or of the norm of all. Nothing here knows data, a flow or a
//! solver.

pub mod depth;
pub mod double_double;
pub mod hyperbolic_entropy;
pub mod neuron;

mod diagonal;
mod divergence;
mod exponential;
mod relative_entropy;
mod start;

pub use depth::{Arc, Depth, DepthPotential, TiedStart};
pub use diagonal::HyperbolicEntropy;
pub(crate) use start::asinh_of_twice_quotient;
pub use start::{Start, Weights};
