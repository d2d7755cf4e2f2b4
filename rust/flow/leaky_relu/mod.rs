//! Gradient flow on leaky-ReLU networks `f(x) = Σ_i a_i σ(w_iᵀx)`, `σ(p) = max(p, ρp)`, at any scale: event by event,
//! sliding along kinks where the flow slides (Filippov).
//!
//! | question | file |
//! |---|---|
//! | what is asked? | `problem` |
//! | coordinates in which d drops out; which samples share a kink? | `span`, `vectors`, `columns`, `units` |
//! | in binary64 and in double-double | `number` |
//! | sides of pre-activations between events, slopes of slides | `segment` |
//! | the smooth flow between events and its Jacobian | `smooth`, `shifts` |
//! | when is a segment over? | `guards`, `watch` |
//! | what becomes of samples on their kinks? | `decision`, `box_least_squares` |
//! | vanishing starts in closed form | `escape` |
//! | is it over? | `stopping` |
//! | segment after segment; what happens between two; rows | `drive`, `run`, `switch`, `shown` |
//! | the weights behind states | `parameters` |
//! | the cross-check in raw weights | `raw` |
//!
//! # Sources
//! Azulay et al., ICML 2021 (\[A\]), Theorem 4 and Appendix G; Filippov, *Differential Equations with Discontinuous
//! Righthand Sides*, 1988.

mod box_least_squares;
mod columns;
mod decision;
mod drive;
mod escape;
mod guards;
mod number;
mod parameters;
mod problem;
mod raw;
mod run;
mod segment;
mod shifts;
mod shown;
mod smooth;
mod span;
mod stopping;
mod switch;
mod units;
mod vectors;
mod watch;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use drive::gradient_flow;
pub use parameters::{Parameters, ending, parameters};
pub use problem::Problem;
