//! What the flow of a fully connected linear network is asked: data, targets and a start.

use crate::flow::{Invalid, Neurons};
use crate::linalg::Rows;
use crate::real::{DoubleDouble, Real};

/// `f(x) = Σ_i a_i w_iᵀx` fitted to `y ≈ f(X)` by gradient flow on `Σ r² / (2N)`.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// Samples, N × d.
    pub x: Rows<'a>,
    /// Targets (N).
    pub y: &'a [f64],
    /// What binary64 leaves out of them; none is 0. Not seen by flows in binary64.
    pub y_low: Option<&'a [f64]>,
    /// The start.
    pub neurons: Neurons<'a>,
}

impl<'a> Problem<'a> {
    /// The hidden weights, m × d.
    pub(super) fn hidden(&self) -> Rows<'a> {
        Rows::from_parts(self.neurons.w, self.neurons.a.len(), self.x.d())
    }

    /// The targets, to all digits.
    pub(super) fn targets(&self) -> Vec<DoubleDouble> {
        let low = |n: usize| self.y_low.map_or(0.0, |low| low[n]);
        self.y.iter().enumerate().map(|(n, y)| DoubleDouble::from_parts(*y, low(n))).collect()
    }

    /// The first thing wrong with lengths and values.
    ///
    /// # Errors
    /// [`Invalid`] names the argument, what was found and what is allowed.
    pub fn validate(&self) -> Result<(), Invalid> {
        if let Some(low) = self.y_low {
            Invalid::unless_length("y_low", low.len(), self.y.len())?;
            Invalid::unless_finite("y_low", low)?;
        }
        self.neurons.validate(self.x, self.y)
    }
}
