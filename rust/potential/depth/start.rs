//! The start of a tied diagonal network, `u± = αw` in every coordinate.

use super::{Depth, DepthPotential};
use crate::real::{DoubleDouble, Real};

/// `u₊ = u₋ = e^{log_start}`, one coordinate a feature.
#[derive(Clone, Debug, PartialEq)]
pub struct TiedStart {
    /// `D`, at least 2.
    pub depth: u32,
    /// `ln(αw)`.
    pub log_start: Vec<DoubleDouble>,
}

impl TiedStart {
    /// The potential of every coordinate.
    pub fn potentials(&self) -> impl Iterator<Item = DepthPotential> + '_ {
        let depth = Depth::new(self.depth);
        self.log_start.iter().map(move |log| DepthPotential { depth, log_start: *log })
    }

    /// `D_Q(β, β(0)) = Q(β)`, for `β(0) = 0`.
    #[must_use]
    pub fn divergence(&self, beta: &[f64]) -> f64 {
        let each = self.potentials().zip(beta).map(|(q, b)| q.value(DoubleDouble::from_f64(*b)));
        each.fold(crate::real::Scaled::ZERO, |sum, value| sum + value).value().high
    }
}
