//! The start of one linear neuron in double-double: `w(0)` and `δ = a(0)² − ‖w(0)‖²`.
//!
//! By its weights, or by scale and shape, of which weights would be rounded. Several neurons are one where `W = a uᵀ`: they
//! stay so along the flow, with `‖a‖` and `‖a‖u` for the weights of the one. Over- and underflow give inf and 0.

use crate::limit::units::exactly_scaled;
use crate::real::{DoubleDouble, Real, Scaled};

/// `W` is `a uᵀ` where no entry is further off than this part of the largest: a hundred roundings.
const ALIGNED: f64 = 100.0 * DoubleDouble::UNIT_ROUNDOFF;

/// One linear neuron at time 0, up to the sign of its outer weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Neuron {
    /// `w(0)`.
    pub w: Vec<DoubleDouble>,
    /// `a(0)² − ‖w(0)‖²`.
    pub delta: DoubleDouble,
}

impl Neuron {
    /// From the weights of one neuron, or of several in a line, in units of `e^log_magnitude`. `None` if they are not.
    #[must_use]
    pub fn from_weights(a: &[DoubleDouble], w: &[DoubleDouble], log_magnitude: DoubleDouble) -> Option<Self> {
        let unit = log_magnitude.exp();
        let size = squares(a).sqrt();
        let d = w.len() / a.len().max(1);
        let mut inner = vec![DoubleDouble::ZERO; d];
        if let [_] = a[..] {
            inner.copy_from_slice(w);
        } else {
            for (a, w) in a.iter().zip(w.chunks_exact(d)) {
                inner.iter_mut().zip(w).for_each(|(inner, w)| *inner += *a * *w);
            }
            for v in &mut inner {
                *v /= size;
            }
            if !aligned(a, w, &inner, size) {
                return None;
            }
        }
        let delta = (size - squares(&inner).sqrt()) * (size + squares(&inner).sqrt());
        Some(Self { delta: delta * unit * unit, w: inner.iter().map(|w| *w * unit).collect() })
    }

    /// `s w(0)` in units of `2^k` and `δ` in units of `4^k`.
    pub(super) fn measured(&self, sign: f64, k: i32) -> (Vec<DoubleDouble>, DoubleDouble) {
        let w = self.w.iter().map(|w| exactly_scaled(w.mul_f64(sign), -k)).collect();
        (w, exactly_scaled(self.delta, -2 * k))
    }

    /// One neuron by its scale `α` and shape `s`: `‖w‖ = √(α(1−s)/(1+s))` along `orientation`, `δ = 4αs/(1−s²)`. Where `α` is
    /// beyond binary64 its roots may not be.
    #[must_use]
    pub fn from_scale_shape(orientation: &[DoubleDouble], scale: Scaled, shape: DoubleDouble) -> Self {
        let (minus, plus) = (DoubleDouble::ONE - shape, DoubleDouble::ONE + shape);
        let delta = scale.times_power_of_two(2) * Scaled::from(shape / (minus * plus));
        Self { w: weights(orientation, scale, shape).1, delta: delta.value() }
    }
}

/// `|a| = √(α(1+s)/(1−s))` and `w = √(α(1−s)/(1+s)) u/‖u‖` of a neuron by scale, shape and orientation `u`.
#[must_use]
pub fn weights(orientation: &[DoubleDouble], scale: Scaled, shape: DoubleDouble) -> (DoubleDouble, Vec<DoubleDouble>) {
    let slope = Scaled::from((DoubleDouble::ONE + shape) / (DoubleDouble::ONE - shape)).sqrt();
    let norm = orientation.iter().fold(Scaled::ZERO, |sum, o| sum + Scaled::from(*o).square()).sqrt();
    let size = scale.sqrt() / slope / norm;
    let along = |o: &DoubleDouble| (Scaled::from(*o) * size).value();
    ((scale.sqrt() * slope).value(), orientation.iter().map(along).collect())
}

/// Is `W_ij = a_i w_j/‖a‖` to round-off?
fn aligned(a: &[DoubleDouble], w: &[DoubleDouble], inner: &[DoubleDouble], size: DoubleDouble) -> bool {
    let peak = w.iter().fold(0.0, |m: f64, w| m.max(w.to_f64().abs()));
    a.iter().zip(w.chunks_exact(inner.len())).all(|(a, w)| {
        let share = *a / size;
        let off = |(w, inner): (&DoubleDouble, &DoubleDouble)| (share * *inner - *w).to_f64().abs();
        w.iter().zip(inner).map(off).all(|off| off <= ALIGNED * peak)
    })
}

fn squares(v: &[DoubleDouble]) -> DoubleDouble {
    v.iter().fold(DoubleDouble::ZERO, |sum, v| sum + *v * *v)
}
