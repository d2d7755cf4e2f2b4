//! What becomes of samples on their kinks: the decision satisfies the inclusion that defines it.

use crate::flow::leaky_relu::decision::Decision;
use crate::flow::leaky_relu::segment::{Pattern, Piece, Side};
use crate::flow::leaky_relu::span::Span;
use crate::flow::leaky_relu::testing::Random;
use crate::linalg::Rows;
use crate::real::Real;

/// `X̃ᵀ(r∘c)`, the slopes of sliding samples included.
fn push(span: &Span, piece: &Piece, slope: f64, r: &[f64]) -> Vec<f64> {
    let mut force = vec![0.0; span.k];
    let mut slopes = piece.slopes.clone();
    for (g, c) in piece.sliding.iter().zip(piece.sliding_slopes(span, slope, r)) {
        for (n, factor) in &span.kinks[*g] {
            slopes[*n] = if *factor > 0.0 { c } else { 1.0 + slope - c };
        }
    }
    for (g, c) in &piece.pattern.held {
        span.kinks[*g].iter().for_each(|(n, factor)| slopes[*n] = if *factor > 0.0 { *c } else { 1.0 + slope - c });
    }
    for (n, c) in slopes.iter().enumerate() {
        f64::axpy(c * r[n], span.row(n), &mut force);
    }
    force
}

/// After a decision every sample on its kink moves to the side it was given, or stays with a slope in [ρ, 1].
fn holds(span: &Span, piece: &Piece, slope: f64, a: f64, r: &[f64], on: &[usize]) {
    let force = push(span, piece, slope, r);
    for g in on {
        let v = a * span.along(*g, &force);
        match piece.pattern.sides[*g] {
            Side::Sliding => assert!(v.abs() < 1e-13, "kink {g} slides and moves: {v:e}"),
            side => assert!(v * side.sign() > -1e-13, "kink {g} is left against its velocity {v:e}"),
        }
    }
    for c in piece.sliding_slopes(span, slope, r) {
        assert!((slope - 1e-12..=1.0 + 1e-12).contains(&c), "a slope of {c}");
    }
}

#[test]
fn every_decision_satisfies_the_differential_inclusion() {
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
        let Some(rows) = Rows::new(&x, n, d) else { panic!() };
        let span = Span::new(rows, &y, true);
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
