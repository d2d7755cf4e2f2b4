//! Every weight at any time, from `G = ∫ Xᵀr/N dt` alone, and what the flow conserves.
//!
//! `u₊+v₊` and `u₋−v₋` grow as `e^G`, `u₊−v₊` and `u₋+v₋` as `e^{−G}` (\[A\] Appendix A). With `s = u+v`, `d = u−v` at the
//! start this is `u₊ = ½(s₊e^G + d₊e^{−G})`, `v₊ = ½(s₊e^G − d₊e^{−G})`, and the same with −G for `u₋, v₋`.

use super::problem::Weights;

/// The weights at one time, each (d).
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// u₊.
    pub u_plus: Vec<f64>,
    /// v₊.
    pub v_plus: Vec<f64>,
    /// u₋.
    pub u_minus: Vec<f64>,
    /// v₋.
    pub v_minus: Vec<f64>,
}

/// What the flow conserves in each coordinate.
#[derive(Clone, Debug, PartialEq)]
pub struct Conserved {
    /// `δ₊ = v₊² − u₊²`.
    pub delta_plus: Vec<f64>,
    /// `δ₋ = v₋² − u₋²`.
    pub delta_minus: Vec<f64>,
    /// `c = u₊u₋ + v₊v₋`.
    pub c: Vec<f64>,
}

/// The weights at `G = g + g_low`, from those at the start. Relative error a few ulps of the larger weight of a pair;
/// 0 where they underflow, infinite where they overflow.
///
/// # Panics
/// If `g`, `g_low` and the weights do not all have the same length.
#[must_use]
pub fn parameters(start: &Weights<'_>, g: &[f64], g_low: &[f64]) -> Parameters {
    let d = start.u_plus.len();
    assert_eq!((g.len(), g_low.len(), start.log_magnitude.len()), (d, d, d), "lengths of G and of the weights");
    let (mut u_plus, mut v_plus) = (Vec::with_capacity(d), Vec::with_capacity(d));
    let (mut u_minus, mut v_minus) = (Vec::with_capacity(d), Vec::with_capacity(d));
    for i in 0..d {
        let log = start.log_magnitude[i];
        let pair = |u: f64, v: f64, g: f64, low: f64| {
            // The magnitude joins the exponent: e^log alone may underflow where e^(log + G) does not.
            let rising = (u + v) * exp_sum(log, g, low);
            let falling = (u - v) * exp_sum(log, -g, -low);
            (0.5 * (rising + falling), 0.5 * (rising - falling))
        };
        let (u, v) = pair(start.u_plus[i], start.v_plus[i], g[i], g_low[i]);
        u_plus.push(u);
        v_plus.push(v);
        let (u, v) = pair(start.u_minus[i], start.v_minus[i], -g[i], -g_low[i]);
        u_minus.push(u);
        v_minus.push(v);
    }
    Parameters { u_plus, v_plus, u_minus, v_minus }
}

/// `δ±` and `c` of the weights.
#[must_use]
pub fn conserved(weights: &Parameters) -> Conserved {
    let difference = |v: &[f64], u: &[f64]| v.iter().zip(u).map(|(v, u)| (v - u) * (v + u)).collect();
    let products = weights.u_plus.iter().zip(&weights.u_minus).zip(weights.v_plus.iter().zip(&weights.v_minus));
    Conserved {
        delta_plus: difference(&weights.v_plus, &weights.u_plus),
        delta_minus: difference(&weights.v_minus, &weights.u_minus),
        c: products.map(|((up, um), (vp, vm))| up * um + vp * vm).collect(),
    }
}

/// `e^(a + b + low)` without rounding the exponent: at |a| = 230000 that would cost 10 digits.
fn exp_sum(a: f64, b: f64, low: f64) -> f64 {
    let sum = a + b;
    let from_b = sum - a;
    let error = (a - (sum - from_b)) + (b - from_b);
    let power = sum.exp();
    power + power * (error + low)
}
