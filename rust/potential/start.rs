//! The start of a diagonal network, as far as its predictor sees it.
//!
//! With `β = u₊∘v₊ − u₋∘v₋`, `A = (u₊+v₊)² + (u₋−v₋)²` and `B = (u₊−v₊)² + (u₋+v₋)²` every coefficient is
//! `β = ¼(A e^{2G} − B e^{−2G})`, and `κ = √(AB)` decides the regime (THEORY §1). Only ln A and ln B are kept, in double-double:
//! the scale of a start is an exponent, and 10^-100000 loses no digit.

use super::diagonal::HyperbolicEntropy;
use super::double_double::diagonal::HyperbolicEntropy as Precise;
use crate::real::{DoubleDouble, Real, Scaled, two_prod, two_sum};

/// ln A and ln B of every coordinate; −∞ where a coordinate is one-sided (`A = 0`: β ≤ 0, `B = 0`: β ≥ 0).
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// ln A, the weight of the growing exponential of positive coefficients.
    pub log_a: Vec<DoubleDouble>,
    /// ln B, that of negative ones.
    pub log_b: Vec<DoubleDouble>,
}

/// The weights of one coordinate, in units of `e^log_magnitude`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// u₊.
    pub u_plus: f64,
    /// v₊.
    pub v_plus: f64,
    /// u₋.
    pub u_minus: f64,
    /// v₋.
    pub v_minus: f64,
    /// ln of the unit.
    pub log_magnitude: f64,
}

impl Start {
    /// From the weights of every coordinate.
    #[must_use]
    pub fn from_weights(weights: impl IntoIterator<Item = Weights>) -> Self {
        weights.into_iter().map(Weights::logarithms).collect()
    }

    /// From scale α and shape s, `u = √(α(1−s)/(1+s))`, `v = √(α(1+s)/(1−s))`, both paths alike (\[A\] §6):
    /// `A = B = κ = 4α(1+s²)/(1−s²)`. `|s| < 1`.
    #[must_use]
    pub fn from_scale_shape(
        log_scale: impl IntoIterator<Item = DoubleDouble>,
        shape: impl IntoIterator<Item = f64>,
    ) -> Self {
        let one = DoubleDouble::ONE;
        let log_kappa = |(log_scale, s): (DoubleDouble, f64)| {
            let (s, square) = (DoubleDouble::from_f64(s), pair(two_prod(s, s)));
            // (1−s)(1+s), not 1−s²: the factors are exact, and s may be the float next to 1.
            let ratio = (one + square) / ((one - s) * (one + s));
            let log_kappa = log_scale + DoubleDouble::LN_2 + DoubleDouble::LN_2 + ratio.ln();
            (log_kappa, log_kappa)
        };
        log_scale.into_iter().zip(shape).map(log_kappa).collect()
    }

    /// `D_Q(β, β(0))`, the sum over the coordinates. `β` has one entry for each.
    #[must_use]
    pub fn divergence(&self, beta: &[f64]) -> f64 {
        let logs = self.log_a.iter().zip(&self.log_b);
        let each = logs.map(|(a, b)| HyperbolicEntropy { log_a: a.to_f64(), log_b: b.to_f64() });
        each.zip(beta).map(|(q, beta)| q.value(*beta)).sum()
    }

    /// The same in double-double, for a `β` that is.
    #[must_use]
    pub fn divergence_double_double(&self, beta: &[DoubleDouble]) -> DoubleDouble {
        let logs = self.log_a.iter().zip(&self.log_b);
        let each = logs.map(|(a, b)| Precise { log_a: *a, log_b: *b });
        each.zip(beta).fold(DoubleDouble::ZERO, |sum, (q, beta)| sum + q.value(*beta))
    }

    /// From ln κ and the predictor β(0) at the start: `AB = κ²`, `A − B = 4β(0)`, so `ln(A/B)/2 = arcsinh(2β(0)/κ)`.
    #[must_use]
    pub fn from_kappa(
        log_kappa: impl IntoIterator<Item = DoubleDouble>,
        beta0: impl IntoIterator<Item = DoubleDouble>,
    ) -> Self {
        let logarithms = |(log_kappa, beta0): (DoubleDouble, DoubleDouble)| {
            let shift = asinh_of_twice_quotient(beta0, log_kappa);
            (log_kappa + shift, log_kappa - shift)
        };
        log_kappa.into_iter().zip(beta0).map(logarithms).collect()
    }
}

impl FromIterator<(DoubleDouble, DoubleDouble)> for Start {
    fn from_iter<T: IntoIterator<Item = (DoubleDouble, DoubleDouble)>>(pairs: T) -> Self {
        let (log_a, log_b) = pairs.into_iter().unzip();
        Self { log_a, log_b }
    }
}

impl Weights {
    /// (ln A, ln B).
    fn logarithms(self) -> (DoubleDouble, DoubleDouble) {
        let unit = DoubleDouble::from_f64(2.0 * self.log_magnitude);
        (
            log((self.u_plus, self.v_plus), (self.u_minus, -self.v_minus)) + unit,
            log((self.u_plus, -self.v_plus), (self.u_minus, self.v_minus)) + unit,
        )
    }
}

/// ln((a₀ + a₁)² + (b₀ + b₁)²).
fn log(a: (f64, f64), b: (f64, f64)) -> DoubleDouble {
    let sums = |unit: f64| (two_sum(unit * a.0, unit * a.1), two_sum(unit * b.0, unit * b.1));
    let is_finite = |(high, low): (f64, f64)| high.is_finite() && low.is_finite();
    let (a, b) = sums(1.0);
    if is_finite(a) && is_finite(b) {
        return log_sum_of_squares(pair(a), pair(b));
    }
    // The sum of two floats may exceed the largest one. Not always in this unit: a tiny sum would lose digits there, which
    // beside a sum that overflows do not count.
    let (a, b) = sums(0.25);
    log_sum_of_squares(pair(a), pair(b)) + DoubleDouble::LN_2.mul_f64(4.0)
}

fn pair((high, low): (f64, f64)) -> DoubleDouble {
    DoubleDouble::from_parts(high, low)
}

/// ln(a² + b²), −∞ where both are 0.
fn log_sum_of_squares(a: DoubleDouble, b: DoubleDouble) -> DoubleDouble {
    let size = f64::max(a.to_f64().abs(), b.to_f64().abs());
    if size == 0.0 {
        return DoubleDouble::from_f64(f64::NEG_INFINITY);
    }
    // Measured in the larger of the two, neither square over- nor underflows before it is negligible.
    // Away from the ends of the exponent range first, exactly: double-double loses digits below 2^-960.
    let power = if size < 1e-150 {
        600
    } else if size > 1e150 {
        -600
    } else {
        0
    };
    let (a, b, size) = (a.mul_f64(2.0_f64.powi(power)), b.mul_f64(2.0_f64.powi(power)), size * 2.0_f64.powi(power));
    let unit = DoubleDouble::from_f64(size);
    let (a, b) = (a / unit, b / unit);
    let log_unit = unit.ln() - DoubleDouble::LN_2.mul_f64(f64::from(power));
    log_unit + log_unit + (a * a + b * b).ln()
}

/// `arcsinh(2β e^{−ln κ})` for any ln κ.
pub(crate) fn asinh_of_twice_quotient(beta: DoubleDouble, log_kappa: DoubleDouble) -> DoubleDouble {
    let size = (Scaled::from(beta.abs()) / Scaled::exp(log_kappa)).times_power_of_two(1).asinh().value();
    if beta.to_f64() < 0.0 { -size } else { size }
}

#[cfg(test)]
mod tests;
