//! The flow in span coordinates, as a system to integrate: `a_i` and `c_i = Vᵀw_i` of every neuron, so that d has
//! dropped out of the cost. `a_i' = g·c_i`, `c_i' = a_i g`, `g = h − s∘q`, `q = Σ_i a_i c_i`: O(rank) for every neuron.
//!
//! The part of every `w_i` outside the span of the samples never moves (THEORY §4), and is no part of the state.
//!
//! The width drops out as well. The flow commutes with every rotation of the neurons, `(a, C) → (Qᵀa, QᵀC)`, and `1 + rank`
//! neurons span what any number of them does (`reduce`): this is the lifted flow `Z' = B Z`, `Z = [a C]ᵀ`, of which the
//! propagator Φ' = BΦ is another set of coordinates. Rotated neurons are a network again, so that no second system, no second
//! Jacobian and no second norm is needed, and start well scaled where Φ starts as the identity whatever the weights are.

use super::arrow::Arrow;
use super::modes::Modes;
use super::weights_of_error::ErrorWeights;
use crate::ode::{Implicit, System};
use crate::real::Real;

/// The state: `a` (m), then `c_i` (rank) neuron by neuron.
pub(super) fn split(state: &[f64], m: usize) -> (&[f64], &[f64]) {
    state.split_at(m)
}

/// `q = Σ_i a_i c_i`.
pub(super) fn in_span(a: &[f64], c: &[f64], q: &mut [f64]) {
    q.fill(0.0);
    if q.is_empty() {
        return;
    }
    for (a, c) in a.iter().zip(c.chunks_exact(q.len())) {
        f64::axpy(*a, c, q);
    }
}

/// The flow of `m` neurons.
#[derive(Debug)]
pub(super) struct SpanFlow<'a> {
    modes: &'a Modes,
    m: usize,
    norm: ErrorWeights<'a>,
    /// Workspaces of one right-hand side.
    q: Vec<f64>,
    g: Vec<f64>,
}

impl<'a> SpanFlow<'a> {
    /// At the tolerances `rtol` of the weights and of the residual on its way to 0, for an `implicit` method or an explicit one.
    pub(super) fn new(modes: &'a Modes, m: usize, rtol: (f64, f64), implicit: bool) -> Self {
        let room = || vec![0.0; modes.rank()];
        Self { modes, m, norm: ErrorWeights::new(modes, m, rtol, implicit), q: room(), g: room() }
    }
}

impl System<f64> for SpanFlow<'_> {
    fn dim(&self) -> usize {
        self.m * (1 + self.modes.rank())
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) {
        let rank = self.modes.rank();
        let (a, c) = split(y, self.m);
        in_span(a, c, &mut self.q);
        self.modes.gradient(&self.q, &mut self.g);
        let (da, dc) = dy.split_at_mut(self.m);
        for (((da, dc), a), c) in da.iter_mut().zip(dc.chunks_exact_mut(rank)).zip(a).zip(c.chunks_exact(rank)) {
            *da = f64::dot(&self.g, c);
            for (dc, g) in dc.iter_mut().zip(&self.g) {
                *dc = a * g;
            }
        }
    }

    fn set_error_weights(&mut self, _t: f64, y: &[f64], dy: &[f64]) {
        self.norm.set(y, dy);
    }

    fn error_norm(&mut self, e: &[f64]) -> f64 {
        self.norm.size(e)
    }
}

impl Implicit<f64> for SpanFlow<'_> {
    type Solver = Arrow;

    fn jacobian(&mut self, _t: f64, y: &[f64], solver: &mut Arrow) -> bool {
        let (a, c) = split(y, self.m);
        in_span(a, c, &mut self.q);
        self.modes.gradient(&self.q, &mut self.g);
        solver.set(a, c, &self.g)
    }

    fn new_solver(&self) -> Arrow {
        Arrow::new(self.m, &self.modes.decay)
    }
}
