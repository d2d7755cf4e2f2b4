//! What becomes of the samples that lie on their kinks in one neuron: one decision for all of them.
//!
//! The residual does not jump on a kink. With a the output weight of the neuron, a kink whose `a · attraction` is negative
//! is pushed back to from both sides. Put `x_g = −a · attraction_g · c_g`: then x solves the box-constrained least-squares
//! problem `min ½‖Σ x_g x̃_g − b‖²`, `ρ|a · attraction_g| ≤ x_g ≤ |a · attraction_g|`, with `b` a times the push of all
//! others, and what is left of `b` is `N u'`: inside the box the sample slides, at the upper bound (slope 1)
//! it leaves to p > 0, at the lower one (slope ρ) to p < 0. A kink that repels is left to either side that the velocity
//! agrees with. If exactly one choice agrees the flow goes on in one way; otherwise it does not, and nobody guesses.
//!
//! # Source
//! THEORY §5; Filippov, *Differential Equations with Discontinuous Righthand Sides*, 1988, §4.

use super::box_least_squares::{BoxLeastSquares, Place, Solution};
use super::columns::Columns;
use super::segment::{Kink, Pattern, Piece, Side};
use super::span::Span;
use crate::real::Real;

/// Kinks that repel at one time in one neuron, at most: every choice of their sides is looked at.
const MOST_REPELLING: usize = 12;
/// Roundings of a velocity, in units of the largest push.
const ROUND_OFF: f64 = 256.0 * f64::EPSILON;

/// One neuron with some samples on their kinks.
#[derive(Debug)]
pub(super) struct Decision<'a> {
    pub(super) span: &'a Span,
    pub(super) slope: f64,
    /// The sign of a.
    pub(super) sign: f64,
    pub(super) residual: &'a [f64],
    /// Residuals below this are round-off.
    pub(super) noise: f64,
    /// The neuron before the decision.
    pub(super) piece: &'a Piece,
    /// The kinks it lies on.
    pub(super) on: &'a [usize],
}

impl Decision<'_> {
    /// The pattern from now on. `arriving`: the kinks among them that were just reached, from the side in the pattern;
    /// those that repel are crossed if that agrees with the velocity. None if the flow could go on in several ways.
    pub(super) fn settle(&self, arriving: &[usize]) -> Option<Pattern> {
        let kinks: Vec<(usize, Kink)> =
            self.on.iter().map(|g| (*g, Kink::new(self.span, self.slope, *g, self.residual))).collect();
        let attracts = |(g, kink): &(usize, Kink)| {
            let terms: f64 = self.span.kinks[*g].iter().map(|(_, factor)| factor.abs()).sum();
            self.sign * kink.attraction < -self.noise * terms
        };
        let (attracting, repelling): (Vec<_>, Vec<_>) = kinks.into_iter().partition(attracts);
        if self.sign == 0.0 && !attracting.is_empty() {
            return None;
        }
        let side = |g: usize| self.piece.pattern.sides[g];
        if repelling.iter().all(|(g, _)| arriving.contains(g)) {
            let crossing: Vec<Side> = repelling.iter().map(|(g, _)| side(*g).other()).collect();
            if let Some(pattern) = self.choice(&attracting, &repelling, &crossing) {
                return Some(pattern);
            }
        }
        if repelling.len() > MOST_REPELLING {
            return None;
        }
        let mut found = None;
        for bits in 0..1_usize << repelling.len() {
            let sides: Vec<Side> = (0..repelling.len())
                .map(|j| if bits >> j & 1 == 1 { Side::Positive } else { Side::Negative })
                .collect();
            if let Some(pattern) = self.choice(&attracting, &repelling, &sides) {
                if found.is_some() {
                    return None;
                }
                found = Some(pattern);
            }
        }
        found
    }

    /// The pattern in which the kinks that repel are left to these sides, if the velocity agrees.
    fn choice(&self, attracting: &[(usize, Kink)], repelling: &[(usize, Kink)], sides: &[Side]) -> Option<Pattern> {
        let (push, size) = self.push(attracting, repelling, sides);
        let vectors: Vec<&[f64]> = attracting.iter().map(|(g, _)| self.span.kink(*g)).collect();
        let upper: Vec<f64> = attracting.iter().map(|(_, kink)| kink.attraction.abs()).collect();
        let lower: Vec<f64> = upper.iter().map(|most| self.slope * most).collect();
        let problem = BoxLeastSquares { vectors: &vectors, b: &push, lower: &lower, upper: &upper };
        let solution = problem.solve()?;
        let velocity = problem.residual(&solution.x);
        let mut pattern = self.attracted(attracting, &solution, &upper);
        for ((g, _), side) in repelling.iter().zip(sides) {
            let v = f64::dot(self.span.kink(*g), &velocity);
            if !(v * side.sign() >= -ROUND_OFF * size * self.span.kink_norm(*g)) {
                return None;
            }
            pattern.sides[*g] = *side;
        }
        Some(pattern)
    }

    /// `b`: the push, with the sign of a, of all samples but the slopes of those that attract; and the size of its terms.
    fn push(&self, attracting: &[(usize, Kink)], repelling: &[(usize, Kink)], sides: &[Side]) -> (Vec<f64>, f64) {
        let span = self.span;
        let (mut push, mut size) = (vec![0.0; span.k], 0.0);
        let mut add = |weight: f64, n: usize| {
            f64::axpy(self.sign * weight, span.row(n), &mut push);
            size += weight.abs() * span.norms[n];
        };
        for kink in span.kinks.iter().enumerate().filter(|(g, _)| !self.on.contains(g)).map(|(_, kink)| kink) {
            for (n, _) in kink {
                add(self.piece.slopes[*n] * self.residual[*n], *n);
            }
        }
        for ((g, kink), side) in repelling.iter().zip(sides) {
            let c = if *side == Side::Positive { 1.0 } else { self.slope };
            add(kink.attraction * c - kink.offset, span.kinks[*g][0].0);
        }
        for (g, kink) in attracting {
            add(-kink.offset, span.kinks[*g][0].0);
        }
        (push, size)
    }

    /// The pattern that a solution stands for, where kinks attract; `upper` are the bounds of slope 1.
    fn attracted(&self, attracting: &[(usize, Kink)], solution: &Solution, upper: &[f64]) -> Pattern {
        let mut pattern = Pattern { sides: self.piece.pattern.sides.clone(), held: Vec::new() };
        let mut slide = Columns::new(self.span.k);
        for ((g, _), _) in attracting.iter().zip(&solution.places).filter(|(_, place)| **place == Place::Inside) {
            slide.push(self.span.kink(*g));
        }
        for (j, (g, _)) in attracting.iter().enumerate() {
            pattern.sides[*g] = match solution.places[j] {
                Place::Inside => Side::Sliding,
                // What depends on rows that slide cannot leave its kink, whatever the bound its slope is at.
                _ if slide.contains(self.span.kink(*g)) => {
                    pattern.held.push((*g, solution.x[j] / upper[j]));
                    Side::Sliding
                }
                Place::Upper => Side::Positive,
                Place::Lower => Side::Negative,
            };
        }
        pattern
    }
}
