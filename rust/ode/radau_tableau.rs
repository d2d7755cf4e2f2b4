//! The Radau IIA methods as the integrator uses them; the numbers are in [`radau_coefficients`](super::radau_coefficients)
//! and [`radau_coefficients_high`](super::radau_coefficients_high).

use super::radau_coefficients::{Coefficients, Pair, RADAU_5, RADAU_9, RADAU_13};
use super::radau_coefficients_high::{RADAU_17, RADAU_21};
use crate::real::Real;

/// Radau IIA with its linear algebra, in the numbers of the state.
#[derive(Clone, Debug)]
pub struct RadauTableau<R> {
    /// The nodes `c_1 < … < c_s = 1`.
    pub nodes: Vec<R>,
    /// `A⁻¹`, row by row.
    pub inverse: Vec<R>,
    /// `w` with `p'(0) = Σ w_j z_j / h` for the collocation polynomial `p` through the increments `z`.
    pub left_slope: Vec<R>,
    /// The real eigenvalue `γ` of `A⁻¹`.
    pub real_shift: f64,
    /// One `(α, β)`, `β > 0`, for each pair `α ± iβ` of eigenvalues of `A⁻¹`.
    pub complex_shifts: Vec<(f64, f64)>,
    /// `T`, row by row: `A⁻¹ T = T Λ` with `Λ = diag(γ, [α −β; β α], …)`.
    pub from_modes: Vec<f64>,
    /// `T⁻¹`, row by row.
    pub to_modes: Vec<f64>,
}

impl<R: Real> RadauTableau<R> {
    /// The method with 3, 5, 7, 9 or 11 stages; order `2s − 1`. Other numbers are taken for the next smaller of these.
    #[must_use]
    pub fn of_stages(stages: u32) -> Self {
        match stages {
            ..5 => Self::new(&RADAU_5),
            5..7 => Self::new(&RADAU_9),
            7..9 => Self::new(&RADAU_13),
            9..11 => Self::new(&RADAU_17),
            _ => Self::new(&RADAU_21),
        }
    }

    fn new<const S: usize, const P: usize>(data: &Coefficients<S, P>) -> Self {
        let real = |pair: &Pair| R::from_parts(pair.0, pair.1);
        Self {
            nodes: data.nodes.iter().map(real).collect(),
            inverse: data.inverse.as_flattened().iter().map(real).collect(),
            left_slope: data.left_slope.iter().map(real).collect(),
            real_shift: data.real_shift,
            complex_shifts: data.complex_shifts.to_vec(),
            from_modes: data.from_modes.as_flattened().to_vec(),
            to_modes: data.to_modes.as_flattened().to_vec(),
        }
    }

