//! The collocation polynomial of a Radau step: its dense output, and the first guess for the next step.
//!
//! It has degree `s` and passes through `(0, 0)` and `(c_i, z_i)`, where `z_i` are the increments of the stages from the
//! start of the step. Increments, not states: a system may re-base its state between two steps, and differences survive.

use crate::real::Real;

/// The polynomial of the last accepted step, `θ ∈ [0, 1]` over the step.
#[derive(Clone, Debug)]
pub struct Collocation<R> {
    dim: usize,
    /// `0, c_1, …, c_s`; empty before the first step.
    nodes: Vec<R>,
    /// `1 / ∏_{m≠j} (x_j − x_m)`.
    weights: Vec<R>,
    increments: Vec<R>,
    /// Values of the Lagrange basis.
    basis: Vec<R>,
}

impl<R: Real> Collocation<R> {
    /// No polynomial yet, but room for one of `stages` stages in `dim` dimensions.
    #[must_use]
    pub fn new(dim: usize, stages: usize) -> Self {
        let room = || Vec::with_capacity(stages + 1);
        let increments = Vec::with_capacity(stages * dim);
        Self { dim, nodes: room(), weights: room(), increments, basis: room() }
    }

    /// True before the first step.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Keep the polynomial through the increments `z` of the stages, one after another, at `nodes`.
    pub fn set(&mut self, nodes: &[R], z: &[R]) {
        self.nodes.clear();
        self.nodes.push(R::ZERO);
        self.nodes.extend_from_slice(nodes);
        self.weights.clear();
        for (j, x) in self.nodes.iter().enumerate() {
            let product = self.nodes.iter().enumerate().filter(|(m, _)| *m != j);
            self.weights.push(R::ONE / product.fold(R::ONE, |p, (_, other)| p * (*x - *other)));
        }
        self.increments.clear();
        self.increments.extend_from_slice(&z[..nodes.len() * self.dim]);
    }

    /// `out += p(θ)`.
    pub fn add_to(&mut self, theta: R, out: &mut [R]) {
        self.basis.clear();
        for (j, weight) in self.weights.iter().enumerate() {
            let product = self.nodes.iter().enumerate().filter(|(m, _)| *m != j);
            self.basis.push(product.fold(*weight, |p, (_, x)| p * (theta - *x)));
        }
        // The basis function of node 0 meets the increment 0.
        for (value, z) in self.basis[1..].iter().zip(self.increments.chunks_exact(self.dim)) {
            for (out, z) in out.iter_mut().zip(z) {
                *out += *value * *z;
            }
        }
    }

    /// Guess the increments of the next step, `ratio` times as long, at its `nodes`: `z_i = p(1 + ratio·c_i) − p(1)`.
    pub fn extrapolate(&mut self, ratio: R, nodes: &[R], z: &mut [R]) {
        for (c, z) in nodes.iter().zip(z.chunks_exact_mut(self.dim)) {
            z.fill(R::ZERO);
            self.add_to(R::ONE + ratio * *c, z);
            let last = &self.increments[self.increments.len() - self.dim..];
            for (z, end) in z.iter_mut().zip(last) {
                *z -= *end;
            }
        }
    }
}
