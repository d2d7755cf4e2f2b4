//! `(shift I − T) x = b` for a symmetric tridiagonal `T`, in O(n).
//!
//! Gaussian elimination with partial pivoting: a row exchange fills one second superdiagonal and no more. Without
//! pivoting a shift between eigenvalues can meet a zero pivot in a matrix that is far from singular.
//!
//! # Sources
//! Golub & Van Loan, *Matrix Computations*, 4th ed., §4.3.4; the storage is that of LAPACK's `gttrf`.

use faer::c64;
use std::ops::{Mul, Neg, Sub};

/// The numbers a shift can be.
pub(super) trait Scalar: Copy + Mul<Output = Self> + Neg<Output = Self> + Sub<Output = Self> {
    fn real(value: f64) -> Self;
    /// A norm for choosing pivots: within √2 of the modulus, cheaper, and never overflowing.
    fn size(self) -> f64;
    fn reciprocal(self) -> Self;
    fn is_finite(self) -> bool;
}

impl Scalar for f64 {
    fn real(value: f64) -> Self {
        value
    }
    fn size(self) -> f64 {
        self.abs()
    }
    fn reciprocal(self) -> Self {
        1.0 / self
    }
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }
}

impl Scalar for c64 {
    fn real(value: f64) -> Self {
        c64::new(value, 0.0)
    }
    fn size(self) -> f64 {
        self.re.abs().max(self.im.abs())
    }
    /// Smith's division (*Comm. ACM* 5 (1962) 435): the textbook quotient squares the modulus and overflows at 1e154.
    fn reciprocal(self) -> Self {
        if self.re.abs() >= self.im.abs() {
            let ratio = self.im / self.re;
            let denominator = self.re + self.im * ratio;
            c64::new(1.0 / denominator, -ratio / denominator)
        } else {
            let ratio = self.re / self.im;
            let denominator = self.re * ratio + self.im;
            c64::new(ratio / denominator, -1.0 / denominator)
        }
    }
    fn is_finite(self) -> bool {
        self.re.is_finite() && self.im.is_finite()
    }
}

/// A right-hand side, in whatever way its parts are stored.
pub(super) trait Vector<T> {
    fn get(&self, i: usize) -> T;
    fn set(&mut self, i: usize, value: T);
}

impl Vector<f64> for &mut [f64] {
    fn get(&self, i: usize) -> f64 {
        self[i]
    }
    fn set(&mut self, i: usize, value: f64) {
        self[i] = value;
    }
}

impl Vector<c64> for (&mut [f64], &mut [f64]) {
    fn get(&self, i: usize) -> c64 {
        c64::new(self.0[i], self.1[i])
    }
    fn set(&mut self, i: usize, value: c64) {
        (self.0[i], self.1[i]) = (value.re, value.im);
    }
}

/// `P (shift I − T) = L U`, `U` with two superdiagonals, pivots stored as reciprocals.
#[derive(Clone, Debug)]
pub(super) struct TridiagonalLu<T> {
    rows: Vec<Row<T>>,
}

/// One elimination step: multiplier, row of `U`, and whether it came from below.
#[derive(Clone, Copy, Debug)]
struct Row<T> {
    inverse_pivot: T,
    upper: T,
    second_upper: T,
    multiplier: T,
    exchanged: bool,
}

impl<T: Scalar> TridiagonalLu<T> {
    /// Room for matrices of size `n`; the zero matrix until the first factorization.
    pub(super) fn new(n: usize) -> Self {
        let zero = T::real(0.0);
        let row = Row { inverse_pivot: zero, upper: zero, second_upper: zero, multiplier: zero, exchanged: false };
        Self { rows: vec![row; n] }
    }

    /// Factor for the diagonal and off-diagonal of `T`. False if a pivot or its reciprocal is zero or not finite.
    pub(super) fn factor(&mut self, shift: T, diagonal: &[f64], off_diagonal: &[f64]) -> bool {
        let n = self.rows.len();
        let zero = T::real(0.0);
        // The row being eliminated with: its first and second entry.
        let mut pivot = match diagonal.first() {
            Some(first) => shift - T::real(*first),
            None => return true,
        };
        let mut upper = off_diagonal.first().map_or(zero, |off| T::real(-off));
        for i in 0..n {
            let mut row = Row { inverse_pivot: zero, upper, second_upper: zero, multiplier: zero, exchanged: false };
            let mut next = (zero, zero);
            if i + 1 < n {
                let below = T::real(-off_diagonal[i]);
                let below_pivot = shift - T::real(diagonal[i + 1]);
                let below_upper = off_diagonal.get(i + 1).map_or(zero, |off| T::real(-off));
                if below.size() > pivot.size() {
                    let multiplier = pivot * below.reciprocal();
                    row = Row { upper: below_pivot, second_upper: below_upper, multiplier, exchanged: true, ..row };
                    next = (upper - multiplier * below_pivot, -(multiplier * below_upper));
                    pivot = below;
                } else {
                    row.multiplier = below * pivot.reciprocal();
                    next = (below_pivot - row.multiplier * upper, below_upper);
                }
            }
            row.inverse_pivot = pivot.reciprocal();
            // A pivot of zero and an infinite one both show here, and NaN does.
            if !(row.inverse_pivot.is_finite() && row.inverse_pivot.size() > 0.0) {
                return false;
            }
            self.rows[i] = row;
            (pivot, upper) = next;
        }
        true
    }

    /// `b ← (shift I − T)⁻¹ b`.
    pub(super) fn solve(&self, mut b: impl Vector<T>) {
        let n = self.rows.len();
        if n == 0 {
            return;
        }
        let mut carried = b.get(0);
        for (i, row) in self.rows[..n - 1].iter().enumerate() {
            let below = b.get(i + 1);
            let (kept, reduced) = if row.exchanged { (below, carried) } else { (carried, below) };
            b.set(i, kept);
            carried = reduced - row.multiplier * kept;
        }
        b.set(n - 1, carried);
        let (mut x1, mut x2) = (T::real(0.0), T::real(0.0));
        for (i, row) in self.rows.iter().enumerate().rev() {
            let x = (b.get(i) - row.second_upper * x2 - row.upper * x1) * row.inverse_pivot;
            b.set(i, x);
            (x1, x2) = (x, x1);
        }
    }
}
