//! From the point at which the search ended to the limit that is reported: refined where binary64 does not suffice,
//! certified, and in the user's units.

use crate::linalg::{Cholesky, Rows, WeightedGram};
use crate::real::{DoubleDouble, Real};

use super::accuracy::{self, Errors, Evaluated, SMALLEST, abs_product};
use super::certificate::{self, Evidence, Inverse};
use super::dual::largest;
use crate::potential::Start;

use super::exponents::Exponents;
use super::kkt::Conditions;
use super::refine::{Frame, Refined};
use super::row_space::RowSpace;
use super::solve::{End, Outcome, Workspace};
use super::{Limit, Options, Status, judge};

/// A bound below this part of the largest coefficient needs no tightening.
const TIGHT: f64 = 1e-10;
/// A binary64 residual above this part of the targets does.
const SMALL_RESIDUAL: f64 = 1e-13;
/// Part of a residual that is much less than it.
const MUCH: f64 = 0.1;
/// Binary64 exponents longer than this cost more digits than the reported errors should.
const SHORT: f64 = 100.0;
/// Residuals of dependent samples below this part of the targets are those of refinement in double-double.
const CONSISTENT: f64 = 1e-20;
/// Movement of the exponents since the last factorization up to which it also serves the certificate.
const NEARBY: f64 = 0.03;

/// A finished point, in scaled units.
pub(super) struct Finished {
    /// Multipliers of all samples.
    nu: Vec<f64>,
    beta: Vec<f64>,
    /// `β(ν)`, of which `beta` is the rounded value.
    there: Vec<f64>,
    bound: Option<Vec<f64>>,
    backward: Vec<f64>,
    systems: usize,
}

impl Finished {
    /// Refine and certify the point in the workspace.
    pub fn of(
        space: &RowSpace<'_>,
        start: &Exponents,
        work: &mut Workspace,
        outcome: Outcome,
        options: &Options,
    ) -> Self {
        let bounds = options.bounds;
        if space.kernel().is_some() {
            let plain = Self::in_binary64(space, start, work, outcome, bounds);
            let there = outcome.systems == 0 && outcome.end == End::Floor;
            if there
                || outcome.end == End::Interrupted
                || (start.largest_root() <= SHORT && plain.suffices(space, work))
            {
                return plain;
            }
            return Self::refined(space, start, work, outcome, bounds).unwrap_or(plain);
        }
        let refined = Self::refined(space, start, work, outcome, bounds);
        let small = SMALL_RESIDUAL * largest(&space.y);
        match refined.map(|refined| (refined.residual(space), refined)) {
            None => Self::refined_in_basis(space, start, work, outcome, bounds),
            Some((residual, refined)) if residual <= small => refined,
            Some((residual, refined)) => {
                // Feasible without a bound is worth more than a bound only where it is much more feasible.
                let feasible = Self::refined_in_basis(space, start, work, outcome, bounds);
                if feasible.residual(space) < MUCH * residual { feasible } else { refined }
            }
        }
    }

    /// `max|y − Xβ|`.
    fn residual(&self, space: &RowSpace<'_>) -> f64 {
        largest(&accuracy::in_binary64_residual(space.samples(), &space.y, &self.beta))
    }

    fn in_binary64(
        space: &RowSpace<'_>,
        start: &Exponents,
        work: &mut Workspace,
        outcome: Outcome,
        bounds: bool,
    ) -> Self {
        let x = space.samples();
        let point = work.point();
        let mut nu = vec![0.0; x.n()];
        space.basic_multipliers(&point.nu, &mut nu);
        let evaluated = Evaluated { nu: &nu, g: &point.g, beta: &point.beta, slope: &point.slope };
        let errors = accuracy::in_binary64(x, &space.y, start, evaluated, outcome.stepped);
        let reach = abs_product(x, &errors.beta);
        let known = point.residual.iter().zip(&errors.residual).zip(&reach);
        let backward = known.map(|((r, e), b)| r.abs() + e + b).collect();
        let beta = point.beta.clone();
        let bound = bounds.then(|| {
            let moved = match outcome.moved {
                Some(moved) if moved <= NEARBY => moved,
                _ if work.factor_here(space) => 0.0,
                _ => return vec![f64::INFINITY; x.d()],
            };
            let point = work.point();
            let inverse = Inverse::of(&work.cholesky);
            certificate::certify(&Evidence {
                x,
                slope: &point.slope,
                slope_error: errors.slope,
                beta_error: &errors.beta,
                residual: &point.residual,
                residual_error: &errors.residual,
                cholesky: &work.cholesky,
                inverse: &inverse,
                moved,
                factor_error: certificate::by_gram(x, &work.cholesky, &inverse),
                enough: TIGHT * largest(&beta),
            })
        });
        Self { nu, there: beta.clone(), beta, bound, backward, systems: outcome.systems }
    }

