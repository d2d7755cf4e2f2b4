//! The problem in the form in which it is integrated, and the way back. Knows no integrator.
//!
//! * Columns with `A_i = B_i = 0` never move and are dropped.
//! * `X` and `y` are divided by powers of two where their size is extreme: `X = aX̂`, `y = bŷ`, `β = (b/a)β̂`, `ν = ν̂/a`,
//!   `t = τ/(ab)`, and ln κ shifts by `ln a − ln b`. Exact, and `G` is the same.
//! * `N > d`: `X = QR` and the rows of `R` with targets `Qᵀy` have the same flow, in d dimensions (`Xᵀr = Rᵀ(Qᵀr)`).
//! * y is replaced by its projection onto the range of X: the rest is orthogonal to every column, so it never moves
//!   β; ν then stays in the range too, which makes it the multiplier of least norm.

use super::problem::Problem;
use super::range::{Range, rows, surely_independent};
use super::reference::Reference;
use super::stopping::Goal;
use crate::flow::clock::{Clock, powers_of_two, times_power_of_two};
use crate::flow::monitor::Monitor;
use crate::flow::outcome::Status;
use crate::linalg::{Rows, ThinQr};
use crate::real::{DoubleDouble, Real};
use std::borrow::Cow;

/// Sizes within `2^±REASONABLE` are left alone: products of four of them neither overflow nor underflow.
const REASONABLE: i32 = 100;
/// y is out of reach if what is left of it is above this many times the rounding errors of the projection.
const PROJECTION_ERRORS: f64 = 16.0;

/// The reduced problem.
#[derive(Debug)]
pub(super) struct Prepared<'a> {
    data: Cow<'a, [f64]>,
    n: usize,
    d: usize,
    /// Projected targets (n).
    pub(super) targets: Vec<f64>,
    /// The `N` of `ν' = r/N`: samples of the original problem.
    pub(super) samples: f64,
    /// `max|y|` of the projected targets, in original rows.
    size: f64,
    /// What a converged run has come to: a fit; least squares, where part of y cannot be fitted; a saddle, where a
    /// column that never moves could fit more of it.
    end: Status,
    /// The part of y that cannot be fitted, in original rows; empty if there is none.
    rest: Vec<f64>,
    /// Its part `u` in the sum of squares.
    unreachable: Unreachable,
    columns: Option<Vec<usize>>,
    /// Exponents of the powers of two taken out of X and y.
    scale: (i32, i32),
    /// Original samples and features.
    shape: (usize, usize),
    /// Least squares in the reduced rows, and the data before the reduction, where `N > d`.
    tall: Option<(Range, Cow<'a, [f64]>)>,
}

impl<'a> Prepared<'a> {
    /// None if the caller wants to end before it is ready: on large data each factorization takes its time.
    pub(super) fn of(problem: &Problem<'a>, monitor: &dyn Monitor) -> Option<Self> {
        let (x, y) = (problem.x, problem.y);
        let scale = (extreme(x.data()), extreme(y));
        let columns = moving_columns(problem);
        let data = reduced_columns(x, columns.as_deref(), scale.0);
        let d = columns.as_ref().map_or(x.d(), Vec::len);
        let factor = power_of_two(-scale.1);
        let mut prepared = Self {
            data,
            n: x.n(),
            d,
            targets: y.iter().map(|y| y * factor).collect(),
            samples: x.n() as f64,
            size: 0.0,
            end: Status::Converged,
            rest: Vec::new(),
            unreachable: Unreachable::default(),
            columns,
            scale,
            shape: (x.n(), x.d()),
            tall: None,
        };
        prepared.size = peak(&prepared.targets);
        if prepared.size > 0.0 {
            prepared.project(x, monitor)?;
        }
        (!monitor.interrupted()).then_some(prepared)
    }

