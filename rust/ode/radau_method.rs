//! A Radau IIA method together with what a tolerance makes of it: how large its estimate may be, and when Newton's
//! iteration is done. Knows no problem and no step.
//!
//! # Sources
//! Hairer & Wanner, *Solving Ordinary Differential Equations II*, 2nd ed., IV.8, and the authors' program RADAU.

use super::radau_tableau::RadauTableau;
use crate::real::Real;

/// When Newton's iteration stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stopping {
    /// Scaled size (1 is the tolerance) that the remaining error may have.
    pub tolerance: f64,
    /// Most iterations.
    pub limit: u32,
}

/// Radau IIA with `s` stages at the relative tolerance `rtol`.
#[derive(Clone, Debug)]
pub struct RadauMethod<R> {
    /// The coefficients.
    pub tableau: RadauTableau<R>,
    /// `s`, which is also the order of the error estimate.
    pub order: u32,
    /// How many tolerances the estimate may be.
    ///
    /// The estimate is of order `s`, the step of order `2s − 1`. Held at the tolerance, the estimate would waste half
    /// the digits; Hairer allows it `ρ = 0.1 rtol^((s+1)/(2s))`, so that its `2s/(s+1)`-th power, the error, is at `rtol`.
    pub allowance: f64,
    /// Hairer's `κ = max(10ε/ρ, min(0.03, ρ^((s−1)/(s+1))))` relative to `ρ`.
    pub stopping: Stopping,
}

impl<R: Real> RadauMethod<R> {
    /// The method with 3, 5, 7, 9 or 11 stages.
    #[must_use]
    pub fn new(stages: u32, rtol: f64) -> Self {
        let s = f64::from(stages);
        let allowance = (0.1 * rtol.powf((1.0 - s) / (2.0 * s))).max(1.0);
        let rho = allowance * rtol;
        let kappa = (10.0 * R::UNIT_ROUNDOFF / rho).max(rho.powf((s - 1.0) / (s + 1.0)).min(0.03));
        // 7, 12, 17 as in Hairer's program, and so on; that has at most 16 digits to gain.
        let limit = 7 + (stages - 3) * 5 / 2;
        let limit = if rtol < 1e-16 { 2 * limit } else { limit };
        Self {
            tableau: RadauTableau::of_stages(stages),
            order: stages,
            allowance,
            stopping: Stopping { tolerance: kappa * allowance, limit },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::DoubleDouble;

    #[test]
    fn an_estimate_at_its_allowance_means_an_error_at_the_tolerance_up_to_hairers_tenth() {
        for (stages, rtol) in [(3, 1e-6), (5, 1e-9), (7, 1e-12)] {
            let s = f64::from(stages);
            let method = RadauMethod::<f64>::new(stages, rtol);
            let error = (method.allowance * rtol).powf(2.0 * s / (s + 1.0));
            assert!((error / rtol / 0.1_f64.powf(2.0 * s / (s + 1.0)) - 1.0).abs() < 1e-10);
        }
    }

    #[test]
    fn newton_stops_well_below_the_tolerance_but_never_asks_for_less_than_round_off() {
        for stages in [3, 5, 7, 9, 11] {
            for digits in 2..=14 {
                let rtol = 10.0_f64.powi(-digits);
                let tolerance = RadauMethod::<f64>::new(stages, rtol).stopping.tolerance;
                assert!(
                    tolerance * rtol >= 9.99 * f64::UNIT_ROUNDOFF && tolerance < 0.2,
                    "{stages} {rtol} {tolerance}"
                );
            }
            assert!(RadauMethod::<DoubleDouble>::new(stages, 1e-28).stopping.tolerance < 0.2);
        }
    }
}
