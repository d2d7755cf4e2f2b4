//! The optimality conditions at a β of thirty digits from elsewhere.

use crate::linalg::{Cholesky, Rows, WeightedGram};
use crate::potential::Start;
use crate::real::{DoubleDouble, Real};

use super::super::accuracy::{self, abs_product, magnitudes};
use super::super::dual::largest;
use super::super::exponents::Exponents;
use super::super::kkt::{Conditions, Report, fit, size_or_one};
use super::super::solve::Workspace;
use super::super::{Limit, Options, Problem, solve_one};
use super::finish::{Basic, in_users_units};
use super::potential::divergence;
use super::{Exact, high};
use crate::limit::row_space::RowSpace;

/// Rounds of refinement at most.
const ROUNDS: usize = 40;

/// As [`super::super::check`], to thirty digits.
#[must_use]
pub fn check(
    x: Rows<'_>,
    y: &[DoubleDouble],
    start: &Start,
    beta: &[DoubleDouble],
    interrupted: &dyn Fn() -> bool,
) -> Report {
    let rounded = high(y);
    let space = RowSpace::of(x, &rounded);
    let exact = Exact::of(&space, y);
    let problem = Problem { space: &space, x, y: &rounded, exact: Some(&exact) };
    let exponents = Exponents::of(start, space.units().unit);
    let mut scaled = beta.to_vec();
    space.units().exact_coefficients_in(&mut scaled);
    let near = fit(&space, &exponents, &high(&scaled));
    let warm = near.iter().all(|v| v.is_finite()).then_some(near.as_slice());
    let limit = solve_one(&problem, &mut Workspace::new(&space), start, &Options::default(), warm, interrupted);
    let basic = Basic::of(&space, &exact);
    let fitted = Fitted::of(basic.rows(&space), &exponents, &scaled);
    let mut multipliers = vec![DoubleDouble::ZERO; x.n()];
    basic.order.iter().zip(&fitted.nu).for_each(|(i, nu)| multipliers[*i] = *nu);
    space.exact_least_multipliers(&mut multipliers);
    space.units().exact_multipliers_out(&mut multipliers);
    let targets = in_users_units(&problem, &exact);
    let mut product = vec![DoubleDouble::ZERO; x.n()];
    space.samples().apply(&scaled, &mut product);
    let residual = space.units().exact_residuals(&targets, &product);
    let (potential, towards) = fitted.divergences(start);
    let off = scaled.iter().zip(&fitted.there).map(|(b, there)| (*b - *there).to_f64());
    let off = off.fold(0.0, |m, off| f64::max(m, accuracy::or_infinite(off.abs())));
    let stationarity = off / size_or_one(largest(&high(&scaled)));
    Report {
        conditions: Conditions::of_parts(
            &residual,
            &high(&targets),
            &high(&multipliers),
            stationarity,
            towards,
            potential,
        ),
        error_bound: distance_bound(beta, &limit),
        backward_error: with_noise(&problem, &scaled, &residual),
        multipliers_low: Some(multipliers.iter().map(|nu| if nu.is_finite() { nu.low() } else { 0.0 }).collect()),
        multipliers: high(&multipliers).into_iter().map(accuracy::or_infinite).collect(),
        limit,
    }
}

/// Multipliers of the basic samples that fit `∇Q(β) = Xᵀν` best, `min Σ S_i (∇Q(β)_i − x_iᵀν)²`, and what they stand for.
struct Fitted {
    nu: Vec<DoubleDouble>,
    /// `2G` of β; `None` where no `G` has it.
    twice: Vec<Option<DoubleDouble>>,
    /// `2Xᵀν` and `β(ν)`.
    twice_there: Vec<DoubleDouble>,
    there: Vec<DoubleDouble>,
}

impl Fitted {
    fn of(x: Rows<'_>, start: &Exponents, beta: &[DoubleDouble]) -> Self {
        let twice: Vec<_> = beta.iter().enumerate().map(|(i, b)| start.invert_exactly(i, *b)).collect();
        // A coefficient that says nothing about its gradient gets no weight.
        let weight: Vec<f64> = (0..beta.len())
            .map(|i| match (twice[i], start.invert(i, beta[i].to_f64())) {
                (Some(twice), Some((_, slope))) if twice.is_finite() => slope,
                _ => 0.0,
            })
            .collect();
        let nu = fit_exactly(x, &twice, &weight);
        let mut g = vec![DoubleDouble::ZERO; x.d()];
        x.apply_transposed(&nu, &mut g);
        let (mut there, mut slope) = (g.clone(), weight);
        start.evaluate_exactly(&g, 0.0, &mut there, &mut slope);
        Self { nu, twice, twice_there: g.iter().map(|g| *g + *g).collect(), there }
    }

