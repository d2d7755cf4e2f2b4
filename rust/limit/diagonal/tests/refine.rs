//! The last digits, where binary64 exponents lose them.

use super::*;
use crate::limit::diagonal::exponents::Exponents;
use crate::limit::diagonal::interior_point::InteriorPoint;
use crate::limit::diagonal::refine::{Digits, Frame, Refined};
use crate::limit::row_space::RowSpace;
use crate::linalg::{Cholesky, SquareMatrix, WeightedGram};

fn problem(seed: u64, log_kappa: f64) -> Problem {
    let mut random = Random(seed);
    let (x, y) = (random.vector(5 * 12), random.vector(5));
    Problem::unbiased(&x, &y, log_kappa)
}

#[test]
fn refinement_takes_the_residual_from_the_rounding_of_the_exponents_to_that_of_beta() {
    for seed in 0..5 {
        let problem = problem(seed, -230_258.0);
        let space = RowSpace::of(problem.rows(), &problem.y);
        assert!(space.kernel().is_some(), "the samples are to be the basis here");
        let start = Exponents::of(&problem.start, space.units().unit);
        let mut work = Workspace::new(&space);
        let outcome = work.solve(&space, &start, None, 120, &|| false);
        assert_eq!(outcome.end, End::Floor);
        let point = work.point();
        let y: Vec<DoubleDouble> = space.y.iter().map(|y| DoubleDouble::from_f64(*y)).collect();
        let x = space.samples();
        let frame = Frame { basis: x, x, y: &y, whiten: None, digits: Digits::Sixteen };
        let refined = Refined::from(frame, &start, &point.nu, &point.slope, None);
        let beta: Vec<f64> = refined.beta.iter().map(|b| b.to_f64()).collect();
        let plain = largest(&point.residual) / largest(&space.y);
        let rounded = accuracy::in_binary64_residual(space.samples(), &space.y, &beta);
        let rounded = largest(&rounded) / largest(&space.y);
        // Exponents of 230,258 are known to 1.5e-11; rounding β and twelve products leave a few ε.
        assert!(plain > 1e-14, "seed {seed}: {plain:e} needs no refinement, and this test shows nothing");
        assert!(rounded <= 5e-15, "seed {seed}: {rounded:e}");
        assert!(largest(&refined.residual) <= 1e-20, "seed {seed}: {:e}", largest(&refined.residual));
    }
}

#[test]
fn at_any_scale_the_residual_and_the_bound_are_those_of_rounding() {
    for log_kappa in [0.0, -60.0, -690.0, -5000.0, -230_258.0] {
        let found = problem(7, log_kappa).limit();
        assert_eq!(found.status, Status::Converged);
        // Exponents up to 100 stay in binary64 where that gives 1e-13 of the targets and 1e-10 of the coefficients.
        let (feasible, tight) = if log_kappa < -100.0 { (1e-14, 1e-13) } else { (1e-13, 1e-10) };
        assert!(found.conditions.feasibility <= feasible, "ln κ = {log_kappa}: {:e}", found.conditions.feasibility);
        let bound = found.error_bound.unwrap_or_default();
        assert!(largest(&bound) <= tight * largest(&found.beta), "ln κ = {log_kappa}: {:e}", largest(&bound));
    }
}

#[test]
fn the_interior_point_alone_arrives_where_newton_does() {
    for (seed, log_kappa) in [(11, -20.0), (12, -60.0), (13, -690.0), (14, 1.0)] {
        let problem = problem(seed, log_kappa);
        let space = RowSpace::of(problem.rows(), &problem.y);
        let start = Exponents::of(&problem.start, space.units().unit);
        let (m, d) = (space.dim(), space.samples().d());
        let (mut gram, mut kernel, mut cholesky) = (WeightedGram::new(m, d), SquareMatrix::zeros(m), Cholesky::new(m));
        let mut interior = InteriorPoint::start(&space, m, &start);
        for _ in 0..40 {
            if !interior.step(&space, &mut gram, &mut kernel, &mut cholesky) {
                break;
            }
        }
        let mut nu: Vec<f64> = interior.lambda.iter().map(|l| 0.5 * l).collect();
        space.units().multipliers_out(&mut nu);
        let nu: Vec<DoubleDouble> = nu.iter().map(|v| DoubleDouble::from_f64(*v)).collect();
        let (beta, _) = problem.predictor(&nu);
        let found = problem.limit();
        let error = largest(&errors(&found.beta, &beta));
        // Its multipliers, ln κ long, carry the conditions only to round-off, which β multiplies by their size.
        assert!(error <= 1e-12 * (1.0 + log_kappa.abs()), "ln κ = {log_kappa}: {error:e} apart");
    }
}
