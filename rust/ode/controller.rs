//! Step-size control: what to do next, given how the last step went.
//!
//! Numbers in, numbers out: nothing here knows a method, a problem or a clock, so the rule can be read and tested alone.
//!
//! A step of size `h` with an error estimate of order `q` has the scaled error `err ≈ C h^(q+1)`; the step that would
//! have just met the tolerance is `h · err^(-1/(q+1))`. In stiff problems `C` drifts from step to step, and Gustafsson's
//! predictive rule extrapolates that drift from the last two accepted steps.
//!
//! # Sources
//! Hairer & Wanner, *Solving Ordinary Differential Equations II*, 2nd ed., IV.8, eqs. (8.21) and (8.25).
//! Gustafsson, *ACM TOMS* 20 (1994) 496–517.

/// How cautiously the step size follows the error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepControl {
    /// Order `q` of the error estimate. At least 1.
    pub order: u32,
    /// Fraction of the predicted step that is tried. In (0, 1).
    pub safety: f64,
    /// Largest shrink of one decision. In (0, 1).
    pub min_factor: f64,
    /// Largest growth of one decision. Above 1.
    pub max_factor: f64,
    /// Whether the drift of `C` is extrapolated: for methods whose error constant moves slowly, the implicit ones.
    pub predictive: bool,
    /// Longest first step, in times over which the slope changes: beyond it the method is far from stable, and its error
    /// estimate sees no more of that than the solution shows. Infinite for methods that are stable at any step.
    pub first: f64,
}

/// An accepted step, kept for the prediction after the next one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accepted {
    /// Its size.
    pub h: f64,
    /// Its scaled error, at most 1.
    pub err: f64,
}

/// What went before the step that is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct History {
    /// The accepted step before it, by the same method; none at the start and after a change of method.
    pub last: Option<Accepted>,
    /// Whether a longer step from the same start was rejected.
    pub retried: bool,
}

/// What to do after a trial step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decision {
    /// Keep the step and try `h_next` from its end.
    Accept {
        /// The next step.
        h_next: f64,
    },
    /// Drop the step and try `h_retry` from the same start.
    Reject {
        /// The step to try instead, shorter.
        h_retry: f64,
    },
}

/// Errors below this count as this: one lucky step must not predict an infinite one.
const LEAST_ERROR: f64 = 1e-10;

impl StepControl {
    /// Judge a step of size `h` with scaled error `err`.
    ///
    /// A non-finite `err` rejects with the largest shrink: an overflow says that the step was too long, not by how much.
    #[must_use]
    pub fn judge(&self, h: f64, err: f64, history: History) -> Decision {
        if !err.is_finite() {
            return Decision::Reject { h_retry: h * self.min_factor };
        }
        let exponent = 1.0 / f64::from(self.order + 1);
        let plain = self.safety * err.max(LEAST_ERROR).powf(-exponent);
        if err > 1.0 {
            return Decision::Reject { h_retry: h * plain.clamp(self.min_factor, self.safety) };
        }
        // The prediction only ever lowers the factor: raising it would follow the noise of small errors.
        let factor = match history.last {
            Some(last) if self.predictive => {
                let drift = (last.err.max(LEAST_ERROR) / err.max(LEAST_ERROR)).powf(exponent);
                plain.min(plain * drift * h / last.h)
            }
            _ => plain,
        };
        // Growing at once to the length that just failed would fail again.
        let most = if history.retried { 1.0 } else { self.max_factor };
        Decision::Accept { h_next: h * factor.clamp(self.min_factor, most) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTROL: StepControl =
        StepControl { order: 4, safety: 0.9, min_factor: 0.2, max_factor: 8.0, predictive: true, first: f64::INFINITY };

    fn accepted(err: f64, history: History) -> f64 {
        let Decision::Accept { h_next } = CONTROL.judge(0.1, err, history) else { panic!("error {err} was rejected") };
        h_next
    }

    fn rejected(h: f64, err: f64) -> f64 {
        let Decision::Reject { h_retry } = CONTROL.judge(h, err, History::default()) else {
            panic!("error {err} was accepted")
        };
        h_retry
    }

    #[test]
    fn an_error_of_exactly_one_keeps_the_step_and_shortens_the_next_by_the_safety_factor() {
        assert_eq!(accepted(1.0, History::default()), 0.1 * 0.9);
    }

    #[test]
    fn a_rejected_step_shrinks_at_least_by_the_safety_factor_whatever_the_error() {
        for err in [1.0 + 1e-15, 1.5, 1e3, 1e300, f64::INFINITY, f64::NAN] {
            let h_retry = rejected(0.1, err);
            assert!(
                (0.1 * CONTROL.min_factor..=0.1 * CONTROL.safety).contains(&h_retry),
                "error {err} retries {h_retry}"
            );
        }
    }

    #[test]
    fn a_model_error_is_met_at_once_from_either_side() {
        // err = C h^5 with C = 1e5: the rule must land at the step whose error is safety^5.
        let err = |h: f64| 1e5 * h.powi(5);
        let from_above = rejected(0.2, err(0.2));
        let from_below = accepted(err(0.1) * 1e-3, History::default());
        assert!((err(from_above) / 0.9_f64.powi(5) - 1.0).abs() < 1e-12);
        assert!((err(from_below) * 1e-3 / 0.9_f64.powi(5) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_steady_drift_of_the_error_constant_is_anticipated_exactly() {
        // C grows by the factor g from step to step while h stays: the next step must meet the tolerance with g C.
        let (g, err) = (3.0_f64, 0.3);
        let history = History { last: Some(Accepted { h: 0.1, err: err / g }), retried: false };
        let h_next = accepted(err, history);
        let next_error = err * g * (h_next / 0.1).powi(5);
        assert!((next_error / 0.9_f64.powi(5) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_shrinking_error_constant_does_not_lengthen_the_step_beyond_the_plain_rule() {
        let history = History { last: Some(Accepted { h: 0.1, err: 0.9 }), retried: false };
        assert_eq!(accepted(0.4, history), accepted(0.4, History::default()));
    }

    #[test]
    fn no_step_grows_right_after_a_rejection_nor_beyond_the_largest_factor() {
        assert_eq!(accepted(0.0, History { last: None, retried: true }), 0.1);
        assert_eq!(accepted(0.0, History::default()), 0.1 * CONTROL.max_factor);
    }
}
