//! What the flow of a leaky-ReLU network is asked: data, targets, a start and a slope.

use crate::flow::{Invalid, Neurons};
use crate::linalg::Rows;
use crate::real::Real;

/// `f(x) = Σ_i a_i σ(w_iᵀx)`, `σ(p) = max(p, ρp)`, fitted to y by gradient flow on `Σ r² / (2N)`.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// Samples, N × d.
    pub x: Rows<'a>,
    /// Targets (N).
    pub y: &'a [f64],
    /// What binary64 leaves out of them; none is 0. Not seen by flows in binary64.
    pub y_low: Option<&'a [f64]>,
    /// The start.
    pub start: Neurons<'a>,
    /// ρ, in [0, 1]: 0 is `ReLU`, 1 the linear network.
    pub slope: f64,
}

impl Problem<'_> {
    /// The first thing wrong with lengths and values.
    ///
    /// # Errors
    /// [`Invalid`] names the argument, what was found and what is allowed.
    pub fn validate(&self) -> Result<(), Invalid> {
        self.start.validate(self.x, self.y)?;
        if let Some(low) = self.y_low {
            Invalid::unless_length("y_low", low.len(), self.y.len())?;
            Invalid::unless_finite("y_low", low)?;
        }
        // An exponent of so many digits still has one after the point.
        let log = self.start.log_magnitude;
        Invalid::unless((-1e12..=700.0).contains(&log), "log_magnitude", log, "in [-1e12, 700]")?;
        Invalid::unless((0.0..=1.0).contains(&self.slope), "slope", self.slope, "in [0, 1]")
    }

    /// The targets.
    pub(super) fn targets<R: Real>(&self) -> Vec<R> {
        let low = |n: usize| self.y_low.map_or(0.0, |low| low[n]);
        self.y.iter().enumerate().map(|(n, y)| R::from_parts(*y, low(n))).collect()
    }
}
