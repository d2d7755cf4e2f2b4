//! Polynomials on the unit step through their slopes at the nodes of Radau IIA. Knows no flow.
//!
//! With nodes `0 < c_1 < … < c_K = 1` and slopes `f_j`, `q(θ) = Σ ℓ_j(θ) f_j` interpolates the slopes and
//! `p(θ) = ∫₀^θ q` is the polynomial of degree K that has them: collocation of order `2K − 1` where `f_j = F(p(c_j))`
//! (Hairer & Wanner, *Solving Ordinary Differential Equations II*, 2nd ed., IV.5). The slopes are what is kept, so that
//! `p' = q` holds exactly whatever the rounding: differences of values would lose K² ulps in it.
//!
//! Weights are formed in double-double from the powers of `ℓ_j`, whose coefficients reach 1e7 at K = 9.

use crate::real::{DoubleDouble, Real};
use core::f64::consts::PI;

/// Stages K. Steps of a method of order 13 are resolved to the round-off of binary64.
pub(super) const STAGES: usize = 9;
/// The samples are the extrema of the Chebyshev polynomial of this degree.
const DEGREE: usize = 3 * STAGES;
/// Number of samples on a step.
pub(super) const SAMPLES: usize = DEGREE + 1;

/// Weights of the slopes, one a stage.
pub(super) type Weights = [f64; STAGES];
/// The same to 30 digits.
pub(super) type ExactWeights = [DoubleDouble; STAGES];

/// The tables.
#[derive(Clone, Debug)]
pub(super) struct Polynomial {
    /// Powers of `ℓ_j`, lowest first.
    lagrange: [[DoubleDouble; STAGES]; STAGES],
    pub(super) nodes: [f64; STAGES],
    /// `A_jk = ∫₀^{c_j} ℓ_k` and its inverse, row by row.
    pub(super) integrals: [Weights; STAGES],
    pub(super) inverse: [Weights; STAGES],
    /// `∫₀¹ ℓ_k`.
    pub(super) whole: ExactWeights,
    /// The places of the samples in [0, 1], both ends among them.
    pub(super) samples: [f64; SAMPLES],
    /// Clenshaw and Curtis's weights: positive, sum 1, exact to degree [`DEGREE`].
    pub(super) quadrature: [f64; SAMPLES],
    /// Weights of `q` and of `p` at the samples.
    pub(super) slope_at: [ExactWeights; SAMPLES],
    pub(super) value_at: [ExactWeights; SAMPLES],
}

impl Polynomial {
    pub(super) fn new() -> Self {
        let nodes = radau_nodes();
        let lagrange = core::array::from_fn(|j| lagrange_powers(&nodes, j));
        let mut found = Self {
            lagrange,
            nodes,
            integrals: [[0.0; STAGES]; STAGES],
            inverse: [[0.0; STAGES]; STAGES],
            whole: [DoubleDouble::ZERO; STAGES],
            samples: core::array::from_fn(|m| 0.5 * (1.0 - (PI * m as f64 / DEGREE as f64).cos())),
            quadrature: clenshaw_curtis(),
            slope_at: [[DoubleDouble::ZERO; STAGES]; SAMPLES],
            value_at: [[DoubleDouble::ZERO; STAGES]; SAMPLES],
        };
        found.integrals = nodes.map(|c| found.value(c));
        found.inverse = inverse(&found.integrals).unwrap_or_default();
        found.whole = found.exact_value(1.0);
        found.slope_at = found.samples.map(|theta| found.slope(theta));
        found.value_at = found.samples.map(|theta| found.exact_value(theta));
        found
    }

    /// Weights of `q(θ)`.
    fn slope(&self, theta: f64) -> ExactWeights {
        self.lagrange.map(|powers| horner(&powers, theta))
    }

    /// Weights of `p(θ)`, relative error an ulp of the largest.
    pub(super) fn value(&self, theta: f64) -> Weights {
        self.exact_value(theta).map(DoubleDouble::to_f64)
    }

