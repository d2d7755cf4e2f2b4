//! Times as the caller counts them and as the run does. Knows neither rows nor the flow.
//!
//! The run has units of its own, powers of two taken out of X and y, and the caller may count in any unit: together
//! `τ = t · unit · 2^exponent`. Both ways only multiply, first by what is near 1 and then by powers of two that all lie on
//! one side of it, so that nothing over- or underflows on the way to a number that does not.
//!
//! A given time may be 0 or infinite in the units of the run: the flow has then not begun to move, or the last state it
//! can be followed to is asked for. Two given times may be one: they have the same row. The caller's own numbers are
//! never formed again from those of the run; they would not all come back.

use crate::real::{DoubleDouble, Real};

/// The time scales of the flows that are run without given times, in the caller's unit. Rows come from some decades before
/// that scale to some after it, and how many is known only when the run is over; what is left of binary64 on either side
/// is enough for all but a few of them.
const TOLD: (f64, f64) = (1e-300, 1e300);

/// The two units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Clock {
    /// In [1, 2).
    factor: f64,
    exponent: i32,
}

impl Clock {
    /// For the caller's `unit`, in times of the flow (a normal number), where the run counts in `2^-exponent` of these.
    pub(crate) fn new(unit: f64, exponent: i32) -> Self {
        // At most ±1074, so the cast is exact; log2 may round up next to a power of two.
        #[allow(clippy::cast_possible_truncation)]
        let guess = (unit.log2().floor() as i32).clamp(-1022, 1023);
        let of_unit = if times_power_of_two(unit, -guess) < 1.0 { guess - 1 } else { guess };
        Self { factor: times_power_of_two(unit, -of_unit), exponent: exponent + of_unit }
    }

    /// Of the run; never falling as `t` rises.
    pub(crate) fn to_run(self, t: f64) -> f64 {
        // Away from the end of the range that it is near to, so that the product does not leave it.
        let (t, exponent) = if t > 1.0 { (0.5 * t, self.exponent + 1) } else { (t, self.exponent) };
        times_power_of_two(t * self.factor, exponent)
    }

    /// The same in double-double, where the product with the unit is exact but for the last bits.
    pub(crate) fn to_run_exactly(self, t: f64) -> DoubleDouble {
        let (t, exponent) = if t > 1.0 { (0.5 * t, self.exponent + 1) } else { (t, self.exponent) };
        let product = DoubleDouble::from(t).mul_f64(self.factor);
        let [high, low] = [product.high, product.low].map(|part| times_power_of_two(part, exponent));
        DoubleDouble::from_parts(high, low)
    }

    /// Of the caller; never falling as `tau` rises.
    pub(crate) fn to_caller(self, tau: f64) -> f64 {
        let (tau, exponent) = if tau < 1.0 { (2.0 * tau, self.exponent + 1) } else { (tau, self.exponent) };
        times_power_of_two(tau / self.factor, -exponent)
    }

    /// The end of a run that goes on for as long as the caller can be told its time.
    pub(crate) fn last(self) -> f64 {
        let mut last = self.to_run(f64::MAX).min(f64::MAX);
        // Rounding may have gone up, by a number or two.
        while self.to_caller(last) == f64::INFINITY {
            last = last.next_down();
        }
        last
    }

    /// What is left of `times` of a run, rising, where those that the caller cannot tell from the next are left out, and
    /// those that he cannot tell from 0.
    pub(crate) fn told_apart(self, times: Vec<f64>) -> Vec<f64> {
        let mut kept: Vec<f64> = Vec::with_capacity(times.len());
        let mut next = f64::INFINITY;
        for tau in times.into_iter().rev() {
            let t = self.to_caller(tau);
            if t > 0.0 && (t < next || kept.is_empty()) {
                kept.push(tau);
                next = t;
            }
        }
        kept.reverse();
        kept
    }

