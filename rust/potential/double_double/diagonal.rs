//! The hyperbolic entropy of one coordinate in double-double: see [`hyperbolic_entropy`](crate::potential::hyperbolic_entropy)
//! and [`HyperbolicEntropy`](crate::potential::HyperbolicEntropy) for the formulas. Knows nothing of the flow or of data.

use crate::potential::relative_entropy::{chi, psi};
use crate::real::{DoubleDouble, Real, Scaled};

/// The potential of one coordinate, from `ln A` and `ln B`; the same cases as in binary64.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HyperbolicEntropy {
    /// `ln A`, in `[−inf, inf)`.
    pub log_a: DoubleDouble,
    /// `ln B`, in `[−inf, inf)`.
    pub log_b: DoubleDouble,
}

impl HyperbolicEntropy {
    /// `D(β, β(0))`: within 80 units plus what rounding `ln A` and `ln B` does, `|ln A| + |ln B|` units. At least 0; inf
    /// outside of the domain.
    #[must_use]
    pub fn value(self, beta: DoubleDouble) -> DoubleDouble {
        if self.excludes(beta) || beta.to_f64().is_infinite() {
            return DoubleDouble::from(f64::INFINITY);
        }
        let (x, kappa) = (Scaled::from(beta), self.kappa());
        if self.is_unbiased() {
            return entropy(x, kappa).value();
        }
        divergence(x, self.start(), kappa).value()
    }

    /// `D'(β) = G = ½ (asinh(2β/κ) − θ)`: within 20 units for `θ = 0`, otherwise of the larger of its terms, and from
    /// `β − β(0)` where that is the smaller. Outside of the domain it points back into it.
    #[must_use]
    pub fn gradient(self, beta: DoubleDouble) -> DoubleDouble {
        let (one_sided, fixed) = (self.kappa().is_zero(), self.is_unbiased());
        if one_sided && (fixed || self.excludes(beta) || beta.to_f64() == 0.0) {
            // The derivative's limit; a coordinate that is 0 for good has none at 0, and 0 is as good as any.
            let positive = if fixed || self.excludes(beta) { beta.to_f64() > 0.0 } else { self.log_b.is_finite() };
            let infinite = DoubleDouble::from(f64::INFINITY);
            return match (fixed && beta.to_f64() == 0.0, positive) {
                (true, _) => DoubleDouble::ZERO,
                (false, true) => infinite,
                (false, false) => -infinite,
            };
        }
        let x = Scaled::from(beta);
        let twice = if fixed {
            signed(asinh_of_quotient(x, self.kappa()), x)
        } else {
            log_ratio(x, self.start(), self.kappa())
        };
        twice.times_power_of_two(-1).value()
    }

    /// `D''(β) = 1/√(4β² + κ²)`: within 12 units; inf outside of the domain.
    #[must_use]
    pub fn hessian(self, beta: DoubleDouble) -> DoubleDouble {
        if self.excludes(beta) {
            return DoubleDouble::from(f64::INFINITY);
        }
        let root = (Scaled::from(beta).times_power_of_two(1).square() + self.kappa().square()).sqrt();
        (Scaled::ONE / root).value()
    }

    /// `D(β, β₀)` for any two points of the domain, also close ones: within 80 units; inf where `β` is outside or the slope at
    /// `β₀` is infinite.
    #[must_use]
    pub fn bregman(self, beta: DoubleDouble, beta0: DoubleDouble) -> DoubleDouble {
        if beta == beta0 {
            return DoubleDouble::ZERO;
        }
        // Not by the value at `β`, which may be beyond the largest float where the divergence is not.
        let outside = self.excludes(beta) || (self.kappa().is_zero() && self.is_unbiased() && beta.to_f64() != 0.0);
        if outside || beta.to_f64().is_infinite() || !self.gradient(beta0).is_finite() {
            return DoubleDouble::from(f64::INFINITY);
        }
        divergence(Scaled::from(beta), Scaled::from(beta0), self.kappa()).value()
    }

    /// `κ = √(AB)`.
    fn kappa(self) -> Scaled {
        Scaled::exp((self.log_a + self.log_b).mul_f64(0.5))
    }

    /// `β(0) = ¼ (A − B) = ¼ max(A, B) (1 − e^(−|ln A − ln B|))`, signed.
    fn start(self) -> Scaled {
        let (larger, difference) = if self.log_a > self.log_b {
            (self.log_a, self.log_b - self.log_a)
        } else {
            (self.log_b, self.log_a - self.log_b)
        };
        let size = (Scaled::exp(larger) * Scaled::from(-difference.exp_m1())).times_power_of_two(-2);
        if self.log_a > self.log_b { size } else { -size }
    }

    /// `A = B`: the start is 0, or the coordinate cannot move.
    fn is_unbiased(self) -> bool {
        self.log_a == self.log_b
    }

