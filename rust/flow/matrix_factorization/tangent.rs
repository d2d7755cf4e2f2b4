//! Shifted systems with the Jacobian of the flow. Knows no integrator and no data.
//!
//! `J = B ⊗ I − A Aᵀ`: the first part keeps G, and B is no larger than M; the columns of A are the tangent features
//! `∂f_n/∂Z / √N`, so that the rest is of rank N. Of the eigenvalues `μ_i` of B and with `T = (λ − B ⊗ I)⁻¹`, diagonal in their
//! basis, `(λ − J)⁻¹ b = T (b − A s)`, `(I + Aᵀ T A) s = Aᵀ T b` (Sherman, Morrison and Woodbury): an N × N system where a dense
//! LU has `(d₁ + d₂) k` unknowns, 400 of them for 60 observations of a 10 × 10 matrix.
//!
//! What that costs is accuracy: rounding is amplified by `‖A‖²/|λ|`, the number of decades that a step is beyond the fastest
//! time scale. The corrections of a simplified Newton iteration are refined by its next residual, and have the digits to
//! spare. A real shift is solved as a complex one: it is one system of four, and would double this file.

use super::factors::Factors;
use super::modes::Modes;
use crate::linalg::{Lu, Rows, SymmetricEigen};
use crate::ode::ShiftedSolver;
use faer::c64;

/// A shift this close to an eigenvalue of B, relative to the larger of them, leaves no digits.
const CLOSE: f64 = 1e-9;

/// The Jacobian at one state, and its shifts in use.
#[derive(Debug)]
pub(super) struct Tangent {
    place: Place,
    /// Of the real shift, and of the complex ones.
    real: Shifted,
    complex: Vec<Shifted>,
    /// What a rotation makes of a vector.
    room: Vec<f64>,
}

/// Where the Jacobian was taken.
#[derive(Clone, Debug)]
struct Place {
    factors: Factors,
    /// μ, and the eigenvectors of B, one a row.
    values: Vec<f64>,
    vectors: Vec<f64>,
    /// A in their basis, a column after another.
    features: Vec<f64>,
}

impl Place {
    /// `b ← Q b`, Q the eigenvectors as rows, or `Qᵀ b` for `back`; `b` is one state.
    fn rotate(&self, b: &mut [f64], room: &mut [f64], back: bool) {
        let (k, n) = (self.factors.k, self.values.len());
        room.fill(0.0);
        for (i, row) in room.chunks_exact_mut(k).enumerate() {
            for (j, b) in b.chunks_exact(k).enumerate() {
                let entry = if back { self.vectors[j * n + i] } else { self.vectors[i * n + j] };
                row.iter_mut().zip(b).for_each(|(row, b)| *row += entry * b);
            }
        }
        b.copy_from_slice(room);
    }
}

impl Tangent {
    /// For `rank` observations; no Jacobian yet.
    pub(super) fn new(factors: Factors, rank: usize) -> Self {
        let (rows, dim) = (factors.rows(), factors.dim());
        let place = Place {
            factors,
            values: vec![0.0; rows],
            vectors: vec![0.0; rows * rows],
            features: vec![0.0; rank * dim],
        };
        Self { place, real: Shifted::new(dim, rank), complex: Vec::new(), room: vec![0.0; dim] }
    }

    /// The Jacobian at `z`, where the gradient is `g`. False if it is not finite.
    pub(super) fn set(&mut self, modes: &Modes, g: &[f64], z: &[f64]) -> bool {
        let factors = self.place.factors;
        let Some(eigen) = SymmetricEigen::of(&factors.lift(g)) else { return false };
        self.place.values.copy_from_slice(eigen.values());
        self.place.vectors.copy_from_slice(eigen.vectors().data());
        let mut features = core::mem::take(&mut self.place.features);
        let scale = 1.0 / modes.samples().sqrt();
        for (n, feature) in features.chunks_exact_mut(factors.dim()).enumerate() {
            factors.slope(modes.rows().row(n), z, feature);
            for entry in feature.iter_mut() {
                *entry *= scale;
            }
            self.place.rotate(feature, &mut self.room, false);
        }
        self.place.features = features;
        self.place.features.iter().all(|entry| entry.is_finite())
    }

    fn rotate_all(&mut self, b: &mut [f64], back: bool) {
        for b in b.chunks_exact_mut(self.room.len()) {
            self.place.rotate(b, &mut self.room, back);
        }
    }
}

impl ShiftedSolver for Tangent {
    fn prepare_real(&mut self, shift: f64) -> bool {
        self.real.prepare(&self.place, c64::new(shift, 0.0))
    }

    fn prepare_complex(&mut self, slot: usize, re: f64, im: f64) -> bool {
        while self.complex.len() <= slot {
            self.complex.push(Shifted::new(self.real.im.len(), self.real.n()));
        }
        self.complex[slot].prepare(&self.place, c64::new(re, im))
    }

