//! The flow of one segment as a system to integrate: a linear network, smooth, with `f = Σ_i g_i a_i C_i X̃P_i u_i`.
//!
//! The state is `(a_i, u_i)` neuron after neuron, each in the unit `2^e` of its neuron; `g_i = 4^e` (times the units of the
//! data) carries it into the residual and nowhere else.

use super::number::Number;
use super::segment::Piece;
use super::shifts::Shifts;
use super::span::Span;
use super::units::peak;
use crate::linalg::norm;
use crate::ode::{Implicit, System};
use crate::real::Real;

/// Of a weight that passes through 0 this part of its largest size so far is what its error is measured by, and this part
/// of the other weight: `a` feeds on `w` and `w` on `a`, so a weight far below both is forgotten at once.
const PAST: f64 = 1e-3;
const OTHER: f64 = 1e-6;
/// In units of its round-off, an error of a residual that no shorter step would make smaller.
const UNRESOLVED: f64 = 8.0;
/// Roundings of a residual, in units of the last place of the sum of its terms.
const ROUND_OFF: f64 = 4.0;

/// The flow while no pre-activation changes its side.
#[derive(Debug)]
pub(super) struct Smooth<'a, R = f64> {
    pub(super) span: &'a Span<R>,
    pub(super) pieces: &'a [Piece<R>],
    /// `g_i`.
    pub(super) gains: &'a [f64],
    norm: ErrorNorm,
    work: Work<R>,
}

/// Activations `σ` (m × N), residual (N), velocity in the span (k).
#[derive(Clone, Debug)]
pub(super) struct Work<R = f64> {
    pub(super) sigma: Vec<R>,
    pub(super) residual: Vec<R>,
}

impl<R: Number> Work<R> {
    /// Room for `m` neurons and n samples.
    pub(super) fn new(m: usize, n: usize) -> Self {
        Self { sigma: vec![R::ZERO; m * n], residual: vec![R::ZERO; n] }
    }
}

/// The weights of errors, fixed at the start of a step: binary64 whatever the state is.
#[derive(Clone, Debug)]
struct ErrorNorm {
    rtol: f64,
    /// `‖w⊥‖` of every neuron in its unit: what the span does not see.
    outside: Vec<f64>,
    /// Largest `(|a|, ‖w‖)` so far.
    largest: Vec<(f64, f64)>,
    /// Reciprocal tolerances of `(a, u)`.
    weights: Vec<(f64, f64)>,
    /// Activations and output weights there, to carry an error into the residual.
    sigma: Vec<f64>,
    a: Vec<f64>,
    /// Tolerance of a residual, and its round-off.
    residual: f64,
    round_off: Vec<f64>,
}

impl<'a, R: Number> Smooth<'a, R> {
    /// `largest`: sizes of `(|a|, ‖w‖)` that were reached before, in the units of now.
    pub(super) fn new(
        span: &'a Span<R>,
        pieces: &'a [Piece<R>],
        gains: &'a [f64],
        rtol: f64,
        outside: Vec<f64>,
        largest: Vec<(f64, f64)>,
    ) -> Self {
        let m = pieces.len();
        let norm = ErrorNorm {
            rtol,
            outside,
            largest,
            weights: vec![(0.0, 0.0); m],
            sigma: vec![0.0; m * span.n],
            a: vec![0.0; m],
            residual: 0.0,
            round_off: vec![0.0; span.n],
        };
        Self { span, pieces, gains, norm, work: Work::new(m, span.n) }
    }

    /// The largest `(|a|, ‖w‖)` so far.
    pub(super) fn largest(&self) -> &[(f64, f64)] {
        &self.norm.largest
    }

    /// Activations and residual at a state.
    pub(super) fn visit(&mut self, state: &[R]) {
        activate(self.span, self.pieces, self.gains, state, &mut self.work);
    }

    /// What [`Smooth::visit`] found.
    pub(super) fn here(&self) -> &Work<R> {
        &self.work
    }

    /// `out = P_i X̃ᵀ C_i r / N`.
    pub(super) fn pull(&self, i: usize, out: &mut [R]) {
        pull(self.span, &self.pieces[i], &self.work.residual, out);
    }
}

/// Activations and residual of a state.
pub(super) fn activate<R: Number>(span: &Span<R>, pieces: &[Piece<R>], gains: &[f64], state: &[R], work: &mut Work<R>) {
    work.residual.copy_from_slice(&span.targets);
    for (i, neuron) in state.chunks_exact(1 + span.k).enumerate() {
        let sigma = &mut work.sigma[i * span.n..(i + 1) * span.n];
        for (n, (sigma, c)) in sigma.iter_mut().zip(&pieces[i].slopes).enumerate() {
            *sigma = if *c == 0.0 { R::ZERO } else { R::from_f64(*c) * span.rows.dot(n, &neuron[1..]) };
        }
        R::accumulate(R::from_f64(-gains[i]) * neuron[0], sigma, &mut work.residual);
    }
}

