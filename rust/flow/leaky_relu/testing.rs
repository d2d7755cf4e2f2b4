//! What the tests of this model share: reproducible random numbers.

/// A reproducible stream of numbers (`SplitMix64`: Steele, Lea & Flood, OOPSLA 2014).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Uniform on [−1, 1).
    pub(super) fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        2.0 * ((z ^ (z >> 31)) >> 11) as f64 / 2.0_f64.powi(53) - 1.0
    }

    /// `len` of them.
    pub(super) fn vector(&mut self, len: usize) -> Vec<f64> {
        (0..len).map(|_| self.number()).collect()
    }
}
