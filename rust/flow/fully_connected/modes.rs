//! The data as the flow sees it: one mode for every singular value of `X = U Σ Vᵀ`. Knows no neuron.
//!
//! With `ŷ = Uᵀy` and `q = Vᵀβ` the residual of mode k is `ŷ_k − σ_k q_k`, and the gradient in predictor space, `Xᵀr/N`,
//! has the coordinates `g_k = σ_k (ŷ_k − σ_k q_k)/N`: the modes do not see each other. In double-double they do, by the `F` of
//! [`exact_basis`](super::exact_basis): `r = ŷ − σ∘q − Fq`, `g = (σ∘r + Fᵀr)/N`.

use crate::linalg::{Rows, norm};
use crate::real::Real;

/// Singular values and targets of the modes.
#[derive(Clone, Debug)]
pub(super) struct Modes<R = f64> {
    /// σ (rank).
    pub(super) sigma: Vec<R>,
    /// ŷ (rank).
    pub(super) targets: Vec<R>,
    /// `h_k = σ_k ŷ_k / N`, the gradient at 0.
    pub(super) drive: Vec<R>,
    /// `s_k = σ_k² / N`: `g = h − s∘q` but for the coupling.
    pub(super) decay: Vec<f64>,
    /// Modes, from the first on, that a run waits for: the others are round-off of the data.
    pub(super) solid: usize,
    coupling: Option<Coupling<R>>,
}

/// What is left of `S = UᵀXV` beside its diagonal, in binary64.
#[derive(Clone, Debug)]
struct Coupling<R> {
    /// F, rank × rank.
    entries: Vec<f64>,
    /// −σ and σ/N.
    minus_sigma: Vec<R>,
    share: Vec<R>,
    samples: f64,
    /// What F adds to the terms of a residual that rounding counts by: `‖F_k‖` over the ulp of binary64.
    terms: Vec<f64>,
}

/// Room for one evaluation, and what came of it.
#[derive(Clone, Debug)]
pub(super) struct Work<R = f64> {
    /// `Vᵀβ`, which comes in.
    pub(super) q: Vec<R>,
    /// r; formed by [`Modes::residual`].
    pub(super) r: Vec<R>,
    /// g; formed by [`Modes::gradient`].
    pub(super) g: Vec<R>,
    highs: Vec<f64>,
    moved: Vec<f64>,
}

impl<R: Real> Work<R> {
    pub(super) fn new(rank: usize) -> Self {
        let room = || vec![R::ZERO; rank];
        Self { q: room(), r: room(), g: room(), highs: vec![0.0; rank], moved: vec![0.0; rank] }
    }
}

impl Modes {
    /// Of `samples` samples.
    pub(super) fn new(sigma: &[f64], targets: Vec<f64>, samples: f64) -> Self {
        let drive = sigma.iter().zip(&targets).map(|(s, y)| s * (y / samples)).collect();
        let decay = sigma.iter().map(|s| s * (s / samples)).collect();
        Self { sigma: sigma.to_vec(), targets, drive, decay, solid: sigma.len(), coupling: None }
    }
}

impl<R: Real> Modes<R> {
    /// Of `samples` samples, of which the first `solid` are waited for, with what S is beside its diagonal.
    pub(super) fn coupled(sigma: &[R], entries: &[f64], targets: Vec<R>, samples: f64, solid: usize) -> Self {
        let over = |sigma: &R| *sigma / R::from_f64(samples);
        let coupling = Coupling {
            entries: entries.to_vec(),
            minus_sigma: sigma.iter().map(|sigma| -*sigma).collect(),
            share: sigma.iter().map(over).collect(),
            samples,
            terms: entries
                .chunks_exact(sigma.len().max(1))
                .map(|row| norm(row.iter().copied()) / f64::EPSILON)
                .collect(),
        };
        let decay = sigma.iter().map(|sigma| sigma.to_f64() * (sigma.to_f64() / samples)).collect();
        let (rank, drive) = (sigma.len(), Vec::new());
        let mut modes = Self { sigma: sigma.to_vec(), targets, drive, decay, solid, coupling: Some(coupling) };
        let mut work = Work::new(rank);
        modes.gradient(&mut work);
        modes.drive = work.g;
        modes
    }

    /// Number of modes, the rank of X.
    pub(super) fn rank(&self) -> usize {
        self.sigma.len()
    }

    /// `σ_1²/N`, the largest of the decays; 0 without modes.
    pub(super) fn largest_decay(&self) -> f64 {
        self.decay.first().copied().unwrap_or(0.0)
    }

    /// `r = ŷ − σ∘q − Fq`.
    pub(super) fn residual(&self, work: &mut Work<R>) {
        let Work { q, r, highs, moved, .. } = work;
        let Some(Coupling { entries, minus_sigma, .. }) = &self.coupling else {
            for (((r, q), sigma), y) in r.iter_mut().zip(&*q).zip(&self.sigma).zip(&self.targets) {
                *r = *y - *sigma * *q;
            }
            return;
        };
        highs.iter_mut().zip(&*q).for_each(|(high, q)| *high = q.to_f64());
        Rows::from_parts(entries, self.rank(), self.rank()).apply(highs, moved);
        for ((r, y), moved) in r.iter_mut().zip(&self.targets).zip(&*moved) {
            *r = *y - R::from_f64(*moved);
        }
        R::add_product(minus_sigma, q, r);
    }

    /// `g = (σ∘r + Fᵀr)/N`, without coupling `h − s∘q`.
    pub(super) fn gradient(&self, work: &mut Work<R>) {
        if let Some(coupling) = &self.coupling {
            self.residual(work);
            coupling.gradient(work);
            return;
        }
        for (((g, q), s), h) in work.g.iter_mut().zip(&work.q).zip(&self.decay).zip(&self.drive) {
            *g = *h - R::from_f64(*s) * *q;
        }
    }

    /// What the coupling adds to the terms of `r_k`, for `‖q‖` of that size.
    pub(super) fn coupled_terms(&self, k: usize, size: f64) -> f64 {
        self.coupling.as_ref().map_or(0.0, |coupling| coupling.terms[k] * size)
    }

    /// r, as far as a run waits for it.
    pub(super) fn residual_waited_for(&self, work: &mut Work<R>) {
        self.residual(work);
        self.wait_for(work);
    }

    /// Of r what a run waits for: where some modes are round-off of the data, what the others can still fit of it,
    /// `N g_k/σ_k`. Their own residual stays, and by the coupling it shows in those that have come to rest.
    pub(super) fn wait_for(&self, work: &mut Work<R>) {
        let Some(coupling) = self.coupling.as_ref().filter(|_| self.solid < self.rank()) else { return };
        coupling.gradient(work);
        work.r.fill(R::ZERO);
        for ((r, g), sigma) in work.r.iter_mut().zip(&work.g).zip(&self.sigma).take(self.solid) {
            *r = *g * R::from_f64(coupling.samples) / *sigma;
        }
    }
}

impl<R: Real> Coupling<R> {
    /// g from r.
    fn gradient(&self, work: &mut Work<R>) {
        let Work { r, g, highs, moved, .. } = work;
        highs.iter_mut().zip(&*r).for_each(|(high, r)| *high = r.to_f64());
        Rows::from_parts(&self.entries, g.len(), g.len()).apply_transposed(highs, moved);
        g.iter_mut().zip(&*moved).for_each(|(g, moved)| *g = R::from_f64(moved / self.samples));
        R::add_product(&self.share, r, g);
    }
}
