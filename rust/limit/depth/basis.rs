//! The coordinates in which the last digits are found: as many columns of the data as it has rows, those with the largest
//! slopes first.
//!
//! At `α^{D−2} = 10^-43000` no multipliers `ν` in any floating-point numbers give `1 − z_i = 10^-43000`. But the dual has
//! only as many dimensions as there are samples, and `z_B` of that many independent columns are coordinates of it as good as
//! `ν`: numbers that are chosen, not computed. The other columns are `X_I = X_B T`, and with `S_B ≥ S_I`, more or less, the
//! kernel `diag(S_B) + T diag(S_I) Tᵀ`, scaled, is the identity and something of its size: no scale and no grading is left
//! to spoil its factorization.

use crate::linalg::{Rows, norm};

/// A column that loses this part of its length to those before it is taken to depend on them.
const DEPENDENT: f64 = 1e-10;

/// Columns of the data that span its range, and what the others are in terms of them.
#[derive(Clone, Debug)]
pub(super) struct Basis {
    /// The columns.
    pub columns: Vec<usize>,
    /// `X_B^{-1}` in the coordinates of the row space, row-major, m × m.
    pub inverse: Vec<f64>,
    /// `X_B^{-1} X`, m × d, row-major.
    pub table: Vec<f64>,
}

impl Basis {
    /// Choose by the logarithms of the slopes. `None` if the rows are not independent to working precision.
    pub fn choose(rows: Rows<'_>, log_slope: &[f64]) -> Option<Self> {
        let columns = pivots(rows, log_slope)?;
        let (m, d) = (rows.n(), rows.d());
        let inverse = inverse_of(m, &|i, j| rows.row(i)[columns[j]])?;
        let mut table = vec![0.0; m * d];
        for (row, coefficients) in table.chunks_exact_mut(d.max(1)).zip(inverse.chunks_exact(m.max(1))) {
            for (k, c) in coefficients.iter().enumerate() {
                row.iter_mut().zip(rows.row(k)).for_each(|(t, x)| *t += c * x);
            }
        }
        for (j, column) in columns.iter().enumerate() {
            (0..m).for_each(|i| table[i * d + column] = f64::from(u8::from(i == j)));
        }
        Some(Self { columns, inverse, table })
    }

    /// `T`, m × d.
    pub fn rows(&self, d: usize) -> Rows<'_> {
        Rows::from_parts(&self.table, self.columns.len(), d)
    }
}

/// Gram–Schmidt with pivoting over columns in units of `e^{log_slope/2}`, from the largest of what is left of them.
fn pivots(rows: Rows<'_>, log_slope: &[f64]) -> Option<Vec<usize>> {
    let (m, d) = (rows.n(), rows.d());
    let mut left: Vec<Vec<f64>> = (0..d).map(|i| (0..m).map(|n| rows.row(n)[i]).collect()).collect();
    let whole: Vec<f64> = left.iter().map(|column| norm(column.iter().copied())).collect();
    let mut chosen = Vec::with_capacity(m);
    let mut free = vec![true; d];
    for _ in 0..m {
        let weight = |i: usize, size: f64| size.ln() + 0.5 * log_slope[i];
        let mut best: Option<(usize, f64, f64)> = None;
        for i in (0..d).filter(|i| free[*i]) {
            let size = norm(left[i].iter().copied());
            if size > DEPENDENT * whole[i] && best.is_none_or(|(_, most, _)| weight(i, size) > most) {
                best = Some((i, weight(i, size), size));
            }
        }
        let (pivot, _, size) = best?;
        free[pivot] = false;
        chosen.push(pivot);
        let direction: Vec<f64> = left[pivot].iter().map(|v| v / size).collect();
        for column in left.iter_mut().zip(&free).filter(|(_, free)| **free).map(|(column, _)| column) {
            let along: f64 = column.iter().zip(&direction).map(|(a, b)| a * b).sum();
            column.iter_mut().zip(&direction).for_each(|(v, q)| *v -= along * q);
        }
    }
    Some(chosen)
}

/// The inverse by Gauss–Jordan elimination with partial pivoting, row-major. `None` if it is singular to working precision.
pub(super) fn inverse_of(m: usize, entry: &dyn Fn(usize, usize) -> f64) -> Option<Vec<f64>> {
    let width = 2 * m;
    let mut work: Vec<Vec<f64>> = (0..m)
        .map(|i| (0..width).map(|j| if j < m { entry(i, j) } else { f64::from(u8::from(j - m == i)) }).collect())
        .collect();
    for k in 0..m {
        let pivot = (k..m).max_by(|a, b| work[*a][k].abs().total_cmp(&work[*b][k].abs()))?;
        work.swap(k, pivot);
        let head = work[k][k];
        if head == 0.0 || !head.is_finite() {
            return None;
        }
        work[k].iter_mut().for_each(|v| *v /= head);
        let row = work[k].clone();
        for other in work.iter_mut().enumerate().filter(|(i, _)| *i != k).map(|(_, row)| row) {
            let factor = other[k];
            if factor != 0.0 {
                other.iter_mut().zip(&row).for_each(|(v, r)| *v -= factor * r);
            }
        }
    }
    Some(work.iter().flat_map(|row| row[m..].iter().copied()).collect())
}

/// `V b`, row-major.
pub(super) fn times(matrix: &[f64], b: &[f64]) -> Vec<f64> {
    matrix.chunks_exact(b.len().max(1)).map(|row| row.iter().zip(b).map(|(v, b)| v * b).sum()).collect()
}

/// `Vᵀ b`.
pub(super) fn times_transposed(matrix: &[f64], b: &[f64]) -> Vec<f64> {
    let m = b.len();
    let mut out = vec![0.0; m];
    for (row, b) in matrix.chunks_exact(m.max(1)).zip(b) {
        out.iter_mut().zip(row).for_each(|(out, v)| *out += v * b);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_with_the_largest_slopes_are_chosen_and_make_up_the_others() {
        let data = [1.0, 2.0, -1.0, 0.5, 0.3, 1.0, 4.0, -2.0];
        let rows = Rows::from_parts(&data, 2, 4);
        let Some(basis) = Basis::choose(rows, &[-1e5, 0.0, -2e5, -10.0]) else { panic!("independent rows") };
        assert_eq!(basis.columns, [1, 3]);
        for n in 0..2 {
            for i in 0..4 {
                let made: f64 = (0..2).map(|b| rows.row(n)[basis.columns[b]] * basis.table[4 * b + i]).sum();
                assert!((made - rows.row(n)[i]).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn dependent_rows_have_no_basis() {
        let data = [1.0, 2.0, 3.0, 2.0, 4.0, 6.0];
        assert!(Basis::choose(Rows::from_parts(&data, 2, 3), &[0.0; 3]).is_none());
    }
}
