//! A vanishing start in closed form: while `|f| ≪ |y|` the residual is y, every segment is linear with constant
//! coefficients, and the neurons do not see each other.
//!
//! With `h = P X̃ᵀC y/N`, `η = ‖h‖`, `q = hᵀu/η`: `a' = ηq`, `q' = ηa`, the rest of u is constant. So
//! `a = ½(z₊E + z₋/E)`, `q = ½(z₊E − z₋/E)` with `E = e^{ηt}`, `z± = a(0) ± q(0)`, and a pre-activation, linear in q, reaches
//! its kink at a root of a quadratic in E. Slopes of slides are constant: they end when another sample arrives.
//!
//! The relative error made in the weights is `|f|/|y|` at the end (THEORY §4), which is 2^-60 here, 2^-112 in double-double.

use super::guards::{Guard, What};
use super::number::Number;
use super::segment::{Piece, Side};
use super::smooth::pull;
use super::span::Span;
use super::units::{exponent, peak, scaled};
use crate::linalg::norm;
use core::f64::consts::LN_2;

/// One neuron from a state on.
#[derive(Clone, Debug)]
struct Mode<R> {
    eta: R,
    direction: Vec<R>,
    z: (R, R),
    u: Vec<R>,
    q: R,
    exponent: f64,
}

/// All neurons from a time on.
#[derive(Clone, Debug)]
pub(super) struct Escape<R = f64> {
    from: R,
    width: usize,
    modes: Vec<Mode<R>>,
}

/// How far the closed form goes.
#[derive(Clone, Debug)]
pub(super) struct Horizon<R = f64> {
    /// To this time; infinite if nothing grows.
    pub(super) time: R,
    /// What happens there; nothing if it is only that f begins to count.
    pub(super) guards: Vec<Guard>,
}

/// True if f is too small to be seen beside y.
pub(super) fn is_unseen<R: Number>(span: &Span<R>, state: &[R], gains: &[f64]) -> bool {
    let longest = peak(&span.norms);
    let neurons = state.chunks_exact(1 + span.k).zip(gains);
    let size = |u: &[R]| norm(u.iter().map(|v| v.to_f64()));
    let f: f64 = neurons.map(|(v, gain)| gain * v[0].to_f64().abs() * longest * size(&v[1..])).sum();
    span.size > 0.0 && f <= scaled(span.size, R::UNSEEN)
}

impl<R: Number> Escape<R> {
    /// From the state at time `from`; `exponents` are the units of the neurons.
    pub(super) fn new(span: &Span<R>, pieces: &[Piece<R>], state: &[R], exponents: &[f64], from: R) -> Self {
        let modes = state.chunks_exact(1 + span.k).zip(pieces).zip(exponents).map(|((neuron, piece), exponent)| {
            let mut direction = vec![R::ZERO; span.k];
            pull(span, piece, &span.targets, &mut direction);
            let eta = norm(direction.iter().copied());
            if eta > R::ZERO {
                for v in &mut direction {
                    *v /= eta;
                }
            }
            let (a, u) = (neuron[0], neuron[1..].to_vec());
            let q = R::inner(&direction, &u);
            Mode { eta, direction, z: (a + q, a - q), u, q, exponent: *exponent }
        });
        Self { from, width: 1 + span.k, modes: modes.collect() }
    }

