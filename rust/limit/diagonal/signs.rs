//! What one-sided coordinates cannot reach: the end of a flow that does not interpolate.
//!
//! A coordinate with B = 0 keeps `β ≥ 0` (A = 0: `β ≤ 0`). Where `y` needs the other sign the flow ends at the
//! constrained least-squares point: `r* = y − Xβ` with `x_iᵀr* = 0` for coefficients that are free or away from 0, and
//! those that `r*` pushes against their sign go to 0 exponentially. Among the others the flow still minimises Q subject
//! to `Xβ = y − r*`.
//!
//! Non-negative least squares by the active-set method of Lawson and Hanson (*Solving Least Squares Problems*, 1974, ch. 23),
//! after projecting the free columns out.

use crate::linalg::{RowBasis, Rows};
use crate::real::DoubleDouble;

use super::dual::largest;
use crate::potential::Start;

use super::double_double::{self, Exact};
use super::exponents::Exponents;
use super::finish::{Finished, exactly};
use super::solve::Workspace;
use super::{Limit, Options, Problem, Status};
use crate::limit::row_space::RowSpace;
use crate::limit::units::{exponent, scale_by_power};

/// A residual below this part of the targets is round-off: the signs suffice after all.
const REACHED: f64 = 1e-12;
/// A gradient below this part of its largest possible value is 0.
const STATIONARY: f64 = 1e-11;

/// The constrained end, or `None` if the targets can be reached (the solver then failed for another reason).
pub(super) fn constrained_end(
    problem: &Problem<'_>,
    start: &Start,
    options: &Options,
    interrupted: &dyn Fn() -> bool,
) -> Option<Limit> {
    let Problem { space, x, y, .. } = *problem;
    let exponents = Exponents::of(start, space.units().unit);
    let (data, targets, unit) = space.units().in_one_unit();
    let scaled = Rows::from_parts(&data, x.n(), x.d());
    let residual = least_squares_residual(scaled, &targets, &exponents);
    if !(largest(&residual) > REACHED * largest(&targets)) {
        return None;
    }
    let size = norm(&residual);
    // How hard the residual pulls a coefficient in the direction of `sign`, relative to the most it could.
    let pull = |i: usize, sign: f64| {
        let column = column(scaled, i, sign);
        inner(&column, &residual) / (norm(&column) * size).max(f64::MIN_POSITIVE)
    };
    let kept: Vec<usize> = (0..x.d())
        .filter(|i| match exponents.bound_sign(*i) {
            None => true,
            Some(sign) => sign != 0.0 && pull(*i, sign) > -STATIONARY,
        })
        .collect();
    // A coordinate whose weights are all 0 feels no force, though the loss would fall if it moved.
    let stuck = (0..x.d()).any(|i| exponents.bound_sign(i) == Some(0.0) && pull(i, 1.0).abs() > STATIONARY);
    let reached: Vec<f64> = y.iter().zip(&residual).map(|(y, r)| y - scale_by_power(*r, unit)).collect();
    let mut end = on_columns(&Problem { y: &reached, ..*problem }, start, &kept, options, interrupted);
    if end.status.success() {
        end.status = if stuck { Status::Saddle } else { Status::InfeasibleSign };
    }
    // The reachable part of y is known to round-off only, which no bound here accounts for.
    if let Some(bound) = &mut end.error_bound {
        bound.fill(f64::INFINITY);
    }
    Some(end)
}

/// The limit over some of the columns, the other coefficients at 0. It does not come back here if it fails.
fn on_columns(
    problem: &Problem<'_>,
    start: &Start,
    kept: &[usize],
    options: &Options,
    interrupted: &dyn Fn() -> bool,
) -> Limit {
    let Problem { x, y, exact, .. } = *problem;
    let data: Vec<f64> = (0..x.n()).flat_map(|n| kept.iter().map(move |i| x.row(n)[*i])).collect();
    let pick = |v: &[DoubleDouble]| -> Vec<DoubleDouble> { kept.iter().map(|i| v[*i]).collect() };
    let part = Start { log_a: pick(&start.log_a), log_b: pick(&start.log_b) };
    let x_kept = Rows::from_parts(&data, x.n(), kept.len());
    let space = RowSpace::of(x_kept, y);
    let exponents = Exponents::of(&part, space.units().unit);
    let mut work = Workspace::new(&space);
    let outcome = work.solve(&space, &exponents, None, options.max_systems, interrupted);
    let mut end = if let Some(exact) = exact {
        // What can be reached is the projection of the targets onto the range of these columns; their force is 0 on all.
        let given = if space.dim() < x.n() { exact.y.to_vec() } else { exactly(y) };
        let exact = Exact::of(&space, &given);
        let kept = Problem { space: &space, x: x_kept, y, exact: Some(&exact) };
        double_double::finish(&kept, &exact, (&part, &exponents), &work, outcome, options, interrupted)
    } else {
        let finished = Finished::of(&space, &exponents, &mut work, outcome, options);
        finished.into_limit(&space, x_kept, &part, outcome, options)
    };
    if let Some(low) = &mut end.low {
        low.beta = spread(&low.beta, kept, x.d());
    }
    end.beta = spread(&end.beta, kept, x.d());
    end.error_bound = end.error_bound.map(|bound| spread(&bound, kept, x.d()));
    end
}

