//! The potential of one linear neuron in double-double, as a function of the predictor: see
//! [`neuron`](crate::potential::neuron) for the formulas of the norm. Knows no data and no flow.
//!
//! Norms, directions and inner products are part of it here, where Python's arrays have binary64 only.

use crate::real::{DoubleDouble, Scaled};

/// `Q(β) = q_δ(‖β‖) + ⟨z, β⟩`.
#[derive(Clone, Debug, PartialEq)]
pub struct NeuronPotential {
    /// `δ`, finite.
    pub delta: DoubleDouble,
    /// `z`, as long as every `β`; none is 0.
    pub linear: Option<Vec<DoubleDouble>>,
}

/// `|a|`, `‖w‖` and `r = (a² + ‖w‖²)/2` of a norm.
#[derive(Clone, Copy)]
struct Layers {
    a: Scaled,
    w: Scaled,
    r: Scaled,
}

/// A point by its norm and direction; the direction of 0 is 0.
struct Polar {
    norm: Scaled,
    direction: Vec<Scaled>,
}

impl Polar {
    fn new(beta: &[Scaled]) -> Self {
        let norm = sum(beta.iter().map(|x| x.square())).sqrt();
        let over = |x: &Scaled| if norm.is_zero() { Scaled::ZERO } else { *x / norm };
        Self { norm, direction: beta.iter().map(over).collect() }
    }
}

impl NeuronPotential {
    /// `Q(β)`: `q` within 20 units, as of each product of the linear term.
    #[must_use]
    pub fn value(&self, beta: &[DoubleDouble]) -> DoubleDouble {
        let point = scaled(beta);
        let linear = self.linear.as_ref().map_or(Scaled::ZERO, |z| inner(&scaled(z), &point));
        (self.of_norm(Polar::new(&point).norm) + linear).value()
    }

    /// `∇Q(β) = q'(‖β‖) β/‖β‖ + z`: the first term within 20 units; `z` at a kink.
    #[must_use]
    pub fn gradient(&self, beta: &[DoubleDouble]) -> Vec<DoubleDouble> {
        let here = Polar::new(&scaled(beta));
        let slope = self.slope(here.norm);
        let linear = |i: usize| self.linear.as_ref().map_or(Scaled::ZERO, |z| Scaled::from(z[i]));
        here.direction.iter().enumerate().map(|(i, u)| (slope * *u + linear(i)).value()).collect()
    }

    /// `∇²Q(β)`, row by row: `q''` along `β` and `q'(‖β‖)/‖β‖` across it; inf on the diagonal at a kink. Its entries are
    /// within 40 units of the larger of their two terms.
    #[must_use]
    pub fn hessian(&self, beta: &[DoubleDouble]) -> Vec<DoubleDouble> {
        let Polar { norm, direction } = Polar::new(&scaled(beta));
        let Layers { a, r, .. } = self.layers(norm);
        let across = three_halves() / a;
        let along = if r.is_zero() { across } else { three_halves() * a / r.times_power_of_two(1) };
        let squares: Vec<Scaled> = direction.iter().map(|u| u.square()).collect();
        let entry = |i: usize, j: usize| {
            let parallel = direction[i] * direction[j];
            // 1 − u_i² is what the others are, without cancellation; at 0 there is no direction, and all of it is across.
            let perpendicular = match (i == j, norm.is_zero()) {
                (true, true) => Scaled::ONE,
                (true, false) => sum(squares.iter().enumerate().filter(|(k, _)| *k != i).map(|(_, square)| *square)),
                (false, _) => -parallel,
            };
            // An infinite curvature has no share where the other factor is 0.
            let times =
                |curvature: Scaled, share: Scaled| if share.is_zero() { Scaled::ZERO } else { curvature * share };
            (times(along, parallel) + times(across, perpendicular)).value()
        };
        let d = beta.len();
        (0..d * d).map(|k| entry(k / d, k % d)).collect()
    }

    /// `D(β, β₀)`, which does not depend on `z`: within 100 units, also where the points are close.
    ///
    /// That of the norms plus `q'(‖β₀‖)(‖β‖ − ⟨β₀/‖β₀‖, β⟩)`.
    #[must_use]
    pub fn bregman(&self, beta: &[DoubleDouble], beta0: &[DoubleDouble]) -> DoubleDouble {
        let (point, centre) = (scaled(beta), scaled(beta0));
        let (here, there) = (Polar::new(&point), Polar::new(&centre));
        if there.norm.is_zero() {
            return self.of_norm(here.norm).value();
        }
        let step: Vec<Scaled> = point.iter().zip(&centre).map(|(x, y)| *x - *y).collect();
        let total = here.norm + there.norm;
        // (‖β‖² − ‖β₀‖²)/(‖β‖ + ‖β₀‖), whose digits the difference of the norms has lost
        let both: Vec<Scaled> = point.iter().zip(&centre).map(|(x, y)| *x + *y).collect();
        let gap = inner(&step, &both) / total;
        let turned = turned(&here, &there, &step, total);
        (self.bregman_of_norms(here.norm, there.norm, gap) + self.slope(there.norm) * turned).value()
    }

