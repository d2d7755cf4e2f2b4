//! What gradient flow on a tied diagonal network of depth D implicitly minimises, one coordinate in units of its start
//! (\[W\] Theorem 3; THEORY §6). Knows no scale, no data and no flow.
//!
//! `β = u₊^D − u₋^D`, `u± = 1` at the start. The flow moves `u±^{2−D}` linearly, so with `e = D/(D−2)`, `k = 2/(D−2)`
//!
//! ```text
//! h(z)  = (1−z)^{−e} − (1+z)^{−e}            β as a function of the dual z ∈ (−1, 1)
//! h'(z) = e ((1−z)^{−e−1} + (1+z)^{−e−1})
//! q(x)  = ∫₀ˣ h⁻¹ = x z − ((D−2)/2) ((1−z)^{−k} + (1+z)^{−k} − 2),   z = h⁻¹(x)
//! ```
//!
//! and for D = 2, where exponentials take the place of powers, `h(z) = 2 sinh z`, `q(x) = x asinh(x/2) + 2 − √(4+x²)`.
//! What becomes small is `a = 1 − |z|`, about `|x|^{−1/e}`: both `z` and `a` are kept ([`Arc`]), each to its own last
//! place. Numbers are double-double with an exponent of their own, so that a scale of 10^-100000 needs no second formula.

mod divergence;
mod scaled;
mod start;

#[cfg(test)]
mod tests;

pub use scaled::DepthPotential;
pub use start::TiedStart;

use crate::real::{DoubleDouble, Real, Scaled};

/// Below `2^TINY` the first term of every series here is all of it.
const TINY: i64 = -120;
/// Above `2^LARGE` the power of `1 − z` is all of `h`.
const LARGE: i64 = 120;
/// Newton steps in binary64: from its starting point four reach round-off, at every depth.
const STEPS: usize = 8;

/// A point of `(−1, 1)` together with its distance from the nearer end (of the line, and 1, at depth 2).
#[derive(Clone, Copy, Debug)]
pub struct Arc {
    /// `z`.
    pub z: Scaled,
    /// `1 − |z|`.
    pub a: Scaled,
}

/// The functions of one depth.
#[derive(Clone, Copy, Debug)]
pub struct Depth {
    /// `D`.
    layers: u32,
    /// `D/(D−2)` and `2/(D−2)`; infinite at depth 2.
    e: DoubleDouble,
    k: DoubleDouble,
}

impl Arc {
    /// From `z`, where its digits are those that count: `|z| ≤ ½`, say.
    #[must_use]
    pub fn from_z(z: Scaled) -> Self {
        Self { z, a: Scaled::ONE - z.abs() }
    }

    /// From `1 − |z|` and the sign of `z`.
    #[must_use]
    pub fn from_a(a: Scaled, negative: bool) -> Self {
        let z = Scaled::ONE - a;
        Self { z: if negative { -z } else { z }, a }
    }

    /// Whether `|z| < ½`: `z` is the better known of the two.
    #[must_use]
    pub fn is_inner(&self) -> bool {
        self.z.is_below(-1)
    }
}

impl Depth {
    /// Of depth `depth`, at least 2.
    #[must_use]
    pub fn new(depth: u32) -> Self {
        let number = |v: u32| DoubleDouble::from(f64::from(v));
        let below = number(depth.saturating_sub(2));
        Self { layers: depth, e: number(depth) / below, k: number(2) / below }
    }

