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
            let row = &self.lower[i * n..i * n + i + 1];
            b[i] = (b[i] - inner(&row[..i], &b[..i])) / row[i];
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
