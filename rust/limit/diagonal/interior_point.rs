//! Primal-dual interior point on the entropic linear program: the road from far away, at any scale.
//!
//! With `p = ¼A e^{2G}`, `m = ¼B e^{−2G}` and `β = p − m`, minimising Q is `min Σ_j x_j (ln(4x_j/a_j) − 1)` over
//! `x = (p, m) > 0`, `𝒜x = y`, `𝒜 = [X, −X]`, with multipliers `λ = 2ν` (THEORY §1). Newton on
//! `ln(4x/a) − 𝒜ᵀλ − s = 0`, `𝒜x = y`, `x∘s = μ → 0` needs one N × N kernel `𝒜 diag(x/(1+s)) 𝒜ᵀ`, the same one as the dual's.
//! The logarithm is linearised instead of the exponential: that is why `ln κ = −10⁶` costs no more than −60.
//!
//! Mehrotra's predictor and corrector (*SIAM J. Optim.* 2 (1992) 575–601) share a factorization. One-sided coordinates
//! have one variable instead of two.
//!
//! The iterate is of any `Real`: in double-double, with a kernel of its own, it goes on where coefficients of 1e-17 of the
//! largest decide (`double_double::afar`).

use crate::linalg::{Cholesky, Rows, SquareMatrix, WeightedGram};
use crate::real::Real;

use super::exponents::Exponents;
use crate::limit::row_space::RowSpace;

/// Fraction of the way to the boundary that a step may go.
const TO_BOUNDARY: f64 = 0.999;

/// Primal, slack and cost of the positive (or the negative) parts of all coefficients.
#[derive(Debug)]
struct Half<R> {
    /// 1 for `p`, −1 for `m`: the sign with which it enters `β`.
    sign: R,
    /// `ln(4/a)`; infinite for a side that is not there, which then stays out of everything.
    cost: Vec<R>,
    x: Vec<R>,
    s: Vec<R>,
    dual_residual: Vec<R>,
    /// `D = x/(1+s)`.
    metric: Vec<R>,
    dx: Vec<R>,
    ds: Vec<R>,
}

/// The iterate.
#[derive(Debug)]
pub(super) struct InteriorPoint<R> {
    halves: [Half<R>; 2],
    /// `λ = 2ν` in the coordinates of the basis.
    pub lambda: Vec<R>,
    variables: f64,
    g: Vec<R>,
    beta: Vec<R>,
    /// `D` of both halves, of which the kernel is made.
    metric: Vec<f64>,
    step_g: Vec<R>,
    primal_residual: Vec<R>,
    step: Vec<R>,
}

impl InteriorPoint<f64> {
    /// One predictor–corrector step. False if the kernel could not be factored or no variable is there.
    pub fn step(
        &mut self,
        space: &RowSpace<'_>,
        gram: &mut WeightedGram,
        kernel: &mut SquareMatrix,
        cholesky: &mut Cholesky,
    ) -> bool {
        let Some(metric) = self.kernel_metric(space.rows(), &space.target) else { return false };
        gram.form(space.rows(), metric, kernel);
        cholesky.factor_scaled(kernel).is_some() && self.advance(space.rows(), &|b| cholesky.solve(b))
    }
}

impl<R: Real> InteriorPoint<R> {
    /// The starting point `x = mean|X⁺y| + (±X⁺y)₊`, `λ = 0`, `s = max(ln(4x/a), 1)`, in a basis of `m` vectors.
    pub fn start(space: &RowSpace<'_>, m: usize, start: &Exponents) -> Self {
        let d = space.samples().d();
        let mean = mean_magnitude(&space.least);
        let half = |sign: f64| {
            let cost: Vec<f64> = (0..d).map(|i| if sign > 0.0 { start.costs(i).0 } else { start.costs(i).1 }).collect();
            let present = |c: f64| c.is_finite();
            let x: Vec<f64> = cost
                .iter()
                .zip(&space.least)
                .map(|(c, b)| if present(*c) { mean + (sign * b).max(0.0) } else { 0.0 })
                .collect();
            let s = cost.iter().zip(&x).map(|(c, x)| if present(*c) { (c + x.ln()).max(1.0) } else { 1.0 }).collect();
            let zero = || vec![R::ZERO; d];
            let [cost, x, s] = [cost, x, s].map(|v: Vec<f64>| v.into_iter().map(R::from_f64).collect());
            let sign = R::from_f64(sign);
            Half { sign, cost, x, s, dual_residual: zero(), metric: zero(), dx: zero(), ds: zero() }
        };
        let halves: [Half<R>; 2] = [half(1.0), half(-1.0)];
        let variables = halves.iter().flat_map(|h| &h.cost).filter(|c| c.is_finite()).count() as f64;
        let zero = |n: usize| vec![R::ZERO; n];
        Self {
            halves,
            lambda: zero(m),
            variables,
            g: zero(d),
            beta: zero(d),
            metric: vec![0.0; d],
            step_g: zero(d),
            primal_residual: zero(m),
            step: zero(m),
        }
    }

    /// The residuals at the iterate, and the `D` of the kernel `𝒜D𝒜ᵀ` with which it goes on. `None` if no variable is
    /// there.
    pub fn kernel_metric(&mut self, rows: Rows<'_>, target: &[R]) -> Option<&[f64]> {
        if self.variables == 0.0 {
            return None;
        }
        self.residuals(rows, target);
        Some(&self.metric)
    }