/// A vector of `d` entries with `v` at the places `kept` and 0 elsewhere.
fn spread(v: &[f64], kept: &[usize], d: usize) -> Vec<f64> {
    let mut whole = vec![0.0; d];
    kept.iter().zip(v).for_each(|(i, v)| whole[*i] = *v);
    whole
}

/// `y − Xβ` at the least-squares point under the signs.
fn least_squares_residual(x: Rows<'_>, y: &[f64], exponents: &Exponents) -> Vec<f64> {
    let (n, d) = (x.n(), x.d());
    let free: Vec<f64> =
        (0..d).filter(|i| exponents.bound_sign(*i).is_none()).flat_map(|i| column(x, i, 1.0)).collect();
    let basis = (!free.is_empty()).then(|| RowBasis::of(Rows::from_parts(&free, free.len() / n, n)));
    let project = |v: &mut [f64]| {
        if let Some(basis) = &basis {
            remove(basis, v);
        }
    };
    let columns: Vec<Vec<f64>> = (0..d)
        .filter_map(|i| exponents.bound_sign(i).filter(|s| *s != 0.0).map(|s| column(x, i, s)))
        .map(|mut c| {
            project(&mut c);
            c
        })
        .collect();
    let mut target = y.to_vec();
    project(&mut target);
    non_negative(&columns, &target)
}

/// A column of `x` times `sign`, scaled to size one by a power of two: no end depends on the unit of a coefficient, and
/// squares of entries of 1e-200 would underflow.
fn column(x: Rows<'_>, i: usize, sign: f64) -> Vec<f64> {
    let peak = (0..x.n()).fold(0.0_f64, |m, n| m.max(x.row(n)[i].abs()));
    let power = if peak > 0.0 { -exponent(peak) } else { 0 };
    (0..x.n()).map(|n| sign * scale_by_power(x.row(n)[i], power)).collect()
}

fn norm(v: &[f64]) -> f64 {
    inner(v, v).sqrt()
}

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Subtract from `v` its part in the row space of `basis`.
fn remove(basis: &RowBasis, v: &mut [f64]) {
    let q = basis.q_rows();
    let (mut inner, mut part) = (vec![0.0; q.n()], vec![0.0; q.d()]);
    // Twice is enough (Kahan, Parlett): the second pass removes what rounding left of the first.
    for _ in 0..2 {
        q.apply(v, &mut inner);
        q.apply_transposed(&inner, &mut part);
        v.iter_mut().zip(&part).for_each(|(v, p)| *v -= p);
    }
}

/// Residual of `min ‖b − Σ c_j a_j‖` over `c ≥ 0`.
fn non_negative(columns: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let (mut residual, mut coefficient, mut passive) = (b.to_vec(), vec![0.0; columns.len()], Vec::<usize>::new());
    let size = norm(b);
    for _ in 0..=3 * columns.len() {
        let gain = |j: usize| inner(&columns[j], &residual) / norm(&columns[j]).max(f64::MIN_POSITIVE);
        let candidates = (0..columns.len()).filter(|j| !passive.contains(j));
        let best = candidates.map(|j| (gain(j), j)).max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((gain, entering)) = best else { break };
        if !(gain > STATIONARY * size) {
            break;
        }
        passive.push(entering);
        // Leave out, one after another, the coefficients that the unconstrained fit would make negative.
        while let Some(fit) = unconstrained(columns, &passive, b) {
            let blocked = passive.iter().zip(&fit).filter(|(_, c)| **c <= 0.0);
            // 0/0 is no way at all.
            let steps = blocked.map(|(j, c)| ((coefficient[*j] / (coefficient[*j] - c)).max(0.0), *j));
            let Some((step, first)) = steps.min_by(|a, b| a.0.total_cmp(&b.0)) else {
                passive.iter().zip(&fit).for_each(|(j, c)| coefficient[*j] = *c);
                break;
            };
            for (j, c) in passive.iter().zip(&fit) {
                coefficient[*j] += step * (c - coefficient[*j]);
            }
            // The one that blocks is 0 there, whatever rounding says: left in, it would end the search at no minimum.
            coefficient[first] = 0.0;
            passive.retain(|j| coefficient[*j] > 0.0);
        }
        residual.copy_from_slice(b);
        for j in &passive {
            residual.iter_mut().zip(&columns[*j]).for_each(|(r, a)| *r -= coefficient[*j] * a);
        }
    }
    residual
}

/// Least squares over the passive columns.
fn unconstrained(columns: &[Vec<f64>], passive: &[usize], b: &[f64]) -> Option<Vec<f64>> {
    if passive.is_empty() {
        return None;
    }
    let rows: Vec<f64> = passive.iter().flat_map(|j| columns[*j].iter().copied()).collect();
    let basis = RowBasis::of(Rows::from_parts(&rows, passive.len(), b.len()));
    let mut w = vec![0.0; basis.rank()];
    basis.q_rows().apply(b, &mut w);
    // The columns are the rows of `rows`: Σ c_j a_j = rowsᵀ c = Q w with rowsᵀ P = Q R, hence c = P R⁻¹ w.
    let mut c = vec![0.0; passive.len()];
    basis.solve_r(&w, &mut c);
    Some(c)
}

#[cfg(test)]
mod tests;
