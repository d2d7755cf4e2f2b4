//! The flow in the raw factors, `U' = G V`, `V' = Gᵀ U` or `W' = (G + Gᵀ) W`, `G = Σ r_n X_n / N`, by the explicit method: the
//! cross-check. Its right-hand side shares nothing with the other one: all columns of the factors, plain loops, no modes, no
//! units. Only for scales whose weights binary64 can hold.

use super::factors::Factors;
use super::prepare::Prepared;
use super::problem::Problem;
use crate::flow::Invalid;
use crate::flow::monitor::Monitor;
use crate::flow::outcome::{Flow, Options};
use crate::flow::two_layers::{self, Task, TwoLayers, representable};
use crate::linalg::length;

impl TwoLayers for Factors {
    fn dim(&self) -> usize {
        Factors::dim(self)
    }

    /// `M = U Vᵀ`, row by row.
    fn predictor(&self, weights: &[f64]) -> Vec<f64> {
        let Factors { d1, d2, k, .. } = *self;
        let mut m = vec![0.0; d1 * d2];
        for (i, j, c) in entries(d1, d2, k) {
            m[i * d2 + j] += weights[i * k + c] * weights[(below(*self) + j) * k + c];
        }
        m
    }

    fn slope(&self, weights: &[f64], gradient: &[f64], slope: &mut [f64]) {
        let Factors { d1, d2, k, .. } = *self;
        slope.fill(0.0);
        for (i, j, c) in entries(d1, d2, k) {
            let (up, down, g) = (i * k + c, (below(*self) + j) * k + c, gradient[i * d2 + j]);
            slope[up] += g * weights[down];
            slope[down] += g * weights[up];
        }
    }

    fn layers<'v>(&self, weights: &'v [f64]) -> (&'v [f64], &'v [f64]) {
        self.split(weights)
    }

    fn reach(&self, weights: &[f64]) -> f64 {
        2.0 * length(weights)
    }
}

/// [`gradient_flow`](super::gradient_flow) in the raw weights.
pub(super) fn gradient_flow(
    problem: &Problem<'_>,
    options: &Options<'_>,
    monitor: &dyn Monitor,
) -> Result<Flow, Invalid> {
    let start = representable(problem.z.iter().copied(), problem.log_magnitude)?;
    // Only what of y can be fitted is taken from there: it says when the flow is over.
    let prepared = Prepared::of(problem);
    let targets = prepared.reachable(problem.y);
    let (x, y, sized) = (problem.x, problem.y, prepared.size > 0.0);
    let task = Task { x, y, targets: &targets, end: prepared.end, sized, divergence: None };
    Ok(two_layers::gradient_flow(&task, &problem.factors, start, options, monitor))
}

/// The row of the stack at which V begins.
fn below(factors: Factors) -> usize {
    if factors.symmetric { 0 } else { factors.d1 }
}

/// All (i, j, c): a row of U, a row of V and a column of both.
fn entries(d1: usize, d2: usize, k: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..d1 * d2 * k).map(move |e| (e / (d2 * k), e / k % d2, e % k))
}
