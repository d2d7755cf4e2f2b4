//! The escape from a vanishing start, in closed form. Knows no integrator.
//!
//! While `|f| ≪ |y|` the gradient is the constant h, and with `ĥ = h/‖h‖`, `p_i = c_i·ĥ` every neuron follows
//! `a_i ± p_i ∝ e^{±‖h‖t}`, the rest of `c_i` constant (THEORY §4). The relative error of the growing parts is the share of g
//! that is left out, `‖s∘q‖/‖h‖`: the formula is used where that is far below round-off, and only there. Amplitudes enter by
//! their logarithms: a start of 10^-5000 leaves its vicinity by an exponent that never was a float.

use super::modes::Modes;
use super::prepare::{Prepared, length};
use super::span::{in_span, split};

/// Largest share of the gradient that is left out.
const NEGLIGIBLE: f64 = 1e-17;
/// Growing parts below this many ulps of their terms are 0.
const ROUND_OFF: f64 = 8.0;

/// What a start does.
#[derive(Clone, Debug)]
pub(super) enum Beginning {
    /// The gradient is not constant: integrate.
    Nonlinear,
    /// Nothing of it grows: it ends in the saddle.
    Stuck,
    /// It escapes.
    Escape(Escape),
}

/// The states of an escape.
#[derive(Clone, Debug)]
pub(super) struct Escape {
    m: usize,
    /// `‖h‖` and ĥ.
    rate: f64,
    direction: Vec<f64>,
    /// Logarithm of the unit of all that follows.
    log_unit: f64,
    /// `(a_i + p_i)/2` and `(a_i − p_i)/2` at time 0.
    rising: Vec<f64>,
    falling: Vec<f64>,
    /// `c_i − p_i ĥ`, m × rank.
    still: Vec<f64>,
    /// When it is over.
    pub(super) end: f64,
}

impl Beginning {
    /// Of the start of a problem.
    pub(super) fn of(prepared: &Prepared) -> Self {
        let (modes, log_unit) = (&prepared.modes, prepared.log_start);
        let rate = length(&modes.drive);
        let unit_start = prepared.unit_start();
        let (a, c) = split(&unit_start, prepared.m());
        if rate == 0.0 || left_out(modes, a, c).ln() + 2.0 * log_unit > (NEGLIGIBLE * rate).ln() {
            return Self::Nonlinear;
        }
        let mut escape = Escape::new(modes, a, c, log_unit, rate);
        let (rising, terms) = (length(&escape.rising), length(a) + length(c));
        if rising <= ROUND_OFF * f64::EPSILON * terms {
            return Self::Stuck;
        }
        // ‖s∘q‖ ≤ s₁ (‖rising‖² e^{2E} + 2 ‖rising‖ (‖still‖ + ‖falling‖) e^{E + log unit}), E the exponent of the rising part.
        let decay = modes.largest_decay();
        let square = 0.5 * (NEGLIGIBLE * rate / (2.0 * decay * rising * rising)).ln();
        let others = length(&escape.still) + length(&escape.falling);
        let cross = (NEGLIGIBLE * rate / (4.0 * decay * rising * others)).ln() - log_unit;
        let exponent = if others > 0.0 { square.min(cross) } else { square };
        escape.end = (exponent - log_unit) / rate;
        if escape.end > 0.0 { Self::Escape(escape) } else { Self::Nonlinear }
    }
}

/// `‖s∘q‖`.
fn left_out(modes: &Modes, a: &[f64], c: &[f64]) -> f64 {
    let mut q = vec![0.0; modes.rank()];
    in_span(a, c, &mut q);
    q.iter_mut().zip(&modes.decay).for_each(|(q, s)| *q *= s);
    length(&q)
}

impl Escape {
    fn new(modes: &Modes, a: &[f64], c: &[f64], log_unit: f64, rate: f64) -> Self {
        let direction: Vec<f64> = modes.drive.iter().map(|h| h / rate).collect();
        let (mut rising, mut falling, mut still) = (Vec::new(), Vec::new(), Vec::with_capacity(c.len()));
        for (a, c) in a.iter().zip(c.chunks_exact(direction.len())) {
            let p: f64 = c.iter().zip(&direction).map(|(c, h)| c * h).sum();
            rising.push(0.5 * (a + p));
            falling.push(0.5 * (a - p));
            still.extend(c.iter().zip(&direction).map(|(c, h)| c - p * h));
        }
        Self { m: a.len(), rate, direction, log_unit, rising, falling, still, end: 0.0 }
    }

    /// The state at time `t` of the run, at most at the end: 0 where it underflows.
    pub(super) fn at(&self, t: f64, state: &mut [f64]) {
        let up = (self.log_unit + self.rate * t).exp();
        let (down, unit) = ((self.log_unit - self.rate * t).exp(), self.log_unit.exp());
        let (a, c) = state.split_at_mut(self.m);
        let rank = self.direction.len();
        for (i, (a, c)) in a.iter_mut().zip(c.chunks_exact_mut(rank)).enumerate() {
            let (rising, falling) = (self.rising[i] * up, self.falling[i] * down);
            *a = rising + falling;
            for ((c, still), h) in c.iter_mut().zip(&self.still[i * rank..]).zip(&self.direction) {
                *c = still * unit + (rising - falling) * h;
            }
        }
    }
}
