//! The structured solves against the right-hand side itself.

use super::super::lifted::LiftedFlow;
use super::super::prepare::Prepared;
use super::{Case, Random, shapes};
use crate::ode::{Implicit, ShiftedSolver, System};

/// `J x` from values of the right-hand side: it is a polynomial of degree 3, for which this difference is exact.
fn derivative(flow: &mut LiftedFlow<'_>, state: &[f64], x: &[f64]) -> Vec<f64> {
    let mut at = |h: f64| {
        let point: Vec<f64> = state.iter().zip(x).map(|(y, x)| y + h * x).collect();
        let mut out = vec![0.0; x.len()];
        flow.rhs(0.0, &point, &mut out);
        out
    };
    let [one, minus_one, two, minus_two] = [1.0, -1.0, 2.0, -2.0].map(&mut at);
    (0..x.len()).map(|i| (8.0 * (one[i] - minus_one[i]) - (two[i] - minus_two[i])) / 12.0).collect()
}

fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |most: f64, v| most.max(v.abs()))
}

#[test]
fn every_shift_is_solved_as_the_dense_jacobian_would() {
    for (seed, factors) in shapes(3).into_iter().enumerate() {
        let case = Case::gaussian(4, factors, 2, seed as u64 + 1);
        let prepared = Prepared::of(&case.problem());
        let mut flow = LiftedFlow::new(&prepared.modes, factors, (1e-10, 1e-10), true);
        let mut solver = flow.new_solver();
        assert!(flow.jacobian(0.0, &prepared.start, &mut solver));
        let dim = factors.dim();
        let (b, c) = (Random(50).vector(dim), Random(51).vector(dim));
        for (slot, (re, im)) in [(0.7, 2.0), (40.0, -30.0), (1e-3, 0.5)].into_iter().enumerate() {
            assert!(solver.prepare_complex(slot, re, im));
            let mut both = [b.clone(), c.clone()].concat();
            solver.enter_basis(&mut both);
            let (x, y) = both.split_at_mut(dim);
            solver.solve_complex(slot, x, y);
            solver.leave_basis(&mut both);
            let (x, y) = both.split_at(dim);
            let [jx, jy] = [x, y].map(|v| derivative(&mut flow, &prepared.start, v));
            // The differences cancel two digits, the elimination loses those of |J|/|λ|, at most 3 here.
            let tolerance = 1e-9 * (re + im.abs() + 100.0) * (largest(x) + largest(y));
            for i in 0..dim {
                assert!((re * x[i] - im * y[i] - jx[i] - b[i]).abs() < tolerance, "{factors:?}");
                assert!((re * y[i] + im * x[i] - jy[i] - c[i]).abs() < tolerance, "{factors:?}");
            }
        }
        for lambda in [7.3, 1e4] {
            assert!(solver.prepare_real(lambda));
            let mut x = b.clone();
            solver.enter_basis(&mut x);
            solver.solve_real(&mut x);
            solver.leave_basis(&mut x);
            let jx = derivative(&mut flow, &prepared.start, &x);
            for i in 0..dim {
                let error = (lambda * x[i] - jx[i] - b[i]).abs();
                assert!(error < 1e-10 * (lambda + 100.0) * largest(&x), "{factors:?}, λ = {lambda}: {error:e}");
            }
        }
    }
}

#[test]
fn a_shift_that_is_an_eigenvalue_is_refused() {
    // At 0 J is B, of eigenvalues ± σ: one observation of a 1 × 1 matrix, y = 2.
    let mut case = Case::gaussian(1, shapes(1)[2], 1, 1);
    case.factors = super::Factors { d1: 1, d2: 1, k: 1, symmetric: false };
    (case.x, case.y, case.z) = (vec![1.0], vec![2.0], vec![0.0, 0.0]);
    let prepared = Prepared::of(&case.problem());
    let mut flow = LiftedFlow::new(&prepared.modes, case.factors, (1e-10, 1e-10), true);
    let mut solver = flow.new_solver();
    let mut slope = [0.0; 2];
    flow.rhs(0.0, &[1.0, 0.0], &mut slope);
    let rate = slope[1];
    assert!(rate > 0.0 && flow.jacobian(0.0, &[0.0, 0.0], &mut solver));
    assert!(!solver.prepare_real(rate) && solver.prepare_real(1.25 * rate));
    assert!(!flow.jacobian(0.0, &[f64::NAN, 0.0], &mut solver));
}
