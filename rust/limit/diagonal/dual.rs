//! A point of the dual: `G`, `β`, `S` and the residual that tells how far it is from the limit.

use super::exponents::{Exponents, Scratch};
use crate::limit::row_space::RowSpace;

/// Everything that is evaluated at one `ν`. Buffers are reused from point to point.
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// Coordinates of the multipliers in the basis of the row space.
    pub nu: Vec<f64>,
    /// `G = Xᵀν`.
    pub g: Vec<f64>,
    /// Coefficients, scaled units.
    pub beta: Vec<f64>,
    /// `S = dβ/dG`.
    pub slope: Vec<f64>,
    /// `y − Xβ`, scaled units.
    pub residual: Vec<f64>,
    /// The residual in the coordinates of the basis: minus the gradient of the dual.
    pub white: Vec<f64>,
    /// Largest entry of `white` over that of the targets; infinite where something overflowed.
    pub size: f64,
    /// The residual is at its round-off floor: nothing better can be found in binary64.
    pub at_floor: bool,
    scratch: Scratch,
    bound: Vec<f64>,
    weighted: Vec<f64>,
    exponent: Vec<f64>,
}

/// A step `ℓ δ` of the multipliers.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// `δ`, in the coordinates of the basis.
    pub nu: Vec<f64>,
    /// `Xᵀδ`.
    pub g: Vec<f64>,
    /// `ℓ`.
    pub length: f64,
}

impl Step {
    /// Buffers for a problem.
    pub fn new(space: &RowSpace<'_>) -> Self {
        Self { nu: vec![0.0; space.dim()], g: vec![0.0; space.samples().d()], length: 1.0 }
    }

    /// The movement `m = 2‖Xᵀδ‖_∞` of the exponents at full length.
    pub fn movement(&self) -> f64 {
        2.0 * largest(&self.g)
    }
}

impl Point {
    /// Buffers for a problem; the point itself is still to be evaluated.
    pub fn new(space: &RowSpace<'_>) -> Self {
        let (n, d, m) = (space.samples().n(), space.samples().d(), space.dim());
        Self {
            nu: vec![0.0; m],
            g: vec![0.0; d],
            beta: vec![0.0; d],
            slope: vec![0.0; d],
            residual: vec![0.0; n],
            white: vec![0.0; m],
            size: f64::INFINITY,
            at_floor: false,
            scratch: Scratch::default(),
            bound: vec![0.0; n],
            weighted: vec![0.0; d],
            exponent: vec![0.0; d],
        }
    }

    /// Evaluate at the multipliers now in `nu`.
    pub fn evaluate(&mut self, space: &RowSpace<'_>, start: &Exponents, unit_of_residual: f64) {
        space.rows().apply_transposed(&self.nu, &mut self.g);
        self.evaluate_at_g(space, start, unit_of_residual);
    }

    /// Evaluate at `from` plus a step in `ν`: no product for `G`. Its rounding adds up over such steps, which `accuracy`
    /// allows for.
    pub fn evaluate_step(
        &mut self,
        from: &Self,
        step: &Step,
        space: &RowSpace<'_>,
        start: &Exponents,
        unit_of_residual: f64,
    ) {
        let length = step.length;
        let (nu, g) = (from.nu.iter().zip(&step.nu), from.g.iter().zip(&step.g));
        self.nu.iter_mut().zip(nu).for_each(|(nu, (from, step))| *nu = from + length * step);
        self.g.iter_mut().zip(g).for_each(|(g, (from, step))| *g = from + length * step);
        self.evaluate_at_g(space, start, unit_of_residual);
    }

    /// How far the gradient of the dual has come along a step of this length, `(β(G + ℓ Xᵀδ) − β(G))ᵀ Xᵀδ`, and its
    /// derivative by `ℓ`. `d` operations and exponentials, no product with the data.
    pub fn slide(&mut self, from: &Self, step: &Step, length: f64, start: &Exponents) -> (f64, f64) {
        let g = from.g.iter().zip(&step.g);
        self.g.iter_mut().zip(g).for_each(|(g, (from, step))| *g = from + length * step);
        start.evaluate(&self.g, &mut self.beta, &mut self.slope, &mut self.scratch);
        let each = self.beta.iter().zip(&from.beta).zip(&self.slope).zip(&step.g);
        each.fold((0.0, 0.0), |(come, rate), (((beta, before), slope), g)| {
            (come + (beta - before) * g, rate + slope * g * g)
        })
    }

    fn evaluate_at_g(&mut self, space: &RowSpace<'_>, start: &Exponents, unit_of_residual: f64) {
        start.evaluate(&self.g, &mut self.beta, &mut self.slope, &mut self.scratch);
        space.samples().apply(&self.beta, &mut self.residual);
        self.residual.iter_mut().zip(&space.y).for_each(|(r, y)| *r = y - *r);
        let finite = self.residual.iter().chain(&self.slope).all(|v| v.is_finite());
        self.at_floor = false;
        if !finite {
            self.size = f64::INFINITY;
            return;
        }
        space.whiten(&self.residual, &mut self.white);
        self.size = largest(&self.white) / unit_of_residual;
        let residual = largest(&self.residual);
        self.at_floor = residual <= self.floor_at_most(space, start) && residual <= self.floor(space, start);
    }

    /// An upper bound of [`Point::floor`]: `d` operations instead of two products with the data, enough to see that most
    /// points are far from it.
    fn floor_at_most(&self, space: &RowSpace<'_>, start: &Exponents) -> f64 {
        let path = space.longest_path(&self.nu);
        let mut sum = 0.0;
        for i in 0..self.beta.len() {
            let (exponent, _) = start.sizes(i, self.g[i]);
            sum += self.beta[i].abs() * (4.0 + exponent) + self.slope[i] * path;
        }
        let peak = space.units().row_peaks().iter().copied().fold(0.0, f64::max);
        f64::EPSILON * (peak * sum + 4.0 * largest(&space.y))
    }

    /// The attainable residual `max_n {4ε(|X||β| + |y|) + ε|X|(|β|(|root| + |z|) + S |Q||ν|)}_n` (THEORY §1).
    fn floor(&mut self, space: &RowSpace<'_>, start: &Exponents) -> f64 {
        let magnitudes: Vec<f64> = self.nu.iter().map(|v| v.abs()).collect();
        space.rows().apply_transposed_abs(&magnitudes, &mut self.exponent);
        for (i, (weighted, path)) in self.weighted.iter_mut().zip(&self.exponent).enumerate() {
            let (exponent, _) = start.sizes(i, self.g[i]);
            // Round-off in the sum z moves β by S, not by β: the two differ where |β| ≪ √(AB).
            *weighted = self.beta[i].abs() * (4.0 + exponent) + self.slope[i] * path;
        }
        space.samples().apply_abs(&self.weighted, &mut self.bound);
        let with_targets = self.bound.iter().zip(&space.y).map(|(b, y)| b + 4.0 * y.abs());
        f64::EPSILON * with_targets.fold(0.0, f64::max)
    }
}

/// Largest magnitude; NaN if there is one.
pub(super) fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |m, v| if v.abs() > m || v.is_nan() { v.abs() } else { m })
}
