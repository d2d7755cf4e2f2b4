//! Thin `X = U Σ Vᵀ`, by way of a QR of the taller side: small singular values are as accurate as the data allow.
//!
//! The eigenvectors of `X Xᵀ` cost a fifth of that, but `σ²` has an error of `ε σ₁²`, and `V = XᵀUΣ⁻¹` is as far from
//! orthonormal as `ε σ₁²/σ_n²`. That road is taken for data so well conditioned that no digit is lost on it.
//!
//! # Sources
//! Golub & Van Loan, *Matrix Computations*, 4th ed., 5.4.8 (QR first); Higham, *Accuracy and Stability of Numerical
//! Algorithms*, 2nd ed., theorem 19.4 (`X + E = QR`, `‖E_k‖₂ ≤ γ ‖x_k‖₂` column by column).

use super::blocks::{for_each_row_block, worth_threads};
use super::qr::Reflections;
use super::{Rows, WeightedGram};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par, Side};

/// Data count as well conditioned while `σ₁² ≤ 100 σ_n²`.
const WELL_CONDITIONED: f64 = 100.0;
/// Units whose squares, and those of their inverses, are floats.
const SQUARABLE: f64 = 1e120;
/// Columns of `V` that are formed together.
const COLUMNS: usize = 512;

/// `X = U Σ Vᵀ` without the singular values that are round-off.
#[derive(Clone, Debug)]
pub struct ThinSvd {
    n: usize,
    d: usize,
    sigma: Vec<f64>,
    /// `Uᵀ`, rank × n, and `Vᵀ`, rank × d, row-major.
    u: Vec<f64>,
    v: Vec<f64>,
}

impl ThinSvd {
    /// Factor `X / unit`: `unit`, a power of two, keeps squares of extreme data in range. Rank 0 if the data are not
    /// finite or are all zero.
    #[must_use]
    pub fn of(x: Rows<'_>, unit: f64) -> Self {
        let (n, d) = (x.n(), x.d());
        let empty = Self { n, d, sigma: Vec::new(), u: Vec::new(), v: Vec::new() };
        let (tall, small) = (n.max(d), n.min(d));
        if small == 0 || !x.data().iter().all(|x| x.is_finite()) {
            return empty;
        }
        if let Some(found) = Self::by_eigenvectors(x, unit) {
            return found;
        }
        let across = if n > d { x.as_faer() } else { x.as_faer().transpose() };
        let reflections = Reflections::of(Mat::from_fn(tall, small, |i, j| across[(i, j)] / unit));
        let Ok(svd) = reflections.triangle().thin_svd() else { return empty };
        let sizes: Vec<f64> = svd.S().column_vector().iter().copied().collect();
        let least = tall as f64 * f64::EPSILON * sizes[0];
        let rank = sizes.iter().take_while(|size| **size > least).count();
        // The tall side is Q times the left vectors of R, the other one its right vectors.
        let mut long = vec![0.0; rank * tall];
        let mut columns = MatMut::from_column_major_slice_mut(&mut long, tall, rank);
        columns.as_mut().subrows_mut(0, small).copy_from(svd.U().subcols(0, rank));
        reflections.apply(columns);
        let right = svd.V();
        let short: Vec<f64> = (0..rank * small).map(|k| right[(k % small, k / small)]).collect();
        let (u, v) = if n > d { (long, short) } else { (short, long) };
        Self { sigma: sizes[..rank].to_vec(), u, v, ..empty }
    }

    /// From the eigenvectors of `X Xᵀ`; None unless X is wide and well conditioned.
    fn by_eigenvectors(x: Rows<'_>, unit: f64) -> Option<Self> {
        let (n, d) = (x.n(), x.d());
        if n > d || !(1.0 / SQUARABLE..=SQUARABLE).contains(&unit) {
            return None;
        }
        let kernel = WeightedGram::of(x, &vec![1.0 / (unit * unit); d]);
        let eigen = Mat::from_fn(n, n, |i, j| kernel.get(i, j)).self_adjoint_eigen(Side::Lower).ok()?;
        let squares: Vec<f64> = eigen.S().column_vector().iter().rev().copied().collect();
        if !(squares[0] > 0.0 && squares[n - 1] * WELL_CONDITIONED >= squares[0]) {
            return None;
        }
        let sigma: Vec<f64> = squares.iter().map(|square| square.sqrt()).collect();
        let vectors = eigen.U();
        let u: Vec<f64> = (0..n * n).map(|k| vectors[(k % n, n - 1 - k / n)]).collect();
        let left: Vec<f64> = u.iter().enumerate().map(|(k, u)| u / (sigma[k / n] * unit)).collect();
        let mut v = vec![0.0; n * d];
        let columns = MatMut::from_column_major_slice_mut(&mut v, d, n);
        for_each_row_block(columns, COLUMNS, worth_threads(n * n * d), &|start, part| {
            let x = x.as_faer().subcols(start, part.nrows());
            let left = MatRef::from_column_major_slice(&left, n, n);
            matmul(part, Accum::Replace, x.transpose(), left, 1.0, Par::Seq);
        });
        Some(Self { n, d, sigma, u, v })
    }

