//! What must stay positive while a pattern is valid, and what it means when it does not.

use super::number::Number;
use super::segment::{Kink, Piece, Side};
use super::smooth::{Work, activate};
use super::span::Span;
use super::stopping::terms;
use crate::linalg::norm;

/// What integrated residuals may be wrong by in the end, in units of the last place of the sum of their terms.
pub(super) const NOISE: f64 = 256.0;

/// What happens when a guard fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// `p` off a kink: it reaches it.
    Reaches,
    /// `c − ρ` or `1 − c` of a slide, times `|attraction|`: it ends by itself, to this side. Without the factor they have a
    /// pole where a residual passes through 0, just beyond the end of the slide: both could be missed between two samples.
    Leaves(Side),
    /// `|a|` during a slide, signed: beyond 0 the kink repels. (That the attraction passes through 0 need not be watched: c
    /// reaches a bound before.)
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
pub(super) struct Guards<'a, R = f64> {
    pub(super) span: &'a Span<R>,
    pub(super) pieces: &'a [Piece<R>],
    pub(super) gains: &'a [f64],
    pub(super) slope: f64,
    list: Vec<Guard>,
    /// For each the sign of its quantity at the start.
    signs: Vec<f64>,
    /// Residuals below this are round-off.
    noise: f64,
    /// [`Number::astray`].
    astray: f64,
    work: Work<R>,
}

impl<'a, R: Number> Guards<'a, R> {
    /// From a state on, in a run at the tolerance `rtol`.
    pub(super) fn new(
        span: &'a Span<R>,
        pieces: &'a [Piece<R>],
        gains: &'a [f64],
        slope: f64,
        state: &[R],
        rtol: f64,
    ) -> Self {
        let mut work = Work::new(pieces.len(), span.n);
        activate(span, pieces, gains, state, &mut work);
        let (mut list, mut signs) = (Vec::new(), Vec::new());
        for (neuron, piece) in pieces.iter().enumerate() {
            // At slope 1 there is no kink.
            for (kink, side) in piece.pattern.sides.iter().enumerate().filter(|_| slope < 1.0) {
                let mut add = |what, sign| {
                    list.push(Guard { neuron, kink, what });
                    signs.push(sign);
                };
                if *side != Side::Sliding {
                    add(What::Reaches, side.sign());
                    continue;
                }
                // A kink that is slid along attracts, which gives the sign of a even where a is 0.
                let sign = -Kink::new(span, slope, kink, &work.residual).attraction.to_f64().signum();
                add(What::Repels, sign);
                if piece.sliding.contains(&kink) {
                    add(What::Leaves(Side::Negative), -sign);
                    add(What::Leaves(Side::Positive), -sign);
                }
            }
        }
        let noise = NOISE * R::ULP * terms(span, gains, state);
        Self { span, pieces, gains, slope, list, signs, noise, astray: R::astray(rtol), work }
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// What the k-th is.
    pub(super) fn get(&self, k: usize) -> Guard {
        self.list[k]
    }

    /// True for a value of the k-th that is no round-off of an event it began with.
    pub(super) fn is_astray(&self, k: usize, value: R, state: &[R]) -> bool {
        value.to_f64() < -self.astray * self.size(k, state)
    }

    /// What the k-th is to be compared with.
    fn size(&self, k: usize, state: &[R]) -> f64 {
        let Guard { neuron, kink, what } = self.list[k];
        let neuron = &state[neuron * (1 + self.span.k)..(neuron + 1) * (1 + self.span.k)];
        match what {
            What::Reaches => self.span.kink_norm(kink) * norm(neuron[1..].iter().map(|v| v.to_f64())),
            What::Leaves(_) => self.span.size,
            What::Repels => norm(neuron.iter().map(|v| v.to_f64())),
        }
    }

    /// All of them at a state.
    pub(super) fn evaluate(&mut self, state: &[R], out: &mut [R]) {
        activate(self.span, self.pieces, self.gains, state, &mut self.work);
        let residual = &self.work.residual;
        let mut pushes: (usize, Vec<R>) = (usize::MAX, Vec::new());
        for ((guard, sign), out) in self.list.iter().zip(&self.signs).zip(out) {
            let piece = &self.pieces[guard.neuron];
            let neuron = &state[guard.neuron * (1 + self.span.k)..(guard.neuron + 1) * (1 + self.span.k)];
            let mut slack = 0.0;
            let quantity = match guard.what {
                What::Reaches => self.span.along(guard.kink, &neuron[1..]),
                What::Repels => neuron[0],
                What::Leaves(side) => {
                    if pushes.0 != guard.neuron {
                        pushes = (guard.neuron, piece.sliding_pushes(self.span, self.slope, residual));
                    }
                    let at = piece.sliding.iter().position(|g| *g == guard.kink).unwrap_or(0);
                    let full = Kink::new(self.span, self.slope, guard.kink, residual).attraction;
                    // A slope is a quotient of residuals: where these are nothing but round-off it says nothing, and the
                    // slide goes on. Where they are more than that, this is far below the round-off of the guard.
                    slack = self.noise * (self.noise / full.to_f64().abs());
                    if side == Side::Negative {
                        pushes.1[at] - R::from_f64(self.slope) * full
                    } else {
                        full - pushes.1[at]
                    }
                }
            };
            *out = R::from_f64(*sign) * quantity + R::from_f64(slack);
        }
    }
}
