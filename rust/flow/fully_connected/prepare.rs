//! The problem in the form in which it is integrated, and the way back. Knows no integrator.

use super::divergence::Divergence;
use super::fold::Folded;
use super::modes::Modes;
use super::problem::Problem;
use super::span::{in_span, split};
use super::units::{Units, exponent, multiply_by_power, peak, times_power};
use crate::flow::outcome::Status;
use crate::flow::recorder::Shown;
use crate::linalg::{ThinSvd, norm};

/// y is out of reach if what is left of it is above this many times N roundings of its largest entry.
const PROJECTION_ERRORS: f64 = 16.0;

/// The problem in its modes and units.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) svd: ThinSvd,
    pub(super) modes: Modes,
    pub(super) units: Units,
    /// Neurons that are left, in units of `exp(log_start)` units of the run.
    pub(super) folded: Folded,
    pub(super) log_start: f64,
    /// The part of every `w_i` outside the span, m × d; empty if all of it is 0, or underflows.
    outside: Vec<f64>,
    /// The part of y that no β reaches, N; empty if there is none.
    rest: Vec<f64>,
    /// `max|y|` of what can be fitted.
    pub(super) size: f64,
    /// What a converged run has come to.
    pub(super) end: Status,
}

impl Prepared {
    /// The rotations of the neurons are kept if `keep`.
    pub(super) fn of(problem: &Problem<'_>, keep: bool) -> Self {
        let (x, y, neurons) = (problem.x, problem.y, problem.neurons);
        let largest = peak(neurons.a).max(peak(neurons.w));
        // A unit whose inverse is a float as well.
        let own = exponent(largest).clamp(-1000, 1000);
        let log_own = f64::from(own) * core::f64::consts::LN_2;
        let units = Units::of(peak(x.data()), peak(y), neurons.log_magnitude + log_own);
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
        Self {
            outside: if outside.iter().any(|w| *w != 0.0) { outside } else { Vec::new() },
            end: if rest.is_empty() { Status::Converged } else { Status::LeastSquares },
            size: peak(&fitted),
            svd,
            modes,
            units,
            folded,
            log_start,
            rest,
        }
    }

    /// Neurons that are left.
    pub(super) fn m(&self) -> usize {
        self.folded.m
    }

    /// Unknowns of the run.
    pub(super) fn dim(&self) -> usize {
        self.m() * (1 + self.modes.rank())
    }

    /// The start as numbers of the run: 0 where they underflow.
    pub(super) fn start(&self) -> Vec<f64> {
        let factor = self.log_start.exp();
        self.unit_start().iter().map(|z| z * factor).collect()
    }

    /// The start in units of `exp(log_start)`: a, then `c_i` neuron by neuron.
    pub(super) fn unit_start(&self) -> Vec<f64> {
        let width = 1 + self.modes.rank();
        let rows = || self.folded.z.chunks_exact(width);
        rows().map(|row| row[0]).chain(rows().flat_map(|row| row[1..].iter().copied())).collect()
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

/// A row of a run in span coordinates.
pub(super) struct SpanRows<'p> {
    pub(super) prepared: &'p Prepared,
    /// `D_Q(β, β(0))`, where a theorem gives a Q.
    pub(super) divergence: Option<Divergence>,
}

impl Shown for SpanRows<'_> {
    fn show(&mut self, states: &[f64], beta: &mut [f64], residual: &mut [f64]) {
        let Prepared { svd, modes, outside, rest, units, .. } = self.prepared;
        let (m, rank) = (self.prepared.m(), modes.rank());
        let count = states.len() / self.prepared.dim().max(1);
        let (mut q, mut r) = (vec![0.0; count * rank], vec![0.0; count * rank]);
        let mut outer = Vec::with_capacity(count * m);
        for (k, state) in states.chunks_exact(self.prepared.dim()).enumerate() {
            let (a, c) = split(state, m);
            let here = k * rank..(k + 1) * rank;
            in_span(a, c, &mut q[here.clone()]);
            modes.residual(&q[here.clone()], &mut r[here]);
            outer.extend_from_slice(a);
        }
        beta.fill(0.0);
        residual.fill(0.0);
        if rank > 0 {
            svd.u_rows().apply_transposed_many(&r, residual);
            if !beta.is_empty() {
                svd.v_rows().apply_transposed_many(&q, beta);
            }
        }
        if !(outside.is_empty() || beta.is_empty()) {
            let mut part = vec![0.0; beta.len()];
            crate::linalg::Rows::from_parts(outside, m, svd.v_rows().d()).apply_transposed_many(&outer, &mut part);
            beta.iter_mut().zip(part).for_each(|(beta, part)| *beta += part);
        }
        for row in residual.chunks_exact_mut(svd.u_rows().d()) {
            row.iter_mut().zip(rest).for_each(|(r, rest)| *r += rest);
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

    fn potential(&mut self, beta: &[f64]) -> f64 {
        self.divergence.as_ref().map_or(f64::NAN, |divergence| divergence(beta))
    }
}

/// `‖v‖₂`.
pub(super) fn length(v: &[f64]) -> f64 {
    norm(v.iter().copied())
}
