//! What the flow of a fully connected linear network is asked: data, targets and a start.

use crate::flow::{Invalid, Neurons};
use crate::linalg::Rows;

/// `f(x) = Σ_i a_i w_iᵀx` fitted to `y ≈ f(X)` by gradient flow on `Σ r² / (2N)`.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// Samples, N × d.
    pub x: Rows<'a>,
    /// Targets (N).
    pub y: &'a [f64],
    /// The start.
    pub neurons: Neurons<'a>,
}

impl<'a> Problem<'a> {
    /// The hidden weights, m × d.
    pub(super) fn hidden(&self) -> Rows<'a> {
        Rows::from_parts(self.neurons.w, self.neurons.a.len(), self.x.d())
    }

    /// The first thing wrong with lengths and values.
    ///
    /// # Errors
    /// [`Invalid`] names the argument, what was found and what is allowed.
    pub fn validate(&self) -> Result<(), Invalid> {
        self.neurons.validate(self.x, self.y)
    }
}
