//! What the flow of an untied diagonal network is asked: data, targets and a start.

use crate::flow::Invalid;
use crate::linalg::Rows;
use crate::potential::Start;

/// `β = u₊∘v₊ − u₋∘v₋` fitted to `y ≈ Xβ` by gradient flow on `Σ r² / (2N)`.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// Samples, N × d.
    pub x: Rows<'a>,
    /// Targets (N).
    pub y: &'a [f64],
    /// What binary64 leaves out of them; none is 0. Not seen by flows in binary64.
    pub y_low: Option<&'a [f64]>,
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

impl Problem<'_> {
    /// The first thing wrong with lengths and values.
    ///
    /// # Errors
    /// [`Invalid`] names the argument, what was found and what is allowed.
    pub fn validate(&self) -> Result<(), Invalid> {
        let (n, d) = (self.x.n(), self.x.d());
        Invalid::unless_length("y", self.y.len(), n)?;
        Invalid::unless_length("log_a", self.start.log_a.len(), d)?;
        Invalid::unless_length("log_b", self.start.log_b.len(), d)?;
        Invalid::unless(n > 0 && d > 0, "X", 0.0, "not empty")?;
        Invalid::unless_finite("X", self.x.data())?;
        Invalid::unless_finite("y", self.y)?;
        if let Some(low) = self.y_low {
            Invalid::unless_length("y_low", low.len(), n)?;
            Invalid::unless_finite("y_low", low)?;
        }
        for (name, logs) in [("log_a", &self.start.log_a), ("log_b", &self.start.log_b)] {
            let bad = logs.iter().find(|log| log.high.is_nan() || log.high == f64::INFINITY || log.low.is_nan());
            if let Some(bad) = bad {
                return Err(Invalid::Value { name, found: bad.high, expected: "below +inf" });
            }
        }
        let Some(weights) = self.weights else { return Ok(()) };
        for (name, values) in weights.named() {
            Invalid::unless_length(name, values.len(), d)?;
            Invalid::unless_finite(name, values)?;
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
