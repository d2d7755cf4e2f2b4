//! What the run asks of the numbers it is integrated in, beyond arithmetic and rows. Knows no segment.
//!
//! States, residuals, guards, slopes of slides and decisions are made of them; Jacobians and measures of errors are binary64
//! in any (DESIGN §4). Thresholds that stand for round-off are multiples of [`Number::ULP`]; those that are none are here.

use super::columns::Columns;
use super::units::{exponent, peak, scaled, split_exactly, split_exponential};
use super::vectors::Vectors;
use crate::flow::Neurons;
use crate::flow::fully_connected::divergence;
use crate::flow::numbers::Numbers;
use crate::linalg::{RowBasis, Rows, norm};
use crate::potential::double_double::neuron::NeuronPotential;
use crate::real::{DoubleDouble, Real};

/// `D_Q(β, β(0))` as a function of β.
pub(super) type Divergence<R> = Box<dyn Fn(&[R]) -> R>;

/// A number type in which the flow can be integrated.
pub(super) trait Number: Numbers {
    /// Twice the unit round-off.
    const ULP: f64 = 2.0 * Self::UNIT_ROUNDOFF;
    /// True if only Radau is worth it: an explicit method of order 8 takes ten times the steps for every eight digits.
    const IMPLICIT: bool;
    /// The finest tolerance of a step.
    const FINEST: f64;
    /// Pre-activations that reach their kinks within this relative time, or this relative size, of each other do so at one
    /// time; never more than the tolerance.
    const TOGETHER: f64;
    /// Roots in closed form closer than this in `ηt` are one event.
    const SAME_ROOT: f64;
    /// `log₂` of the share of y at which f begins to count.
    const UNSEEN: f64;
    /// In units of the tolerance of the weights, that of the residual relative to itself: its error decays with it.
    const RESIDUAL: f64;
    /// Most secant steps in search of an event on states as accurate as steps. They begin with the digits of the dense
    /// output and gain three each.
    const REFINEMENTS: usize;
    /// A gradient this small, relative to what it could be, is worth a look; the part of the residual that weights could
    /// still fit, where they rest; directions of the outputs weaker than this count for nothing, whatever the numbers: the
    /// flow along them takes 10^18 time scales, stiffer than a step with a Jacobian in binary64 can be.
    const RESTS: (f64, f64, f64);

    /// A guard that was never positive after an event and is below minus this (in units of the weights, or of slopes), in a
    /// run at this tolerance, is no round-off of that event: the sample has gone to the other side after all.
    fn astray(rtol: f64) -> f64;
    /// `Σ a_i b_i`.
    fn inner(a: &[Self], b: &[Self]) -> Self;
    /// `y += alpha x`.
    fn accumulate(alpha: Self, x: &[Self], y: &mut [Self]);
    /// `e^x = 2^k · e^rest`: `(k, e^rest)` with `|rest| ≤ ½ ln 2`.
    fn split_exponential(x: Self) -> (f64, Self);
    /// `Qᵀ`, k × d, for data of n rows; none where the span is everything, and needs no basis.
    fn basis(data: &[f64], n: usize, d: usize) -> Option<Vectors>;
    /// The rows that are compared for one direction: those in span coordinates, or the data themselves.
    fn directions<'v>(rows: &'v [f64], data: &'v [f64]) -> &'v [f64];
    /// `D_Q(β, β(0))` of one neuron ([A] Theorem 4: the same Q as that of a linear one).
    fn divergence(start: &Neurons<'_>, d: usize) -> Option<Divergence<Self>>;
}

impl Number for f64 {
    const IMPLICIT: bool = false;
    const FINEST: f64 = 1e-14;
    const TOGETHER: f64 = 1e-12;
    const SAME_ROOT: f64 = 1e-13;
    const UNSEEN: f64 = -60.0;
    const RESIDUAL: f64 = 30.0;
    const REFINEMENTS: usize = 5;
    const RESTS: (f64, f64, f64) = (1e-9, 1e-10, 1e-9);

    fn astray(_rtol: f64) -> f64 {
        1e-6
    }

