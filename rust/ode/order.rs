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
/// Steps after a decrease before an increase: without hysteresis the order would flutter at the border.
const PATIENCE: u32 = 10;

/// Chooses between 3, 5 and 7 stages.
#[derive(Clone, Copy, Debug)]
pub struct OrderSelection {
    /// Fewest stages allowed.
    pub min: usize,
    /// Most stages allowed.
    pub max: usize,
    patience: u32,
}

impl OrderSelection {
    /// Between `min` and `max` stages.
    #[must_use]
    pub fn between(min: usize, max: usize) -> Self {
        Self { min, max, patience: 0 }
    }

    /// Stages to begin with. The work for a solution of relative accuracy `rtol` is least at an order that grows with
    /// the number of digits (Hairer & Wanner II, IV.10, the work-precision diagrams: orders 5, 9 and 13 cross near
    /// `10^-4` and `10^-8`).
    #[must_use]
    pub fn first(&self, rtol: f64) -> usize {
        let stages = if rtol > 1e-4 {
            3
        } else if rtol > 1e-7 {
            5
        } else {
            7
        };
        stages.clamp(self.min, self.max)
    }

    /// Stages of the step after one with `stages` stages that was accepted with the convergence rate `rate`, if the
    /// next step is `growth` times as long. `trouble`: Newton failed on the way.
    #[must_use]
    pub fn next(&mut self, stages: usize, rate: f64, growth: f64, trouble: bool) -> usize {
        self.patience = self.patience.saturating_sub(1);
        if (trouble || rate >= LOWER_ABOVE) && stages > self.min {
            self.patience = PATIENCE;
            stages - 2
        } else if !trouble && rate * growth.max(1.0) <= RAISE_BELOW && self.patience == 0 && stages < self.max {
            stages + 2
        } else {
            stages
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_convergence_raises_and_trouble_lowers_the_order_within_the_bounds() {
        let mut select = OrderSelection::between(3, 7);
        assert_eq!(select.next(3, 1e-4, 1.0, false), 5);
        assert_eq!(select.next(7, 1e-4, 1.0, false), 7);
        assert_eq!(select.next(7, 0.1, 1.0, true), 5);
        assert_eq!(select.next(3, 0.9, 1.0, false), 3);
        assert_eq!(select.next(5, 0.1, 1.0, false), 5);
    }

    #[test]
    fn a_step_about_to_grow_must_converge_fast_at_its_new_length() {
        let mut select = OrderSelection::between(3, 7);
        assert_eq!(select.next(3, 1e-3, 1.0, false), 5);
        assert_eq!(select.next(3, 1e-3, 8.0, false), 3);
    }

    #[test]
    fn after_a_decrease_the_order_waits_before_it_rises_again() {
        let mut select = OrderSelection::between(3, 7);
        let mut stages = select.next(7, 0.9, 1.0, false);
        let waited = (1..100).find(|_| {
            stages = select.next(stages, 0.0, 1.0, false);
            stages > 5
        });
        assert_eq!(waited, Some(10));
    }

    #[test]
    fn more_digits_begin_with_more_stages() {
        let select = OrderSelection::between(3, 7);
        let stages = [1e-2, 1e-4, 1e-6, 1e-10, 1e-28].map(|rtol| select.first(rtol));
        assert_eq!(stages, [3, 5, 5, 7, 7]);
        assert_eq!(OrderSelection::between(3, 5).first(1e-12), 5);
    }
}
