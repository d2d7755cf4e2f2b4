//! The flow `Z' = B Z` as a system to integrate, and its Jacobian. Knows no integrator.

use super::factors::Factors;
use super::modes::Modes;
use super::tangent::Tangent;
use super::weights_of_error::ErrorWeights;
use crate::ode::{Implicit, System};

/// The flow of the factors.
#[derive(Debug)]
pub(super) struct LiftedFlow<'a> {
    modes: &'a Modes,
    factors: Factors,
    norm: ErrorWeights<'a>,
    /// Workspaces of one right-hand side.
    m: Vec<f64>,
    residual: Vec<f64>,
    gradient: Vec<f64>,
}

impl<'a> LiftedFlow<'a> {
    /// At the tolerances `rtol` of the weights and of the residual on its way to 0, for an `implicit` method or an explicit one.
    pub(super) fn new(modes: &'a Modes, factors: Factors, rtol: (f64, f64), implicit: bool) -> Self {
        Self {
            modes,
            factors,
            norm: ErrorWeights::new(modes, factors, rtol, implicit),
            m: vec![0.0; factors.features()],
            residual: vec![0.0; modes.rank()],
            gradient: vec![0.0; factors.features()],
        }
    }

    /// G at this state.
    fn set_gradient(&mut self, z: &[f64]) {
        self.factors.product(z, &mut self.m);
        self.modes.residual(&self.m, &mut self.residual);
        self.modes.gradient(&self.residual, &mut self.gradient);
    }
}

impl System<f64> for LiftedFlow<'_> {
    fn dim(&self) -> usize {
        self.factors.dim()
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) {
        self.set_gradient(y);
        self.factors.slope(&self.gradient, y, dy);
    }

    fn set_error_weights(&mut self, _t: f64, y: &[f64], dy: &[f64]) {
        self.norm.set(y, dy);
    }

    fn error_norm(&mut self, e: &[f64]) -> f64 {
        self.norm.size(e)
    }
}

impl Implicit<f64> for LiftedFlow<'_> {
    type Solver = Tangent;

    fn jacobian(&mut self, _t: f64, y: &[f64], solver: &mut Tangent) -> bool {
        self.set_gradient(y);
        solver.set(self.modes, &self.gradient, y)
    }

    fn new_solver(&self) -> Tangent {
        Tangent::new(self.factors, self.modes.rank())
    }
}
