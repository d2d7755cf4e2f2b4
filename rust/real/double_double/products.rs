//! Products of binary64 data with double-double vectors and of these with each other, vectorised. Knows nothing of
//! matrices.

use super::{DoubleDouble, quick_two_sum, two_prod, two_sum};
use crate::real::Real;
use crate::real::dispatch::{Kernel, dispatch};
use core::array::from_fn;

/// Independent sums of a dot product, enough to hide the latency of renormalising each.
const LANES: usize = 16;

/// Entries updated together.
const BLOCK: usize = 8;

/// `Σ x_i v_i` within `4 u² (n/16 + 5) Σ|x_i v_i|` to first order, `u = 2^-53`: every step rounds a product (u²), its
/// low part and the renormalised low sum (3 u² of the running sum), in sixteen interleaved sums.
pub(super) fn dot(x: &[f64], v: &[DoubleDouble]) -> DoubleDouble {
    debug_assert_eq!(x.len(), v.len());
    let sum = dispatch(Dot { x, v });
    if sum.is_finite() {
        return sum;
    }
    // inf − inf inside the error terms makes NaN of what is an infinity: binary64 decides what it is.
    DoubleDouble::from(x.iter().zip(v).fold(0.0, |sum, (x, v)| sum + x * v.high))
}

/// `y += alpha x`, each entry within `2 u² |alpha x| + 3 u² |y|` to first order (a product and an accurate sum).
pub(super) fn axpy(alpha: DoubleDouble, x: &[f64], y: &mut [DoubleDouble]) {
    debug_assert_eq!(x.len(), y.len());
    dispatch(Axpy { alpha, x, y });
}

struct Dot<'a> {
    x: &'a [f64],
    v: &'a [DoubleDouble],
}

/// Sums in which the loop runs, split so that each half is a vector.
struct Sums {
    high: [f64; LANES],
    low: [f64; LANES],
}

impl Sums {
    #[inline(always)]
    fn add(&mut self, x: &[f64; LANES], v_high: &[f64; LANES], v_low: &[f64; LANES]) {
        for i in 0..LANES {
            let (product, error) = two_prod(x[i], v_high[i]);
            let rest = x[i].mul_add(v_low[i], error);
            let (sum, sum_error) = two_sum(self.high[i], product);
            (self.high[i], self.low[i]) = quick_two_sum(sum, self.low[i] + (sum_error + rest));
        }
    }
}

impl Kernel for Dot<'_> {
    type Output = DoubleDouble;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> DoubleDouble {
        if self.x.len() < LANES {
            // Folding sixteen sums would take longer than the products.
            return self.x.iter().zip(self.v).fold(DoubleDouble::ZERO, |sum, (x, v)| sum + v.mul_f64(*x));
        }
        let mut sums = Sums { high: [0.0; LANES], low: [0.0; LANES] };
        let (x, x_tail) = self.x.as_chunks::<LANES>();
        let (v, v_tail) = self.v.as_chunks::<LANES>();
        for (x, v) in x.iter().zip(v) {
            sums.add(x, &v.map(|v| v.high), &v.map(|v| v.low));
        }
        if !x_tail.is_empty() {
            let (mut x, mut high, mut low) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
            for (i, (x_i, v)) in x_tail.iter().zip(v_tail).enumerate() {
                (x[i], high[i], low[i]) = (*x_i, v.high, v.low);
            }
            sums.add(&x, &high, &low);
        }
        let sums: [DoubleDouble; LANES] = from_fn(|i| DoubleDouble { high: sums.high[i], low: sums.low[i] });
        let sums: [DoubleDouble; 8] = from_fn(|i| sums[i] + sums[i + 8]);
        let sums: [DoubleDouble; 4] = from_fn(|i| sums[i] + sums[i + 4]);
        (sums[0] + sums[2]) + (sums[1] + sums[3])
    }
}

struct Axpy<'a> {
    alpha: DoubleDouble,
    x: &'a [f64],
    y: &'a mut [DoubleDouble],
}

impl Kernel for Axpy<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let (x, x_tail) = self.x.as_chunks::<BLOCK>();
        let (y, y_tail) = self.y.as_chunks_mut::<BLOCK>();
        for (x, y) in x.iter().zip(y) {
            // High and low parts apart, or the compiler does not make vectors of them.
            let (mut high, mut low) = (y.map(|y| y.high), y.map(|y| y.low));
            for i in 0..BLOCK {
                let sum = DoubleDouble { high: high[i], low: low[i] } + self.alpha.mul_f64(x[i]);
                (high[i], low[i]) = (sum.high, sum.low);
            }
            *y = from_fn(|i| DoubleDouble { high: high[i], low: low[i] });
        }
        for (y, x) in y_tail.iter_mut().zip(x_tail) {
            *y += self.alpha.mul_f64(*x);
        }
    }
}

