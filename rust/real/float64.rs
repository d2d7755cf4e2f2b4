//! binary64 as a [`Real`], its dot product and update at memory bandwidth. Knows no other number type.

use super::Real;
use super::dispatch::{Kernel, dispatch, multiply_add};
use core::array::from_fn;

impl Real for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const LN_2: Self = core::f64::consts::LN_2;
    const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;

    fn from_parts(high: f64, low: f64) -> Self {
        high + low
    }
    fn to_f64(self) -> f64 {
        self
    }
    fn low(self) -> f64 {
        0.0
    }
    fn abs(self) -> Self {
        f64::abs(self)
    }
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }
    fn exp(self) -> Self {
        f64::exp(self)
    }
    fn exp_m1(self) -> Self {
        f64::exp_m1(self)
    }
    fn ln(self) -> Self {
        f64::ln(self)
    }
    fn ln_1p(self) -> Self {
        f64::ln_1p(self)
    }
    fn sinh(self) -> Self {
        f64::sinh(self)
    }
    fn cosh(self) -> Self {
        f64::cosh(self)
    }
    fn asinh(self) -> Self {
        f64::asinh(self)
    }
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }

    /// `|error| ≤ (n/32 + 7) u Σ|x_i v_i|` to first order (Higham, *Accuracy and Stability of Numerical Algorithms*,
    /// 2nd ed., sec. 3.1, for 32 interleaved sums folded pairwise); `n u Σ|x_i v_i|` below 32 entries.
    #[inline]
    fn dot(x: &[f64], v: &[Self]) -> Self {
        debug_assert_eq!(x.len(), v.len());
        if x.len() < LANES {
            return x.iter().zip(v).fold(0.0, |sum, (x, v)| sum + x * v);
        }
        dispatch(Dot::<false> { x, v })
    }

    #[inline]
    fn axpy(alpha: Self, x: &[f64], y: &mut [Self]) {
        debug_assert_eq!(x.len(), y.len());
        dispatch(Axpy::<false> { alpha, x, y });
    }

    /// The eight products are added to each other first: one load and store of `y` for all of them, and an eighth of the
    /// roundings.
    #[inline]
    fn axpy_rows(alpha: &[Self; 8], x: &[&[f64]; 8], y: &mut [Self]) {
        debug_assert!(x.iter().all(|x| x.len() == y.len()));
        dispatch(AxpyRows { alpha, x, y });
    }
}

/// Independent sums of a dot product: four vectors of eight hide the latency of the additions.
const LANES: usize = 32;

/// How often the sum of `n` products is rounded, at most: the `k` of `|error| ≤ k u Σ|x_i v_i|` (to first order) of
/// [`Real::dot`] for binary64 and of [`dot_abs`].
#[must_use]
pub const fn dot_roundings(n: usize) -> usize {
    if n < LANES { n } else { n / LANES + 7 }
}

/// The same for `Σ_j alpha_j x_j` over `n` rows, eight at a time by [`Real::axpy_rows`] and the rest by [`Real::axpy`].
#[must_use]
pub const fn axpy_roundings(n: usize) -> usize {
    if n < 8 { n + 1 } else { n / 8 + n % 8 + 6 }
}

/// `Σ |x_i| v_i`, with the bound of [`Real::dot`].
#[must_use]
pub fn dot_abs(x: &[f64], v: &[f64]) -> f64 {
    debug_assert_eq!(x.len(), v.len());
    dispatch(Dot::<true> { x, v })
}

/// `y += alpha |x|`.
pub fn axpy_abs(alpha: f64, x: &[f64], y: &mut [f64]) {
    debug_assert_eq!(x.len(), y.len());
    dispatch(Axpy::<true> { alpha, x, y });
}

/// `y += (alpha x)²`.
pub fn add_squares(alpha: f64, x: &[f64], y: &mut [f64]) {
    debug_assert_eq!(x.len(), y.len());
    dispatch(AddSquares { alpha, x, y });
}

/// `MAGNITUDES`: `x` by magnitude.
struct Dot<'a, const MAGNITUDES: bool> {
    x: &'a [f64],
    v: &'a [f64],
}

impl<const MAGNITUDES: bool> Kernel for Dot<'_, MAGNITUDES> {
    type Output = f64;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> f64 {
        let mut sums = [0.0; LANES];
        let (x, x_tail) = self.x.as_chunks::<LANES>();
        let (v, v_tail) = self.v.as_chunks::<LANES>();
        for (x, v) in x.iter().zip(v) {
            add_products::<FUSED, MAGNITUDES>(&mut sums, x, v);
        }
        // Padded: a loop of variable length over `sums` would keep the sums in memory instead of registers.
        let (mut x, mut v) = ([0.0; LANES], [0.0; LANES]);
        x[..x_tail.len()].copy_from_slice(x_tail);
        v[..v_tail.len()].copy_from_slice(v_tail);
        add_products::<FUSED, MAGNITUDES>(&mut sums, &x, &v);
        let sums: [f64; 8] = from_fn(|i| (sums[i] + sums[i + 8]) + (sums[i + 16] + sums[i + 24]));
        let sums: [f64; 4] = from_fn(|i| sums[i] + sums[i + 4]);
        (sums[0] + sums[2]) + (sums[1] + sums[3])
    }
}