    /// Number of stages `s`.
    #[must_use]
    pub fn stages(&self) -> usize {
        self.nodes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::DoubleDouble;

    const STAGES: [u32; 5] = [3, 5, 7, 9, 11];

    fn powi<R: Real>(x: R, k: usize) -> R {
        (0..k).fold(R::ONE, |p, _| p * x)
    }

    /// The weights `b = A^T e_s`, from `A⁻ᵀ b = e_s` by Gaussian elimination with pivoting.
    fn weights<R: Real>(tableau: &RadauTableau<R>) -> Vec<R> {
        let s = tableau.stages();
        let mut rows: Vec<Vec<R>> = (0..s)
            .map(|i| {
                let mut row: Vec<R> = (0..s).map(|j| tableau.inverse[j * s + i]).collect();
                row.push(if i + 1 == s { R::ONE } else { R::ZERO });
                row
            })
            .collect();
        for k in 0..s {
            let pivot = (k..s).max_by(|a, b| rows[*a][k].abs().to_f64().total_cmp(&rows[*b][k].abs().to_f64()));
            let Some(pivot) = pivot else { panic!("no rows") };
            rows.swap(k, pivot);
            let top = rows[k].clone();
            for (i, row) in rows.iter_mut().enumerate() {
                if i != k {
                    let factor = row[k] / top[k];
                    for (entry, above) in row.iter_mut().zip(&top) {
                        *entry -= factor * *above;
                    }
                }
            }
        }
        (0..s).map(|i| rows[i][s] / rows[i][i]).collect()
    }

    /// The residuals of B(2s−1), C(s) and D(s−1), which together imply order 2s − 1 (Butcher; Hairer & Wanner II, IV.5).
    /// A sum of s products of numbers up to 60 with sum below 1 has a rounding error below 60·s·u; the elimination
    /// loses two digits more.
    fn largest_residual<R: Real>(stages: u32) -> f64 {
        let tableau = RadauTableau::<R>::of_stages(stages);
        let (s, b) = (tableau.stages(), weights(&tableau));
        let count = |k: usize| R::from_f64(k as f64);
        let mut largest = 0.0_f64;
        let mut check = |residual: R| largest = largest.max(residual.abs().to_f64());
        for k in 1..2 * s {
            let sum = b.iter().zip(&tableau.nodes).fold(R::ZERO, |sum, (b, c)| sum + *b * powi(*c, k - 1));
            check(sum - R::ONE / count(k));
        }
        for k in 1..=s {
            // C(k), multiplied by A⁻¹: A⁻¹ c^k / k = c^(k−1).
            for i in 0..s {
                let row = tableau.inverse[i * s..(i + 1) * s].iter().zip(&tableau.nodes);
                check(
                    row.fold(R::ZERO, |sum, (a, c)| sum + *a * powi(*c, k)) / count(k) - powi(tableau.nodes[i], k - 1),
                );
            }
        }
        for k in 1..s {
            // D(k), multiplied by A⁻¹: b_j c_j^(k−1) = Σ_i b_i (1 − c_i^k) a⁻¹_ij / k.
            for j in 0..s {
                let sum = (0..s).fold(R::ZERO, |sum, i| {
                    sum + b[i] * (R::ONE - powi(tableau.nodes[i], k)) * tableau.inverse[i * s + j]
                });
                check(sum / count(k) - b[j] * powi(tableau.nodes[j], k - 1));
            }
        }
        largest
    }

    #[test]
    fn the_order_conditions_hold_in_binary64() {
        for stages in STAGES {
            let residual = largest_residual::<f64>(stages);
            assert!(residual < 1e-12, "{stages} stages: {residual}");
        }
    }

    #[test]
    fn the_order_conditions_hold_to_thirty_digits() {
        for stages in STAGES {
            let residual = largest_residual::<DoubleDouble>(stages);
            assert!(residual < 2e-28, "{stages} stages: {residual}");
        }
    }

    #[test]
    fn the_left_slope_of_a_monomial_is_exact() {
        // p(θ) = θ^k, k = 1..s, has p'(0) = 1 for k = 1 and 0 otherwise.
        for stages in STAGES {
            let tableau = RadauTableau::<DoubleDouble>::of_stages(stages);
            for k in 1..=tableau.stages() {
                let terms = tableau.left_slope.iter().zip(&tableau.nodes);
                let slope = terms.fold(DoubleDouble::ZERO, |sum, (w, c)| sum + *w * powi(*c, k));
                let expected = if k == 1 { DoubleDouble::ONE } else { DoubleDouble::ZERO };
                assert!((slope - expected).abs().to_f64() < 1e-29, "{stages} stages, degree {k}");
            }
        }
    }

    #[test]
    fn the_transformation_takes_the_inverse_to_its_real_block_form() {
        for stages in STAGES {
            let tableau = RadauTableau::<f64>::of_stages(stages);
            let s = tableau.stages();
            let entry = |m: &[f64], i: usize, j: usize| m[i * s + j];
            let mut blocks = vec![0.0; s * s];
            blocks[0] = tableau.real_shift;
            for (slot, (re, im)) in tableau.complex_shifts.iter().enumerate() {
                let k = 1 + 2 * slot;
                (blocks[k * s + k], blocks[(k + 1) * s + k + 1]) = (*re, *re);
                (blocks[k * s + k + 1], blocks[(k + 1) * s + k]) = (-im, *im);
            }
            // Entries are rounded once and so is every operation of a sum of s products; of both sides of an equation.
            let product = |a: &[f64], b: &[f64], i: usize, j: usize| {
                let terms = (0..s).map(|k| entry(a, i, k) * entry(b, k, j));
                (terms.clone().sum::<f64>(), (s + 3) as f64 * f64::EPSILON * terms.map(f64::abs).sum::<f64>())
            };
            for i in 0..s {
                for j in 0..s {
                    let (left, slack) = product(&tableau.inverse, &tableau.from_modes, i, j);
                    let (right, more) = product(&tableau.from_modes, &blocks, i, j);
                    assert!((left - right).abs() <= slack + more, "{stages} stages, entry {i} {j}");
                    let unit = if i == j { 1.0 } else { 0.0 };
                    let (found, slack) = product(&tableau.from_modes, &tableau.to_modes, i, j);
                    assert!((found - unit).abs() <= slack, "{stages} stages, entry {i} {j}");
                }
            }
        }
    }
}