    /// The decimal exponent of the time scale `tau` of a flow, in the units of the run, whose times the caller cannot be
    /// told; `None` where he can.
    pub(crate) fn untold(self, tau: f64) -> Option<f64> {
        let told = (TOLD.0..=TOLD.1).contains(&self.to_caller(tau));
        let binary = tau.log2() - self.factor.log2() - f64::from(self.exponent);
        (!told).then_some(binary * core::f64::consts::LOG10_2)
    }
}

/// `x · 2^exponent`, over- and underflow only where the result does.
pub(crate) fn times_power_of_two(x: f64, exponent: i32) -> f64 {
    let (mut x, mut left) = (x, exponent);
    while left != 0 {
        // A subnormal result is rounded once where one factor is enough.
        let part = left.clamp(-1022, 1022);
        x *= 2.0_f64.powi(part);
        left -= part;
    }
    x
}

/// Two powers of two on the same side of 1 whose product is `2^exponent`, for exponents between ±2044.
pub(crate) fn powers_of_two(exponent: i32) -> (f64, f64) {
    let first = exponent.clamp(-1022, 1022);
    (2.0_f64.powi(first), 2.0_f64.powi(exponent - first))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [f64; 9] = [f64::MIN_POSITIVE, 1e-300, 1.9e-230, 1e-9, 1.0, 3.0, 1e10, 1e230, f64::MAX];

    #[test]
    fn a_time_comes_back_within_two_roundings_wherever_the_run_can_hold_it() {
        for unit in [1e-300, 1.1e-16, 0.999_999, 1.0, 1.5, 230_258.5, 1e12] {
            for exponent in [-2000, -1030, -900, 0, 1, 700, 1500, 2040] {
                let clock = Clock::new(unit, exponent);
                assert!((1.0..2.0).contains(&clock.factor), "{clock:?}");
                for t in SIZES {
                    let tau = clock.to_run(t);
                    let held = tau.is_normal();
                    assert!(!held || (clock.to_caller(tau) / t - 1.0).abs() <= 2.0 * f64::EPSILON, "{t:e} {clock:?}");
                    assert!(tau >= 0.0 && clock.to_caller(tau) >= 0.0, "{t:e} {clock:?}");
                }
                assert!(clock.to_caller(clock.last()).is_finite(), "{clock:?}");
            }
        }
    }

    #[test]
    fn powers_of_two_of_either_sign_that_cancel_leave_a_time_as_it_is() {
        for t in SIZES {
            assert_eq!(Clock::new(1.0, 0).to_run(t), t);
            assert_eq!(Clock::new(2.0_f64.powi(-700), 700).to_run(t), t);
        }
    }

    #[test]
    fn only_times_that_differ_are_told() {
        let (clock, tiny) = (Clock::new(1.0, 1000), f64::from_bits(1));
        let times = vec![2.0_f64.powi(-90), 2.0_f64.powi(-75), 1.1 * 2.0_f64.powi(-74), 1.2 * 2.0_f64.powi(-74), 4.0];
        let told: Vec<f64> = clock.told_apart(times).iter().map(|tau| clock.to_caller(*tau)).collect();
        assert_eq!(told, [tiny, 4.0 * 2.0_f64.powi(-1000)]);
        assert_eq!(Clock::new(1.0, 0).told_apart(vec![1.0, 2.0]), [1.0, 2.0]);
    }

    #[test]
    fn a_time_scale_that_cannot_be_told_is_refused_with_its_decimal_exponent() {
        assert_eq!(Clock::new(1.0, 0).untold(1e-3), None);
        for (tau, exponent, expected) in [(1.0, 1442, -434.0), (1.0, -1442, 434.0), (0.0, 0, f64::NEG_INFINITY)] {
            let Some(exponent) = Clock::new(1.0, exponent).untold(tau) else { panic!("{tau:e}") };
            assert!(exponent == expected || (exponent - expected).abs() < 0.5, "{exponent} for {expected}");
        }
    }
}
