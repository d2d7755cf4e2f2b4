//! When, inside a step, does the first of several functions of the solution stop being positive?
//!
//! Guards `g_i(t)` are evaluated on the dense output by the caller; nothing here knows what they mean. A guard is *armed*
//! once it has been positive, and fires when it is positive no more. So one that starts at zero, because an event was
//! just stepped onto, does not fire again at once, even if round-off left it on the old side.
//!
//! The step is sampled, because looking at its ends alone misses guards that dip below zero and come back; dips between
//! two samples are found by the parabola through three. Zeros are then bracketed and found by the method of Anderson &
//! Björck (*BIT* 13 (1973) 253–264), with bisection where it stalls, to the last digits of `t`.

use crate::real::Real;

/// Parts of a step whose ends are sampled.
const SAMPLES: u32 = 8;
/// Most trial points in search of the bottom of a dip.
const DIP_TRIALS: u32 = 6;
/// Most evaluations in search of a zero: a third of them bisecting reach the last of 106 bits, and more decades below
/// the step than a dense output resolves.
const MOST_TRIALS: u32 = 600;

/// The earliest zero of a guard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event<'a, R> {
    /// When. The guard is no longer positive here, and still was a few units in the last place before.
    pub t: R,
    /// Which guards fire here, in ascending order: more than one if they do so within round-off of each other.
    pub guards: &'a [usize],
}

/// Looks for events, step after step.
#[derive(Clone, Debug)]
pub struct EventFinder<R> {
    armed: Vec<bool>,
    /// Guards at the last three samples.
    before: Vec<R>,
    left: Vec<R>,
    right: Vec<R>,
    /// Guards at a trial point.
    trial: Vec<R>,
    /// Zeros found in one part of the step.
    zeros: Vec<(usize, R)>,
    fired: Vec<usize>,
}

impl<R: Real> EventFinder<R> {
    /// For `guards` guards, none of them armed.
    #[must_use]
    pub fn new(guards: usize) -> Self {
        let zeros = || vec![R::ZERO; guards];
        Self {
            armed: vec![false; guards],
            before: zeros(),
            left: zeros(),
            right: zeros(),
            trial: zeros(),
            zeros: Vec::with_capacity(guards),
            fired: Vec::with_capacity(guards),
        }
    }

    /// Disarm all guards: after an event that changed what they mean.
    pub fn restart(&mut self) {
        self.armed.fill(false);
    }

    /// The earliest event in `(from, to]`; `evaluate(t, g)` fills in all guards at `t`.
    ///
    /// `from` is the start of the step, or the last event in it: calling again from there finds the next one.
    pub fn find(&mut self, from: R, to: R, mut evaluate: impl FnMut(R, &mut [R])) -> Option<Event<'_, R>> {
        let width = (to - from) / R::from_f64(f64::from(SAMPLES));
        evaluate(from, &mut self.left);
        self.arm_left();
        self.before.copy_from_slice(&self.left);
        let (mut t_before, mut t_left) = (from, from);
        for part in 1..=SAMPLES {
            let t_right = if part == SAMPLES { to } else { from + R::from_f64(f64::from(part)) * width };
            evaluate(t_right, &mut self.right);
            self.zeros.clear();
            for i in 0..self.armed.len() {
                if !self.armed[i] {
                    continue;
                }
                let mut guard = |t: R| {
                    evaluate(t, &mut self.trial);
                    self.trial[i]
                };
                let (before, left, right) =
                    ((t_before, self.before[i]), (t_left, self.left[i]), (t_right, self.right[i]));
                let bracket = if right.1 > R::ZERO {
                    bottom_of_dip(before, left, right, &mut guard).map(|bottom| (before, bottom))
                } else {
                    Some((left, right))
                };
                if let Some((a, b)) = bracket {
                    self.zeros.push((i, first_zero(a, b, &mut guard)));
                }
            }
            if !self.zeros.is_empty() {
                return Some(self.fire());
            }
            core::mem::swap(&mut self.before, &mut self.left);
            core::mem::swap(&mut self.left, &mut self.right);
            (t_before, t_left) = (t_left, t_right);
            self.arm_left();
        }
        None
    }

    fn arm_left(&mut self) {
        for (armed, g) in self.armed.iter_mut().zip(&self.left) {
            *armed |= *g > R::ZERO;
        }
    }

    /// Of the zeros found, the earliest and all that are within round-off of it.
    fn fire(&mut self) -> Event<'_, R> {
        let earliest = self.zeros.iter().fold(self.zeros[0].1, |t, zero| if zero.1 < t { zero.1 } else { t });
        let slack = R::from_f64(16.0 * R::UNIT_ROUNDOFF) * earliest.abs();
        self.fired.clear();
        self.fired.extend(self.zeros.iter().filter(|zero| zero.1 <= earliest + slack).map(|zero| zero.0));
        for i in &self.fired {
            self.armed[*i] = false;
        }
        Event { t: earliest, guards: &self.fired }
    }
}

