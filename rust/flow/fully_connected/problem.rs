//! What the flow of a fully connected linear network is asked: data, targets and a start.

use crate::flow::diagonal::Invalid;
use crate::flow::neurons::Neurons;
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
        let (n, d, m) = (self.x.n(), self.x.d(), self.neurons.a.len());
        if n == 0 || d == 0 {
            return Err(Invalid::Value { name: "X", found: 0.0, expected: "not empty" });
        }
        if m == 0 {
            return Err(Invalid::Value { name: "a", found: 0.0, expected: "not empty" });
        }
        for (name, found, expected) in [("y", self.y.len(), n), ("W", self.neurons.w.len(), m * d)] {
            if found != expected {
                return Err(Invalid::Length { name, found, expected });
            }
        }
        let log = [self.neurons.log_magnitude];
        let arrays = [
            ("X", self.x.data()),
            ("y", self.y),
            ("a", self.neurons.a),
            ("W", self.neurons.w),
            ("log_magnitude", &log),
        ];
        for (name, values) in arrays {
            if let Some(found) = values.iter().find(|value| !value.is_finite()) {
                return Err(Invalid::Value { name, found: *found, expected: "finite" });
            }
        }
        Ok(())
    }
}
