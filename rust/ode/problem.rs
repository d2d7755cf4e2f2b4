//! An initial value problem from two closures, for whoever has no system of his own.
//!
//! The Jacobian is dense and factored by LU for every shift: right for tens to hundreds of unknowns. Structured problems
//! implement [`Implicit`](super::Implicit) themselves.

use super::system::{Implicit, ShiftedSolver, System};
use crate::linalg::{ShiftedLu, SquareMatrix};
use crate::real::Real;

/// `y' = f(t, y)` with the mixed tolerance `rtol |y_i| + atol` for every component.
///
/// `rhs(t, y, dy)` fills `dy = f(t, y)`, `jacobian(t, y, j)` fills `j_ik = ∂f_i/∂y_k` (`j` comes zeroed).
#[derive(Clone, Debug)]
pub struct Problem<F, J> {
    dim: usize,
    rhs: F,
    jacobian: J,
    rtol: f64,
    atol: f64,
    weights: Vec<f64>,
}

impl<F, J> Problem<F, J> {
    /// A problem of `dim` unknowns. `rtol` should also be the [`Options::rtol`](super::Options::rtol) of the
    /// integration; `atol ≥ 0` may be 0 where no component passes through 0.
    #[must_use]
    pub fn new(dim: usize, rhs: F, jacobian: J, rtol: f64, atol: f64) -> Self {
        Self { dim, rhs, jacobian, rtol, atol, weights: vec![0.0; dim] }
    }
}

impl<R: Real, F: FnMut(R, &[R], &mut [R]), J> System<R> for Problem<F, J> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn rhs(&mut self, t: R, y: &[R], dy: &mut [R]) {
        (self.rhs)(t, y, dy);
    }

    fn set_error_weights(&mut self, _t: R, y: &[R], _dy: &[R]) {
        for (weight, y) in self.weights.iter_mut().zip(y) {
            *weight = self.rtol * y.to_f64().abs() + self.atol;
        }
    }

    fn error_norm(&mut self, e: &[f64]) -> f64 {
        // No error where nothing is tolerated is fine: 0/0 counts as 0. NaN and infinity come out as such.
        let scaled = |(e, w): (&f64, &f64)| if *e == 0.0 { 0.0 } else { (e / w).abs() };
        let parts = || e.iter().zip(&self.weights).map(scaled);
        let largest = parts().fold(0.0, |most, x| if x > most || x.is_nan() { x } else { most });
        if largest == 0.0 || !largest.is_finite() {
            return largest;
        }
        // Squares of slopes overflow where time is measured in small units.
        largest * (parts().map(|x| (x / largest).powi(2)).sum::<f64>() / self.dim as f64).sqrt()
    }
}

/// A general Jacobian: one LU for every shift.
#[derive(Clone, Debug)]
pub struct DenseJacobian(ShiftedLu);

impl ShiftedSolver for DenseJacobian {
    fn prepare_real(&mut self, shift: f64) -> bool {
        self.0.factor_real(shift)
    }

    fn prepare_complex(&mut self, slot: usize, re: f64, im: f64) -> bool {
        self.0.factor_complex(slot, re, im)
    }

    fn solve_real(&mut self, b: &mut [f64]) {
        self.0.solve_real(b);
    }

    fn solve_complex(&mut self, slot: usize, b_re: &mut [f64], b_im: &mut [f64]) {
        self.0.solve_complex(slot, b_re, b_im);
    }
}

impl<R: Real, F: FnMut(R, &[R], &mut [R]), J: FnMut(R, &[R], &mut SquareMatrix)> Implicit<R> for Problem<F, J> {
    type Solver = DenseJacobian;

    fn jacobian(&mut self, t: R, y: &[R], solver: &mut DenseJacobian) -> bool {
        let matrix = solver.0.matrix_mut();
        matrix.data_mut().fill(0.0);
        (self.jacobian)(t, y, matrix);
        matrix.data().iter().all(|entry| entry.is_finite())
    }

    fn new_solver(&self) -> DenseJacobian {
        DenseJacobian(ShiftedLu::new(self.dim))
    }
}
