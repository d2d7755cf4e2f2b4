//! Laws of the flow of a fully connected linear network.

mod double_double;
mod endings;
mod golden;
mod jacobian;
mod laws;

use super::{Parameters, Problem, gradient_flow, parameters};
use crate::flow::{Flow, Neurons, Options, Precision};
use crate::linalg::Rows;

/// Data, targets and weights that own their numbers.
#[derive(Clone, Debug, Default)]
struct Case {
    n: usize,
    d: usize,
    x: Vec<f64>,
    y: Vec<f64>,
    a: Vec<f64>,
    w: Vec<f64>,
    /// What binary64 leaves out of a and W; empty if nothing.
    a_low: Vec<f64>,
    w_low: Vec<f64>,
    log_magnitude: f64,
}

impl Case {
    /// Gaussian data, targets and weights.
    fn gaussian(n: usize, d: usize, m: usize, seed: u64) -> Self {
        let mut random = Random(seed);
        let (x, y) = (random.vector(n * d), random.vector(n));
        let (a, w) = (random.vector(m), random.vector(m * d));
        Self { n, d, x, y, a, w, ..Self::default() }
    }

    fn problem(&self) -> Problem<'_> {
        let Some(x) = Rows::new(&self.x, self.n, self.d) else { panic!("shape") };
        let (a_low, w_low) = (Some(&self.a_low[..]), Some(&self.w_low[..]));
        let plain = Neurons::new(&self.a, &self.w, self.log_magnitude);
        let neurons = if self.a_low.is_empty() { plain } else { Neurons { a_low, w_low, ..plain } };
        Problem { x, y: &self.y, y_low: None, neurons }
    }

    fn flow(&self, options: &Options<'_>) -> Flow {
        match gradient_flow(&self.problem(), options, &|| false) {
            Ok(flow) => flow,
            Err(invalid) => panic!("{invalid}"),
        }
    }

    fn parameters(&self, flow: &Flow) -> Parameters {
        let Some(parameters) = parameters(&self.problem(), Precision::Double, &flow.states) else {
            panic!("states of another problem")
        };
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
pub(super) struct Random(pub(super) u64);

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

    pub(super) fn vector(&mut self, len: usize) -> Vec<f64> {
        (0..len).map(|_| self.gaussian()).collect()
    }
}
