//! Orthogonal factorizations of the data: a basis of the row space with its rank, and rotations.
//!
//! # Sources
//! Golub & Van Loan, *Matrix Computations*, 4th ed., §5.2.2 (`‖QᵀQ − I‖ ≤ c n d u`), §5.4.2 (column pivoting and rank).

use super::Rows;
use super::blocks::{for_each_row_block, worth_threads};
use super::scratch::Scratch;
use super::shape::agree;
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj,
};
use faer::linalg::qr::{col_pivoting, no_pivoting};
use faer::{Conj, Mat, MatMut, Par, Spec};

/// Householder vectors applied together.
const BLOCK: usize = 32;
/// Columns of one block of a matrix that is rotated.
const COLUMN_BLOCK: usize = 256;

/// `Xᵀ P = Q R` with column pivoting: an orthonormal basis of the row space of `X`.
///
/// The rank counts the `|R_jj| > max(n, d) ε |R_11|`. Data that are not finite have rank 0.
#[derive(Clone, Debug)]
pub struct RowBasis {
    n: usize,
    d: usize,
    rank: usize,
    order: Vec<usize>,
    /// `Qᵀ`, rank × d, row-major.
    q: Vec<f64>,
    /// `R`, rank × n, row-major, zero below the diagonal.
    r: Vec<f64>,
}

impl RowBasis {
    /// Factor `X`.
    #[must_use]
    pub fn of(x: Rows<'_>) -> Self {
        let (n, d) = (x.n(), x.d());
        let empty = Self { n, d, rank: 0, order: (0..n).collect(), q: Vec::new(), r: Vec::new() };
        let peak = x.data().iter().fold(0.0_f64, |peak, x| peak.max(x.abs()));
        if peak == 0.0 || !x.data().iter().all(|x| x.is_finite()) {
            return empty;
        }
        // Pivoting updates every column after every step. Of far more features than samples it needs to see no more than
        // the triangle of a plain factorization, whose columns are the samples in other coordinates.
        let tall = (d > n).then(|| Reflections::of(x.as_faer().transpose().to_owned()));
        let small = tall.as_ref().map_or_else(|| x.as_faer().transpose().to_owned(), Reflections::triangle);
        let (pivoted, order) = Reflections::pivoted(small);
        let size = n.min(d);
        let diagonal = |j: usize| pivoted.factors[(j, j)].abs();
        let least = n.max(d) as f64 * f64::EPSILON * diagonal(0);
        let rank = (0..size).take_while(|j| diagonal(*j) > least).count();
        let entry = |k: usize| if k % n < k / n { 0.0 } else { pivoted.factors[(k / n, k % n)] };
        let r = (0..rank * n).map(entry).collect();
        let mut q = vec![0.0; rank * d];
        let mut columns = MatMut::from_column_major_slice_mut(&mut q, d, rank);
        (0..rank).for_each(|j| columns[(j, j)] = 1.0);
        pivoted.apply(columns.as_mut().subrows_mut(0, pivoted.factors.nrows()));
        if let Some(tall) = tall {
            tall.apply(columns);
        }
        Self { rank, order, q, r, ..empty }
    }

    /// Numerical rank of `X`.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// `Qᵀ`, rank × d: orthonormal rows that span the row space of `X`.
    #[must_use]
    pub fn q_rows(&self) -> Rows<'_> {
        rows_of(&self.q, self.rank, self.d)
    }

    /// Rows of `X` in the order of the pivots: `P` moves row `order[j]` to place `j`.
    #[must_use]
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Entry of `R`, row `i < rank`, column `j < n` (in pivot order).
    #[must_use]
    pub fn r(&self, i: usize, j: usize) -> f64 {
        self.r[i * self.n + j]
    }

    /// The whitened right-hand side `out = R⁻ᵀ Pᵀ b`: if `X β = b` then `Qᵀ β = out`. `b` of length `n`, `out` of the rank.
    pub fn solve_r_transposed(&self, b: &[f64], out: &mut [f64]) {
        agree("shapes of a whitened right-hand side", (b.len(), out.len()), (self.n, self.rank));
        for j in 0..self.rank {
            let known: f64 = (0..j).map(|i| self.r(i, j) * out[i]).sum();
            out[j] = (b[self.order[j]] - known) / self.r(j, j);
        }
    }

    /// `out = P R⁻¹ w`, zero on rows outside the basis: then `Xᵀ out = Q w`. `w` of the rank, `out` of length `n`.
    pub fn solve_r(&self, w: &[f64], out: &mut [f64]) {
        agree("shapes of multipliers", (w.len(), out.len()), (self.rank, self.n));
        out.fill(0.0);
        for i in (0..self.rank).rev() {
            let known: f64 = (i + 1..self.rank).map(|j| self.r(i, j) * out[self.order[j]]).sum();
            out[self.order[i]] = (w[i] - known) / self.r(i, i);
        }
    }
}

/// The reflections that make a matrix triangular, with the triangle.
#[derive(Clone, Debug)]
pub(super) struct Reflections {
    pub(super) factors: Mat<f64>,
    pub(super) coefficients: Mat<f64>,
}

