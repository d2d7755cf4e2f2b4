//! β and S in double-double, and the divergence from the start. Knows no time.
//!
//! With `w = ½ ln(A/B) + 2G_ref + z` and the larger exponent `e`, as in [`reference`](super::reference):
//! `β = sign(w) e^e (1 − e^{−2|w|})`, `S = 2 e^e (1 + e^{−2|w|})`. S, which only Jacobians and error weights see, is
//! rounded to binary64.

use super::number::Number;
use super::reference::Reference;
use crate::linalg::Rows;
use crate::real::{DoubleDouble, Real, vector};
use rayon::prelude::*;

/// Coordinates evaluated at a time: their workspaces stay in the first-level cache.
const BLOCK: usize = 256;
/// Numbers of coordinates below this are not worth a second thread.
const WORTH_A_THREAD: usize = 1 << 12;
/// Products of data with fewer entries are none either: a hundred microseconds each.
const WORTH_A_PRODUCT: usize = 1 << 16;
/// Terms of `h(x)` below ½: `x^k (k−1)/k!` falls below 2^-107 of the first, `x²/2`, from the 26th on.
const TERMS: usize = 26;

/// A product with the data of each of several vectors, one after another: `from` so many entries `to` so many. Several are
/// threads' work where one is none.
pub(super) fn each(
    x: Rows<'_>,
    from: (&[DoubleDouble], usize),
    to: (&mut [DoubleDouble], usize),
    product: impl Fn(&[DoubleDouble], &mut [DoubleDouble]) + Sync,
) {
    let threads = from.0.len() > from.1 && x.data().len() >= WORTH_A_PRODUCT && rayon::current_num_threads() > 1;
    let (from, to) = ((from.0, from.1.max(1)), (to.0, to.1.max(1)));
    if threads {
        let vectors = from.0.par_chunks_exact(from.1).zip(to.0.par_chunks_exact_mut(to.1));
        vectors.for_each(|(from, to)| product(from, to));
    } else {
        let vectors = from.0.chunks_exact(from.1).zip(to.0.chunks_exact_mut(to.1));
        vectors.for_each(|(from, to)| product(from, to));
    }
}

/// `z = 2XᵀΔν` of several states one after another.
pub(super) fn shifts(x: Rows<'_>, states: &[DoubleDouble], z: &mut [DoubleDouble]) {
    DoubleDouble::transposed_many(x, states, z);
    for z in z {
        *z = DoubleDouble { high: 2.0 * z.high, low: 2.0 * z.low };
    }
}

/// β and S at the shifts of several states one after another. Relative error of β 40 units of 2^-104, and one for every
/// e-fold of `z` or of the exponents at the reference; 0 below the range of binary64, not finite above it.
pub(super) fn evaluate(reference: &Reference, z: &[DoubleDouble], beta: &mut [DoubleDouble], slope: &mut [f64]) {
    let d = reference.d();
    if d == 0 {
        return;
    }
    let threads = z.len() >= WORTH_A_THREAD && rayon::current_num_threads() > 1;
    for ((z, beta), slope) in z.chunks(d).zip(beta.chunks_mut(d)).zip(slope.chunks_mut(d)) {
        let each = |(k, ((z, beta), slope)): (usize, ((&[_], &mut [_]), &mut [_]))| {
            block(reference, k * BLOCK, z, beta, slope);
        };
        if threads {
            let blocks = z.par_chunks(BLOCK).zip(beta.par_chunks_mut(BLOCK)).zip(slope.par_chunks_mut(BLOCK));
            blocks.enumerate().for_each(each);
        } else {
            let blocks = z.chunks(BLOCK).zip(beta.chunks_mut(BLOCK)).zip(slope.chunks_mut(BLOCK));
            blocks.enumerate().for_each(each);
        }
    }
}

/// At most [`BLOCK`] coordinates from `start` on.
fn block(reference: &Reference, start: usize, z: &[DoubleDouble], beta: &mut [DoubleDouble], slope: &mut [f64]) {
    let len = z.len();
    let (mut exponent, mut gap) = ([DoubleDouble::ZERO; BLOCK], [DoubleDouble::ZERO; BLOCK]);
    let (exponent, gap) = (&mut exponent[..len], &mut gap[..len]);
    for (i, z) in z.iter().enumerate() {
        let [plus, minus, half] = reference.exact_exponents(start + i);
        let w = half + *z;
        let rising = w.high >= 0.0;
        exponent[i] = if rising { plus + *z } else { minus - *z };
        let w = w.abs();
        gap[i] = DoubleDouble { high: -2.0 * w.high, low: -2.0 * w.low };
        // For the time being the sign.
        slope[i] = if rising { 1.0 } else { -1.0 };
    }
    vector::exact_exp(exponent);
    vector::exact_exp_m1(gap);
    for i in 0..len {
        let (larger, rest, sign) = (exponent[i], gap[i], slope[i]);
        let value = larger * rest;
        beta[i] = if sign > 0.0 { -value } else { value };
        slope[i] = 2.0 * larger.high * (2.0 + rest.high);
    }
}

/// `D_Q(β, β(0))` at `G`, `β = P₀e^{2G} − M₀e^{−2G}` with `P₀ = A/4`, `M₀ = B/4`:
/// `½ Σ P₀ h(2G) + M₀ h(−2G)`, `h(x) = x e^x − (e^x − 1) ≥ 0`. No two of these terms cancel.
pub(super) fn divergence(reference: &Reference, g: &[DoubleDouble]) -> DoubleDouble {
    let each = g.iter().enumerate().map(|(i, g)| {
        let (log_p, log_m) = reference.start(i);
        let x = *g + *g;
        times_h(log_p, x) + times_h(log_m, -x)
    });
    each.fold(DoubleDouble::ZERO, |sum, term| sum + term).mul_f64(0.5)
}

/// `e^log h(x)`.
fn times_h(log: DoubleDouble, x: DoubleDouble) -> DoubleDouble {
    if x.high.abs() > 0.5 {
        // e^log alone may underflow where its product with e^x does not.
        return (log + x).exp() * x.add_f64(-1.0) + log.exp();
    }
    let mut sum = DoubleDouble::ZERO;
    for k in (2..TERMS).rev() {
        // Σ_{k≥2} x^{k−2} (k−1)/k!, from behind: c_k = (k−1)/k!, divided by (k−2)! again term by term.
        let k = k as f64;
        sum = sum * x / DoubleDouble::from_f64(k + 1.0) + DoubleDouble::from_f64(k - 1.0);
    }
    log.exp() * x * x * sum.mul_f64(0.5)
}
