//! The start of a network of neurons. Knows no flow.

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