    /// Whether the flow can never reach `beta`: a sign that a one-sided start does not have.
    fn excludes(self, beta: DoubleDouble) -> bool {
        let never = |log: DoubleDouble| log.to_f64() == f64::NEG_INFINITY;
        (never(self.log_b) && beta.to_f64() < 0.0) || (never(self.log_a) && beta.to_f64() > 0.0)
    }
}

/// `asinh(2|x|/κ)`.
fn asinh_of_quotient(x: Scaled, kappa: Scaled) -> Scaled {
    (x.abs() / kappa).times_power_of_two(1).asinh()
}

/// `size ≥ 0` with the sign of `x`.
fn signed(size: Scaled, x: Scaled) -> Scaled {
    if x.is_negative() { -size } else { size }
}

/// `q(x) = ½ |x| (asinh t − t/(1 + √(1 + t²)))`, `t = 2|x|/κ`: the difference is at least a third of the first term.
fn entropy(x: Scaled, kappa: Scaled) -> Scaled {
    let (size, half) = (x.abs(), |value: Scaled| value.times_power_of_two(-1));
    if x.is_zero() {
        return Scaled::ZERO;
    }
    let t = (size / kappa).times_power_of_two(1);
    if t.is_below(-60) {
        // x²/(2κ): the term left out is t²/12.
        return half(size * half(t));
    }
    let half_angle = t / (Scaled::ONE + (Scaled::ONE + t.square()).sqrt());
    half(size * (t.asinh() - half_angle))
}

/// `ln(p/p₀) = asinh(2x/κ) − asinh(2x₀/κ)`, from `x − x₀` where the signs agree; not for `x = 0` or `x₀ = 0` and `κ = 0`.
///
/// With `c = √(x² + κ²/4)` and `|x| > |x₀|` the ratio of the larger parts is `1 + δ`,
/// `δ = (|x| − |x₀|)(1 + (|x| + |x₀|)/(c + c₀))/(c₀ + |x₀|)`.
fn log_ratio(x: Scaled, x0: Scaled, kappa: Scaled) -> Scaled {
    if x.is_negative() != x0.is_negative() {
        let sum = asinh_of_quotient(x, kappa) + asinh_of_quotient(x0, kappa);
        return signed(sum, x);
    }
    let (mut large, mut small) = (x.abs(), x0.abs());
    let grows = !(large - small).is_negative();
    if !grows {
        (large, small) = (small, large);
    }
    let c = |x: Scaled| (x.square() + kappa.times_power_of_two(-1).square()).sqrt();
    let mean_slope = Scaled::ONE + (large + small) / (c(large) + c(small));
    let delta = (large - small) * mean_slope / (c(small) + small);
    let size = delta.ln_1p();
    if grows == x.is_negative() { -size } else { size }
}

/// `½ [p ln(p/p₀) − p + p₀] + ½ [m ln(m/m₀) − m + m₀]` with `p − m = x`, `p m = κ²/16`, and the same for `x₀`.
fn divergence(x: Scaled, x0: Scaled, kappa: Scaled) -> Scaled {
    if kappa.is_zero() && (x.is_zero() || x0.is_zero()) {
        // One part is left; it is 0 now, or was at first.
        let from = x0.abs().times_power_of_two(-1);
        return if x0.is_zero() { Scaled::from(f64::INFINITY) } else { from };
    }
    let z = log_ratio(x, x0, kappa);
    // The larger of each part and what it was.
    let (growing, shrinking) = if z.is_negative() { (x0, x) } else { (x, x0) };
    let (p, m) = (parts(growing, kappa).0, parts(shrinking, kappa).1);
    (relative_entropy(p, z) + relative_entropy(m, -z)).times_power_of_two(-1)
}

/// `(p, m)` of `x`: the larger is `(√(x² + κ²/4) + |x|)/2`, the smaller `κ²/16` over it.
fn parts(x: Scaled, kappa: Scaled) -> (Scaled, Scaled) {
    let half_kappa = kappa.times_power_of_two(-1);
    let large = ((x.square() + half_kappa.square()).sqrt() + x.abs()).times_power_of_two(-1);
    let small = if half_kappa.is_zero() { Scaled::ZERO } else { half_kappa.square().times_power_of_two(-2) / large };
    if x.is_negative() { (small, large) } else { (large, small) }
}

/// `c ln(c/c₀) − c + c₀` from `larger = max(c, c₀)` and `log_ratio = ln(c/c₀)`.
fn relative_entropy(larger: Scaled, log_ratio: Scaled) -> Scaled {
    let s = log_ratio.abs();
    if larger.is_zero() || s.is_zero() {
        return Scaled::ZERO;
    }
    if s.is_below(-120) {
        // s²/2: the term left out is s/3 of it.
        return larger * s.square().times_power_of_two(-1);
    }
    let function = if log_ratio.is_negative() { chi } else { psi };
    larger * Scaled::from(function(s.value()))
}

#[cfg(test)]
mod tests;
