//! The dual gradient flow of a diagonal network in plain binary64, N = 5, d = 20: `ν' = (y − Xβ)/N`,
//! `β = (κ/2) sinh(2Xᵀν)`. The kind of problem the library was written for: the solution moves in bursts that get
//! shorter with κ, and Jacobian eigenvalues grow over many decades on the way.

use super::super::{Action, DenseJacobian, Implicit, Observer, Options, Outcome, Problem, Stats, Status, Step, System};
use super::radau;
use crate::linalg::SquareMatrix;

const SAMPLES: usize = 5;
const FEATURES: usize = 20;

/// Data without a random number generator: `x_ij = sin(i + 1 + 7.3 j + 0.1 i j)·√2`, targets from five coefficients.
fn data() -> (Vec<f64>, Vec<f64>) {
    let entry = |i: usize, j: usize| {
        let (i, j) = (i as f64, j as f64);
        ((i + 1.0) * (j + 1.0) * 0.7 + 1.3 * i * i + 0.37 * j * j).sin() * std::f64::consts::SQRT_2
    };
    let x: Vec<f64> = (0..SAMPLES).flat_map(|i| (0..FEATURES).map(move |j| entry(i, j))).collect();
    let y = (0..SAMPLES).map(|i| x[i * FEATURES..i * FEATURES + 3].iter().sum::<f64>() / 3.0_f64.sqrt()).collect();
    (x, y)
}

fn exponents(x: &[f64], nu: &[f64], j: usize) -> f64 {
    2.0 * (0..SAMPLES).map(|i| x[i * FEATURES + j] * nu[i]).sum::<f64>()
}

/// The flow for `ln κ`, with an absolute tolerance on ν as in a plain program.
fn flow(log_kappa: f64, rtol: f64) -> impl Implicit<f64, Solver = DenseJacobian> {
    let (x, y) = data();
    let (x2, log_half) = (x.clone(), log_kappa - 4.0_f64.ln());
    let rhs = move |_: f64, nu: &[f64], dnu: &mut [f64]| {
        dnu.copy_from_slice(&y);
        for j in 0..FEATURES {
            let z = exponents(&x, nu, j);
            let beta = (log_half + z).exp() - (log_half - z).exp();
            for (i, dnu) in dnu.iter_mut().enumerate() {
                *dnu -= x[i * FEATURES + j] * beta;
            }
        }
        for d in dnu {
            *d /= SAMPLES as f64;
        }
    };
    let jacobian = move |_: f64, nu: &[f64], out: &mut SquareMatrix| {
        for j in 0..FEATURES {
            let z = exponents(&x2, nu, j);
            let slope = 2.0 * ((log_half + z).exp() + (log_half - z).exp());
            for i in 0..SAMPLES {
                for k in 0..SAMPLES {
                    let add = x2[i * FEATURES + j] * slope * x2[k * FEATURES + j] / SAMPLES as f64;
                    out.set(i, k, out.get(i, k) - add);
                }
            }
        }
    };
    Problem::new(SAMPLES, rhs, jacobian, rtol, rtol)
}

/// Ends when the residual is below 1e-12.
struct UntilFitted;

impl<S: System<f64>> Observer<f64, S> for UntilFitted {
    fn step(&mut self, _: &mut S, step: &mut Step<'_, f64, S>) -> Action<f64> {
        let largest = step.dy_new().iter().fold(0.0_f64, |most, slope| most.max(slope.abs()));
        if largest * SAMPLES as f64 <= 1e-12 { Action::Stop } else { Action::Continue }
    }
}

/// The flow until it fits, at rtol 1e-10.
fn until_fitted(log_kappa: f64, stages: (usize, usize)) -> Outcome<f64> {
    let options = Options { rtol: 1e-10, min_stages: stages.0, max_stages: stages.1, ..Options::default() };
    let end = radau(&mut flow(log_kappa, 1e-10), 0.0, &[0.0; SAMPLES], f64::INFINITY, &options, &mut UntilFitted);
    assert_eq!(end.status, Status::Stopped);
    end
}

#[test]
fn the_flow_to_its_end_takes_no_more_steps_than_a_plain_program_of_fixed_order() {
    // A NumPy program with Radau IIA of order 13, extrapolated first guesses, a fresh Jacobian in every step and no
    // prediction of the error constant took (accepted, rejected) on the same data at the same tolerance:
    for (log_kappa, accepted, rejected) in [(-7.0, 22, 3), (-27.0, 32, 7), (-230.0, 56, 31)] {
        let Stats { accepted: ours, rejected: lost, .. } = until_fitted(log_kappa, (7, 7)).stats;
        // Accepted steps within a fifth of it, trials no more than it: it counts on the full order where that is reduced, and
        // holds its tolerance there no longer.
        assert!(10 * ours <= 12 * accepted + 10 && ours + lost <= accepted + rejected, "{log_kappa}: {ours} + {lost}");
        let chosen = until_fitted(log_kappa, (3, 7)).stats;
        assert!(chosen.accepted * 10 <= ours * 12, "{log_kappa}: order selection takes {chosen:?}");
    }
}

