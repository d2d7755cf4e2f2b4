//! The structured solves against the right-hand side itself.

use super::super::modes::Modes;
use super::super::span::SpanFlow;
use super::Random;
use crate::ode::{Implicit, ShiftedSolver, System};

struct Setting {
    modes: Modes,
    m: usize,
    state: Vec<f64>,
}

impl Setting {
    fn random(m: usize, rank: usize, seed: u64) -> Self {
        let mut random = Random(seed);
        let mut sigma: Vec<f64> = (0..rank).map(|_| 0.1 + 3.0 * random.uniform()).collect();
        sigma.sort_by(|a, b| b.total_cmp(a));
        let targets = random.vector(rank);
        Self { modes: Modes::new(&sigma, targets, rank as f64), m, state: random.vector(m * (1 + rank)) }
    }

    /// `J x` from values of the right-hand side: it is a polynomial of degree 3, for which this difference is exact.
    fn derivative(&self, x: &[f64]) -> Vec<f64> {
        let mut flow = SpanFlow::new(&self.modes, self.m, (1e-10, 1e-10), true);
        let mut at = |h: f64| {
            let point: Vec<f64> = self.state.iter().zip(x).map(|(y, x)| y + h * x).collect();
            let mut out = vec![0.0; x.len()];
            flow.rhs(0.0, &point, &mut out);
            out
        };
        let [one, minus_one, two, minus_two] = [1.0, -1.0, 2.0, -2.0].map(&mut at);
        (0..x.len()).map(|i| (8.0 * (one[i] - minus_one[i]) - (two[i] - minus_two[i])) / 12.0).collect()
    }
}

fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |most: f64, v| most.max(v.abs()))
}

#[test]
fn a_real_shift_is_solved_as_the_dense_jacobian_would() {
    for (m, rank, seed) in [(1, 1, 1), (1, 7, 2), (2, 3, 3), (5, 4, 4), (9, 8, 5)] {
        let setting = Setting::random(m, rank, seed);
        let flow = &mut SpanFlow::new(&setting.modes, m, (1e-10, 1e-10), true);
        let mut solver = flow.new_solver();
        assert!(flow.jacobian(0.0, &setting.state, &mut solver));
        let b = Random(seed + 100).vector(m * (1 + rank));
        for lambda in [0.3, 7.0, 1e4] {
            assert!(solver.prepare_real(lambda));
            let mut x = b.clone();
            solver.solve_real(&mut x);
            let jx = setting.derivative(&x);
            // Entries of J are below 100 here; the differences above cancel two digits.
            for ((x_i, jx), b) in x.iter().zip(&jx).zip(&b) {
                let error = (lambda * x_i - jx - b).abs();
                assert!(error < 1e-10 * (lambda + 100.0) * largest(&x), "m = {m}, λ = {lambda}: {error:e}");
            }
        }
    }
}

#[test]
fn complex_shifts_are_solved_each_in_its_slot() {
    let (m, rank) = (3, 5);
    let setting = Setting::random(m, rank, 8);
    let flow = &mut SpanFlow::new(&setting.modes, m, (1e-10, 1e-10), true);
    let mut solver = flow.new_solver();
    assert!(flow.jacobian(0.0, &setting.state, &mut solver));
    let shifts = [(0.7, 2.0), (40.0, -30.0)];
    for (slot, (re, im)) in shifts.into_iter().enumerate() {
        assert!(solver.prepare_complex(slot, re, im));
    }
    let (b, c) = (Random(9).vector(m * (1 + rank)), Random(10).vector(m * (1 + rank)));
    for (slot, (re, im)) in shifts.into_iter().enumerate() {
        let (mut x, mut y) = (b.clone(), c.clone());
        solver.solve_complex(slot, &mut x, &mut y);
        let (jx, jy) = (setting.derivative(&x), setting.derivative(&y));
        let tolerance = 1e-10 * (re + im.abs() + 100.0) * (largest(&x) + largest(&y));
        for i in 0..x.len() {
            assert!((re * x[i] - im * y[i] - jx[i] - b[i]).abs() < tolerance);
            assert!((re * y[i] + im * x[i] - jy[i] - c[i]).abs() < tolerance);
        }
    }
}

#[test]
fn a_shift_that_is_an_eigenvalue_is_refused() {
    // At the origin J couples a and c along g alone: its eigenvalues are ±|g| and 0.
    let modes = Modes::new(&[1.0], vec![2.0], 1.0);
    let flow = &mut SpanFlow::new(&modes, 1, (1e-10, 1e-10), true);
    let mut solver = flow.new_solver();
    assert!(flow.jacobian(0.0, &[0.0, 0.0], &mut solver));
    assert!(!solver.prepare_real(2.0));
    assert!(solver.prepare_real(2.5));
    assert!(!flow.jacobian(0.0, &[f64::NAN, 0.0], &mut solver));
}