/// If three positive samples dip in the middle: a point where the guard is not positive, if the parabola through the
/// lowest three points known leads to one.
fn bottom_of_dip<R: Real>(
    mut a: (R, R),
    mut middle: (R, R),
    mut b: (R, R),
    guard: &mut impl FnMut(R) -> R,
) -> Option<(R, R)> {
    for _ in 0..DIP_TRIALS {
        if !(middle.1 < a.1 && middle.1 < b.1 && a.0 < middle.0) {
            return None;
        }
        let (left, right) = ((middle.1 - a.1) / (middle.0 - a.0), (b.1 - middle.1) / (b.0 - middle.0));
        // Newton's form: the slope of the parabola vanishes at the middle of [a, middle] minus left/curvature.
        let curvature = (right - left) / (b.0 - a.0);
        let half = R::from_f64(0.5);
        let t = half * (a.0 + middle.0) - half * left / curvature;
        let lowest = a.1 + left * (t - a.0) + curvature * (t - a.0) * (t - middle.0);
        // Where the parabola stays well above zero there is no reason to look.
        if !(t > a.0 && t < b.0) || t == middle.0 || lowest > half * middle.1 {
            return None;
        }
        let point = (t, guard(t));
        if point.1 <= R::ZERO {
            return Some(point);
        }
        let (low, high) = if point.0 < middle.0 { (point, middle) } else { (middle, point) };
        if low.1 < high.1 {
            (middle, b) = (low, high);
        } else {
            (a, middle) = (low, high);
        }
    }
    None
}

/// The zero between `a`, where the guard is positive, and `b > a`, where it is not.
fn first_zero<R: Real>(mut a: (R, R), mut b: (R, R), guard: &mut impl FnMut(R) -> R) -> R {
    let half = R::from_f64(0.5);
    // Heights the secant is drawn through: those of the ends, but lowered at an end that stays for a second time.
    let (mut high, mut low) = (a.1, b.1);
    let mut last_moved_a = None;
    let mut goal = b.0 - a.0;
    for trial in 1..=MOST_TRIALS {
        let width = b.0 - a.0;
        let least = R::from_f64(2.0 * R::UNIT_ROUNDOFF) * b.0.abs();
        if width <= least + least {
            break;
        }
        let secant = a.0 + width * (high / (high - low));
        // Three trials must cut the bracket to a half, or it is bisected.
        let stalled = trial % 3 == 0 && width > half * goal;
        if trial % 3 == 0 {
            goal = if stalled { half * width } else { width };
        }
        let t = if stalled || !secant.is_finite() { a.0 + half * width } else { secant };
        // At least `least` inside: once one end has converged, this brings in the other.
        let t = if t < a.0 + least {
            a.0 + least
        } else if t > b.0 - least {
            b.0 - least
        } else {
            t
        };
        let g = guard(t);
        let moves_a = g > R::ZERO;
        let kept = if last_moved_a == Some(moves_a) { lowering(g / if moves_a { a.1 } else { b.1 }) } else { R::ONE };
        if moves_a {
            (a, high, low) = ((t, g), g, low * kept);
        } else {
            (b, high, low) = ((t, g), high * kept, g);
        }
        last_moved_a = Some(moves_a);
    }
    b.0
}

