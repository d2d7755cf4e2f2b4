//! What the dual flow asks of the numbers it is integrated in, beyond arithmetic. Knows no integrator.
//!
//! Algebra is binary64 for all of them, states and residuals are not: what differs is how β is evaluated, how often it has
//! to be, and how many digits there are to reach.

use super::differences::Differences;
use super::dual::Point;
use super::exact;
use super::plain::Plain;
use super::problem::Problem;
use super::range::Range;
use super::reference::{EXACT_SHIFT, Reference};
use crate::flow::numbers::Numbers;
use crate::linalg::{Rows, RowwiseQr};
use crate::real::{DoubleDouble, Real};
use core::fmt::Debug;

/// A number type in which the dual flow can be integrated.
pub(super) trait Number: Numbers {
    /// How the flow is evaluated at the stages of a step.
    type Stages: Stages<Self>;

    /// Twice the unit round-off.
    const ULP: f64 = 2.0 * Self::UNIT_ROUNDOFF;
    /// More samples than features are rotated into as many: in binary64, and no rotation has more digits.
    const REDUCES_ROWS: bool;

    /// The targets of a problem.
    fn targets(problem: &Problem<'_>) -> Vec<Self>;
    /// The nearest binary64 numbers, in `room` unless these are such.
    fn rounded<'a>(values: &'a [Self], room: &'a mut Vec<f64>) -> &'a [f64];
    /// β at the shifts `z` of several states one after another, and S.
    fn evaluate(reference: &Reference, z: &[Self], beta: &mut [Self], slope: &mut [f64]);
    /// Move a reference by `Δν`, `z = 2XᵀΔν`.
    fn advance(reference: &mut Reference, x: Rows<'_>, delta_nu: &[Self], z: &[Self]);
    /// `Xᵀ w_k` of several vectors.
    fn transposed_many(x: Rows<'_>, w: &[Self], out: &mut [Self]);
    /// `X v_k` of several vectors.
    fn apply_many(x: Rows<'_>, v: &[Self], out: &mut [Self]);
    /// `Σ a_i b_i`.
    fn inner(a: &[Self], b: &[Self]) -> Self;
    /// `Qᵀ y`; asked where rows are reduced.
    fn rotated(qr: &RowwiseQr, y: &[Self]) -> Vec<Self>;
    /// The `c` of least norm that minimises `‖X c − y‖`.
    fn least_squares(range: &Range, x: Rows<'_>, y: &[Self], c: &mut [Self]);
    /// `D_Q(β, β(0))` in the units of the problem, for β in these units. `None`: to be found from the multipliers.
    fn divergence(problem: &Problem<'_>, beta: &[Self]) -> Option<Self>;
}

/// How the flow is evaluated at the stages of a step, and what is remembered of it from one Newton iteration to the next.
pub(super) trait Stages<R>: Debug + Default {
    /// `Xβ` at several states, one after another.
    fn fitted(&mut self, x: Rows<'_>, reference: &Reference, states: &[R], fitted: &mut [R]);
    /// z, β, S and `Xβ` (as the residual) at one state, often the corrected last stage.
    fn visit(&mut self, x: Rows<'_>, reference: &Reference, state: &[R], here: &mut Point<R>);
    /// `Xᵀe` of several errors, one after another.
    fn of_errors(&mut self, x: Rows<'_>, errors: &[f64]) -> &[f64];
    /// S at a state, to binary64.
    fn slope(&mut self, x: Rows<'_>, reference: &Reference, state: &[f64]) -> &[f64];
    /// Error of the last [`Stages::fitted`] as a part of what the correction before it made of it.
    fn inexactness(&self) -> f64 {
        0.0
    }
    /// The largest shift that the last [`Stages::fitted`] had to form: as many units round-off β is off by.
    fn reach(&self) -> f64 {
        0.0
    }
    /// The reference has moved: what is known of a state is no longer known of it.
    fn forget(&mut self);
}

impl Number for f64 {
    type Stages = Plain;

    const REDUCES_ROWS: bool = true;

    fn targets(problem: &Problem<'_>) -> Vec<f64> {
        problem.y.to_vec()
    }

    fn rounded<'a>(values: &'a [f64], _room: &'a mut Vec<f64>) -> &'a [f64] {
        values
    }

    fn evaluate(reference: &Reference, z: &[f64], beta: &mut [f64], slope: &mut [f64]) {
        reference.evaluate(z, beta, slope);
    }

    /// `G_ref` once more from `ν_ref`, in double-double, before the rounding errors of the `z` that were added to it could be
    /// seen in β.
    fn advance(reference: &mut Reference, x: Rows<'_>, delta_nu: &[f64], z: &[f64]) {
        if reference.advance(delta_nu, z) > EXACT_SHIFT {
            reference.form_g(x);
        }
        reference.refresh();
    }

    fn transposed_many(x: Rows<'_>, w: &[f64], out: &mut [f64]) {
        x.apply_transposed_many(w, out);
    }

    fn apply_many(x: Rows<'_>, v: &[f64], out: &mut [f64]) {
        x.apply_many(v, out);
    }

    fn inner(a: &[f64], b: &[f64]) -> f64 {
        f64::dot(a, b)
    }

    fn rotated(qr: &RowwiseQr, y: &[f64]) -> Vec<f64> {
        qr.apply_qt(y)
    }

    fn least_squares(range: &Range, _x: Rows<'_>, y: &[f64], c: &mut [f64]) {
        range.solve(y, c);
    }

    fn divergence(problem: &Problem<'_>, beta: &[f64]) -> Option<f64> {
        Some(problem.start.divergence(beta))
    }
}

impl Number for DoubleDouble {
    type Stages = Differences;

    const REDUCES_ROWS: bool = false;

    fn targets(problem: &Problem<'_>) -> Vec<Self> {
        let low = |n: usize| problem.y_low.map_or(0.0, |low| low[n]);
        problem.y.iter().enumerate().map(|(n, y)| Self::from_parts(*y, low(n))).collect()
    }

    fn rounded<'a>(values: &'a [Self], room: &'a mut Vec<f64>) -> &'a [f64] {
        room.clear();
        room.extend(values.iter().map(|value| value.high));
        room
    }

    fn evaluate(reference: &Reference, z: &[Self], beta: &mut [Self], slope: &mut [f64]) {
        exact::evaluate(reference, z, beta, slope);
    }

    fn advance(reference: &mut Reference, _x: Rows<'_>, delta_nu: &[Self], z: &[Self]) {
        reference.follow(delta_nu, z);
    }

    fn transposed_many(x: Rows<'_>, w: &[Self], out: &mut [Self]) {
        exact::each(x, (w, x.n()), (out, x.d()), |w, out| x.apply_transposed(w, out));
    }

    fn apply_many(x: Rows<'_>, v: &[Self], out: &mut [Self]) {
        exact::each(x, (v, x.d()), (out, x.n()), |v, out| x.apply(v, out));
    }

    fn inner(a: &[Self], b: &[Self]) -> Self {
        a.iter().zip(b).fold(Self::ZERO, |sum, (a, b)| sum + *a * *b)
    }

    fn rotated(_qr: &RowwiseQr, y: &[Self]) -> Vec<Self> {
        y.to_vec()
    }

    fn least_squares(range: &Range, x: Rows<'_>, y: &[Self], c: &mut [Self]) {
        range.refine(x, y, c);
    }

    fn divergence(_problem: &Problem<'_>, _beta: &[Self]) -> Option<Self> {
        None
    }
}
