//! The start of a network of neurons. Knows no flow.

use super::Invalid;
use crate::linalg::Rows;

/// Weights at time 0 of `f(x) = Σ_i a_i σ(w_iᵀx)`, in units of `exp(log_magnitude)`.
#[derive(Clone, Copy, Debug)]
pub struct Neurons<'a> {
    /// Output weights a (m).
    pub a: &'a [f64],
    /// Hidden weights W, m × d, a neuron a row.
    pub w: &'a [f64],
    /// Logarithm of the unit of all weights: magnitudes far outside of the range of a float are ordinary.
    pub log_magnitude: f64,
}

impl Neurons<'_> {
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
        Ok(())
    }
}
