//! Laws of the flow of a matrix factorization.

mod endings;
mod jacobian;
mod laws;

use super::{Factors, Problem, gradient_flow};
use crate::flow::{Flow, Options};
use crate::linalg::Rows;

/// Data, targets and factors that own their numbers.
#[derive(Clone, Debug)]
struct Case {
    x: Vec<f64>,
    y: Vec<f64>,
    factors: Factors,
    z: Vec<f64>,
    log_magnitude: f64,
}

impl Case {
    /// Gaussian observations of a Gaussian matrix of rank `rank`, and Gaussian factors of variance `1/k`.
    fn gaussian(n: usize, factors: Factors, rank: usize, seed: u64) -> Self {
        let mut random = Random(seed);
        let Factors { d1, d2, k, symmetric } = factors;
        let x = random.vector(n * d1 * d2);
        let truth = Factors { k: rank, ..factors };
        let mut m = vec![0.0; d1 * d2];
        truth.product(&random.vector(truth.dim()), &mut m);
        let z = random.vector(factors.dim()).iter().map(|z| z / (k as f64).sqrt()).collect();
        let y = x.chunks_exact(d1 * d2).map(|x| x.iter().zip(&m).map(|(x, m)| x * m).sum()).collect();
        assert!(!symmetric || d1 == d2);
        Self { x, y, factors, z, log_magnitude: 0.0 }
    }

    fn problem(&self) -> Problem<'_> {
        let Some(x) = Rows::new(&self.x, self.y.len(), self.factors.features()) else { panic!("shape") };
        Problem { x, y: &self.y, factors: self.factors, z: &self.z, log_magnitude: self.log_magnitude }
    }

    fn flow(&self, options: &Options<'_>) -> Flow {
        match gradient_flow(&self.problem(), options, &|| false) {
            Ok(flow) => flow,
            Err(invalid) => panic!("{invalid}"),
        }
    }
}

/// The shapes that every law is tested on: wide, tall and square, one factor and two.
fn shapes(k: usize) -> [Factors; 4] {
    [(2, 4, false), (3, 1, false), (3, 3, false), (3, 3, true)].map(|(d1, d2, symmetric)| Factors {
        d1,
        d2,
        k,
        symmetric,
    })
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
    fn vector(&mut self, len: usize) -> Vec<f64> {
        (0..len).map(|_| (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0).collect()
    }
}
