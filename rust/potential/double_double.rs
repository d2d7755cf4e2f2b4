//! The potentials in double-double: 29 digits and more of the value, the gradient and the second derivatives.
//!
//! A second implementation, not the binary64 one made generic. That one owes its speed to formulas around the range of
//! binary64: units of measure, exponentials in two factors, thresholds beyond which a term is below 2^-53. Here numbers carry
//! an exponent of their own ([`Scaled`](crate::real::Scaled)), so every formula is the one of the theorem, written as a sum
//! of positive terms, and there is nothing to guard; it takes fifteen times as long. What both share, the relative entropy of
//! two numbers, is generic.
//!
//! Each function states its bound in units of 2^-104 for results that are above 2^-960, where double-double has all its digits.

pub mod diagonal;
pub mod neuron;
