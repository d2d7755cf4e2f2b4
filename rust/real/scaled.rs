//! Double-double numbers with an exponent of their own, for formulas whose parts over- and underflow binary64 while the
//! result does not: `κ = e^-5000` beside `x = 1`, the squares of 1e300. Knows no formula.
//!
//! Every operation is that of the mantissas, with its bound, and is exact about exponents: no digit is lost to underflow.

use super::Real;
use super::double_double::{DoubleDouble, exp_with_exponent, mantissa_and_exponent};
use core::ops::{Add, Div, Mul, Neg, Sub};

/// `mantissa · 2^exponent`, the mantissa in `±[1/√2, √2]`, or 0, infinite or NaN with the exponent 0.
#[derive(Clone, Copy, Debug)]
pub struct Scaled {
    mantissa: DoubleDouble,
    exponent: i64,
}

/// `t` below `2^TINY` is far below the last place of 1, and so are its powers beyond the first beside it.
const TINY: i64 = -120;

/// Above `2^LARGE` the same is true of 1 beside it.
const LARGE: i64 = 120;

/// The sum of two numbers whose exponents are farther apart is the larger.
const SEPARATE: i64 = 300;

/// `2^k` for `|k| ≤ 1022`.
fn power_of_two(k: i64) -> f64 {
    f64::from_bits(u64::from_ne_bytes(((k + 1023) << 52).to_ne_bytes()))
}

impl Scaled {
    /// Zero.
    pub const ZERO: Self = Self { mantissa: DoubleDouble::ZERO, exponent: 0 };
    /// One.
    pub const ONE: Self = Self { mantissa: DoubleDouble::ONE, exponent: 0 };

    /// `value · 2^exponent`.
    fn new(value: DoubleDouble, exponent: i64) -> Self {
        if value.high == 0.0 || !value.is_finite() {
            return Self { mantissa: value, exponent: 0 };
        }
        let (mantissa, shift) = mantissa_and_exponent(value.abs());
        let mantissa = if value.high < 0.0 { -mantissa } else { mantissa };
        Self { mantissa, exponent: exponent + i64::from(shift) }
    }

    /// `e^x` for any `|x| < 2^53`, relative error below 5 · 2^-104; 0 and inf at ∓inf.
    #[must_use]
    pub fn exp(x: DoubleDouble) -> Self {
        if !x.is_finite() {
            return Self::from(DoubleDouble::from(x.high.exp()));
        }
        let (value, exponent) = exp_with_exponent(x);
        #[allow(clippy::cast_possible_truncation, reason = "an integer below 2^54")]
        let exponent = exponent as i64;
        Self::new(value, exponent)
    }

    /// The nearest double-double number; ±inf and 0 beyond the range of binary64, and no more digits than it has near 0.
    #[must_use]
    pub fn value(self) -> DoubleDouble {
        let exponent = self.exponent.clamp(-2000, 2000);
        let half = exponent / 2;
        let scaled = self.mantissa.scaled(power_of_two(half)).scaled(power_of_two(exponent - half));
        DoubleDouble::from_parts(scaled.high, scaled.low)
    }

    /// `self · 2^k`, exactly.
    #[must_use]
    pub fn times_power_of_two(self, k: i64) -> Self {
        if self.is_zero() || !self.is_finite() { self } else { Self { exponent: self.exponent + k, ..self } }
    }

    /// |self|.
    #[must_use]
    pub fn abs(self) -> Self {
        Self { mantissa: self.mantissa.abs(), ..self }
    }

    /// `self²`.
    #[must_use]
    pub fn square(self) -> Self {
        self * self
    }

    /// √self; NaN below 0.
    #[must_use]
    pub fn sqrt(self) -> Self {
        let odd = self.exponent.rem_euclid(2);
        Self::new(self.mantissa.scaled(power_of_two(odd)).sqrt(), (self.exponent - odd) / 2)
    }

    /// Natural logarithm, within 16 · 2^-104; −inf at 0, NaN below. The mantissa is close to 1: its logarithm is at most
    /// half of `ln 2`, and does not cancel.
    #[must_use]
    pub fn ln(self) -> DoubleDouble {
        self.mantissa.ln() + DoubleDouble::LN_2.mul_f64(self.exponent as f64)
    }

    /// `ln(1 + self)` for `self ≥ 0`, within 17 · 2^-104.
    #[must_use]
    pub fn ln_1p(self) -> Self {
        if self.is_below(TINY) {
            self
        } else if self.exponent > LARGE {
            Self::from(self.ln())
        } else {
            Self::from(self.value().ln_1p())
        }
    }

    /// `asinh self` for `self ≥ 0`, within 17 · 2^-104.
    #[must_use]
    pub fn asinh(self) -> Self {
        if self.is_below(TINY) {
            self
        } else if self.exponent > LARGE || !self.is_finite() {
            Self::from(self.times_power_of_two(1).ln())
        } else {
            Self::from(self.value().asinh())
        }
    }

    /// Whether `|self| < 2^k`, up to a factor of √2.
    #[must_use]
    pub fn is_below(self, k: i64) -> bool {
        self.is_zero() || (self.is_finite() && self.exponent < k)
    }

    /// Whether it is 0, of either sign.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.mantissa.high == 0.0
    }

    /// Whether its sign is that of −1, −0 included.
    #[must_use]
    pub fn is_negative(self) -> bool {
        self.mantissa.high.is_sign_negative()
    }

    /// Neither NaN nor infinite.
    #[must_use]
    pub fn is_finite(self) -> bool {
        self.mantissa.is_finite()
    }
}

impl From<DoubleDouble> for Scaled {
    fn from(value: DoubleDouble) -> Self {
        Self::new(value, 0)
    }
}

impl From<f64> for Scaled {
    fn from(value: f64) -> Self {
        Self::new(DoubleDouble::from(value), 0)
    }
}

impl Add for Scaled {
    type Output = Self;

    fn add(self, b: Self) -> Self {
        let (large, small) =
            if self.is_zero() || (self.exponent < b.exponent && !b.is_zero()) { (b, self) } else { (self, b) };
        let gap = large.exponent - small.exponent;
        if small.is_zero() || (gap > SEPARATE && small.is_finite()) {
            return large;
        }
        // An infinite number has the exponent 0, and wins whatever the other is scaled by.
        let small = small.mantissa.scaled(power_of_two(-gap.min(SEPARATE)));
        Self::new(large.mantissa + small, large.exponent)
    }
}

impl Sub for Scaled {
    type Output = Self;

    fn sub(self, b: Self) -> Self {
        self + -b
    }
}

impl Mul for Scaled {
    type Output = Self;

    fn mul(self, b: Self) -> Self {
        Self::new(self.mantissa * b.mantissa, self.exponent + b.exponent)
    }
}

impl Div for Scaled {
    type Output = Self;

    fn div(self, b: Self) -> Self {
        Self::new(self.mantissa / b.mantissa, self.exponent - b.exponent)
    }
}

impl Neg for Scaled {
    type Output = Self;

    fn neg(self) -> Self {
        Self { mantissa: -self.mantissa, ..self }
    }
}

#[cfg(test)]
mod tests;