    /// The reduced data.
    pub(super) fn x(&self) -> Rows<'_> {
        rows(&self.data, self.n, self.d)
    }

    /// Where the reduced flow is going.
    pub(super) fn goal(&self, tol: f64, at_tolerance: bool) -> Goal {
        Goal { tol, size: self.size, end: self.end, rotated: self.is_rotated(), at_tolerance }
    }

    /// True if the reduced rows are not the original ones, so that their residuals are others.
    pub(super) fn is_rotated(&self) -> bool {
        self.tall.is_some()
    }

    /// The data before the reduction of `N > d` rows, where there was one.
    pub(super) fn tall(&self) -> Option<Rows<'_>> {
        self.tall.as_ref().map(|(_, data)| rows(data, self.shape.0, self.d))
    }

    /// The original targets in the units of the reduced ones.
    pub(super) fn scaled_targets(&self, y: &[f64]) -> Vec<f64> {
        let factor = power_of_two(-self.scale.1);
        y.iter().map(|y| y * factor).collect()
    }

    /// The part of the original targets that can be fitted.
    pub(super) fn reachable(&self, y: &[f64]) -> Vec<f64> {
        let factor = power_of_two(self.scale.1);
        if self.rest.is_empty() { y.to_vec() } else { y.iter().zip(&self.rest).map(|(y, u)| y - u * factor).collect() }
    }

    /// The reference at the start.
    pub(super) fn reference(&self, problem: &Problem<'_>) -> Reference {
        let shift = DoubleDouble::LN_2 * DoubleDouble::from_f64(f64::from(self.scale.0 - self.scale.1));
        let pick = |logs: &[DoubleDouble]| -> Vec<DoubleDouble> {
            self.columns.as_ref().map_or_else(|| logs.to_vec(), |kept| kept.iter().map(|i| logs[*i]).collect())
        };
        Reference::new(&pick(&problem.start.log_a), &pick(&problem.start.log_b), shift, self.n)
    }

    /// From times of the original problem, in the caller's `unit`, to those of the reduced one.
    pub(super) fn clock(&self, unit: f64) -> Clock {
        Clock::new(unit, self.scale.0 + self.scale.1)
    }

    /// `ln` of the factor from coefficients of the original problem to those of the reduced one.
    pub(super) fn log_unit(&self) -> f64 {
        f64::from(self.scale.0 - self.scale.1) * core::f64::consts::LN_2
    }

    /// A residual of the reduced problem in the units of y.
    pub(super) fn in_units_of_y(&self, residual: f64) -> f64 {
        residual * power_of_two(self.scale.1)
    }

    /// `Σ r² / (2N)` in the units of y, from β and the residual of the reduced problem.
    pub(super) fn loss(&self, beta: &[f64], residual: &[f64]) -> f64 {
        let reachable = residual.iter().map(|r| r * r).sum::<f64>();
        let reduced = (reachable + self.unreachable.beside(beta)).max(0.0) / (2.0 * self.samples);
        times_power_of_two(reduced, 2 * self.scale.1)
    }

    /// A vector over the moving columns, spread over all (0 elsewhere).
    pub(super) fn all_columns(&self, moving: &[f64], out: &mut [f64]) {
        match &self.columns {
            None => out.copy_from_slice(moving),
            Some(kept) => {
                out.fill(0.0);
                kept.iter().zip(moving).for_each(|(i, value)| out[*i] = *value);
            }
        }
    }

    /// β in the units of the original problem, over all columns.
    pub(super) fn predictor(&self, beta: &[f64], out: &mut [f64]) {
        self.all_columns(beta, out);
        let (first, second) = powers_of_two(self.scale.1 - self.scale.0);
        for beta in out.iter_mut() {
            *beta = *beta * first * second;
        }
    }

    /// True if a predictor of the reduced problem is one of finite numbers in the units of the original one.
    pub(super) fn holds(&self, beta: &[f64]) -> bool {
        let (first, second) = powers_of_two(self.scale.1 - self.scale.0);
        beta.iter().all(|beta| (*beta * first * second).is_finite())
    }

    /// The N multipliers of the original problem and their low parts.
    pub(super) fn multipliers(&self, nu: &[DoubleDouble], high: &mut [f64], low: &mut [f64]) {
        let factor = power_of_two(-self.scale.0);
        match &self.tall {
            None => {
                for ((nu, high), low) in nu.iter().zip(high).zip(low) {
                    (*high, *low) = (nu.to_f64() * factor, nu.low() * factor);
                }
            }
            Some((range, data)) => {
                // ν = X c with R c = w: in the range of X, hence of least norm.
                let w: Vec<f64> = nu.iter().map(|nu| nu.to_f64()).collect();
                let mut c = vec![0.0; self.d];
                range.solve(&w, &mut c);
                rows(data, self.shape.0, self.d).apply(&c, high);
                for nu in high.iter_mut() {
                    *nu *= factor;
                }
                low.fill(0.0);
            }
        }
    }

    /// Reduce `N > d` rows to `d`, and the targets to what can be fitted. None if the caller wants to end.
    fn project(&mut self, full: Rows<'_>, monitor: &dyn Monitor) -> Option<()> {
        let patient = || (!monitor.interrupted()).then_some(());
        let (n, d) = (self.n, self.d);
        if n <= d && surely_independent(self.x()) {
            return Some(());
        }
        patient()?;
        let y = self.targets.clone();
        let original = if n > d && d > 0 {
            let qr = ThinQr::of(self.x());
            patient()?;
            self.targets = qr.apply_qt(&y);
            self.n = d;
            Some(core::mem::replace(&mut self.data, Cow::Owned(qr.r_rows().data().to_vec())))
        } else {
            None
        };
        let range = Range::of(self.x());
        patient()?;
        let mut fitted = vec![0.0; d];
        range.solve(&self.targets, &mut fitted);
        let rest = LeftOver::of(rows(original.as_deref().unwrap_or(&self.data), n, d), &y, &fitted);
        self.size = rest.fitted;
        if peak(&rest.u) > rest.errors {
            self.unreachable = Unreachable::of(rows(original.as_deref().unwrap_or(&self.data), n, d), &y, &rest.u);
            let stuck = self.columns.is_some() && rest.could_be_fitted(full, power_of_two(-self.scale.0));
            self.end = if stuck { Status::Saddle } else { Status::LeastSquares };
            self.rest = rest.u;
        }
        let mut targets = core::mem::take(&mut self.targets);
        self.x().apply(&fitted, &mut targets);
        self.targets = targets;
        self.tall = original.map(|data| (range, data));
        Some(())
    }
}

