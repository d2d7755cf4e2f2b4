//! The divergence of two points in the coordinates `p − m = x`, `p m = κ²/16`. Knows no start and no network.

use super::exponential::{divide_by_root, exp_of_sum, times_exp};
use super::hyperbolic_entropy::asinh_of_quotient;
use super::relative_entropy::relative_entropy;

/// Lifts numbers of tiny size away from underflow; exact.
const LIFT: f64 = 1.340_780_792_994_259_7e154; // 2^512

/// A unit of measure in which neither `κ` nor the sum of two coordinates overflows, and small ones are not subnormal:
/// `4κ` where `κ > 1`, a power of two otherwise.
#[derive(Clone, Copy)]
pub(super) struct Unit {
    log_kappa: f64,
    lift: f64,
    /// `κ/2` in this unit.
    half_kappa: f64,
}

impl Unit {
    /// For numbers up to `largest` in size.
    pub(super) fn new(log_kappa: f64, largest: f64) -> Self {
        if log_kappa > 0.0 {
            return Self { log_kappa, lift: 0.25, half_kappa: 0.125 };
        }
        let lift = if largest < 1.0 && log_kappa < -300.0 { LIFT } else { 0.25 };
        Self { log_kappa, lift, half_kappa: times_exp(0.5 * lift, log_kappa) }
    }

    /// `x` in this unit.
    fn measure(self, x: f64) -> f64 {
        let x = self.lift * x;
        if self.log_kappa > 0.0 { divide_by_root(divide_by_root(x, self.log_kappa), self.log_kappa) } else { x }
    }

    /// Back from this unit.
    pub(super) fn undo(self, value: f64) -> f64 {
        let value = if self.log_kappa > 0.0 { times_exp(value, self.log_kappa) } else { value };
        value / self.lift
    }

    /// `(p, m)` of `x`, in this unit: the larger is `(√(x² + κ²/4) + |x|)/2`, the smaller `κ²/16` over it.
    pub(super) fn parts(self, x: f64) -> (f64, f64) {
        let size = self.measure(x.abs());
        let twice = size.hypot(self.half_kappa) + size;
        let (large, small) = (0.5 * twice, 0.5 * self.half_kappa * (self.half_kappa / twice));
        let small = if self.half_kappa == 0.0 { 0.0 } else { small };
        if x >= 0.0 { (large, small) } else { (small, large) }
    }

    /// `(A/4, B/4)` in this unit.
    pub(super) fn parts_of_start(self, log_a: f64, log_b: f64) -> (f64, f64) {
        if self.log_kappa > 0.0 {
            // A/κ = √(A/B)
            let ratio = |log_a: f64, log_b: f64| 0.25 * self.lift * exp_of_sum(0.5 * log_a, -0.5 * log_b);
            (ratio(log_a, log_b), ratio(log_b, log_a))
        } else {
            (times_exp(0.25 * self.lift, log_a), times_exp(0.25 * self.lift, log_b))
        }
    }
}

/// `½ [p ln(p/p₀) − p + p₀] + ½ [m ln(m/m₀) − m + m₀]` for `ln(p/p₀) = −ln(m/m₀) = log_ratio`.
pub(super) fn of_parts((p, m): (f64, f64), (p0, m0): (f64, f64), log_ratio: f64) -> f64 {
    let (p, m) = if log_ratio >= 0.0 { (p, m0) } else { (p0, m) };
    0.5 * relative_entropy(p, log_ratio) + 0.5 * relative_entropy(m, -log_ratio)
}

/// `asinh(2x/κ) − asinh(2x₀/κ) = ln(p/p₀)`, from `x − x₀` where the signs agree.
///
/// With `c = √(x² + κ²/4)` and `|x| > |x₀|` the ratio of the larger parts is `1 + δ`,
/// `δ = (|x| − |x₀|)(1 + (|x| + |x₀|)/(c + c₀))/(c₀ + |x₀|)`: no term is negative.
pub(super) fn log_ratio(x: f64, x0: f64, log_kappa: f64) -> f64 {
    if x.is_sign_negative() == x0.is_sign_negative() {
        let (large, small) = if x.abs() >= x0.abs() { (x.abs(), x0.abs()) } else { (x0.abs(), x.abs()) };
        let unit = Unit::new(log_kappa, large);
        let (a, b, gap) = (unit.measure(large), unit.measure(small), unit.measure(large - small));
        let (c_a, c_b) = (a.hypot(unit.half_kappa), b.hypot(unit.half_kappa));
        let delta = gap * (1.0 + (a + b) / (c_a + c_b)) / (c_b + b);
        if delta.is_finite() {
            // The signs of x - x0 and of the logarithm agree.
            return delta.ln_1p().copysign(x - x0);
        }
        if log_kappa == f64::NEG_INFINITY {
            // Both arcsinh are infinite; the larger over the smaller may be as well.
            return (x.abs().ln() - x0.abs().ln()).copysign(x - x0);
        }
    }
    asinh_of_quotient(x, log_kappa) - asinh_of_quotient(x0, log_kappa)
}

/// `D(x, x₀)` for any two points.
pub(super) fn from_point(x: f64, x0: f64, log_kappa: f64) -> f64 {
    if x == x0 && x.is_finite() && !log_kappa.is_nan() {
        return 0.0;
    }
    let unit = Unit::new(log_kappa, x.abs().max(x0.abs()));
    unit.undo(of_parts(unit.parts(x), unit.parts(x0), log_ratio(x, x0, log_kappa)))
}
