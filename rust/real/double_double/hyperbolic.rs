//! `sinh`, `cosh` and `asinh` of double-double numbers, within 16 · 2^-104 = 64 u², from `exp_m1`, `exp`, `ln` and `ln_1p`.
//!
//! What cancels in the defining formulas is taken from the functions that do not cancel: `sinh x = ½ (E + E/(1 + E))` with
//! `E = e^x − 1`, and `asinh x = ln(1 + w)` with `w = x + x²/(1 + √(1 + x²))`. Both are odd and evaluated at `|x|`, where all
//! terms are positive.

use super::DoubleDouble;
use super::functions::{
    Evaluate, exp_kernel, exp_m1_kernel, exp_of_reduced, exponent, ln_1p_kernel, ln_kernel, subtract_multiple_of_ln_2,
};
use crate::real::Real;
use crate::real::dispatch::dispatch;

/// `sinh x`: see the kernel.
pub(super) fn sinh(x: DoubleDouble) -> DoubleDouble {
    dispatch(Evaluate(sinh_kernel, x))
}

/// `cosh x`: see the kernel.
pub(super) fn cosh(x: DoubleDouble) -> DoubleDouble {
    dispatch(Evaluate(cosh_kernel, x))
}

/// `asinh x`: see the kernel.
pub(super) fn asinh(x: DoubleDouble) -> DoubleDouble {
    dispatch(Evaluate(asinh_kernel, x))
}

/// Below this `|x|`, `sinh x` and `asinh x` are `x` to 2^-121: the term left out is `x²/6`.
const LINEAR: f64 = 1e-18;

/// Above this `|x|`, `e^-|x|` is below 2^-115 of `e^|x|`.
const ONE_SIDED: f64 = 40.0;

/// Above this `|x|`, `asinh |x| = ln |2x|` to 2^-113: the term left out is `1/(4x²)`, of a result above 37.
const LOGARITHMIC: f64 = 9_007_199_254_740_992.0; // 2^53

/// `½ e^x` for `x ≥ 40`, relative error below 5 · 2^-104: not half of `e^x`, which is infinite `ln 2` before this is.
#[inline(always)]
fn half_exp(x: DoubleDouble) -> DoubleDouble {
    if x.high > 711.0 {
        return DoubleDouble::from(f64::INFINITY);
    }
    let k = exponent(x.high);
    exp_of_reduced(subtract_multiple_of_ln_2(x, f64::from(k)), k - 1)
}

/// `sinh x`, relative error below 16 · 2^-104; ±inf beyond ±710.47, ±0 for ±0.
///
/// The error of `E`, 34 u² up to `½ ln 2` and 51 u² beyond, is damped by `(1 + (1 + E)^-2)/(1 + (1 + E)^-1) ≤ 1`, by 0.88 at
/// `½ ln 2`; the quotient has at most half of the sum, and 18 u² of its own. The sum: 3 u².
#[inline(always)]
fn sinh_kernel(x: DoubleDouble) -> DoubleDouble {
    if x.high.abs() < LINEAR || !x.is_finite() {
        return x;
    }
    let size = x.abs();
    let sinh = if size.high < ONE_SIDED {
        let e = exp_m1_kernel(size);
        (e + e / e.add_f64(1.0)).scaled(0.5)
    } else {
        half_exp(size)
    };
    if x.high < 0.0 { -sinh } else { sinh }
}

/// `cosh x`, relative error below 6 · 2^-104; inf beyond ±710.47.
///
/// The error of `e^|x|`, 18 u², enters `e^-|x|` with the other sign: `18 u² tanh|x|` is left of it. The quotient (16 u²) has
/// `½ (1 − tanh|x|)` of the sum, which rounds to 3 u².
#[inline(always)]
fn cosh_kernel(x: DoubleDouble) -> DoubleDouble {
    let size = x.abs();
    if !x.is_finite() {
        return size;
    }
    if size.high >= ONE_SIDED {
        return half_exp(size);
    }
    let e = exp_kernel(size);
    (e + DoubleDouble::ONE / e).scaled(0.5)
}

/// `asinh x`, relative error below 16 · 2^-104; ±inf at ±inf, ±0 for ±0.
///
/// Up to 1 the error of `w` is 3 u² of its sum and 27 u² of the quotient, which has at most 0.3 of it: 11 u², and `ln(1 + w)`
/// is no more sensitive than its argument. `ln` and `ln_1p` add 53 u² where `w` is small, less where `1 + w` is halved.
/// Above 1 the 8 u² of `x + √(1 + x²)` are divided by its logarithm, 0.88 or more.
#[inline(always)]
fn asinh_kernel(x: DoubleDouble) -> DoubleDouble {
    if x.high.abs() < LINEAR || !x.is_finite() {
        return x;
    }
    let size = x.abs();
    let asinh = if size.high > LOGARITHMIC {
        ln_kernel(size) + DoubleDouble::LN_2
    } else {
        let square = size * size;
        let root = square.add_f64(1.0).sqrt();
        if size.high > 1.0 { ln_kernel(size + root) } else { ln_1p_kernel(size + square / root.add_f64(1.0)) }
    };
    if x.high < 0.0 { -asinh } else { asinh }
}