/// What `u`, the part of y that is left out of the reduced targets, adds to `Σr²`: `u² + 2uᵀ(y − u − Xβ)`. The second
/// term is 0 but for the directions of X that are left out as well, because they are below its rounding: small to X, and
/// perhaps not to y.
#[derive(Debug, Default)]
struct Unreachable {
    squares: f64,
    /// `uᵀ(y − u)`.
    along: f64,
    /// `Xᵀu`; empty if nothing is left out.
    gradient: Vec<f64>,
}

impl Unreachable {
    fn of(x: Rows<'_>, y: &[f64], u: &[f64]) -> Self {
        let mut gradient = vec![0.0; x.d()];
        x.apply_transposed(u, &mut gradient);
        let along = u.iter().zip(y).map(|(u, y)| u * (y - u)).sum();
        Self { squares: u.iter().map(|u| u * u).sum(), along, gradient }
    }

    fn beside(&self, beta: &[f64]) -> f64 {
        self.squares + 2.0 * (self.along - f64::dot(&self.gradient, &beta[..self.gradient.len()]))
    }
}

/// What least squares leaves of y.
struct LeftOver {
    u: Vec<f64>,
    /// `max|Xβ|`.
    fitted: f64,
    /// Rounding errors of `u`.
    errors: f64,
}

impl LeftOver {
    fn of(x: Rows<'_>, y: &[f64], beta: &[f64]) -> Self {
        let (n, d) = (x.n(), x.d());
        let magnitudes: Vec<f64> = beta.iter().map(|beta| beta.abs()).collect();
        let (mut fitted, mut bound) = (vec![0.0; n], vec![0.0; n]);
        x.apply(beta, &mut fitted);
        x.apply_abs(&magnitudes, &mut bound);
        let errors = PROJECTION_ERRORS * n.max(d) as f64 * f64::EPSILON * (peak(&bound) + peak(y));
        let u = y.iter().zip(&fitted).map(|(y, fitted)| y - fitted).collect();
        Self { u, fitted: peak(&fitted), errors }
    }

    /// True if some column of `x` is not orthogonal to it: those that move are, by least squares.
    fn could_be_fitted(&self, x: Rows<'_>, factor: f64) -> bool {
        let mut gradient = vec![0.0; x.d()];
        let mut sizes = vec![0.0; x.d()];
        x.apply_transposed(&self.u, &mut gradient);
        x.apply_transposed_abs(&vec![1.0; x.n()], &mut sizes);
        gradient.iter().zip(&sizes).any(|(g, size)| (g * factor).abs() > self.errors * (size * factor))
    }
}

/// The columns that move, if some do not.
fn moving_columns(problem: &Problem<'_>) -> Option<Vec<usize>> {
    let stuck = |i: usize| {
        let (a, b) = (problem.start.log_a[i].to_f64(), problem.start.log_b[i].to_f64());
        a == f64::NEG_INFINITY && b == f64::NEG_INFINITY
    };
    let d = problem.x.d();
    (0..d).any(stuck).then(|| (0..d).filter(|i| !stuck(*i)).collect())
}

/// The data divided by `2^exponent`, stuck columns dropped; borrowed where that changes nothing.
fn reduced_columns<'a>(x: Rows<'a>, kept: Option<&[usize]>, exponent: i32) -> Cow<'a, [f64]> {
    let factor = power_of_two(-exponent);
    match kept {
        None if exponent == 0 => Cow::Borrowed(x.data()),
        None => x.data().iter().map(|x| x * factor).collect(),
        Some(kept) => (0..x.n()).flat_map(|n| kept.iter().map(move |i| x.row(n)[*i] * factor)).collect(),
    }
}

/// `max|v|`.
pub(super) fn peak(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |peak: f64, v| peak.max(v.abs()))
}

/// Binary exponent of `max|v|`, or 0 where it is reasonable.
fn extreme(v: &[f64]) -> i32 {
    let peak = peak(v);
    if peak == 0.0 {
        return 0;
    }
    // At most ±1074, so the cast is exact.
    #[allow(clippy::cast_possible_truncation)]
    let exponent = peak.log2().floor() as i32;
    // Half of what binary64 has, so that a power of two of either sign is a normal number.
    if exponent.abs() > REASONABLE { exponent.clamp(-1022, 1022) } else { 0 }
}

fn power_of_two(exponent: i32) -> f64 {
    2.0_f64.powi(exponent)
}
