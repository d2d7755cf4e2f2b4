//! Least squares whose rows may be of any size: `X P = Q R`, backward stable row by row.
//!
//! Plain Householder QR is backward stable for the matrix as a whole: where one row is 10^8 times another, a relative error
//! of 10^-8 of the small one is none of the large one's business. With the rows in falling order of size and the columns
//! pivoted the backward error of every row is small next to that row (Powell & Reid 1969; Cox & Higham, *Stability of
//! Householder QR factorization for weighted least squares problems*, 1998, Theorem 2.1).

use super::Rows;
use super::qr::Reflections;
use super::scratch::Scratch;
use super::shape::agree;
use faer::linalg::householder::{
    apply_block_householder_sequence_transpose_on_the_left_in_place_scratch,
    apply_block_householder_sequence_transpose_on_the_left_in_place_with_conj,
};
use faer::{Conj, Mat, MatMut, Par};

/// Rows whose sizes differ by less than this lose less than three of sixteen digits to each other, and no factorization
/// that follows keeps more: they are spared the pivots, which look at every column after every step.
const ALIKE: f64 = 1e3;

/// Thin `X = Q R Pᵀ` of a matrix with at least as many rows as columns; any number of rows is accepted, `R` then has
/// `min(n, d)` of them. No rank: `Xᵀ X = P Rᵀ R Pᵀ` whatever the data.
#[derive(Clone, Debug)]
pub struct RowwiseQr {
    reflections: Reflections,
    /// The row that comes k-th; empty where they are left in their order.
    rows: Vec<usize>,
    /// `R Pᵀ`, its columns in the order of those of `X`.
    r: Vec<f64>,
    /// The column of `X` that is the k-th of `R`.
    columns: Vec<usize>,
}

impl RowwiseQr {
    /// Factor `X`.
    #[must_use]
    pub fn of(x: Rows<'_>) -> Self {
        let (n, d) = (x.n(), x.d());
        let sizes: Vec<f64> = (0..n).map(|n| x.row(n).iter().fold(0.0, |size: f64, x| size.max(x.abs()))).collect();
        let (rows, (reflections, columns)) = if alike(&sizes) {
            (Vec::new(), (Reflections::of(x.as_faer().to_owned()), (0..d).collect()))
        } else {
            let mut rows: Vec<usize> = (0..n).collect();
            rows.sort_by(|a, b| sizes[*b].total_cmp(&sizes[*a]));
            let pivoted = Reflections::pivoted(Mat::from_fn(n, d, |i, j| x.row(rows[i])[j]));
            (rows, pivoted)
        };
        let size = n.min(d);
        let mut r = vec![0.0; size * d];
        for (j, column) in columns.iter().enumerate() {
            (0..=j).take(size).for_each(|i| r[i * d + column] = reflections.factors[(i, j)]);
        }
        Self { reflections, rows, r, columns }
    }

    /// `R Pᵀ`: triangular up to the order of its columns, which is that of `X`.
    #[must_use]
    pub fn r_rows(&self) -> Rows<'_> {
        Rows::from_parts(&self.r, self.reflections.coefficients.ncols(), self.columns.len())
    }

    /// `|R_jj|`, column by column of `R`.
    pub fn diagonal(&self) -> impl Iterator<Item = f64> {
        let r = self.r_rows();
        (0..r.n()).map(move |j| r.row(j)[self.columns[j]].abs())
    }

    /// `Qᵀ b`, as long as `R` has rows.
    #[must_use]
    pub fn apply_qt(&self, b: &[f64]) -> Vec<f64> {
        let Reflections { factors, coefficients } = &self.reflections;
        let (n, block, size) = (factors.nrows(), coefficients.nrows(), coefficients.ncols());
        agree("length of b", b.len(), n);
        let mut b = if self.rows.is_empty() { b.to_vec() } else { self.rows.iter().map(|row| b[*row]).collect() };
        let scratch = apply_block_householder_sequence_transpose_on_the_left_in_place_scratch::<f64>(n, block, 1);
        apply_block_householder_sequence_transpose_on_the_left_in_place_with_conj(
            factors.as_ref().get(.., ..size),
            coefficients.as_ref(),
            Conj::No,
            MatMut::from_column_major_slice_mut(&mut b, n, 1),
            Par::Seq,
            Scratch::new(scratch).stack(),
        );
        b.truncate(size);
        b
    }

    /// `out = P R⁻¹ w` where `R` is square: least squares for `w = Qᵀb`.
    pub fn solve_r(&self, w: &[f64], out: &mut [f64]) {
        let r = self.r_rows();
        agree("shapes of least squares", (w.len(), out.len()), (r.n(), r.d()));
        for i in (0..r.n()).rev() {
            let known: f64 = self.columns[i + 1..].iter().map(|column| r.row(i)[*column] * out[*column]).sum();
            out[self.columns[i]] = (w[i] - known) / r.row(i)[self.columns[i]];
        }
    }

    /// `out = R⁻ᵀ Pᵀ b` where `R` is square.
    pub fn solve_r_transposed(&self, b: &[f64], out: &mut [f64]) {
        let r = self.r_rows();
        agree("shapes of normal equations", (b.len(), out.len()), (r.d(), r.n()));
        for (j, column) in self.columns.iter().enumerate() {
            let known: f64 = (0..j).map(|i| r.row(i)[*column] * out[i]).sum();
            out[j] = (b[*column] - known) / r.row(j)[*column];
        }
    }
}

