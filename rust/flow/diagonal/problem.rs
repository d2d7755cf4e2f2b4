//! What the flow of an untied diagonal network is asked: data, targets and a start.

use crate::linalg::Rows;
use crate::potential::Start;

/// `β = u₊∘v₊ − u₋∘v₋` fitted to `y ≈ Xβ` by gradient flow on `Σ r² / (2N)`.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// Samples, N × d.
    pub x: Rows<'a>,
    /// Targets (N).
    pub y: &'a [f64],
    /// The start.
    pub start: &'a Start,
    /// The start once more, weight by weight; only [`Method::Weights`](crate::flow::Method::Weights) asks for it.
    pub weights: Option<Weights<'a>>,
}

/// The weights `e^log_magnitude · (u₊, v₊, u₋, v₋)`, each (d).
#[derive(Clone, Copy, Debug)]
pub struct Weights<'a> {
    /// u₊.
    pub u_plus: &'a [f64],
    /// v₊.
    pub v_plus: &'a [f64],
    /// u₋.
    pub u_minus: &'a [f64],
    /// v₋.
    pub v_minus: &'a [f64],
    /// Logarithm of the common factor of each coordinate.
    pub log_magnitude: &'a [f64],
}

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
    /// [`Method::Weights`](crate::flow::Method::Weights) without weights.
    NoWeights,
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

impl Problem<'_> {
    /// The first thing wrong with lengths and values.
    ///
    /// # Errors
    /// [`Invalid`] names the argument, what was found and what is allowed.
    pub fn validate(&self) -> Result<(), Invalid> {
        let (n, d) = (self.x.n(), self.x.d());
        let length = |name, found, expected| {
            if found == expected { Ok(()) } else { Err(Invalid::Length { name, found, expected }) }
        };
        length("y", self.y.len(), n)?;
        length("log_a", self.start.log_a.len(), d)?;
        length("log_b", self.start.log_b.len(), d)?;
        if n == 0 || d == 0 {
            return Err(Invalid::Value { name: "X", found: 0.0, expected: "not empty" });
        }
        finite("X", self.x.data().iter())?;
        finite("y", self.y.iter())?;
        for (name, logs) in [("log_a", &self.start.log_a), ("log_b", &self.start.log_b)] {
            let bad = logs.iter().find(|log| log.high.is_nan() || log.high == f64::INFINITY || log.low.is_nan());
            if let Some(bad) = bad {
                return Err(Invalid::Value { name, found: bad.high, expected: "below +inf" });
            }
        }
        let Some(weights) = self.weights else { return Ok(()) };
        for (name, values) in weights.named() {
            length(name, values.len(), d)?;
            finite(name, values.iter())?;
        }
        Ok(())
    }
}

impl<'a> Weights<'a> {
    fn named(&self) -> [(&'static str, &'a [f64]); 5] {
        [
            ("u_plus", self.u_plus),
            ("v_plus", self.v_plus),
            ("u_minus", self.u_minus),
            ("v_minus", self.v_minus),
            ("log_magnitude", self.log_magnitude),
        ]
    }
}

fn finite<'a>(name: &'static str, mut values: impl Iterator<Item = &'a f64>) -> Result<(), Invalid> {
    match values.find(|value| !value.is_finite()) {
        Some(found) => Err(Invalid::Value { name, found: *found, expected: "finite" }),
        None => Ok(()),
    }
}