#[test]
fn ten_digits_are_reached_at_order_thirteen_with_a_fraction_of_the_work_of_order_five() {
    for log_kappa in [-7.0, -27.0, -230.0] {
        let (fifth, chosen) = (until_fitted(log_kappa, (3, 3)).stats, until_fitted(log_kappa, (3, 7)).stats);
        assert!(4 * chosen.accepted < fifth.accepted && chosen.jacobians < fifth.jacobians, "{log_kappa}: {chosen:?}");
    }
}

#[test]
fn the_error_on_the_way_is_in_proportion_to_the_tolerance_at_every_order() {
    // While the coefficients are being fitted: a time of order |ln κ|.
    for log_kappa in [-7.0, -27.0, -230.0] {
        let time = -log_kappa;
        let at = |rtol: f64, s: usize| {
            let options = Options { min_stages: s, max_stages: s, rtol, ..Options::default() };
            radau(&mut flow(log_kappa, rtol), 0.0, &[0.0; SAMPLES], time, &options, &mut ()).y
        };
        let truth = at(1e-14, 7);
        let size = truth.iter().fold(0.0_f64, |most, y| most.max(y.abs()));
        for s in [3, 5, 7] {
            for rtol in [1e-5, 1e-8, 1e-11] {
                let error = at(rtol, s).iter().zip(&truth).fold(0.0_f64, |most, (y, z)| most.max((y - z).abs()));
                // Errors of single steps add up along the way, but the flow contracts: a few tolerances at the end.
                assert!(error < 10.0 * rtol * (1.0 + size), "ln κ = {log_kappa}, {s} stages, rtol {rtol}: {error}");
            }
        }
    }
}

#[test]
fn refined_output_stops_when_asked_to_and_says_that_it_has_no_state() {
    let mut refused = 0;
    let mut save = |system: &mut _, step: &mut Step<'_, f64, _>| {
        let (from, to, mut y) = (step.t_old(), step.t_new, vec![0.0; SAMPLES]);
        refused += u32::from(!step.refined_at(system, 0.5 * (from + to), &mut y, &mut || true));
        // The end is known: it takes no work that could be stopped.
        assert!(step.refined_at(system, to, &mut y, &mut || true));
        assert_eq!(y, step.y_new());
        Action::Continue
    };
    let options = Options { rtol: 1e-10, ..Options::default() };
    let run = radau(&mut flow(-27.0, 1e-10), 0.0, &[0.0; SAMPLES], 40.0, &options, &mut save);
    assert_eq!(u64::from(refused), run.stats.accepted);
}

#[test]
fn refined_output_inside_long_steps_is_as_accurate_as_their_ends() {
    let times: Vec<f64> = (0..24).map(|k| 0.2 * 1.25_f64.powi(k)).collect();
    let mut next = 0;
    let mut rows = Vec::new();
    let mut save = |system: &mut _, step: &mut Step<'_, f64, _>| {
        while next < times.len() && times[next] <= step.t_new {
            let (mut dense, mut refined) = (vec![0.0; SAMPLES], vec![0.0; SAMPLES]);
            step.at(system, times[next], &mut dense);
            assert!(step.refined_at(system, times[next], &mut refined, &mut || false));
            rows.push((times[next], dense, refined));
            next += 1;
        }
        Action::Continue
    };
    let options = Options { rtol: 1e-10, ..Options::default() };
    radau(&mut flow(-27.0, 1e-10), 0.0, &[0.0; SAMPLES], 40.0, &options, &mut save);
    assert_eq!(rows.len(), times.len());
    let mut coarsest = 0.0_f64;
    for (time, dense, refined) in rows {
        let tight = Options { rtol: 1e-14, ..Options::default() };
        let truth = radau(&mut flow(-27.0, 1e-14), 0.0, &[0.0; SAMPLES], time, &tight, &mut ()).y;
        let distance = |y: &[f64]| y.iter().zip(&truth).fold(0.0_f64, |most, (y, z)| most.max((y - z).abs()));
        assert!(distance(&refined) < 1e-10, "t = {time}: refined {}", distance(&refined));
        coarsest = coarsest.max(distance(&dense));
    }
    // Otherwise refining would be for nothing.
    assert!(coarsest > 1e-10, "{coarsest}");
}
