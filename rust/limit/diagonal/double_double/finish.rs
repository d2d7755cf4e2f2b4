//! From the point at which the binary64 search ended to the limit of thirty digits, in the user's units.

use crate::linalg::Rows;
use crate::potential::Start;
use crate::real::{DoubleDouble, Real};

use super::super::accuracy::{self, Errors, SMALLEST, abs_product, abs_transposed, magnitudes};
use super::super::dual::largest;
use super::super::exponents::Exponents;
use super::super::finish::allow_for_underflow;
use super::super::kkt::Conditions;
use super::super::refine::{Digits, Frame, Refined};
use super::super::solve::{End, Outcome, Workspace};
use super::super::{Limit, Options, Problem, Status};
use super::potential::divergence;
use super::{Exact, Low, afar, high};
use crate::limit::row_space::RowSpace;

/// Residuals of dependent samples below this part of the targets are those of refinement in double-double.
const CONSISTENT: f64 = 1e-28;

/// Refine, certify and report.
pub(in crate::limit::diagonal) fn finish(
    problem: &Problem<'_>,
    exact: &Exact<'_>,
    start: (&Start, &Exponents),
    work: &Workspace,
    outcome: Outcome,
    options: &Options,
    interrupted: &dyn Fn() -> bool,
) -> Limit {
    let (space, (start, exponents)) = (problem.space, start);
    let basic = Basic::of(space, exact);
    let frame = basic.frame(space);
    let Refinement { mut point, arrived, systems } =
        refine(space, &basic, exponents, work, outcome, options, interrupted);
    let outcome = if !arrived && interrupted() { Outcome { end: End::Interrupted, ..outcome } } else { outcome };
    let mut errors = point.errors(frame, exponents);
    if basic.order.len() < space.samples().n() {
        allow_for_projection(space, exact, &point, &basic.order, &mut errors);
    }
    let bound = options.bounds.then(|| match outcome.end {
        End::Interrupted => vec![f64::INFINITY; space.samples().d()],
        _ => point.certify(frame.x, &errors),
    });
    let mut multipliers = vec![DoubleDouble::ZERO; space.samples().n()];
    basic.order.iter().zip(&point.nu).for_each(|(i, nu)| multipliers[*i] = *nu);
    space.exact_least_multipliers(&mut multipliers);
    let found = Found { point: &point, errors: &errors, multipliers, bound, arrived, systems };
    found.into_limit(problem, exact, start, outcome, options)
}

/// Steps of refinement at most: a factorization with three digits needs ten.
const STEPS: usize = 60;

/// A refined point, whether its residual is round-off, and the systems it took.
struct Refinement {
    point: Refined,
    arrived: bool,
    systems: usize,
}

/// From the binary64 point, or from afar where that is not near enough.
fn refine(
    space: &RowSpace<'_>,
    basic: &Basic,
    exponents: &Exponents,
    work: &Workspace,
    outcome: Outcome,
    options: &Options,
    interrupted: &dyn Fn() -> bool,
) -> Refinement {
    let frame = basic.frame(space);
    let mut nu = vec![0.0; space.samples().n()];
    space.basic_multipliers(&work.point().nu, &mut nu);
    let seed: Vec<_> = basic.order.iter().map(|i| DoubleDouble::from_f64(nu[*i])).collect();
    let known = outcome.moved.filter(|_| space.kernel().is_some()).map(|moved| (&work.cholesky, moved));
    let steps = if outcome.end == End::Interrupted { 0 } else { STEPS };
    let point = Refined::within(steps, frame, exponents, &seed, &work.point().slope, known);
    let (arrived, systems) = (point.arrived(frame, exponents), point.systems);
    if arrived || steps == 0 {
        return Refinement { point, arrived, systems };
    }
    let (found, more) = afar::search(space, frame, exponents, options.max_systems, interrupted);
    let again = found.map(|(nu, slope)| Refined::within(steps, frame, exponents, &nu, &slope, None));
    let systems = systems + more + again.as_ref().map_or(0, |again| again.systems);
    match again.map(|again| (again.arrived(frame, exponents), again)) {
        Some((arrived, again)) if arrived || largest(&again.residual) < largest(&point.residual) => {
            Refinement { point: again, arrived, systems }
        }
        _ => Refinement { point, arrived, systems },
    }
}

