//! Every weight at any time, from the states of a run in span coordinates.
//!
//! `W(t) = W(0) + (C(t) − C(0)) Vᵀ`: what has moved is in the span of the samples.

use super::number::{Basis, Number};
use super::prepare::Prepared;
use super::problem::Problem;
use super::span::split;
use super::units::times_power;
use crate::flow::Precision;
use crate::real::DoubleDouble;

/// The weights at the times of some rows: a, R × m, and W, R × m × d.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// Outer weights.
    pub a: Vec<f64>,
    /// Hidden weights.
    pub w: Vec<f64>,
}

/// The weights behind `states`, which are those of a [`Flow`](crate::flow::Flow) of this problem in this precision: to
/// binary64, whatever that is. 0 where they underflow, infinite where they overflow. None unless the states are as long as
/// those of this problem.
#[must_use]
pub fn parameters(problem: &Problem<'_>, precision: Precision, states: &[f64]) -> Option<Parameters> {
    match precision {
        Precision::Double => found::<f64>(problem, states),
        Precision::DoubleDouble => found::<DoubleDouble>(problem, states),
    }
}

fn found<R: Number>(problem: &Problem<'_>, states: &[f64]) -> Option<Parameters> {
    let prepared: Prepared<R> = R::prepare(problem, true);
    let (dim, few, rank) = (prepared.dim(), prepared.m(), prepared.modes.rank());
    if !states.len().is_multiple_of(dim) {
        return None;
    }
    let (d, m, width) = (problem.x.d(), problem.neurons.a.len(), 1 + rank);
    let start: Vec<f64> = prepared.start().iter().map(|z| z.to_f64()).collect();
    let unit = problem.neurons.log_magnitude.exp();
    let c_start = split(&start, few).1;
    let mut out = Parameters { a: Vec::new(), w: Vec::new() };
    let (mut moved, mut inner) = (vec![0.0; m * d], vec![0.0; m * rank]);
    for state in states.chunks_exact(dim) {
        let (a, c) = split(state, few);
        let mut rows = Vec::with_capacity(few * width);
        for (i, a) in a.iter().enumerate() {
            rows.push(*a);
            let of_neuron = i * rank..(i + 1) * rank;
            rows.extend(c[of_neuron.clone()].iter().zip(&c_start[of_neuron]).map(|(c, start)| c - start));
        }
        let all = prepared.folded.unfold(&rows, width);
        for (i, row) in all.chunks_exact(width).enumerate() {
            out.a.push(times_power(row[0], prepared.units.weights));
            inner[i * rank..(i + 1) * rank].copy_from_slice(&row[1..]);
        }
        if rank > 0 {
            prepared.basis.v_rows().apply_transposed_many(&inner, &mut moved);
        }
        let weights = problem.neurons.w.iter().zip(&moved);
        out.w.extend(weights.map(|(w, moved)| w * unit + times_power(*moved, prepared.units.weights)));
    }
    Some(out)
}
