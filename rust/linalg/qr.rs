//! Orthogonal factorizations of the data: a basis of the row space with its rank, and plain least squares.
//!
//! # Sources
//! Golub & Van Loan, *Matrix Computations*, 4th ed., §5.2.2 (`‖QᵀQ − I‖ ≤ c n d u`), §5.4.2 (column pivoting and rank).

use super::Rows;
use super::scratch::Scratch;
use super::shape::agree;
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj,
    apply_block_householder_sequence_transpose_on_the_left_in_place_scratch,
    apply_block_householder_sequence_transpose_on_the_left_in_place_with_conj,
};
use faer::linalg::qr::{col_pivoting, no_pivoting};
use faer::{Conj, Mat, MatMut, Par, Spec};

/// Householder vectors applied together.
const BLOCK: usize = 32;

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
        let size = n.min(d);
        let block = BLOCK.min(size);
        let mut factors = x.as_faer().transpose().to_owned();
        let mut coefficients = Mat::<f64>::zeros(block, size);
        let (mut order, mut inverse) = (vec![0_usize; n], vec![0_usize; n]);
        let mut scratch = Scratch::new(faer::dyn_stack::StackReq::any_of(&[
            col_pivoting::factor::qr_in_place_scratch::<usize, f64>(d, n, block, Par::Seq, Spec::default()),
            apply_block_householder_sequence_on_the_left_in_place_scratch::<f64>(d, block, size),
        ]));
        col_pivoting::factor::qr_in_place(
            factors.as_mut(),
            coefficients.as_mut(),
            &mut order,
            &mut inverse,
            Par::Seq,
            scratch.stack(),
            Spec::default(),
        );
        let least = n.max(d) as f64 * f64::EPSILON * factors[(0, 0)].abs();
        let rank = (0..size).take_while(|j| factors[(*j, *j)].abs() > least).count();
        let entry = |k: usize| if k % n < k / n { 0.0 } else { factors[(k / n, k % n)] };
        let r = (0..rank * n).map(entry).collect();
        let mut q = vec![0.0; rank * d];
        let mut columns = MatMut::from_column_major_slice_mut(&mut q, d, rank);
        (0..rank).for_each(|j| columns[(j, j)] = 1.0);
        apply_block_householder_sequence_on_the_left_in_place_with_conj(
            factors.as_ref().get(.., ..size),
            coefficients.as_ref(),
            Conj::No,
            columns,
            Par::Seq,
            scratch.stack(),
        );
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
        let block = BLOCK.min(size.max(1));
        let mut factors = x.as_faer().to_owned();
        let mut coefficients = Mat::<f64>::zeros(block, size);
        let scratch = no_pivoting::factor::qr_in_place_scratch::<f64>(n, d, block, Par::Seq, Spec::default());
        no_pivoting::factor::qr_in_place(
            factors.as_mut(),
            coefficients.as_mut(),
            Par::Seq,
            Scratch::new(scratch).stack(),
            Spec::default(),
        );
        let entry = |k: usize| if k % d < k / d { 0.0 } else { factors[(k / d, k % d)] };
        let r = (0..size * d).map(entry).collect();
        Self { factors, coefficients, r }
    }

    /// `R`, upper triangular.
    #[must_use]
    pub fn r_rows(&self) -> Rows<'_> {
        rows_of(&self.r, self.coefficients.ncols(), self.factors.ncols())
    }

    /// `Qᵀ b`, as long as `R` has rows.
    #[must_use]
    pub fn apply_qt(&self, b: &[f64]) -> Vec<f64> {
        let (n, size) = (self.factors.nrows(), self.coefficients.ncols());
        agree("length of b", b.len(), n);
        let mut b = b.to_vec();
        let block = self.coefficients.nrows();
        let scratch = apply_block_householder_sequence_transpose_on_the_left_in_place_scratch::<f64>(n, block, 1);
        apply_block_householder_sequence_transpose_on_the_left_in_place_with_conj(
            self.factors.as_ref().get(.., ..size),
            self.coefficients.as_ref(),
            Conj::No,
            MatMut::from_column_major_slice_mut(&mut b, n, 1),
            Par::Seq,
            Scratch::new(scratch).stack(),
        );
        b.truncate(size);
        b
    }
}