/// `out = P X̃ᵀ C r / N`.
pub(super) fn pull<R: Number>(span: &Span<R>, piece: &Piece<R>, residual: &[R], out: &mut [R]) {
    out.fill(R::ZERO);
    let samples = R::from_f64(span.n as f64);
    for (n, (c, r)) in piece.slopes.iter().zip(residual).enumerate().filter(|(_, (c, _))| **c != 0.0) {
        span.rows.axpy(n, R::from_f64(*c) * *r / samples, out);
    }
    if piece.slide.rank() > 0 {
        piece.slide.remove(out);
    }
}

impl<R: Number> System<R> for Smooth<'_, R> {
    fn dim(&self) -> usize {
        self.pieces.len() * (1 + self.span.k)
    }

    fn rhs(&mut self, _t: R, y: &[R], dy: &mut [R]) {
        self.visit(y);
        let (width, samples) = (1 + self.span.k, R::from_f64(self.span.n as f64));
        for (i, (neuron, slope)) in y.chunks_exact(width).zip(dy.chunks_exact_mut(width)).enumerate() {
            let sigma = &self.work.sigma[i * self.span.n..(i + 1) * self.span.n];
            slope[0] = R::inner(sigma, &self.work.residual) / samples;
            self.pull(i, &mut slope[1..]);
            slope[1..].iter_mut().for_each(|v| *v *= neuron[0]);
        }
    }

    fn set_error_weights(&mut self, _t: R, y: &[R], _dy: &[R]) {
        self.visit(y);
        let (span, work, norm_of) = (self.span, &self.work, &mut self.norm);
        let round_off = ROUND_OFF * R::ULP;
        let targets = span.targets.iter().map(|y| y.to_f64().abs());
        norm_of.round_off.iter_mut().zip(targets).for_each(|(sum, y)| *sum = round_off * y);
        norm_of.sigma.iter_mut().zip(&work.sigma).for_each(|(out, sigma)| *out = sigma.to_f64());
        for (i, neuron) in y.chunks_exact(1 + span.k).enumerate() {
            let a = neuron[0].to_f64().abs();
            let w = norm(neuron[1..].iter().map(|v| v.to_f64())).hypot(norm_of.outside[i]);
            let most = &mut norm_of.largest[i];
            *most = (most.0.max(a), most.1.max(w));
            let size = (a.max(PAST * most.0).max(OTHER * w), w.max(PAST * most.1).max(OTHER * a));
            norm_of.weights[i] = (1.0 / (norm_of.rtol * size.0), 1.0 / (norm_of.rtol * size.1));
            norm_of.a[i] = neuron[0].to_f64();
            let weight = round_off * self.gains[i] * a;
            for (n, sum) in norm_of.round_off.iter_mut().enumerate() {
                *sum += weight * (norm_of.sigma[i * span.n + n].abs() + self.pieces[i].slopes[n] * span.norms[n] * w);
            }
        }
        norm_of.residual = R::RESIDUAL * norm_of.rtol * peak(&work.residual);
    }

    fn error_norm(&mut self, e: &[f64]) -> f64 {
        let (span, norm_of) = (self.span, &self.norm);
        let mut size = 0.0_f64;
        let mut take = |error: f64| size = if error > size || error.is_nan() { error } else { size };
        let mut residual = vec![0.0; span.n];
        for (i, error) in e.chunks_exact(1 + span.k).enumerate() {
            let weights = norm_of.weights[i];
            // 0 · ∞ of a neuron that is 0 and stays so is no error.
            take(if error[0] == 0.0 { 0.0 } else { error[0].abs() * weights.0 });
            let w = norm(error[1..].iter().copied());
            take(if w == 0.0 { 0.0 } else { w * weights.1 });
            let sigma = &norm_of.sigma[i * span.n..(i + 1) * span.n];
            for (n, (sum, c)) in residual.iter_mut().zip(&self.pieces[i].slopes).enumerate() {
                *sum += self.gains[i] * (error[0] * sigma[n] + norm_of.a[i] * c * f64::dot(span.row(n), &error[1..]));
            }
        }
        for (error, round_off) in residual.iter().zip(&norm_of.round_off) {
            let beyond = error.abs() - round_off;
            if !(beyond <= 0.0) {
                take(beyond / (norm_of.residual + UNRESOLVED * round_off));
            }
        }
        size
    }
}

impl<R: Number> Implicit<R> for Smooth<'_, R> {
    type Solver = Shifts;

    fn jacobian(&mut self, _t: R, y: &[R], solver: &mut Shifts) -> bool {
        self.visit(y);
        solver.set(self, y)
    }

    fn new_solver(&self) -> Shifts {
        Shifts::new(self.span.n, self.span.k, self.pieces.len())
    }
}
