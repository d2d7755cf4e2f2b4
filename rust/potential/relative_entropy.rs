//! The relative entropy of two positive numbers, `c ln(c/c₀) − c + c₀`, without cancellation. Knows no network.
//!
//! With `s = |ln(c/c₀)|` it is `max(c, c₀)` times
//! `ψ(s) = e^-s − 1 + s` where `c ≥ c₀` and `χ(s) = 1 − (1 + s)e^-s` where `c < c₀`: both `s²/2` to first order, and
//! written with the larger number they never overflow.

use crate::real::Real;

/// Above this the plain formulas lose at most a factor of three in accuracy; below it the series takes over.
const SERIES: f64 = 1.0;

/// Terms of the series: `1/19! < 2^-56` in binary64, `2/33! < 2^-120` in double-double.
const fn terms<R: Real>() -> u32 {
    if R::UNIT_ROUNDOFF < 1e-20 { 32 } else { 18 }
}

/// `c ln(c/c₀) − c + c₀` from `larger = max(c, c₀)` and `log_ratio = ln(c/c₀)`; within `2 δ + 6u` for a relative error
/// `δ` of `log_ratio`.
pub(super) fn relative_entropy(larger: f64, log_ratio: f64) -> f64 {
    if larger == 0.0 || log_ratio == 0.0 {
        return 0.0;
    }
    let s = log_ratio.abs();
    if log_ratio > 0.0 { larger * psi(s) } else { larger * chi(s) }
}

/// `Σ_{k≥0} 2 s^k/(k+2)!`, so that `e^s = 1 + s + ½ s² · series(s)`; for `|s| ≤ 1`.
fn series<R: Real>(s: R) -> R {
    (3..=terms::<R>()).rev().fold(R::ONE, |sum, k| R::ONE + s * sum / R::from_f64(f64::from(k)))
}

/// `ψ(s) = e^-s − 1 + s` for `s ≥ 0`: within 4u beyond the error of `e^s − 1`, which above 1 counts twice.
pub(super) fn psi<R: Real>(s: R) -> R {
    if s.to_f64() < SERIES { R::from_f64(0.5) * s * s * series(-s) } else { s + (-s).exp_m1() }
}

/// `χ(s) = 1 − (1 + s) e^-s` for `s ≥ 0`: within 4u beyond three times the error of `e^s`.
pub(super) fn chi<R: Real>(s: R) -> R {
    if s.to_f64() < SERIES {
        R::from_f64(0.5) * s * s * series(s) * (-s).exp()
    } else if s.to_f64() == f64::INFINITY {
        R::ONE
    } else {
        R::ONE - (R::ONE + s) * (-s).exp()
    }
}
