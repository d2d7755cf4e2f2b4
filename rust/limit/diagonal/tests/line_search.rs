//! A damped step ends where the dual is flat along it, which is further than the safe length or no further than the minimum.

use super::*;
use crate::limit::diagonal::dual::{Point, Step};
use crate::limit::diagonal::line_search::shorten;
use crate::linalg::{Cholesky, WeightedGram};

/// `Ψ(ν) = ¼ΣS_i − yᵀν`, in the units of the point.
fn dual(space: &RowSpace<'_>, point: &Point) -> f64 {
    let pairing: f64 = space.target.iter().zip(&point.nu).map(|(y, nu)| y * nu).sum();
    0.25 * point.slope.iter().sum::<f64>() - pairing
}

#[test]
fn a_damped_step_ends_where_the_dual_is_flat_along_it_and_below_where_it_began() {
    let mut random = Random(11);
    let mut long = 0;
    for case in 0..200 {
        let problem = Problem::random(&mut random, 1 + case % 5, [-2.0, -6.0, -11.0][case % 3]);
        let space = RowSpace::of(problem.rows(), &problem.y);
        let exponents = Exponents::of(&problem.start, space.units().unit);
        let (mut from, mut there) = (Point::new(&space), Point::new(&space));
        from.evaluate(&space, &exponents, 1.0);
        let mut step = Step::new(&space);
        step.nu.copy_from_slice(&from.white);
        let mut cholesky = Cholesky::new(space.dim());
        if cholesky.factor_scaled(&WeightedGram::of(space.rows(), &from.slope)) != Some(0.0) {
            continue;
        }
        cholesky.solve(&mut step.nu);
        space.rows().apply_transposed(&step.nu, &mut step.g);
        let movement = step.movement();
        if movement < 1.0 {
            continue;
        }
        long += 1;
        shorten(&mut step, movement, &from, &mut there, &exponents);
        there.evaluate_step(&from, &step, &space, &exponents, 1.0);
        let along = |point: &Point| point.white.iter().zip(&step.nu).map(|(r, d)| r * d).sum::<f64>();
        // A twentieth is what is asked for; the residual along the step is the same number by other operations.
        assert!(along(&there).abs() <= 0.051 * along(&from), "case {case}: {} of {}", along(&there), along(&from));
        assert!(dual(&space, &there) < dual(&space, &from), "case {case}");
        // The decrease that the safe length guarantees, rᵀδ(m − ln(1+m))/m² (self-concordance), is a lower bound here.
        let sure = along(&from) * (movement - movement.ln_1p()) / (movement * movement);
        let fall = dual(&space, &from) - dual(&space, &there);
        assert!(fall >= sure * (1.0 - 1e-9), "case {case}: {fall} < {sure}");
    }
    assert!(long > 100, "only {long} steps were long");
}