    /// Refine in the orthonormal basis, for data so badly conditioned that no multipliers of the samples reproduce `Qᵀw`.
    /// The theorem does not speak of that point: the bound is infinite.
    fn refined_in_basis(
        space: &RowSpace<'_>,
        start: &Exponents,
        work: &mut Workspace,
        outcome: Outcome,
        bounds: bool,
    ) -> Self {
        let x = space.samples();
        let plain = Self::in_binary64(space, start, work, outcome, false);
        let frame = Frame { basis: space.rows(), x, y: &space.y, whiten: Some(space) };
        let point = Refined::from(frame, start, &work.point().nu, &work.point().slope, None);
        let there: Vec<f64> = point.beta.iter().map(|b| b.to_f64()).collect();
        let mut beta = there.clone();
        make_feasible(space, &point.slope, &mut beta);
        let after = accuracy::in_binary64_residual(x, &space.y, &beta);
        let bound = bounds.then(|| vec![f64::INFINITY; x.d()]);
        if !(largest(&after) <= largest(&work.point().residual)) {
            return Self { bound, ..plain };
        }
        let noise = accuracy::residual_noise(x, &space.y, &beta);
        let backward = after.iter().zip(&noise).map(|(r, e)| r.abs() + e).collect();
        Self { nu: plain.nu, there, beta, bound, backward, systems: outcome.systems + point.systems }
    }

    /// Is nothing to be gained from double-double?
    fn suffices(&self, space: &RowSpace<'_>, work: &Workspace) -> bool {
        let tight = |bound: &Vec<f64>| largest(bound) <= TIGHT * largest(&self.beta);
        let residual = largest(&work.point().residual);
        residual <= SMALL_RESIDUAL * largest(&space.y) && self.bound.as_ref().is_none_or(tight)
    }

    /// Refine in double-double over the basic samples. `None` if that made the residual worse.
    fn refined(
        space: &RowSpace<'_>,
        start: &Exponents,
        work: &Workspace,
        outcome: Outcome,
        bounds: bool,
    ) -> Option<Self> {
        let all = space.samples();
        let basic = space.basic_samples();
        let mut nu = vec![0.0; all.n()];
        space.basic_multipliers(&work.point().nu, &mut nu);
        let gathered: Vec<f64>;
        let x = if basic.len() == all.n() {
            all
        } else {
            gathered = basic.iter().flat_map(|i| all.row(*i)).copied().collect();
            Rows::from_parts(&gathered, basic.len(), all.d())
        };
        let pick = |v: &[f64]| -> Vec<f64> { basic.iter().map(|i| v[*i]).collect() };
        let y = pick(&space.y);
        let known = outcome.moved.filter(|_| space.kernel().is_some()).map(|moved| (&work.cholesky, moved));
        let frame = Frame { basis: x, x, y: &y, whiten: None };
        let mut point = Refined::from(frame, start, &pick(&nu), &work.point().slope, known);
        let before = largest(&work.point().residual);
        let beta: Vec<f64> = point.beta.iter().map(|b| b.to_f64()).collect();
        // Compared in the same precision; a residual at round-off may come out either way.
        let after = accuracy::in_binary64_residual(all, &space.y, &beta);
        if !(largest(&after) <= f64::max(before, SMALL_RESIDUAL * largest(&space.y))) {
            return None;
        }
        let mut errors = point.errors(x, &y, start);
        if bounds && basic.len() != all.n() {
            allow_for_projection(space, &point, &basic, &mut errors);
        }
        let bound = bounds.then(|| point.certify(x, &errors));
        let reach = abs_product(all, &errors.beta);
        let backward = if basic.len() == all.n() {
            let known = point.residual.iter().zip(&errors.residual).zip(&reach);
            known.map(|((r, e), b)| r.abs() + e + b).collect()
        } else {
            let noise = accuracy::residual_noise(all, &space.y, &beta);
            after.iter().zip(&noise).zip(&reach).map(|((r, e), b)| r.abs() + e + b).collect()
        };
        for (i, multiplier) in basic.iter().zip(&point.nu) {
            nu[*i] = multiplier.to_f64();
        }
        Some(Self { nu, there: beta.clone(), beta, bound, backward, systems: outcome.systems + point.systems })
    }

