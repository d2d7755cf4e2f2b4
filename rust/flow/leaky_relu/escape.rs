//! A vanishing start in closed form: while `|f| ≪ |y|` the residual is y, every segment is linear with constant
//! coefficients, and the neurons do not see each other.
//!
//! With `h = P X̃ᵀC y/N`, `η = ‖h‖`, `q = hᵀu/η`: `a' = ηq`, `q' = ηa`, the rest of u is constant. So
//! `a = ½(z₊E + z₋/E)`, `q = ½(z₊E − z₋/E)` with `E = e^{ηt}`, `z± = a(0) ± q(0)`, and a pre-activation, linear in q, reaches
//! its kink at a root of a quadratic in E. Slopes of slides are constant: they end when another sample arrives.
//!
//! The relative error made in the weights is `|f|/|y|` at the end (THEORY §4), which is 2^-60 here.

use super::guards::{Guard, What};
use super::segment::{Piece, Side};
use super::smooth::pull;
use super::span::Span;
use super::units::{exponent, peak, scaled, split_exponential};
use crate::linalg::norm;
use crate::real::Real;
use core::f64::consts::LN_2;

/// `log₂` of the share of y at which f begins to count.
pub(super) const UNSEEN: f64 = -60.0;
/// Roots of one neuron closer than this in `ηt` are one event.
const TOGETHER: f64 = 1e-13;

/// One neuron from a state on.
#[derive(Clone, Debug)]
struct Mode {
    eta: f64,
    direction: Vec<f64>,
    z: (f64, f64),
    u: Vec<f64>,
    q: f64,
    exponent: f64,
}

/// All neurons from a time on.
#[derive(Clone, Debug)]
pub(super) struct Escape {
    from: f64,
    width: usize,
    modes: Vec<Mode>,
}

/// How far the closed form goes.
#[derive(Clone, Debug)]
pub(super) struct Horizon {
    /// To this time; infinite if nothing grows.
    pub(super) time: f64,
    /// What happens there; nothing if it is only that f begins to count.
    pub(super) guards: Vec<Guard>,
}

/// True if f is too small to be seen beside y.
pub(super) fn is_unseen(span: &Span, state: &[f64], gains: &[f64]) -> bool {
    let longest = peak(&span.norms);
    let neurons = state.chunks_exact(1 + span.k).zip(gains);
    let f: f64 = neurons.map(|(v, gain)| gain * v[0].abs() * longest * norm(v[1..].iter().copied())).sum();
    span.size > 0.0 && f <= scaled(span.size, UNSEEN)
}

impl Escape {
    /// From the state at time `from`; `exponents` are the units of the neurons.
    pub(super) fn new(span: &Span, pieces: &[Piece], state: &[f64], exponents: &[f64], from: f64) -> Self {
        let modes = state.chunks_exact(1 + span.k).zip(pieces).zip(exponents).map(|((neuron, piece), exponent)| {
            let mut direction = vec![0.0; span.k];
            pull(span, piece, &span.targets, &mut direction);
            let eta = norm(direction.iter().copied());
            if eta > 0.0 {
                for v in &mut direction {
                    *v /= eta;
                }
            }
            let (a, u) = (neuron[0], neuron[1..].to_vec());
            let q = f64::dot(&direction, &u);
            Mode { eta, direction, z: (a + q, a - q), u, q, exponent: *exponent }
        });
        Self { from, width: 1 + span.k, modes: modes.collect() }
    }

