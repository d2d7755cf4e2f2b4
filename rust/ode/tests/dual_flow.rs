//! The dual gradient flow of a diagonal network in plain binary64, N = 5, d = 20: `ν' = (y − Xβ)/N`,
//! `β = (κ/2) sinh(2Xᵀν)`. The kind of problem the library was written for: the solution moves in bursts that get
//! shorter with κ, and Jacobian eigenvalues grow over many decades on the way.

use super::super::{Action, DenseJacobian, Implicit, Observer, Options, Problem, Step, System};
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
        dnu.iter_mut().for_each(|d| *d /= SAMPLES as f64);
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

#[test]
fn steps() {
    for rtol in [1e-4, 1e-6, 1e-10, 1e-12] {
    for log_kappa in [-7.0, -27.0, -230.0] {
        for (min, max) in [(3, 3), (5, 5), (7, 7), (3, 7)] {
            let mut system = flow(log_kappa, rtol);
            let mut truth = flow(log_kappa, 1e-14);
            let options = Options { rtol, min_stages: min, max_stages: max, max_steps: Some(5000), ..Options::default() };
            let end = radau(&mut system, 0.0, &[0.0; SAMPLES], f64::INFINITY, &options, &mut UntilFitted);
            let o2 = Options { rtol: 1e-14, max_steps: Some(5000), ..Options::default() };
            let part = radau(&mut flow(log_kappa, rtol), 0.0, &[0.0; SAMPLES], 4.0, &options, &mut ());
            let exact = radau(&mut truth, 0.0, &[0.0; SAMPLES], 4.0, &o2, &mut ());
            let scale = exact.y.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
            let err = part.y.iter().zip(&exact.y).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / scale;
            eprintln!("rtol {rtol} lnk {log_kappa} {min}-{max}: {:?} t {:.6e} err {err:.2e} {:?} ", end.status, end.t, end.stats);
        }
    }
    }
}