    /// In the user's units, with the optimality conditions and the status.
    pub fn into_limit(
        mut self,
        space: &RowSpace<'_>,
        x: Rows<'_>,
        start: &Start,
        outcome: Outcome,
        options: &Options,
    ) -> Limit {
        let units = space.units();
        space.least_multipliers(&mut self.nu);
        units.multipliers_out(&mut self.nu);
        let inside = self.beta.clone();
        units.coefficients_out(&mut self.beta);
        units.coefficients_out(&mut self.there);
        units.residuals_out(&mut self.backward);
        allow_for_underflow(x, &inside, &self.beta, &mut self.backward);
        let bound = self.bound.map(|mut bound| {
            units.coefficients_out(&mut bound);
            // Leaving the units is exact unless it underflows.
            for b in &mut bound {
                *b += SMALLEST;
            }
            bound
        });
        let mut targets = space.y.clone();
        units.targets_out(&mut targets);
        let conditions = Conditions::of(x, &targets, start, &self.beta, &self.there, &self.nu);
        // Sizes at the ends of binary64 may overflow on the way, or be beyond it themselves: no end was found then. The
        // potential and the multipliers of tiny rows may exceed the largest float all the same, without harm.
        let sizes = self.beta.iter().chain(&self.backward).chain([&conditions.stationarity, &conditions.feasibility]);
        let found = sizes.copied().all(f64::is_finite) && !self.nu.iter().any(|nu| nu.is_nan());
        let status = match outcome.end {
            // In the user's units: rows that differ by 1e300 may hide each other's residuals in the scaled ones.
            end if found => judge(space, end, conditions.feasibility, options.tol),
            End::Interrupted => Status::Interrupted,
            _ => Status::MaxSteps,
        };
        for v in self.beta.iter_mut().chain(&mut self.nu).chain(&mut self.backward) {
            *v = accuracy::or_infinite(*v);
        }
        Limit {
            beta: self.beta,
            multipliers: self.nu,
            error_bound: bound,
            backward_error: self.backward,
            conditions,
            n_iter: self.systems,
            status,
        }
    }
}

/// Leaving the units is exact unless it underflows: what the residual of a coefficient below the normal numbers may be off
/// by, which next to rows of 1e308 is no small number.
fn allow_for_underflow(x: Rows<'_>, inside: &[f64], outside: &[f64], residual: &mut [f64]) {
    let lost = |(inside, outside): (&f64, &f64)| {
        if *inside != 0.0 && outside.abs() < f64::MIN_POSITIVE { SMALLEST } else { 0.0 }
    };
    let lost: Vec<f64> = inside.iter().zip(outside).map(lost).collect();
    if largest(&lost) > 0.0 {
        let mut moved = vec![0.0; x.n()];
        x.apply_abs(&lost, &mut moved);
        residual.iter_mut().zip(&moved).for_each(|(r, moved)| *r += moved);
    }
}

/// The last of the residual, where it lies in directions that only coefficients next to 0 could change: the smallest
/// change of β in the metric of its (lifted) slopes that meets the targets. It is as large as the residual, 1e-9 of the
/// largest coefficient at worst, and moves β off the manifold `β(Xᵀν)` by as much, which the stationarity reports.
fn make_feasible(space: &RowSpace<'_>, slope: &[f64], beta: &mut [f64]) {
    const LIFT: f64 = 1e-8;
    const ROUNDS: usize = 3;
    let basis = space.rows();
    let floor = LIFT * largest(slope);
    let lifted: Vec<f64> = slope.iter().map(|s| s + floor).collect();
    let mut cholesky = Cholesky::new(basis.n());
    if cholesky.factor_scaled(&WeightedGram::of(basis, &lifted)).is_none() {
        return;
    }
    let (mut step, mut change) = (vec![0.0; basis.n()], vec![0.0; basis.d()]);
    for _ in 0..ROUNDS {
        let residual = accuracy::in_binary64_residual(space.samples(), &space.y, beta);
        space.whiten(&residual, &mut step);
        cholesky.solve(&mut step);
        basis.apply_transposed(&step, &mut change);
        change.iter_mut().zip(&lifted).for_each(|(c, s)| *c *= s);
        let before = beta.to_vec();
        beta.iter_mut().zip(&change).for_each(|(b, c)| *b += c);
        let after = accuracy::in_binary64_residual(space.samples(), &space.y, beta);
        if !(largest(&after) < largest(&residual)) {
            beta.copy_from_slice(&before);
            return;
        }
    }
}

/// The flow meets the exact projection of the targets onto the range of the data, the refined point that of the computed
/// one: add to the errors of the residual what separates the two.
fn allow_for_projection(space: &RowSpace<'_>, point: &Refined, basic: &[usize], errors: &mut Errors) {
    let all = space.samples();
    let mut residual = vec![DoubleDouble::ZERO; all.n()];
    all.apply(&point.beta, &mut residual);
    residual.iter_mut().zip(&space.units().y).for_each(|(r, y)| *r = DoubleDouble::from_f64(*y) - *r);
    // Rank below min(N, d) is a statement about size: where samples that depend on each other to round-off contradict each
    // other, exact arithmetic might see independent ones with another limit.
    let off = residual.iter().fold(0.0, |m: f64, r| m.max(r.to_f64().abs()));
    let uncertain = basic.len() < all.n().min(all.d()) && off > CONSISTENT * largest(&space.units().y);
    let part = if uncertain { None } else { space.reachable_part(&residual) };
    for (k, (i, error)) in basic.iter().zip(&mut errors.residual).enumerate() {
        *error += match &part {
            Some((part, relative)) => (part[*i] - point.residual[k]).abs() + relative * part[*i].abs(),
            None => f64::INFINITY,
        };
    }
}
