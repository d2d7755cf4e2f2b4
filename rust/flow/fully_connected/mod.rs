//! Gradient flow on fully connected linear networks `f(x) = Σ_i a_i w_iᵀx` of any width, at any scale, over any horizon.
//!
//! | question | file |
//! |---|---|
//! | what is asked? | `problem` |
//! | in which form is it integrated? | `prepare`, `units`, `modes`, `fold` (width drops out) |
//! | in double-double | `prepare_exactly`, `exact_basis`, `split` |
//! | what else the two differ in | `number` |
//! | the flow in span coordinates (d drops out) and its Jacobian | `span`, `arrow` |
//! | how large is an error? | `weights_of_error` |
//! | how does it leave a vanishing start? | `escape` |
//! | is it over? | `stopping` |
//! | the run | `drive` |
//! | rows, in samples and features | `shown` |
//! | every weight at any time | `parameters` |
//! | the potential, where there is one | `divergence` |
//! | what holds of every end | `reach` |
//! | the cross-check that shares none of this | `raw` |
//!
//! # Source
//! Azulay et al., ICML 2021 (\[A\]), Section 7, Theorem 2, Proposition 1 and Theorem 3.

mod arrow;
pub(crate) mod divergence;
mod drive;
mod escape;
mod exact_basis;
mod fold;
mod modes;
mod number;
mod parameters;
mod prepare;
mod prepare_exactly;
mod problem;
mod raw;
mod reach;
mod shown;
mod span;
mod split;
mod stopping;
pub(in crate::flow) mod units;
mod weights_of_error;

#[cfg(test)]
mod tests;

pub use drive::gradient_flow;
pub use parameters::{Parameters, parameters};
pub use problem::Problem;
pub use reach::{Reach, reach};
