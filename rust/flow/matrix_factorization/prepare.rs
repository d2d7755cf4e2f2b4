//! The problem in the form in which it is integrated, and the way back. Knows no integrator.
//!
//! Units are powers of two, as for fully connected networks: M is of degree 2 in the factors, as β is there in the weights.

use super::factors::Factors;
use super::modes::Modes;
use super::problem::Problem;
use crate::flow::fully_connected::units::{Units, exponent, multiply_by_power, peak, times_power};
use crate::flow::outcome::Status;
use crate::flow::recorder::Shown;
use crate::linalg::{Rows, ThinSvd};

/// y is out of reach if what is left of it is above this many times N roundings of its largest entry.
const PROJECTION_ERRORS: f64 = 16.0;

/// The problem in its modes and units.
#[derive(Debug)]
pub(super) struct Prepared {
    svd: ThinSvd,
    pub(super) modes: Modes,
    pub(super) factors: Factors,
    pub(super) units: Units,
    /// The start as numbers of the run: 0 where they underflow.
    pub(super) start: Vec<f64>,
    /// The part of y that no M reaches, N; empty if there is none.
    rest: Vec<f64>,
    /// `max|y|` of what can be fitted.
    pub(super) size: f64,
    /// What a converged run has come to.
    pub(super) end: Status,
}

impl Prepared {
    pub(super) fn of(problem: &Problem<'_>) -> Self {
        let (x, y, factors) = (problem.x, problem.y, problem.factors);
        let largest = peak(problem.z);
        let own = exponent(largest).clamp(-1000, 1000);
        let log_own = f64::from(own) * core::f64::consts::LN_2;
        let units = Units::of(peak(x.data()), peak(y), problem.log_magnitude + log_own);
        let seen = if factors.symmetric { symmetrized(x, factors.d1) } else { x.data().to_vec() };
        let svd = ThinSvd::of(Rows::from_parts(&seen, x.n(), x.d()), times_power(1.0, units.data));
        let factor = (problem.log_magnitude + f64::from(own - units.weights) * core::f64::consts::LN_2).exp();
        let start = problem.z.iter().map(|z| times_power(*z, -own) * factor).collect();
        let scaled: Vec<f64> = y.iter().map(|y| times_power(*y, -units.targets())).collect();
        let (targets, rest) = project(&svd, &scaled);
        let modes = Modes::new(&svd, targets, x.n());
        let mut fitted = vec![0.0; x.n()];
        svd.u_rows().apply_transposed(&modes.targets, &mut fitted);
        Self {
            end: if rest.is_empty() { Status::Converged } else { Status::LeastSquares },
            size: peak(&fitted),
            svd,
            modes,
            factors,
            units,
            start,
            rest,
        }
    }

    /// `max|r|` in units of y, r without the part of y that cannot be fitted, of a residual in modes.
    pub(super) fn largest(&self, modes: &[f64]) -> f64 {
        let mut r = vec![0.0; self.svd.u_rows().d()];
        self.svd.u_rows().apply_transposed(modes, &mut r);
        peak(&r)
    }

    /// A residual of the run in the units of y.
    pub(super) fn in_units_of_y(&self, residual: f64) -> f64 {
        times_power(residual, self.units.targets())
    }

    /// y without the part that cannot be fitted, in its own units.
    pub(super) fn reachable(&self, y: &[f64]) -> Vec<f64> {
        if self.rest.is_empty() {
            return y.to_vec();
        }
        y.iter().zip(&self.rest).map(|(y, rest)| y - self.in_units_of_y(*rest)).collect()
    }
}

/// `(X_n + X_nᵀ)/2`: a symmetric M sees no more of an observation.
fn symmetrized(x: Rows<'_>, d: usize) -> Vec<f64> {
    let mut out = Vec::with_capacity(x.data().len());
    for n in 0..x.n() {
        let row = x.row(n);
        // Halves first: a sum of two large numbers might overflow.
        out.extend((0..d * d).map(|e| 0.5 * row[e] + 0.5 * row[e % d * d + e / d]));
    }
    out
}

/// `Uᵀy`, corrected once, and what is left of y if it is more than rounding.
fn project(svd: &ThinSvd, y: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (u, n) = (svd.u_rows(), y.len());
    let (mut targets, mut more, mut part) = (vec![0.0; svd.rank()], vec![0.0; svd.rank()], vec![0.0; n]);
    let mut rest = y.to_vec();
    for _ in 0..2 {
        if svd.rank() > 0 {
            u.apply(&rest, &mut more);
            u.apply_transposed(&more, &mut part);
            targets.iter_mut().zip(&more).for_each(|(t, more)| *t += more);
            rest.iter_mut().zip(&part).for_each(|(rest, part)| *rest -= part);
        }
    }
    let errors = PROJECTION_ERRORS * n as f64 * f64::EPSILON * peak(y);
    if svd.rank() == n || peak(&rest) <= errors { (targets, Vec::new()) } else { (targets, rest) }
}

/// A row of a run of the factors.
pub(super) struct LiftedRows<'p> {
    pub(super) prepared: &'p Prepared,
}

impl Shown for LiftedRows<'_> {
    fn show(&mut self, states: &[f64], beta: &mut [f64], residual: &mut [f64]) {
        let Prepared { svd, modes, factors, rest, units, .. } = self.prepared;
        let (features, samples) = (factors.features(), svd.u_rows().d());
        let (mut m, mut r) = (vec![0.0; features], vec![0.0; modes.rank()]);
        for (k, state) in states.chunks_exact(factors.dim()).enumerate() {
            factors.product(state, &mut m);
            let out = &mut residual[k * samples..(k + 1) * samples];
            out.fill(0.0);
            if modes.rank() > 0 {
                modes.residual(&m, &mut r);
                svd.u_rows().apply_transposed(&r, out);
            }
            out.iter_mut().zip(rest).for_each(|(r, rest)| *r += rest);
            if !beta.is_empty() {
                beta[k * features..(k + 1) * features].copy_from_slice(&m);
            }
        }
        multiply_by_power(beta, units.predictor());
        multiply_by_power(residual, units.targets());
    }

    fn largest(&mut self, _beta: &[f64], residual: &[f64]) -> f64 {
        let Prepared { rest, .. } = self.prepared;
        if rest.is_empty() {
            return peak(residual);
        }
        let fitted = residual.iter().zip(rest).map(|(r, rest)| (r - self.prepared.in_units_of_y(*rest)).abs());
        fitted.fold(0.0, f64::max)
    }

    /// Of a factorization no theorem gives a Q along the way.
    fn potential(&mut self, _beta: &[f64]) -> f64 {
        f64::NAN
    }
}
