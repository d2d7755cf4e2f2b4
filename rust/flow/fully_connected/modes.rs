//! The data as the flow sees it: one mode for every singular value of `X = U Σ Vᵀ`. Knows no neuron.
//!
//! With `ŷ = Uᵀy` and `q = Vᵀβ` the residual of mode k is `ŷ_k − σ_k q_k`, and the gradient in predictor space, `Xᵀr/N`,
//! has the coordinates `g_k = σ_k (ŷ_k − σ_k q_k)/N`: the modes do not see each other.

/// Singular values and targets of the modes.
#[derive(Clone, Debug)]
pub(super) struct Modes {
    /// σ (rank).
    pub(super) sigma: Vec<f64>,
    /// ŷ (rank).
    pub(super) targets: Vec<f64>,
    /// `h_k = σ_k ŷ_k / N`, the gradient at 0.
    pub(super) drive: Vec<f64>,
    /// `s_k = σ_k² / N`: `g = h − s∘q`.
    pub(super) decay: Vec<f64>,
}

impl Modes {
    /// Of `samples` samples.
    pub(super) fn new(sigma: &[f64], targets: Vec<f64>, samples: f64) -> Self {
        let drive = sigma.iter().zip(&targets).map(|(s, y)| s * (y / samples)).collect();
        let decay = sigma.iter().map(|s| s * (s / samples)).collect();
        Self { sigma: sigma.to_vec(), targets, drive, decay }
    }

    /// Number of modes, the rank of X.
    pub(super) fn rank(&self) -> usize {
        self.sigma.len()
    }

    /// `σ_1²/N`, the largest of the decays; 0 without modes.
    pub(super) fn largest_decay(&self) -> f64 {
        self.decay.first().copied().unwrap_or(0.0)
    }

    /// `ŷ − σ∘q`.
    pub(super) fn residual(&self, q: &[f64], out: &mut [f64]) {
        for (((out, q), sigma), y) in out.iter_mut().zip(q).zip(&self.sigma).zip(&self.targets) {
            *out = y - sigma * q;
        }
    }

    /// `g = h − s∘q`.
    pub(super) fn gradient(&self, q: &[f64], out: &mut [f64]) {
        for (((out, q), s), h) in out.iter_mut().zip(q).zip(&self.decay).zip(&self.drive) {
            *out = h - s * q;
        }
    }
}
