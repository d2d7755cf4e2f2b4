//! Robertson's autocatalytic reaction to t = 1e11: eleven decades of time, three concentrations from 1 down to 1e-13.
//!
//! `A → B` (0.04), `B + B → C + B` (3e7), `B + C → A + C` (1e4). Rows are wanted at every second decade; the integrator
//! takes its own steps and the rows are filled in between. Run with
//! `cargo run --no-default-features --example robertson`.

use implicit_bias::linalg::SquareMatrix;
use implicit_bias::ode::{Action, Options, Problem, Radau, Step, integrate};
use std::io::{self, Write};

fn main() -> io::Result<()> {
    let rhs = |_t: f64, y: &[f64], dy: &mut [f64]| {
        let (slow, fast, back) = (0.04 * y[0], 3e7 * y[1] * y[1], 1e4 * y[1] * y[2]);
        dy[0] = back - slow;
        dy[1] = slow - back - fast;
        dy[2] = fast;
    };
    let jacobian = |_t: f64, y: &[f64], j: &mut SquareMatrix| {
        let by_y =
            [[-0.04, 0.04, 0.0], [1e4 * y[2], -1e4 * y[2] - 6e7 * y[1], 6e7 * y[1]], [1e4 * y[1], -1e4 * y[1], 0.0]];
        for (k, column) in by_y.iter().enumerate() {
            for (i, entry) in column.iter().enumerate() {
                j.set(i, k, *entry);
            }
        }
    };
    let options = Options { rtol: 1e-10, ..Options::default() };
    let mut system = Problem::new(3, rhs, jacobian, options.rtol, 1e-20);
    let mut stepper = Radau::new(&system, &options);

    let wanted: Vec<f64> = (-1..=11).step_by(2).map(|k| 10.0_f64.powi(k)).collect();
    let mut rows: Vec<(f64, [f64; 3])> = Vec::new();
    let mut observer = |system: &mut _, step: &mut Step<'_, f64, _>| {
        while let Some(t) = wanted.get(rows.len()).copied().filter(|t| *t <= step.t_new) {
            let mut y = [0.0; 3];
            step.refined_at(system, t, &mut y, &mut || false);
            rows.push((t, y));
        }
        Action::Continue
    };
    let end = integrate(&mut stepper, &mut system, 0.0, &[1.0, 0.0, 0.0], 1e11, &options, &mut observer);

    let mut out = io::stdout().lock();
    writeln!(out, "       t                   A                   B                   C   A + B + C − 1")?;
    for (t, y) in &rows {
        let drift = y.iter().sum::<f64>() - 1.0;
        writeln!(out, "{t:8.0e} {:19.13e} {:19.13e} {:19.13e} {drift:15.1e}", y[0], y[1], y[2])?;
    }
    match end {
        Ok(end) => writeln!(out, "{}: {:?}", end.status.message(), end.stats),
        Err(error) => writeln!(out, "{error}"),
    }
}