/// True if no two rows that are not 0 differ much in size; so are rows that are not finite.
fn alike(sizes: &[f64]) -> bool {
    let most = sizes.iter().fold(0.0, |most: f64, size| most.max(*size));
    let least = sizes.iter().filter(|size| **size > 0.0).fold(f64::INFINITY, |least: f64, size| least.min(*size));
    !(most.is_finite() && most / least > ALIKE)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Random, U, rows};
    use super::*;
    use crate::real::{DoubleDouble, Real};
    use proptest::prelude::*;

    /// `n × d` entries in (−1, 1), row by row times ten to a power in `±decades`.
    fn scaled(n: usize, d: usize, decades: f64, random: &mut Random) -> Vec<f64> {
        let powers: Vec<f64> = random.vector(n).iter().map(|power| 10.0_f64.powf(decades * power)).collect();
        random.vector(n * d).iter().enumerate().map(|(k, x)| x * powers[k / d]).collect()
    }

    fn dot(a: &[DoubleDouble], b: &[DoubleDouble]) -> DoubleDouble {
        a.iter().zip(b).fold(DoubleDouble::ZERO, |sum, (a, b)| sum + *a * *b)
    }

    /// `min ‖X c − b‖` in double-double by the normal equations: at condition numbers below 1e5, 20 digits of it.
    fn least_squares(x: Rows<'_>, b: &[f64]) -> Vec<f64> {
        let (n, d) = (x.n(), x.d());
        let exact = |v: f64| DoubleDouble::from_f64(v);
        let column = |j: usize| (0..n).map(|i| exact(x.row(i)[j])).collect::<Vec<_>>();
        let targets: Vec<_> = b.iter().map(|b| exact(*b)).collect();
        let mut a: Vec<Vec<DoubleDouble>> = (0..d)
            .map(|i| (0..d).map(|j| dot(&column(i), &column(j))).chain([dot(&column(i), &targets)]).collect())
            .collect();
        for k in 0..d {
            let pivot = a[k].clone();
            for row in a.iter_mut().skip(k + 1) {
                let factor = row[k] / pivot[k];
                row.iter_mut().zip(&pivot).for_each(|(entry, above)| *entry -= factor * *above);
            }
        }
        let mut c = vec![DoubleDouble::ZERO; d];
        for i in (0..d).rev() {
            let known = dot(&a[i][i + 1..d], &c[i + 1..]);
            c[i] = (a[i][d] - known) / a[i][i];
        }
        c.iter().map(|c| c.to_f64()).collect()
    }

    proptest! {
        /// The theorem: every row of `X − Q R Pᵀ` is small next to that row. Qᵀ is applied to the rows one by one, so that
        /// what is tested is `‖Qᵀ X e_j − R Pᵀ e_j‖` against the exact Gram matrix of the rows weighted to one size.
        #[test]
        fn least_squares_fit_small_rows_as_well_as_large_ones(d in 1_usize..5, extra in 1_usize..4, seed: u64) {
            let n = d + extra;
            let mut random = Random::new(seed);
            let data = scaled(n, d, 4.0, &mut random);
            let x = rows(&data, n, d);
            let b: Vec<f64> = (0..n).map(|i| x.row(i).iter().sum::<f64>() + 1e-3 * data[i * d]).collect();
            let qr = RowwiseQr::of(x);
            let mut c = vec![0.0; d];
            qr.solve_r(&qr.apply_qt(&b), &mut c);
            let exact = least_squares(x, &b);
            // The solution is that of rows perturbed by γ relative to their own size, γ of the order of n d u times the
            // growth of the rows, which pivoting keeps small; the condition of the rows of one size amplifies it. Rows
            // drawn at random may be worse conditioned than any bound: those are not what is tested.
            let least = qr.diagonal().fold(f64::INFINITY, f64::min);
            let sizes = (0..n).map(|i| x.row(i).iter().map(|x| x.abs()).fold(0.0, f64::max));
            let small = { let mut s: Vec<f64> = sizes.collect(); s.sort_by(f64::total_cmp); s[n - d] };
            prop_assume!(least > 1e-2 * small);
            for (c, exact) in c.iter().zip(&exact) {
                prop_assert!((c - exact).abs() <= 1e5 * (n * d) as f64 * U * (1.0 + exact.abs()), "{c} and {exact}");
            }
        }

        #[test]
        fn the_triangle_has_the_gram_matrix_of_the_data(d in 1_usize..8, extra in 0_usize..9, decades in 0.0..6.0, seed: u64) {
            let n = d + extra;
            let mut random = Random::new(seed);
            let (data, b) = (scaled(n, d, decades, &mut random), random.vector(n));
            let x = rows(&data, n, d);
            let qr = RowwiseQr::of(x);
            let (r, qtb) = (qr.r_rows(), qr.apply_qt(&b));
            let column = |x: Rows<'_>, k: usize| (0..x.n()).map(|i| x.row(i)[k]).collect::<Vec<_>>();
            let length = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
            let inner = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let tolerance = 16.0 * (n * d) as f64 * U;
            for k in 0..d {
                let (x_k, r_k) = (column(x, k), column(r, k));
                for l in 0..d {
                    let (x_l, r_l) = (column(x, l), column(r, l));
                    let bound = tolerance * length(&x_k) * length(&x_l);
                    prop_assert!((inner(&x_k, &x_l) - inner(&r_k, &r_l)).abs() <= bound);
                }
                // Rᵀ Qᵀ b = Xᵀ b: the normal equations.
                prop_assert!((inner(&r_k, &qtb) - inner(&x_k, &b)).abs() <= tolerance * length(&x_k) * length(&b));
            }
        }

        #[test]
        fn solving_undoes_the_triangle(d in 1_usize..6, seed: u64) {
            let mut random = Random::new(seed);
            let data = scaled(d + 2, d, 3.0, &mut random);
            let qr = RowwiseQr::of(rows(&data, d + 2, d));
            let least = qr.diagonal().fold(f64::INFINITY, f64::min);
            prop_assume!(least > 1e-3);
            let (b, mut there, mut back) = (random.vector(d), vec![0.0; d], vec![0.0; d]);
            qr.solve_r(&b, &mut there);
            qr.r_rows().apply(&there, &mut back);
            let size = 1e3 / least * there.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
            prop_assert!(b.iter().zip(&back).all(|(b, back)| (b - back).abs() <= 1e3 * size * U));
            let (mut across, mut product) = (vec![0.0; d], vec![0.0; d]);
            qr.solve_r_transposed(&b, &mut across);
            qr.r_rows().apply_transposed(&across, &mut product);
            let size = 1e3 / least * across.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
            prop_assert!(b.iter().zip(&product).all(|(b, p)| (b - p).abs() <= 1e3 * size * U));
        }
    }

    #[test]
    fn rows_far_apart_keep_their_own_digits() {
        // Where plain reflections lose half of the digits of the last two rows: ‖r‖² of the exact least squares (½, ½).
        let data = [0.0, 1.0, 1.0, 0.0, 1e8, -1e8];
        let qr = RowwiseQr::of(rows(&data, 3, 2));
        let qtb = qr.apply_qt(&[0.0, 1.0, 0.0]);
        let fitted: f64 = qtb.iter().map(|v| v * v).sum();
        // ½(1 + 10^-16 …): what of |y|² = 1 is fitted.
        assert!((fitted - 0.5).abs() <= 8.0 * U, "{fitted}");
    }

    #[test]
    fn data_that_are_not_finite_are_passed_on() {
        for odd in [f64::NAN, f64::INFINITY] {
            assert_eq!(RowwiseQr::of(rows(&[1.0, odd, 0.0, 1e9], 2, 2)).apply_qt(&[1.0, 1.0]).len(), 2);
        }
    }
}
