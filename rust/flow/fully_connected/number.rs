//! What the flow of a fully connected network asks of the numbers it is integrated in, beyond arithmetic. Knows no integrator.
//!
//! Algebra is binary64 for all of them, states and residuals are not: what differs is the basis they are coordinates in, and
//! how many digits there are to reach.

use super::divergence::{self, Divergence};
use super::exact_basis::ExactBasis;
use super::prepare::Prepared;
use super::problem::Problem;
use super::split::Split;
use super::units::{multiply_by_power, times_power};
use super::{prepare, prepare_exactly};
use crate::flow::numbers::Numbers;
use crate::linalg::{Rows, ThinSvd};
use crate::real::{DoubleDouble, Real};
use core::fmt::Debug;

/// A number type in which the flow can be integrated.
pub(super) trait Number: Numbers {
    /// U and V.
    type Basis: Basis<Self>;
    /// Rows that are combined.
    type Rows: Debug;

    /// Twice the unit round-off.
    const ULP: f64 = 2.0 * Self::UNIT_ROUNDOFF;
    /// Share of the gradient that may be left out, far below round-off.
    const NEGLIGIBLE: f64;

    /// The problem in modes and units. The way back to the weights is kept if `keep`.
    fn prepare(problem: &Problem<'_>, keep: bool) -> Prepared<Self>;
    /// `D_Q(β, β(0))` of this start, where a theorem gives a Q.
    fn divergence(problem: &Problem<'_>) -> Option<Divergence<Self>>;
    /// Several `Σ_k w_k row_k`.
    fn combine_many(rows: &Self::Rows, w: &[Self], out: &mut [Self]);
    /// The nearest binary64 numbers, in `room` unless these are such.
    fn rounded<'a>(values: &'a [Self], room: &'a mut Vec<f64>) -> &'a [f64];
    /// `Σ a_i b_i`.
    fn product(a: &[Self], b: &[Self]) -> Self;
    /// `y += alpha x`.
    fn add_scaled(alpha: Self, x: &[Self], y: &mut [Self]);
    /// Times `2^e`.
    fn scale(values: &mut [Self], e: i32);
}

/// The singular vectors.
pub(super) trait Basis<R>: Debug {
    /// Number of samples.
    fn samples(&self) -> usize;
    /// `Vᵀ`, to binary64.
    fn v_rows(&self) -> Rows<'_>;
    /// `U r` of several residuals.
    fn of_samples(&self, modes: &[R], out: &mut [R]);
    /// `Uᵀ r` of one.
    fn to_modes(&self, residual: &[R], out: &mut [R]);
    /// `V q` of several.
    fn of_features(&self, q: &[R], out: &mut [R]);
}

impl Number for f64 {
    type Basis = ThinSvd;
    type Rows = (Vec<f64>, usize);

    const NEGLIGIBLE: f64 = 1e-17;

    fn prepare(problem: &Problem<'_>, keep: bool) -> Prepared {
        prepare::of(problem, keep)
    }

    fn divergence(problem: &Problem<'_>) -> Option<Divergence> {
        divergence::of(&problem.neurons, problem.x.d())
    }

    fn combine_many((rows, width): &Self::Rows, w: &[f64], out: &mut [f64]) {
        Rows::from_parts(rows, rows.len() / width, *width).apply_transposed_many(w, out);
    }

    fn rounded<'a>(values: &'a [f64], _room: &'a mut Vec<f64>) -> &'a [f64] {
        values
    }

    fn product(a: &[f64], b: &[f64]) -> f64 {
        f64::dot(a, b)
    }

    fn add_scaled(alpha: f64, x: &[f64], y: &mut [f64]) {
        f64::axpy(alpha, x, y);
    }

    fn scale(values: &mut [f64], e: i32) {
        multiply_by_power(values, e);
    }
}

impl Basis<f64> for ThinSvd {
    fn samples(&self) -> usize {
        self.u_rows().d()
    }

    fn v_rows(&self) -> Rows<'_> {
        self.v_rows()
    }

    fn of_samples(&self, modes: &[f64], out: &mut [f64]) {
        self.u_rows().apply_transposed_many(modes, out);
    }

    fn to_modes(&self, residual: &[f64], out: &mut [f64]) {
        self.u_rows().apply(residual, out);
    }

    fn of_features(&self, q: &[f64], out: &mut [f64]) {
        self.v_rows().apply_transposed_many(q, out);
    }
}

impl Number for DoubleDouble {
    type Basis = ExactBasis;
    type Rows = Split;

    const NEGLIGIBLE: f64 = 1e-33;

    fn prepare(problem: &Problem<'_>, keep: bool) -> Prepared<Self> {
        prepare_exactly::of(problem, keep)
    }

    fn divergence(problem: &Problem<'_>) -> Option<Divergence<Self>> {
        divergence::exactly(&problem.neurons, problem.x.d())
    }

    fn combine_many(rows: &Split, w: &[Self], out: &mut [Self]) {
        rows.combine_many(w, out);
    }

    fn rounded<'a>(values: &'a [Self], room: &'a mut Vec<f64>) -> &'a [f64] {
        room.clear();
        room.extend(values.iter().map(|value| value.high));
        room
    }

    fn product(a: &[Self], b: &[Self]) -> Self {
        Self::inner_product(a, b)
    }

    fn add_scaled(alpha: Self, x: &[Self], y: &mut [Self]) {
        Self::add_multiple(alpha, x, y);
    }

    fn scale(values: &mut [Self], e: i32) {
        for value in values {
            *value = Self { high: times_power(value.high, e), low: times_power(value.low, e) };
        }
    }
}

impl Basis<DoubleDouble> for ExactBasis {
    fn samples(&self) -> usize {
        self.u.width()
    }

    fn v_rows(&self) -> Rows<'_> {
        self.v.high()
    }

    fn of_samples(&self, modes: &[DoubleDouble], out: &mut [DoubleDouble]) {
        self.u.combine_many(modes, out);
    }

    fn to_modes(&self, residual: &[DoubleDouble], out: &mut [DoubleDouble]) {
        self.u.apply(residual, out);
    }

    fn of_features(&self, q: &[DoubleDouble], out: &mut [DoubleDouble]) {
        self.v.combine_many(q, out);
    }
}
