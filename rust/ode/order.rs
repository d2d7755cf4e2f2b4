//! How many stages the next Radau step should have. Numbers in, numbers out.
//!
//! Hairer & Wanner, *J. Comput. Appl. Math.* 111 (1999) 93–111, judge by Newton's convergence rate `Θ`: where it is
//! tiny, a method of higher order could take a longer step; where it nears 1, the step is held back by Newton, and fewer
//! stages, with a smaller spread of eigenvalues, converge more easily.
//!
//! Only the second is done here. The order begins with what suits the tolerance, and never goes above that: longer steps
//! than the tolerance asks for are not to be had cheaply. (Measured on the dual flow at scale 1e-100, tolerance 1e-3: 59
//! steps with 3 stages, 600 to 80,000 where `Θ` may raise the order to 7, all but a few of them waiting for Newton.)

/// `Θ` above which the order goes down.
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
    /// Stages that suit the tolerance: the most there are, taken up again after patience.
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
        } else if rtol > 1e-15 {
            7
        } else if rtol > 1e-18 {
            9
        } else {
            11
        };
        Self { min, preferred: stages.clamp(min, max), patience: 0, troubles: 0 }
    }

    /// Stages to begin with, and the most there will be.
    #[must_use]
    pub fn first(&self) -> usize {
        self.preferred
    }

    /// Stages of the step after one with `stages` stages that was accepted with the convergence rate `rate`. `trouble`:
    /// Newton failed on the way.
    #[must_use]
    pub fn next(&mut self, stages: usize, rate: f64, trouble: bool) -> usize {
        self.patience = self.patience.saturating_sub(1);
        self.troubles = if trouble { self.troubles + 1 } else { 0 };
        let slow = rate >= LOWER_ABOVE;
        if (self.troubles >= TROUBLE || slow) && stages > self.min {
            (self.patience, self.troubles) = (PATIENCE, 0);
            stages - 2
        } else if !(trouble || slow) && self.patience == 0 && stages < self.preferred {
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
    fn slow_convergence_lowers_the_order_within_the_bounds_and_fast_convergence_keeps_what_suits_the_tolerance() {
        let select = || OrderSelection::new(5, 11, 1e-10);
        assert_eq!(select().next(7, 0.9, false), 5);
        assert_eq!(select().next(5, 0.9, false), 5);
        assert_eq!(select().next(7, 1e-8, false), 7);
    }

    #[test]
    fn newton_failing_now_and_then_is_forgiven_but_not_in_several_steps_in_a_row() {
        let mut select = OrderSelection::new(3, 7, 1e-10);
        for _ in 0..10 {
            assert!((1..TROUBLE).all(|_| select.next(7, 0.1, true) == 7));
            assert_eq!(select.next(7, 0.1, false), 7);
        }
        assert!((1..TROUBLE).all(|_| select.next(7, 0.1, true) == 7));
        assert_eq!(select.next(7, 0.1, true), 5);
    }

    #[test]
    fn after_a_decrease_the_order_waits_before_it_returns_to_what_suits_the_tolerance() {
        let mut select = OrderSelection::new(3, 7, 1e-10);
        let mut stages = select.next(7, 0.9, false);
        assert_eq!(stages, 5);
        let waited = (1..100).find(|_| {
            stages = select.next(stages, 0.1, false);
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
