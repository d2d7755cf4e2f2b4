//! Double-double arithmetic: a number as the unevaluated sum of two binary64 numbers, 106 bits or more.
//!
//! Algorithms and bounds, with `u = 2^-53`:
//! \[JMP\] Joldes, Muller, Popescu, *Tight and rigorous error bounds for basic building blocks of double-word arithmetic*,
//! ACM TOMS 44 (2017); \[MR\] Muller, Rideau, *Formalization of double-word arithmetic, and comments on \[JMP\]*, ACM TOMS 48
//! (2022); \[LLMPR\] Lefèvre, Louvet, Muller, Picot, Rideau, *Accurate calculation of Euclidean norms using double-word
//! arithmetic*, ACM TOMS 49 (2023). All bounds are relative and hold while no part under- or overflows: results from about
//! 2^-960 upwards. A result that is not finite has the low part 0, so infinities and NaN behave as in binary64.

mod decimal;
mod error_free;
mod functions;
mod hyperbolic;
mod power;
mod products;
pub(super) mod slices;
mod triple;

pub use decimal::ParseDoubleDoubleError;
pub use error_free::{quick_two_sum, two_prod, two_sum};
pub(super) use functions::{exp_with_exponent, mantissa_and_exponent};

use super::Real;
use core::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// An unevaluated sum of two binary64 numbers, `|low| ≤ ulp(high)/2`: about 32 decimal digits.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct DoubleDouble {
    /// Leading part: the nearest binary64.
    pub high: f64,
    /// What `high` leaves out.
    pub low: f64,
}

impl DoubleDouble {
    /// `high + low` for `|low| ≤ |high|`, normalised. Branch-free, so that loops of it vectorise.
    ///
    /// An infinite `high` comes with a NaN (∞ − ∞) in `low`, and −0 + 0 is +0: in both cases `high` is the answer.
    #[inline(always)]
    fn normalised(high: f64, low: f64) -> Self {
        let (sum, error) = quick_two_sum(high, low);
        Self {
            high: if low == 0.0 || sum.is_nan() { high } else { sum },
            low: if sum.is_finite() { error } else { 0.0 },
        }
    }

    /// `self · 2^k`, exact unless it under- or overflows. `|k| ≤ 1022`.
    #[inline(always)]
    pub(super) fn scaled(self, power: f64) -> Self {
        let high = self.high * power;
        Self { high, low: if high.is_finite() { self.low * power } else { 0.0 } }
    }

    /// `self + b`: within 2 u² (\[JMP\] Algorithm 4).
    #[inline(always)]
    #[must_use]
    pub fn add_f64(self, b: f64) -> Self {
        let (high, error) = two_sum(self.high, b);
        Self::normalised(high, error + self.low)
    }

    /// `self · b`: within 2 u² (\[JMP\] Algorithm 9).
    #[inline(always)]
    #[must_use]
    pub fn mul_f64(self, b: f64) -> Self {
        let (high, error) = two_prod(self.high, b);
        Self::normalised(high, self.low.mul_add(b, error))
    }
}

impl DoubleDouble {
    /// `self^y`, relative error below `(6 + |y ln self|/16) · 2^-104`.
    ///
    /// Special values as in C (IEEE 754 `pow`): 1 for `y = 0` and for 1, NaN for a negative base and a `y` that is no
    /// integer.
    #[must_use]
    pub fn pow(self, y: Self) -> Self {
        power::pow(self, y)
    }
}

impl From<f64> for DoubleDouble {
    #[inline(always)]
    fn from(value: f64) -> Self {
        Self { high: value, low: 0.0 }
    }
}

/// Within 3 u² + 13 u³ (\[JMP\] Algorithm 6, "accurate"): also where the high parts cancel.
impl Add for DoubleDouble {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        let (sum, sum_error) = two_sum(self.high, b.high);
        let (low, low_error) = two_sum(self.low, b.low);
        let carried = Self::normalised(sum, sum_error + low);
        Self::normalised(carried.high, low_error + carried.low)
    }
}

/// As the sum.
impl Sub for DoubleDouble {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        self + -b
    }
}

/// Within 5 u² (\[JMP\] Algorithm 10, bound of \[MR\]).
impl Mul for DoubleDouble {
    type Output = Self;
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        let (high, error) = two_prod(self.high, b.high);
        Self::normalised(high, error + (self.high * b.low + self.low * b.high))
    }
}

