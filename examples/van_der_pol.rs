//! The oscillator of Van der Pol, `x'' = μ (1 − x²) x' − x`, over one and a half periods, from mild to very stiff.
//!
//! It creeps along `x' ≈ x / (μ (1 − x²))` for a time of about 0.8 μ and then jumps within 1/μ: a step that follows both
//! must change its length by a factor of μ². The period is known (Dorodnitsyn 1947): `T/μ → 3 − 2 ln 2 + 7.01432 μ^(−4/3)`.
//! Run with `cargo run --no-default-features --example van_der_pol`.

use implicit_bias::linalg::SquareMatrix;
use implicit_bias::ode::{Action, EventFinder, InvalidOption, Options, Problem, Radau, Step, integrate};
use std::io::{self, Write};

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "        mu       period / mu      asymptotics   accepted  rejected  right-hand sides  jacobians")?;
    for mu in [1e3, 1e4, 1e5, 1e6] {
        match period(mu) {
            Ok(line) => writeln!(out, "{line}")?,
            Err(error) => writeln!(out, "{error}")?,
        }
    }
    Ok(())
}

/// Time between two upward zeros of `x`, and what it took.
fn period(mu: f64) -> Result<String, InvalidOption> {
    let rhs = move |_t: f64, y: &[f64], dy: &mut [f64]| {
        dy[0] = y[1];
        dy[1] = mu * (1.0 - y[0] * y[0]) * y[1] - y[0];
    };
    let jacobian = move |_t: f64, y: &[f64], j: &mut SquareMatrix| {
        j.set(0, 1, 1.0);
        j.set(1, 0, -2.0 * mu * y[0] * y[1] - 1.0);
        j.set(1, 1, mu * (1.0 - y[0] * y[0]));
    };
    let options = Options { rtol: 1e-9, ..Options::default() };
    let mut system = Problem::new(2, rhs, jacobian, options.rtol, 1e-12);
    let mut stepper = Radau::new(&system, &options);

    let mut finder = EventFinder::new(1);
    let mut zeros = Vec::new();
    let mut observer = |system: &mut _, step: &mut Step<'_, f64, _>| {
        let (from, to, mut y) = (step.t_old(), step.t_new, [0.0; 2]);
        let event = finder.find(from, to, |t, guards| {
            step.at(system, t, &mut y);
            guards[0] = -y[0];
        });
        zeros.extend(event.map(|event| event.t));
        if zeros.len() == 2 { Action::Stop } else { Action::Continue }
    };
    let end = integrate(&mut stepper, &mut system, 0.0, &[2.0, 0.0], f64::INFINITY, &options, &mut observer)?;
    let stats = end.stats;
    Ok(match zeros[..] {
        [first, second] => format!(
            "{mu:10.0e} {:17.12} {:16.12} {:10} {:9} {:17} {:10}",
            (second - first) / mu,
            3.0 - 2.0 * 2.0_f64.ln() + 7.014_32 * mu.powf(-4.0 / 3.0),
            stats.accepted,
            stats.rejected,
            stats.rhs,
            stats.jacobians
        ),
        _ => format!("{mu:10.0e}: {}", end.status.message()),
    })
}
