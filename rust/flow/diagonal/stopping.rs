//! Is the flow where it is going? Judged by the residual, never by the loss, nor by slowness: a plateau is no end.
//!
//! In dual coordinates β is stationary for Q by construction, so that a small residual is the whole of the KKT
//! conditions. The one other end is that of one-sided coordinates (`A_i = 0` or `B_i = 0`), whose `β_i` keeps its sign: the
//! least-squares point among these signs, which satisfies `g_i = 0` where `β_i` moves and `g_i` pushes outward where it has
//! gone to 0.

use super::prepare::peak;
use super::range::Range;
use crate::flow::outcome::Status;
use crate::linalg::Rows;
use crate::real::Real;

/// Rounding errors of `y − Xβ` in ulps of `|X||β| + |y|` (THEORY §1; the exponents are re-based and add nothing).
const FLOOR: f64 = 4.0;
/// Gradients below this many ulps of their terms are 0, whatever the tolerance.
const GRADIENT_FLOOR: f64 = 64.0;

/// What a problem says about its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goal {
    /// Converged where `max|r| ≤ tol · size`.
    pub(super) tol: f64,
    /// `max|y|` of what can be fitted.
    pub(super) size: f64,
    /// What a converged run has come to: a fit, least squares, or a saddle.
    pub(super) end: Status,
    /// Rows were rotated: `‖r‖₂` bounds the largest residual of an original row.
    pub(super) rotated: bool,
    /// False: stop only where nothing can move any more.
    pub(super) at_tolerance: bool,
}

/// When to stop.
#[derive(Clone, Debug)]
pub(super) struct Stopping<'p, R = f64> {
    x: Rows<'p>,
    y: &'p [R],
    goal: Goal,
    /// What a residual is measured in, if not all of it counts.
    range: Option<&'p Range>,
    /// Whether `β_i` can rise and fall; empty if all can do both.
    sides: Vec<(bool, bool)>,
    row_norms: Vec<f64>,
    column_norms: Vec<f64>,
    /// Workspace over columns and rows.
    gradient: Vec<R>,
    columns: Vec<f64>,
    rows: Vec<f64>,
}

impl<'p, R: Real> Stopping<'p, R> {
    /// Last place of the numbers.
    const ULP: f64 = 2.0 * R::UNIT_ROUNDOFF;

    /// For data, the targets that can be fitted, and what each coordinate can do.
    pub(super) fn new(x: Rows<'p>, y: &'p [R], goal: Goal, sides: Vec<(bool, bool)>) -> Self {
        let (n, d) = (x.n(), x.d());
        let mut column_norms = vec![0.0; d];
        for i in 0..n {
            column_norms.iter_mut().zip(x.row(i)).for_each(|(sum, x)| *sum += x * x);
        }
        for sum in &mut column_norms {
            *sum = sum.sqrt();
        }
        Self {
            x,
            y,
            goal,
            range: None,
            sides: if sides.iter().all(|sides| *sides == (true, true)) { Vec::new() } else { sides },
            row_norms: (0..n).map(|i| norm(x.row(i))).collect(),
            column_norms,
            gradient: vec![R::ZERO; d],
            columns: vec![0.0; d],
            rows: vec![0.0; n],
        }
    }

    /// Only what lies within `range` counts.
    pub(super) fn within(self, range: Option<&'p Range>) -> Self {
        Self { range, ..self }
    }

    /// Where it stops.
    pub(super) fn goal(&self) -> Goal {
        self.goal
    }

    /// Why to stop at β with residual `y − Xβ`, if at all; β carries so many times the rounding of its exponents.
    pub(super) fn judge(&mut self, beta: &[R], residual: &[R], amplified: f64) -> Option<Status> {
        let seen = self.range.map(|range| {
            let rounded: Vec<f64> = residual.iter().map(|r| r.to_f64()).collect();
            range.size_within(&rounded)
        });
        let largest = seen.unwrap_or_else(|| if self.goal.rotated { norm(residual) } else { peak(residual) });
        let converged = largest <= self.goal.tol * self.goal.size;
        if converged && self.goal.at_tolerance
            || self.at_floor(beta, seen.unwrap_or_else(|| peak(residual)) / amplified)
        {
            return Some(if converged { self.goal.end } else { Status::RoundoffFloor });
        }
        (!self.sides.is_empty() && self.at_signs(beta, residual)).then_some(Status::InfeasibleSign)
    }

    /// The residual is as small as the rounding errors of its own evaluation.
    fn at_floor(&mut self, beta: &[R], largest: f64) -> bool {
        // |x_n|ᵀ|β| ≤ ‖x_n‖‖β‖ spares the product with the data until the residual is within its reach.
        let size = norm(beta);
        let bound =
            self.row_norms.iter().zip(self.y).fold(0.0, |b: f64, (row, y)| b.max(row * size + y.to_f64().abs()));
        if largest > FLOOR * Self::ULP * bound {
            return false;
        }
        self.columns.iter_mut().zip(beta).for_each(|(a, beta)| *a = beta.to_f64().abs());
        self.x.apply_abs(&self.columns, &mut self.rows);
        let terms = self.rows.iter().zip(self.y).fold(0.0, |most: f64, (sum, y)| most.max(sum + y.to_f64().abs()));
        largest <= FLOOR * Self::ULP * terms
    }

    /// Stationary among the signs of the one-sided coordinates, and somewhere held back by them.
    fn at_signs(&mut self, beta: &[R], residual: &[R]) -> bool {
        self.x.apply_transposed(residual, &mut self.gradient);
        let (tol, size, largest) = (self.goal.tol.max(GRADIENT_FLOOR * Self::ULP), norm(self.y), peak(beta));
        let mut held_back = false;
        for (((g, column), beta), sides) in self.gradient.iter().zip(&self.column_norms).zip(beta).zip(&self.sides) {
            let (g, beta) = (g.to_f64(), beta.to_f64());
            if g.abs() <= tol * column * size {
                continue;
            }
            // β_i' = S_i g_i: the side that g_i lets grow must be absent, and what is left of β_i gone.
            let grows = if g > 0.0 { sides.0 } else { sides.1 };
            if grows || beta.abs() > tol * largest.max(size / column) {
                return false;
            }
            held_back = true;
        }
        held_back
    }
}

/// `‖v‖₂`.
pub(super) fn norm<R: Real>(v: &[R]) -> f64 {
    v.iter().map(|v| v.to_f64() * v.to_f64()).sum::<f64>().sqrt()
}
