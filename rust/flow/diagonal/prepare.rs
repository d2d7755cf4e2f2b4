//! The problem in the form in which it is integrated, and the way back. Knows no integrator.
//!
//! * Columns with `A_i = B_i = 0` never move and are dropped.
//! * `X` and `y` are divided by powers of two where their size is extreme: `X = aX̂`, `y = bŷ`, `β = (b/a)β̂`, `ν = ν̂/a`,
//!   `t = τ/(ab)`, and ln κ shifts by `ln a − ln b`. Exact, and `G` is the same.
//! * `N > d`: `X = QR` and the rows of `R` with targets `Qᵀy` have the same flow, in d dimensions (`Xᵀr = Rᵀ(Qᵀr)`).
//! * y is replaced by its projection onto the range of X: the rest is orthogonal to every column, so it never moves
//!   β; ν then stays in the range too, which makes it the multiplier of least norm.

use super::left_over::{LeftOver, Unreachable, sum_of_squares};
use super::number::Number;
use super::problem::{Origin, Problem};
use super::range::{Range, rows, surely_independent};
use super::reference::Reference;
use super::stopping::Goal;
use crate::flow::clock::{Clock, powers_of_two, times_power_of_two};
use crate::flow::monitor::Monitor;
use crate::flow::outcome::Status;
use crate::linalg::{Rows, RowwiseQr};
use crate::real::{DoubleDouble, Real};
use std::borrow::Cow;

/// Sizes within `2^±REASONABLE` are left alone: products of four of them neither overflow nor underflow.
const REASONABLE: i32 = 100;

/// The reduced problem.
#[derive(Debug)]
pub(super) struct Prepared<'a, R = f64> {
    data: Cow<'a, [f64]>,
    n: usize,
    d: usize,
    /// Projected targets (n).
    pub(super) targets: Vec<R>,
    /// The `N` of `ν' = r/N`: samples of the original problem.
    pub(super) samples: f64,
    /// `max|y|` of the projected targets, in original rows.
    size: f64,
    /// What a converged run has come to: a fit; least squares, where part of y cannot be fitted; a saddle, where a
    /// column that never moves could fit more of it.
    end: Status,
    /// The part of y that cannot be fitted, in original rows; empty if there is none.
    rest: Vec<R>,
    /// Its part `u` in the sum of squares.
    unreachable: Unreachable<R>,
    columns: Option<Vec<usize>>,
    /// Exponents of the powers of two taken out of X and y.
    scale: (i32, i32),
    /// Original samples and features.
    shape: (usize, usize),
    /// Least squares in the reduced rows, and the data before the reduction, where `N > d`.
    tall: Option<(Range, Cow<'a, [f64]>)>,
    /// What the residual is measured in where rows or columns are dependent, and are not reduced.
    dependent: Option<Range>,
}