/// The samples that span the row space.
pub(super) struct Basic {
    pub order: Vec<usize>,
    data: Option<Vec<f64>>,
    y: Vec<DoubleDouble>,
}

impl Basic {
    pub fn of(space: &RowSpace<'_>, exact: &Exact<'_>) -> Self {
        let (all, order) = (space.samples(), space.basic_samples());
        let gathered = || order.iter().flat_map(|i| all.row(*i)).copied().collect();
        let data = (order.len() < all.n()).then(gathered);
        let y = order.iter().map(|i| exact.scaled.reached[*i]).collect();
        Self { order, data, y }
    }

    pub fn rows<'a>(&'a self, space: &'a RowSpace<'_>) -> Rows<'a> {
        match &self.data {
            Some(data) => Rows::from_parts(data, self.order.len(), space.samples().d()),
            None => space.samples(),
        }
    }

    fn frame<'a>(&'a self, space: &'a RowSpace<'_>) -> Frame<'a> {
        let x = self.rows(space);
        Frame { basis: x, x, y: &self.y, whiten: None, digits: Digits::Thirty }
    }
}

/// The flow meets the exact projection of the targets, the refined point that of the computed one: add to the errors of
/// the residual what separates the two.
fn allow_for_projection(
    space: &RowSpace<'_>,
    exact: &Exact<'_>,
    point: &Refined,
    basic: &[usize],
    errors: &mut Errors,
) {
    let x = space.samples();
    let mut residual = vec![DoubleDouble::ZERO; x.n()];
    x.apply(&point.beta, &mut residual);
    residual.iter_mut().zip(&exact.scaled.given).for_each(|(r, y)| *r = *y - *r);
    // Rank below min(N, d) is a statement about size: where samples that depend on each other to round-off contradict each
    // other, exact arithmetic might see independent ones with another limit.
    let off = largest(&high(&residual));
    let uncertain = basic.len() < x.n().min(x.d()) && off > CONSISTENT * largest(&high(&exact.scaled.given));
    let part = if uncertain { None } else { space.reachable_part(&residual) };
    let noise = part.as_ref().map(|_| noise_of_projection(space, exact, point)).unwrap_or_default();
    for (k, (i, error)) in basic.iter().zip(&mut errors.residual).enumerate() {
        *error += match &part {
            Some((part, relative)) => (part[*i] - point.residual[k]).abs() + relative * part[*i].abs() + noise[*i],
            None => f64::INFINITY,
        };
    }
}

/// What the round-off of `XᵀW²r`, products of `N` and `d` terms with all that `r` is the difference of, does to the part
/// of `r` that can be reached.
fn noise_of_projection(space: &RowSpace<'_>, exact: &Exact<'_>, point: &Refined) -> Vec<f64> {
    let x = space.samples();
    let terms = accuracy::exact_dot_units(x.d()) + x.n() as f64 + 3.0;
    let mut size = abs_product(x, &magnitudes(&high(&point.beta)));
    let weights = space.units().row_weights();
    for ((size, y), w) in size.iter_mut().zip(&exact.scaled.given).zip(&weights) {
        *size = (*size + y.to_f64().abs()) * w * w * terms * DoubleDouble::UNIT_ROUNDOFF;
    }
    space.reachable_noise(&abs_transposed(x, &size))
}

/// A point in scaled units, with what is known of it.
struct Found<'a> {
    point: &'a Refined,
    errors: &'a Errors,
    multipliers: Vec<DoubleDouble>,
    bound: Option<Vec<f64>>,
    arrived: bool,
    systems: usize,
}

