//! Non-negative least squares by its conditions, and the end of flows that cannot interpolate.

use super::*;
use crate::limit::diagonal::tests::{Problem, Random};
use crate::real::Real;

/// `B = 0` in every coordinate: β ≥ 0.
fn one_sided(x: &[f64], y: &[f64], log_a: f64) -> Problem {
    let start = (0..x.len() / y.len())
        .map(|_| (DoubleDouble::from_f64(log_a), DoubleDouble::from_f64(f64::NEG_INFINITY)))
        .collect();
    Problem { x: x.to_vec(), y: y.to_vec(), start }
}

#[test]
fn non_negative_least_squares_satisfies_its_optimality_conditions() {
    let mut random = Random(31);
    for case in 0..5000 {
        let (n, columns) = (1 + case % 6, 1 + case % 9);
        let a: Vec<Vec<f64>> = (0..columns).map(|_| random.vector(n)).collect();
        let b = random.vector(n);
        let r = non_negative(&a, &b);
        // aᵀr ≤ 0 for every column, and rᵀ(b − r) = 0: what is reached is orthogonal to what is not.
        let size = norm(&b);
        for (j, a) in a.iter().enumerate() {
            assert!(inner(a, &r) <= 1e-10 * norm(a) * size, "case {case}: column {j} still pulls");
        }
        let reached: Vec<f64> = b.iter().zip(&r).map(|(b, r)| b - r).collect();
        assert!(inner(&r, &reached).abs() <= 1e-12 * size * size, "case {case}");
    }
}

#[test]
fn the_end_under_the_signs_is_the_constrained_least_squares_point() {
    let mut random = Random(32);
    let mut infeasible = 0;
    for case in 0..60 {
        let (n, d) = (2 + case % 3, 2 + case % 4);
        let (x, y) = (random.vector(n * d), random.vector(n));
        let problem = one_sided(&x, &y, [0.0, -10.0, -300.0][case % 3]);
        let found = problem.limit();
        assert!(found.status.success(), "case {case}: {:?}", found.status);
        if found.status != Status::InfeasibleSign {
            continue;
        }
        infeasible += 1;
        let beta: Vec<DoubleDouble> = found.beta.iter().map(|b| DoubleDouble::from_f64(*b)).collect();
        let residual = problem.residual(&beta);
        let mut pull = vec![0.0; d];
        problem.rows().apply_transposed(&residual, &mut pull);
        for (beta, pull) in found.beta.iter().zip(&pull) {
            // β ≥ 0, Xᵀr ≤ 0, and one of the two is 0.
            assert!(*beta >= 0.0 && *pull <= 1e-9, "case {case}: β = {beta}, pull {pull}");
            assert!(beta * pull.abs() <= 1e-9 * (1.0 + beta), "case {case}: β = {beta}, pull {pull}");
        }
    }
    assert!(infeasible >= 30, "only {infeasible} of 60 cannot interpolate");
}

#[test]
fn where_every_coefficient_is_pushed_out_nothing_moves() {
    let found = one_sided(&[1.0, 2.0], &[-1.0], 0.0).limit();
    assert_eq!((found.status, &found.beta[..]), (Status::InfeasibleSign, &[0.0, 0.0][..]));
    assert!(found.multipliers.iter().all(|v| v.is_finite()));
}

#[test]
fn units_do_not_tell_the_signs_apart() {
    let (x, y) = ([1.0, 2.0, -0.5, 0.25, -1.0, 2.0], [-1.0, 1.0]);
    let plain = one_sided(&x, &y, 0.0).limit();
    assert_eq!(plain.status, Status::InfeasibleSign);
    assert!(plain.beta[2] > 0.1);
    for power in [-990, -600, 300, 600, 990] {
        let scaled = |v: &[f64], power: i32| -> Vec<f64> { v.iter().map(|v| scale_by_power(*v, power)).collect() };
        let log = f64::from(power) * core::f64::consts::LN_2;
        let of_data = one_sided(&scaled(&x, power), &y, -log).limit();
        let of_targets = one_sided(&x, &scaled(&y, power), log).limit();
        for (found, unit) in [(of_data, power), (of_targets, -power)] {
            assert_eq!(found.status, Status::InfeasibleSign, "2^{power}");
            for (found, plain) in found.beta.iter().zip(&plain.beta) {
                let back = scale_by_power(*found, unit);
                assert!((back - plain).abs() <= 1e-13, "2^{power}: {back} instead of {plain}");
            }
        }
    }
}