    /// `D`.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.layers
    }

    /// `e = D/(D−2)`.
    #[must_use]
    pub fn exponent(&self) -> DoubleDouble {
        self.e
    }

    fn is_shallow(&self) -> bool {
        self.layers <= 2
    }

    /// `h(z)`, odd and rising.
    #[must_use]
    pub fn h(&self, arc: Arc) -> Scaled {
        if self.is_shallow() {
            return sinh(arc.z) * Scaled::from(2.0);
        }
        // (1+z)^{−e} = (1−z)^{−e} e^{−eL} with L = ln((1+z)/(1−z)): nothing cancels.
        let gap = logarithm(arc) * Scaled::from(self.e);
        let size = -exp_m1(-gap) * power(arc.a, -self.e);
        if arc.z.is_negative() { -size } else { size }
    }

    /// `h'(z)`, even.
    #[must_use]
    pub fn slope(&self, arc: Arc) -> Scaled {
        if self.is_shallow() {
            let grown = Scaled::exp(arc.z.abs().value());
            return grown + Scaled::ONE / grown;
        }
        let exponent = -(self.e + DoubleDouble::ONE);
        let far = Scaled::from(2.0) - arc.a;
        Scaled::from(self.e) * (power(arc.a, exponent) + power(far, exponent))
    }

    /// `h⁻¹(x)`.
    #[must_use]
    pub fn inverse(&self, x: Scaled) -> Arc {
        let size = x.abs();
        if self.is_shallow() {
            let z = (size / Scaled::from(2.0)).asinh();
            return Arc::from_z(if x.is_negative() { -z } else { z });
        }
        let found = if size.is_below(TINY) {
            Arc::from_z(size / Scaled::from(self.e + self.e))
        } else if size.is_below(LARGE) {
            self.refined(size)
        } else {
            Arc::from_a(power(size, -DoubleDouble::ONE / self.e), false)
        };
        if x.is_negative() { Arc { z: -found.z, ..found } } else { found }
    }

    /// Newton in binary64 for `η = −ln a`, in which `asinh(h/2)` is close to a straight line of slope `e`, and two more
    /// steps with all digits.
    fn refined(&self, size: Scaled) -> Arc {
        let (x, e) = (size.value().high, self.e.high);
        let aim = (0.5 * x).asinh();
        let mut eta = aim / e;
        for _ in 0..STEPS {
            let (z, a) = (-(-eta).exp_m1(), (-eta).exp());
            let gap = e * (2.0 * z / a).ln_1p();
            let h = -(-gap).exp_m1() * (e * eta).exp();
            let slope = e * ((e * eta).exp() + a * (2.0 - a).powf(-e - 1.0));
            eta -= ((0.5 * h).asinh() - aim) * (4.0 + h * h).sqrt() / slope;
        }
        let mut arc = if eta < core::f64::consts::LN_2 {
            Arc::from_z(Scaled::from(-(-eta).exp_m1()))
        } else {
            Arc::from_a(Scaled::exp(DoubleDouble::from(-eta)), false)
        };
        for _ in 0..2 {
            let step = (size - self.h(arc)) / self.slope(arc);
            arc = if arc.is_inner() { Arc::from_z(arc.z + step) } else { Arc::from_a(arc.a - step, false) };
        }
        arc
    }

    /// `q(x)` at `z = h⁻¹(x)`: at least 0.
    #[must_use]
    pub fn q(&self, x: Scaled, arc: Arc) -> Scaled {
        if x.is_zero() {
            return Scaled::ZERO;
        }
        let (x, z) = (x.abs(), arc.z.abs());
        if self.is_shallow() {
            let two = Scaled::from(2.0);
            return x * (z - x / (two + (two * two + x.square()).sqrt()));
        }
        // h is convex beyond 0, so what is taken off is at most half.
        x * z - self.conjugate(arc)
    }

    /// `H(z) − H(0) = ∫₀ᶻ h`, the conjugate of q.
    #[must_use]
    pub fn conjugate(&self, arc: Arc) -> Scaled {
        if self.is_shallow() {
            return Scaled::from(4.0) * sinh(arc.z * Scaled::from(0.5)).square();
        }
        let below = Scaled::from(f64::from(self.layers) - 2.0);
        let far = Scaled::from(2.0) - arc.a;
        if arc.is_inner() {
            // With m = −(k/2) ln(1−z²), n = k atanh z: ½(…) = e^m cosh n − 1 = (e^m − 1) cosh n + 2 sinh²(n/2).
            let half = Scaled::from(self.k.mul_f64(0.5));
            let m = (arc.z.square() / (arc.a * far)).ln_1p() * half;
            let n = logarithm(arc) * half;
            let wave = sinh(n * Scaled::from(0.5)).square() * Scaled::from(2.0);
            return below * (exp_m1(m) * (wave + Scaled::ONE) + wave);
        }
        let sum = power(arc.a, -self.k) + power(far, -self.k) - Scaled::from(2.0);
        below * sum * Scaled::from(0.5)
    }
}

/// `ln((1+|z|)/(1−|z|)) ≥ 0`.
fn logarithm(arc: Arc) -> Scaled {
    (Scaled::from(2.0) * arc.z.abs() / arc.a).ln_1p()
}

/// `v^p` for `v > 0`.
fn power(v: Scaled, p: DoubleDouble) -> Scaled {
    Scaled::exp(v.ln() * p)
}

/// `e^v − 1`, of any size.
fn exp_m1(v: Scaled) -> Scaled {
    if v.is_below(TINY) {
        v
    } else if v.is_below(0) {
        Scaled::from(v.value().exp_m1())
    } else {
        Scaled::exp(v.value()) - Scaled::ONE
    }
}

fn sinh(v: Scaled) -> Scaled {
    if v.is_below(TINY) {
        return v;
    }
    if v.is_below(3) {
        return Scaled::from(v.value().sinh());
    }
    let grown = Scaled::exp(v.value());
    (grown - Scaled::ONE / grown) * Scaled::from(0.5)
}
