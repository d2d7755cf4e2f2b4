//! `D_Q` in double-double, from the exponents along which the flow has come rather than from `β`.
//!
//! With `p = ¼A e^{2G}`, `m = ¼B e^{−2G}` (THEORY §1) the divergence from the start is
//! `½ p₀ f(2G) + ½ m₀ f(−2G)`, `f(t) = e^t (t − 1) + 1 = t²/2 + t³/3 + …`: no term is negative, so nothing cancels between
//! them, and within `f` the series takes over where its closed form would cancel.
//!
//! `A`, `A e^t` and `t²` have exponents of their own ([`Scaled`]): each may be beyond binary64 on either side where
//! `A f(t)` is not. The value is inf or 0 where the divergence itself is.

use crate::real::{DoubleDouble, Real, Scaled};

/// Below this the series is summed: above it the closed form cancels to no less than a tenth.
const SMALL: f64 = 0.5;
/// Terms of the series: 0.5^28/28! is far below 2^-106.
const TERMS: u32 = 28;

/// `D_Q` of one coordinate from a point with `(ln A, ln B)` to one `t = 2ΔG` further on.
pub(super) fn divergence(log_a: DoubleDouble, log_b: DoubleDouble, t: DoubleDouble) -> DoubleDouble {
    (one_side(log_a, t) + one_side(log_b, -t)).value()
}

/// `½ (e^{log}/4) f(t)`, 0 for a side that is not there.
fn one_side(log: DoubleDouble, t: DoubleDouble) -> Scaled {
    if log.to_f64() == f64::NEG_INFINITY || t.to_f64() == 0.0 {
        return Scaled::ZERO;
    }
    let here = Scaled::exp(log);
    let grown = if t.to_f64() == f64::NEG_INFINITY {
        here
    } else if t.to_f64().abs() > SMALL {
        Scaled::exp(log + t) * Scaled::from(t.add_f64(-1.0)) + here
    } else {
        here * Scaled::from(t).square() * Scaled::from(mean(t))
    };
    grown.times_power_of_two(-3)
}

/// `f(t)/t² = Σ (j + 1) t^j/(j + 2)!`.
fn mean(t: DoubleDouble) -> DoubleDouble {
    let mut sum = DoubleDouble::ZERO;
    // Horner: the coefficient of t^(j+1) is that of t^j times (j + 2)/((j + 1)(j + 3)).
    for j in (0..TERMS).rev() {
        let (numerator, denominator) = (f64::from(j + 2), f64::from((j + 1) * (j + 3)));
        sum = (sum * t).mul_f64(numerator) / DoubleDouble::from_f64(denominator);
        sum = sum.add_f64(1.0);
    }
    sum.mul_f64(0.5)
}
