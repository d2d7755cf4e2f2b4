//! Products of weighted rows with rows, several at a time: the inner loop of `X diag(s) Xᵀ`.
//!
//! Rows lie in memory along the features, over which the sum goes. So a tile of results is kept in registers, one vector
//! of partial sums each, while the features go by: nothing has to be packed or transposed, which for these shapes (a
//! hundred rows, each product as long as a panel) costs a general matrix product a third of its time.

#![allow(
    clippy::inline_always,
    clippy::needless_range_loop,
    reason = "a kernel is compiled with vector instructions only as far as it is inlined into the dispatched function"
)]

use core::array::from_fn;
use core::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::Rows;

/// Features at most of one call: the weighted rows of a tile fit the first-level cache, a panel of a few hundred rows the
/// second-level one.
pub(super) const PANEL: usize = 512;

/// The columns `first..first + width` of the lower triangle of `X diag(s) Xᵀ`, over some of the features.
pub(super) struct Strip<'a> {
    pub x: Rows<'a>,
    pub s: &'a [f64],
    pub first: usize,
    pub width: usize,
    /// At most [`PANEL`] of them.
    pub features: Range<usize>,
    /// Rows `first..n`, column-major.
    pub sum: &'a mut [f64],
}

impl Strip<'_> {
    /// Add the products to `sum`. Entries above the diagonal may be added to or not.
    pub fn add(self) {
        debug_assert!(self.features.len() <= PANEL);
        Arch::new().dispatch(self);
    }

    /// Tile by tile, `C` columns by `R` rows. At the edge the last row stands in for those beyond it.
    #[inline(always)]
    fn by_tiles<S: Simd, const C: usize, const R: usize>(self, simd: S) {
        let Self { x, s, first, width, features, sum } = self;
        let (n, s) = (x.n(), &s[features.clone()]);
        let row = |i: usize| &x.row(i.min(n - 1))[features.clone()];
        let mut weighted = [Line([0.0; PANEL]); C];
        for j in (0..width).step_by(C) {
            for (c, weighted) in weighted.iter_mut().enumerate() {
                weighted.0.iter_mut().zip(row(first + j + c).iter().zip(s)).for_each(|(w, (x, s))| *w = x * s);
            }
            let weighted = from_fn(|c| &weighted[c].0[..s.len()]);
            for i in (j..n - first).step_by(R) {
                let products = tile::<S, C, R>(simd, weighted, from_fn(|r| row(first + i + r)));
                let rows = i..(i + R).min(n - first);
                for (column, products) in sum.chunks_exact_mut(n - first).skip(j).zip(&products) {
                    column[rows.clone()].iter_mut().zip(products).for_each(|(sum, product)| *sum += product);
                }
            }
        }
    }
}

/// A weighted row that starts with a cache line: vectors across two lines would cost a quarter of the speed.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([f64; PANEL]);

impl WithSimd for Strip<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // As many sums as registers hold beside one row of the tile and the vector just loaded.
        if S::REGISTER_COUNT >= 32 { self.by_tiles::<S, 5, 5>(simd) } else { self.by_tiles::<S, 3, 4>(simd) }
    }
}

/// `Σ_k left[c][k] right[r][k]`, slices of one length. No closure touches a vector: one that is not inlined is compiled
/// without the instructions.
#[inline(always)]
pub(super) fn tile<S: Simd, const C: usize, const R: usize>(
    simd: S,
    left: [&[f64]; C],
    right: [&[f64]; R],
) -> [[f64; R]; C] {
    let (vectors, tail) = S::as_simd_f64s(left[0]);
    let (vectors, tail) = (vectors.len(), tail.len());
    let mut sums = [[simd.splat_f64s(0.0); R]; C];
    let mut lefts: [&[S::f64s]; C] = [&[]; C];
    let mut rights: [&[S::f64s]; R] = [&[]; R];
    for c in 0..C {
        lefts[c] = &S::as_simd_f64s(left[c]).0[..vectors];
    }
    for r in 0..R {
        rights[r] = &S::as_simd_f64s(right[r]).0[..vectors];
    }
    let mut column = [simd.splat_f64s(0.0); C];
    for k in 0..vectors {
        for c in 0..C {
            column[c] = lefts[c][k];
        }
        for r in 0..R {
            let row = rights[r][k];
            for c in 0..C {
                sums[c][r] = simd.mul_add_e_f64s(column[c], row, sums[c][r]);
            }
        }
    }
    if tail > 0 {
        for c in 0..C {
            column[c] = simd.partial_load_f64s(&left[c][left[c].len() - tail..]);
        }
        for r in 0..R {
            let row = simd.partial_load_f64s(&right[r][right[r].len() - tail..]);
            for c in 0..C {
                sums[c][r] = simd.mul_add_e_f64s(column[c], row, sums[c][r]);
            }
        }
    }
    let mut products = [[0.0; R]; C];
    for c in 0..C {
        for r in 0..R {
            products[c][r] = simd.reduce_sum_f64s(sums[c][r]);
        }
    }
    products
}
