//! Simplified Newton iteration for the stages of one Radau step.
//!
//! The increments `z_i = Y_i − y` of the stages solve `z = h (A ⊗ I) F(y + z)`, here as the residual
//! `F(y + z) − h⁻¹ (A⁻¹ ⊗ I) z = 0`, formed in the numbers of the state. With `A⁻¹ T = T Λ` a correction falls apart into
//! one real and `(s−1)/2` complex systems of the size of the problem, `(Λ/h − J) Δw = T⁻¹ · residual`, which are solved
//! in binary64: every iteration gains digits from a fresh residual, so corrections need only a few each.
//!
//! # Sources
//! Hairer & Wanner, *Solving Ordinary Differential Equations II*, 2nd ed., IV.8: increments (8.4), transformation (8.6),
//! stopping (8.10), divergence (8.11).

use super::radau_method::RadauMethod;
use super::radau_tableau::RadauTableau;
use super::stepper::{Context, Start};
use super::system::{Implicit, ShiftedSolver, System};
use crate::real::Real;

/// What came of the iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Convergence {
    /// The increments are good enough.
    Converged {
        /// Iterations taken.
        iterations: u32,
        /// Convergence rate `Θ`; 0 if one iteration was enough.
        rate: f64,
    },
    /// Try a step `factor` times as long.
    Failed {
        /// In (0, 1).
        factor: f64,
    },
    /// The caller wants to end.
    Interrupted,
}

/// Hairer's program carries `η` down to the unit round-off. An iteration that ends in round-off (or in an error norm that
/// knows its own) shows a rate of next to 0 that the next step does not repeat: its first correction would then be
/// taken for its last, whatever its size. Seen in the dual flow: errors of 1e-8 at every tolerance below that.
const LEAST_CARRIED: f64 = 1e-3;

/// The stage equations of one step.
#[derive(Clone, Copy, Debug)]
pub struct Equations<'a, R> {
    /// The method, whose shifts are prepared for `h`.
    pub method: &'a RadauMethod<R>,
    /// Where the step starts.
    pub start: Start<'a, R>,
    /// Its length.
    pub h: R,
}

/// The stages of a step and the workspace of the iteration, for up to as many stages as it was made for.
#[derive(Clone, Debug)]
pub struct Stages<R> {
    dim: usize,
    /// Increments, stage after stage.
    pub z: Vec<R>,
    times: Vec<R>,
    states: Vec<R>,
    slopes: Vec<R>,
    modes: Vec<f64>,
    correction: Vec<f64>,
    sizes: Vec<f64>,
    /// Hairer's `η = Θ/(1 − Θ)`, carried from step to step: lets a first iteration be the last.
    eta: f64,
}

impl<R: Real> Stages<R> {
    /// Room for `stages` stages of `dim` unknowns.
    #[must_use]
    pub fn new(dim: usize, stages: usize) -> Self {
        let zeros = || vec![R::ZERO; dim * stages];
        let floats = || vec![0.0; dim * stages];
        Self {
            dim,
            z: zeros(),
            times: vec![R::ZERO; stages],
            states: zeros(),
            slopes: zeros(),
            modes: floats(),
            correction: floats(),
            sizes: vec![0.0; stages],
            eta: 1.0,
        }
    }

    /// Forget how fast the last iteration converged: the next one is of another kind and must show its own rate.
    pub fn forget_rate(&mut self) {
        self.eta = 1.0;
    }

    /// The increment of the last stage, which is that of the step.
    #[must_use]
    pub fn end(&self, stages: usize) -> &[R] {
        &self.z[(stages - 1) * self.dim..stages * self.dim]
    }

    /// Iterate from the increments in `z`.
    pub fn solve<S: Implicit<R>>(
        &mut self,
        step: &Equations<'_, R>,
        system: &mut S,
        solver: &mut S::Solver,
        context: &mut Context<'_>,
    ) -> Convergence {
        let Equations { method: RadauMethod { tableau, stopping, .. }, start, h } = *step;
        self.eta = self.eta.max(LEAST_CARRIED).powf(0.8);
        let (mut last_size, mut last_quotient, mut rate) = (0.0, 0.0, 0.0);
        for iteration in 1..=stopping.limit {
            if (context.interrupted)() {
                return Convergence::Interrupted;
            }
            if !self.evaluate(tableau, system, start, h, context) {
                return Convergence::Failed { factor: 0.5 };
            }
            self.residual_in_modes(tableau, R::ONE / h);
            self.solve_modes(tableau, solver, context);
            let size = self.correct(tableau, system);
            if !size.is_finite() {
                return Convergence::Failed { factor: 0.5 };
            }
            if iteration > 1 {
                let quotient: f64 = size / last_size;
                rate = if iteration == 2 { quotient } else { (quotient * last_quotient).sqrt() };
                last_quotient = quotient;
                // Below the tolerance a correction that does not shrink is round-off, not divergence.
                if rate < 0.99 {
                    self.eta = rate / (1.0 - rate);
                } else if size > stopping.tolerance {
                    return Convergence::Failed { factor: 0.5 };
                } else {
                    self.eta = 1.0;
                }
            }
            // What an inexact evaluation leaves does not go down with the rate.
            if self.eta * size + system.inexactness() * last_size <= stopping.tolerance {
                return Convergence::Converged { iterations: iteration, rate };
            }
            let left = stopping.limit - iteration;
            if iteration > 1
                && let Some(factor) = too_slow(self.eta * size / stopping.tolerance, rate, left)
            {
                return Convergence::Failed { factor };
            }
            last_size = size;
        }
        Convergence::Failed { factor: 0.5 }
    }