    /// `(‖w‖ − ‖w₀‖)² [w (w + w₀)(a + 2a₀)/(a + a₀) + a² + a a₀ + a₀²] / (2 (a + a₀))`, with
    /// `w − w₀ = gap (x + x₀)/((r + r₀)(w + w₀))`.
    fn bregman_of_norms(&self, x: Scaled, x0: Scaled, gap: Scaled) -> Scaled {
        let (Layers { a, w, r }, Layers { a: a0, w: w0, r: r0 }) = (self.layers(x), self.layers(x0));
        let (sum_a, sum_w) = (a + a0, w + w0);
        if sum_a.is_zero() || sum_w.is_zero() || gap.is_zero() {
            return Scaled::ZERO; // the same norm twice
        }
        let difference = gap * (x + x0) / ((r + r0) * sum_w);
        let bracket = w * sum_w * ((a + a0.times_power_of_two(1)) / sum_a) + a.square() + a * a0 + a0.square();
        difference.square() * bracket / sum_a.times_power_of_two(1)
    }

    /// `a² = r + δ/2`, `‖w‖² = r − δ/2`, the smaller as `x` over the larger.
    fn layers(&self, x: Scaled) -> Layers {
        let delta = Scaled::from(self.delta);
        let h = delta.abs().times_power_of_two(-1);
        let r = (x.square() + h.square()).sqrt();
        let larger = (r + h).sqrt();
        let smaller = if larger.is_zero() { Scaled::ZERO } else { x / larger };
        let (a, w) = if delta.is_negative() { (smaller, larger) } else { (larger, smaller) };
        Layers { a, w, r }
    }

    /// `q(x)`, 0 at 0.
    fn of_norm(&self, x: Scaled) -> Scaled {
        let (Layers { a, w, r }, delta) = (self.layers(x), Scaled::from(self.delta));
        if x.is_zero() {
            return Scaled::ZERO;
        }
        if delta.is_negative() {
            let h = (-delta).times_power_of_two(-1);
            return x * (w + h / w);
        }
        let root = delta.sqrt();
        x * w * (r / a + root) / (a + root)
    }

    /// `q'(x) = (3/2) ‖w‖`, from the right at 0.
    fn slope(&self, x: Scaled) -> Scaled {
        three_halves() * self.layers(x).w
    }
}

/// `‖β‖ (1 − cos θ) = 2 ‖β‖ (‖β − β₀‖_across/(‖β‖ + ‖β₀‖))²`, across the bisector of the two points: from the step between
/// them, as the directions of close points have lost its digits.
fn turned(here: &Polar, there: &Polar, step: &[Scaled], total: Scaled) -> Scaled {
    let along: Vec<Scaled> = here.direction.iter().zip(&there.direction).map(|(u, v)| *u + *v).collect();
    let Polar { norm, direction } = Polar::new(&along);
    if norm.is_below(-1) {
        // Nearly opposite points, which have no bisector to speak of, and half of ‖u − u₀‖² is near 2.
        let chord = sum(here.direction.iter().zip(&there.direction).map(|(u, v)| (*u - *v).square()));
        return here.norm * chord.times_power_of_two(-1);
    }
    let projection = inner(&direction, step);
    let across = sum(direction.iter().zip(step).map(|(u, x)| (*x - *u * projection).square()));
    here.norm * across.times_power_of_two(1) / total.square()
}

fn three_halves() -> Scaled {
    Scaled::from(1.5)
}

fn scaled(values: &[DoubleDouble]) -> Vec<Scaled> {
    values.iter().map(|x| Scaled::from(*x)).collect()
}

fn sum(terms: impl Iterator<Item = Scaled>) -> Scaled {
    terms.fold(Scaled::ZERO, |sum, term| sum + term)
}

fn inner(x: &[Scaled], y: &[Scaled]) -> Scaled {
    sum(x.iter().zip(y).map(|(x, y)| *x * *y))
}

#[cfg(test)]
mod tests;
