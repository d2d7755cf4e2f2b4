//! `X = U S Vᵀ` in double-double, S next to diagonal: the coordinates of a flow of thirty digits. Knows no neuron.
//!
//! The singular vectors of binary64 are neither orthonormal to thirty digits nor those of X, and a flow in such coordinates
//! would be that of other data. They are a good basis all the same, in which S is diagonal but for `ε σ₁`:
//! 1. `A P = Q R` by reflections in double-double (A the taller of X and Xᵀ), a second time from the other side where columns
//!    are dependent: `A P = Q C Z` with a square C of full rank, and no condition enters;
//! 2. the singular vectors of C in binary64, made orthonormal by one more factorization each;
//! 3. S from both of them in double-double: a diagonal σ in double-double, and `F = S − diag σ`, which is `ε σ₁` and needs
//!    no more than binary64. A right-hand side costs two products with F more than one in the modes themselves.
//!
//! The alternative `W = W(0) + MᵀX` (THEORY §4) needs no basis, but `X Xᵀ` in double-double: its small eigenvalues keep no
//! more than 31 digits less those of the square of the condition, and each right-hand side two products in double-double.
//!
//! Directions in which data of binary64 are 0 to their last place have modes, too: they take 10^32 time scales to go.

use super::split::Split;
use crate::linalg::{ExactQr, Rows};
use crate::real::{DoubleDouble, Real};
use faer::Mat;

/// U and V by rows, S by its diagonal and the rest.
#[derive(Debug)]
pub(super) struct ExactBasis {
    /// `Uᵀ`, rank × N.
    pub(super) u: Split,
    /// `Vᵀ`, rank × d.
    pub(super) v: Split,
    /// σ (rank), falling.
    pub(super) sigma: Vec<DoubleDouble>,
    /// F, rank × rank, row by row.
    pub(super) coupling: Vec<f64>,
}

impl ExactBasis {
    /// Of data whose largest entry is about 1. Rank 0 if they are not finite.
    pub(super) fn of(x: Rows<'_>) -> Self {
        let (n, d) = (x.n(), x.d());
        let wide = n <= d;
        let (height, width) = if wide { (d, n) } else { (n, d) };
        let across = |k: usize| x.data()[k % n * d + k / n];
        let columns = (0..n * d).map(|k| DoubleDouble::from(if wide { x.data()[k] } else { across(k) })).collect();
        let qr = ExactQr::of(columns, height, true);
        let rank = qr.rank();
        let right = Right::of(&qr, width);
        let Some((left_vectors, right_vectors)) = singular_vectors(&right.core, rank) else {
            return Self::empty(n, d);
        };
        let core = product(&left_vectors, &right.core, &right_vectors, rank);
        let (long, short) = (qr.basis_times(&left_vectors), right.spread(&right_vectors, rank, width));
        let (u, v) = if wide { (short, long) } else { (long, short) };
        // S = UᵀXV: of X where it is the taller one, else of Xᵀ.
        let entry = |i: usize, j: usize| if wide { core[i * rank + j] } else { core[j * rank + i] };
        let sigma: Vec<DoubleDouble> = (0..rank).map(|k| entry(k, k)).collect();
        let off = |k: usize| if k / rank == k % rank { 0.0 } else { entry(k / rank, k % rank).high };
        Self { u: Split::new(&u, n), v: Split::new(&v, d), sigma, coupling: (0..rank * rank).map(off).collect() }
    }

    fn empty(n: usize, d: usize) -> Self {
        Self { u: Split::new(&[], n), v: Split::new(&[], d), sigma: Vec::new(), coupling: Vec::new() }
    }
}

/// `R = C Zᵀ Pᵀ` with a square C: Z of more columns than rows by a factorization of Rᵀ.
struct Right {
    /// C, columns one after another.
    core: Vec<DoubleDouble>,
    across: Option<ExactQr>,
    order: Vec<usize>,
}

impl Right {
    fn of(qr: &ExactQr, width: usize) -> Self {
        let (rank, order) = (qr.rank(), qr.order().to_vec());
        if rank == width {
            let core = (0..rank * rank).map(|k| qr.r(k % rank, k / rank)).collect();
            return Self { core, across: None, order };
        }
        let rows: Vec<DoubleDouble> = (0..rank * width).map(|k| qr.r(k / width, k % width)).collect();
        let across = ExactQr::of(rows.clone(), width, false);
        let mut turned = rows;
        across.apply_transposed(&mut turned);
        let core = (0..rank * rank).map(|k| turned[k % rank * width + k / rank]).collect();
        Self { core, across: Some(across), order }
    }

    /// `P Z M` of `rank` columns `M`.
    fn spread(&self, vectors: &[DoubleDouble], rank: usize, width: usize) -> Vec<DoubleDouble> {
        let columns = self.across.as_ref().map_or_else(|| vectors.to_vec(), |qr| qr.basis_times(vectors));
        let mut out = vec![DoubleDouble::ZERO; rank * width];
        for (out, column) in out.chunks_exact_mut(width).zip(columns.chunks_exact(width)) {
            self.order.iter().zip(column).for_each(|(to, entry)| out[*to] = *entry);
        }
        out
    }
}

/// Those of a square matrix to binary64, orthonormal to thirty digits.
fn singular_vectors(core: &[DoubleDouble], rank: usize) -> Option<(Vec<DoubleDouble>, Vec<DoubleDouble>)> {
    if rank == 0 {
        return None;
    }
    let svd = Mat::from_fn(rank, rank, |i, j| core[j * rank + i].high).thin_svd().ok()?;
    let (left, right) = (svd.U(), svd.V());
    let entries = |of: &dyn Fn(usize, usize) -> f64| {
        (0..rank * rank).map(|k| DoubleDouble::from(of(k % rank, k / rank))).collect::<Vec<_>>()
    };
    let left = orthonormal(entries(&|i, j| left[(i, j)]), rank)?;
    let right = orthonormal(entries(&|i, j| right[(i, j)]), rank)?;
    Some((left, right))
}

