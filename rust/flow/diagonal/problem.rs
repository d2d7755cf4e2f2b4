//! What the flow of an untied diagonal network is asked: data, targets and a start.

use crate::flow::Invalid;
use crate::linalg::Rows;
use crate::potential::{Start, TiedStart};
use crate::real::{DoubleDouble, Real};

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
    pub start: Origin<'a>,
    /// The start once more, weight by weight; only [`Method::Weights`](crate::flow::Method::Weights) asks for it.
    pub weights: Option<Weights<'a>>,
}

/// Where the flow starts: what makes β of `G = ∫Xᵀr/N`.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'a> {
    /// Untied, of two layers: exponentials of G.
    Untied(&'a Start),
    /// Tied, of three layers and more: powers of `1 ∓ z`, z linear in G.
    Tied(&'a TiedStart),
}

impl<'a> From<&'a Start> for Origin<'a> {
    fn from(start: &'a Start) -> Self {
        Self::Untied(start)
    }
}

impl Origin<'_> {
    /// Does coordinate `i` move at all?
    pub(super) fn moves(&self, i: usize) -> bool {
        match self {
            Self::Untied(start) => {
                let (a, b) = (start.log_a[i].to_f64(), start.log_b[i].to_f64());
                a > f64::NEG_INFINITY || b > f64::NEG_INFINITY
            }
            Self::Tied(_) => true,
        }
    }

    /// `D_Q(β, β(0))`.
    pub(super) fn divergence(&self, beta: &[f64]) -> f64 {
        match self {
            Self::Untied(start) => start.divergence(beta),
            Self::Tied(start) => start.divergence(beta),
        }
    }

    /// The largest logarithm of what β is made of at the start.
    pub(super) fn log_size(&self) -> f64 {
        let largest = |logs: &[DoubleDouble]| logs.iter().fold(f64::NEG_INFINITY, |most, log| most.max(log.high));
        match self {
            Self::Untied(start) => largest(&start.log_a).max(largest(&start.log_b)),
            Self::Tied(start) => f64::from(start.depth) * largest(&start.log_start),
        }
    }

    /// The first thing wrong with it.
    fn validate(&self, d: usize) -> Result<(), Invalid> {
        let named: &[(&'static str, &Vec<DoubleDouble>)] = match self {
            Self::Untied(start) => &[("log_a", &start.log_a), ("log_b", &start.log_b)],
            Self::Tied(start) => &[("log_start", &start.log_start)],
        };
        for (name, logs) in named {
            Invalid::unless_length(name, logs.len(), d)?;
        }
        for (name, logs) in named {
            let bad = logs.iter().find(|log| log.high.is_nan() || log.high == f64::INFINITY || log.low.is_nan());
            if let Some(bad) = bad {
                return Err(Invalid::Value { name, found: bad.high, expected: "below +inf" });
            }
        }
        Ok(())
    }
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
        self.start.validate(d)?;
        Invalid::unless(n > 0 && d > 0, "X", 0.0, "not empty")?;
        Invalid::unless_finite("X", self.x.data())?;
        Invalid::unless_finite("y", self.y)?;
        if let Some(low) = self.y_low {
            Invalid::unless_length("y_low", low.len(), n)?;
            Invalid::unless_finite("y_low", low)?;
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
