//! The escape from a vanishing start, in closed form. Knows no integrator.
//!
//! While `|f| ≪ |y|` the gradient is the constant h, and with `ĥ = h/‖h‖`, `p_i = c_i·ĥ` every neuron follows
//! `a_i ± p_i ∝ e^{±‖h‖t}`, the rest of `c_i` constant (THEORY §4). The relative error of the growing parts is the share of g
//! that is left out, `‖s∘q‖/‖h‖`: the formula is used where that is far below round-off, and only there. Amplitudes enter by
//! their logarithms: a start of 10^-5000 leaves its vicinity by an exponent that never was a float.

use super::modes::Modes;
use super::number::Number;
use super::prepare::Prepared;
use super::span::{in_span, split};
use crate::linalg::length;

/// Growing parts below this many ulps of their terms are 0.
const ROUND_OFF: f64 = 8.0;

/// What a start does.
#[derive(Clone, Debug)]
pub(super) enum Beginning<R = f64> {
    /// The gradient is not constant: integrate.
    Nonlinear,
    /// Nothing of it grows: it ends in the saddle.
    Stuck,
    /// It escapes.
    Escape(Escape<R>),
}

/// The states of an escape.
#[derive(Clone, Debug)]
pub(super) struct Escape<R = f64> {
    m: usize,
    /// `‖h‖` and ĥ.
    rate: R,
    direction: Vec<R>,
    /// Logarithm of the unit of all that follows.
    log_unit: R,
    /// `(a_i + p_i)/2` and `(a_i − p_i)/2` at time 0.
    rising: Vec<R>,
    falling: Vec<R>,
    /// `c_i − p_i ĥ`, m × rank.
    still: Vec<R>,
    /// When it is over.
    pub(super) end: R,
}

impl<R: Number> Beginning<R> {
    /// Of the start of a problem.
    pub(super) fn of(prepared: &Prepared<R>) -> Self {
        let (modes, log_unit) = (&prepared.modes, prepared.log_start.to_f64());
        let exact_rate = length(&modes.drive);
        let rate = exact_rate.to_f64();
        let unit_start = prepared.unit_start();
        let (a, c) = split(&unit_start, prepared.m());
        if rate == 0.0 || left_out(modes, a, c).ln() + 2.0 * log_unit > (R::NEGLIGIBLE * rate).ln() {
            return Self::Nonlinear;
        }
        let mut escape = Escape::new(modes, a, c, prepared.log_start, exact_rate);
        let size = |v: &[R]| length(v).to_f64();
        let (rising, terms) = (size(&escape.rising), size(a) + size(c));
        if rising <= ROUND_OFF * R::ULP * terms {
            return Self::Stuck;
        }
        // ‖s∘q‖ ≤ s₁ (‖rising‖² e^{2E} + 2 ‖rising‖ (‖still‖ + ‖falling‖) e^{E + log unit}), E the exponent of the rising part.
        let decay = modes.largest_decay();
        let square = 0.5 * (R::NEGLIGIBLE * rate / (2.0 * decay * rising * rising)).ln();
        let others = size(&escape.still) + size(&escape.falling);
        let cross = (R::NEGLIGIBLE * rate / (4.0 * decay * rising * others)).ln() - log_unit;
        let exponent = if others > 0.0 { square.min(cross) } else { square };
        escape.end = R::from_f64((exponent - log_unit) / rate);
        if escape.end > R::ZERO { Self::Escape(escape) } else { Self::Nonlinear }
    }
}

/// `‖s∘q‖`.
fn left_out<R: Number>(modes: &Modes<R>, a: &[R], c: &[R]) -> f64 {
    let mut q = vec![R::ZERO; modes.rank()];
    in_span(a, c, &mut q);
    let parts: Vec<f64> = q.iter().zip(&modes.decay).map(|(q, s)| q.to_f64() * s).collect();
    length(&parts)
}

impl<R: Number> Escape<R> {
    fn new(modes: &Modes<R>, a: &[R], c: &[R], log_unit: R, rate: R) -> Self {
        let half = R::from_f64(0.5);
        let direction: Vec<R> = modes.drive.iter().map(|h| *h / rate).collect();
        let (mut rising, mut falling, mut still) = (Vec::new(), Vec::new(), Vec::with_capacity(c.len()));
        for (a, c) in a.iter().zip(c.chunks_exact(direction.len())) {
            let p = c.iter().zip(&direction).fold(R::ZERO, |sum, (c, h)| sum + *c * *h);
            rising.push(half * (*a + p));
            falling.push(half * (*a - p));
            still.extend(c.iter().zip(&direction).map(|(c, h)| *c - p * *h));
        }
        Self { m: a.len(), rate, direction, log_unit, rising, falling, still, end: R::ZERO }
    }

    /// The state at time `t` of the run, at most at the end: 0 where it underflows.
    pub(super) fn at(&self, t: R, state: &mut [R]) {
        let up = (self.log_unit + self.rate * t).exp();
        let (down, unit) = ((self.log_unit - self.rate * t).exp(), self.log_unit.exp());
        let (a, c) = state.split_at_mut(self.m);
        let rank = self.direction.len();
        for (i, (a, c)) in a.iter_mut().zip(c.chunks_exact_mut(rank)).enumerate() {
            let (rising, falling) = (self.rising[i] * up, self.falling[i] * down);
            *a = rising + falling;
            for ((c, still), h) in c.iter_mut().zip(&self.still[i * rank..]).zip(&self.direction) {
                *c = *still * unit + (rising - falling) * *h;
            }
        }
    }
}
