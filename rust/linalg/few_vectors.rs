//! Products of the data with the few vectors of an implicit stage, read once for all of them.
//!
//! A general product packs and turns its operands, which for seven vectors costs as much as multiplying them. Here the
//! results of a tile stay in registers while the data go by as they lie: sums along the features in [`Forward`],
//! combinations of rows in [`Backward`].

#![allow(
    clippy::inline_always,
    clippy::needless_range_loop,
    reason = "a kernel is compiled with vector instructions only as far as it is inlined into the dispatched function"
)]

use core::array::from_fn;

use faer::MatMut;
use pulp::{Arch, Simd, WithSimd};

use super::Rows;
use super::row_products::{PANEL, tile};

/// Rows `start..` of `X v_k` for the vectors of `v`, one after another, into the columns of `out`.
pub(super) fn forward(x: Rows<'_>, start: usize, v: &[f64], out: MatMut<'_, f64>) {
    Arch::new().dispatch(Forward { x, start, v, out });
}

/// Entries `start..` of `Xᵀ w_k` for the vectors of `w`, one after another, into the columns of `out`.
pub(super) fn backward(x: Rows<'_>, start: usize, w: &[f64], out: MatMut<'_, f64>) {
    Arch::new().dispatch(Backward { x, start, w, out });
}

struct Forward<'a> {
    x: Rows<'a>,
    start: usize,
    v: &'a [f64],
    out: MatMut<'a, f64>,
}

impl Forward<'_> {
    /// Tile by tile, `C` vectors by `R` rows. At the edge the last one stands in for those beyond it.
    #[inline(always)]
    fn by_tiles<S: Simd, const C: usize, const R: usize>(self, simd: S) {
        let Self { x, start, v, mut out } = self;
        let (d, rows, vectors) = (x.d(), out.nrows(), out.ncols());
        out.fill(0.0);
        for from in (0..d).step_by(PANEL) {
            let panel = from..d.min(from + PANEL);
            for i in (0..rows).step_by(R) {
                let data: [&[f64]; R] = from_fn(|r| &x.row(start + (i + r).min(rows - 1))[panel.clone()]);
                for k in (0..vectors).step_by(C) {
                    let few: [&[f64]; C] = from_fn(|c| &v[(k + c).min(vectors - 1) * d..][panel.clone()]);
                    let sums = tile::<S, C, R>(simd, few, data);
                    for c in 0..C.min(vectors - k) {
                        for r in 0..R.min(rows - i) {
                            out[(i + r, k + c)] += sums[c][r];
                        }
                    }
                }
            }
        }
    }
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // The numbers of stages of Radau's methods are 3, 5 and 7: with 32 registers each has a tile of its own.
        match self.out.ncols() {
            _ if S::REGISTER_COUNT < 32 => self.by_tiles::<S, 4, 3>(simd),
            ..=3 => self.by_tiles::<S, 3, 7>(simd),
            4..=5 => self.by_tiles::<S, 5, 5>(simd),
            _ => self.by_tiles::<S, 7, 3>(simd),
        }
    }
}

struct Backward<'a> {
    x: Rows<'a>,
    start: usize,
    w: &'a [f64],
    out: MatMut<'a, f64>,
}

impl Backward<'_> {
    /// `C` combinations of `V` vectors of columns at a time; the last columns by one vector, then by part of one.
    #[inline(always)]
    fn by_tiles<S: Simd, const C: usize, const V: usize>(self, simd: S) {
        let Self { x, start, w, mut out } = self;
        let (n, columns, vectors) = (x.n(), out.nrows(), out.ncols());
        for k in (0..vectors).step_by(C) {
            let few: [&[f64]; C] = from_fn(|c| &w[(k + c).min(vectors - 1) * n..][..n]);
            let mut from = 0;
            while from < columns {
                let left = columns - from;
                let width = [V * S::F64_LANES, S::F64_LANES, left].into_iter().find(|width| *width <= left);
                let width = width.unwrap_or(left);
                let place = start + from..start + from + width;
                let mut sums = [[simd.splat_f64s(0.0); V]; C];
                for i in 0..n {
                    let row = &x.row(i)[place.clone()];
                    let mut here = [simd.splat_f64s(0.0); V];
                    if width == V * S::F64_LANES {
                        here.copy_from_slice(S::as_simd_f64s(row).0);
                    } else {
                        here[0] = simd.partial_load_f64s(row);
                    }
                    for c in 0..C {
                        let weight = simd.splat_f64s(few[c][i]);
                        for u in 0..V {
                            sums[c][u] = simd.mul_add_e_f64s(weight, here[u], sums[c][u]);
                        }
                    }
                }
                for c in 0..C.min(vectors - k) {
                    let Some(column) = out.as_mut().col_mut(k + c).try_as_col_major_mut() else { return };
                    let target = &mut column.as_slice_mut()[from..from + width];
                    for (u, part) in target.chunks_mut(S::F64_LANES).enumerate() {
                        simd.partial_store_f64s(part, sums[c][u]);
                    }
                }
                from += width;
            }
        }
    }
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match self.out.ncols() {
            _ if S::REGISTER_COUNT < 32 => self.by_tiles::<S, 4, 2>(simd),
            ..=3 => self.by_tiles::<S, 3, 6>(simd),
            4..=5 => self.by_tiles::<S, 5, 4>(simd),
            _ => self.by_tiles::<S, 7, 3>(simd),
        }
    }
}