    /// `D_Q(β, β(0))` and `D_Q(β, β(ν))`.
    fn divergences(&self, start: &Start) -> (f64, f64) {
        let (mut from_start, mut towards) = (DoubleDouble::ZERO, DoubleDouble::ZERO);
        let sides = start.log_a.iter().zip(&start.log_b);
        for ((twice, there), (a, b)) in self.twice.iter().zip(&self.twice_there).zip(sides) {
            let Some(twice) = *twice else { return (f64::INFINITY, f64::INFINITY) };
            from_start += divergence(*a, *b, twice);
            towards += divergence(*a + *there, *b - *there, twice - *there);
        }
        (from_start.to_f64(), towards.to_f64())
    }
}

/// Weighted least squares, refined: `XS(G − Xᵀν) = 0` with the left-hand side in double-double.
fn fit_exactly(x: Rows<'_>, twice: &[Option<DoubleDouble>], weight: &[f64]) -> Vec<DoubleDouble> {
    let mut nu = vec![DoubleDouble::ZERO; x.n()];
    let mut cholesky = Cholesky::new(x.n());
    if cholesky.factor_scaled(&WeightedGram::of(x, weight)) != Some(0.0) && !cholesky.factor_by_qr(x, weight) {
        let lifted = 1e-14 * largest(weight);
        let weight: Vec<f64> = weight.iter().map(|w| w + lifted).collect();
        if cholesky.factor_scaled(&WeightedGram::of(x, &weight)).is_none() {
            return nu;
        }
    }
    let (mut left, mut product) = (vec![DoubleDouble::ZERO; x.d()], nu.clone());
    let mut before = f64::INFINITY;
    for _ in 0..ROUNDS {
        x.apply_transposed(&nu, &mut left);
        for ((left, twice), weight) in left.iter_mut().zip(twice).zip(weight) {
            *left = match twice {
                Some(twice) if *weight > 0.0 => (twice.mul_f64(0.5) - *left).mul_f64(*weight),
                _ => DoubleDouble::ZERO,
            };
        }
        x.apply(&left, &mut product);
        let mut step = high(&product);
        cholesky.solve(&mut step);
        let size = largest(&step);
        if !(size < 0.5 * before) || size == 0.0 {
            break;
        }
        before = size;
        nu.iter_mut().zip(&step).for_each(|(nu, step)| *nu = nu.add_f64(*step));
    }
    nu
}

/// A proven bound of `|β(∞) − β|` from a certified limit: the triangle inequality, rounded outward.
fn distance_bound(beta: &[DoubleDouble], limit: &Limit) -> Vec<f64> {
    let outward = 1.0 + 8.0 * f64::UNIT_ROUNDOFF;
    let known = limit.error_bound.as_deref().unwrap_or(&[]);
    let bound = known.iter().copied().chain(core::iter::repeat(f64::INFINITY));
    let rest = limit.low.as_ref().map_or(&[][..], |low| &low.beta).iter().copied().chain(core::iter::repeat(0.0));
    let each = |(((b, high), low), bound): (((&DoubleDouble, &f64), f64), f64)| {
        let off = (*b - DoubleDouble::from_parts(*high, low)).to_f64().abs();
        accuracy::or_infinite(outward * (off + bound))
    };
    beta.iter().zip(&limit.beta).zip(rest).zip(bound).map(each).collect()
}

/// `|y − Xβ|` with its round-off, in the user's units.
fn with_noise(problem: &Problem<'_>, beta: &[DoubleDouble], residual: &[f64]) -> Vec<f64> {
    let x = problem.space.samples();
    let u = DoubleDouble::UNIT_ROUNDOFF;
    let mut noise = abs_product(x, &magnitudes(&high(beta)));
    for e in &mut noise {
        *e *= (accuracy::exact_dot_units(x.d()) + 2.0) * u;
    }
    problem.space.units().residuals_out(&mut noise);
    let each = |((r, e), y): ((&f64, f64), &f64)| accuracy::or_infinite(r.abs() + e + 2.0 * u * y.abs());
    residual.iter().zip(noise).zip(problem.y).map(each).collect()
}
