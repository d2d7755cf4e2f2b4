//! How to integrate an initial value problem. Nothing here knows a network.
//!
//! `y' = f(t, y)`, `y(t₀) = y₀`, forward in time, to any horizon. The loop reads like the textbook: the *stepper*
//! proposes a step, the *controller* disposes of it, the *observer* watches, and why it ended is a value.
//!
//! | question | file |
//! |---|---|
//! | what must a problem tell? | `system` (traits), `problem` (a problem from two closures) |
//! | what can I set, what do I get back? | `options`, `outcome`, `observer` |
//! | the loop | `integrate` |
//! | what is a one-step method? | `stepper` |
//! | stiff problems: Radau IIA of order 5, 9, 13 | `radau`, `newton`, `radau_tableau`, `collocation`, `order` |
//! | non-stiff problems: Dormand & Prince 8(5,3) | `explicit`, `explicit_tableau`, `stiffness` |
//! | how long is a step? | `controller`, `initial_step` |
//! | when does something happen inside a step? | `events` |
//!
//! Tolerances belong to the problem: [`System::error_norm`] scales an error so that 1 is the largest acceptable one, and
//! the integrators compare with 1 only. Nothing assumes a scale of time or of the state.

mod collocation;
mod controller;
mod events;
mod explicit;
mod explicit_coefficients;
mod explicit_tableau;
mod initial_step;
mod integrate;
mod newton;
mod observer;
mod options;
mod order;
mod outcome;
mod problem;
mod radau;
mod radau_coefficients;
mod radau_tableau;
mod stepper;
mod stiffness;
mod system;

pub use controller::{Accepted, Decision, History, StepControl};
pub use events::{Event, EventFinder};
pub use explicit::Explicit;
pub use integrate::integrate;
pub use observer::{Action, Observer, Step};
pub use options::{InvalidOption, Options};
pub use outcome::{Outcome, Stats, Status};
pub use problem::{DenseJacobian, Problem};
pub use radau::Radau;
pub use stepper::{Context, Segment, Start, Stepper, Trial};
pub use system::{Implicit, ShiftedSolver, System};

#[cfg(test)]
mod tests;
