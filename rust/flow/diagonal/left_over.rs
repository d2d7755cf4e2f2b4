//! What least squares leaves of y, and what that adds to the loss. Knows no flow.

use super::number::Number;
use super::prepare::peak;
use crate::linalg::Rows;
use crate::real::Real;

/// y is out of reach if what is left of it is above this many times the rounding errors of the projection.
const PROJECTION_ERRORS: f64 = 16.0;

/// What `u`, the part of y that is left out of the reduced targets, adds to `Σr²`: `u² + 2uᵀ(y − u − Xβ)`. The second
/// term is 0 but for the directions of X that are left out as well, because they are below its rounding: small to X, and
/// perhaps not to y.
#[derive(Debug)]
pub(super) struct Unreachable<R> {
    squares: R,
    /// `uᵀ(y − u)`.
    along: R,
    /// `Xᵀu`; empty if nothing is left out.
    gradient: Vec<R>,
}

impl<R: Number> Unreachable<R> {
    /// Of nothing left.
    pub(super) fn nothing() -> Self {
        Self { squares: R::ZERO, along: R::ZERO, gradient: Vec::new() }
    }

    /// Of a `u` that is orthogonal to every column.
    pub(super) fn beyond(u: &[R]) -> Self {
        Self { squares: sum_of_squares(u), ..Self::nothing() }
    }

    pub(super) fn of(x: Rows<'_>, y: &[R], u: &[R]) -> Self {
        let mut gradient = vec![R::ZERO; x.d()];
        x.apply_transposed(u, &mut gradient);
        let along = u.iter().zip(y).fold(R::ZERO, |sum, (u, y)| sum + *u * (*y - *u));
        Self { squares: sum_of_squares(u), along, gradient }
    }

    /// What it adds at β.
    pub(super) fn beside(&self, beta: &[R]) -> R {
        let gradient = R::inner(&self.gradient, &beta[..self.gradient.len()]);
        self.squares + R::from_f64(2.0) * (self.along - gradient)
    }
}

/// What least squares leaves of y.
pub(super) struct LeftOver<R> {
    /// The rest.
    pub(super) u: Vec<R>,
    /// `max|Xβ|`.
    pub(super) fitted: f64,
    /// Rounding errors of `u`.
    pub(super) errors: f64,
}

impl<R: Number> LeftOver<R> {
    pub(super) fn of(x: Rows<'_>, y: &[R], beta: &[R]) -> Self {
        let (n, d) = (x.n(), x.d());
        let magnitudes: Vec<f64> = beta.iter().map(|beta| beta.to_f64().abs()).collect();
        let (mut fitted, mut bound) = (vec![R::ZERO; n], vec![0.0; n]);
        x.apply(beta, &mut fitted);
        x.apply_abs(&magnitudes, &mut bound);
        let errors = PROJECTION_ERRORS * n.max(d) as f64 * R::ULP * (peak(&bound) + peak(y));
        let u = y.iter().zip(&fitted).map(|(y, fitted)| *y - *fitted).collect();
        Self { u, fitted: peak(&fitted), errors }
    }

    /// True if some column of `x` is not orthogonal to it: those that move are, by least squares.
    pub(super) fn could_be_fitted(&self, x: Rows<'_>, factor: f64) -> bool {
        let mut gradient = vec![R::ZERO; x.d()];
        let mut sizes = vec![0.0; x.d()];
        x.apply_transposed(&self.u, &mut gradient);
        x.apply_transposed_abs(&vec![1.0; x.n()], &mut sizes);
        gradient.iter().zip(&sizes).any(|(g, size)| (g.to_f64() * factor).abs() > self.errors * (size * factor))
    }
}

/// `Σv²`.
pub(super) fn sum_of_squares<R: Real>(v: &[R]) -> R {
    v.iter().fold(R::ZERO, |sum, v| sum + *v * *v)
}
