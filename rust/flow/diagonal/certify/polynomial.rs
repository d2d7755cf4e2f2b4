//! Polynomials on the unit step through their slopes at the nodes of Radau IIA. Knows no flow.
//!
//! With nodes `0 < c_1 < … < c_K = 1` and slopes `f_j`, `q(θ) = Σ ℓ_j(θ) f_j` interpolates the slopes and
//! `p(θ) = ∫₀^θ q` is the polynomial of degree K that has them: collocation of order `2K − 1` where `f_j = F(p(c_j))`
//! (Hairer & Wanner, *Solving Ordinary Differential Equations II*, 2nd ed., IV.5). The slopes are what is kept, so that
//! `p' = q` holds exactly whatever the rounding: differences of values would lose K² ulps in it.
//!
//! The basis is Legendre's, `ℓ_j = Σ_l (2l + 1) b_j P_l(c_j) P_l` with the weights `b_j` of Radau's rule, which is exact to degree
//! `2K − 2`: powers of θ would cost as many digits as their coefficients have, eleven at K = 15.

use crate::real::{DoubleDouble, Real};
use core::f64::consts::PI;

/// Stages K. A step that seven stages resolve to ε has a defect of about ε² on fifteen.
pub(super) const STAGES: usize = 15;
/// The range is that of the extrema of the Chebyshev polynomial of this degree.
const DEGREE: usize = 3 * STAGES;
const EXTREMA: usize = DEGREE + 1;
/// Points of Gauss at which a defect is sampled: the square of a polynomial of degree K + 4, 0 at the nodes but for four
/// factors, is integrated exactly.
pub(super) const POINTS: usize = STAGES + 5;
/// Newton's iterations for zeros that binary64 resolves, from guesses that lie between their neighbours.
const ITERATIONS: usize = 60;

/// Weights of the slopes, one a stage.
pub(super) type Weights = [f64; STAGES];
/// The same to 30 digits.
pub(super) type ExactWeights = [DoubleDouble; STAGES];

/// The tables.
#[derive(Clone, Debug)]
pub(super) struct Polynomial {
    /// `(2l + 1) b_j P_l(c_j)`, a node a row.
    legendre: [ExactWeights; STAGES],
    pub(super) nodes: Weights,
    /// `A_jk = ∫₀^{c_j} ℓ_k` and its inverse, row by row.
    pub(super) integrals: [Weights; STAGES],
    pub(super) inverse: [Weights; STAGES],
    /// `∫₀¹ ℓ_k`.
    pub(super) whole: ExactWeights,
    /// Weights of `p` where the range is sampled, both ends among the places.
    pub(super) range_at: [Weights; EXTREMA],
    /// Gauss's points in [0, 1] and their weights: positive, sum 1, exact to degree `2 POINTS − 1`.
    pub(super) points: [f64; POINTS],
    pub(super) quadrature: [f64; POINTS],
    /// Weights of `q` and of `p` at the points.
    pub(super) slope_at: [ExactWeights; POINTS],
    pub(super) value_at: [ExactWeights; POINTS],
    /// From values at the points to those at the nodes of the polynomial of degree `K − 1` that is nearest to them in `L²`.
    pub(super) projection: [[f64; POINTS]; STAGES],
}

impl Polynomial {
    pub(super) fn new() -> Self {
        let nodes = radau_nodes();
        let (points, quadrature) = gauss();
        let zeros = [DoubleDouble::ZERO; STAGES];
        let mut found = Self {
            legendre: nodes.map(expansion),
            nodes: nodes.map(|x| on_unit(x).to_f64()),
            integrals: [[0.0; STAGES]; STAGES],
            inverse: [[0.0; STAGES]; STAGES],
            whole: zeros,
            range_at: [[0.0; STAGES]; EXTREMA],
            points,
            quadrature,
            slope_at: [zeros; POINTS],
            value_at: [zeros; POINTS],
            projection: nodes.map(|node| projection(node, &points, &quadrature)),
        };
        found.integrals = nodes.map(|x| found.integral(x).map(DoubleDouble::to_f64));
        found.inverse = inverse(&found.integrals).unwrap_or_default();
        found.whole = found.value(1.0);
        let extremum = |m: usize| 0.5 * (1.0 - (PI * m as f64 / DEGREE as f64).cos());
        found.range_at = core::array::from_fn(|m| found.value(extremum(m)).map(DoubleDouble::to_f64));
        found.slope_at = points.map(|theta| found.slope(theta));
        found.value_at = points.map(|theta| found.value(theta));
        found
    }

    /// Weights of `q(θ)`.
    pub(super) fn slope(&self, theta: f64) -> ExactWeights {
        let mut values = [DoubleDouble::ZERO; STAGES];
        legendre(from_unit(theta), &mut values);
        self.legendre.map(|row| inner(&row, &values))
    }

