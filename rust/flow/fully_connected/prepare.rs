//! The problem in the form in which it is integrated, and how it gets there in binary64. Knows no integrator.

use super::fold::Folded;
use super::modes::Modes;
use super::number::{Basis, Number};
use super::problem::Problem;
use super::units::{Units, exponent, peak, times_power};
use crate::flow::outcome::Status;
use crate::linalg::ThinSvd;

/// y is out of reach if what is left of it is above this many times N roundings of its largest entry.
const PROJECTION_ERRORS: f64 = 16.0;

/// The problem in its modes and units.
#[derive(Debug)]
pub(super) struct Prepared<R: Number = f64> {
    pub(super) basis: R::Basis,
    pub(super) modes: Modes<R>,
    pub(super) units: Units,
    /// Neurons that are left, in units of `exp(log_start)` units of the run.
    pub(super) folded: Folded<R>,
    pub(super) log_start: R,
    /// The part of every `w_i` outside the span, m × d; none if all of it is 0, or underflows.
    pub(super) outside: Option<R::Rows>,
    /// The part of y that no β reaches, N; empty if there is none.
    pub(super) rest: Vec<R>,
    /// `max|y|` of what can be fitted.
    pub(super) size: f64,
    /// What a converged run has come to.
    pub(super) end: Status,
}

/// In binary64. The rotations of the neurons are kept if `keep`.
pub(super) fn of(problem: &Problem<'_>, keep: bool) -> Prepared {
    let (x, y, neurons) = (problem.x, problem.y, problem.neurons);
    let (units, own) = units_of(problem);
    let svd = ThinSvd::of(x, times_power(1.0, units.data));
    let folded = Folded::of(&svd, neurons.a, problem.hidden(), times_power(1.0, own), keep);
    let log_start = neurons.log_magnitude + f64::from(own - units.weights) * core::f64::consts::LN_2;
    let factor = log_start.exp();
    let outside: Vec<f64> = folded.outside.iter().map(|w| w * factor).collect();
    let scaled: Vec<f64> = y.iter().map(|y| times_power(*y, -units.targets())).collect();
    let (targets, rest) = project(&svd, &scaled);
    let modes = Modes::new(svd.sigma(), targets, x.n() as f64);
    let mut fitted = vec![0.0; x.n()];
    svd.u_rows().apply_transposed(&modes.targets, &mut fitted);
    Prepared {
        outside: outside.iter().any(|w| *w != 0.0).then(|| (outside, x.d())),
        end: if rest.is_empty() { Status::Converged } else { Status::LeastSquares },
        size: peak(&fitted),
        basis: svd,
        modes,
        units,
        folded,
        log_start,
        rest,
    }
}

/// The units of the run, and the exponent of that which makes the weights ordinary numbers.
pub(super) fn units_of(problem: &Problem<'_>) -> (Units, i32) {
    let neurons = problem.neurons;
    let largest = peak(neurons.a).max(peak(neurons.w));
    // A unit whose inverse is a float as well.
    let own = exponent(largest).clamp(-1000, 1000);
    let log_own = f64::from(own) * core::f64::consts::LN_2;
    (Units::of(peak(problem.x.data()), peak(problem.y), neurons.log_magnitude + log_own), own)
}

impl<R: Number> Prepared<R> {
    /// Neurons that are left.
    pub(super) fn m(&self) -> usize {
        self.folded.m
    }

    /// Unknowns of the run.
    pub(super) fn dim(&self) -> usize {
        self.m() * (1 + self.modes.rank())
    }

    /// The start as numbers of the run: 0 where they underflow.
    pub(super) fn start(&self) -> Vec<R> {
        let factor = self.log_start.exp();
        self.unit_start().iter().map(|z| *z * factor).collect()
    }

    /// The start in units of `exp(log_start)`: a, then `c_i` neuron by neuron.
    pub(super) fn unit_start(&self) -> Vec<R> {
        let width = 1 + self.modes.rank();
        let rows = || self.folded.z.chunks_exact(width);
        rows().map(|row| row[0]).chain(rows().flat_map(|row| row[1..].iter().copied())).collect()
    }

    /// `max|r|` in units of y, r without the part of y that cannot be fitted, of a residual in modes.
    pub(super) fn largest(&self, modes: &[R]) -> f64 {
        let mut r = vec![R::ZERO; self.basis.samples()];
        self.basis.of_samples(modes, &mut r);
        most(&r).to_f64()
    }

    /// A residual of the run in the units of y.
    pub(super) fn in_units_of_y(&self, residual: f64) -> f64 {
        times_power(residual, self.units.targets())
    }
}

impl Prepared {
    /// y without the part that cannot be fitted, in its own units.
    pub(super) fn reachable(&self, y: &[f64]) -> Vec<f64> {
        if self.rest.is_empty() {
            return y.to_vec();
        }
        y.iter().zip(&self.rest).map(|(y, rest)| y - self.in_units_of_y(*rest)).collect()
    }
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

/// `max|v|`, NaN dropped.
pub(super) fn most<R: Number>(v: &[R]) -> R {
    v.iter().fold(R::ZERO, |most, v| if v.abs() > most { v.abs() } else { most })
}
