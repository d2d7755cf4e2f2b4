//! Is an explicit method held back by stability? Numbers in, numbers out.
//!
//! The last two stages of a step are both at its end; the quotient of their slopes' and their states' difference
//! estimates the dominant eigenvalue `ρ` of the Jacobian. If `h ρ` stays at the border of the stability region, the step
//! is chosen by stability, and the problem is stiff for this method (Hairer & Wanner II, IV.2, (2.25), (2.26)).
//!
//! Hairer's program looks at every thousandth step, to save two norms; here they cost nothing beside twelve
//! right-hand sides, and every step is looked at.

/// Border of the stability region of Dormand & Prince 8 along the negative real axis, with a margin.
const BORDER: f64 = 6.1;
/// Steps `h ρ` so far beyond the border grow what the error estimate does not see, and what is between the ends of a step, by this
/// to the twelfth power and more; where that is below the tolerance they would be accepted.
pub const BEYOND: f64 = 4.0 * BORDER;
/// Steps at the border that make a problem stiff.
const STIFF_AFTER: u32 = 15;
/// Steps inside in a row that make it forget.
const CALM_AFTER: u32 = 6;

/// Remembers how often `h ρ` was at the border.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stiffness {
    at_border: u32,
    inside: u32,
}

impl Stiffness {
    /// Take note of an accepted step with `h ρ`.
    pub fn observe(&mut self, h_rho: f64) {
        if h_rho > BORDER {
            self.at_border += 1;
            self.inside = 0;
        } else {
            self.inside += 1;
            if self.inside >= CALM_AFTER {
                self.at_border = 0;
            }
        }
    }

    /// The largest factor from a step with `h ρ` to the next that stays near the border, whatever its error allows. At least
    /// 1: where the two differences are round-off so is `ρ`, and no reason to take shorter steps.
    #[must_use]
    pub fn growth(h_rho: f64) -> f64 {
        if h_rho > 0.0 { (BEYOND / h_rho).max(1.0) } else { f64::INFINITY }
    }

    /// True if stability has limited the steps of late.
    #[must_use]
    pub fn is_stiff(self) -> bool {
        self.at_border >= STIFF_AFTER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(pattern: &[f64]) -> bool {
        let mut stiffness = Stiffness::default();
        for h_rho in pattern {
            stiffness.observe(*h_rho);
        }
        stiffness.is_stiff()
    }

    #[test]
    fn steps_beyond_the_border_do_not_grow_and_others_do_so_freely() {
        assert_eq!((Stiffness::growth(1e8), Stiffness::growth(BEYOND)), (1.0, 1.0));
        assert_eq!((Stiffness::growth(0.5 * BEYOND), Stiffness::growth(0.0)), (2.0, f64::INFINITY));
        assert_eq!((Stiffness::growth(f64::NAN), Stiffness::growth(f64::INFINITY)), (f64::INFINITY, 1.0));
    }

    #[test]
    fn fifteen_steps_at_the_border_are_stiff_even_with_short_pauses() {
        assert!(after(&[6.5; 15]));
        assert!(!after(&[6.5; 14]));
        let paused: Vec<f64> = [6.5, 6.5, 6.5, 1.0, 1.0].repeat(5);
        assert!(after(&paused));
    }

    #[test]
    fn a_calm_stretch_is_forgiven() {
        let calmed: Vec<f64> = [&[6.5; 14][..], &[1.0; 6], &[6.5; 14]].concat();
        assert!(!after(&calmed));
    }

    #[test]
    fn steps_inside_the_stability_region_are_never_stiff() {
        assert!(!after(&[6.0; 1000]));
        assert!(!after(&[f64::NAN; 1000]));
    }
}