/// `Σ a_i b_i` of two double-double vectors: each term within 5 u² + 4 u² (n/8 + 4), as [`dot`], in eight interleaved sums.
pub(super) fn inner(a: &[DoubleDouble], b: &[DoubleDouble]) -> DoubleDouble {
    debug_assert_eq!(a.len(), b.len());
    dispatch(Inner { a, b })
}

/// `y += alpha x`, each entry within `5 u² |alpha x| + 3 u² |y|` to first order.
pub(super) fn add_multiple(alpha: DoubleDouble, x: &[DoubleDouble], y: &mut [DoubleDouble]) {
    debug_assert_eq!(x.len(), y.len());
    dispatch(AddProduct { a: Factor::One(alpha), x, y });
}

/// `y += a∘x`, entry by entry, to the same bound.
pub(super) fn add_product(a: &[DoubleDouble], x: &[DoubleDouble], y: &mut [DoubleDouble]) {
    debug_assert!(a.len() == x.len() && x.len() == y.len());
    dispatch(AddProduct { a: Factor::Each(a), x, y });
}

struct Inner<'a> {
    a: &'a [DoubleDouble],
    b: &'a [DoubleDouble],
}

impl Kernel for Inner<'_> {
    type Output = DoubleDouble;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> DoubleDouble {
        let (a, a_tail) = self.a.as_chunks::<BLOCK>();
        let (b, b_tail) = self.b.as_chunks::<BLOCK>();
        let (mut high, mut low) = ([0.0; BLOCK], [0.0; BLOCK]);
        for (a, b) in a.iter().zip(b) {
            let (a_high, a_low, b_high, b_low) =
                (a.map(|a| a.high), a.map(|a| a.low), b.map(|b| b.high), b.map(|b| b.low));
            for i in 0..BLOCK {
                let (a, b) =
                    (DoubleDouble { high: a_high[i], low: a_low[i] }, DoubleDouble { high: b_high[i], low: b_low[i] });
                let sum = DoubleDouble { high: high[i], low: low[i] } + a * b;
                (high[i], low[i]) = (sum.high, sum.low);
            }
        }
        let sums: [DoubleDouble; BLOCK] = from_fn(|i| DoubleDouble { high: high[i], low: low[i] });
        let sums: [DoubleDouble; 4] = from_fn(|i| sums[i] + sums[i + 4]);
        let sum = (sums[0] + sums[2]) + (sums[1] + sums[3]);
        a_tail.iter().zip(b_tail).fold(sum, |sum, (a, b)| sum + *a * *b)
    }
}

/// What every entry is multiplied by.
#[derive(Clone, Copy)]
enum Factor<'a> {
    One(DoubleDouble),
    Each(&'a [DoubleDouble]),
}

struct AddProduct<'a> {
    a: Factor<'a>,
    x: &'a [DoubleDouble],
    y: &'a mut [DoubleDouble],
}

impl Kernel for AddProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let (x, x_tail) = self.x.as_chunks::<BLOCK>();
        let (y, y_tail) = self.y.as_chunks_mut::<BLOCK>();
        let done = x.len() * BLOCK;
        for (k, (x, y)) in x.iter().zip(y).enumerate() {
            let a: [DoubleDouble; BLOCK] = match self.a {
                Factor::One(alpha) => [alpha; BLOCK],
                Factor::Each(a) => from_fn(|i| a[k * BLOCK + i]),
            };
            // High and low parts apart, or the compiler does not make vectors of them.
            let (a_high, a_low, x_high, x_low) =
                (a.map(|a| a.high), a.map(|a| a.low), x.map(|x| x.high), x.map(|x| x.low));
            let (mut high, mut low) = (y.map(|y| y.high), y.map(|y| y.low));
            for i in 0..BLOCK {
                let (a, x) =
                    (DoubleDouble { high: a_high[i], low: a_low[i] }, DoubleDouble { high: x_high[i], low: x_low[i] });
                let sum = DoubleDouble { high: high[i], low: low[i] } + a * x;
                (high[i], low[i]) = (sum.high, sum.low);
            }
            *y = from_fn(|i| DoubleDouble { high: high[i], low: low[i] });
        }
        for (i, (y, x)) in y_tail.iter_mut().zip(x_tail).enumerate() {
            let a = match self.a {
                Factor::One(alpha) => alpha,
                Factor::Each(a) => a[done + i],
            };
            *y += a * *x;
        }
    }
}