/// The orthonormal columns next to columns that are so to sixteen digits: Q of `A = QR`, as R is next to `±I`.
fn orthonormal(columns: Vec<DoubleDouble>, rank: usize) -> Option<Vec<DoubleDouble>> {
    let qr = ExactQr::of(columns, rank, false);
    if qr.rank() < rank {
        return None;
    }
    let sign = |k: usize| {
        let size = if qr.r(k % rank, k % rank).high < 0.0 { -DoubleDouble::ONE } else { DoubleDouble::ONE };
        if k / rank == k % rank { size } else { DoubleDouble::ZERO }
    };
    Some(qr.basis_times(&(0..rank * rank).map(sign).collect::<Vec<_>>()))
}

/// `Lᵀ C M`, all by columns.
fn product(left: &[DoubleDouble], core: &[DoubleDouble], right: &[DoubleDouble], rank: usize) -> Vec<DoubleDouble> {
    let mut out = Vec::with_capacity(rank * rank);
    let mut image = vec![DoubleDouble::ZERO; rank];
    for column in right.chunks_exact(rank) {
        image.fill(DoubleDouble::ZERO);
        for (weight, core) in column.iter().zip(core.chunks_exact(rank)) {
            DoubleDouble::add_multiple(*weight, core, &mut image);
        }
        out.extend(left.chunks_exact(rank).map(|left| DoubleDouble::inner_product(left, &image)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::tests::Random;
    use super::*;

    /// Entries of `X − U S Vᵀ`, and of `UᵀU − I` and `VᵀV − I`, in units of 2^-104.
    fn defects(x: Rows<'_>, basis: &ExactBasis) -> (f64, f64) {
        let rank = basis.sigma.len();
        let mut most: (f64, f64) = (0.0, 0.0);
        for n in 0..x.n() {
            // Row n of U S V^T.
            let of_row: Vec<DoubleDouble> = (0..rank).filter_map(|k| basis.u.row(k).nth(n)).collect();
            let modes: Vec<DoubleDouble> = (0..rank)
                .map(|j| {
                    let off = (0..rank).map(|k| of_row[k].mul_f64(basis.coupling[k * rank + j]));
                    off.fold(of_row[j] * basis.sigma[j], |sum, term| sum + term)
                })
                .collect();
            let mut row = vec![DoubleDouble::ZERO; x.d()];
            basis.v.combine(&modes, &mut row);
            most.0 = row.iter().zip(x.row(n)).fold(most.0, |most, (there, x)| most.max(there.add_f64(-x).high.abs()));
        }
        for split in [&basis.u, &basis.v] {
            let rows: Vec<Vec<DoubleDouble>> = (0..rank).map(|k| split.row(k).collect()).collect();
            for (j, k) in (0..rank).flat_map(|j| (0..rank).map(move |k| (j, k))) {
                let off = DoubleDouble::inner_product(&rows[j], &rows[k]).add_f64(-f64::from(u8::from(j == k)));
                most.1 = most.1.max(off.high.abs());
            }
        }
        (most.0 / DoubleDouble::UNIT_ROUNDOFF, most.1 / DoubleDouble::UNIT_ROUNDOFF)
    }

    #[test]
    fn the_modes_multiply_to_the_data_to_thirty_digits_whatever_their_condition_and_rank() {
        for (n, d, kind) in [(1, 1, 0), (4, 9, 0), (9, 4, 0), (5, 8, 1), (8, 5, 1), (6, 6, 2), (5, 9, 3), (20, 60, 2)] {
            let mut data = Random(7).vector(n * d);
            if kind == 1 {
                // A row twice.
                data.copy_within(0..d, d);
            } else if kind == 2 {
                // Rows at 10^-3, 10^-6, … of the first: condition numbers up to 10^18 at least.
                data.chunks_exact_mut(d)
                    .enumerate()
                    .for_each(|(k, row)| row.iter_mut().for_each(|x| *x *= 0.001_f64.powf(k as f64)));
            } else if kind == 3 {
                // A row that is the sum of two to sixteen digits.
                (0..d).for_each(|k| data[2 * d + k] = (data[k] + data[d + k]) / 3.0);
            }
            let Some(x) = Rows::new(&data, n, d) else { panic!("shape") };
            let basis = ExactBasis::of(x);
            let expected = d.min(n - usize::from(kind == 1));
            if kind != 2 {
                assert_eq!(basis.sigma.len(), expected, "{n} x {d}, {kind}");
            }
            let (product, orthogonality) = defects(x, &basis);
            // Four factorizations, each of some ten roundings a column: at most a hundred a column in all.
            let bound = 100.0 * n.max(d) as f64;
            assert!(product < 4.0 * bound, "{n} x {d}, {kind}: product off by {product} units");
            assert!(orthogonality < bound, "{n} x {d}, {kind}: basis off by {orthogonality} units");
            // Those that binary64 tells from round-off are singular values to its last digits.
            let solid = basis.sigma.iter().take_while(|sigma| sigma.high > 1e-12 * basis.sigma[0].high);
            let solid: Vec<f64> = solid.map(|sigma| sigma.high).collect();
            assert!(solid.windows(2).all(|pair| pair[0] >= pair[1] * (1.0 - 1e-3)));
        }
        let Some(nothing) = Rows::new(&[0.0; 6], 2, 3) else { panic!("shape") };
        assert_eq!(ExactBasis::of(nothing).sigma.len(), 0);
    }
}
