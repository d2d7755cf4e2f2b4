//! Gradient flow on the untied diagonal network `β = u₊∘v₊ − u₋∘v₋`, at any scale, over any horizon; and, with another β
//! of the same dual, on the tied one of any depth.
//!
//! | question | file |
//! |---|---|
//! | what is asked? | `problem` |
//! | in which form is it integrated? | `prepare`, `range`, `left_over` |
//! | the flow `ν' = r/N` and its Jacobian | `dual`, `reference` |
//! | β and S of a tied network of depth 3 and more | `power` |
//! | in binary64 | `plain`, `shifts` |
//! | in double-double | `differences`, `exact` |
//! | what else the two differ in | `number` |
//! | how large is an error? | `weights_of_error` |
//! | is it over? | `stopping` |
//! | rows and budgets | `watch`, `table` |
//! | every weight at any time, and what is conserved | `parameters` |
//! | how far is every row from the truth? | `certify` |
//! | the cross-check that shares none of this | `raw` |
//!
//! # Source
//! Azulay et al., ICML 2021 (\[A\]), Theorem 1 and Appendix A.

mod certify;
mod differences;
mod drive;
mod dual;
mod exact;
mod left_over;
mod number;
mod parameters;
mod plain;
mod power;
mod prepare;
mod problem;
mod range;
mod raw;
mod reference;
mod shifts;
mod stopping;
mod table;
mod watch;
mod weights_of_error;

#[cfg(test)]
mod tests;

pub use certify::{Certificate, End, certify};
pub use drive::gradient_flow;
pub use parameters::{Conserved, Parameters, conserved, parameters};
pub use problem::{Origin, Problem, Weights};
