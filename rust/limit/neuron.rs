//! Where the flow of one linear neuron ends, in double-double: the closed form of THEORY §3 to thirty digits.
//!
//! With `P` the projector onto the null space of `X`, `b = X⁺y`, `p = s P w(0)` for the sign `s` of `a` at the end, and
//! `κ = δ + ‖p‖²`: `a² = (κ + √(κ² + 4‖b‖²))/2`, `β(∞) = b + |a| p`. `b` and `p` are those of `row_space`, refined with
//! residuals in double-double. Which sign `a` ends with is not asked here, nor whether the flow interpolates at all.
//!
//! \[A\] Theorem 2. For the binary64 limit see `NeuronPotential.interpolate` in the Python package.

mod start;

pub use start::{Neuron, weights};

use crate::linalg::Rows;
use crate::real::{DoubleDouble, Real};

use super::row_space::{RowSpace, Targets};
use super::units::{exactly_scaled, exponent};

/// A predictor and how far it is from the conditions `∇Q(β) = Xᵀν`, `Xβ = y`, `∇Q = (3/2)(w − s w(0))` with `w = β/|a|`.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Multipliers of least norm that fit `∇Q(β)` best.
    pub multipliers: Vec<DoubleDouble>,
    /// `β − β(ν)`, rounded.
    pub off: Vec<f64>,
    /// `max|β − β(ν)| / max|β|`.
    pub stationarity: f64,
    /// `y − Xβ` and `y − Xβ(ν)`, `y` projected onto the range of `X`.
    pub residual: Vec<f64>,
    /// See `residual`.
    pub backward_error: Vec<f64>,
    /// `D_Q(β, β(0))`.
    pub potential_value: DoubleDouble,
    /// False if `y` had a part that no `β` can reach.
    pub reachable: bool,
}

/// The minimiser of `Q` under the data, for a neuron whose outer weight ends with `sign`.
#[must_use]
pub fn limit(x: Rows<'_>, y: &[DoubleDouble], neuron: &Neuron, sign: f64) -> (Vec<DoubleDouble>, Report) {
    let rounded: Vec<f64> = y.iter().map(|y| y.to_f64()).collect();
    let space = RowSpace::of(x, &rounded);
    let targets = space.exact_targets(y);
    let zero = vec![DoubleDouble::ZERO; x.d()];
    let (_, mut b) = space.exact_nearest(&zero, &targets.reached);
    space.units().exact_coefficients_out(&mut b);
    let k = unit(neuron, &b);
    let (towards, delta) = neuron.measured(sign, k);
    let (_, p) = space.exact_nearest(&towards, &vec![DoubleDouble::ZERO; x.n()]);
    for b in &mut b {
        *b = exactly_scaled(*b, -2 * k);
    }
    // That of a neuron with δ = κ and ‖β‖ = ‖b‖.
    let a = outer(delta + size_squared(&p), size_squared(&b));
    let beta: Vec<_> = b.iter().zip(&p).map(|(b, p)| exactly_scaled(*b + a * *p, 2 * k)).collect();
    let report = conditions(&space, &targets, y, neuron, sign, &beta);
    (beta, report)
}

/// The conditions at a `β` from elsewhere.
#[must_use]
pub fn check(x: Rows<'_>, y: &[DoubleDouble], neuron: &Neuron, sign: f64, beta: &[DoubleDouble]) -> Report {
    let rounded: Vec<f64> = y.iter().map(|y| y.to_f64()).collect();
    let space = RowSpace::of(x, &rounded);
    conditions(&space, &space.exact_targets(y), y, neuron, sign, beta)
}

fn conditions(
    space: &RowSpace<'_>,
    targets: &Targets,
    y: &[DoubleDouble],
    neuron: &Neuron,
    sign: f64,
    beta: &[DoubleDouble],
) -> Report {
    let (x, k) = (space.samples(), unit(neuron, beta));
    let (w0, delta) = neuron.measured(sign, k);
    let measured: Vec<_> = beta.iter().map(|b| exactly_scaled(*b, -2 * k)).collect();
    let a = outer(delta, size_squared(&measured));
    let inner = |b: &DoubleDouble| if a.to_f64() > 0.0 { *b / a } else { DoubleDouble::ZERO };
    // What the samples cannot explain of w − w(0) is the part outside of their span.
    let moved: Vec<_> = measured.iter().zip(&w0).map(|(b, w0)| inner(b) - *w0).collect();
    let (mu, _) = space.exact_nearest(&moved, &vec![DoubleDouble::ZERO; x.n()]);
    let mut nu: Vec<_> = mu.iter().map(|mu| mu.mul_f64(-1.5)).collect();
    space.exact_least_multipliers(&mut nu);
    let mut g = vec![DoubleDouble::ZERO; x.d()];
    x.apply_transposed(&nu, &mut g);
    let two_thirds = DoubleDouble::from_f64(2.0) / DoubleDouble::from_f64(3.0);
    let change: Vec<_> = g.iter().map(|g| two_thirds * *g).collect();
    let w: Vec<_> = change.iter().zip(&w0).map(|(change, w0)| *change + *w0).collect();
    let (outer_there, outer_at_start) = (outer_of_inner(delta, &w), outer_of_inner(delta, &w0));
    let beyond = size_squared(&w0) + delta;
    let there: Vec<_> = w.iter().map(|w| exactly_scaled(outer_there * *w, 2 * k)).collect();
    let off: Vec<f64> = beta.iter().zip(&there).map(|(b, there)| (*b - *there).to_f64()).collect();
    let goal = if targets.reachable { y.to_vec() } else { in_users_units(space, targets) };
    for nu in &mut nu {
        *nu = exactly_scaled(*nu, k);
    }
    space.units().exact_multipliers_out(&mut nu);
    Report {
        multipliers: nu,
        stationarity: over(largest(&off), beta.iter().fold(0.0, |m: f64, b| m.max(b.to_f64().abs()))),
        residual: residual(space, &goal, beta),
        backward_error: residual(space, &goal, &there),
        off,
        potential_value: exactly_scaled(divergence(&change, &w, (outer_there, outer_at_start), beyond), 3 * k),
        reachable: targets.reachable,
    }
}