    /// Number of singular values kept, those above `max(n, d) ε σ₁`.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.sigma.len()
    }

    /// Singular values of `X / unit`, falling.
    #[must_use]
    pub fn sigma(&self) -> &[f64] {
        &self.sigma
    }

    /// `Uᵀ`, rank × n.
    #[must_use]
    pub fn u_rows(&self) -> Rows<'_> {
        Rows::from_parts(&self.u, self.rank(), self.n)
    }

    /// `Vᵀ`, rank × d.
    #[must_use]
    pub fn v_rows(&self) -> Rows<'_> {
        Rows::from_parts(&self.v, self.rank(), self.d)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Random, rows};
    use super::*;

    fn product(svd: &ThinSvd, i: usize, k: usize) -> f64 {
        (0..svd.rank()).map(|j| svd.u_rows().row(j)[i] * svd.sigma()[j] * svd.v_rows().row(j)[k]).sum()
    }

    fn departure(basis: Rows<'_>) -> f64 {
        let dot = |i: usize, j: usize| basis.row(i).iter().zip(basis.row(j)).map(|(a, b)| a * b).sum::<f64>();
        (0..basis.n() * basis.n()).fold(0.0, |most: f64, k| {
            let (i, j) = (k / basis.n(), k % basis.n());
            most.max((dot(i, j) - f64::from(u8::from(i == j))).abs())
        })
    }

    #[test]
    fn the_factors_are_orthonormal_and_multiply_to_the_data() {
        // Of these shapes (3, 60) and (40, 900) are well conditioned, and go the other road.
        for (n, d) in [(1, 1), (3, 7), (7, 3), (40, 90), (90, 40), (1, 5), (3, 60), (40, 900)] {
            let data = Random::new(3).vector(n * d);
            let svd = ThinSvd::of(rows(&data, n, d), 1.0);
            assert_eq!(svd.rank(), n.min(d));
            let is_good = ThinSvd::by_eigenvectors(rows(&data, n, d), 1.0).is_some();
            assert_eq!(is_good, n <= d && (svd.sigma()[0] / svd.sigma()[n - 1]).powi(2) <= 100.0, "{n} x {d}");
            // Householder: a small multiple of the longer side in ulps of ‖X‖ < √(nd); eigenvectors: n times 100 of them.
            let bound = (8.0 * n.max(d) as f64).max(100.0 * n as f64) * f64::EPSILON;
            assert!(departure(svd.u_rows()) < bound && departure(svd.v_rows()) < bound);
            let size = ((n * d) as f64).sqrt();
            for (k, x) in data.iter().enumerate() {
                assert!((product(&svd, k / d, k % d) - x).abs() < bound * size, "{n} x {d}");
            }
        }
    }

    #[test]
    fn small_singular_values_are_as_accurate_as_the_large_ones_absolutely() {
        // Two rows at an angle of 1e-7: σ₂ = √2 sin(θ/2), where X Xᵀ would leave no digit of σ₂² = 5e-15.
        let theta = 1e-7_f64;
        let data = [1.0, 0.0, 0.0, theta.cos(), theta.sin(), 0.0];
        let svd = ThinSvd::of(rows(&data, 2, 3), 1.0);
        let exact = 2.0_f64.sqrt() * (0.5 * theta).sin();
        assert!((svd.sigma()[1] / exact - 1.0).abs() < 8.0 * f64::EPSILON / exact);
    }

    #[test]
    fn extreme_data_are_measured_in_their_unit_and_what_is_round_off_has_no_part() {
        for unit in [2.0_f64.powi(-1000), 2.0_f64.powi(1000)] {
            let data = [3.0, 0.0, 4.0, 0.0, 3.0, 0.0].map(|x| x * unit);
            let svd = ThinSvd::of(rows(&data, 3, 2), unit);
            assert_eq!(svd.rank(), 1);
            assert!((svd.sigma()[0] / 34.0_f64.sqrt() - 1.0).abs() < 1e-15);
        }
        assert_eq!(ThinSvd::of(rows(&[0.0; 6], 2, 3), 1.0).rank(), 0);
        assert_eq!(ThinSvd::of(rows(&[1.0, f64::NAN], 1, 2), 1.0).rank(), 0);
        assert_eq!(ThinSvd::of(rows(&[], 0, 2), 1.0).rank(), 0);
    }
}
