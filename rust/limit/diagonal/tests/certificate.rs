//! The bound is never below the error, wherever the point is, and follows it down.

use super::*;
use crate::limit::diagonal::certificate::{Evidence, Inverse, by_gram, certify};
use crate::linalg::{Cholesky, SquareMatrix, WeightedGram};

/// The bound at `ν` for `β(ν)` known to thirty digits and rounded, and the true errors there. `enough`: the bound that
/// needs no more work.
fn at(problem: &Problem, nu: &[DoubleDouble], truth: &[DoubleDouble], enough: f64) -> (Vec<f64>, Vec<f64>) {
    let x = problem.rows();
    let (exact, slope) = problem.predictor(nu);
    let beta: Vec<f64> = exact.iter().map(|b| b.to_f64()).collect();
    let residual = problem.residual(&exact);
    let mut kernel = SquareMatrix::zeros(x.n());
    WeightedGram::new(x.n(), x.d()).form(x, &slope, &mut kernel);
    let mut cholesky = Cholesky::new(x.n());
    assert_eq!(cholesky.factor_scaled(&kernel), Some(0.0));
    // Rounding to binary64, and the thirty digits of `predictor` for exponents below 100.
    let rounding: Vec<f64> = beta.iter().map(|b| f64::EPSILON * b.abs() + 1e-26).collect();
    let inverse = Inverse::of(&cholesky);
    let bound = certify(&Evidence {
        x,
        slope: &slope,
        slope_error: f64::EPSILON,
        beta_error: &rounding,
        residual: &residual,
        residual_error: &vec![1e-25; x.n()],
        cholesky: &cholesky,
        inverse: &inverse,
        moved: 0.0,
        factor_error: by_gram(x, &cholesky, &inverse),
        enough,
    });
    (bound, errors(&beta, truth))
}

#[test]
fn no_bound_at_a_perturbed_point_is_below_the_error_and_it_shrinks_with_the_perturbation() {
    let mut random = Random(1);
    let (mut stated, mut estimates) = (0, 0);
    for case in 0..120 {
        let problem = Problem::random(&mut random, 1 + case % 4, [1.0, -3.0, -12.0][case % 3]);
        let (nu, truth) = problem.truth(&problem.limit().multipliers);
        let direction = random.vector(nu.len());
        let mut movement = vec![0.0; truth.len()];
        problem.rows().apply_transposed(&direction, &mut movement);
        let unit = 2.0 * largest(&movement);
        let mut before = f64::INFINITY;
        for size in [1e-1, 1e-2, 1e-4, 1e-6, 1e-8] {
            let there: Vec<DoubleDouble> =
                nu.iter().zip(&direction).map(|(nu, d)| nu.add_f64(size / unit * d)).collect();
            let (bound, error) = at(&problem, &there, &truth, 0.0);
            let (estimated, _) = at(&problem, &there, &truth, f64::MAX);
            for (i, ((bound, estimated), error)) in bound.iter().zip(&estimated).zip(&error).enumerate() {
                assert!(error <= bound, "case {case}, moved {size:e}, coefficient {i}: {error:e} > {bound:e}");
                assert!(error <= estimated, "case {case}, moved {size:e}, coefficient {i}: {error:e} > {estimated:e}");
            }
            estimates += usize::from(estimated != bound);
            let most = largest(&bound);
            if most.is_finite() {
                stated += 1;
                // THEORY §1: within a small factor of the largest error once 2τλ is small.
                assert!(size > 1e-4 || most <= 10.0 * largest(&error) + 1e-13, "case {case}: {most:e} at {size:e}");
                assert!(most < before, "case {case}: {most:e} at {size:e} after {before:e}");
                before = most;
            }
        }
    }
    assert!(stated > 400, "only {stated} statements in 600");
    assert!(estimates > 300, "only {estimates} estimates in 600");
}

#[test]
fn no_bound_of_a_limit_is_below_its_error() {
    let mut random = Random(2);
    for case in 0..300 {
        let log_kappa = [2.0, -3.0, -12.0, -25.0, -60.0][case % 5];
        let problem = Problem::random(&mut random, 1 + case % 4, log_kappa);
        let found = problem.limit();
        assert!(found.status.success(), "case {case}: {:?}", found.status);
        let (_, truth) = problem.truth(&found.multipliers);
        let bound = found.error_bound.unwrap_or_default();
        assert_eq!(bound.len(), truth.len());
        for (i, (error, bound)) in errors(&found.beta, &truth).iter().zip(&bound).enumerate() {
            assert!(error <= bound, "case {case}, coefficient {i}: {error:e} > {bound:e}");
        }
        let exact: Vec<DoubleDouble> = found.beta.iter().map(|b| DoubleDouble::from_f64(*b)).collect();
        for (residual, bound) in problem.residual(&exact).iter().zip(&found.backward_error) {
            assert!(residual.abs() <= *bound, "case {case}: residual {residual:e} > {bound:e}");
        }
    }
}

#[test]
fn scales_where_squares_underflow_are_bounded_all_the_same() {
    // κ/|y| from 1e250 to 1e300: S = 1e300, whitened residuals of 1e-166. There β = X⁺y to all digits.
    for exponent in [250.0, 280.0, 295.0, 300.0] {
        let x = [1.0, 2.0, -0.5, 0.3, -1.0, 2.0];
        let problem = Problem::unbiased(&x, &[1.0, -2.0], exponent * core::f64::consts::LN_10);
        let found = problem.limit();
        // X⁺ = Xᵀ(XXᵀ)⁻¹ with XXᵀ = [[5.25, −2.7], [−2.7, 5.09]] (0.3 is not exact: 1e-15 is granted).
        let determinant = 5.25 * 5.09 - 2.7 * 2.7;
        let w = [(5.09 - 2.0 * 2.7) / determinant, (2.7 - 2.0 * 5.25) / determinant];
        for (i, bound) in found.error_bound.unwrap_or_default().iter().enumerate() {
            let error = (found.beta[i] - (x[i] * w[0] + x[3 + i] * w[1])).abs();
            assert!(error <= bound + 1e-15, "κ = 1e{exponent}: {error:e} > {bound:e}");
        }
    }
}
