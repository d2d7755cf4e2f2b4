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
//! | stiff problems: Radau IIA of order 5, 9, 13, 17, 21 | `radau`, `newton`, `radau_error`, `radau_method`, `radau_tableau`, `collocation`, `order` |
//! | non-stiff problems: Dormand & Prince 8(5,3) | `explicit`, `explicit_tableau`, `stiffness` |
//! | how long is a step? | `controller`, `initial_step` |
//! | when does something happen inside a step? | `events` |
//!
//! Tolerances belong to the problem: [`System::error_norm`] scales an error so that 1 is the largest acceptable one, and
//! the integrators compare with 1 only. Nothing assumes a scale of time or of the state.
//!
//! # Example
//! A stiff problem, `y' = −10⁶ (y − cos t)`, to `t = 10`, watching for the first time at which `y` is no longer positive:
//! ```
//! use implicit_bias::linalg::SquareMatrix;
//! use implicit_bias::ode::{Action, EventFinder, Options, Problem, Radau, Status, Step, integrate};
//!
//! let rhs = |t: f64, y: &[f64], dy: &mut [f64]| dy[0] = -1e6 * (y[0] - t.cos());
//! let jacobian = |_t: f64, _y: &[f64], j: &mut SquareMatrix| j.set(0, 0, -1e6);
//! let options = Options { rtol: 1e-9, ..Options::default() };
//! let mut system = Problem::new(1, rhs, jacobian, options.rtol, 1e-9);
//! let mut stepper = Radau::new(&system, &options);
//! let mut finder = EventFinder::new(1);
//! let mut watch = |system: &mut _, step: &mut Step<'_, f64, _>| {
//!     let (from, to) = (step.t_old(), step.t_new);
//!     match finder.find(from, to, |t, guard| step.at(system, t, guard)) {
//!         Some(event) => Action::StopAt(event.t),
//!         None => Action::Continue,
//!     }
//! };
//! let end = integrate(&mut stepper, &mut system, 0.0, &[1.0], 10.0, &options, &mut watch)?;
//! assert_eq!(end.status, Status::Stopped);
//! // y follows cos t with a lag of 1e-6.
//! assert!((end.t - (std::f64::consts::FRAC_PI_2 + 1e-6)).abs() < 1e-7);
//! # Ok::<(), implicit_bias::ode::InvalidOption>(())
//! ```

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
mod radau_coefficients_high;
mod radau_error;
mod radau_method;
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
