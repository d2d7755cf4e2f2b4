//! Laws of the flow of a fully connected linear network.

mod endings;
mod golden;
mod jacobian;
mod laws;

use super::{Parameters, Problem, gradient_flow, parameters};
use crate::flow::{Flow, Neurons, Options};
use crate::linalg::Rows;

/// Data, targets and weights that own their numbers.
#[derive(Clone, Debug)]
struct Case {
    n: usize,
    d: usize,
    x: Vec<f64>,
    y: Vec<f64>,
    a: Vec<f64>,
    w: Vec<f64>,
    log_magnitude: f64,
}

impl Case {
    /// Gaussian data, targets and weights.
    fn gaussian(n: usize, d: usize, m: usize, seed: u64) -> Self {
        let mut random = Random(seed);
        let (x, y) = (random.vector(n * d), random.vector(n));
        Self { n, d, x, y, a: random.vector(m), w: random.vector(m * d), log_magnitude: 0.0 }
    }

    fn problem(&self) -> Problem<'_> {
        let Some(x) = Rows::new(&self.x, self.n, self.d) else { panic!("shape") };
        Problem { x, y: &self.y, neurons: Neurons::new(&self.a, &self.w, self.log_magnitude) }
    }

    fn flow(&self, options: &Options<'_>) -> Flow {
        match gradient_flow(&self.problem(), options, &|| false) {
            Ok(flow) => flow,
            Err(invalid) => panic!("{invalid}"),
        }
    }

    fn parameters(&self, flow: &Flow) -> Parameters {
        let Some(parameters) = parameters(&self.problem(), &flow.states) else { panic!("states of another problem") };
        parameters
    }
}

/// `max|a − b| / max|b|`.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let peak = b.iter().fold(0.0, |most: f64, b| most.max(b.abs()));
    a.iter().zip(b).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs())) / peak
}

/// A reproducible stream of numbers (`SplitMix64`: Steele, Lea & Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / 2.0_f64.powi(53)
    }

    /// Irwin and Hall: twelve uniform numbers have the variance 1.
    fn gaussian(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    fn vector(&mut self, len: usize) -> Vec<f64> {
        (0..len).map(|_| self.gaussian()).collect()
    }
}