    /// The state at time `t`, each neuron in the unit it had, or in a larger one that is returned.
    pub(super) fn at(&self, t: f64, state: &mut [f64], exponents: &mut [f64]) {
        for ((mode, neuron), unit) in self.modes.iter().zip(state.chunks_exact_mut(self.width)).zip(exponents) {
            let (k, mantissa) = split_exponential(mode.eta * (t - self.from));
            let k = if mode.z.0 == 0.0 { 0.0 } else { k };
            let (_, falling) = split_exponential(-mode.eta * (t - self.from));
            let fallen = if mode.z.0 == 0.0 { (-mode.eta * (t - self.from)).exp() } else { scaled(falling, -2.0 * k) };
            let (rise, fall) = (0.5 * mode.z.0 * mantissa, 0.5 * mode.z.1 * fallen);
            neuron[0] = rise + fall;
            let change = (rise - fall) - scaled(mode.q, -k);
            for ((out, u), h) in neuron[1..].iter_mut().zip(&mode.u).zip(&mode.direction) {
                *out = scaled(*u, -k) + change * h;
            }
            *unit = mode.exponent + k;
        }
    }

    /// How far it goes.
    pub(super) fn horizon(&self, span: &Span, pieces: &[Piece], slope: f64) -> Horizon {
        let mut best = Horizon { time: self.seen(span), guards: Vec::new() };
        for (neuron, (mode, piece)) in self.modes.iter().zip(pieces).enumerate().filter(|_| slope < 1.0) {
            let mut offer = |time: Option<f64>, guard: Guard| {
                let Some(time) = time else { return };
                let together = TOGETHER * (time / mode.eta).max((time - self.from).abs()).max(1.0 / mode.eta);
                if time < best.time - together {
                    best = Horizon { time, guards: vec![guard] };
                } else if time <= best.time + together && !best.guards.is_empty() {
                    best.guards.push(guard);
                }
            };
            for (kink, side) in piece.pattern.sides.iter().enumerate() {
                let reach = |what| Guard { neuron, kink, what };
                if *side == Side::Sliding {
                    offer(self.zero_of_a(mode), reach(What::Repels));
                } else {
                    offer(self.reaches(mode, span.kink(kink), *side), reach(What::Reaches));
                }
            }
        }
        best
    }

    /// When f begins to count.
    fn seen(&self, span: &Span) -> f64 {
        let longest = peak(&span.norms);
        let mut first = f64::INFINITY;
        for mode in self.modes.iter().filter(|mode| mode.eta > 0.0 && mode.z.0 != 0.0) {
            // |a|‖u‖ ≤ (½|z₊|E + ½|z₋|)² + … ≤ 4 max(|z₊|, ‖(a, u)‖)² E² overstates it by a few units of ηt at most.
            let size = mode.z.0.abs().max(1e-300);
            let share = 2.0 * (mode.exponent + exponent(size)) + exponent(longest) + 2.0;
            let room = UNSEEN + exponent(span.size) - (share + span.units.0 - span.units.1);
            first = first.min(self.from + (0.5 * room * LN_2).max(1e-3) / mode.eta);
        }
        first
    }

    /// The first time at which a pre-activation on `side` stops being there.
    fn reaches(&self, mode: &Mode, row: &[f64], side: Side) -> Option<f64> {
        let along = f64::dot(row, &mode.direction);
        let q = mode.q - f64::dot(row, &mode.u) / along;
        let (plus, minus) = mode.z;
        // ½(z₊E − z₋/E) = q.
        let root = (q * q + plus * minus).sqrt();
        let big = q + root.copysign(q);
        let roots = if plus == 0.0 { [-minus / (2.0 * q), f64::NAN] } else { [big / plus, -minus / big] };
        let arrives = |e: &f64| {
            let a = 0.5 * (plus * e + minus / e);
            // NaN arrives nowhere.
            *e >= 1.0 && e.is_finite() && side.sign() * along * a < 0.0
        };
        let first = roots.into_iter().filter(arrives).fold(f64::INFINITY, f64::min);
        (first < f64::INFINITY && mode.eta > 0.0).then(|| self.from + first.ln() / mode.eta)
    }

    /// When a passes through 0.
    fn zero_of_a(&self, mode: &Mode) -> Option<f64> {
        let square = -mode.z.1 / mode.z.0;
        (square > 1.0 && square.is_finite()).then(|| self.from + 0.5 * square.ln() / mode.eta)
    }
}
