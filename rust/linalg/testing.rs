//! What the tests of this module share: reproducible random data, and products written as their definition.

use super::{Rows, SquareMatrix};

/// A reproducible stream of numbers (`SplitMix64`: Steele, Lea & Flood, OOPSLA 2014).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform on [0, 1).
    pub(super) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / 2.0_f64.powi(53)
    }

    /// `len` numbers uniform on [−1, 1).
    pub(super) fn vector(&mut self, len: usize) -> Vec<f64> {
        (0..len).map(|_| 2.0 * self.unit() - 1.0).collect()
    }

    /// `len` weights, log-uniform over `decades` below 1.
    pub(super) fn weights(&mut self, len: usize, decades: f64) -> Vec<f64> {
        (0..len).map(|_| 10.0_f64.powf(-decades * self.unit())).collect()
    }
}

/// Half an ulp of 1.
pub(super) const U: f64 = f64::EPSILON / 2.0;

/// View of data whose length is right.
pub(super) fn rows(data: &[f64], n: usize, d: usize) -> Rows<'_> {
    let Some(rows) = Rows::new(data, n, d) else { panic!("{} numbers are not {n} x {d}", data.len()) };
    rows
}

/// `Σ_k x_ik s_k x_jk` with every term passed through `size` (identity, or magnitude for the bound).
pub(super) fn gram(x: Rows<'_>, s: &[f64], size: impl Fn(f64) -> f64) -> SquareMatrix {
    SquareMatrix::from_fn(x.n(), |i, j| (0..x.d()).map(|k| size(x.row(i)[k] * s[k] * x.row(j)[k])).sum())
}

/// `A B` by its definition, every term passed through `size`.
pub(super) fn product(a: &SquareMatrix, b: &SquareMatrix, size: impl Fn(f64) -> f64) -> SquareMatrix {
    SquareMatrix::from_fn(a.n(), |i, j| (0..a.n()).map(|k| size(a.get(i, k) * b.get(k, j))).sum())
}

/// `Aᵀ`.
pub(super) fn transpose(a: &SquareMatrix) -> SquareMatrix {
    SquareMatrix::from_fn(a.n(), |i, j| a.get(j, i))
}

/// `A b` by its definition.
pub(super) fn times(a: &SquareMatrix, b: &[f64]) -> Vec<f64> {
    (0..a.n()).map(|i| (0..a.n()).map(|j| a.get(i, j) * b[j]).sum()).collect()
}

/// Largest magnitude.
pub(super) fn max_abs(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |peak, x| x.abs().max(peak))
}

/// The same computation on pools of one, two and three threads: its results, in that order.
pub(super) fn on_one_two_and_three_threads<T: Send>(compute: impl Fn() -> T + Sync) -> [T; 3] {
    [1, 2, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("a pool of a few threads can always be made").install(&compute)
    })
}