    /// Weights of `p(θ)`.
    pub(super) fn value(&self, theta: f64) -> ExactWeights {
        self.integral(from_unit(theta))
    }

    /// `∫₀^θ P_l = (P_{l+1} − P_{l−1})/(4l + 2)` at `x = 2θ − 1`, and θ for `l = 0`.
    fn integral(&self, x: DoubleDouble) -> ExactWeights {
        let mut values = [DoubleDouble::ZERO; STAGES + 1];
        legendre(x, &mut values);
        let integrals: ExactWeights = core::array::from_fn(|l| match l {
            0 => on_unit(x),
            _ => (values[l + 1] - values[l - 1]) / DoubleDouble::from_f64((4 * l + 2) as f64),
        });
        self.legendre.map(|row| inner(&row, &integrals))
    }

    /// By how much the values of `p` on the whole step can leave the range of its samples, as a part of that range: a
    /// polynomial of degree K is nowhere larger than `1/cos(πK/2M)` times its largest value at the extrema of the
    /// Chebyshev polynomial of degree `M > K` (Ehlich & Zeller, *Math. Z.* 86 (1964) 41–44).
    pub(super) fn overshoot() -> f64 {
        0.5 * (1.0 / (PI * STAGES as f64 / (2 * DEGREE) as f64).cos() - 1.0) + 1e-9
    }
}

fn inner(a: &ExactWeights, b: &ExactWeights) -> DoubleDouble {
    a.iter().zip(b).fold(DoubleDouble::ZERO, |sum, (a, b)| sum + *a * *b)
}

/// From [−1, 1] to [0, 1] …
fn on_unit(x: DoubleDouble) -> DoubleDouble {
    x.add_f64(1.0).mul_f64(0.5)
}

/// … and back.
fn from_unit(theta: f64) -> DoubleDouble {
    DoubleDouble::from_f64(2.0 * theta).add_f64(-1.0)
}

/// `P_0(x), P_1(x), …`.
fn legendre(x: DoubleDouble, values: &mut [DoubleDouble]) {
    let (mut before, mut now) = (DoubleDouble::ZERO, DoubleDouble::ONE);
    for (l, value) in values.iter_mut().enumerate() {
        *value = now;
        let next = (x * now).mul_f64((2 * l + 1) as f64) - before.mul_f64(l as f64);
        (before, now) = (now, next / DoubleDouble::from_f64((l + 1) as f64));
    }
}

/// `P_{n−1}` and `P_n` in binary64, `n ≥ 1`.
fn last_two(n: usize, x: f64) -> (f64, f64) {
    let (mut before, mut now) = (1.0, x);
    for k in 1..n {
        let next = ((2 * k + 1) as f64 * x * now - k as f64 * before) / (k + 1) as f64;
        (before, now) = (now, next);
    }
    (before, now)
}

/// `P_n'` at |x| < 1.
fn derivative(n: usize, (before, now): (f64, f64), x: f64) -> f64 {
    n as f64 * (before - x * now) / (1.0 - x * x)
}

/// The zeros of `P_K − P_{K−1}` on [−1, 1], the last of them 1, by Newton's method from those of Chebyshev: in binary64 with
/// the zero at 1 divided out, then in double-double.
fn radau_nodes() -> ExactWeights {
    let slope = |x: f64| {
        let ((before, now), (earlier, _)) = (last_two(STAGES, x), last_two(STAGES - 1, x));
        (now - before, derivative(STAGES, (before, now), x) - derivative(STAGES - 1, (earlier, before), x))
    };
    core::array::from_fn(|j| {
        if j + 1 == STAGES {
            return DoubleDouble::ONE;
        }
        let mut x = -((2 * j + 1) as f64 * PI / (2 * STAGES - 1) as f64).cos();
        for _ in 0..ITERATIONS {
            let (value, slope) = slope(x);
            x -= value / (slope + value / (1.0 - x));
        }
        polished(x, slope(x).1, |values| values[STAGES] - values[STAGES - 1])
    })
}

/// Two steps of Newton's method more, the value in double-double: each gains 15 digits.
fn polished(x: f64, slope: f64, value: impl Fn(&[DoubleDouble]) -> DoubleDouble) -> DoubleDouble {
    let (mut x, mut values) = (DoubleDouble::from_f64(x), [DoubleDouble::ZERO; STAGES + 1]);
    for _ in 0..2 {
        legendre(x, &mut values);
        x -= value(&values) / DoubleDouble::from_f64(slope);
    }
    x
}