    fn exact_value(&self, theta: f64) -> ExactWeights {
        self.lagrange.map(|powers| {
            let integrated: [DoubleDouble; STAGES] =
                core::array::from_fn(|m| powers[m] / DoubleDouble::from_f64((m + 1) as f64));
            horner(&integrated, theta) * DoubleDouble::from_f64(theta)
        })
    }

    /// By how much the values of `p` on the whole step can leave the range of its samples, as a part of that range: a
    /// polynomial of degree K is nowhere larger than `1/cos(πK/2M)` times its largest value at the extrema of the
    /// Chebyshev polynomial of degree `M > K` (Ehlich & Zeller, *Math. Z.* 86 (1964) 41–44).
    pub(super) fn overshoot() -> f64 {
        0.5 * (1.0 / (PI * STAGES as f64 / (2 * DEGREE) as f64).cos() - 1.0) + 1e-9
    }
}

fn horner(powers: &[DoubleDouble; STAGES], theta: f64) -> DoubleDouble {
    powers.iter().rev().fold(DoubleDouble::ZERO, |sum, a| sum.mul_f64(theta) + *a)
}

/// The zeros of `P_K − P_{K−1}` on [0, 1], the last of them 1, by Newton's method from those of Chebyshev.
fn radau_nodes() -> [f64; STAGES] {
    core::array::from_fn(|j| {
        if j + 1 == STAGES {
            return 1.0;
        }
        let mut x = -((2 * j + 1) as f64 * PI / (2 * STAGES - 1) as f64).cos();
        for _ in 0..100 {
            let (value, slope) = radau_polynomial(x);
            x -= value / slope;
        }
        0.5 * (1.0 + x)
    })
}

/// `P_K − P_{K−1}` over `1 − x`, and its derivative, by the recurrence of Legendre.
fn radau_polynomial(x: f64) -> (f64, f64) {
    let (mut before, mut now) = (1.0, x);
    for k in 1..STAGES {
        let next = ((2 * k + 1) as f64 * x * now - k as f64 * before) / (k + 1) as f64;
        (before, now) = (now, next);
    }
    let degree = STAGES as f64;
    let slope = |p: f64, lower: f64, k: f64| k * (lower - x * p) / (1.0 - x * x);
    // P_{K−2} from the recurrence, backwards.
    let earlier = ((2.0 * degree - 1.0) * x * before - degree * now) / (degree - 1.0);
    let (difference, derivative) = (now - before, slope(now, before, degree) - slope(before, earlier, degree - 1.0));
    let rest = 1.0 - x;
    (difference / rest, derivative / rest + difference / (rest * rest))
}

/// The powers of `Π_{k≠j} (θ − c_k)/(c_j − c_k)`.
fn lagrange_powers(nodes: &[f64; STAGES], j: usize) -> [DoubleDouble; STAGES] {
    let mut powers = [DoubleDouble::ZERO; STAGES];
    powers[0] = DoubleDouble::ONE;
    for (k, c) in nodes.iter().enumerate().filter(|(k, _)| *k != j) {
        let gap = DoubleDouble::from_f64(nodes[j]) - DoubleDouble::from_f64(nodes[k]);
        let shifted = powers;
        for m in (0..STAGES).rev() {
            let below = if m == 0 { DoubleDouble::ZERO } else { shifted[m - 1] };
            powers[m] = (below - shifted[m].mul_f64(*c)) / gap;
        }
    }
    powers
}

/// Waldvogel, *BIT* 46 (2006) 195–202, eq. (2.4) for an odd number of intervals.
fn clenshaw_curtis() -> [f64; SAMPLES] {
    core::array::from_fn(|m| {
        let angle = PI * m as f64 / DEGREE as f64;
        let half = if m == 0 || m == DEGREE { 0.5 } else { 1.0 };
        let sum: f64 =
            (1..=DEGREE / 2).map(|k| 2.0 * (2.0 * k as f64 * angle).cos() / (1.0 - 4.0 * (k * k) as f64)).sum();
        half * (1.0 + sum) / DEGREE as f64
    })
}

