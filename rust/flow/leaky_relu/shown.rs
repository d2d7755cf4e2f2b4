//! What a row shows of a state of the run: predictor and residual in original units.
//!
//! A recorded state is `(a_i, u_i)` neuron after neuron, then the exponents of their units.

use super::problem::Problem;
use super::span::Span;
use super::units::{peak, scaled};
use crate::flow::fully_connected::divergence::Divergence;
use crate::flow::recorder::Shown;
use crate::real::Real;

/// The weights behind the coordinates.
#[derive(Clone, Debug)]
pub(super) struct Weights {
    d: usize,
    /// Parts of W(0) outside the span, m × d, in units of their own.
    outside: Vec<f64>,
    /// The units of the start.
    pub(super) exponents: Vec<f64>,
}

impl Weights {
    /// The start: coordinates, units, and what stays outside the span. `factor · 2^exponent` is the common unit.
    pub(super) fn start(problem: &Problem<'_>, span: &Span, factor: f64, exponent: f64) -> (Self, Vec<f64>) {
        let d = problem.x.d();
        let mut weights = Self { d, outside: Vec::new(), exponents: Vec::new() };
        let mut state = Vec::new();
        for (a, w) in problem.start.a.iter().zip(problem.start.w.chunks_exact(d)) {
            let unit = super::units::exponent(a.abs().max(peak(w)));
            let w: Vec<f64> = w.iter().map(|v| factor * scaled(*v, -unit)).collect();
            let u = span.enter(&w);
            let mut inside = vec![0.0; d];
            span.add(&u, &mut inside);
            weights.outside.extend(w.iter().zip(&inside).map(|(w, inside)| w - inside));
            weights.exponents.push(exponent + unit);
            state.push(factor * scaled(*a, -unit));
            state.extend(u);
        }
        (weights, state)
    }

    /// `‖w⊥‖` of neuron i in the unit 2^exponent.
    pub(super) fn outside_norm(&self, i: usize, exponent: f64) -> f64 {
        let part = &self.outside[i * self.d..(i + 1) * self.d];
        scaled(crate::linalg::norm(part.iter().copied()), self.exponents[i] - exponent)
    }

    /// `w_i` in the unit 2^exponent.
    pub(super) fn hidden(&self, span: &Span, i: usize, u: &[f64], exponent: f64) -> Vec<f64> {
        let part = &self.outside[i * self.d..(i + 1) * self.d];
        let mut w: Vec<f64> = part.iter().map(|v| scaled(*v, self.exponents[i] - exponent)).collect();
        span.add(u, &mut w);
        w
    }
}

/// Shows states of one run.
pub(super) struct Show<'a> {
    pub(super) span: &'a Span,
    pub(super) weights: &'a Weights,
    pub(super) slope: f64,
    /// Neurons.
    pub(super) m: usize,
    /// `D_Q(β, β(0))` of one neuron ([A] Theorem 4: the same Q as that of a linear one).
    pub(super) divergence: Option<Divergence>,
}

impl Shown for Show<'_> {
    fn show(&mut self, states: &[f64], beta: &mut [f64], residual: &mut [f64]) {
        let (span, width, d) = (self.span, 1 + self.span.k, self.weights.d);
        let (x, y) = span.units;
        beta.fill(0.0);
        let rows = states.chunks_exact(self.m * (width + 1)).zip(residual.chunks_exact_mut(span.n));
        for (k, (state, residual)) in rows.enumerate() {
            residual.copy_from_slice(&span.targets);
            let (neurons, exponents) = state.split_at(self.m * width);
            for (i, neuron) in neurons.chunks_exact(width).enumerate() {
                // Interpolated exponents of one piece are integers up to rounding.
                let exponent = exponents[i].round();
                if !beta.is_empty() {
                    let w = self.weights.hidden(span, i, &neuron[1..], exponent);
                    let row = beta[k * d..(k + 1) * d].iter_mut();
                    row.zip(&w).for_each(|(beta, w)| *beta += scaled(neuron[0] * w, 2.0 * exponent));
                }
                for (n, r) in residual.iter_mut().enumerate() {
                    let p = f64::dot(span.row(n), &neuron[1..]);
                    *r -= scaled(neuron[0] * p.max(self.slope * p), 2.0 * exponent + x - y);
                }
            }
            for r in residual.iter_mut() {
                *r = scaled(*r, y);
            }
        }
    }

    fn largest(&mut self, _beta: &[f64], residual: &[f64]) -> f64 {
        peak(residual)
    }

    fn potential(&mut self, beta: &[f64]) -> f64 {
        self.divergence.as_ref().map_or(f64::NAN, |divergence| divergence(beta))
    }
}
