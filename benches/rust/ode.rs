//! How long the integrators take beside the right-hand sides they call.

use criterion::{Criterion, criterion_group, criterion_main};
use implicit_bias::linalg::SquareMatrix;
use implicit_bias::ode::{Explicit, Options, Problem, Radau, Stepper, System, integrate};

fn options() -> Options {
    Options { rtol: 1e-9, ..Options::default() }
}

/// Accepted steps to `t_end`; 0 if it is not reached.
fn steps<S: System<f64>>(stepper: &mut impl Stepper<f64, S>, system: &mut S, y: &[f64], t_end: f64) -> u64 {
    let end = integrate(stepper, system, 0.0, y, t_end, &options(), &mut ());
    end.map_or(0, |end| if end.status.is_success() { end.stats.accepted } else { 0 })
}

fn van_der_pol(criterion: &mut Criterion) {
    let mu = 1e6;
    let rhs = move |_t: f64, y: &[f64], dy: &mut [f64]| {
        dy[0] = y[1];
        dy[1] = mu * (1.0 - y[0] * y[0]) * y[1] - y[0];
    };
    let jacobian = move |_t: f64, y: &[f64], j: &mut SquareMatrix| {
        j.set(0, 1, 1.0);
        j.set(1, 0, -2.0 * mu * y[0] * y[1] - 1.0);
        j.set(1, 1, mu * (1.0 - y[0] * y[0]));
    };
    criterion.bench_function("radau on van der pol, mu = 1e6, one period", |bencher| {
        bencher.iter(|| {
            let mut system = Problem::new(2, rhs, jacobian, 1e-9, 1e-12);
            steps(&mut Radau::new(&system, &options()), &mut system, &[2.0, 0.0], 1.6 * mu)
        });
    });
}

fn kepler(criterion: &mut Criterion) {
    let rhs = |_t: f64, y: &[f64], dy: &mut [f64]| {
        let cube = y[0].hypot(y[1]).powi(3);
        (dy[0], dy[1], dy[2], dy[3]) = (y[2], y[3], -y[0] / cube, -y[1] / cube);
    };
    criterion.bench_function("dormand and prince on ten orbits of eccentricity 1/2", |bencher| {
        bencher.iter(|| {
            let mut system = Problem::new(4, rhs, (), 1e-9, 1e-9);
            let start = [0.5, 0.0, 0.0, 3.0_f64.sqrt()];
            steps(&mut Explicit::new(&system, &options()), &mut system, &start, 10.0 * std::f64::consts::TAU)
        });
    });
}

criterion_group!(benches, van_der_pol, kepler);
criterion_main!(benches);
