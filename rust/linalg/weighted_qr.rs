//! The triangular factor of `√S Xᵀ`, a few hundred features at a time.
//!
//! The triangle of the features so far is stacked on the next ones and triangularised again, so that memory and cache
//! hold a strip however many features there are.
//!
//! # Sources
//! Demmel, Grigori, Hoemmen & Langou, *SIAM J. Sci. Comput.* 34 (2012) A206–A239 (sequential TSQR, as stable as
//! Householder QR).

use super::powers_of_two::unit_scale;
use super::scratch::Scratch;
use super::{Rows, SquareMatrix};
use faer::linalg::qr::no_pivoting::factor::{qr_in_place, qr_in_place_scratch};
use faer::{Mat, Par, Spec};

/// Features taken at a time, at least.
const FEATURES: usize = 512;
/// Householder vectors applied together.
const BLOCK: usize = 32;

/// The power of two that brings the largest `√s_k |x_k|` near 1; NaN if there is none.
pub(super) fn scale_of_row(row: &[f64], s: &[f64]) -> f64 {
    let weighted = row.iter().zip(s).map(|(x, s)| (s.sqrt() * x).abs());
    // `max` would drop a NaN.
    let peak = weighted.fold(0.0, |peak: f64, w| if w > peak || w.is_nan() { w } else { peak });
    unit_scale(peak).unwrap_or(f64::NAN)
}

/// `√S Xᵀ D = Q Lᵀ` with a positive diagonal, `D = diag(scale)`. False if a column is dependent on those before it, to
/// working precision, or anything is not finite.
pub(super) fn triangle(x: Rows<'_>, s: &[f64], scale: &[f64], l: &mut SquareMatrix) -> bool {
    let (n, d) = (x.n(), x.d());
    if n > d || scale.iter().any(|scale| scale.is_nan()) {
        return false;
    }
    let chunk = FEATURES.max(2 * n).min(d).max(1);
    let block = BLOCK.min(n.max(1));
    let mut stacked = Mat::<f64>::zeros(n + chunk, n);
    let mut coefficients = Mat::<f64>::zeros(block, n);
    let mut scratch = Scratch::new(qr_in_place_scratch::<f64>(n + chunk, n, block, Par::Seq, Spec::default()));
    let mut rank = 0;
    for start in (0..d).step_by(chunk) {
        let features = chunk.min(d - start);
        let mut active = stacked.as_mut().get_mut(..n + features, ..);
        for (j, scale) in scale.iter().enumerate() {
            let mut column = active.as_mut().col_mut(j);
            // What lies between the triangle and the new features are reflections of the last round.
            column.as_mut().get_mut(j + 1..).fill(0.0);
            let new = x.row(j)[start..start + features].iter().zip(&s[start..]);
            let places = column.get_mut(n..).iter_mut();
            places.zip(new).for_each(|(place, (x, s))| *place = s.sqrt() * x * scale);
        }
        rank = qr_in_place(active, coefficients.as_mut(), Par::Seq, scratch.stack(), Spec::default()).rank;
    }
    rank == n && (0..n).all(|j| take_row(&stacked, j, l))
}

/// Row `j` of the triangle, its sign made positive, as column `j` of `l`. False if its pivot is zero or not finite.
fn take_row(triangle: &Mat<f64>, j: usize, l: &mut SquareMatrix) -> bool {
    let pivot = triangle[(j, j)];
    let sign = 1.0_f64.copysign(pivot);
    (j..l.n()).for_each(|i| l.set(i, j, sign * triangle[(j, i)]));
    pivot != 0.0 && l.column(j)[j..].iter().all(|entry| entry.is_finite())
}
