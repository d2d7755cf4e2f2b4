//! The start of a network of neurons. Knows no flow.

use super::Invalid;
use crate::linalg::Rows;
use crate::real::{DoubleDouble, Real};

/// Weights at time 0 of `f(x) = Σ_i a_i σ(w_iᵀx)`, in units of `exp(log_magnitude)`.
#[derive(Clone, Copy, Debug)]
pub struct Neurons<'a> {
    /// Output weights a (m).
    pub a: &'a [f64],
    /// Hidden weights W, m × d, a neuron a row.
    pub w: &'a [f64],
    /// Logarithm of the unit of all weights: magnitudes far outside of the range of a float are ordinary.
    pub log_magnitude: f64,
    /// What binary64 leaves out of `a`; none is 0. Like the other low parts not seen by flows in binary64.
    pub a_low: Option<&'a [f64]>,
    /// What it leaves out of `w`.
    pub w_low: Option<&'a [f64]>,
    /// What it leaves out of `log_magnitude`.
    pub log_magnitude_low: f64,
}

impl<'a> Neurons<'a> {
    /// Weights that binary64 leaves nothing out of.
    #[must_use]
    pub fn new(a: &'a [f64], w: &'a [f64], log_magnitude: f64) -> Self {
        Self { a, w, log_magnitude, a_low: None, w_low: None, log_magnitude_low: 0.0 }
    }

    /// The output weights, to all digits.
    pub(crate) fn outer(&self) -> Vec<DoubleDouble> {
        joined(self.a, self.a_low)
    }

    /// The hidden weights, to all digits.
    pub(crate) fn hidden(&self) -> Vec<DoubleDouble> {
        joined(self.w, self.w_low)
    }

    /// The logarithm of their unit, to all digits.
    pub(crate) fn log(&self) -> DoubleDouble {
        DoubleDouble::from_parts(self.log_magnitude, self.log_magnitude_low)
    }

    /// The first thing wrong with lengths and values of a start and of the data that it is to be fitted to.
    ///
    /// # Errors
    /// [`Invalid`] names the argument, what was found and what is allowed.
    pub fn validate(&self, x: Rows<'_>, y: &[f64]) -> Result<(), Invalid> {
        let (n, d, m) = (x.n(), x.d(), self.a.len());
        Invalid::unless(n > 0 && d > 0, "X", 0.0, "not empty")?;
        Invalid::unless(m > 0, "a", 0.0, "not empty")?;
        Invalid::unless_length("y", y.len(), n)?;
        Invalid::unless_length("W", self.w.len(), m * d)?;
        let log = [self.log_magnitude];
        for (name, values) in [("X", x.data()), ("y", y), ("a", self.a), ("W", self.w), ("log_magnitude", &log)] {
            Invalid::unless_finite(name, values)?;
        }
        let (a_low, w_low, log) = (self.a_low.unwrap_or(&[]), self.w_low.unwrap_or(&[]), [self.log_magnitude_low]);
        for (name, low, whole) in
            [("a_low", a_low, self.a), ("W_low", w_low, self.w), ("log_magnitude_low", &log, &log)]
        {
            if !low.is_empty() {
                Invalid::unless_length(name, low.len(), whole.len())?;
                Invalid::unless_finite(name, low)?;
            }
        }
        Ok(())
    }
}

fn joined(high: &[f64], low: Option<&[f64]>) -> Vec<DoubleDouble> {
    high.iter().enumerate().map(|(i, high)| DoubleDouble::from_parts(*high, low.map_or(0.0, |low| low[i]))).collect()
}
