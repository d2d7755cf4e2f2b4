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
            // u ± v may overflow where half of it does not, and halves of subnormal numbers are none.
            let (before, after) = if u.abs().max(v.abs()) > 1.0 { (0.5, 1.0) } else { (1.0, 0.5) };
            let (sum, difference) = (before * u + before * v, before * u - before * v);
            // The magnitude joins the exponent: e^log alone may underflow where e^(log + G) does not. What is not there
            // does not grow, even by an infinite factor.
            let grown = |part: f64, g: f64, low: f64| if part == 0.0 { 0.0 } else { part * exp_sum(log, g, low) };
            let (rising, falling) = (grown(sum, g, low), grown(difference, -g, -low));
            if rising.is_finite() || falling.is_finite() {
                return (after * (rising + falling), after * (rising - falling));
            }
            // Only where e^log is beyond the largest float, and one of the weights may still be 0: e^(log + |G|) comes last.
            let top = g.abs();
            let (rising, falling) = (sum * (g - top).exp(), difference * (-g - top).exp());
            (grown(rising + falling, top, 0.0), grown(rising - falling, top, 0.0))
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
    if power.is_finite() { power + power * (error + low) } else { power }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_whose_sum_overflows_have_their_exponents_all_the_same() {
        let largest = [f64::MAX];
        let start = Weights {
            u_plus: &largest,
            v_plus: &largest,
            u_minus: &largest,
            v_minus: &largest,
            log_magnitude: &[-700.0],
        };
        let found = parameters(&start, &[1.0], &[0.0]);
        let unit = f64::MAX * (-700.0_f64).exp();
        // u = v: both grow as e^G, and those of the other pair fall. An exponent of -699 is rounded to 1.1e-13.
        assert!((found.u_plus[0] / (unit * 1.0_f64.exp()) - 1.0).abs() < 1e-12, "{}", found.u_plus[0]);
        assert!((found.v_minus[0] / (unit * (-1.0_f64).exp()) - 1.0).abs() < 1e-12, "{}", found.v_minus[0]);
        assert_eq!((found.u_plus[0], found.u_minus[0]), (found.v_plus[0], found.v_minus[0]));
    }

    #[test]
    fn weights_beyond_the_largest_float_are_infinite_and_their_partners_of_zero_are_not() {
        let (one, zero) = ([1.0], [0.0]);
        let start = Weights { u_plus: &one, v_plus: &zero, u_minus: &zero, v_minus: &zero, log_magnitude: &[800.0] };
        let found = parameters(&start, &[0.0], &[0.0]);
        assert_eq!((found.u_plus[0], found.v_plus[0]), (f64::INFINITY, 0.0));
        assert_eq!((found.u_minus[0], found.v_minus[0]), (0.0, 0.0));
    }
}
