//! What an initial value problem has to tell an integrator.

use crate::real::Real;

/// An initial value problem `y' = f(t, y)` together with the measure of error its user cares about.
///
/// Methods take `&mut self` so that a system can keep its workspaces and counters. A right-hand side that cannot be
/// evaluated returns non-finite numbers: the integrator rejects the step, it never accepts such a state.
pub trait System<R: Real> {
    /// Number of unknowns.
    fn dim(&self) -> usize;

    /// `dy = f(t, y)`.
    fn rhs(&mut self, t: R, y: &[R], dy: &mut [R]);

    /// Several states at once, the stages of one implicit step: `y` and `dy` hold `t.len()` states one after another.
    /// Systems whose cost is a product with data override this so that the stages go through the data together.
    fn rhs_stages(&mut self, t: &[R], y: &[R], dy: &mut [R]) {
        let n = self.dim();
        for ((t, y), dy) in t.iter().zip(y.chunks_exact(n)).zip(dy.chunks_exact_mut(n)) {
            self.rhs(*t, y, dy);
        }
    }

    /// Error of the last [`System::rhs_stages`] as a part of what the last correction changed, for systems that evaluate
    /// a corrected state by the difference it makes to the last one. 0 by default: as exact as numbers are.
    fn inexactness(&self) -> f64 {
        0.0
    }

    /// Fix the weights of [`System::error_norm`] at the start of a step from `(t, y)`, where the slope is `dy`.
    fn set_error_weights(&mut self, t: R, y: &[R], dy: &[R]);

    /// Size of the error `e` of a state, scaled so that 1 is the largest acceptable one, in the weights last fixed.
    /// The tolerance is the system's: integrators only compare with 1.
    fn error_norm(&mut self, e: &[f64]) -> f64;

    /// Several errors, one after another in `e`: the corrections of the stages of one Newton iteration. Systems whose
    /// norm costs a product with data override this so that they go through the data together.
    fn error_norms(&mut self, e: &[f64], sizes: &mut [f64]) {
        let n = self.dim();
        for (e, size) in e.chunks_exact(n).zip(sizes) {
            *size = self.error_norm(e);
        }
    }

    /// Told after every accepted step at which the observer does not stop (and after all use of its dense output): the
    /// system may change the representation of the state in place, for instance by moving `y` into an exactly kept
    /// reference. Differences of states must keep their meaning. True if `y` was changed.
    fn accepted(&mut self, _t: R, _y: &mut [R]) -> bool {
        false
    }

    /// False if no solution goes from a state with the slope `dy` to the state `y_new` with the slope `dy_new`, however well
    /// the error estimate of the step looks: the step is then rejected. A system that conserves or dissipates something
    /// knows; by default every finite state will do.
    fn admits(&mut self, _dy: &[R], _y_new: &[R], _dy_new: &[R]) -> bool {
        true
    }

    /// Longest step worth trying from the current state, a guard against overflow; infinite by default.
    fn step_cap(&mut self, _t: R, _y: &[R], _dy: &[R]) -> f64 {
        f64::INFINITY
    }
}

/// A factorization of a Jacobian `J` that solves shifted systems for any shift. Always binary64 (DESIGN §4).
pub trait ShiftedSolver {
    /// Get ready for the real shift: the systems `(shift·I − J) x = b`. False if the matrix is numerically singular.
    fn prepare_real(&mut self, shift: f64) -> bool;
    /// Get ready for the `slot`-th complex shift `re + i·im` of a method with several.
    fn prepare_complex(&mut self, slot: usize, re: f64, im: f64) -> bool;
    /// Take vectors, one after another, into the basis in which the systems are solved. A solver that has a basis of its
    /// own multiplies all right-hand sides of an iteration at once.
    fn enter_basis(&mut self, _b: &mut [f64]) {}
    /// Back from it.
    fn leave_basis(&mut self, _b: &mut [f64]) {}
    /// Solve `(shift·I − J) x = b` in place, in the basis of the solver.
    fn solve_real(&mut self, b: &mut [f64]);
    /// Solve `((re + i·im)·I − J)(x + i·x') = b + i·b'` in place, for the `slot`-th shift, in the basis of the solver.
    fn solve_complex(&mut self, slot: usize, b_re: &mut [f64], b_im: &mut [f64]);
}

/// A system that can be integrated implicitly.
pub trait Implicit<R: Real>: System<R> {
    /// What factors its Jacobian: dense LU in general, tridiagonal where the Jacobian is symmetric.
    type Solver: ShiftedSolver;
    /// Evaluate the Jacobian `∂f/∂y` at `(t, y)` into `solver`, factored as far as no shift is needed. False if it
    /// cannot be evaluated there.
    fn jacobian(&mut self, t: R, y: &[R], solver: &mut Self::Solver) -> bool;
    /// An empty solver of the right size.
    fn new_solver(&self) -> Self::Solver;
}
