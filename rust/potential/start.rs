//! The start of a diagonal network, as far as its predictor sees it.
//!
//! With `β = u₊∘v₊ − u₋∘v₋`, `A = (u₊+v₊)² + (u₋−v₋)²` and `B = (u₊−v₊)² + (u₋+v₋)²` every coefficient is
//! `β = ¼(A e^{2G} − B e^{−2G})`, and `κ = √(AB)` decides the regime (THEORY §1). Only ln A and ln B are kept, in double-double:
//! the scale of a start is an exponent, and 10^-100000 loses no digit.

use super::diagonal::HyperbolicEntropy;
use super::double_double::diagonal::HyperbolicEntropy as Precise;
use crate::real::{DoubleDouble, Real, Scaled};

/// ln A and ln B of every coordinate; −∞ where a coordinate is one-sided (`A = 0`: β ≤ 0, `B = 0`: β ≥ 0).
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// ln A, the weight of the growing exponential of positive coefficients.
    pub log_a: Vec<DoubleDouble>,
    /// ln B, that of negative ones.
    pub log_b: Vec<DoubleDouble>,
}

/// The weights of one coordinate, in units of `e^log_magnitude`: in binary64, or with more digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights<T = f64> {
    /// u₊.
    pub u_plus: T,
    /// v₊.
    pub v_plus: T,
    /// u₋.
    pub u_minus: T,
    /// v₋.
    pub v_minus: T,
    /// ln of the unit.
    pub log_magnitude: T,
}

impl Start {
    /// From the weights of every coordinate.
    #[must_use]
    pub fn from_weights<T: Into<DoubleDouble>>(weights: impl IntoIterator<Item = Weights<T>>) -> Self {
        weights.into_iter().map(Weights::logarithms).collect()
    }

    /// From scale α and shape s, `u = √(α(1−s)/(1+s))`, `v = √(α(1+s)/(1−s))`, both paths alike (\[A\] §6):
    /// `A = B = κ = 4α(1+s²)/(1−s²)`. `|s| < 1`.
    #[must_use]
    pub fn from_scale_shape(
        log_scale: impl IntoIterator<Item = DoubleDouble>,
        shape: impl IntoIterator<Item = impl Into<DoubleDouble>>,
    ) -> Self {
        let one = DoubleDouble::ONE;
        let log_kappa = |(log_scale, s): (DoubleDouble, DoubleDouble)| {
            // (1−s)(1+s), not 1−s²: the factors have all their digits, and s may be the number next to 1.
            let ratio = (one + s * s) / ((one - s) * (one + s));
            let log_kappa = log_scale + DoubleDouble::LN_2 + DoubleDouble::LN_2 + ratio.ln();
            (log_kappa, log_kappa)
        };
        log_scale.into_iter().zip(shape.into_iter().map(Into::into)).map(log_kappa).collect()
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

impl<T: Into<DoubleDouble>> Weights<T> {
    /// (ln A, ln B).
    fn logarithms(self) -> (DoubleDouble, DoubleDouble) {
        let unit = self.log_magnitude.into().mul_f64(2.0);
        let (u_plus, v_plus) = (self.u_plus.into(), self.v_plus.into());
        let (u_minus, v_minus) = (self.u_minus.into(), self.v_minus.into());
        (log((u_plus, v_plus), (u_minus, -v_minus)) + unit, log((u_plus, -v_plus), (u_minus, v_minus)) + unit)
    }
}

/// ln((a₀ + a₁)² + (b₀ + b₁)²). Sums of binary64 numbers are exact, others have all digits that the weights have.
fn log(a: (DoubleDouble, DoubleDouble), b: (DoubleDouble, DoubleDouble)) -> DoubleDouble {
    let sums = |unit: f64| (a.0.mul_f64(unit) + a.1.mul_f64(unit), b.0.mul_f64(unit) + b.1.mul_f64(unit));
    let (whole, other) = sums(1.0);
    if whole.is_finite() && other.is_finite() {
        return log_sum_of_squares(whole, other);
    }
    // The sum of two floats may exceed the largest one. Not always in this unit: a tiny sum would lose digits there, which
    // beside a sum that overflows do not count.
    let (whole, other) = sums(0.25);
    log_sum_of_squares(whole, other) + DoubleDouble::LN_2.mul_f64(4.0)
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
