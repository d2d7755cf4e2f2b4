//! What must stay positive while a pattern is valid, and what it means when it does not.

use super::segment::{Kink, Piece, Side};
use super::smooth::{Work, activate};
use super::span::Span;
use crate::linalg::norm;
use crate::real::Real;

/// What happens when a guard fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// `p` off a kink: it reaches it.
    Reaches,
    /// `c − ρ` or `1 − c` of a slide: it ends by itself, to this side.
    Leaves(Side),
    /// `−a · attraction` of a slide: the kink is about to repel.
    Repels,
}

/// A guard: of this neuron and kink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Guard {
    pub(super) neuron: usize,
    pub(super) kink: usize,
    pub(super) what: What,
}

/// The guards of a pattern.
#[derive(Debug)]
pub(super) struct Guards<'a> {
    pub(super) span: &'a Span,
    pub(super) pieces: &'a [Piece],
    pub(super) gains: &'a [f64],
    pub(super) slope: f64,
    list: Vec<Guard>,
    work: Work,
}

impl<'a> Guards<'a> {
    pub(super) fn new(span: &'a Span, pieces: &'a [Piece], gains: &'a [f64], slope: f64) -> Self {
        let mut list = Vec::new();
        for (neuron, piece) in pieces.iter().enumerate() {
            // At slope 1 there is no kink.
            for (kink, side) in piece.pattern.sides.iter().enumerate().filter(|_| slope < 1.0) {
                let mut add = |what| list.push(Guard { neuron, kink, what });
                if *side != Side::Sliding {
                    add(What::Reaches);
                    continue;
                }
                add(What::Repels);
                if piece.sliding.contains(&kink) {
                    add(What::Leaves(Side::Negative));
                    add(What::Leaves(Side::Positive));
                }
            }
        }
        let work = Work { sigma: vec![0.0; pieces.len() * span.n], residual: vec![0.0; span.n] };
        Self { span, pieces, gains, slope, list, work }
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// What the k-th is.
    pub(super) fn get(&self, k: usize) -> Guard {
        self.list[k]
    }

    /// What the k-th is to be compared with.
    pub(super) fn size(&self, k: usize, state: &[f64]) -> f64 {
        let Guard { neuron, kink, what } = self.list[k];
        let neuron = &state[neuron * (1 + self.span.k)..(neuron + 1) * (1 + self.span.k)];
        match what {
            What::Reaches => self.span.kink_norm(kink) * norm(neuron[1..].iter().copied()),
            What::Leaves(_) => 1.0,
            What::Repels => neuron[0].abs() * self.span.size,
        }
    }

    /// All of them at a state.
    pub(super) fn evaluate(&mut self, state: &[f64], out: &mut [f64]) {
        activate(self.span, self.pieces, self.gains, state, &mut self.work);
        let residual = &self.work.residual;
        let mut slopes: (usize, Vec<f64>) = (usize::MAX, Vec::new());
        for (guard, out) in self.list.iter().zip(out) {
            let piece = &self.pieces[guard.neuron];
            let neuron = &state[guard.neuron * (1 + self.span.k)..(guard.neuron + 1) * (1 + self.span.k)];
            *out = match guard.what {
                What::Reaches => {
                    piece.pattern.sides[guard.kink].sign() * f64::dot(self.span.kink(guard.kink), &neuron[1..])
                }
                What::Repels => -neuron[0] * Kink::new(self.span, self.slope, guard.kink, residual).attraction,
                What::Leaves(side) => {
                    if slopes.0 != guard.neuron {
                        slopes = (guard.neuron, piece.sliding_slopes(self.span, self.slope, residual));
                    }
                    let at = piece.sliding.iter().position(|g| *g == guard.kink).unwrap_or(0);
                    if side == Side::Negative { slopes.1[at] - self.slope } else { 1.0 - slopes.1[at] }
                }
            };
        }
    }
}
