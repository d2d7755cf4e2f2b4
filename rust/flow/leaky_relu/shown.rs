//! What a row shows of a state of the run: predictor and residual in original units.
//!
//! A recorded state is `(a_i, u_i)` neuron after neuron, then the exponents of their units.

use super::number::{Divergence, Number, of_exact};
use super::problem::Problem;
use super::span::Span;
use super::units::{largest, peak, scaled};
use crate::flow::recorder::Shown;
use crate::linalg::norm;

/// The weights behind the coordinates.
#[derive(Clone, Debug)]
pub(super) struct Weights<R = f64> {
    d: usize,
    /// Parts of W(0) outside the span, m × d, in units of their own.
    outside: Vec<R>,
    /// The units of the start.
    pub(super) exponents: Vec<f64>,
}

impl<R: Number> Weights<R> {
    /// The start: coordinates, units, and what stays outside the span. `factor · 2^exponent` is the common unit.
    pub(super) fn start(problem: &Problem<'_>, span: &Span<R>, factor: R, exponent: f64) -> (Self, Vec<R>) {
        let d = problem.x.d();
        let (outer, hidden) = (of_exact::<R>(&problem.start.outer()), of_exact::<R>(&problem.start.hidden()));
        let mut weights = Self { d, outside: Vec::new(), exponents: Vec::new() };
        let mut state = Vec::new();
        for (a, w) in outer.iter().zip(hidden.chunks_exact(d)) {
            let unit = super::units::exponent(a.to_f64().abs().max(peak(w)));
            let w: Vec<R> = w.iter().map(|v| factor * scaled(*v, -unit)).collect();
            let u = span.enter(&w);
            let mut inside = vec![R::ZERO; d];
            span.add(&u, &mut inside);
            weights.outside.extend(w.iter().zip(&inside).map(|(w, inside)| *w - *inside));
            weights.exponents.push(exponent + unit);
            state.push(factor * scaled(*a, -unit));
            state.extend(u);
        }
        (weights, state)
    }

    /// `‖w⊥‖` of neuron i in the unit 2^exponent.
    pub(super) fn outside_norm(&self, i: usize, exponent: f64) -> f64 {
        let part = &self.outside[i * self.d..(i + 1) * self.d];
        scaled(norm(part.iter().map(|v| v.to_f64())), self.exponents[i] - exponent)
    }

    /// `w_i` in the unit 2^exponent.
    pub(super) fn hidden(&self, span: &Span<R>, i: usize, u: &[R], exponent: f64) -> Vec<R> {
        let part = &self.outside[i * self.d..(i + 1) * self.d];
        let mut w: Vec<R> = part.iter().map(|v| scaled(*v, self.exponents[i] - exponent)).collect();
        span.add(u, &mut w);
        w
    }
}

/// Shows states of one run.
pub(super) struct Show<'a, R = f64> {
    pub(super) span: &'a Span<R>,
    pub(super) weights: &'a Weights<R>,
    pub(super) slope: f64,
    /// Neurons.
    pub(super) m: usize,
    /// `D_Q(β, β(0))` of one neuron ([A] Theorem 4: the same Q as that of a linear one).
    pub(super) divergence: Option<Divergence<R>>,
}

impl<R: Number> Shown<R> for Show<'_, R> {
    fn show(&mut self, states: &[R], beta: &mut [R], residual: &mut [R]) {
        let (span, width, d) = (self.span, 1 + self.span.k, self.weights.d);
        let (x, y) = span.units;
        beta.fill(R::ZERO);
        let rows = states.chunks_exact(self.m * (width + 1)).zip(residual.chunks_exact_mut(span.n));
        for (k, (state, residual)) in rows.enumerate() {
            residual.copy_from_slice(&span.targets);
            let (neurons, exponents) = state.split_at(self.m * width);
            for (i, neuron) in neurons.chunks_exact(width).enumerate() {
                // Interpolated exponents of one piece are integers up to rounding.
                let exponent = exponents[i].to_f64().round();
                if !beta.is_empty() {
                    let w = self.weights.hidden(span, i, &neuron[1..], exponent);
                    let row = beta[k * d..(k + 1) * d].iter_mut();
                    row.zip(&w).for_each(|(beta, w)| *beta += scaled(neuron[0] * *w, 2.0 * exponent));
                }
                for (n, r) in residual.iter_mut().enumerate() {
                    let p = span.rows.dot(n, &neuron[1..]);
                    let other = R::from_f64(self.slope) * p;
                    let sigma = if other > p { other } else { p };
                    *r -= scaled(neuron[0] * sigma, 2.0 * exponent + x - y);
                }
            }
            for r in residual.iter_mut() {
                *r = scaled(*r, y);
            }
        }
    }

    fn largest(&mut self, _beta: &[R], residual: &[R]) -> R {
        largest(residual)
    }

    fn potential(&mut self, beta: &[R]) -> R {
        self.divergence.as_ref().map_or(R::from_f64(f64::NAN), |divergence| divergence(beta))
    }
}
