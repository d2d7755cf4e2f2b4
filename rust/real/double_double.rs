//! Double-double.

/// An unevaluated sum of two binary64 numbers, `|low| ≤ ulp(high)/2`: about 32 decimal digits.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct DoubleDouble {
    /// Leading part: the nearest binary64.
    pub high: f64,
    /// What `high` leaves out.
    pub low: f64,
}