    /// The state at time `t`, each neuron in the unit it had, or in a larger one that is returned.
    pub(super) fn at(&self, t: R, state: &mut [R], exponents: &mut [f64]) {
        for ((mode, neuron), unit) in self.modes.iter().zip(state.chunks_exact_mut(self.width)).zip(exponents) {
            let (half, still) = (R::from_f64(0.5), mode.z.0 == R::ZERO);
            let (k, mantissa) = R::split_exponential(mode.eta * (t - self.from));
            let k = if still { 0.0 } else { k };
            let (_, falling) = R::split_exponential(-mode.eta * (t - self.from));
            let fallen = if still { (-mode.eta * (t - self.from)).exp() } else { scaled(falling, -2.0 * k) };
            let (rise, fall) = (half * mode.z.0 * mantissa, half * mode.z.1 * fallen);
            neuron[0] = rise + fall;
            let change = (rise - fall) - scaled(mode.q, -k);
            for ((out, u), h) in neuron[1..].iter_mut().zip(&mode.u).zip(&mode.direction) {
                *out = scaled(*u, -k) + change * *h;
            }
            *unit = mode.exponent + k;
        }
    }

    /// How far it goes.
    pub(super) fn horizon(&self, span: &Span<R>, pieces: &[Piece<R>], slope: f64) -> Horizon<R> {
        let mut best = Horizon { time: self.seen(span), guards: Vec::new() };
        for (neuron, (mode, piece)) in self.modes.iter().zip(pieces).enumerate().filter(|_| slope < 1.0) {
            let mut offer = |time: Option<R>, guard: Guard| {
                let Some(time) = time else { return };
                let (at, since, eta) = (time.to_f64(), (time - self.from).to_f64().abs(), mode.eta.to_f64());
                let together = R::from_f64(R::SAME_ROOT * (at / eta).max(since).max(1.0 / eta));
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
                    offer(self.reaches(mode, &span.kink(kink), *side), reach(What::Reaches));
                }
            }
        }
        best
    }

    /// When f begins to count.
    fn seen(&self, span: &Span<R>) -> R {
        let longest = peak(&span.norms);
        let mut first = R::from_f64(f64::INFINITY);
        for mode in self.modes.iter().filter(|mode| mode.eta > R::ZERO && mode.z.0 != R::ZERO) {
            // |a|‖u‖ ≤ (½|z₊|E + ½|z₋|)² + … ≤ 4 max(|z₊|, ‖(a, u)‖)² E² overstates it by a few units of ηt at most.
            let size = mode.z.0.to_f64().abs().max(1e-300);
            let share = 2.0 * (mode.exponent + exponent(size)) + exponent(longest) + 2.0;
            let room = R::UNSEEN + exponent(span.size) - (share + span.units.0 - span.units.1);
            let time = self.from + R::from_f64((0.5 * room * LN_2).max(1e-3)) / mode.eta;
            if time < first {
                first = time;
            }
        }
        first
    }

    /// The first time at which a pre-activation on `side` stops being there.
    fn reaches(&self, mode: &Mode<R>, row: &[R], side: Side) -> Option<R> {
        let along = R::inner(row, &mode.direction);
        let q = mode.q - R::inner(row, &mode.u) / along;
        let (plus, minus) = mode.z;
        let two = R::from_f64(2.0);
        // ½(z₊E − z₋/E) = q.
        let root = (q * q + plus * minus).sqrt();
        let big = if q.to_f64().is_sign_negative() { q - root } else { q + root };
        let never = R::from_f64(f64::INFINITY);
        let roots = if plus == R::ZERO { [-minus / (two * q), never] } else { [big / plus, -minus / big] };
        let arrives = |e: &R| {
            let a = R::from_f64(0.5) * (plus * *e + minus / *e);
            // NaN arrives nowhere.
            *e >= R::ONE && e.is_finite() && R::from_f64(side.sign()) * along * a < R::ZERO
        };
        let first = roots.into_iter().filter(arrives).fold(never, |first, e| if e < first { e } else { first });
        (first < never && mode.eta > R::ZERO).then(|| self.from + first.ln() / mode.eta)
    }

    /// When a passes through 0.
    fn zero_of_a(&self, mode: &Mode<R>) -> Option<R> {
        let square = -mode.z.1 / mode.z.0;
        (square > R::ONE && square.is_finite()).then(|| self.from + R::from_f64(0.5) * square.ln() / mode.eta)
    }
}
