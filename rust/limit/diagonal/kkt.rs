//! The optimality conditions of min Q subject to Xβ = y, for a limit of ours or a β from elsewhere.

use crate::linalg::{Cholesky, Rows, WeightedGram};
use crate::real::Real;

use super::dual::largest;
use crate::potential::{HyperbolicEntropy, Start, hyperbolic_entropy};

use super::exponents::{Exponents, Scratch};
use super::solve::Workspace;
use super::{Limit, Options, Problem, accuracy, relative_residual, solve_one};
use crate::limit::row_space::RowSpace;

/// How well a pair (β, ν) satisfies the conditions. All are 0 at the limit and have no units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// `max_i |β_i − ∇Q*(Xᵀν)_i| / max|β|`: the distance in coefficients, not in ∇Q, where coefficients far below the
    /// others weigh as much as those that matter.
    pub stationarity: f64,
    /// `max|y − Xβ| / max|y|`, y projected onto the range of X.
    pub feasibility: f64,
    /// `|D_Q(β, β(ν)) − rᵀν| / D_Q(β, β(0))`, the difference of the primal and the dual value over the primal one.
    pub duality_gap: f64,
    /// `D_Q(β, β(0))`, what the flow minimised.
    pub potential_value: f64,
}

/// What can be said of a β that somebody found.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The conditions, with the best multipliers for this β.
    pub conditions: Conditions,
    /// Those multipliers: least squares for `∇Q(β) = Xᵀν` in the weights S, in which a coefficient says as much as it
    /// knows.
    pub multipliers: Vec<f64>,
    /// What they leave out, where they were asked for in double-double.
    pub multipliers_low: Option<Vec<f64>>,
    /// Proven bound of `|β(∞)_i − β_i|`.
    pub error_bound: Vec<f64>,
    /// Bound of `|y − Xβ|`.
    pub backward_error: Vec<f64>,
    /// The limit that β was compared with.
    pub limit: Limit,
}

impl Conditions {
    /// Evaluate for projected targets `y`; `there` is `β(ν)`.
    pub(super) fn of(x: Rows<'_>, y: &[f64], start: &Start, beta: &[f64], there: &[f64], nu: &[f64]) -> Self {
        let residual = accuracy::in_binary64_residual(x, y, beta);
        let off = beta.iter().zip(there).fold(0.0, |m, (b, t)| f64::max(m, accuracy::or_infinite((b - t).abs())));
        let entropies = start.log_a.iter().zip(&start.log_b);
        let entropies = entropies.map(|(a, b)| HyperbolicEntropy { log_a: a.to_f64(), log_b: b.to_f64() });
        let (potential_value, towards) = entropies.zip(beta.iter().zip(there)).fold((0.0, 0.0), |sum, (q, (b, t))| {
            (sum.0 + q.value(*b), sum.1 + hyperbolic_entropy::bregman(*b, *t, q.log_kappa()))
        });
        Self::of_parts(&residual, y, nu, off / size_or_one(largest(beta)), towards, potential_value)
    }

    /// From `y − Xβ`, the targets and multipliers, the stationarity, `D_Q(β, β(ν))` and `D_Q(β, β(0))`.
    pub(super) fn of_parts(
        residual: &[f64],
        y: &[f64],
        nu: &[f64],
        stationarity: f64,
        towards: f64,
        potential_value: f64,
    ) -> Self {
        let work: f64 = residual.iter().zip(nu).map(|(r, nu)| r * nu).sum();
        Self {
            stationarity: accuracy::or_infinite(stationarity),
            feasibility: accuracy::or_infinite(relative_residual(residual, y)),
            duality_gap: accuracy::or_infinite((towards - work).abs() / size_or_one(potential_value)),
            potential_value: accuracy::or_infinite(potential_value),
        }
    }
}

/// What a size is measured by: nothing is relative to 0.
pub(super) fn size_or_one(size: f64) -> f64 {
    if size > 0.0 { size } else { 1.0 }
}

