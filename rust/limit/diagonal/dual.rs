//! A point of the dual: `G`, `β`, `S` and the residual that tells how far it is from the limit.

use super::exponents::{Exponents, Scratch};
use super::row_space::RowSpace;

/// Below this whitened residual it is worth asking whether the residual is only round-off.
const WORTH_A_FLOOR: f64 = 1e-3;

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
        if self.size < WORTH_A_FLOOR {
            self.at_floor = largest(&self.residual) <= self.floor(space, start);
        }
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
