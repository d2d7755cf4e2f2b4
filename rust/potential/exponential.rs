//! Products with exponentials whose factors over- or underflow alone. Knows no potential.

use crate::real::two_sum;

/// Above this `ln κ`, `e^(−½ ln κ)` is subnormal and has lost digits: two factors of a quarter each take its place.
const HALF_IS_SUBNORMAL: f64 = 1400.0;

/// `x e^(−½ l)`, within 3 units of rounding wherever it is a normal number: `l` is exact, `x` may be of any size.
pub(super) fn divide_by_root(x: f64, l: f64) -> f64 {
    if l <= HALF_IS_SUBNORMAL {
        x * (-0.5 * l).exp()
    } else {
        let quarter = (-0.25 * l).exp();
        x * quarter * quarter
    }
}

/// `e^(a + b)` for exact `a` and `b`: what rounding the sum loses is put back, so that exponents of a thousand that
/// nearly cancel cost no digits.
pub(super) fn exp_of_sum(a: f64, b: f64) -> f64 {
    let (sum, lost) = two_sum(a, b);
    let value = sum.exp();
    // ∞ and 0 are final, and infinite exponents leave NaN behind in `lost`.
    if value == 0.0 || !value.is_finite() { value } else { value * (1.0 + lost) }
}

/// `x e^l` in two factors, so that neither over- or underflows before the product does.
pub(super) fn times_exp(x: f64, l: f64) -> f64 {
    divide_by_root(divide_by_root(x, -l), -l)
}