    /// Predictor and corrector with that kernel, by which `solve` divides. False if no step could be taken.
    pub fn advance(&mut self, rows: Rows<'_>, solve: &dyn Fn(&mut [R])) -> bool {
        let complementarity = self.complementarity(0.0, 0.0);
        self.direction(rows, solve, 0.0, false);
        let (primal, dual) = self.lengths();
        let predicted = self.complementarity(primal, dual);
        let aim = (predicted / complementarity).powi(3) * complementarity;
        self.direction(rows, solve, aim, true);
        let (primal, dual) = self.lengths();
        if !(primal.is_finite() && dual.is_finite() && self.step.iter().all(|v| v.is_finite())) {
            return false;
        }
        let (primal, dual) = (R::from_f64(primal), R::from_f64(dual));
        for half in &mut self.halves {
            half.advance(primal, dual);
        }
        self.lambda.iter_mut().zip(&self.step).for_each(|(l, d)| *l += dual * *d);
        true
    }

    /// Residuals of the optimality conditions and the metric `D` of the kernel.
    fn residuals(&mut self, rows: Rows<'_>, target: &[R]) {
        rows.apply_transposed(&self.lambda, &mut self.g);
        self.metric.fill(0.0);
        self.beta.fill(R::ZERO);
        for half in &mut self.halves {
            for i in 0..half.x.len() {
                if half.cost[i].is_finite() {
                    half.dual_residual[i] = half.cost[i] + half.x[i].ln() - half.sign * self.g[i] - half.s[i];
                    half.metric[i] = half.x[i] / (R::ONE + half.s[i]);
                    self.metric[i] += half.metric[i].to_f64();
                    self.beta[i] += half.sign * half.x[i];
                }
            }
        }
        rows.apply(&self.beta, &mut self.primal_residual);
        self.primal_residual.iter_mut().zip(target).for_each(|(r, y)| *r = *y - *r);
    }

    /// `μ = xᵀs / #variables` after a step of these lengths.
    fn complementarity(&self, primal: f64, dual: f64) -> f64 {
        // A side that is not there has x = dx = 0 and adds nothing.
        let (primal, dual) = (R::from_f64(primal), R::from_f64(dual));
        let product = |h: &Half<R>| -> f64 {
            (0..h.x.len()).map(|i| ((h.x[i] + primal * h.dx[i]) * (h.s[i] + dual * h.ds[i])).to_f64()).sum()
        };
        self.halves.iter().map(product).sum::<f64>() / self.variables
    }

    /// Newton direction towards `x∘s = aim`; the corrector also takes the second-order term `dx∘ds` of the predictor.
    fn direction(&mut self, rows: Rows<'_>, solve: &dyn Fn(&mut [R]), aim: f64, corrector: bool) {
        self.beta.fill(R::ZERO);
        for half in &mut self.halves {
            half.aim(R::from_f64(aim), corrector);
            for (beta, (metric, h)) in self.beta.iter_mut().zip(half.metric.iter().zip(&half.ds)) {
                *beta += half.sign * *metric * *h;
            }
        }
        rows.apply(&self.beta, &mut self.step);
        self.step.iter_mut().zip(&self.primal_residual).for_each(|(s, r)| *s = *r - *s);
        solve(&mut self.step);
        rows.apply_transposed(&self.step, &mut self.step_g);
        for half in &mut self.halves {
            half.close(&self.step_g);
        }
    }

    /// Longest primal and dual steps that stay positive.
    fn lengths(&self) -> (f64, f64) {
        let longest = |v: &[R], dv: &[R]| -> f64 {
            let each = v.iter().zip(dv).map(|(v, dv)| (v.to_f64(), dv.to_f64()));
            let ratio = each.filter(|(_, dv)| *dv < 0.0).map(|(v, dv)| -v / dv);
            (TO_BOUNDARY * ratio.fold(f64::INFINITY, f64::min)).min(1.0)
        };
        let least = |longest: [f64; 2]| longest.into_iter().fold(1.0, f64::min);
        let [p, m] = &self.halves;
        (least([longest(&p.x, &p.dx), longest(&m.x, &m.dx)]), least([longest(&p.s, &p.ds), longest(&m.s, &m.ds)]))
    }
}

impl<R: Real> Half<R> {
    /// `ds ← −rd + (aim − so)/x − s`, kept there until [`Half::close`]; `dx` keeps the target product `aim − so`.
    fn aim(&mut self, aim: R, corrector: bool) {
        for i in 0..self.x.len() {
            if self.cost[i].is_finite() {
                let product = if corrector { aim - self.dx[i] * self.ds[i] } else { aim };
                self.dx[i] = product;
                self.ds[i] = -self.dual_residual[i] + product / self.x[i] - self.s[i];
            }
        }
    }

    /// `dx = D(𝒜ᵀdλ + h)`, `ds = (aim − so − s dx)/x − s`.
    fn close(&mut self, step_g: &[R]) {
        for (i, g) in step_g.iter().enumerate() {
            if self.cost[i].is_finite() {
                let (product, h) = (self.dx[i], self.ds[i]);
                self.dx[i] = self.metric[i] * (self.sign * *g + h);
                self.ds[i] = (product - self.s[i] * self.dx[i]) / self.x[i] - self.s[i];
            }
        }
    }

    fn advance(&mut self, primal: R, dual: R) {
        self.x.iter_mut().zip(&self.dx).for_each(|(x, dx)| *x += primal * *dx);
        self.s.iter_mut().zip(&self.ds).for_each(|(s, ds)| *s += dual * *ds);
    }
}

/// Mean of the magnitudes, never 0.
pub(super) fn mean_magnitude(v: &[f64]) -> f64 {
    (v.iter().map(|v| v.abs()).sum::<f64>() / v.len().max(1) as f64).max(1e-300)
}
