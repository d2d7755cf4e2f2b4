//! What the flow of a leaky-ReLU network is asked: data, targets, a start and a slope.

use crate::flow::diagonal::Invalid;
use crate::flow::{Neurons, Options};
use crate::linalg::Rows;

/// `f(x) = Σ_i a_i σ(w_iᵀx)`, `σ(p) = max(p, ρp)`, fitted to y by gradient flow on `Σ r² / (2N)`.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// Samples, N × d.
    pub x: Rows<'a>,
    /// Targets (N).
    pub y: &'a [f64],
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
        let (n, d, m) = (self.x.n(), self.x.d(), self.start.a.len());
        let length = |name, found, expected| {
            if found == expected { Ok(()) } else { Err(Invalid::Length { name, found, expected }) }
        };
        let value = |name, found: f64, ok: bool, expected| {
            if ok { Ok(()) } else { Err(Invalid::Value { name, found, expected }) }
        };
        value("X", 0.0, n > 0 && d > 0, "not empty")?;
        value("a", 0.0, m > 0, "not empty")?;
        length("y", self.y.len(), n)?;
        length("W", self.start.w.len(), m * d)?;
        for (name, values) in [("X", self.x.data()), ("y", self.y), ("a", self.start.a), ("W", self.start.w)] {
            let bad = values.iter().find(|v| !v.is_finite());
            value(name, bad.copied().unwrap_or(0.0), bad.is_none(), "finite")?;
        }
        // Below 2^52 units of ln 2 a magnitude still has a digit after the point.
        let log = self.start.log_magnitude;
        value("log_magnitude", log, (-1e12..=700.0).contains(&log), "in [-1e12, 700]")?;
        value("slope", self.slope, (0.0..=1.0).contains(&self.slope), "in [0, 1]")
    }
}

/// The first setting that is outside its interval.
pub(super) fn validate(options: &Options<'_>) -> Result<(), Invalid> {
    let value =
        |name, found: f64, ok: bool, expected| if ok { Ok(()) } else { Err(Invalid::Value { name, found, expected }) };
    value("rtol", options.rtol, (1e-14..=0.1).contains(&options.rtol), "in [1e-14, 0.1], the floor of binary64")?;
    value("tol", options.tol, options.tol >= 0.0 && options.tol < 1.0, "in [0, 1)")?;
    value("max_steps", 0.0, options.max_steps != Some(0), "at least 1")?;
    value("max_events", 0.0, options.max_events != Some(0), "at least 1")?;
    let seconds = options.max_seconds.unwrap_or(1.0);
    value("max_seconds", seconds, seconds > 0.0, "positive")?;
    let Some(times) = options.times else { return Ok(()) };
    value("t", f64::NAN, !times.is_empty(), "not empty")?;
    let mut last = f64::NEG_INFINITY;
    for time in times {
        value("t", *time, time.is_finite() && *time >= 0.0, "finite and at least 0")?;
        value("t", *time, *time > last, "strictly increasing")?;
        last = *time;
    }
    Ok(())
}
