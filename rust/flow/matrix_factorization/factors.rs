//! Products of factors. Knows no data and no flow.
//!
//! The state is `Z = [U; V]`, of d₁ + d₂ rows of k numbers, or the one factor W, of d₁ rows. Gradient flow is `Z' = B Z` with
//! `B = [0 G; Gᵀ 0]`, or `B = 2G` for W and symmetric G, where `G = Σ r_n X_n / N` depends on `M = U Vᵀ` only: `P = Z Zᵀ` is a
//! closed state, `P' = B P + P B` (THEORY §6), and so the width drops out.
//!
//! What is integrated is a factor Z of P with as few columns as P has rows, not P. A factor with other columns of the same
//! `Z Zᵀ` is the start of a network again, P stays positive semidefinite whatever the steps, and small directions of P keep
//! their digits: P would lose those below 1e-16 of the largest, Z those below 1e-16 of its own, 1e-32 of P.

use crate::linalg::SquareMatrix;
use crate::real::Real;

/// The shape of the factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factors {
    /// Rows of M.
    pub d1: usize,
    /// Columns of M.
    pub d2: usize,
    /// Columns of the factors.
    pub k: usize,
    /// `M = W Wᵀ`, one factor, instead of `M = U Vᵀ`.
    pub symmetric: bool,
}

impl Factors {
    /// Rows of Z.
    #[must_use]
    pub fn rows(&self) -> usize {
        if self.symmetric { self.d1 } else { self.d1 + self.d2 }
    }

    /// Entries of Z.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.rows() * self.k
    }

    /// Entries of M.
    #[must_use]
    pub fn features(&self) -> usize {
        self.d1 * self.d2
    }

    /// `(U, V)`; `(W, W)`.
    pub(super) fn split<'a>(&self, z: &'a [f64]) -> (&'a [f64], &'a [f64]) {
        if self.symmetric { (z, z) } else { z.split_at(self.d1 * self.k) }
    }

    /// `M = U Vᵀ`.
    pub(super) fn product(&self, z: &[f64], m: &mut [f64]) {
        let (u, v) = self.split(z);
        for (m, u) in m.chunks_exact_mut(self.d2).zip(u.chunks_exact(self.k)) {
            for (m, v) in m.iter_mut().zip(v.chunks_exact(self.k)) {
                *m = f64::dot(u, v);
            }
        }
    }

    /// `δM = δU Vᵀ + U δVᵀ`.
    pub(super) fn derivative(&self, z: &[f64], dz: &[f64], m: &mut [f64]) {
        let ((u, v), (du, dv)) = (self.split(z), self.split(dz));
        let rows = u.chunks_exact(self.k).zip(du.chunks_exact(self.k));
        for (m, (u, du)) in m.chunks_exact_mut(self.d2).zip(rows) {
            let columns = v.chunks_exact(self.k).zip(dv.chunks_exact(self.k));
            for (m, (v, dv)) in m.iter_mut().zip(columns) {
                *m = f64::dot(du, v) + f64::dot(u, dv);
            }
        }
    }

    /// `|U| |V|ᵀ`, what the rounding of `M` is relative to.
    pub(super) fn magnitudes(&self, z: &[f64], m: &mut [f64]) {
        let z: Vec<f64> = z.iter().map(|z| z.abs()).collect();
        self.product(&z, m);
    }

    /// `B Z` for the gradient `g`, d₁ × d₂ and symmetric where the factorization is.
    pub(super) fn slope(&self, g: &[f64], z: &[f64], dz: &mut [f64]) {
        let (u, v) = self.split(z);
        dz.fill(0.0);
        if self.symmetric {
            for (dw, g) in dz.chunks_exact_mut(self.k).zip(g.chunks_exact(self.d2)) {
                for (g, w) in g.iter().zip(u.chunks_exact(self.k)) {
                    f64::axpy(2.0 * g, w, dw);
                }
            }
            return;
        }
        let (du, dv) = dz.split_at_mut(self.d1 * self.k);
        let rows = du.chunks_exact_mut(self.k).zip(u.chunks_exact(self.k)).zip(g.chunks_exact(self.d2));
        for ((du, u), g) in rows {
            for ((g, v), dv) in g.iter().zip(v.chunks_exact(self.k)).zip(dv.chunks_exact_mut(self.k)) {
                f64::axpy(*g, v, du);
                f64::axpy(*g, u, dv);
            }
        }
    }

    /// B itself.
    pub(super) fn lift(&self, g: &[f64]) -> SquareMatrix {
        let (d1, d2) = (self.d1, self.d2);
        SquareMatrix::from_fn(self.rows(), |i, j| match (i < d1, j < d1) {
            _ if self.symmetric => 2.0 * g[i * d2 + j],
            (true, false) => g[i * d2 + (j - d1)],
            (false, true) => g[j * d2 + (i - d1)],
            _ => 0.0,
        })
    }

    /// `‖B‖` is at most this many times `‖G‖`, and `‖δM‖ ≤ this · ‖Z‖ ‖δZ‖`.
    pub(super) fn gain(&self) -> f64 {
        if self.symmetric { 2.0 } else { 1.0 }
    }

    /// `‖z_c‖` of every column.
    pub(super) fn columns(&self, z: &[f64], sizes: &mut [f64]) {
        // Squares in units of the largest entry: those of a start of 1e-200 would be 0.
        let peak = z.iter().fold(0.0_f64, |peak, z| peak.max(z.abs()));
        sizes.fill(0.0);
        if peak == 0.0 || !peak.is_finite() {
            sizes.fill(peak);
            return;
        }
        for row in z.chunks_exact(self.k) {
            sizes.iter_mut().zip(row).for_each(|(size, z)| *size += (z / peak) * (z / peak));
        }
        for size in sizes.iter_mut() {
            *size = size.sqrt() * peak;
        }
    }
}