/// Anderson & Björck's factor for the end that stays while the other moves from a height to `ratio` times it.
fn lowering<R: Real>(ratio: R) -> R {
    let factor = R::ONE - ratio;
    if factor > R::ZERO { factor } else { R::from_f64(0.5) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::DoubleDouble;

    /// All events of `g` in `[from, to]`, asked for one after another.
    fn all_events(guards: usize, from: f64, to: f64, g: impl Fn(f64, &mut [f64])) -> Vec<(f64, Vec<usize>)> {
        let mut finder = EventFinder::new(guards);
        let mut found = Vec::new();
        let mut start = from;
        while let Some(event) = finder.find(start, to, &g) {
            found.push((event.t, event.guards.to_vec()));
            start = event.t;
        }
        found
    }

    #[test]
    fn a_crossing_is_found_to_the_last_digits_at_any_scale_of_time() {
        for scale in [1e-290, 1e-3, 1.0, 1e200] {
            let exact = std::f64::consts::FRAC_1_SQRT_2 * scale;
            let events = all_events(1, 0.0, scale, |t, g| g[0] = 0.5 - (t / scale).powi(2));
            assert_eq!(events.len(), 1);
            // The guard is rounded at 1e-16 and has slope √2: its zero is uncertain by 2 units, the bracket is 4 wide.
            assert!((events[0].0 / exact - 1.0).abs() < 8.0 * f64::EPSILON, "{}", events[0].0 / exact - 1.0);
        }
    }

    #[test]
    fn zeros_that_secants_approach_badly_are_found_as_well() {
        let flat = all_events(1, 0.0, 1.0, |t, g| g[0] = (0.3 - t).powi(9));
        assert!((flat[0].0 - 0.3).abs() < 1e-15);
        let jump = all_events(1, 0.0, 1.0, |t, g| g[0] = if t < 0.7 { 1e-300 } else { -1e300 });
        assert!((jump[0].0 - 0.7).abs() < 1e-15);
    }

    #[test]
    fn thirty_digits_are_found_in_double_double() {
        let mut finder = EventFinder::<DoubleDouble>::new(1);
        let two = DoubleDouble::from_f64(2.0);
        let found = finder.find(DoubleDouble::ONE, two, |t, g| g[0] = two - t * t);
        let Some(event) = found else { panic!("not found") };
        assert!((event.t - two.sqrt()).abs().to_f64() < 1e-30);
    }

    #[test]
    fn the_earliest_of_two_events_comes_first_and_the_second_on_asking_again() {
        let events = all_events(2, 0.0, 1.0, |t, g| (g[0], g[1]) = (0.61 - t, 0.6 - t));
        assert_eq!(events.iter().map(|e| e.1.clone()).collect::<Vec<_>>(), [vec![1], vec![0]]);
        assert!((events[0].0 - 0.6).abs() < 1e-15 && (events[1].0 - 0.61).abs() < 1e-15);
    }

    #[test]
    fn events_at_one_time_are_reported_together() {
        let events = all_events(3, 0.0, 1.0, |t, g| (g[0], g[1], g[2]) = (0.3 - t, 1.0, 2.0 * (0.3 - t)));
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].1, [0, 2]);
    }

    #[test]
    fn a_guard_that_starts_at_zero_or_below_fires_only_after_it_was_positive() {
        assert_eq!(all_events(1, 0.0, 1.0, |t, g| g[0] = -t), []);
        assert_eq!(all_events(1, 0.0, 1.0, |t, g| g[0] = 1e-17 * (t - 1e-9) - t), []);
        let returning = all_events(1, 0.0, 1.0, |t, g| g[0] = (t - 0.2) * (0.7 - t));
        assert_eq!(returning.len(), 1);
        assert!((returning[0].0 - 0.7).abs() < 1e-15);
    }

    #[test]
    fn a_zero_at_the_very_end_belongs_to_the_step_and_one_at_its_start_does_not() {
        let mut finder = EventFinder::new(1);
        let g = |t: f64, g: &mut [f64]| g[0] = 1.0 - t;
        assert_eq!(finder.find(0.0, 1.0, g).map(|e| e.t), Some(1.0));
        assert!(finder.find(1.0, 2.0, g).is_none());
    }

    #[test]
    fn a_dip_between_two_samples_is_not_missed() {
        // Below zero only on (0.55, 0.57): between the samples 0.5 and 0.625.
        let events = all_events(1, 0.0, 1.0, |t, g| g[0] = (t - 0.55) * (t - 0.57));
        assert_eq!(events.len(), 1);
        assert!((events[0].0 - 0.55).abs() < 1e-14);
    }

    #[test]
    fn an_armed_guard_fires_in_the_first_part_of_the_next_step() {
        let mut finder = EventFinder::new(1);
        assert!(finder.find(0.0, 1.0, |t, g: &mut [f64]| g[0] = 1.0 + 1e-9 - t).is_none());
        let Some(event) = finder.find(1.0, 2.0, |t, g| g[0] = 1.0 + 1e-9 - t) else { panic!("missed") };
        assert!((event.t - 1.0 - 1e-9).abs() < 1e-15);
    }
}
