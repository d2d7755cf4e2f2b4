//! Gradient flow on factorizations `M = U Vᵀ` and `M = W Wᵀ`, fitted to `y_n ≈ ⟨X_n, M⟩`, of any width, over any horizon.
//!
//! | question | file |
//! |---|---|
//! | what is asked? | `problem` |
//! | products of factors: M, its derivative, the slope | `factors` |
//! | the observations, rotated into modes | `modes` |
//! | in which form is it integrated, and how does a row look? | `prepare` |
//! | the flow, as a system | `lifted` |
//! | shifted systems with its Jacobian | `tangent` |
//! | how large is an error? | `weights_of_error` |
//! | is it over? | `stopping` |
//! | the run | `drive` |
//! | the cross-check that shares none of this | `raw` |
//!
//! # Source
//! Woodworth et al., COLT 2020 (\[W\]), Section 6 and Theorem 4.

mod drive;
mod factors;
mod lifted;
mod modes;
mod prepare;
mod problem;
mod raw;
mod stopping;
mod tangent;
mod weights_of_error;

#[cfg(test)]
mod tests;

pub use drive::gradient_flow;
pub use factors::Factors;
pub use problem::Problem;
