//! Why a problem cannot be integrated as asked, the same for every model: the argument, what was found, what is allowed.

use super::observable::Observable;
use super::outcome::{Method, Options, Precision};

/// Why a problem cannot be integrated as asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Invalid {
    /// An argument has the wrong length.
    Length {
        /// Its name.
        name: &'static str,
        /// The length found.
        found: usize,
        /// The length expected.
        expected: usize,
    },
    /// An argument holds a value that is not allowed.
    Value {
        /// Its name.
        name: &'static str,
        /// The value found.
        found: f64,
        /// What is allowed, in words.
        expected: &'static str,
    },
    /// [`Method::Weights`](super::Method::Weights) without weights.
    NoWeights,
    /// [`Method::Weights`](super::Method::Weights) in double-double.
    RawInDoubleDouble,
    /// X and y of sizes with which the flow takes a time that binary64 does not hold.
    Time {
        /// Decimal exponent of the time scale of the flow, in the caller's unit.
        exponent: f64,
    },
    /// Weights beyond what can be followed on these data.
    Start {
        /// The largest `ln A` or `ln B`.
        found: f64,
        /// What it must be below.
        most: f64,
    },
}

impl core::fmt::Display for Invalid {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Length { name, found, expected } => write!(f, "{name} must have length {expected}: got {found}"),
            Self::Value { name, found, expected } => write!(f, "{name} must be {expected}: got {found:?}"),
            Self::NoWeights => write!(f, "method must not be 'weights' for a start without weights"),
            Self::RawInDoubleDouble => {
                write!(f, "method must be 'auto', 'radau' or 'explicit' with precision 'double-double': got 'weights'")
            }
            Self::Time { exponent } => write!(
                f,
                "X and y must be of sizes with which the flow takes a time within binary64: got one of 10^{exponent:.0}; \
                 multiply X or y by a constant, or pass t (times go as 1/(|X||y|))"
            ),
            Self::Start { found, most } => write!(
                f,
                "net must be of ln kappa below {most:.0} for a flow on these X and y: got {found:.6}; start with \
                 smaller weights, or multiply y or divide X by a constant"
            ),
        }
    }
}

impl core::error::Error for Invalid {}

impl Invalid {
    /// An error unless `ok`.
    pub(crate) fn unless(ok: bool, name: &'static str, found: f64, expected: &'static str) -> Result<(), Self> {
        if ok { Ok(()) } else { Err(Self::Value { name, found, expected }) }
    }

    /// An error unless the length is the one expected.
    pub(crate) fn unless_length(name: &'static str, found: usize, expected: usize) -> Result<(), Self> {
        if found == expected { Ok(()) } else { Err(Self::Length { name, found, expected }) }
    }

    /// An error unless all values are finite.
    pub(crate) fn unless_finite(name: &'static str, values: &[f64]) -> Result<(), Self> {
        match values.iter().find(|value| !value.is_finite()) {
            Some(found) => Err(Self::Value { name, found: *found, expected: "finite" }),
            None => Ok(()),
        }
    }
}

impl Options<'_> {
    /// The first setting that is outside its interval, for a predictor of `features` coefficients.
    ///
    /// # Errors
    /// [`Invalid`] names it, its value and what is allowed.
    pub fn validate(&self, features: usize) -> Result<(), Invalid> {
        let (floor, allowed) = match self.precision {
            Precision::Double => (1e-14, "in [1e-14, 0.1], the floor of binary64"),
            Precision::DoubleDouble => (1e-30, "in [1e-30, 0.1], the floor of double-double"),
        };
        Invalid::unless((floor..=0.1).contains(&self.rtol), "rtol", self.rtol, allowed)?;
        let raw = self.method == Method::Weights;
        if raw && self.precision == Precision::DoubleDouble {
            return Err(Invalid::RawInDoubleDouble);
        }
        let unit = self.time_unit;
        Invalid::unless(unit.is_normal() && unit > 0.0, "time_unit", unit, "a positive normal number")?;
        Invalid::unless(self.tol >= 0.0 && self.tol < 1.0, "tol", self.tol, "in [0, 1)")?;
        Invalid::unless(self.max_steps != Some(0), "max_steps", 0.0, "at least 1")?;
        Invalid::unless(self.max_events != Some(0), "max_events", 0.0, "at least 1")?;
        let seconds = self.max_seconds.unwrap_or(1.0);
        Invalid::unless(seconds > 0.0, "max_seconds", seconds, "positive")?;
        if self.observables.contains(&Observable::Distance) {
            Invalid::unless_length("end", self.end.len(), features)?;
            if !self.end_low.is_empty() {
                Invalid::unless_length("end_low", self.end_low.len(), features)?;
            }
        }
        let Some(times) = self.times else { return Ok(()) };
        Invalid::unless(!times.is_empty(), "t", f64::NAN, "not empty")?;
        let mut last = f64::NEG_INFINITY;
        for time in times {
            Invalid::unless(time.is_finite() && *time >= 0.0, "t", *time, "finite and at least 0")?;
            Invalid::unless(*time > last, "t", *time, "strictly increasing")?;
            last = *time;
        }
        Ok(())
    }
}
