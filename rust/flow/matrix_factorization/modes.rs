//! Observations and targets in the basis of the left singular vectors: as many independent rows as X has rank, however many
//! samples there are, and nothing to do for what no M can fit. Knows no factors.

use crate::linalg::{Rows, ThinSvd};

/// `Σ Vᵀ` and `Uᵀy` of `X = U Σ Vᵀ`.
#[derive(Clone, Debug)]
pub(super) struct Modes {
    /// `Σ Vᵀ`, rank × d₁d₂.
    rows: Vec<f64>,
    features: usize,
    /// `Uᵀy` (rank).
    pub(super) targets: Vec<f64>,
    /// N.
    samples: f64,
    /// σ₁.
    largest: f64,
}

impl Modes {
    pub(super) fn new(svd: &ThinSvd, targets: Vec<f64>, samples: usize) -> Self {
        let v = svd.v_rows();
        let rows = svd.sigma().iter().enumerate().flat_map(|(k, sigma)| v.row(k).iter().map(move |v| sigma * v));
        Self {
            rows: rows.collect(),
            features: v.d(),
            targets,
            samples: samples as f64,
            largest: svd.sigma().first().copied().unwrap_or(0.0),
        }
    }

    /// The rank of X.
    pub(super) fn rank(&self) -> usize {
        self.targets.len()
    }

    /// The observations, a mode a row.
    pub(super) fn rows(&self) -> Rows<'_> {
        Rows::from_parts(&self.rows, self.rank(), self.features)
    }

    /// N.
    pub(super) fn samples(&self) -> f64 {
        self.samples
    }

    /// `σ₁²/N`.
    pub(super) fn largest_decay(&self) -> f64 {
        self.largest * (self.largest / self.samples)
    }

    /// σ₁.
    pub(super) fn largest(&self) -> f64 {
        self.largest
    }

    /// `y − ⟨X, M⟩`.
    pub(super) fn residual(&self, m: &[f64], out: &mut [f64]) {
        self.rows().apply(m, out);
        out.iter_mut().zip(&self.targets).for_each(|(out, y)| *out = y - *out);
    }

    /// `G = Σ r_n X_n / N`.
    pub(super) fn gradient(&self, residual: &[f64], out: &mut [f64]) {
        self.rows().apply_transposed(residual, out);
        for out in out {
            *out /= self.samples;
        }
    }
}
