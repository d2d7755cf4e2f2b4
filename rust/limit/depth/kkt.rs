//! The optimality conditions at a β that somebody found.

use crate::limit::diagonal::{Conditions, Options, Report, distance_bound};
use crate::limit::row_space::RowSpace;
use crate::linalg::{Cholesky, Rows, WeightedGram};
use crate::potential::TiedStart;
use crate::real::{DoubleDouble, Real, Scaled};

use super::law::Law;
use super::or_infinite;
use super::road::largest;

/// Check a β against the limit of the flow from `start`.
///
/// The bound is the distance to the limit, found from scratch, plus that limit's own bound.
#[must_use]
pub fn check(x: Rows<'_>, y: &[f64], start: &TiedStart, beta: &[f64], interrupted: &dyn Fn() -> bool) -> Report {
    let space = RowSpace::of(x, y);
    let law = Law::of(start, space.units().unit);
    let limit = super::limit(x, y, start, &Options::default(), interrupted);
    let (mu, there) = fit(&space, &law, beta);
    let (units, n) = (space.units(), x.n());
    let mut targets = space.y.clone();
    units.targets_out(&mut targets);
    let mut product = vec![0.0; n];
    x.apply(beta, &mut product);
    let residual: Vec<f64> = targets.iter().zip(&product).map(|(y, p)| y - p).collect();
    let mut nu = vec![0.0; n];
    space.basic_multipliers(&mu, &mut nu);
    space.least_multipliers(&mut nu);
    units.multipliers_out(&mut nu);
    let nu: Vec<Scaled> = nu.iter().map(|nu| Scaled::from(*nu) * law.of_gradient).collect();
    let exact = |b: &f64| DoubleDouble::from_f64(*b);
    let zero = (Scaled::ZERO, Scaled::ZERO);
    let (potential, towards) = start
        .potentials()
        .zip(beta.iter().zip(&there))
        .fold(zero, |sum, (q, (b, t))| (sum.0 + q.value(exact(b)), sum.1 + q.bregman(exact(b), exact(t))));
    let work = residual.iter().zip(&nu).fold(Scaled::ZERO, |sum, (r, nu)| sum + Scaled::from(*r) * *nu);
    let off = beta.iter().zip(&there).fold(0.0, |m: f64, (b, t)| m.max(or_infinite((b - t).abs())));
    let one_if_zero = |size: f64| if size > 0.0 { size } else { 1.0 };
    let gap = if potential.is_zero() { (towards - work).abs() } else { ((towards - work) / potential).abs() };
    let conditions = Conditions {
        stationarity: or_infinite(off / one_if_zero(largest(beta))),
        feasibility: or_infinite(largest(&residual) / one_if_zero(largest(&targets))),
        duality_gap: or_infinite(gap.value().high),
        potential_value: or_infinite(potential.value().high),
    };
    let magnitudes: Vec<f64> = beta.iter().map(|b| b.abs()).collect();
    let mut sizes = vec![0.0; n];
    x.apply_abs(&magnitudes, &mut sizes);
    let rounding = (x.d() as f64 + 2.0) * f64::UNIT_ROUNDOFF;
    let noise = sizes.iter().zip(&targets).map(|(size, y)| rounding * (size + y.abs()) + x.d() as f64 * 5e-324);
    let backward_error = residual.iter().zip(noise).map(|(r, e)| or_infinite(r.abs() + e)).collect();
    Report {
        conditions,
        multipliers: nu.iter().map(|nu| or_infinite(nu.value().high)).collect(),
        multipliers_low: None,
        error_bound: distance_bound(beta, &limit),
        backward_error,
        limit,
    }
}

/// The multipliers (in the basis of the row space) that fit `h⁻¹(β/U) = c∘Xᵀμ` best, in the weights in which a coefficient
/// says as much as it knows, and the β they stand for, in the user's units.
fn fit(space: &RowSpace<'_>, law: &Law, beta: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (rows, d) = (space.rows(), beta.len());
    let mut scaled = beta.to_vec();
    space.units().coefficients_in(&mut scaled);
    let arcs: Vec<_> = scaled.iter().enumerate().map(|(i, b)| law.arc_of(i, Scaled::from(*b))).collect();
    let aim: Vec<f64> = arcs.iter().zip(&law.cost).map(|(arc, c)| (arc.z / *c).value().high).collect();
    let logs: Vec<f64> = arcs.iter().enumerate().map(|(i, arc)| law.log_slope(i, *arc)).collect();
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weight: Vec<f64> = logs.iter().map(|log| (log - top).exp().max(1e-150)).collect();
    let mut mu = vec![0.0; rows.n()];
    let mut cholesky = Cholesky::new(rows.n());
    if cholesky.factor_scaled(&WeightedGram::of(rows, &weight)).is_some() {
        let (mut step, mut left) = (vec![0.0; rows.n()], vec![0.0; d]);
        // Two rounds of iterative refinement.
        for _ in 0..3 {
            rows.apply_transposed(&mu, &mut left);
            left.iter_mut().zip(aim.iter().zip(&weight)).for_each(|(l, (g, w))| *l = w * (g - *l));
            rows.apply(&left, &mut step);
            cholesky.solve(&mut step);
            mu.iter_mut().zip(&step).for_each(|(mu, s)| *mu += s);
        }
    }
    let mut g = vec![0.0; d];
    rows.apply_transposed(&mu, &mut g);
    let mut there: Vec<f64> = g
        .iter()
        .enumerate()
        .map(|(i, g)| {
            // What is fitted as well as binary64 can is not told from β by the digits that 1 − |z| has lost.
            if (g - aim[i]).abs() <= 64.0 * f64::EPSILON * aim[i].abs().max(g.abs()) {
                return scaled[i];
            }
            let z = Scaled::from(*g) * law.cost[i];
            let arc = crate::potential::Arc::from_z(z);
            if arc.a.is_negative() || arc.a.is_zero() {
                f64::INFINITY * g.signum()
            } else {
                law.beta(i, arc).value().high
            }
        })
        .collect();
    space.units().coefficients_out(&mut there);
    (mu, there)
}
