//! Least squares for data whose rows may be dependent: what part of y can be fitted at all, and the least-norm
//! preimage of a vector. Knows no flow.
//!
//! `Zᵀ P = Q R` with column pivoting gives the row space; with `B = Z Q` (full column rank), `min ‖Z c − b‖` over the row
//! space is `c = Q w`, `w` from a QR of `B` that is stable row by row.

use super::prepare::peak;
use crate::linalg::{Cholesky, RowBasis, Rows, RowwiseQr, WeightedGram, norm};
use crate::real::Real;

/// Rows count as independent without a rank-revealing factorization while the Gram matrix of the scaled rows is better
/// conditioned than this: singular values then differ by less than 1e5 and every tolerance on the rank agrees.
const SURELY_INDEPENDENT: f64 = 1e10;

/// Most refinements of a solution of least squares: of 106 bits each has to gain ten.
const REFINEMENTS: usize = 12;

/// Squares of rows below this may underflow.
const SMALL_ROW: f64 = 1e-140;

/// The row space of `Z` and least squares in it.
#[derive(Clone, Debug)]
pub(super) struct Range {
    basis: RowBasis,
    /// `B = Z Q`, n × rank.
    image: Vec<f64>,
    n: usize,
    /// None where the rank is 0.
    qr: Option<RowwiseQr>,
}

/// True if the rows of `x` are certainly independent. Costs one Gram matrix; false means: look closer.
pub(super) fn surely_independent(x: Rows<'_>) -> bool {
    if x.n() > x.d() {
        return false;
    }
    // The units of the rows say nothing of their independence, and Cholesky takes them out; but not of squares that have
    // underflowed.
    let smallest = (0..x.n()).map(|n| peak(x.row(n))).fold(f64::INFINITY, f64::min);
    if smallest > 0.0 && smallest < SMALL_ROW {
        let scaled: Vec<f64> = (0..x.n())
            .flat_map(|n| {
                let unit = peak(x.row(n));
                x.row(n).iter().map(move |x| x / unit)
            })
            .collect();
        return surely_independent(rows(&scaled, x.n(), x.d()));
    }
    let mut cholesky = Cholesky::new(x.n());
    let kernel = WeightedGram::of(x, &vec![1.0; x.d()]);
    cholesky.factor(&kernel) && cholesky.condition_estimate(&kernel) < SURELY_INDEPENDENT
}

impl Range {
    /// Of `z`, n × d.
    pub(super) fn of(z: Rows<'_>) -> Self {
        let basis = RowBasis::of(z);
        let (n, rank) = (z.n(), basis.rank());
        let mut image = vec![0.0; n * rank];
        for (i, row) in image.chunks_exact_mut(rank.max(1)).enumerate() {
            basis.q_rows().apply(z.row(i), row);
        }
        let qr = (rank > 0).then(|| RowwiseQr::of(rows(&image, n, rank)));
        Self { basis, image, n, qr }
    }

    /// The rank of `Z`.
    pub(super) fn rank(&self) -> usize {
        self.basis.rank()
    }

    /// `‖Pb‖₂`, `P` the projection onto the range of `Z` as it counts here.
    pub(super) fn size_within(&self, b: &[f64]) -> f64 {
        self.qr.as_ref().map_or(0.0, |qr| norm(qr.apply_qt(b)[..self.basis.rank()].iter().copied()))
    }

    /// The `c` of least norm that minimises `‖Z c − b‖`, with one step of refinement.
    pub(super) fn solve(&self, b: &[f64], c: &mut [f64]) {
        let image = rows(&self.image, self.n, self.basis.rank());
        let mut w = self.whitened(b);
        let mut rest = vec![0.0; self.n];
        image.apply(&w, &mut rest);
        rest.iter_mut().zip(b).for_each(|(rest, b)| *rest = b - *rest);
        w.iter_mut().zip(self.whitened(&rest)).for_each(|(w, correction)| *w += correction);
        self.basis.q_rows().apply_transposed(&w, c);
    }

    /// The same for targets of more digits: the gradient `Zᵀ(b − Z c)` of the sum of squares is formed in their numbers,
    /// and its Newton steps in binary64 ("corrected seminormal equations": Björck, *Numerical Methods for Least Squares
    /// Problems*, 1996, 2.4.6). What a step leaves of an error is `u cond²`, so a dozen are enough or none helps.
    pub(super) fn refine<R: Real>(&self, z: Rows<'_>, b: &[R], c: &mut [R]) {
        let rank = self.basis.rank();
        let Some(qr) = &self.qr else { return };
        let (mut rest, mut gradient, mut whole) = (b.to_vec(), vec![R::ZERO; c.len()], vec![0.0; c.len()]);
        let (mut w, mut half, mut step) = (vec![R::ZERO; rank], vec![0.0; rank], vec![0.0; rank]);
        let mut last = f64::INFINITY;
        for _ in 0..REFINEMENTS {
            z.apply(c, &mut rest);
            rest.iter_mut().zip(b).for_each(|(rest, b)| *rest = *b - *rest);
            z.apply_transposed(&rest, &mut gradient);
            self.basis.q_rows().apply(&gradient, &mut w);
            let rounded: Vec<f64> = w.iter().map(|w| w.to_f64()).collect();
            qr.solve_r_transposed(&rounded, &mut half);
            qr.solve_r(&half, &mut step);
            self.basis.q_rows().apply_transposed(&step, &mut whole);
            let size = peak(&whole);
            if !(size < 0.5 * last) {
                return;
            }
            c.iter_mut().zip(&whole).for_each(|(c, step)| *c += R::from_f64(*step));
            last = size;
        }
    }

    /// `R₂⁻¹ Q₂ᵀ b` for `B = Q₂R₂`.
    fn whitened(&self, b: &[f64]) -> Vec<f64> {
        let rank = self.basis.rank();
        let Some(qr) = &self.qr else { return Vec::new() };
        let mut w = vec![0.0; rank];
        qr.solve_r(&qr.apply_qt(b)[..rank], &mut w);
        w
    }
}

/// View `data` as `n × d`; the lengths agree by construction.
pub(super) fn rows(data: &[f64], n: usize, d: usize) -> Rows<'_> {
    let Some(rows) = Rows::new(data, n, d) else { unreachable!("{} numbers are not {n} x {d}", data.len()) };
    rows
}
