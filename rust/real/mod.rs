//! The numbers everything is computed with: binary64 and double-double behind one trait.

#![allow(
    clippy::inline_always,
    reason = "a kernel is compiled with vector instructions only as far as it is inlined into the dispatched function"
)]

mod dispatch;
mod double_double;
mod float64;
mod scaled;
pub mod vector;

pub use double_double::{DoubleDouble, ParseDoubleDoubleError, quick_two_sum, two_prod, two_sum};

pub use scaled::Scaled;

pub use float64::{add_squares, axpy_abs, axpy_roundings, dot_abs, dot_roundings};

use core::fmt::Debug;
use core::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// A real number type in which states, residuals and potentials can be computed.
pub trait Real:
    Copy
    + Debug
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
{
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// ln 2, to full precision.
    const LN_2: Self;
    /// Unit round-off, the largest relative error of one addition: 2^-53 or 2^-104.
    const UNIT_ROUNDOFF: f64;

    /// The number `high + low`; exact where the type can hold it.
    fn from_parts(high: f64, low: f64) -> Self;
    /// The nearest binary64.
    fn to_f64(self) -> f64;
    /// What `to_f64` leaves out: `self - to_f64(self)`, 0 for binary64.
    fn low(self) -> f64;
    /// |self|.
    #[must_use]
    fn abs(self) -> Self;
    /// √self; NaN below zero.
    #[must_use]
    fn sqrt(self) -> Self;
    /// e^self.
    #[must_use]
    fn exp(self) -> Self;
    /// e^self − 1 without cancellation.
    #[must_use]
    fn exp_m1(self) -> Self;
    /// Natural logarithm; −inf at zero, NaN below.
    #[must_use]
    fn ln(self) -> Self;
    /// ln(1 + self) without cancellation; −inf at −1, NaN below.
    #[must_use]
    fn ln_1p(self) -> Self;
    /// Hyperbolic sine.
    #[must_use]
    fn sinh(self) -> Self;
    /// Hyperbolic cosine.
    #[must_use]
    fn cosh(self) -> Self;
    /// Inverse hyperbolic sine.
    #[must_use]
    fn asinh(self) -> Self;
    /// Neither NaN nor infinite.
    fn is_finite(self) -> bool;
    /// `Σ x_i v_i` over binary64 data `x`: the kernel of every product with the data. Same length.
    fn dot(x: &[f64], v: &[Self]) -> Self;
    /// `y += alpha * x` over binary64 data `x`. Same length.
    fn axpy(alpha: Self, x: &[f64], y: &mut [Self]);
    /// `y += Σ_j alpha_j x_j` over eight rows of binary64 data. Same lengths.
    fn axpy_rows(alpha: &[Self; 8], x: &[&[f64]; 8], y: &mut [Self]) {
        alpha.iter().zip(x).for_each(|(alpha, x)| Self::axpy(*alpha, x, y));
    }
    /// `Σ a_i b_i`. Same length.
    #[must_use]
    fn inner_product(a: &[Self], b: &[Self]) -> Self {
        a.iter().zip(b).fold(Self::ZERO, |sum, (a, b)| sum + *a * *b)
    }
    /// `y += alpha x`, rounded after the product and after the sum. Same length.
    fn add_multiple(alpha: Self, x: &[Self], y: &mut [Self]) {
        x.iter().zip(y).for_each(|(x, y)| *y += alpha * *x);
    }
    /// `y += a∘x`, entry by entry, rounded alike. Same lengths.
    fn add_product(a: &[Self], x: &[Self], y: &mut [Self]) {
        a.iter().zip(x).zip(y).for_each(|((a, x), y)| *y += *a * *x);
    }

    /// The exact conversion.
    #[must_use]
    fn from_f64(value: f64) -> Self {
        Self::from_parts(value, 0.0)
    }
}
