//! The potential of one coordinate of a diagonal network for any start: the hyperbolic entropy seen from `β(0)`.
//!
//! With `A = (u₊+v₊)² + (u₋−v₋)²`, `B = (u₊−v₊)² + (u₋+v₋)²` at the start, `κ² = AB`, `θ = ½ ln(A/B)` the flow keeps to
//! `β = p − m`, `p = ¼ A e^(2G)`, `m = ¼ B e^(−2G)`, and what it minimises is
//!
//! ```text
//! D(β, β(0)) = ½ [p ln(p/p₀) − p + p₀] + ½ [m ln(m/m₀) − m + m₀],      p₀ = A/4, m₀ = B/4, β(0) = p₀ − m₀
//! D'(β) = G = ½ (asinh(2β/κ) − θ)          D''(β) = 1/√(4β² + κ²)
//! ```
//!
//! (\[A\] Theorem 1, with the start subtracted as a Bregman divergence.) No term is negative, so nothing cancels, and `A = 0`
//! or `B = 0` is no special case of the sum: one term is left. Knows nothing of the flow or of data.

use super::divergence::{self, Unit};
use super::exponential::times_exp;
use super::hyperbolic_entropy;

/// The potential of one coordinate, from `ln A` and `ln B`.
///
/// One-sided starts: `B = 0` (`log_b = −inf`) keeps `β ≥ 0` and `A = 0` keeps `β ≤ 0`: on the other side the value is
/// inf and the derivatives are NaN; at 0 the gradient is `−inf` (`+inf` for `A = 0`) and the second derivative inf.
/// `A = B = 0`: the coordinate cannot move; the value is 0 at 0 and inf elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HyperbolicEntropy {
    /// `ln A`, in `[−inf, inf)`.
    pub log_a: f64,
    /// `ln B`, in `[−inf, inf)`.
    pub log_b: f64,
}

impl HyperbolicEntropy {
    /// The potential of an unbiased start, `A = B = κ`: `D = q_κ`.
    #[must_use]
    pub fn unbiased(log_kappa: f64) -> Self {
        Self { log_a: log_kappa, log_b: log_kappa }
    }

    /// `ln κ = ½ (ln A + ln B)`.
    #[must_use]
    pub fn log_kappa(self) -> f64 {
        0.5 * (self.log_a + self.log_b)
    }

    /// `θ = ½ (ln A − ln B)`: infinite for a one-sided start.
    #[must_use]
    pub fn shift(self) -> f64 {
        if self.log_a == self.log_b { 0.0 } else { 0.5 * (self.log_a - self.log_b) }
    }

    /// `β(0) = ¼ (A − B)`, without cancellation for `A` near `B`.
    #[must_use]
    pub fn start(self) -> f64 {
        // ¼ max(A, B) (1 − e^(−|ln A − ln B|)), signed
        let difference = 2.0 * self.shift();
        if difference == 0.0 {
            return 0.0;
        }
        let relative = -(-difference.abs()).exp_m1();
        (0.25 * times_exp(relative, self.log_a.max(self.log_b))).copysign(difference)
    }

    /// `D(β, β(0))`: within 40u plus `u (|ln A| + |ln B|)`-sized effects of rounding `ln A` and `ln B`. At least 0.
    #[must_use]
    pub fn value(self, beta: f64) -> f64 {
        if self.excludes(beta) || beta.is_infinite() {
            return f64::INFINITY;
        }
        if self.log_a == self.log_b {
            return hyperbolic_entropy::value(beta, self.log_a);
        }
        // Where A or B exceeds 1, so may the start: not a number to lift.
        let largest = if self.log_a.max(self.log_b) > 0.0 { beta.abs().max(1.0) } else { beta.abs() };
        let unit = Unit::new(self.log_kappa(), largest);
        let (p, m) = unit.parts(beta);
        let (p0, m0) = unit.parts_of_start(self.log_a, self.log_b);
        let value = unit.undo(divergence::of_parts((p, m), (p0, m0), self.log_ratio(beta)));
        // An infinite part times a relative distance too small to be seen: a start beyond the largest float.
        let overflowed = value.is_nan() && !(beta.is_nan() || self.log_a.is_nan() || self.log_b.is_nan());
        if overflowed { f64::INFINITY } else { value }
    }

    /// `D'(β) = G = ½ (asinh(2β/κ) − θ)`, from `β − β(0)` where that is the smaller: 0 at the start.
    #[must_use]
    pub fn gradient(self, beta: f64) -> f64 {
        if self.excludes(beta) {
            return f64::NAN;
        }
        0.5 * self.log_ratio(beta)
    }

    /// `D''(β) = 1/√(4β² + κ²)`: within 8u.
    #[must_use]
    pub fn hessian(self, beta: f64) -> f64 {
        if self.excludes(beta) {
            return f64::NAN;
        }
        hyperbolic_entropy::hessian(beta, self.log_kappa())
    }

    /// Whether the flow can never reach `beta`: a sign that a one-sided start does not have.
    fn excludes(self, beta: f64) -> bool {
        (self.log_b == f64::NEG_INFINITY && beta < 0.0) || (self.log_a == f64::NEG_INFINITY && beta > 0.0)
    }

    /// `2G = ln(p/p₀) = ln(m₀/m)` for a `beta` that is not excluded.
    fn log_ratio(self, beta: f64) -> f64 {
        if self.log_a == self.log_b {
            return if beta == 0.0 { beta } else { hyperbolic_entropy::asinh_of_quotient(beta, self.log_a) };
        }
        let start = self.start();
        if start.is_normal() {
            let near = divergence::log_ratio(beta, start, self.log_kappa());
            if near.is_finite() {
                return near;
            }
        }
        if self.log_b == f64::NEG_INFINITY {
            beta.abs().ln() + (2.0 * core::f64::consts::LN_2 - self.log_a)
        } else if self.log_a == f64::NEG_INFINITY {
            (self.log_b - 2.0 * core::f64::consts::LN_2) - beta.abs().ln()
        } else {
            hyperbolic_entropy::asinh_of_quotient(beta, self.log_kappa()) - self.shift()
        }
    }
}

#[cfg(test)]
mod tests;