/// Check a β against the limit of the flow from `start`.
///
/// The bound is the distance to a limit found by dual Newton from the fitted multipliers, plus that limit's own bound:
/// any ν may stand in the theorem, and the one at the limit makes it sharp wherever β is.
#[must_use]
pub fn check(x: Rows<'_>, y: &[f64], start: &Start, beta: &[f64], interrupted: &dyn Fn() -> bool) -> Report {
    let space = RowSpace::of(x, y);
    let exponents = Exponents::of(start, space.units().unit);
    let mut scaled = beta.to_vec();
    space.units().coefficients_in(&mut scaled);
    let fitted = fit(&space, &exponents, &scaled);
    let mut work = Workspace::new(&space);
    let problem = Problem { space: &space, x, y, exact: None };
    let warm = fitted.iter().all(|v| v.is_finite()).then_some(fitted.as_slice());
    let limit = solve_one(&problem, &mut work, start, &Options::default(), warm, interrupted);
    let mut multipliers = vec![0.0; x.n()];
    space.basic_multipliers(&fitted, &mut multipliers);
    space.least_multipliers(&mut multipliers);
    space.units().multipliers_out(&mut multipliers);
    let mut targets = space.y.clone();
    space.units().targets_out(&mut targets);
    let (mut g, mut there, mut slope) = (vec![0.0; x.d()], vec![0.0; x.d()], vec![0.0; x.d()]);
    space.rows().apply_transposed(&fitted, &mut g);
    exponents.evaluate(&g, &mut there, &mut slope, &mut Scratch::default());
    space.units().coefficients_out(&mut there);
    let conditions = Conditions::of(x, &targets, start, beta, &there, &multipliers);
    let error_bound = distance_bound(beta, &limit);
    let noise = accuracy::residual_noise(x, &targets, beta);
    let residual = accuracy::in_binary64_residual(x, &targets, beta);
    let backward_error = residual.iter().zip(&noise).map(|(r, e)| accuracy::or_infinite(r.abs() + e)).collect();
    for nu in &mut multipliers {
        *nu = accuracy::or_infinite(*nu);
    }
    Report { conditions, multipliers, multipliers_low: None, error_bound, backward_error, limit }
}

/// A proven bound of `|β(∞) − β|` from a certified limit: the triangle inequality, rounded outward.
#[must_use]
pub fn distance_bound(beta: &[f64], limit: &Limit) -> Vec<f64> {
    let outward = 1.0 + 4.0 * f64::UNIT_ROUNDOFF;
    let known = limit.error_bound.as_deref().unwrap_or(&[]);
    let bound = known.iter().copied().chain(core::iter::repeat(f64::INFINITY));
    let sum = |((b, l), e): ((&f64, &f64), f64)| accuracy::or_infinite(outward * ((b - l).abs() + e));
    beta.iter().zip(&limit.beta).zip(bound).map(sum).collect()
}

/// Coordinates `w` of the multipliers that fit `∇Q(β) = Xᵀν` best: `min Σ S_i (∇Q(β)_i − x_iᵀν)²`.
pub(super) fn fit(space: &RowSpace<'_>, start: &Exponents, beta: &[f64]) -> Vec<f64> {
    let x = space.rows();
    let (mut gradient, mut weight) = (vec![0.0; x.d()], vec![0.0; x.d()]);
    for (i, b) in beta.iter().enumerate() {
        // A coefficient that says nothing about its gradient gets no weight.
        if let Some((g, s)) = start.invert(i, *b) {
            gradient[i] = g;
            weight[i] = s;
        }
    }
    let mut cholesky = Cholesky::new(x.n());
    let mut w = vec![0.0; x.n()];
    if cholesky.factor_scaled(&WeightedGram::of(x, &weight)).is_none() {
        return w;
    }
    let (mut step, mut left) = (vec![0.0; x.n()], vec![0.0; x.d()]);
    // Two rounds of iterative refinement.
    for _ in 0..3 {
        x.apply_transposed(&w, &mut left);
        left.iter_mut().zip(gradient.iter().zip(&weight)).for_each(|(l, (g, s))| *l = s * (g - *l));
        x.apply(&left, &mut step);
        cholesky.solve(&mut step);
        w.iter_mut().zip(&step).for_each(|(w, s)| *w += s);
    }
    w
}