impl Reflections {
    /// `A = Q R`.
    pub(super) fn of(a: Mat<f64>) -> Self {
        let (mut found, block) = Self::room(a);
        let Self { factors, coefficients } = &mut found;
        let (n, d) = (factors.nrows(), factors.ncols());
        let scratch = no_pivoting::factor::qr_in_place_scratch::<f64>(n, d, block, Par::Seq, Spec::default());
        let mut scratch = Scratch::new(scratch);
        let stack = scratch.stack();
        no_pivoting::factor::qr_in_place(factors.as_mut(), coefficients.as_mut(), Par::Seq, stack, Spec::default());
        found
    }

    /// `A P = Q R` with column pivoting, and the order of the columns.
    pub(super) fn pivoted(a: Mat<f64>) -> (Self, Vec<usize>) {
        let (mut found, block) = Self::room(a);
        let Self { factors, coefficients } = &mut found;
        let (n, d) = (factors.nrows(), factors.ncols());
        let (mut order, mut inverse) = (vec![0_usize; d], vec![0_usize; d]);
        let scratch = col_pivoting::factor::qr_in_place_scratch::<usize, f64>(n, d, block, Par::Seq, Spec::default());
        col_pivoting::factor::qr_in_place(
            factors.as_mut(),
            coefficients.as_mut(),
            &mut order,
            &mut inverse,
            Par::Seq,
            Scratch::new(scratch).stack(),
            Spec::default(),
        );
        (found, order)
    }

    fn room(factors: Mat<f64>) -> (Self, usize) {
        let size = factors.nrows().min(factors.ncols());
        let block = BLOCK.min(size.max(1));
        (Self { factors, coefficients: Mat::zeros(block, size) }, block)
    }

    /// `R`, square, of a matrix with at least as many rows as columns.
    pub(super) fn triangle(&self) -> Mat<f64> {
        let n = self.factors.ncols();
        Mat::from_fn(n, n, |i, j| if i <= j { self.factors[(i, j)] } else { 0.0 })
    }

    /// `T ← Q T`.
    pub(super) fn apply(&self, columns: MatMut<'_, f64>) {
        let (n, block, size) = (self.factors.nrows(), self.coefficients.nrows(), self.coefficients.ncols());
        let scratch = apply_block_householder_sequence_on_the_left_in_place_scratch::<f64>(n, block, columns.ncols());
        apply_block_householder_sequence_on_the_left_in_place_with_conj(
            self.factors.as_ref().get(.., ..size),
            self.coefficients.as_ref(),
            Conj::No,
            columns,
            Par::Seq,
            Scratch::new(scratch).stack(),
        );
    }
}

/// Thin `X = Q R` of a matrix with at least as many rows as columns; any number of rows is accepted, `R` is then
/// `min(n, d) × d`. No pivoting and no rank: `Xᵀ X = Rᵀ R` whatever the data.
#[derive(Clone, Debug)]
pub struct ThinQr {
    factors: Mat<f64>,
    coefficients: Mat<f64>,
    r: Vec<f64>,
}

impl ThinQr {
    /// Factor `X`.
    #[must_use]
    pub fn of(x: Rows<'_>) -> Self {
        let (n, d) = (x.n(), x.d());
        let size = n.min(d);
        let Reflections { factors, coefficients } = Reflections::of(x.as_faer().to_owned());
        let entry = |k: usize| if k % d < k / d { 0.0 } else { factors[(k / d, k % d)] };
        let r = (0..size * d).map(entry).collect();
        Self { factors, coefficients, r }
    }

    /// `R`, upper triangular.
    #[must_use]
    pub fn r_rows(&self) -> Rows<'_> {
        rows_of(&self.r, self.coefficients.ncols(), self.factors.ncols())
    }

    /// Number of rows of `X`, and of `T` below.
    #[must_use]
    pub fn height(&self) -> usize {
        self.factors.nrows()
    }

    /// `T ← Q T` with the whole orthogonal factor, in place, for a row-major `T` of `width` columns. Blocks of columns go to
    /// the current pool.
    pub fn rotate_back(&self, rows: &mut [f64], width: usize) {
        let (n, block, size) = (self.factors.nrows(), self.coefficients.nrows(), self.coefficients.ncols());
        agree("entries of T", rows.len(), n * width);
        let factors = self.factors.as_ref().get(.., ..size);
        let columns = MatMut::from_row_major_slice_mut(rows, n, width).transpose_mut();
        for_each_row_block(columns, COLUMN_BLOCK, worth_threads(2 * n * width * size), &|_, part| {
            let part = part.transpose_mut();
            let request = apply_block_householder_sequence_on_the_left_in_place_scratch::<f64>(n, block, part.ncols());
            apply_block_householder_sequence_on_the_left_in_place_with_conj(
                factors,
                self.coefficients.as_ref(),
                Conj::No,
                part,
                Par::Seq,
                Scratch::new(request).stack(),
            );
        });
    }
}
/// View `data` as `n × d`; the lengths agree by construction.
fn rows_of(data: &[f64], n: usize, d: usize) -> Rows<'_> {
    let Some(rows) = Rows::new(data, n, d) else { unreachable!("{} numbers are not {n} x {d}", data.len()) };
    rows
}

#[cfg(test)]
mod tests;
