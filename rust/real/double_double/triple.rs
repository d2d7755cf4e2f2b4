//! Sums to three times the precision of binary64. Knows nothing of where the terms come from.

use super::{DoubleDouble, two_sum};

/// A sum in three parts, each below about an ulp of the one before: within 2^-157 of the sum of all magnitudes added.
///
/// Ogita, Rump, Oishi, *Accurate sum and dot product*, SIAM J. Sci. Comput. 26 (2005), algorithm 4.8 (`SumK`, `K = 3`), one
/// term at a time.
#[derive(Clone, Copy)]
pub(super) struct Triple(pub(super) [f64; 3]);

impl Triple {
    /// The sum of some terms, in any order.
    #[inline(always)]
    pub(super) fn of(terms: &[f64]) -> Self {
        let mut parts = [0.0; 3];
        for term in terms {
            let (sum, error) = two_sum(parts[0], *term);
            parts[0] = sum;
            let (sum, error) = two_sum(parts[1], error);
            parts[1] = sum;
            parts[2] += error;
        }
        // Where the terms cancel the first part may be the smallest.
        let [first, second, third] = parts;
        let (high, rest) = two_sum(first, second);
        let (low, rest) = two_sum(rest, third);
        let (high, low) = two_sum(high, low);
        Self([high, low, rest])
    }

    /// The first two parts.
    #[inline(always)]
    pub(super) fn leading(self) -> DoubleDouble {
        DoubleDouble { high: self.0[0], low: self.0[1] }
    }
}