impl Found<'_> {
    fn into_limit(
        self,
        problem: &Problem<'_>,
        exact: &Exact<'_>,
        start: &Start,
        outcome: Outcome,
        options: &Options,
    ) -> Limit {
        let units = problem.space.units();
        let residual = self.residual(problem, exact);
        let mut backward_error = self.backward_error(problem, &residual);
        let mut beta = self.point.beta.clone();
        units.exact_coefficients_out(&mut beta);
        allow_for_underflow(problem.x, &high(&self.point.beta), &high(&beta), &mut backward_error);
        let mut nu = self.multipliers;
        units.exact_multipliers_out(&mut nu);
        let twice = self.point.g.iter().map(|g| *g + *g);
        let each = start.log_a.iter().zip(&start.log_b).zip(twice);
        let potential = each.fold(DoubleDouble::ZERO, |sum, ((a, b), t)| sum + divergence(*a, *b, t));
        let targets = in_users_units(problem, exact);
        // β is β(ν), unless it is beyond the largest float.
        let off = if beta.iter().all(|b| b.is_finite()) { 0.0 } else { f64::INFINITY };
        let conditions = Conditions::of_parts(&residual, &high(&targets), &high(&nu), off, off, potential.to_f64());
        let sizes = beta.iter().map(|b| b.to_f64()).chain(backward_error.iter().copied());
        let finite = sizes.chain([conditions.feasibility]).all(f64::is_finite);
        let finite = finite && !nu.iter().any(|nu| nu.to_f64().is_nan());
        let reached = self.arrived || conditions.feasibility <= options.tol;
        let end = match outcome.end {
            End::Interrupted => End::Interrupted,
            _ if finite && reached => End::Floor,
            _ => End::Exhausted,
        };
        let outward = |mut bound: Vec<f64>| {
            units.coefficients_out(&mut bound);
            // Leaving the units is exact unless it underflows.
            for b in &mut bound {
                *b = accuracy::or_infinite(*b + 2.0 * SMALLEST);
            }
            bound
        };
        // Nothing is left out of a size of which nothing is known.
        let rest = |v: &DoubleDouble| if v.is_finite() { v.low() } else { 0.0 };
        let known = |v: Vec<DoubleDouble>| -> (Vec<f64>, Vec<f64>) {
            v.iter().map(|v| (accuracy::or_infinite(v.to_f64()), rest(v))).unzip()
        };
        let ((beta, beta_low), (multipliers, multipliers_low)) = (known(beta), known(nu));
        let potential_value = if potential.is_finite() { potential.low() } else { 0.0 };
        Limit {
            beta,
            multipliers,
            error_bound: self.bound.map(outward),
            backward_error,
            status: status(exact, problem, end, conditions.feasibility, options.tol),
            conditions,
            n_iter: outcome.systems + self.systems,
            low: Some(Low { beta: beta_low, multipliers: multipliers_low, potential_value }),
        }
    }

    /// `y − Xβ` of all samples, projected `y`, in the user's units.
    fn residual(&self, problem: &Problem<'_>, exact: &Exact<'_>) -> Vec<f64> {
        let mut product = vec![DoubleDouble::ZERO; problem.space.samples().n()];
        problem.space.samples().apply(&self.point.beta, &mut product);
        problem.space.units().exact_residuals(&in_users_units(problem, exact), &product)
    }

    /// With the errors of the residual, and of `β` as they reach it.
    fn backward_error(&self, problem: &Problem<'_>, residual: &[f64]) -> Vec<f64> {
        let x = problem.space.samples();
        let terms = accuracy::exact_dot_units(x.d()) * DoubleDouble::UNIT_ROUNDOFF;
        let size = magnitudes(&high(&self.point.beta));
        let weighted: Vec<f64> = size.iter().zip(&self.errors.beta).map(|(b, e)| 2.0 * (terms * b + e)).collect();
        let mut noise = abs_product(x, &weighted);
        problem.space.units().residuals_out(&mut noise);
        let u = 2.0 * DoubleDouble::UNIT_ROUNDOFF;
        let each = |((r, e), y): ((&f64, f64), &f64)| accuracy::or_infinite(r.abs() + e + u * y.abs());
        residual.iter().zip(noise).zip(problem.y).map(each).collect()
    }
}

/// The targets that are to be met, with those that the scaled units lost.
pub(super) fn in_users_units(problem: &Problem<'_>, exact: &Exact<'_>) -> Vec<DoubleDouble> {
    if exact.scaled.reachable {
        return exact.y.to_vec();
    }
    let mut targets = exact.scaled.reached.clone();
    problem.space.units().exact_targets_out(&mut targets);
    targets
}

fn status(exact: &Exact<'_>, problem: &Problem<'_>, end: End, residual: f64, tol: f64) -> Status {
    let samples = problem.space.samples();
    match end {
        End::Interrupted => Status::Interrupted,
        End::Exhausted => Status::MaxSteps,
        End::Floor if samples.n() > samples.d() || !exact.scaled.reachable => Status::LeastSquares,
        End::Floor if residual <= tol => Status::Converged,
        End::Floor => Status::RoundoffFloor,
    }
}
