//! A start in the units of the scaled problem: `β_i = U_i h(z_i)`, `z_i = c_i g_i`, `g = Xᵀμ` (THEORY §6).
//!
//! `U = (αw)^D` may be 10^-500000. `c = (w/w_max)^{D−2}` is of the order of the weights, for `g` is measured in
//! `D(D−2) w_max^{D−2} α^{D−2}` times the `G = ∫Xᵀr/N` of the flow: there the scale is gone.

use crate::potential::{Arc, Depth, TiedStart};
use crate::real::{DoubleDouble, Real, Scaled};

/// All coordinates.
#[derive(Clone, Debug)]
pub(super) struct Law {
    pub depth: Depth,
    /// `D/(D−2)`.
    pub e: f64,
    /// `ln U`.
    pub log_unit: Vec<DoubleDouble>,
    /// `U`, and `c`.
    pub unit: Vec<Scaled>,
    pub cost: Vec<Scaled>,
    /// `ln c`.
    pub log_cost: Vec<f64>,
    /// `(α w_max)^{2−D}`, by which `μ` becomes the multipliers of `∇Q(β) = Xᵀν`.
    pub of_gradient: Scaled,
    /// `|ln(αw)|` at most.
    pub log_size: f64,
}

impl Law {
    /// The start with coefficients measured in `2^power`.
    pub fn of(start: &TiedStart, power: i32) -> Self {
        let d = f64::from(start.depth);
        let top = start.log_start.iter().copied().fold(None, |top: Option<DoubleDouble>, log| match top {
            Some(top) if top.high >= log.high => Some(top),
            _ => Some(log),
        });
        let top = top.unwrap_or(DoubleDouble::ZERO);
        let shift = DoubleDouble::LN_2.mul_f64(f64::from(power));
        let log_unit: Vec<_> = start.log_start.iter().map(|log| log.mul_f64(d) - shift).collect();
        let logs: Vec<_> = start.log_start.iter().map(|log| (*log - top).mul_f64(d - 2.0)).collect();
        Self {
            depth: Depth::new(start.depth),
            e: d / (d - 2.0),
            unit: log_unit.iter().map(|log| Scaled::exp(*log)).collect(),
            log_unit,
            cost: logs.iter().map(|log| Scaled::exp(*log)).collect(),
            log_cost: logs.iter().map(|log| log.high).collect(),
            of_gradient: Scaled::exp(top.mul_f64(2.0 - d)),
            log_size: start.log_start.iter().fold(0.0, |size, log| size.max(log.high.abs())),
        }
    }

    /// `β_i` at a point.
    pub fn beta(&self, i: usize, arc: Arc) -> Scaled {
        self.unit[i] * self.depth.h(arc)
    }

    /// `ln S_i`, `S = dβ/dg`.
    pub fn log_slope(&self, i: usize, arc: Arc) -> f64 {
        (self.cost[i] * self.unit[i] * self.depth.slope(arc)).ln().high
    }

    /// Where `β_i` is this.
    pub fn arc_of(&self, i: usize, beta: Scaled) -> Arc {
        self.depth.inverse(beta / self.unit[i])
    }
}