/// `D_Q(β, β(0)) = ¾ a‖w − w(0)‖² + ¼ (a − a₀)²(a + 2a₀)`, `a − a₀ = (2wᵀΔ − ‖Δ‖²)/(a + a₀)`, `Δ = w − w(0)`: from
/// `Q = ½a(3‖w‖² − a²) − (3/2) a w(0)ᵀw` with `a² = ‖w‖² + δ` twice. No term is negative.
///
/// A `Q` that is no network's may have `s = ‖w(0)‖² + δ < 0`. It is least at its kink, `β = 0`, and `Q(β)` is
/// `¾ a(‖w − w(0)‖² − s) + ¼ a³`.
fn divergence(
    change: &[DoubleDouble],
    w: &[DoubleDouble],
    (a, a0): (DoubleDouble, DoubleDouble),
    s: DoubleDouble,
) -> DoubleDouble {
    let moved = size_squared(change);
    if s.to_f64() < 0.0 {
        return (a * (moved - s)).mul_f64(0.75) + (a * a * a).mul_f64(0.25);
    }
    if a.to_f64() + a0.to_f64() == 0.0 {
        return DoubleDouble::ZERO;
    }
    let inner = change.iter().zip(w).fold(DoubleDouble::ZERO, |sum, (d, w)| sum + *d * *w);
    let outer = (inner + inner - moved) / (a + a0);
    (a * moved).mul_f64(0.75) + (outer * outer * (a + a0 + a0)).mul_f64(0.25)
}

/// `|a|` of `x² = ‖β‖²`: `a² = √(x² + δ²/4) + δ/2`, for `δ < 0` as `x²` over what does not cancel.
fn outer(delta: DoubleDouble, square: DoubleDouble) -> DoubleDouble {
    let half = delta.mul_f64(0.5);
    let root = (square + half * half).sqrt();
    let large = root + half.abs();
    if large.to_f64() == 0.0 {
        return DoubleDouble::ZERO;
    }
    if half.to_f64() >= 0.0 { large.sqrt() } else { square.sqrt() / large.sqrt() }
}

/// `|a| = √(‖w‖² + δ)`, 0 below.
fn outer_of_inner(delta: DoubleDouble, w: &[DoubleDouble]) -> DoubleDouble {
    let square = size_squared(w) + delta;
    if square.to_f64() > 0.0 { square.sqrt() } else { DoubleDouble::ZERO }
}

/// `k` such that `β` and `δ` are of size one in units of `4^k`, and so are `a` and `w` in units of `2^k`: no square over- or
/// underflows before it stops counting.
fn unit(neuron: &Neuron, beta: &[DoubleDouble]) -> i32 {
    let peak = |v: &[DoubleDouble]| exponent(v.iter().fold(0.0, |m: f64, v| m.max(v.to_f64().abs())));
    let largest = peak(beta).max(peak(&[neuron.delta])).max(peak(&neuron.w).saturating_mul(2));
    // The exponent of 0 is that of no number.
    if largest < -3000 { 0 } else { largest.div_euclid(2) }
}

/// `‖v‖²`.
fn size_squared(v: &[DoubleDouble]) -> DoubleDouble {
    v.iter().fold(DoubleDouble::ZERO, |sum, v| sum + *v * *v)
}

fn residual(space: &RowSpace<'_>, y: &[DoubleDouble], beta: &[DoubleDouble]) -> Vec<f64> {
    let (mut scaled, mut product) = (beta.to_vec(), vec![DoubleDouble::ZERO; y.len()]);
    space.units().exact_coefficients_in(&mut scaled);
    space.samples().apply(&scaled, &mut product);
    space.units().exact_residuals(y, &product)
}

fn in_users_units(space: &RowSpace<'_>, targets: &Targets) -> Vec<DoubleDouble> {
    let mut goal = targets.reached.clone();
    space.units().exact_targets_out(&mut goal);
    goal
}

fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |m, v| if v.abs() > m || v.is_nan() { v.abs() } else { m })
}

/// Relative to what it is a part of, absolute where that is 0.
fn over(size: f64, of: f64) -> f64 {
    if of > 0.0 { size / of } else { size }
}

#[cfg(test)]
mod tests;
