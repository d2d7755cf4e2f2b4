//! What the tests of the limit share: random problems, a truth of thirty digits, and laws that every answer obeys.

mod certificate;
mod double_double;
mod edges;
mod exponents;
mod golden;
mod line_search;
mod paths;
mod refine;
mod row_space;
mod screen;

use super::*;
use crate::real::{DoubleDouble, Real};

/// A reproducible stream of numbers (`SplitMix64`: Steele, Lea & Flood, OOPSLA 2014).
pub(super) struct Random(pub u64);

impl Random {
    /// Uniform on [0, 1).
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / 2.0_f64.powi(53)
    }

    /// Uniform on 0, …, n − 1.
    pub fn below(&mut self, n: usize) -> usize {
        let place = self.unit() * n as f64;
        (1..n).filter(|k| *k as f64 <= place).count()
    }

    /// `len` numbers uniform on [−1, 1).
    pub fn vector(&mut self, len: usize) -> Vec<f64> {
        (0..len).map(|_| 2.0 * self.unit() - 1.0).collect()
    }
}

#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub start: Start,
}

impl Problem {
    /// `n` samples, `n < d ≤ n + 4`, an unbiased, a biased or a partly one-sided start with ln κ about `log_kappa`.
    /// Targets are those of coefficients that the start can reach.
    pub fn random(random: &mut Random, n: usize, log_kappa: f64) -> Self {
        let d = n + 1 + random.below(4);
        let x = random.vector(n * d);
        let kind = random.below(3);
        let log = |random: &mut Random| DoubleDouble::from_f64(log_kappa + random.unit());
        let start: Start = (0..d)
            .map(|i| match kind {
                0 => (DoubleDouble::from_f64(log_kappa), DoubleDouble::from_f64(log_kappa)),
                1 => (log(random), log(random)),
                _ if i == 0 => (log(random), DoubleDouble::from_f64(f64::NEG_INFINITY)),
                _ => (log(random), log(random)),
            })
            .collect();
        let mut beta = random.vector(d);
        beta[0] = beta[0].abs() + 0.1;
        let y = x.chunks_exact(d).map(|row| row.iter().zip(&beta).map(|(x, b)| x * b).sum()).collect();
        Self { x, y, start }
    }

    /// Unbiased with the same κ in all coordinates.
    pub fn unbiased(x: &[f64], y: &[f64], log_kappa: f64) -> Self {
        let log = DoubleDouble::from_f64(log_kappa);
        let start = (0..x.len() / y.len()).map(|_| (log, log)).collect();
        Self { x: x.to_vec(), y: y.to_vec(), start }
    }

    pub fn rows(&self) -> Rows<'_> {
        let (n, d) = (self.y.len(), self.start.log_a.len());
        let Some(rows) = Rows::new(&self.x, n, d) else { panic!("{} numbers are not {n} x {d}", self.x.len()) };
        rows
    }

    pub fn limit(&self) -> Limit {
        limit(self.rows(), &self.y, &self.start, &Options::default(), &|| false)
    }

    /// `β(ν)` and `S(ν)` by their definition, `¼(A e^{2G} − B e^{−2G})` and `½(…)`, in double-double.
    pub fn predictor(&self, nu: &[DoubleDouble]) -> (Vec<DoubleDouble>, Vec<f64>) {
        let d = self.start.log_a.len();
        (0..d)
            .map(|i| {
                let terms = nu.iter().enumerate().map(|(n, nu)| *nu * DoubleDouble::from_f64(self.x[n * d + i]));
                let twice = terms.fold(DoubleDouble::ZERO, |sum, term| sum + term + term);
                let (p, m) = ((self.start.log_a[i] + twice).exp(), (self.start.log_b[i] - twice).exp());
                ((p - m) * DoubleDouble::from_f64(0.25), 0.5 * (p + m).to_f64())
            })
            .unzip()
    }

    /// `y − Xβ`.
    pub fn residual(&self, beta: &[DoubleDouble]) -> Vec<f64> {
        let mut product = vec![DoubleDouble::ZERO; self.y.len()];
        self.rows().apply(beta, &mut product);
        self.y.iter().zip(product).map(|(y, p)| (DoubleDouble::from_f64(*y) - p).to_f64()).collect()
    }

    /// The limit to about 27 digits, for coefficients of size one: Newton in double-double from multipliers nearby. The dual is
    /// strictly convex, so a residual of 0 is the truth wherever it was started.
    pub fn truth(&self, near: &[f64]) -> (Vec<DoubleDouble>, Vec<DoubleDouble>) {
        let (n, d) = (self.y.len(), self.start.log_a.len());
        let mut nu: Vec<DoubleDouble> = near.iter().map(|v| DoubleDouble::from_f64(*v)).collect();
        for _ in 0..60 {
            let (beta, slope) = self.predictor(&nu);
            let residual = self.residual(&beta);
            // Coefficients and exponents of size one to a hundred, thirty digits.
            if largest(&residual) <= 1e-27 {
                return (nu, beta);
            }
            let entry = |i: usize, j: usize| (0..d).map(|k| self.x[i * d + k] * slope[k] * self.x[j * d + k]).sum();
            let kernel = (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect();
            let step = eliminate(kernel, residual);
            nu.iter_mut().zip(step).for_each(|(nu, step)| *nu += DoubleDouble::from_f64(step));
        }
        panic!("no truth: Newton did not arrive for {self:?}");
    }
}

/// `A⁻¹ b` by Gaussian elimination with partial pivoting.
fn eliminate(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|i, j| a[*i][k].abs().total_cmp(&a[*j][k].abs())).unwrap_or(k);
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in k + 1..n {
            let factor = a[i][k] / a[k][k];
            let above = a[k].clone();
            a[i].iter_mut().zip(&above).skip(k).for_each(|(a, above)| *a -= factor * above);
            b[i] -= factor * b[k];
        }
    }
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|j| a[k][j] * b[j]).sum();
        b[k] = (b[k] - known) / a[k][k];
    }
    b
}

/// `|found_i − true_i|`, rounded.
pub(super) fn errors(found: &[f64], truth: &[DoubleDouble]) -> Vec<f64> {
    found.iter().zip(truth).map(|(f, t)| (DoubleDouble::from_f64(*f) - *t).to_f64().abs()).collect()
}

/// The same computation on pools of one, two and three threads.
pub(super) fn on_one_two_and_three_threads<T: Send>(compute: impl Fn() -> T + Sync) -> [T; 3] {
    [1, 2, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("a pool of a few threads can always be made").install(&compute)
    })
}
