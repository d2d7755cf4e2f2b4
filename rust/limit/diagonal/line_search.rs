//! How long a damped Newton step should be: to where the dual stops falling along it.
//!
//! The dual is convex along the step, so its derivative `φ'(ℓ) = (β(G + ℓXᵀδ) − β(G))ᵀXᵀδ − rᵀδ` rises through 0 once.
//! Newton finds the place, bisection where it leaves the bracket: `d` exponentials a trial, no product with the data.

use super::dual::{Point, Step};
use super::exponents::Exponents;

/// The derivative has fallen to this part of its size at the start: closer to 0 saves no system.
const FLAT: f64 = 0.05;
/// Exponents gain no more than this from one trial to the next.
const STRIDE: f64 = 3.0;
/// Trials at most; three are the rule.
const TRIALS: usize = 8;

/// `ln(1+m)/m`: the dual falls for certain along a Newton step of this length that moves exponents by `m` at full length.
pub(super) fn safe_length(movement: f64) -> f64 {
    movement.ln_1p() / movement
}

/// Set the length of `step`, a descent direction at `from` that moves exponents by `movement`, from the safe one on. `scratch` is overwritten.
pub(super) fn shorten(step: &mut Step, movement: f64, from: &Point, scratch: &mut Point, start: &Exponents) {
    let safe = safe_length(movement);
    let slope: f64 = from.white.iter().zip(&step.nu).map(|(r, d)| r * d).sum();
    step.length = safe;
    let (mut low, mut high, mut length) = (0.0, f64::INFINITY, safe);
    for _ in 0..TRIALS {
        let (come, rate) = scratch.slide(from, step, length, start);
        let ahead = slope - come;
        if ahead.abs() <= FLAT * slope {
            step.length = length;
            return;
        }
        // Also where something overflowed: not a number is not ahead.
        if ahead > 0.0 {
            low = length;
        } else {
            high = length;
        }
        // Newton on an exponential overshoots as far as it is from the end.
        let newton = length + (ahead / rate).min(STRIDE / movement);
        length = if newton > low && newton < high { newton } else { 0.5 * (low + high.min(2.0 * length)) };
    }
    // As far as it is known to fall.
    step.length = if low > 0.0 { low } else { safe };
}
