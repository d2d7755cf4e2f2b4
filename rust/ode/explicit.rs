//! Dormand & Prince 8(5,3): the stepper for problems that are not stiff, or not smooth.
//!
//! # Sources
//! Hairer, Nørsett & Wanner, *Solving Ordinary Differential Equations I*, 2nd ed., II.5 (method), II.10 (the error
//! `err₅²/√(err₅² + 0.01 err₃²)`, which behaves like `h⁸`), II.6 (dense output of order 7 from three more stages).

use super::controller::StepControl;
use super::explicit_tableau::{ExplicitTableau, Row};
use super::options::Options;
use super::outcome::Stats;
use super::stepper::{Context, Segment, Start, Stepper, Trial};
use super::stiffness::{BEYOND, Stiffness};
use super::system::System;
use crate::real::Real;

/// Stages of a step, which is also the index of its end.
const END: usize = 12;
/// All stages, those of the dense output included.
const ALL: usize = 16;

/// Dormand & Prince 8(5,3).
#[derive(Debug)]
pub struct Explicit<R> {
    tableau: ExplicitTableau<R>,
    /// Slopes of the stages, one after another; `slopes[12]` is the slope at the end.
    slopes: Vec<R>,
    state: Vec<R>,
    /// The state of stage 11, which like the end is at `c = 1`.
    before_end: Vec<R>,
    end: Vec<R>,
    error: Vec<f64>,
    /// Polynomial of the accepted step, seven coefficients; made when first asked for.
    dense: Vec<R>,
    dense_is_ready: bool,
    stiffness: Stiffness,
}

impl<R: Real> Explicit<R> {
    /// A stepper for systems with as many unknowns as `system`.
    #[must_use]
    pub fn new<S: System<R>>(system: &S, _options: &Options) -> Self {
        let n = system.dim();
        let zeros = |count: usize| vec![R::ZERO; n * count];
        Self {
            tableau: ExplicitTableau::new(),
            slopes: zeros(ALL),
            state: zeros(1),
            before_end: zeros(1),
            end: zeros(1),
            error: vec![0.0; n],
            dense: zeros(7),
            dense_is_ready: false,
            stiffness: Stiffness::default(),
        }
    }

    /// `state = y + h Σ a_ij k_j`.
    fn stage_state(&mut self, stage: usize, y: &[R], h: R) {
        let n = y.len();
        self.state.fill(R::ZERO);
        add_combination(&mut self.state, &self.tableau.rows[stage], &self.slopes, n);
        for (state, y) in self.state.iter_mut().zip(y) {
            *state = *y + h * *state;
        }
    }

    /// Scaled size of the embedded error of order 3 (`which = 0`) or 5. The combination of slopes cancels all digits down
    /// to the tolerance, so it is formed in the numbers of the state.
    fn embedded<S: System<R>>(&mut self, which: usize, system: &mut S, h: R) -> f64 {
        self.state.fill(R::ZERO);
        add_combination(&mut self.state, &self.tableau.errors[which], &self.slopes, self.error.len());
        for (error, combination) in self.error.iter_mut().zip(&self.state) {
            *error = (h * *combination).to_f64();
        }
        system.error_norm(&self.error)
    }

    /// The seven coefficients of the dense output:
    /// `y + θ(F₀ + (1−θ)(F₁ + θ(F₂ + (1−θ)(F₃ + θ(F₄ + (1−θ)(F₅ + θF₆))))))`.
    fn make_dense<S: System<R>>(&mut self, system: &mut S, segment: &Segment<'_, R>, stats: &mut Stats) {
        let (n, h, start) = (segment.y_new.len(), segment.h, segment.start);
        for stage in END + 1..ALL {
            self.stage_state(stage, start.y, h);
            system.rhs(
                start.t + self.tableau.nodes[stage] * h,
                &self.state,
                &mut self.slopes[stage * n..(stage + 1) * n],
            );
        }
        stats.rhs += (ALL - END - 1) as u64;
        let (ends, rest) = self.dense.split_at_mut(3 * n);
        for i in 0..n {
            let (rise, left, right) = (segment.y_new[i] - start.y[i], h * start.dy[i], h * segment.dy_new[i]);
            ends[i] = rise;
            ends[n + i] = left - rise;
            ends[2 * n + i] = rise + rise - left - right;
        }
        rest.fill(R::ZERO);
        for (row, out) in self.tableau.dense.iter().zip(rest.chunks_exact_mut(n)) {
            add_combination(out, row, &self.slopes, n);
            for x in out {
                *x *= h;
            }
        }
        self.dense_is_ready = true;
    }
}

