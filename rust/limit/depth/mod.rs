//! The limit of gradient flow on a tied diagonal network `β = u₊^D − u₋^D`, `D ≥ 3`, t = ∞ without integration.
//!
//! `β(∞) = argmin Q(β)` subject to `Xβ = y`, `Q = Σ (αw)² q_D(β/(αw)^D)` (\[W\] Theorem 3; THEORY §6 for unequal `w`), the
//! minimiser of the dual `Σ ∫β − yᵀν`. In the order in which they are used:
//!
//! * `law`: β and its slopes as functions of the multipliers, the scale taken out of them;
//! * `road`: from anywhere to a few digits, by an interior point in binary64;
//! * `basis`, `polish`: to thirty digits, by Newton's method in coordinates that no scale makes small;
//! * `certificate`: the proven bound per coefficient;
//! * `kkt`: what can be said of a β from elsewhere.

mod basis;
mod certificate;
mod kkt;
mod law;
mod polish;
mod road;

#[cfg(test)]
mod tests;

pub use kkt::check;

use crate::limit::diagonal::{Conditions, Limit, Options, Status};
use crate::limit::row_space::RowSpace;
use crate::linalg::Rows;
use crate::potential::TiedStart;
use crate::real::{DoubleDouble, Real, Scaled};

use certificate::{Evidence, certify};
use law::Law;
use polish::{Polish, Polished};
use road::largest;

/// What a residual in binary64 rounds to, in ulps of its terms.
const FLOOR: f64 = 4.0;

/// Find the limit. `interrupted` is asked once a system.
#[must_use]
pub fn limit(x: Rows<'_>, y: &[f64], start: &TiedStart, options: &Options, interrupted: &dyn Fn() -> bool) -> Limit {
    let space = RowSpace::of(x, y);
    if largest(&space.y) == 0.0 {
        let status = if space.reachable { Status::Converged } else { Status::LeastSquares };
        return at_rest(x, status, options);
    }
    let law = Law::of(start, space.units().unit);
    let Some(found) = road::travel(&space, &law, options.max_systems, interrupted) else {
        return at_rest(x, Status::Interrupted, options);
    };
    let polish = Polish::new(&space, &law);
    match polish.finish(&found, interrupted) {
        None => at_rest(x, Status::MaxSteps, options),
        Some(polished) => {
            let end = End { x, space: &space, law: &law, start, options };
            end.limit(&polish, &polished, found.systems)
        }
    }
}

/// `β = 0`, where nothing moves or nothing was found.
fn at_rest(x: Rows<'_>, status: Status, options: &Options) -> Limit {
    let (n, d) = (x.n(), x.d());
    let unknown = if status.success() { 0.0 } else { f64::INFINITY };
    let proven = if status == Status::Converged { 0.0 } else { f64::INFINITY };
    Limit {
        beta: vec![0.0; d],
        multipliers: vec![0.0; n],
        error_bound: options.bounds.then(|| vec![proven; d]),
        backward_error: vec![unknown; n],
        conditions: Conditions { stationarity: 0.0, feasibility: unknown, duality_gap: 0.0, potential_value: 0.0 },
        n_iter: 0,
        status,
        low: None,
    }
}

/// A size of which nothing is known is infinite.
fn or_infinite(v: f64) -> f64 {
    if v.is_nan() { f64::INFINITY } else { v }
}

/// What a polished point is turned into a limit with.
struct End<'a, 'd> {
    x: Rows<'a>,
    space: &'a RowSpace<'d>,
    law: &'a Law,
    start: &'a TiedStart,
    options: &'a Options,
}

