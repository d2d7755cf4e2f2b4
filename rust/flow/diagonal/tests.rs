//! Laws of the diagonal flow: golden trajectories, two roads to one trajectory, what is conserved, and every ending.

mod double_double;
mod endings;
mod golden;
mod laws;
mod long;
mod powers;
mod reductions;

use super::{Problem, Weights, gradient_flow};
use crate::flow::{Flow, Method, Monitor, Observable, Options};
use crate::linalg::Rows;
use crate::potential::Start;
use crate::real::{DoubleDouble, Real};

/// Data, targets and weights that own their numbers.
#[derive(Clone, Debug)]
struct Case {
    n: usize,
    d: usize,
    x: Vec<f64>,
    y: Vec<f64>,
    weights: [Vec<f64>; 4],
    log_magnitude: Vec<f64>,
}

impl Case {
    /// Gaussian data and targets, unbiased weights `e^log_magnitude (1 … 2)`.
    fn gaussian(n: usize, d: usize, log_magnitude: f64, seed: u64) -> Self {
        let mut random = Random(seed);
        let x = (0..n * d).map(|_| random.gaussian()).collect();
        let y = (0..n).map(|_| random.gaussian()).collect();
        let (u, v): (Vec<f64>, Vec<f64>) = (0..d).map(|_| (1.0 + random.uniform(), 1.0 + random.uniform())).unzip();
        Self { n, d, x, y, weights: [u.clone(), v.clone(), u, v], log_magnitude: vec![log_magnitude; d] }
    }

    fn weights(&self) -> Weights<'_> {
        let [u_plus, v_plus, u_minus, v_minus] = &self.weights;
        Weights { u_plus, v_plus, u_minus, v_minus, log_magnitude: &self.log_magnitude }
    }

    /// `ln A` and `ln B` of THEORY §1, the sums of squares in double-double.
    fn logs(&self) -> (Vec<DoubleDouble>, Vec<DoubleDouble>) {
        let [u_plus, v_plus, u_minus, v_minus] = &self.weights;
        let log = |p: (f64, f64), m: (f64, f64), magnitude: f64| {
            let exact = DoubleDouble::from_f64;
            let (a, b) = (exact(p.0) + exact(p.1), exact(m.0) + exact(m.1));
            (a * a + b * b).ln() + exact(2.0) * exact(magnitude)
        };
        (0..self.d)
            .map(|i| {
                let (up, vp, um, vm) = (u_plus[i], v_plus[i], u_minus[i], v_minus[i]);
                (log((up, vp), (um, -vm), self.log_magnitude[i]), log((up, -vp), (um, vm), self.log_magnitude[i]))
            })
            .unzip()
    }

    fn flow(&self, options: &Options<'_>) -> Flow {
        self.flow_until(options, &|| false)
    }

    fn flow_until(&self, options: &Options<'_>, interrupt: &dyn Monitor) -> Flow {
        let (log_a, log_b) = self.logs();
        let Some(x) = Rows::new(&self.x, self.n, self.d) else { panic!("shape") };
        let start = Start { log_a, log_b };
        let problem = Problem { x, y: &self.y, y_low: None, start: (&start).into(), weights: Some(self.weights()) };
        match gradient_flow(&problem, options, interrupt) {
            Ok(flow) => flow,
            Err(error) => panic!("{error}"),
        }
    }
}

/// xorshift64* (Vigna 2016): reproducible numbers with no dependency.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 * 2.0_f64.powi(-53)
    }

    /// Box and Muller.
    fn gaussian(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (2.0 * core::f64::consts::PI * angle).cos()
    }
}

/// `max|a − b| / max|b|`.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    assert!(!b.is_empty());
    let largest = b.iter().fold(0.0_f64, |m, b| m.max(b.abs()));
    let worst = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, |m, e| if e > m || e.is_nan() { e } else { m });
    worst / largest
}

/// Defaults, and `max|r|` of every row.
fn method(method: Method) -> Options<'static> {
    Options { method, observables: &[Observable::Residual], ..Options::default() }
}