/// `out += Σ w_j slopes_j`.
fn add_combination<R: Real>(out: &mut [R], row: &Row<R>, slopes: &[R], n: usize) {
    for (j, weight) in row {
        for (out, slope) in out.iter_mut().zip(&slopes[j * n..(j + 1) * n]) {
            *out += *weight * *slope;
        }
    }
}

impl<R: Real, S: System<R>> Stepper<R, S> for Explicit<R> {
    fn control(&self) -> StepControl {
        StepControl { order: 7, safety: 0.9, min_factor: 0.333, max_factor: 6.0, predictive: false, first: BEYOND }
    }

    fn attempt(&mut self, system: &mut S, start: Start<'_, R>, h: R, context: &mut Context<'_>) -> Trial {
        let n = start.y.len();
        self.dense_is_ready = false;
        self.slopes[..n].copy_from_slice(start.dy);
        for stage in 1..END {
            if (context.interrupted)() {
                return Trial::Interrupted;
            }
            self.stage_state(stage, start.y, h);
            let slope = &mut self.slopes[stage * n..(stage + 1) * n];
            system.rhs(start.t + self.tableau.nodes[stage] * h, &self.state, slope);
            context.stats.rhs += 1;
            if !slope.iter().all(|x| x.is_finite()) {
                return Trial::Failed { factor: 0.333 };
            }
        }
        self.before_end.copy_from_slice(&self.state);
        self.stage_state(END, start.y, h);
        self.end.copy_from_slice(&self.state);
        let coarse = self.embedded(0, system, h);
        let fine = self.embedded(1, system, h);
        let error = if fine == 0.0 { 0.0 } else { fine * (fine / fine.hypot(0.1 * coarse)) };
        Trial::Computed { error }
    }

    fn end(&self) -> &[R] {
        &self.end
    }

    fn accept(&mut self, system: &mut S, segment: &Segment<'_, R>, growth: f64) -> f64 {
        let n = segment.y_new.len();
        self.slopes[END * n..(END + 1) * n].copy_from_slice(segment.dy_new);
        for (error, (a, b)) in self.error.iter_mut().zip(segment.dy_new.iter().zip(&self.slopes[(END - 1) * n..])) {
            *error = (*a - *b).to_f64();
        }
        let slopes = system.error_norm(&self.error);
        for (error, (a, b)) in self.error.iter_mut().zip(segment.y_new.iter().zip(&self.before_end)) {
            *error = (*a - *b).to_f64();
        }
        let states = system.error_norm(&self.error);
        let h_rho = segment.h.to_f64() * slopes / states;
        self.stiffness.observe(h_rho);
        growth.min(Stiffness::growth(h_rho))
    }

    fn interpolate(&mut self, system: &mut S, segment: &Segment<'_, R>, theta: R, out: &mut [R], stats: &mut Stats) {
        if !self.dense_is_ready {
            self.make_dense(system, segment, stats);
        }
        let n = out.len();
        let factors = [theta, R::ONE - theta];
        for (i, (out, y)) in out.iter_mut().zip(segment.start.y).enumerate() {
            let value = (0..7).rev().fold(R::ZERO, |sum, k| (sum + self.dense[k * n + i]) * factors[k % 2]);
            *out = *y + value;
        }
    }

    /// The dense output is of order 7, within one order of the method: nothing better is worth twelve evaluations.
    fn refine(
        &mut self,
        system: &mut S,
        segment: &Segment<'_, R>,
        theta: R,
        out: &mut [R],
        context: &mut Context<'_>,
    ) -> bool {
        self.interpolate(system, segment, theta, out, context.stats);
        true
    }

    fn is_stiff(&self) -> bool {
        self.stiffness.is_stiff()
    }
}