/// View `data` as `n × d`; the lengths agree by construction.
fn rows_of(data: &[f64], n: usize, d: usize) -> Rows<'_> {
    let Some(rows) = Rows::new(data, n, d) else { unreachable!("{} numbers are not {n} x {d}", data.len()) };
    rows
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Random, U, max_abs, rows};
    use super::*;
    use proptest::prelude::*;

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    /// Householder QR has a columnwise backward error of `γ̃_{nd}` (Higham, theorem 19.4), `Q` the same departure from
    /// orthonormality; the constant covers the sums that check it.
    fn tolerance(n: usize, d: usize) -> f64 {
        8.0 * (n * d) as f64 * U
    }

    /// `X` of rank `rank`: random combinations of that many random rows.
    fn of_rank(n: usize, d: usize, rank: usize, random: &mut Random) -> Vec<f64> {
        let (basis, weights) = (random.vector(rank * d), random.vector(n * rank));
        (0..n * d).map(|k| (0..rank).map(|l| weights[k / d * rank + l] * basis[l * d + k % d]).sum()).collect()
    }

    proptest! {
        #[test]
        fn the_basis_is_orthonormal_and_reproduces_the_rows(n in 1_usize..20, d in 1_usize..20, seed: u64) {
            let data = Random::new(seed).vector(n * d);
            let x = rows(&data, n, d);
            let basis = RowBasis::of(x);
            let q = basis.q_rows();
            for i in 0..basis.rank() {
                for j in 0..basis.rank() {
                    let unit = if i == j { 1.0 } else { 0.0 };
                    prop_assert!((dot(q.row(i), q.row(j)) - unit).abs() <= tolerance(n, d));
                }
            }
            prop_assert!(basis.rank() <= n.min(d));
            for j in 0..n {
                for k in 0..d {
                    let back: f64 = (0..basis.rank()).map(|i| q.row(i)[k] * basis.r(i, j)).sum();
                    let entry = x.row(basis.order()[j])[k];
                    // What the rank leaves out is below max(n, d) ε |R_11| in every column.
                    prop_assert!((back - entry).abs() <= 2.0 * tolerance(n, d) * (d as f64).sqrt());
                }
            }
        }

        #[test]
        fn the_rank_is_found(n in 1_usize..15, d in 1_usize..15, rank in 1_usize..15, seed: u64) {
            let rank = rank.min(n).min(d);
            let data = of_rank(n, d, rank, &mut Random::new(seed));
            prop_assert_eq!(RowBasis::of(rows(&data, n, d)).rank(), rank);
        }

        #[test]
        fn whitened_targets_are_coordinates_and_multipliers_come_back(n in 1_usize..12, extra in 0_usize..10, seed: u64) {
            let d = n + 3 + extra;
            let mut random = Random::new(seed);
            let (data, beta, w) = (random.vector(n * d), random.vector(d), random.vector(n));
            let x = rows(&data, n, d);
            let basis = RowBasis::of(x);
            prop_assume!(basis.rank() == n && basis.r(n - 1, n - 1).abs() > 1e-2);
            let b: Vec<f64> = (0..n).map(|i| dot(x.row(i), &beta)).collect();
            let mut whitened = vec![0.0; n];
            basis.solve_r_transposed(&b, &mut whitened);
            // cond(R) ≤ n ‖R‖/1e-2 amplifies the backward error.
            let bound = tolerance(n, d) * (n * d) as f64 * 1e2;
            for (i, whitened) in whitened.iter().enumerate() {
                prop_assert!((whitened - dot(basis.q_rows().row(i), &beta)).abs() <= bound);
            }
            let mut nu = vec![0.0; n];
            basis.solve_r(&w, &mut nu);
            for k in 0..d {
                let by_rows: f64 = (0..n).map(|i| x.row(i)[k] * nu[i]).sum();
                let by_basis: f64 = (0..n).map(|i| basis.q_rows().row(i)[k] * w[i]).sum();
                prop_assert!((by_rows - by_basis).abs() <= bound);
            }
        }

        #[test]
        fn a_tall_matrix_is_q_times_r(d in 1_usize..12, extra in 0_usize..20, seed: u64) {
            let n = d + extra;
            let mut random = Random::new(seed);
            let (data, b) = (random.vector(n * d), random.vector(n));
            let x = rows(&data, n, d);
            let qr = ThinQr::of(x);
            let r = qr.r_rows();
            let qtb = qr.apply_qt(&b);
            for k in 0..d {
                let column = |k: usize| (0..n).map(|i| x.row(i)[k]).collect::<Vec<_>>();
                let size = (n as f64).sqrt();
                for l in 0..d {
                    let rr: f64 = (0..d).map(|i| r.row(i)[k] * r.row(i)[l]).sum();
                    prop_assert!((rr - dot(&column(k), &column(l))).abs() <= tolerance(n, d) * size * size);
                }
                // Rᵀ Qᵀ b = Xᵀ b: the normal equations.
                let back: f64 = (0..d).map(|i| r.row(i)[k] * qtb[i]).sum();
                prop_assert!((back - dot(&column(k), &b)).abs() <= tolerance(n, d) * size * size);
            }
        }

        #[test]
        fn a_tall_matrix_of_low_rank_still_has_the_normal_equations(d in 2_usize..10, rank in 1_usize..10, seed: u64) {
            let (n, rank) = (2 * d, rank.min(d));
            let mut random = Random::new(seed);
            let data = of_rank(n, d, rank, &mut random);
            let (x, b) = (rows(&data, n, d), random.vector(n));
            let qr = ThinQr::of(x);
            let (r, qtb) = (qr.r_rows(), qr.apply_qt(&b));
            for k in 0..d {
                let back: f64 = (0..d).map(|i| r.row(i)[k] * qtb[i]).sum();
                let direct: f64 = (0..n).map(|i| x.row(i)[k] * b[i]).sum();
                prop_assert!((back - direct).abs() <= tolerance(n, d) * (n * rank) as f64, "{back} and {direct}");
            }
        }
    }

    #[test]
    fn the_pivots_fall_and_the_weakest_rows_come_last() {
        let mut data = Random::new(4).vector(5 * 8);
        data[..8].iter_mut().for_each(|x| *x *= 1e-9);
        data[16..24].iter_mut().for_each(|x| *x *= 1e-12);
        let basis = RowBasis::of(rows(&data, 5, 8));
        assert_eq!((basis.rank(), basis.order()[3], basis.order()[4]), (5, 0, 2));
        for j in 1..5 {
            assert!(basis.r(j, j).abs() <= basis.r(j - 1, j - 1).abs() * (1.0 + 1e-12));
        }
    }

    #[test]
    fn duplicates_drop_out_and_get_no_multiplier() {
        let data = [1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 0.0, 1.0, 0.0];
        let basis = RowBasis::of(rows(&data, 3, 3));
        assert_eq!(basis.rank(), 2);
        let mut nu = [f64::NAN; 3];
        basis.solve_r(&[1.0, 1.0], &mut nu);
        assert_eq!(nu[basis.order()[2]], 0.0);
        assert!(max_abs(&nu) > 0.0 && nu.iter().all(|nu| nu.is_finite()));
    }

    #[test]
    fn sizes_at_the_ends_of_the_range_are_handled() {
        for scale in [1e-250, 1e250] {
            let data: Vec<f64> = Random::new(9).vector(3 * 6).iter().map(|x| x * scale).collect();
            let basis = RowBasis::of(rows(&data, 3, 6));
            assert_eq!(basis.rank(), 3);
            assert!((dot(basis.q_rows().row(2), basis.q_rows().row(2)) - 1.0).abs() <= tolerance(3, 6));
        }
    }

    #[test]
    fn zero_and_non_finite_data_have_rank_zero() {
        for data in [[0.0; 4], [1.0, f64::NAN, 0.0, 1.0], [1.0, f64::INFINITY, 0.0, 1.0]] {
            let basis = RowBasis::of(rows(&data, 2, 2));
            assert_eq!((basis.rank(), basis.q_rows().n()), (0, 0));
            let mut nu = [1.0; 2];
            basis.solve_r(&[], &mut nu);
            assert_eq!(nu, [0.0; 2]);
            assert_eq!(ThinQr::of(rows(&data, 2, 2)).apply_qt(&[1.0, 1.0]).len(), 2);
        }
    }
}
