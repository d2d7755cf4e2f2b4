//! Many neurons into few, in binary64: an orthogonal rotation of the neurons after which at most `1 + rank` of them are not 0 in the
//! span of the samples. Knows no flow.
//!
//! With `Zᵀ = [a C]`, one row a neuron, and `Zᵀ = Q R`, the neurons `R = QᵀZᵀ`, `QᵀW` have the same β at every time (`span`):
//! neurons whose row of R is 0 never move and add nothing. Zᵀ and Q are never formed: blocks of neurons are folded into R one
//! after another, `[R; block] = Q_b R'`, and `Q_bᵀ` is applied to the weights that go with them, so that the memory beside
//! the weights does not grow with their number. Householder, not `R⁻¹`: neurons may well be dependent.
//!
//! # Source
//! Demmel, Grigori, Hoemmen & Langou, *SIAM J. Sci. Comput.* 34 (2012) A206–A239 (sequential TSQR).

use crate::linalg::{Rows, ThinQr, ThinSvd};
use crate::real::Real;

/// Neurons of one block, in multiples of the neurons that are left: more of them cost memory, fewer of them work.
const BLOCK: usize = 6;

/// Neurons that are left, in units of the weights that came in.
#[derive(Clone, Debug)]
pub(super) struct Folded<R = f64> {
    /// `[a_i c_i]`, m × (1 + rank).
    pub(super) z: Vec<R>,
    /// The part of every `w_i` outside the span of the samples, m × d.
    pub(super) outside: Vec<R>,
    /// How many.
    pub(super) m: usize,
    /// What was done to them.
    pub(super) rotation: Rotation,
}

/// The orthogonal matrix that the neurons were turned by, as far as it is needed to turn back those that are left.
#[derive(Clone, Debug)]
pub(super) enum Rotation {
    /// None.
    Identity,
    /// Factors, in the order in which they were made; none if they were not to be kept.
    Blocks(Vec<ThinQr>),
    /// Its first columns, a row a neuron.
    Columns(Vec<f64>),
}

impl<R> Folded<R> {
    /// Rows of the neurons that are left, `m × width`, as rows of all neurons.
    pub(super) fn unfold(&self, rows: &[f64], width: usize) -> Vec<f64> {
        match &self.rotation {
            Rotation::Identity => rows.to_vec(),
            Rotation::Blocks(blocks) => turned_back(blocks, rows, width),
            Rotation::Columns(columns) => {
                let neurons = columns.chunks_exact(self.m.max(1));
                neurons
                    .flat_map(|weights| {
                        let mut out = vec![0.0; width];
                        weights.iter().zip(rows.chunks_exact(width)).for_each(|(w, row)| f64::axpy(*w, row, &mut out));
                        out
                    })
                    .collect()
            }
        }
    }
}

impl Folded {
    /// Of the weights `a / unit`, `w / unit` (m × d). The rotations are kept if `keep`.
    pub(super) fn of(svd: &ThinSvd, a: &[f64], w: Rows<'_>, unit: f64, keep: bool) -> Self {
        let width = 1 + svd.rank();
        if w.n() <= width {
            let (z, outside) = block(svd, a, w.data(), unit);
            return Self { m: w.n(), z, outside: without_span(svd, outside), rotation: Rotation::Identity };
        }
        let d = w.d();
        let (mut z, mut all, mut rotations) = (vec![0.0; width * width], vec![0.0; width * d], Vec::new());
        for (a, w) in a.chunks(BLOCK * width).zip(w.data().chunks(BLOCK * width * d)) {
            let (more_z, more) = block(svd, a, w, unit);
            z.extend(more_z);
            all.extend(more);
            let qr = ThinQr::of(Rows::from_parts(&z, width + a.len(), width));
            let mut few = vec![0.0; width * d];
            Rows::from_parts(&all, width + a.len(), d).apply_transposed_many(&thin(&qr, width), &mut few);
            all = few;
            z.clear();
            z.extend_from_slice(qr.r_rows().data());
            if keep {
                rotations.push(qr);
            }
        }
        Self { m: width, z, outside: without_span(svd, all), rotation: Rotation::Blocks(rotations) }
    }
}

fn turned_back(rotations: &[ThinQr], rows: &[f64], width: usize) -> Vec<f64> {
    let (mut top, mut blocks) = (rows.to_vec(), Vec::new());
    for qr in rotations.iter().rev() {
        top.resize(qr.height() * width, 0.0);
        qr.rotate_back(&mut top, width);
        blocks.push(top.split_off(rows.len()));
    }
    blocks.reverse();
    blocks.concat()
}

/// The first `width` columns of Q, one after another. A product with them costs half of an application of the reflectors.
fn thin(qr: &ThinQr, width: usize) -> Vec<f64> {
    let mut rows: Vec<f64> = (0..qr.height() * width).map(|k| f64::from(u8::from(k / width == k % width))).collect();
    qr.rotate_back(&mut rows, width);
    (0..rows.len()).map(|k| rows[k % qr.height() * width + k / qr.height()]).collect()
}

/// `[a_i c_i]` of some neurons, and their weights, all divided by `unit`.
fn block(svd: &ThinSvd, a: &[f64], w: &[f64], unit: f64) -> (Vec<f64>, Vec<f64>) {
    let (m, rank) = (a.len(), svd.rank());
    let inverse = 1.0 / unit;
    let w: Vec<f64> = w.iter().map(|w| w * inverse).collect();
    let mut c = vec![0.0; m * rank];
    svd.v_rows().apply_many(&w, &mut c);
    let neuron = |i: usize| core::iter::once(a[i] / unit).chain(c[i * rank..(i + 1) * rank].iter().copied());
    ((0..m).flat_map(neuron).collect(), w)
}

/// `W − W V Vᵀ`, twice: outer weights may be large, and multiply what rounding leaves in the span.
fn without_span(svd: &ThinSvd, mut w: Vec<f64>) -> Vec<f64> {
    let v = svd.v_rows();
    let m = w.len().checked_div(v.d()).unwrap_or(0);
    let (mut c, mut part) = (vec![0.0; m * v.n()], vec![0.0; w.len()]);
    if v.n() > 0 {
        for _ in 0..2 {
            v.apply_many(&w, &mut c);
            v.apply_transposed_many(&c, &mut part);
            w.iter_mut().zip(&part).for_each(|(w, part)| *w -= part);
        }
    }
    w
}
