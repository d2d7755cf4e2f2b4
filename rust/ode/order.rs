//! How many stages the next Radau step should have. Numbers in, numbers out.
//!
//! Hairer & Wanner, *J. Comput. Appl. Math.* 111 (1999) 93–111, judge by Newton's convergence rate `Θ`: where it is
//! tiny, the stages are nearly linear in the step, and a method of higher order could take a longer one; where it nears
//! 1, the step is held back by Newton, and fewer stages, with a smaller spread of eigenvalues, converge more easily.
//!
//! They raise the order only while the step hardly changes, because `Θ` was measured with the old step. Over horizons
//! of many decades the step never stops growing; what is meant is that `Θ` must be small *for the next step*, and since
//! `Θ` grows with `h`, that is asked for here.

/// `Θ` below which the order goes up, and above which it goes down.
const RAISE_BELOW: f64 = 0.002;
const LOWER_ABOVE: f64 = 0.8;
/// Steps in a row with failures of Newton's iteration that lower the order. Hairer & Wanner lower it at the first; but
/// where solutions come in bursts, single failures mark the bursts, and the order pays off again right after them.
const TROUBLE: u32 = 3;
/// Steps after a decrease before an increase: without hysteresis the order would flutter at the border.
const PATIENCE: u32 = 10;

/// Chooses between 3, 5, 7, 9 and 11 stages.
#[derive(Clone, Copy, Debug)]
pub struct OrderSelection {
    min: usize,
    max: usize,
    /// Stages that suit the tolerance: taken up again, after patience, even if `Θ` is not tiny.
    preferred: usize,
    patience: u32,
    troubles: u32,
}

impl OrderSelection {
    /// Between `min` and `max` stages, for solutions of relative accuracy `rtol`.
    ///
    /// The work for a solution is least at an order that grows with the number of digits (Hairer & Wanner II, IV.10, the
    /// work-precision diagrams: orders 5, 9 and 13 cross near `10^-4` and `10^-7`).
    #[must_use]
    pub fn new(min: usize, max: usize, rtol: f64) -> Self {
        let stages = if rtol > 1e-4 {
            3
        } else if rtol > 1e-7 {
            5
        } else if rtol > 1e-16 {
            7
        } else if rtol > 1e-20 {
            9
        } else {
            11
        };
        Self { min, max, preferred: stages.clamp(min, max), patience: 0, troubles: 0 }
    }

    /// Stages to begin with.
    #[must_use]
    pub fn first(&self) -> usize {
        self.preferred
    }

    /// Stages of the step after one with `stages` stages that was accepted with the convergence rate `rate`, if the
    /// next step is `growth` times as long. `trouble`: Newton failed on the way.
    #[must_use]
    pub fn next(&mut self, stages: usize, rate: f64, growth: f64, trouble: bool) -> usize {
        self.patience = self.patience.saturating_sub(1);
        self.troubles = if trouble { self.troubles + 1 } else { 0 };
        let easy = stages < self.preferred || rate * growth.max(1.0) <= RAISE_BELOW;
        if (self.troubles >= TROUBLE || rate >= LOWER_ABOVE) && stages > self.min {
            (self.patience, self.troubles) = (PATIENCE, 0);
            stages - 2
        } else if easy && !trouble && self.patience == 0 && stages < self.max {
            stages + 2
        } else {
            stages
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loose() -> OrderSelection {
        OrderSelection::new(3, 7, 1e-3)
    }

    #[test]
    fn fast_convergence_raises_and_slow_convergence_lowers_the_order_within_the_bounds() {
        assert_eq!(loose().next(3, 1e-4, 1.0, false), 5);
        assert_eq!(loose().next(7, 1e-4, 1.0, false), 7);
        assert_eq!(loose().next(7, 0.9, 1.0, false), 5);
        assert_eq!(loose().next(3, 0.9, 1.0, false), 3);
        assert_eq!(loose().next(5, 0.1, 1.0, false), 5);
    }

    #[test]
    fn newton_failing_now_and_then_is_forgiven_but_not_in_several_steps_in_a_row() {
        let mut select = loose();
        for _ in 0..10 {
            assert!((1..TROUBLE).all(|_| select.next(7, 0.1, 1.0, true) == 7));
            assert_eq!(select.next(7, 0.1, 1.0, false), 7);
        }
        assert!((1..TROUBLE).all(|_| select.next(7, 0.1, 1.0, true) == 7));
        assert_eq!(select.next(7, 0.1, 1.0, true), 5);
    }

    #[test]
    fn a_step_about_to_grow_must_converge_fast_at_its_new_length() {
        assert_eq!(loose().next(3, 1e-3, 1.0, false), 5);
        assert_eq!(loose().next(3, 1e-3, 8.0, false), 3);
    }

    #[test]
    fn after_a_decrease_the_order_waits_before_it_returns_to_what_suits_the_tolerance() {
        let mut select = OrderSelection::new(3, 7, 1e-10);
        let mut stages = select.next(7, 0.9, 1.0, false);
        assert_eq!(stages, 5);
        let waited = (1..100).find(|_| {
            stages = select.next(stages, 0.1, 1.0, false);
            stages > 5
        });
        assert_eq!(waited, Some(PATIENCE));
    }

    #[test]
    fn more_digits_begin_with_more_stages() {
        let stages = [1e-2, 1e-4, 1e-6, 1e-10, 1e-28].map(|rtol| OrderSelection::new(3, 11, rtol).first());
        assert_eq!(stages, [3, 5, 5, 7, 11]);
        assert_eq!(OrderSelection::new(3, 5, 1e-12).first(), 5);
    }
}