    /// Slopes at `y + z`. False if one of them is not finite.
    fn evaluate<S: System<R>>(
        &mut self,
        tableau: &RadauTableau<R>,
        system: &mut S,
        start: Start<'_, R>,
        h: R,
        context: &mut Context<'_>,
    ) -> bool {
        let (s, all) = (tableau.stages(), tableau.stages() * self.dim);
        for (time, c) in self.times.iter_mut().zip(&tableau.nodes) {
            *time = start.t + *c * h;
        }
        for (states, z) in self.states[..all].chunks_exact_mut(self.dim).zip(self.z.chunks_exact(self.dim)) {
            for ((state, y), z) in states.iter_mut().zip(start.y).zip(z) {
                *state = *y + *z;
            }
        }
        system.rhs_stages(&self.times[..s], &self.states[..all], &mut self.slopes[..all]);
        context.stats.rhs += s as u64;
        context.stats.newton_iterations += 1;
        self.slopes[..all].iter().all(|slope| slope.is_finite())
    }

    /// `modes = (T⁻¹ ⊗ I)(F − h⁻¹ (A⁻¹ ⊗ I) z)`.
    fn residual_in_modes(&mut self, tableau: &RadauTableau<R>, inverse_h: R) {
        let (s, n) = (tableau.stages(), self.dim);
        self.modes[..s * n].fill(0.0);
        for i in 0..s {
            let slopes = &mut self.slopes[i * n..(i + 1) * n];
            for (a, z) in tableau.inverse[i * s..(i + 1) * s].iter().zip(self.z.chunks_exact(n)) {
                R::add_multiple(-(*a * inverse_h), z, slopes);
            }
            for (k, modes) in self.modes[..s * n].chunks_exact_mut(n).enumerate() {
                let weight = tableau.to_modes[k * s + i];
                for (mode, residual) in modes.iter_mut().zip(slopes.iter()) {
                    *mode += weight * residual.to_f64();
                }
            }
        }
    }

    fn solve_modes<J: ShiftedSolver>(&mut self, tableau: &RadauTableau<R>, solver: &mut J, context: &mut Context<'_>) {
        let n = self.dim;
        let modes = &mut self.modes[..tableau.stages() * n];
        solver.enter_basis(modes);
        let (real, complex) = modes.split_at_mut(n);
        solver.solve_real(real);
        for (slot, pair) in complex.chunks_exact_mut(2 * n).enumerate() {
            let (re, im) = pair.split_at_mut(n);
            solver.solve_complex(slot, re, im);
        }
        solver.leave_basis(modes);
        context.stats.newton_systems += 1 + tableau.complex_shifts.len() as u64;
    }

    /// Add `(T ⊗ I) modes` to the increments; its scaled size, the root mean square over the stages.
    fn correct<S: System<R>>(&mut self, tableau: &RadauTableau<R>, system: &mut S) -> f64 {
        let (s, n) = (tableau.stages(), self.dim);
        let corrections = &mut self.correction[..s * n];
        corrections.fill(0.0);
        let stages = self.z.chunks_exact_mut(n).zip(corrections.chunks_exact_mut(n));
        for (i, (z, correction)) in stages.enumerate() {
            for (weight, modes) in tableau.from_modes[i * s..(i + 1) * s].iter().zip(self.modes.chunks_exact(n)) {
                for (c, mode) in correction.iter_mut().zip(modes) {
                    *c += weight * mode;
                }
            }
            for (z, c) in z.iter_mut().zip(correction.iter()) {
                *z += R::from_f64(*c);
            }
        }
        let sizes = &mut self.sizes[..s];
        system.error_norms(corrections, sizes);
        (sizes.iter().map(|size| size * size).sum::<f64>() / s as f64).sqrt()
    }
}

/// If the error, `excess` times too large now, will still be too large after `left` more iterations at `rate`: the
/// factor for the step that would do ((8.11) and the program RADAU of the book).
fn too_slow(excess: f64, rate: f64, left: u32) -> Option<f64> {
    let left = f64::from(left);
    let at_the_end = excess * rate.powf(left);
    (at_the_end >= 1.0).then(|| 0.8 * at_the_end.clamp(1e-4, 20.0).powf(-1.0 / (4.0 + left)))
}
