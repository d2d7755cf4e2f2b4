//! β and S as functions of G: two precisions, the inverse, and the costs of the entropic program.

use super::*;
use crate::limit::diagonal::exponents::{Exponents, Scratch};

fn start(pairs: &[(f64, f64)]) -> Start {
    pairs.iter().map(|(a, b)| (DoubleDouble::from_f64(*a), DoubleDouble::from_f64(*b))).collect()
}

/// Two-sided, biased, one-sided on either side, and frozen.
fn all_kinds(log_kappa: f64) -> Start {
    let never = f64::NEG_INFINITY;
    start(&[
        (log_kappa, log_kappa),
        (log_kappa + 3.0, log_kappa - 5.0),
        (log_kappa, never),
        (never, log_kappa),
        (never, never),
    ])
}

/// G at which coefficients of size e^`size` appear.
fn reaching(log_kappa: f64, size: f64) -> Vec<f64> {
    let g = 0.5 * (size - log_kappa);
    vec![g, -g, g, -g, g]
}

fn evaluate(exponents: &Exponents, g: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (mut beta, mut slope) = (vec![0.0; g.len()], vec![0.0; g.len()]);
    exponents.evaluate(g, &mut beta, &mut slope, &mut Scratch::default());
    (beta, slope)
}

#[test]
fn binary64_and_double_double_agree_to_the_round_off_of_the_exponents() {
    for log_kappa in [40.0, 0.0, -30.0, -700.0, -5000.0, -230_258.0] {
        for size in [-20.0, -1.0, 0.0, 5.0] {
            let exponents = Exponents::of(&all_kinds(log_kappa), 0);
            let g = reaching(log_kappa, size);
            let (beta, slope) = evaluate(&exponents, &g);
            let exact_g: Vec<DoubleDouble> = g.iter().map(|g| DoubleDouble::from_f64(*g)).collect();
            let (mut exact, mut exact_slope) = (vec![DoubleDouble::ZERO; g.len()], vec![0.0; g.len()]);
            exponents.evaluate_exactly(&exact_g, 0.0, &mut exact, &mut exact_slope);
            for i in 0..g.len() {
                let (exponent, shifted) = exponents.sizes(i, g[i]);
                // Rounded exponents act on β relatively, a rounded z through S; a few units for the functions.
                let u = f64::EPSILON / 2.0;
                let allowed = (2.0 * exponent + 10.0) * u * exact[i].to_f64().abs() + shifted * u * exact_slope[i];
                let error = (exact[i] - DoubleDouble::from_f64(beta[i])).to_f64().abs();
                assert!(error <= allowed, "ln κ = {log_kappa}, size {size}, side {i}: {error:e} > {allowed:e}");
                let error = (slope[i] - exact_slope[i]).abs();
                assert!(error <= (4.0 * exponent + 10.0) * u * exact_slope[i], "slope of side {i}: {error:e}");
            }
        }
    }
}

#[test]
fn the_slope_is_the_derivative_and_the_root_of_the_squares() {
    for log_kappa in [3.0, -4.0, -30.0] {
        let exponents = Exponents::of(&all_kinds(log_kappa), 0);
        let g = reaching(log_kappa, 0.5);
        let h = 1e-4;
        let moved = |h: f64| evaluate(&exponents, &g.iter().map(|g| g + h).collect::<Vec<_>>()).0;
        let ((up, down), (beta, slope)) = ((moved(h), moved(-h)), evaluate(&exponents, &g));
        for i in 0..g.len() {
            // The third derivative is 4S: the central difference errs by ⅔ h² S, and by ε|β|(1 + |exponent|)/h.
            let difference = (up[i] - down[i]) / (2.0 * h);
            assert!((difference - slope[i]).abs() <= (h * h + 1e-10) * slope[i], "side {i}: {difference}");
        }
        let kappa = log_kappa.exp();
        let root = (4.0 * beta[0] * beta[0] + kappa * kappa).sqrt();
        assert!((slope[0] - root).abs() <= 1e-14 * root, "S² = 4β² + κ²: {} instead of {root}", slope[0]);
    }
}

#[test]
fn the_inverse_undoes_the_evaluation() {
    for log_kappa in [40.0, 0.0, -30.0, -700.0, -230_258.0] {
        let exponents = Exponents::of(&all_kinds(log_kappa), 0);
        let g = reaching(log_kappa, -2.0);
        let (beta, slope) = evaluate(&exponents, &g);
        for i in 0..4 {
            let Some((back, s)) = exponents.invert(i, beta[i]) else { panic!("side {i} has an inverse") };
            let (exponent, _) = exponents.sizes(i, g[i]);
            // An error of ε(1 + |exponent|) in β is one of at most half of that in G where S ≤ 2|β|; where β ≪ κ (the
            // first ln κ) relative errors of β are relative errors of z, itself at most the exponent.
            let allowed = 2.0 * f64::EPSILON * (2.0 + exponent);
            assert!((back - g[i]).abs() <= allowed, "ln κ = {log_kappa}, side {i}: {back} instead of {}", g[i]);
            assert!((s - slope[i]).abs() <= 4.0 * f64::EPSILON * (2.0 + exponent) * slope[i], "slope of side {i}");
        }
        for (i, wrong) in [(2, 0.0), (2, -1.0), (3, 0.0), (3, 1.0), (4, 0.0), (4, 1.0)] {
            assert_eq!(exponents.invert(i, wrong), None, "side {i} does not reach {wrong}");
        }
    }
}

#[test]
fn costs_are_those_of_the_entropic_program_and_units_only_shift_them() {
    let start = all_kinds(-10.0);
    let (plain, shifted) = (Exponents::of(&start, 0), Exponents::of(&start, 7));
    let four = 4.0_f64.ln();
    for i in 0..5 {
        let (positive, negative) = plain.costs(i);
        // ln(4/A): infinite for A = 0.
        for (cost, log) in [(positive, start.log_a[i]), (negative, start.log_b[i])] {
            let expected = four - log.to_f64();
            assert!(cost == expected || (cost - expected).abs() <= 1e-14, "side {i}: {cost} instead of {expected}");
        }
        let (moved, _) = shifted.costs(i);
        let unit = 7.0 * core::f64::consts::LN_2;
        assert!(moved == positive || (moved - positive - unit).abs() <= 1e-14, "β in units of 2⁷: A shrinks by 2⁷");
        assert_eq!(plain.bound_sign(i), [None, None, Some(1.0), Some(-1.0), Some(0.0)][i]);
    }
}
