//! One coordinate of the potential at its scale: `Q(β) = (αw)² q(β/(αw)^D)` (THEORY §6).
//!
//! For unequal starts the weight is the square of `αw`, not its D-th power: `∇Q = (αw)^{2−D} h⁻¹(β/(αw)^D)` is linear in the
//! data.

use super::divergence;
use super::{Arc, Depth};
use crate::real::{DoubleDouble, Scaled};

/// The potential of a coordinate that starts at `u± = e^{log_start}`.
#[derive(Clone, Copy, Debug)]
pub struct DepthPotential {
    /// The functions of the depth.
    pub depth: Depth,
    /// `ln(αw)`.
    pub log_start: DoubleDouble,
}

impl DepthPotential {
    /// `(αw)^p`.
    #[must_use]
    pub fn power(&self, p: f64) -> Scaled {
        Scaled::exp(self.log_start.mul_f64(p))
    }

    fn d(&self) -> f64 {
        f64::from(self.depth.depth())
    }

    /// `β/(αw)^D`.
    #[must_use]
    pub fn in_units(&self, beta: DoubleDouble) -> Scaled {
        Scaled::from(beta) * self.power(-self.d())
    }

    /// `z = h⁻¹(β/(αw)^D)`.
    #[must_use]
    pub fn arc(&self, beta: DoubleDouble) -> Arc {
        self.depth.inverse(self.in_units(beta))
    }

    /// `Q(β)`: at least 0.
    #[must_use]
    pub fn value(&self, beta: DoubleDouble) -> Scaled {
        let x = self.in_units(beta);
        self.power(2.0) * self.depth.q(x, self.depth.inverse(x))
    }

    /// `Q'(β) = (αw)^{2−D} h⁻¹`.
    #[must_use]
    pub fn gradient(&self, beta: DoubleDouble) -> Scaled {
        self.power(2.0 - self.d()) * self.arc(beta).z
    }

    /// `Q''(β) = (αw)^{2−2D} / h'`.
    #[must_use]
    pub fn hessian(&self, beta: DoubleDouble) -> Scaled {
        self.power(2.0 - 2.0 * self.d()) / self.depth.slope(self.arc(beta))
    }

    /// `D_Q(β, β₀) = Q(β) − Q(β₀) − Q'(β₀)(β − β₀)`.
    #[must_use]
    pub fn bregman(&self, beta: DoubleDouble, beta0: DoubleDouble) -> Scaled {
        let unit = self.power(-self.d());
        let gap = Scaled::from(beta - beta0) * unit;
        self.power(2.0) * divergence::bregman(self.depth, Scaled::from(beta0) * unit, gap)
    }
}
