//! The flow in span coordinates, as a system to integrate: `a_i` and `c_i = Vᵀw_i` of every neuron, so that d has
//! dropped out of the cost. `a_i' = g·c_i`, `c_i' = a_i g`, `g = h − s∘q`, `q = Σ_i a_i c_i`: O(rank) for every neuron.
//!
//! The part of every `w_i` outside the span of the samples never moves (THEORY §4), and is no part of the state.
//!
//! The width drops out as well. The flow commutes with every rotation of the neurons, `(a, C) → (Qᵀa, QᵀC)`, and `1 + rank`
//! neurons span what any number of them does (`fold`): this is the lifted flow `Z' = B Z`, `Z = [a C]ᵀ`, of which the
//! propagator Φ' = BΦ is another set of coordinates. Rotated neurons are a network again, so that no second system, no second
//! Jacobian and no second norm is needed, and start well scaled where Φ starts as the identity whatever the weights are.

use super::arrow::Arrow;
use super::modes::{Modes, Work};
use super::number::Number;
use super::weights_of_error::{ErrorWeights, Seen};
use crate::ode::{Implicit, System};

/// The state: `a` (m), then `c_i` (rank) neuron by neuron.
pub(super) fn split<R>(state: &[R], m: usize) -> (&[R], &[R]) {
    state.split_at(m)
}

/// `q = Σ_i a_i c_i`.
pub(super) fn in_span<R: Number>(a: &[R], c: &[R], q: &mut [R]) {
    q.fill(R::ZERO);
    if q.is_empty() {
        return;
    }
    for (a, c) in a.iter().zip(c.chunks_exact(q.len())) {
        R::add_scaled(*a, c, q);
    }
}

/// The flow of `m` neurons.
#[derive(Debug)]
pub(super) struct SpanFlow<'a, R: Number = f64> {
    modes: &'a Modes<R>,
    m: usize,
    norm: ErrorWeights,
    /// Workspace of one right-hand side.
    work: Work<R>,
    /// For roundings of a state, a slope, a residual and a gradient to binary64.
    rooms: [Vec<f64>; 4],
}

impl<'a, R: Number> SpanFlow<'a, R> {
    /// At the tolerances `rtol` of the weights and of the residual on its way to 0, for an `implicit` method or an explicit one.
    pub(super) fn new(modes: &'a Modes<R>, m: usize, rtol: (f64, f64), implicit: bool) -> Self {
        let norm = ErrorWeights::new(modes, m, rtol, implicit);
        Self { modes, m, norm, work: Work::new(modes.rank()), rooms: Default::default() }
    }
}

impl<R: Number> System<R> for SpanFlow<'_, R> {
    fn dim(&self) -> usize {
        self.m * (1 + self.modes.rank())
    }

    fn rhs(&mut self, _t: R, y: &[R], dy: &mut [R]) {
        let rank = self.modes.rank();
        let (a, c) = split(y, self.m);
        in_span(a, c, &mut self.work.q);
        self.modes.gradient(&mut self.work);
        let g = &self.work.g;
        let (da, dc) = dy.split_at_mut(self.m);
        for (((da, dc), a), c) in da.iter_mut().zip(dc.chunks_exact_mut(rank)).zip(a).zip(c.chunks_exact(rank)) {
            *da = R::product(g, c);
            for (dc, g) in dc.iter_mut().zip(g) {
                *dc = *a * *g;
            }
        }
    }

    fn set_error_weights(&mut self, _t: R, y: &[R], dy: &[R]) {
        let (a, c) = split(y, self.m);
        in_span(a, c, &mut self.work.q);
        self.modes.residual_waited_for(&mut self.work);
        let [state, slope, residual, gradient] = &mut self.rooms;
        residual.clear();
        residual.extend(self.work.r.iter().map(|r| r.to_f64()));
        self.modes.gradient(&mut self.work);
        self.norm.set(&Seen {
            state: R::rounded(y, state),
            slope: R::rounded(dy, slope),
            residual,
            gradient: R::rounded(&self.work.g, gradient),
        });
    }

    fn error_norm(&mut self, e: &[f64]) -> f64 {
        self.norm.size(e)
    }
}

impl<R: Number> Implicit<R> for SpanFlow<'_, R> {
    type Solver = Arrow;

    fn jacobian(&mut self, _t: R, y: &[R], solver: &mut Arrow) -> bool {
        let (a, c) = split(y, self.m);
        in_span(a, c, &mut self.work.q);
        self.modes.gradient(&mut self.work);
        let [outer, inner, _, gradient] = &mut self.rooms;
        solver.set(R::rounded(a, outer), R::rounded(c, inner), R::rounded(&self.work.g, gradient))
    }

    fn new_solver(&self) -> Arrow {
        Arrow::new(self.m, &self.modes.decay)
    }
}