impl End<'_, '_> {
    fn limit(&self, polish: &Polish<'_, '_>, polished: &Polished, systems: usize) -> Limit {
        let (units, point) = (self.space.units(), &polished.point);
        let mut beta: Vec<f64> = point.beta.iter().map(|b| b.high).collect();
        let bound = self.options.bounds.then(|| self.bound(polish, polished));
        units.coefficients_out(&mut beta);
        let mut targets = self.space.y.clone();
        units.targets_out(&mut targets);
        let (residual, noise) = self.residual(&targets, &beta);
        let size = largest(&targets);
        let feasibility = largest(&residual) / size;
        let rounding = FLOOR * largest(&noise) / size;
        let converged = feasibility <= self.options.tol;
        let surplus = self.x.n() > self.x.d() || !self.space.reachable;
        let (multipliers, gap) = self.multipliers(polished);
        let potential = self.potential(&beta);
        let duality_gap = if potential.is_zero() { 0.0 } else { or_infinite((gap / potential).abs().value().high) };
        let backward_error: Vec<f64> = residual.iter().zip(&noise).map(|(r, e)| or_infinite(r.abs() + e)).collect();
        // Sizes at the ends of binary64 may overflow on the way, or be beyond it themselves: no end was found then.
        let held = beta.iter().chain(&backward_error).all(|v| v.is_finite());
        let status = match (held && (converged || feasibility <= rounding), surplus) {
            (true, true) => Status::LeastSquares,
            (true, false) if converged => Status::Converged,
            (true, false) => Status::RoundoffFloor,
            _ => Status::MaxSteps,
        };
        Limit {
            backward_error,
            beta: beta.into_iter().map(or_infinite).collect(),
            multipliers: multipliers.into_iter().map(or_infinite).collect(),
            error_bound: bound,
            conditions: Conditions {
                stationarity: 0.0,
                feasibility: or_infinite(feasibility),
                duality_gap,
                potential_value: or_infinite(potential.value().high),
            },
            n_iter: systems + polished.steps,
            status,
            low: None,
        }
    }

    /// In the user's units, rounding of the reported coefficients included.
    fn bound(&self, polish: &Polish<'_, '_>, polished: &Polished) -> Vec<f64> {
        let rows = polish.rows();
        let unknown = vec![f64::INFINITY; self.x.d()];
        // Where samples depend on each other the targets were projected in binary64: the point is that of others.
        if polished.samples.len() < self.x.n() {
            return unknown;
        }
        let columns = &polished.basis.columns;
        let Some(inverse) = basis::inverse_of(rows.n(), &|n, b| rows.row(n)[columns[b]]) else { return unknown };
        let evidence =
            Evidence { rows, law: self.law, basis: &polished.basis, point: &polished.point, inverse: &inverse };
        let mut bound = certify(&evidence);
        let rounded = polished.point.beta.iter().map(|b| b.low.abs() + f64::EPSILON * b.low.abs());
        bound.iter_mut().zip(rounded).for_each(|(bound, low)| *bound += low);
        self.space.units().coefficients_out(&mut bound);
        for bound in &mut bound {
            *bound = or_infinite(*bound * (1.0 + f64::EPSILON) + f64::from_bits(1));
        }
        bound
    }

    /// `y − Xβ` in binary64, and what it may be off by.
    fn residual(&self, targets: &[f64], beta: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (n, d) = (self.x.n(), self.x.d());
        let exact: Vec<DoubleDouble> = beta.iter().map(|b| DoubleDouble::from_f64(*b)).collect();
        let mut residual = vec![DoubleDouble::ZERO; n];
        self.x.apply(&exact, &mut residual);
        let found: Vec<f64> =
            residual.iter().zip(targets).map(|(r, y)| (DoubleDouble::from_f64(*y) - *r).high).collect();
        let magnitudes: Vec<f64> = beta.iter().map(|b| b.abs()).collect();
        let mut sizes = vec![0.0; n];
        self.x.apply_abs(&magnitudes, &mut sizes);
        let noise = sizes.iter().zip(targets).map(|(size, y)| f64::EPSILON * (size + y.abs()) + d as f64 * 5e-324);
        (found, noise.collect())
    }

    /// `ν` of `∇Q(β) = Xᵀν` for all samples, and `rᵀν`.
    fn multipliers(&self, polished: &Polished) -> (Vec<f64>, Scaled) {
        let (units, point) = (self.space.units(), &polished.point);
        let mut nu = vec![0.0; self.x.n()];
        for (n, mu) in polished.samples.iter().zip(&point.mu) {
            nu[*n] = mu.high;
        }
        self.space.least_multipliers(&mut nu);
        units.multipliers_out(&mut nu);
        let work = point.residual.iter().zip(&point.mu).fold(DoubleDouble::ZERO, |sum, (r, mu)| sum + *r * *mu);
        let gap = Scaled::from(work).times_power_of_two(i64::from(units.unit)) * self.law.of_gradient;
        let out = nu.iter().map(|nu| (Scaled::from(*nu) * self.law.of_gradient).value().high);
        (out.collect(), gap)
    }

    fn potential(&self, beta: &[f64]) -> Scaled {
        let each = self.start.potentials().zip(beta).map(|(q, b)| q.value(DoubleDouble::from_f64(*b)));
        each.fold(Scaled::ZERO, |sum, value| sum + value)
    }
}
