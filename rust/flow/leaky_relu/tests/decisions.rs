//! What becomes of samples on their kinks: the decision satisfies the inclusion that defines it.

use crate::flow::leaky_relu::decision::Decision;
use crate::flow::leaky_relu::number::Number;
use crate::flow::leaky_relu::segment::{Pattern, Piece, Side};
use crate::flow::leaky_relu::span::Span;
use crate::flow::leaky_relu::testing::Random;
use crate::linalg::Rows;
use crate::real::DoubleDouble;

/// `X̃ᵀ(r∘c)`, the slopes of sliding samples included.
fn push<R: Number>(span: &Span<R>, piece: &Piece<R>, slope: f64, r: &[R]) -> Vec<R> {
    let mut force = vec![R::ZERO; span.k];
    let mut slopes: Vec<R> = piece.slopes.iter().map(|c| R::from_f64(*c)).collect();
    let held = piece.pattern.held.iter().map(|(g, c)| (*g, R::from_f64(*c)));
    let found = piece.sliding.iter().copied().zip(piece.sliding_slopes(span, slope, r));
    for (g, c) in found.chain(held) {
        for (n, factor) in &span.kinks[g] {
            slopes[*n] = if *factor > R::ZERO { c } else { R::ONE + R::from_f64(slope) - c };
        }
    }
    for (n, c) in slopes.iter().enumerate() {
        span.rows.axpy(n, *c * r[n], &mut force);
    }
    force
}

/// After a decision every sample on its kink moves to the side it was given, or stays with a slope in [ρ, 1].
fn holds<R: Number>(span: &Span<R>, piece: &Piece<R>, slope: f64, a: f64, r: &[R], on: &[usize]) {
    let (force, round_off) = (push(span, piece, slope, r), 500.0 * R::ULP);
    for g in on {
        let v = a * span.along(*g, &force).to_f64();
        match piece.pattern.sides[*g] {
            Side::Sliding => assert!(v.abs() < round_off, "kink {g} slides and moves: {v:e}"),
            side => assert!(v * side.sign() > -round_off, "kink {g} is left against its velocity {v:e}"),
        }
    }
    for c in piece.sliding_slopes(span, slope, r) {
        let (below, above) = (c - R::from_f64(slope), c - R::ONE);
        assert!(below.to_f64() >= -10.0 * round_off && above.to_f64() <= 10.0 * round_off, "a slope of {c:?}");
    }
}

fn every_decision_satisfies_the_inclusion<R: Number>() {
    let mut random = Random::new(5);
    let (n, d, slope) = (6, 4, 0.2);
    let (mut slides, mut leaves, mut ambiguous) = (0, 0, 0);
    for round in 0..300 {
        let (mut x, y, r) = (random.vector(n * d), random.vector(n), random.vector(n));
        if round % 3 == 0 {
            // An antipode and a multiple.
            for k in 0..d {
                x[d + k] = -x[k];
                x[2 * d + k] = 2.0 * x[k];
            }
        }
        let exact = |v: &[f64]| v.iter().map(|v| R::from_f64(*v)).collect::<Vec<R>>();
        let Some(rows) = Rows::new(&x, n, d) else { panic!() };
        let (span, r) = (Span::new(rows, &exact(&y), true), exact(&r));
        let a = if round % 2 == 0 { 1.0 } else { -1.0 };
        let sides = (0..span.kinks.len()).map(|_| Side::of(random.number())).collect();
        let before = Piece::new(&span, slope, Pattern { sides, held: Vec::new() });
        // Up to all of them, which is more than there are dimensions.
        let on: Vec<usize> = (0..span.kinks.len().min(1 + round % 6)).collect();
        let decision = Decision { span: &span, slope, sign: a, residual: &r, noise: 0.0, piece: &before, on: &on };
        let Some(pattern) = decision.settle(&[]) else {
            ambiguous += 1;
            continue;
        };
        for g in &on {
            if pattern.sides[*g] == Side::Sliding { slides += 1 } else { leaves += 1 }
        }
        holds(&span, &Piece::new(&span, slope, pattern), slope, a, &r, &on);
    }
    assert!(slides > 50 && leaves > 50 && ambiguous > 10, "{slides} {leaves} {ambiguous}");
}

#[test]
fn every_decision_satisfies_the_differential_inclusion() {
    every_decision_satisfies_the_inclusion::<f64>();
}

#[test]
fn every_decision_of_thirty_digits_satisfies_it_to_thirty_digits() {
    every_decision_satisfies_the_inclusion::<DoubleDouble>();
}