impl<'a, R: Number> Prepared<'a, R> {
    /// None if the caller wants to end before it is ready: on large data each factorization takes its time.
    pub(super) fn of(problem: &Problem<'a>, monitor: &dyn Monitor) -> Option<Self> {
        let (x, y) = (problem.x, R::targets(problem));
        let scale = (extreme(x.data()), extreme(problem.y));
        let columns = moving_columns(problem);
        let data = reduced_columns(x, columns.as_deref(), scale.0);
        let d = columns.as_ref().map_or(x.d(), Vec::len);
        let factor = R::from_f64(power_of_two(-scale.1));
        let mut prepared = Self {
            data,
            n: x.n(),
            d,
            targets: y.iter().map(|y| *y * factor).collect(),
            samples: x.n() as f64,
            size: 0.0,
            end: Status::Converged,
            rest: Vec::new(),
            unreachable: Unreachable::nothing(),
            columns,
            scale,
            shape: (x.n(), x.d()),
            tall: None,
            dependent: None,
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

    /// The range of X where its rank is below both of its dimensions, in numbers that tell the rest of the residual from 0: it
    /// is that of directions in which binary64 data are 0 to their last place, and takes 10^32 time scales to go.
    pub(super) fn dependent(&self) -> Option<&Range> {
        self.dependent.as_ref()
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
    pub(super) fn reachable(&self, problem: &Problem<'_>) -> Vec<R> {
        let (y, factor) = (R::targets(problem), R::from_f64(power_of_two(self.scale.1)));
        if self.rest.is_empty() { y } else { y.iter().zip(&self.rest).map(|(y, u)| *y - *u * factor).collect() }
    }

    /// The reference at the start.
    pub(super) fn reference(&self, problem: &Problem<'_>) -> Reference {
        let shift = DoubleDouble::LN_2 * DoubleDouble::from_f64(f64::from(self.scale.0 - self.scale.1));
        let pick = |logs: &[DoubleDouble]| -> Vec<DoubleDouble> {
            self.columns.as_ref().map_or_else(|| logs.to_vec(), |kept| kept.iter().map(|i| logs[*i]).collect())
        };
        match problem.start {
            Origin::Untied(start) => Reference::new(&pick(&start.log_a), &pick(&start.log_b), shift, self.n),
            Origin::Tied(start) => Reference::of_powers(start.depth, &start.log_start, shift, self.n),
        }
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
    pub(super) fn in_units_of_y<S: Real>(&self, residual: S) -> S {
        residual * S::from_f64(power_of_two(self.scale.1))
    }

    /// `Σ r² / (2N)` in the units of y, from β and the residual of the reduced problem.
    pub(super) fn loss(&self, beta: &[R], residual: &[R]) -> R {
        let squares = sum_of_squares(residual) + self.unreachable.beside(beta);
        // Not `squares < 0`: what is not a number is none.
        let squares = if squares > R::ZERO { squares } else { R::ZERO };
        scaled(squares / R::from_f64(2.0 * self.samples), 2 * self.scale.1)
    }

    /// A divergence of the reduced problem, which goes as its coefficients, in the units of the original one.
    pub(super) fn divergence(&self, reduced: R) -> R {
        scaled(reduced, self.scale.1 - self.scale.0)
    }

    /// A vector over the moving columns, spread over all (0 elsewhere).
    pub(super) fn all_columns<S: Real>(&self, moving: &[S], out: &mut [S]) {
        match &self.columns {
            None => out.copy_from_slice(moving),
            Some(kept) => {
                out.fill(S::ZERO);
                kept.iter().zip(moving).for_each(|(i, value)| out[*i] = *value);
            }
        }
    }

    /// β in the units of the original problem, over all columns.
    pub(super) fn predictor(&self, beta: &[R], out: &mut [R]) {
        self.all_columns(beta, out);
        let (first, second) = powers_of_two(self.scale.1 - self.scale.0);
        let (first, second) = (R::from_f64(first), R::from_f64(second));
        for beta in out.iter_mut() {
            *beta = *beta * first * second;
        }
    }

    /// The way back: the moving columns of a predictor of the original problem, in the units of the reduced one.
    pub(super) fn reduced(&self, beta: &[R]) -> Vec<R> {
        let (first, second) = powers_of_two(self.scale.0 - self.scale.1);
        let (first, second) = (R::from_f64(first), R::from_f64(second));
        let each = |beta: &R| *beta * first * second;
        self.columns
            .as_ref()
            .map_or_else(|| beta.iter().map(each).collect(), |kept| kept.iter().map(|i| each(&beta[*i])).collect())
    }

    /// True if a predictor of the reduced problem is one of finite numbers in the units of the original one.
    pub(super) fn holds(&self, beta: &[R]) -> bool {
        let (first, second) = powers_of_two(self.scale.1 - self.scale.0);
        beta.iter().all(|beta| (beta.to_f64() * first * second).is_finite())
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
        let original = if R::REDUCES_ROWS && n > d && d > 0 {
            let qr = RowwiseQr::of(self.x());
            patient()?;
            self.targets = R::rotated(&qr, &y);
            self.n = d;
            Some(core::mem::replace(&mut self.data, Cow::Owned(qr.r_rows().data().to_vec())))
        } else {
            None
        };
        let range = Range::of(self.x());
        patient()?;
        let mut fitted = vec![R::ZERO; d];
        R::least_squares(&range, self.x(), &self.targets, &mut fitted);
        let samples = rows(original.as_deref().unwrap_or(&self.data), n, d);
        let rest = LeftOver::of(samples, &y, &fitted);
        self.size = rest.fitted;
        // Where the reduced rows are independent every target of theirs can be fitted. Fitted ones would carry the
        // rounding of |X||β|, which next to dependent rows is many times y.
        let independent = range.rank() == self.n;
        if peak(&rest.u) > rest.errors {
            // So is what independent columns leave over: it is orthogonal to all of them.
            let orthogonal = independent || range.rank() == d;
            self.unreachable =
                if orthogonal { Unreachable::beyond(&rest.u) } else { Unreachable::of(samples, &y, &rest.u) };
            let stuck = self.columns.is_some() && rest.could_be_fitted(full, power_of_two(-self.scale.0));
            self.end = if stuck { Status::Saddle } else { Status::LeastSquares };
            self.rest = rest.u;
        }
        if !independent {
            let mut targets = core::mem::take(&mut self.targets);
            self.x().apply(&fitted, &mut targets);
            self.targets = targets;
        }
        match original {
            Some(data) => self.tall = Some((range, data)),
            None if !R::REDUCES_ROWS && range.rank() < n.min(d) => self.dependent = Some(range),
            None => {}
        }
        Some(())
    }
}

/// The columns that move, if some do not.
fn moving_columns(problem: &Problem<'_>) -> Option<Vec<usize>> {
    let d = problem.x.d();
    let all = (0..d).all(|i| problem.start.moves(i));
    (!all).then(|| (0..d).filter(|i| problem.start.moves(*i)).collect())
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
pub(super) fn peak<R: Real>(v: &[R]) -> f64 {
    v.iter().fold(0.0, |peak: f64, v| peak.max(v.to_f64().abs()))
}

fn scaled<R: Real>(value: R, exponent: i32) -> R {
    R::from_parts(times_power_of_two(value.to_f64(), exponent), times_power_of_two(value.low(), exponent))
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
