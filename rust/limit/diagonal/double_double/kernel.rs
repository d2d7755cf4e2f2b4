//! `X diag(s) Xᵀ` and its Cholesky factor in double-double, for kernels that are singular in binary64.
//!
//! Thirty times as dear as a binary64 system, and needed only where fewer coefficients than samples are of the size of
//! the largest: the others are known from a kernel whose condition number is the square of 1e16.

use crate::linalg::Rows;
use crate::real::{DoubleDouble, Real};

/// A pivot below this part of its diagonal is round-off, and its direction is left alone.
const SINGULAR: f64 = 64.0 * DoubleDouble::UNIT_ROUNDOFF;

/// The factor `L` of `X diag(s) Xᵀ = L Lᵀ`, row after row of the lower triangle.
#[derive(Debug)]
pub(super) struct Kernel {
    n: usize,
    lower: Vec<DoubleDouble>,
    /// Pivots that were round-off: directions in which a solve goes nowhere.
    pub singular: usize,
}

impl Kernel {
    /// Form and factor. `None` if a number is not finite.
    pub fn of(x: Rows<'_>, s: &[f64]) -> Option<Self> {
        let (n, d) = (x.n(), x.d());
        let mut lower = vec![DoubleDouble::ZERO; n * n];
        let mut singular = 0;
        let mut column = vec![DoubleDouble::ZERO; n];
        for j in 0..n {
            let weighted: Vec<_> =
                x.row(j).iter().zip(s).map(|(x, s)| DoubleDouble::from_f64(*x).mul_f64(*s)).collect();
            Rows::from_parts(&x.data()[j * d..], n - j, d).apply(&weighted, &mut column[j..]);
            for i in j..n {
                lower[i * n + j] = column[i];
            }
        }
        for i in 0..n {
            let (above, row) = lower.split_at_mut(i * n);
            for j in 0..i {
                let other = &above[j * n..j * n + j];
                row[j] = (row[j] - inner(&row[..j], other)) / above[j * n + j];
            }
            let diagonal = row[i];
            let pivot = diagonal - inner(&row[..i], &row[..i]);
            if !pivot.is_finite() {
                return None;
            }
            let kept = pivot.to_f64() > SINGULAR * diagonal.to_f64();
            // Any size will do for a direction of which nothing is known: steps in it are round-off.
            singular += usize::from(!kept);
            row[i] = if kept { pivot.sqrt() } else { diagonal.abs().sqrt() };
            if row[i].to_f64() == 0.0 {
                row[i] = DoubleDouble::ONE;
            }
        }
        Some(Self { n, lower, singular })
    }

    /// `b ← (L Lᵀ)⁻¹ b`.
    pub fn solve(&self, b: &mut [DoubleDouble]) {
        let n = self.n;
        for i in 0..n {
            let row = &self.lower[i * n..i * n + i];
            b[i] = (b[i] - inner(row, &b[..i])) / self.lower[i * n + i];
        }
        for i in (0..n).rev() {
            b[i] /= self.lower[i * n + i];
            let (known, row) = (b[i], &self.lower[i * n..i * n + i]);
            b[..i].iter_mut().zip(row).for_each(|(b, l)| *b -= *l * known);
        }
    }
}

fn inner(a: &[DoubleDouble], b: &[DoubleDouble]) -> DoubleDouble {
    a.iter().zip(b).fold(DoubleDouble::ZERO, |sum, (a, b)| sum + *a * *b)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `X diag(s) Xᵀ v`, in double-double.
    fn product(x: Rows<'_>, s: &[f64], v: &[DoubleDouble]) -> Vec<DoubleDouble> {
        let (mut g, mut out) = (vec![DoubleDouble::ZERO; x.d()], vec![DoubleDouble::ZERO; x.n()]);
        x.apply_transposed(v, &mut g);
        g.iter_mut().zip(s).for_each(|(g, s)| *g = g.mul_f64(*s));
        x.apply(&g, &mut out);
        out
    }

    fn exactly(v: [f64; 3]) -> [DoubleDouble; 3] {
        v.map(DoubleDouble::from_f64)
    }

    const X: [f64; 12] = [1.0, 0.5, -0.25, 2.0, 0.75, -1.0, 0.5, 0.125, -0.5, 1.5, 1.0, -0.75];

    #[test]
    fn a_solve_undoes_a_product_whose_condition_binary64_does_not_have_the_digits_for() {
        let x = Rows::from_parts(&X, 3, 4);
        for small in [1.0, 1e-8, 1e-17] {
            // One weight of size one: the other directions are those of the small ones.
            let s = [1.0, small, 0.5 * small, small];
            let Some(kernel) = Kernel::of(x, &s) else { panic!("finite data") };
            assert_eq!(kernel.singular, 0);
            let v = exactly([0.3, -1.7, 0.9]);
            let mut found = product(x, &s, &v);
            kernel.solve(&mut found);
            for (found, v) in found.iter().zip(&v) {
                // Round-off of 2^-104 times a condition of about ten over the smallest weight.
                assert!((*found - *v).to_f64().abs() <= 1e-29 / small, "{small:e}: {found:?} instead of {v:?}");
            }
        }
    }

    #[test]
    fn directions_that_are_round_off_are_counted_and_left_alone() {
        let x = Rows::from_parts(&X, 3, 4);
        let Some(kernel) = Kernel::of(x, &[1.0, 0.0, 0.0, 0.0]) else { panic!("finite data") };
        assert_eq!(kernel.singular, 2);
        let mut step = exactly([1.0, 0.75, -0.5]);
        kernel.solve(&mut step);
        assert!(step.iter().all(|v| v.is_finite() && v.to_f64().abs() < 4.0), "{step:?}");
        assert!(Kernel::of(x, &[f64::INFINITY, 1.0, 1.0, 1.0]).is_none());
    }
}
