//! The start of one linear neuron in double-double: `w(0)` and `δ = a(0)² − ‖w(0)‖²`.
//!
//! By its weights, or by scale and shape, of which weights would be rounded. Several neurons are one where `W = a uᵀ`: they
//! stay so along the flow, with `‖a‖` and `‖a‖u` for the weights of the one. Over- and underflow give inf and 0.

use crate::limit::units::exactly_scaled;
use crate::linalg::Rows;
use crate::real::{DoubleDouble, Real};

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
    pub fn from_weights(a: &[f64], w: Rows<'_>, log_magnitude: f64) -> Option<Self> {
        let unit = DoubleDouble::from_f64(log_magnitude).exp();
        let a: Vec<_> = a.iter().map(|a| DoubleDouble::from_f64(*a)).collect();
        let size = squares(&a).sqrt();
        let mut inner = vec![DoubleDouble::ZERO; w.d()];
        if let [_] = a[..] {
            inner = w.row(0).iter().map(|w| DoubleDouble::from_f64(*w)).collect();
        } else {
            w.apply_transposed(&a, &mut inner);
            for v in &mut inner {
                *v /= size;
            }
            if !aligned(&a, w, &inner, size) {
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

    /// One neuron by scale `α` and shape `s`: `‖w‖ = √(α(1−s)/(1+s))` along `orientation`, `δ = 4αs/(1−s²)`.
    #[must_use]
    pub fn from_scale_shape(orientation: &[f64], scale: DoubleDouble, shape: f64) -> Self {
        let s = DoubleDouble::from_f64(shape);
        let (minus, plus) = (DoubleDouble::ONE - s, DoubleDouble::ONE + s);
        let direction: Vec<_> = orientation.iter().map(|o| DoubleDouble::from_f64(*o)).collect();
        let size = (scale * minus / plus).sqrt() / squares(&direction).sqrt();
        let delta = scale.mul_f64(4.0) * s / (minus * plus);
        Self { w: direction.iter().map(|o| *o * size).collect(), delta }
    }
}

/// Is `W_ij = a_i w_j/‖a‖` to round-off?
fn aligned(a: &[DoubleDouble], w: Rows<'_>, inner: &[DoubleDouble], size: DoubleDouble) -> bool {
    let peak = w.data().iter().fold(0.0, |m: f64, w| m.max(w.abs()));
    a.iter().enumerate().all(|(i, a)| {
        let share = *a / size;
        let off = |(w, inner): (&f64, &DoubleDouble)| (share * *inner).add_f64(-w).to_f64().abs();
        w.row(i).iter().zip(inner).map(off).all(|off| off <= ALIGNED * peak)
    })
}

fn squares(v: &[DoubleDouble]) -> DoubleDouble {
    v.iter().fold(DoubleDouble::ZERO, |sum, v| sum + *v * *v)
}
