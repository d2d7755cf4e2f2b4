//! The first step, from the size of the slope and of its change. Knows no scale of time: if `t` is measured in other
//! units, so is the answer.
//!
//! With `‖·‖` the error norm (1 is the tolerance), `d₁ = ‖y'‖` and `τ = d₁/‖y''‖` the time over which the slope changes,
//! the local error of a method of order `p` is about `d₁ h (h/τ)^p`. Hairer's rule (Hairer, Nørsett & Wanner I, II.4)
//! takes `max(‖y'‖, ‖y''‖)` instead, which compares quantities of different dimension, and starts from `‖y‖`, which is 0
//! for the dual flows this library was written for.

/// Scaled error aimed at in the first step.
const TARGET: f64 = 0.01;

/// A step over which a straight line moves the state by one tolerance: short enough to measure the change of the slope with.
/// `fallback` if nothing moves; 0, a step that no run can take, if what moves is beyond measure.
#[must_use]
pub fn probe(slope: f64, fallback: f64) -> f64 {
    if !slope.is_finite() {
        return 0.0;
    }
    let h = 1.0 / slope;
    if h > 0.0 && h.is_finite() { h.min(fallback) } else { fallback }
}

/// First step for a method of order `order` from `slope = ‖y'‖` and the `change` of the slope over a step `short`, both
/// in the error norm. (The change, not `‖y''‖`: that overflows where time is measured in small units.)
///
/// Never so long that a straight line would move the state by more than `1/rtol` tolerances, which is the state itself.
/// Where the slope is 0 but is not going to stay so, the state may move by one tolerance.
#[must_use]
pub fn first_step(slope: f64, change: f64, short: f64, order: u32, rtol: f64, longest: f64) -> f64 {
    let most = (probe(slope, longest) / rtol).min(longest);
    if slope == 0.0 || change == 0.0 {
        return most.min((short / change).sqrt());
    }
    let p = f64::from(order);
    let tau = short * (slope / change);
    // (TARGET τ^p / d₁)^(1/(p+1)), in factors that do not overflow alone.
    let h = (TARGET / slope).powf(1.0 / (p + 1.0)) * tau.powf(p / (p + 1.0));
    if h > 0.0 { h.min(most) } else { most }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_scales_with_the_unit_of_time() {
        let here = first_step(1e5, 30.0, 1e-5, 7, 1e-10, f64::MAX);
        for unit in [1e-295_f64, 1e-3, 1e7, 1e295] {
            let there = first_step(1e5 / unit, 30.0 / unit, 1e-5 * unit, 7, 1e-10, f64::MAX);
            assert!((there / unit / here - 1.0).abs() < 1e-12, "unit {unit}");
        }
    }

    #[test]
    fn the_first_step_meets_its_target_in_the_model() {
        let h = first_step(1e5, 30.0, 1e-5, 7, 1e-10, f64::MAX);
        let tau = 1e5 / (30.0 / 1e-5);
        let model = 1e5 * h * (h / tau).powi(7);
        assert!((model / TARGET - 1.0).abs() < 1e-12);
    }

    #[test]
    fn where_nothing_moves_the_whole_interval_is_tried() {
        assert_eq!(first_step(0.0, 0.0, 12.5, 3, 1e-6, 12.5), 12.5);
    }

    #[test]
    fn what_moves_faster_than_can_be_measured_is_given_no_step() {
        for slope in [f64::INFINITY, f64::NAN] {
            assert_eq!((probe(slope, 1e-7), first_step(slope, 0.0, 0.0, 7, 1e-10, 1e-7)), (0.0, 0.0));
        }
    }

    #[test]
    fn a_slope_that_starts_at_zero_moves_the_state_by_one_tolerance() {
        let h = first_step(0.0, 10.0, 1e-5, 7, 1e-10, f64::MAX);
        assert!((1e6 * h * h - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_straight_line_moves_the_state_by_no_more_than_its_own_size() {
        assert_eq!(first_step(100.0, 0.0, 0.01, 3, 1e-6, f64::MAX), 1e-2 / 1e-6);
    }
}