/// `(2l + 1) b P_l(x)` at a node, `b = (1 + x)/(2K² P_{K−1}(x)²)` its weight in Radau's rule on [0, 1].
fn expansion(x: DoubleDouble) -> ExactWeights {
    let mut values = [DoubleDouble::ZERO; STAGES];
    legendre(x, &mut values);
    let last = values[STAGES - 1];
    let weight = x.add_f64(1.0) / (last * last).mul_f64((2 * STAGES * STAGES) as f64);
    core::array::from_fn(|l| (weight * values[l]).mul_f64((2 * l + 1) as f64))
}

/// Gauss's points on [0, 1] and their weights, `1/((1 − x²) P'(x)²)`.
fn gauss() -> ([f64; POINTS], [f64; POINTS]) {
    let slope = |x: f64| derivative(POINTS, last_two(POINTS, x), x);
    let zeros: [f64; POINTS] = core::array::from_fn(|m| {
        let mut x = -(PI * (m as f64 + 0.75) / (POINTS as f64 + 0.5)).cos();
        for _ in 0..ITERATIONS {
            x -= last_two(POINTS, x).1 / slope(x);
        }
        x
    });
    (zeros.map(|x| 0.5 * (1.0 + x)), zeros.map(|x| 1.0 / ((1.0 - x * x) * slope(x) * slope(x))))
}

/// `w_m Σ_{l<K} (2l + 1) P_l(c) P_l(θ_m)`.
fn projection(node: DoubleDouble, points: &[f64; POINTS], weights: &[f64; POINTS]) -> [f64; POINTS] {
    let (mut here, mut there) = ([DoubleDouble::ZERO; STAGES], [DoubleDouble::ZERO; STAGES]);
    legendre(node, &mut here);
    for (l, value) in here.iter_mut().enumerate() {
        *value = value.mul_f64((2 * l + 1) as f64);
    }
    core::array::from_fn(|m| {
        legendre(from_unit(points[m]), &mut there);
        weights[m] * inner(&here, &there).to_f64()
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
    fn powers_are_interpolated_and_integrated_at_every_point_to_thirty_digits() {
        // A polynomial of nodes that are known to 30 digits, from values that are: sums of fifteen, Lebesgue's constant below 10.
        let table = Polynomial::new();
        let power = |x: DoubleDouble, k: usize| (0..k).fold(DoubleDouble::ONE, |power, _| power * x);
        let nodes = radau_nodes().map(on_unit);
        for (m, theta) in table.points.iter().enumerate() {
            let theta = DoubleDouble::from_f64(*theta);
            for k in 0..STAGES {
                let sum = |weights: &ExactWeights| inner(weights, &nodes.map(|node| power(node, k)));
                let slope = sum(&table.slope_at[m]) - power(theta, k);
                let value = sum(&table.value_at[m]) - power(theta, k + 1) / DoubleDouble::from_f64((k + 1) as f64);
                assert!(
                    slope.to_f64().abs() < 1e-28 && value.to_f64().abs() < 1e-28,
                    "degree {k}: {slope:?} {value:?}"
                );
            }
        }
    }

    #[test]
    fn the_quadrature_is_exact_to_its_degree_and_has_positive_weights() {
        let table = Polynomial::new();
        assert!(table.quadrature.iter().all(|w| *w > 0.0));
        for k in 0..2 * POINTS {
            let found = sum(&table.quadrature, |m| table.points[m].powi(i32::try_from(k).unwrap_or(0)));
            assert!((found - 1.0 / (k + 1) as f64).abs() < 1e-14, "degree {k}: {found}");
        }
    }

    #[test]
    fn what_is_a_polynomial_already_is_its_own_projection_and_what_is_orthogonal_to_them_has_none() {
        let table = Polynomial::new();
        for (j, row) in table.projection.iter().enumerate() {
            for k in 0..STAGES {
                let k = i32::try_from(k).unwrap_or(0);
                let found = sum(row, |m| table.points[m].powi(k));
                assert!((found - table.nodes[j].powi(k)).abs() < 1e-12);
            }
            let orthogonal = sum(row, |m| last_two(STAGES, 2.0 * table.points[m] - 1.0).1);
            assert!(orthogonal.abs() < 1e-12);
        }
    }

    #[test]
    fn the_inverse_undoes_the_integrals() {
        let table = Polynomial::new();
        for i in 0..STAGES {
            for j in 0..STAGES {
                let product: f64 = (0..STAGES).map(|k| table.integrals[i][k] * table.inverse[k][j]).sum();
                // Entries of the inverse reach 240: fifteen products of rounding 1e-16 each.
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
        }
        assert!(inverse(&[[0.0; STAGES]; STAGES]).is_none());
        assert!(inverse(&[[f64::NAN; STAGES]; STAGES]).is_none());
    }
}
