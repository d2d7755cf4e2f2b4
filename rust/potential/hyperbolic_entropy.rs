//! The hyperbolic entropy `q_κ`, what gradient flow on an unbiased diagonal network minimises (\[A\] Theorem 1).
//!
//! ```text
//! q(x)   = ½ x asinh(2x/κ) − (κ/4)(√(1 + 4x²/κ²) − 1)
//! q'(x)  = ½ asinh(2x/κ)
//! q''(x) = 1/√(4x² + κ²)
//! q*(g)  = (κ/2) sinh² g                                  sup over x of gx − q(x)
//! ```
//!
//! `κ` enters as `ln κ`, an exact number: `e^(−½ ln κ)` is good to the last place, while `ln|x| − ln κ` would lose `|ln κ|`
//! units to cancellation. So `t = 2|x|/κ` is formed by two factors that cannot overflow alone, and logarithms are taken
//! only where `t` overflows: there they do not cancel. The printed `q` cancels for `|x| ≪ κ`; with
//! `√(1+t²) − 1 = t · t/(1+√(1+t²))` it is `½|x| (asinh t − t/(1 + √(1+t²)))`, which loses one bit at most.
//!
//! Each function states its relative error for every finite `x` and `ln κ` whose result is a normal number. Over- and
//! underflow give inf and 0. NaN gives NaN. `q(±inf) = inf`, `q'(±inf) = ±inf`, `q''(±inf) = 0` for `ln κ < ∞`.
//! `ln κ = −inf` is the limit of vanishing scale: `q = inf · |x|`, `q'' = 1/(2|x|)`.

use super::divergence;
use super::exponential::{divide_by_root, exp_of_sum};

/// Below this `t = 2|x|/κ`, `q = x²/(2κ)` and `asinh t = t` to rounding: the terms left out are `t²/12` and `t²/6`.
const QUADRATIC: f64 = 1e-8;

/// Above this `t`, `asinh t = ln 2t` to rounding, and its logarithms do not cancel: the result exceeds 640.
const LOGARITHMIC: f64 = 1e280;

/// `2|x|/κ`.
fn quotient(x: f64, log_kappa: f64) -> f64 {
    2.0 * divide_by_root(divide_by_root(x.abs(), log_kappa), log_kappa)
}

/// `t/(1 + √(1 + t²)) = tanh(½ asinh t)` for `t ≥ 0`.
fn half_angle(t: f64) -> f64 {
    if t <= 1.0 {
        t / (1.0 + (1.0 + t * t).sqrt())
    } else {
        let w = 1.0 / t;
        1.0 / (w + (1.0 + w * w).sqrt())
    }
}

/// `asinh(2x/κ) = 2 q'(x)`: within 6u.
#[must_use]
pub fn asinh_of_quotient(x: f64, log_kappa: f64) -> f64 {
    if (x == 0.0 || x.is_infinite()) && log_kappa < f64::INFINITY {
        return x;
    }
    let t = quotient(x, log_kappa);
    let magnitude = if t <= 1.0 {
        // √(1+t²) − 1 = t · half_angle(t)
        (t + t * half_angle(t)).ln_1p()
    } else if t <= LOGARITHMIC {
        let w = 1.0 / t;
        (t * (1.0 + (1.0 + w * w).sqrt())).ln()
    } else {
        // ln 4 + ln|x| − ln κ; NaN comes this way too and stays NaN.
        (2.0 * core::f64::consts::LN_2 - log_kappa) + x.abs().ln()
    };
    magnitude.copysign(x)
}

/// `q(x) = ½ x asinh(2x/κ) − (κ/4)(√(1 + 4x²/κ²) − 1)`: within 10u. At least 0; 0 at 0.
#[must_use]
pub fn value(x: f64, log_kappa: f64) -> f64 {
    if (x == 0.0 || x.is_infinite()) && log_kappa < f64::INFINITY {
        return x.abs();
    }
    let t = quotient(x, log_kappa);
    if t < QUADRATIC {
        let scaled = divide_by_root(x, log_kappa);
        return 0.5 * scaled * scaled;
    }
    0.5 * x.abs() * (asinh_of_quotient(x, log_kappa).abs() - half_angle(t))
}

/// `q'(x) = ½ asinh(2x/κ)`: within 6u. Odd; ±0 at ±0.
#[must_use]
pub fn gradient(x: f64, log_kappa: f64) -> f64 {
    0.5 * asinh_of_quotient(x, log_kappa)
}

/// `q''(x) = 1/√(4x² + κ²)`: within 8u.
#[must_use]
pub fn hessian(x: f64, log_kappa: f64) -> f64 {
    if x.is_infinite() && log_kappa < f64::INFINITY {
        return 0.0;
    }
    let t = quotient(x, log_kappa);
    if t > 1.0 {
        let w = 1.0 / t;
        return (0.5 / (1.0 + w * w).sqrt()) / x.abs();
    }
    if x == 0.0 && log_kappa == f64::NEG_INFINITY {
        return f64::INFINITY;
    }
    let slope = if x == 0.0 { 1.0 } else { 1.0 / (1.0 + t * t).sqrt() };
    divide_by_root(divide_by_root(slope, log_kappa), log_kappa)
}

/// `q*(g) = (κ/2) sinh² g`: within 8u for exact `g`. Even; its slope at `g` is the `x` with `q'(x) = g`.
#[must_use]
pub fn conjugate(g: f64, log_kappa: f64) -> f64 {
    if g == 0.0 {
        return if log_kappa.is_nan() { f64::NAN } else { 0.0 };
    }
    // √κ sinh|g| = ½ e^(½ ln κ + |g|) (1 − e^(−2|g|)), its square taken last.
    let root = 0.5 * exp_of_sum(0.5 * log_kappa, g.abs()) * -(-2.0 * g.abs()).exp_m1();
    0.5 * root * root
}

/// Bregman divergence `D(x, x₀) = q(x) − q(x₀) − q'(x₀)(x − x₀)`, also where `x` is near `x₀`: within 40u.
///
/// With `p − m = x`, `p m = κ²/16` it is half the relative entropy of `(p, m)` from `(p₀, m₀)`: a sum of two terms that
/// are never negative, of the logarithm of `p/p₀`, which is formed from `x − x₀` where that is the smaller.
#[must_use]
pub fn bregman(x: f64, x0: f64, log_kappa: f64) -> f64 {
    if x0 == 0.0 {
        return value(x, log_kappa);
    }
    if quotient(x, log_kappa).max(quotient(x0, log_kappa)) < QUADRATIC {
        // q'' is 1/κ to rounding between the two points, and the logarithm below may underflow where this does not.
        return value(x - x0, log_kappa);
    }
    divergence::from_point(x, x0, log_kappa)
}

#[cfg(test)]
mod tests;