    fn inner(a: &[f64], b: &[f64]) -> f64 {
        f64::dot(a, b)
    }

    fn accumulate(alpha: f64, x: &[f64], y: &mut [f64]) {
        f64::axpy(alpha, x, y);
    }

    fn split_exponential(x: f64) -> (f64, f64) {
        split_exponential(x)
    }

    /// Rows are brought to one size first: a sample counts as dependent for its direction, not for its length.
    fn basis(data: &[f64], n: usize, d: usize) -> Option<Vectors> {
        let basis = RowBasis::of(Rows::new(&even(data, d), n, d)?);
        (basis.rank() < d).then(|| Vectors::exact(d, basis.q_rows().data().to_vec()))
    }

    fn directions<'v>(rows: &'v [f64], _data: &'v [f64]) -> &'v [f64] {
        rows
    }

    fn divergence(start: &Neurons<'_>, d: usize) -> Option<Divergence<f64>> {
        divergence::of(start, d)
    }
}

impl Number for DoubleDouble {
    const IMPLICIT: bool = true;
    const FINEST: f64 = 4e-30;
    const TOGETHER: f64 = 1e-28;
    const SAME_ROOT: f64 = 1e-28;
    const UNSEEN: f64 = -112.0;
    /// With eleven stages the estimate of a step may be 10^12 tolerances (of a smooth step it is the square root of the
    /// error). Late in a flow, where its fastest mode has died out inside of a step, it is the error.
    const RESIDUAL: f64 = 0.3;
    const REFINEMENTS: usize = 20;
    const RESTS: (f64, f64, f64) = (4e-25, 4e-26, 1e-9);

    /// What a step may be wrong by is no sign of going astray; nor is anything that the tolerance of binary64 would not be.
    fn astray(rtol: f64) -> f64 {
        (1e4 * rtol).clamp(4e-22, 1e-6)
    }

    fn inner(a: &[Self], b: &[Self]) -> Self {
        Self::inner_product(a, b)
    }

    fn accumulate(alpha: Self, x: &[Self], y: &mut [Self]) {
        Self::add_multiple(alpha, x, y);
    }

    fn split_exponential(x: Self) -> (f64, Self) {
        split_exactly(x)
    }

    /// Row by row: all of the span of binary64 data counts in double-double, so that a sample is left out where it depends on
    /// others to thirty digits only.
    fn basis(data: &[f64], n: usize, d: usize) -> Option<Vectors> {
        if n >= d {
            return None;
        }
        let mut columns = Columns::<Self>::new(d);
        for row in even(data, d).chunks_exact(d) {
            let row: Vec<Self> = row.iter().map(|v| Self::from_f64(*v)).collect();
            columns.push(&row);
        }
        Some(columns.into_basis())
    }

    /// Which are exact, as coordinates are not.
    fn directions<'v>(_rows: &'v [f64], data: &'v [f64]) -> &'v [f64] {
        data
    }

    fn divergence(start: &Neurons<'_>, _d: usize) -> Option<Divergence<Self>> {
        let (unit, hidden) = (start.log().exp(), start.hidden());
        let [outer] = start.outer()[..] else { return None };
        let inner = norm(hidden.iter().copied());
        let potential =
            NeuronPotential { delta: (outer.abs() - inner) * unit * ((outer.abs() + inner) * unit), linear: None };
        let first: Vec<Self> = hidden.iter().map(|w| outer * unit * (*w * unit)).collect();
        Some(Box::new(move |beta| potential.bregman(beta, &first)))
    }
}

/// Numbers of which double-double knows all digits, in the numbers of a run.
pub(super) fn of_exact<R: Real>(values: &[DoubleDouble]) -> Vec<R> {
    values.iter().map(|v| R::from_parts(v.high, v.low)).collect()
}

/// Rows in units of their own, so that their largest entries are about 1.
fn even(data: &[f64], d: usize) -> Vec<f64> {
    data.chunks_exact(d.max(1)).flat_map(|row| row.iter().map(|v| scaled(*v, -exponent(peak(row))))).collect()
}
