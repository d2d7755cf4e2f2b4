//! The flow in the raw weights, `a_i' = w_i·g`, `w_i' = a_i g`, `g = Xᵀr/N`, by the explicit method: the cross-check of the
//! flow in span coordinates. Its right-hand side shares nothing with that one: m(1 + d) unknowns, plain loops, no modes, no
//! rotation, no formula for the escape. Only for scales whose weights binary64 can hold.

use super::divergence;
use super::prepare;
use super::problem::Problem;
use crate::flow::Invalid;
use crate::flow::monitor::Monitor;
use crate::flow::outcome::{Flow, Options};
use crate::flow::two_layers::{self, Task, TwoLayers, representable};
use crate::linalg::length;

/// `a` (m), then W row by row, m × d.
struct Weights {
    m: usize,
    d: usize,
}

impl TwoLayers for Weights {
    fn dim(&self) -> usize {
        self.m * (1 + self.d)
    }

    /// `β = Wᵀa`.
    fn predictor(&self, weights: &[f64]) -> Vec<f64> {
        let (a, w) = weights.split_at(self.m);
        let mut beta = vec![0.0; self.d];
        for (a, w) in a.iter().zip(w.chunks_exact(self.d)) {
            beta.iter_mut().zip(w).for_each(|(beta, w)| *beta += a * w);
        }
        beta
    }

    fn slope(&self, weights: &[f64], gradient: &[f64], slope: &mut [f64]) {
        let d = self.d;
        let ((a, w), (da, dw)) = (weights.split_at(self.m), slope.split_at_mut(self.m));
        for (i, a) in a.iter().enumerate() {
            da[i] = w[i * d..(i + 1) * d].iter().zip(gradient).map(|(w, g)| w * g).sum();
            dw[i * d..(i + 1) * d].iter_mut().zip(gradient).for_each(|(dw, g)| *dw = a * g);
        }
    }

    fn layers<'v>(&self, weights: &'v [f64]) -> (&'v [f64], &'v [f64]) {
        weights.split_at(self.m)
    }

    fn reach(&self, weights: &[f64]) -> f64 {
        let (a, w) = weights.split_at(self.m);
        length(a).max(length(w))
    }
}

/// [`gradient_flow`](super::gradient_flow) in the raw weights.
pub(super) fn gradient_flow(
    problem: &Problem<'_>,
    options: &Options<'_>,
    monitor: &dyn Monitor,
) -> Result<Flow, Invalid> {
    let (x, neurons) = (problem.x, problem.neurons);
    let start = representable(neurons.a.iter().chain(neurons.w).copied(), neurons.log_magnitude)?;
    // Only what of y can be fitted is taken from there: it says when the flow is over.
    let prepared = prepare::of(problem, false);
    let targets = prepared.reachable(problem.y);
    let divergence = divergence::of(&neurons, x.d());
    let (y, sized) = (problem.y, prepared.size > 0.0);
    let task = Task { x, y, targets: &targets, end: prepared.end, sized, divergence };
    let weights = Weights { m: neurons.a.len(), d: x.d() };
    Ok(two_layers::gradient_flow(&task, &weights, start, options, monitor))
}