/// Within 16 u²: \[JMP\] Algorithm 17, proven there to 15 u² + 56 u³ with a product (Algorithm 7) whose bound is ½ u² below
/// that of the fused one taken here (Algorithm 9).
impl Div for DoubleDouble {
    type Output = Self;
    #[inline(always)]
    fn div(self, b: Self) -> Self {
        let quotient = self.high / b.high;
        if !quotient.is_finite() || !b.high.is_finite() {
            return Self::from(quotient);
        }
        let product = b.mul_f64(quotient);
        let remainder = (self.high - product.high) + (self.low - product.low);
        Self::normalised(quotient, remainder / b.high)
    }
}

impl Neg for DoubleDouble {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self { high: -self.high, low: -self.low }
    }
}

impl AddAssign for DoubleDouble {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}

impl SubAssign for DoubleDouble {
    #[inline(always)]
    fn sub_assign(&mut self, b: Self) {
        *self = *self - b;
    }
}

impl MulAssign for DoubleDouble {
    #[inline(always)]
    fn mul_assign(&mut self, b: Self) {
        *self = *self * b;
    }
}

impl DivAssign for DoubleDouble {
    #[inline(always)]
    fn div_assign(&mut self, b: Self) {
        *self = *self / b;
    }
}

impl Real for DoubleDouble {
    const ZERO: Self = Self { high: 0.0, low: 0.0 };
    const ONE: Self = Self { high: 1.0, low: 0.0 };
    const LN_2: Self = Self { high: core::f64::consts::LN_2, low: 2.319_046_813_846_299_6e-17 };
    const UNIT_ROUNDOFF: f64 = f64::EPSILON * f64::EPSILON;

    #[inline(always)]
    fn from_parts(high: f64, low: f64) -> Self {
        let (sum, error) = two_sum(high, low);
        // −0 + 0 is +0.
        Self { high: if low == 0.0 { high } else { sum }, low: if sum.is_finite() { error } else { 0.0 } }
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self.high
    }
    #[inline(always)]
    fn low(self) -> f64 {
        self.low
    }
    #[inline(always)]
    fn abs(self) -> Self {
        if self.high.is_sign_negative() { -self } else { self }
    }
    /// Within 25/8 u² (`SQRTDWtoDW` of \[LLMPR\]).
    #[inline(always)]
    fn sqrt(self) -> Self {
        let root = self.high.sqrt();
        if root == 0.0 || !root.is_finite() {
            return Self::from(root);
        }
        let remainder = self.low + (-root).mul_add(root, self.high);
        Self::normalised(root, remainder / (2.0 * root))
    }
    /// Within 5 · 2^-104.
    fn exp(self) -> Self {
        functions::exp(self)
    }
    /// Within 15 · 2^-104.
    fn exp_m1(self) -> Self {
        functions::exp_m1(self)
    }
    /// Within 15 · 2^-104.
    fn ln(self) -> Self {
        functions::ln(self)
    }
    /// Within 16 · 2^-104.
    fn ln_1p(self) -> Self {
        functions::ln_1p(self)
    }
    /// Within 16 · 2^-104.
    fn sinh(self) -> Self {
        hyperbolic::sinh(self)
    }
    /// Within 6 · 2^-104.
    fn cosh(self) -> Self {
        hyperbolic::cosh(self)
    }
    /// Within 16 · 2^-104.
    fn asinh(self) -> Self {
        hyperbolic::asinh(self)
    }
    #[inline(always)]
    fn is_finite(self) -> bool {
        self.high.is_finite()
    }
    fn dot(x: &[f64], v: &[Self]) -> Self {
        products::dot(x, v)
    }
    fn axpy(alpha: Self, x: &[f64], y: &mut [Self]) {
        products::axpy(alpha, x, y);
    }
    fn inner_product(a: &[Self], b: &[Self]) -> Self {
        products::inner(a, b)
    }
    fn add_multiple(alpha: Self, x: &[Self], y: &mut [Self]) {
        products::add_multiple(alpha, x, y);
    }
    fn add_product(a: &[Self], x: &[Self], y: &mut [Self]) {
        products::add_product(a, x, y);
    }
}

#[cfg(test)]
mod tests;