/// Gauss and Jordan with pivoting; `None` if the matrix is singular or not finite.
pub(super) fn inverse(matrix: &[Weights; STAGES]) -> Option<[Weights; STAGES]> {
    let mut left = *matrix;
    let mut right: [Weights; STAGES] = core::array::from_fn(|i| core::array::from_fn(|j| f64::from(u8::from(i == j))));
    for k in 0..STAGES {
        let pivot = (k..STAGES).max_by(|a, b| left[*a][k].abs().total_cmp(&left[*b][k].abs()))?;
        left.swap(k, pivot);
        right.swap(k, pivot);
        let scale = 1.0 / left[k][k];
        if !scale.is_finite() {
            return None;
        }
        left[k].iter_mut().chain(&mut right[k]).for_each(|entry| *entry *= scale);
        let (top, top_right) = (left[k], right[k]);
        for i in (0..STAGES).filter(|i| *i != k) {
            let factor = left[i][k];
            left[i].iter_mut().zip(top).for_each(|(entry, above)| *entry -= factor * above);
            right[i].iter_mut().zip(top_right).for_each(|(entry, above)| *entry -= factor * above);
        }
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(weights: &[f64], values: impl Fn(usize) -> f64) -> f64 {
        weights.iter().enumerate().map(|(j, w)| w * values(j)).sum()
    }

    #[test]
    fn the_nodes_integrate_polynomials_of_twice_their_number_less_two() {
        // B(2K − 1): what makes the order 2K − 1. Weights are positive with sum 1: rounding stays at a few ulps.
        let table = Polynomial::new();
        let whole = table.whole.map(DoubleDouble::to_f64);
        assert!(table.nodes.is_sorted() && whole.iter().all(|w| *w > 0.0));
        for k in 0..2 * STAGES - 1 {
            let found = sum(&whole, |j| table.nodes[j].powi(i32::try_from(k).unwrap_or(0)));
            assert!((found - 1.0 / (k + 1) as f64).abs() < 1e-15, "degree {k}: {found}");
        }
    }

    #[test]
    fn powers_are_interpolated_and_integrated_at_every_sample() {
        // Lebesgue's constant of nine Radau nodes is below 10.
        let table = Polynomial::new();
        for (m, theta) in table.samples.iter().enumerate() {
            for k in 0..STAGES {
                let k_power = i32::try_from(k).unwrap_or(0);
                let power = |j: usize| table.nodes[j].powi(k_power);
                assert!((sum(&table.slope_at[m].map(DoubleDouble::to_f64), power) - theta.powi(k_power)).abs() < 1e-14);
                let integral = theta.powi(k_power + 1) / (k + 1) as f64;
                assert!((sum(&table.value_at[m].map(DoubleDouble::to_f64), power) - integral).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn the_quadrature_is_exact_to_its_degree_and_has_positive_weights() {
        let table = Polynomial::new();
        assert!(table.quadrature.iter().all(|w| *w > 0.0));
        for k in 0..=DEGREE {
            let found = sum(&table.quadrature, |m| table.samples[m].powi(i32::try_from(k).unwrap_or(0)));
            assert!((found - 1.0 / (k + 1) as f64).abs() < 1e-15, "degree {k}: {found}");
        }
    }

    #[test]
    fn the_inverse_undoes_the_integrals() {
        let table = Polynomial::new();
        for i in 0..STAGES {
            for j in 0..STAGES {
                let product: f64 = (0..STAGES).map(|k| table.integrals[i][k] * table.inverse[k][j]).sum();
                // Entries of the inverse reach 80: nine products of rounding 1e-16 each.
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
        }
        assert!(inverse(&[[0.0; STAGES]; STAGES]).is_none());
        assert!(inverse(&[[f64::NAN; STAGES]; STAGES]).is_none());
    }
}