    fn enter_basis(&mut self, b: &mut [f64]) {
        self.rotate_all(b, false);
    }

    fn leave_basis(&mut self, b: &mut [f64]) {
        self.rotate_all(b, true);
    }

    fn solve_real(&mut self, b: &mut [f64]) {
        let mut zero = core::mem::take(&mut self.real.im);
        zero.fill(0.0);
        self.real.solve(&self.place, b, &mut zero);
        self.real.im = zero;
    }

    fn solve_complex(&mut self, slot: usize, b_re: &mut [f64], b_im: &mut [f64]) {
        self.complex[slot].solve(&self.place, b_re, b_im);
    }
}

/// One shift.
#[derive(Clone, Debug)]
struct Shifted {
    /// `1/(λ − μ_i)`.
    inverse: Vec<c64>,
    lu: Lu<c64>,
    /// `Re T A` and `Im T A`, then `Aᵀ` times them.
    weighted: Vec<f64>,
    re: Vec<f64>,
    gram: [Vec<f64>; 2],
    /// The imaginary part of a real right-hand side.
    im: Vec<f64>,
    /// `Aᵀ T b`, then s, real and imaginary.
    observed: [Vec<f64>; 2],
}

impl Shifted {
    fn new(dim: usize, rank: usize) -> Self {
        Self {
            inverse: Vec::new(),
            lu: Lu::new(rank),
            weighted: vec![0.0; rank * dim],
            re: vec![0.0; dim],
            gram: [vec![0.0; rank * rank], vec![0.0; rank * rank]],
            im: vec![0.0; dim],
            observed: [vec![0.0; rank], vec![0.0; rank]],
        }
    }

    fn n(&self) -> usize {
        self.observed[0].len()
    }

    fn prepare(&mut self, place: &Place, lambda: c64) -> bool {
        let size = lambda.re.hypot(lambda.im);
        let far = |mu: &f64| (lambda.re - mu).hypot(lambda.im) > CLOSE * size.max(mu.abs());
        if !place.values.iter().all(far) {
            return false;
        }
        self.inverse = place.values.iter().map(|mu| c64::new(1.0, 0.0) / (lambda - c64::new(*mu, 0.0))).collect();
        let (n, k, dim) = (self.n(), place.factors.k, self.re.len());
        let features = Rows::from_parts(&place.features, n, dim);
        for (part, gram) in self.gram.iter_mut().enumerate() {
            let rows = self.weighted.chunks_exact_mut(k).zip(place.features.chunks_exact(k));
            for (i, (out, row)) in rows.enumerate() {
                let inverse = self.inverse[i % place.values.len()];
                let weight = if part == 0 { inverse.re } else { inverse.im };
                out.iter_mut().zip(row).for_each(|(out, entry)| *out = weight * entry);
            }
            features.apply_many(&self.weighted, gram);
        }
        let [re, im] = &self.gram;
        let entry = |i: usize, j: usize| {
            let one = if i == j { 1.0 } else { 0.0 };
            c64::new(one + re[i * n + j], im[i * n + j])
        };
        self.lu.factor_entries(entry, |value| value.re.is_finite() && value.im.is_finite())
    }

    fn solve(&mut self, place: &Place, re: &mut [f64], im: &mut [f64]) {
        let (n, k) = (self.n(), place.factors.k);
        let features = Rows::from_parts(&place.features, n, re.len());
        self.re.copy_from_slice(re);
        let mut other = im.to_vec();
        self.divide(&mut other, k);
        features.apply(&self.re, &mut self.observed[0]);
        features.apply(&other, &mut self.observed[1]);
        let [first, second] = &self.observed;
        let s = self.lu.solve(|i| c64::new(first[i], second[i]));
        let parts: Vec<(f64, f64)> = (0..n).map(|i| (s[(i, 0)].re, s[(i, 0)].im)).collect();
        for (i, (s_re, s_im)) in parts.into_iter().enumerate() {
            (self.observed[0][i], self.observed[1][i]) = (s_re, s_im);
        }
        features.apply_transposed(&self.observed[0], &mut self.re);
        re.iter_mut().zip(&self.re).for_each(|(b, part)| *b -= part);
        features.apply_transposed(&self.observed[1], &mut self.re);
        im.iter_mut().zip(&self.re).for_each(|(b, part)| *b -= part);
        self.re.copy_from_slice(re);
        self.divide(im, k);
        re.copy_from_slice(&self.re);
    }

    /// `T` times `self.re + i im`.
    fn divide(&mut self, im: &mut [f64], k: usize) {
        let rows = self.re.chunks_exact_mut(k).zip(im.chunks_exact_mut(k)).zip(&self.inverse);
        for ((re, im), inverse) in rows {
            for (re, im) in re.iter_mut().zip(im) {
                let product = c64::new(*re, *im) * *inverse;
                (*re, *im) = (product.re, product.im);
            }
        }
    }
}
