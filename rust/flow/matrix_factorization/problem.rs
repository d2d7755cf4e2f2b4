//! What the flow of a matrix factorization is asked: observations, targets and a start.

use super::factors::Factors;
use crate::flow::Invalid;
use crate::linalg::Rows;

/// `f_n = ⟨X_n, M⟩` fitted to `y_n` by gradient flow on `Σ r² / (2N)`.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// Observations, N × d₁d₂: a matrix `X_n` a row, row after row.
    pub x: Rows<'a>,
    /// Targets (N).
    pub y: &'a [f64],
    /// The shape of the factors.
    pub factors: Factors,
    /// The start `Z = [U; V]`, or W: a row of k entries after another. In units of `exp(log_magnitude)`.
    pub z: &'a [f64],
    /// Logarithm of the unit of all weights.
    pub log_magnitude: f64,
}

impl Problem<'_> {
    /// The first thing wrong with lengths and values.
    ///
    /// # Errors
    /// [`Invalid`] names the argument, what was found and what is allowed.
    pub fn validate(&self) -> Result<(), Invalid> {
        let Factors { d1, d2, k, symmetric } = self.factors;
        Invalid::unless(self.x.n() > 0 && self.x.d() > 0, "X", 0.0, "not empty")?;
        Invalid::unless(k > 0, "U", 0.0, "not empty")?;
        Invalid::unless(!symmetric || d1 == d2, "U", d1 as f64, "as high as M is wide for a symmetric factorization")?;
        Invalid::unless_length("X", self.x.d(), d1 * d2)?;
        Invalid::unless_length("y", self.y.len(), self.x.n())?;
        Invalid::unless_length("U", self.z.len(), self.factors.dim())?;
        let log = [self.log_magnitude];
        for (name, values) in [("X", self.x.data()), ("y", self.y), ("U", self.z), ("log_magnitude", &log)] {
            Invalid::unless_finite(name, values)?;
        }
        Ok(())
    }
}
