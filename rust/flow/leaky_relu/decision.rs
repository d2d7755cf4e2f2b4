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
use super::number::Number;
use super::segment::{Kink, Pattern, Piece, Side};
use super::span::Span;
use super::vectors::Vectors;

/// Kinks that repel at one time in one neuron, at most: every choice of their sides is looked at.
const MOST_REPELLING: usize = 12;
/// Roundings of a velocity, in units of the last place of the largest push.
const ROUND_OFF: f64 = 256.0;

/// One neuron with some samples on their kinks.
#[derive(Debug)]
pub(super) struct Decision<'a, R = f64> {
    pub(super) span: &'a Span<R>,
    pub(super) slope: f64,
    /// The sign of a.
    pub(super) sign: f64,
    pub(super) residual: &'a [R],
    /// Residuals below this are round-off.
    pub(super) noise: f64,
    /// The neuron before the decision.
    pub(super) piece: &'a Piece<R>,
    /// The kinks it lies on.
    pub(super) on: &'a [usize],
}

impl<R: Number> Decision<'_, R> {
    /// The pattern from now on. `arriving`: the kinks among them that were just reached, from the side in the pattern;
    /// those that repel are crossed if that agrees with the velocity. None if the flow could go on in several ways.
    pub(super) fn settle(&self, arriving: &[usize]) -> Option<Pattern> {
        let kinks: Vec<(usize, Kink<R>)> =
            self.on.iter().map(|g| (*g, Kink::new(self.span, self.slope, *g, self.residual))).collect();
        let attracts = |(g, kink): &(usize, Kink<R>)| {
            let terms: f64 = self.span.kinks[*g].iter().map(|(_, factor)| factor.to_f64().abs()).sum();
            self.sign * kink.attraction.to_f64() < -self.noise * terms
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
    fn choice(
        &self,
        attracting: &[(usize, Kink<R>)],
        repelling: &[(usize, Kink<R>)],
        sides: &[Side],
    ) -> Option<Pattern> {
        let (push, size) = self.push(attracting, repelling, sides);
        let mut vectors = Vectors::new(self.span.k);
        for (g, _) in attracting {
            vectors.push(&self.span.kink(*g));
        }
        let upper: Vec<R> = attracting.iter().map(|(_, kink)| kink.attraction.abs()).collect();
        let lower: Vec<R> = upper.iter().map(|most| R::from_f64(self.slope) * *most).collect();
        let problem = BoxLeastSquares { vectors: &vectors, b: &push, lower: &lower, upper: &upper };
        let solution = problem.solve()?;
        let velocity = problem.residual(&solution.x);
        let mut pattern = self.attracted(attracting, &solution, &upper);
        for ((g, _), side) in repelling.iter().zip(sides) {
            let v = self.span.along(*g, &velocity).to_f64();
            if !(v * side.sign() >= -ROUND_OFF * R::ULP * size * self.span.kink_norm(*g)) {
                return None;
            }
            pattern.sides[*g] = *side;
        }
        Some(pattern)
    }

    /// `b`: the push, with the sign of a, of all samples but the slopes of those that attract; and the size of its terms.
    fn push(&self, attracting: &[(usize, Kink<R>)], repelling: &[(usize, Kink<R>)], sides: &[Side]) -> (Vec<R>, f64) {
        let span = self.span;
        let (mut push, mut size) = (vec![R::ZERO; span.k], 0.0);
        let mut add = |weight: R, n: usize| {
            span.rows.axpy(n, R::from_f64(self.sign) * weight, &mut push);
            size += weight.to_f64().abs() * span.norms[n];
        };
        for kink in span.kinks.iter().enumerate().filter(|(g, _)| !self.on.contains(g)).map(|(_, kink)| kink) {
            for (n, _) in kink {
                add(R::from_f64(self.piece.slopes[*n]) * self.residual[*n], *n);
            }
        }
        for ((g, kink), side) in repelling.iter().zip(sides) {
            let c = if *side == Side::Positive { 1.0 } else { self.slope };
            add(kink.attraction * R::from_f64(c) - kink.offset, span.kinks[*g][0].0);
        }
        for (g, kink) in attracting {
            add(-kink.offset, span.kinks[*g][0].0);
        }
        (push, size)
    }

    /// The pattern that a solution stands for, where kinks attract; `upper` are the bounds of slope 1.
    fn attracted(&self, attracting: &[(usize, Kink<R>)], solution: &Solution<R>, upper: &[R]) -> Pattern {
        let mut pattern = Pattern { sides: self.piece.pattern.sides.clone(), held: Vec::new() };
        let mut slide = Columns::new(self.span.k);
        for ((g, _), _) in attracting.iter().zip(&solution.places).filter(|(_, place)| **place == Place::Inside) {
            slide.push(&self.span.kink(*g));
        }
        for (j, (g, _)) in attracting.iter().enumerate() {
            pattern.sides[*g] = match solution.places[j] {
                Place::Inside => Side::Sliding,
                // What depends on rows that slide cannot leave its kink, whatever the bound its slope is at.
                _ if slide.contains(&self.span.kink(*g)) => {
                    pattern.held.push((*g, (solution.x[j] / upper[j]).to_f64()));
                    Side::Sliding
                }
                Place::Upper => Side::Positive,
                Place::Lower => Side::Negative,
            };
        }
        pattern
    }
}