#[inline(always)]
fn add_products<const FUSED: bool, const MAGNITUDES: bool>(
    sums: &mut [f64; LANES],
    x: &[f64; LANES],
    v: &[f64; LANES],
) {
    for i in 0..LANES {
        let x = if MAGNITUDES { x[i].abs() } else { x[i] };
        sums[i] = multiply_add::<FUSED>(x, v[i], sums[i]);
    }
}

struct Axpy<'a, const MAGNITUDES: bool> {
    alpha: f64,
    x: &'a [f64],
    y: &'a mut [f64],
}

impl<const MAGNITUDES: bool> Kernel for Axpy<'_, MAGNITUDES> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        for (y, x) in self.y.iter_mut().zip(self.x) {
            let x = if MAGNITUDES { x.abs() } else { *x };
            *y = multiply_add::<FUSED>(self.alpha, x, *y);
        }
    }
}

struct AxpyRows<'a> {
    alpha: &'a [f64; 8],
    x: &'a [&'a [f64]; 8],
    y: &'a mut [f64],
}

impl Kernel for AxpyRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let n = self.y.len();
        let [a, b, c, d, e, f, g, h] = *self.alpha;
        let [p, q, r, s, t, u, v, w] = self.x.map(|x| &x[..n]);
        for (i, y) in self.y.iter_mut().enumerate() {
            // Two chains of four, for latency.
            let first = multiply_add::<FUSED>(
                d,
                s[i],
                multiply_add::<FUSED>(c, r[i], multiply_add::<FUSED>(b, q[i], a * p[i])),
            );
            let second = multiply_add::<FUSED>(
                h,
                w[i],
                multiply_add::<FUSED>(g, v[i], multiply_add::<FUSED>(f, u[i], e * t[i])),
            );
            *y += first + second;
        }
    }
}

struct AddSquares<'a> {
    alpha: f64,
    x: &'a [f64],
    y: &'a mut [f64],
}

impl Kernel for AddSquares<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        for (y, x) in self.y.iter_mut().zip(self.x) {
            let scaled = self.alpha * x;
            *y = multiply_add::<FUSED>(scaled, scaled, *y);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Integers small enough that every sum of products is exact: any order must give the same number.
    fn integers(n: usize, seed: u32) -> Vec<f64> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state >> 16) - 32768.0
        };
        (0..n).map(|_| next()).collect()
    }

    #[test]
    fn a_dot_product_of_integers_is_exact_at_every_length() {
        for n in 0..200 {
            let (x, v) = (integers(n, 1), integers(n, 2));
            let exact: f64 = x.iter().zip(&v).map(|(x, v)| x * v).sum();
            assert_eq!(f64::dot(&x, &v), exact, "length {n}");
        }
    }

    #[test]
    fn an_update_of_integers_is_exact_at_every_length() {
        for n in 0..100 {
            let (x, mut y) = (integers(n, 3), integers(n, 4));
            let exact: Vec<f64> = x.iter().zip(&y).map(|(x, y)| 3.0 * x + y).collect();
            f64::axpy(3.0, &x, &mut y);
            assert_eq!(y, exact, "length {n}");
        }
    }

    #[test]
    fn an_update_by_eight_rows_of_integers_is_exact_at_every_length() {
        for n in 0..100 {
            let rows: Vec<Vec<f64>> = (0..8).map(|j| integers(n, 10 + j)).collect();
            let alpha = [1.0, -2.0, 3.0, -4.0, 5.0, -6.0, 7.0, -8.0];
            let mut y = integers(n, 4);
            let exact: Vec<f64> = (0..n).map(|i| y[i] + (0..8).map(|j| alpha[j] * rows[j][i]).sum::<f64>()).collect();
            f64::axpy_rows(&alpha, &from_fn(|j| rows[j].as_slice()), &mut y);
            assert_eq!(y, exact, "length {n}");
        }
    }

    #[test]
    fn non_finite_entries_reach_the_result() {
        let mut x = vec![1.0; 100];
        x[77] = f64::INFINITY;
        assert_eq!(f64::dot(&x, &vec![1.0; 100]), f64::INFINITY);
        x[78] = f64::NAN;
        assert!(f64::dot(&x, &vec![1.0; 100]).is_nan());
    }
}
