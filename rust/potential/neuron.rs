//! The potential of one linear neuron, what gradient flow on `f(x) = a wᵀx` minimises (\[A\] Theorem 2).
//!
//! With `β = a w`, `x = ‖β‖ = |a|‖w‖` and the conserved `δ = a² − ‖w‖²`, so that with `h = |δ|/2`, `r = √(x² + h²)` the
//! larger of the squares `a²`, `‖w‖²` is `r + h` and the smaller `r − h = x²/(r + h)`:
//!
//! ```text
//! q(x)   = ∫₀ˣ q'                 the minimised function of β is q(‖β‖) + zᵀβ
//! q'(x)  = (3/2) ‖w‖              = (3/2) √(r − δ/2)
//! q''(x) = (3/2) |a|/(a² + ‖w‖²)  = (3/4) √(r + δ/2) / r
//! ```
//!
//! The paper prints `[x² − (δ/2)(δ/2 + r)] √(r − δ/2) / x`, which is `q(x) − δ^(3/2)/2` for `δ ≥ 0` (and `q(x)` for `δ < 0`):
//! a constant that no minimiser sees, but beside which `q` drowns for `x ≪ δ`. Here `q(0) = 0`. Putting `r − h = x²/(r + h)`
//! into the printed form leaves sums of positive terms:
//!
//! ```text
//! δ ≥ 0:  q = x ‖w‖ (r/|a| + √δ)/(|a| + √δ)        a² = r + h
//! δ < 0:  q = x ‖w‖ (1 + h/‖w‖²)                 ‖w‖² = r + h
//! ```
//!
//! For `δ = 0` it is `x^(3/2)`, for `x ≪ δ` the quadratic `(3/4) x²/√δ`, for `x ≪ −δ` the cone `(3/2) √(−δ) x`. All of it is
//! homogeneous, `q_(cδ)(cx) = c^(3/2) q_δ(x)`, and is computed in units of `c = 4^k` near the larger of `x` and `|δ|`, whose
//! root is exact too: no square over- or underflows.
//!
//! Every function states its relative error for normal `x` and `δ` and a result that is a normal number; beyond, over- and
//! underflow give inf and 0. NaN for `x < 0` and for `δ` that is not finite. Knows no vector, no data and no flow.

/// The sizes of the two layers in units of a power of four.
#[derive(Clone, Copy)]
struct Layers {
    /// `2^−k`: the unit of `x` and `δ` is `4^k`, that of `a` and `w` is `2^k`.
    inverse_root_of_unit: f64,
    /// `√(r + h)`, the larger of `|a|` and `‖w‖`, in units of `2^k`: within 2.5u.
    root: f64,
    /// `r/(r + h)`, in `[½, 1]`: within 3u.
    ratio: f64,
    /// `x` in units of `2^k`, not `4^k`: times 1 over a root it is the smaller of `|a|` and `‖w‖` in true units.
    x: f64,
    /// `√|δ|` in units of `2^k`: within 1u.
    root_delta: f64,
}

impl Layers {
    /// None where `x` and `δ` are both 0 or one of them is no argument of `q`.
    fn new(x: f64, delta: f64) -> Option<Self> {
        let largest = x.max(delta.abs());
        if !(x >= 0.0 && x.is_finite() && delta.is_finite() && largest > 0.0) {
            return None;
        }
        // Subnormal numbers count as exponent −1023; multiplied by an exact power of two they are normal, which is enough.
        let k = (biased_exponent(largest) - BIAS).div_euclid(2);
        let inverse_root_of_unit = power_of_two(-k);
        let measure = |y: f64| y * inverse_root_of_unit * inverse_root_of_unit;
        let h = 0.5 * measure(delta.abs());
        let r = measure(x).hypot(h);
        let size = r + h;
        Some(Self {
            inverse_root_of_unit,
            root: size.sqrt(),
            ratio: r / size,
            x: x * inverse_root_of_unit,
            root_delta: measure(delta.abs()).sqrt(),
        })
    }

    /// The larger of `|a|` and `‖w‖`.
    fn larger(self) -> f64 {
        self.root / self.inverse_root_of_unit
    }

    /// The smaller of them, `x` over the larger: within 3.5u.
    fn smaller(self) -> f64 {
        self.x / self.root
    }
}

/// `q(x)`, 0 at 0: within 20u.
#[must_use]
pub fn value(x: f64, delta: f64) -> f64 {
    let Some(layers) = Layers::new(x, delta) else { return limit(x, delta, 0.0, f64::INFINITY) };
    let Layers { root, ratio, root_delta, .. } = layers;
    if delta < 0.0 {
        // 1 + h/‖w‖² = 2 − r/(r + h)
        return x * layers.larger() * (2.0 - ratio);
    }
    // The factor is in [¾, 1], and goes first so that nothing overflows that need not.
    let factor = (ratio * root + root_delta) / (root + root_delta);
    factor * x * layers.smaller()
}

/// `q'(x) = (3/2) ‖w‖`, the derivative from the right at 0: within 6u.
#[must_use]
pub fn gradient(x: f64, delta: f64) -> f64 {
    let Some(layers) = Layers::new(x, delta) else { return limit(x, delta, 0.0, f64::INFINITY) };
    if delta < 0.0 { 1.5 * layers.larger() } else { layers.x * (1.5 / layers.root) }
}

/// `q''(x) = (3/2) |a|/(a² + ‖w‖²)`, inf at `x = δ = 0`: within 8u.
#[must_use]
pub fn hessian(x: f64, delta: f64) -> f64 {
    let Some(layers) = Layers::new(x, delta) else { return limit(x, delta, f64::INFINITY, 0.0) };
    let Layers { inverse_root_of_unit, root, ratio, .. } = layers;
    if delta < 0.0 {
        // |a| = x/‖w‖; x is measured last and in steps, as it may be far below the unit.
        let slope = 0.75 / (root * root * root * ratio);
        return layers.x * inverse_root_of_unit * inverse_root_of_unit * slope;
    }
    0.75 / (root * ratio) * inverse_root_of_unit
}

/// `q'(x)/x = (3/2)/|a|`, the second derivative of `q(‖β‖)` across `β`, where `q''` is that along `β`: within 6u.
///
/// At `x = 0` it is `q''(0)` for `δ > 0` and inf otherwise, where `q(‖β‖)` has no second derivative.
#[must_use]
pub fn hessian_across(x: f64, delta: f64) -> f64 {
    let Some(layers) = Layers::new(x, delta) else { return limit(x, delta, f64::INFINITY, 0.0) };
    if delta < 0.0 { 1.5 / layers.smaller() } else { 1.5 / layers.root * layers.inverse_root_of_unit }
}

/// `q(x) − q(x₀) − q'(x₀)(x − x₀)` from `gap = x − x₀`, which the caller may know to more digits than the difference has:
/// within 40u, also where `x` is near `x₀`.
///
/// With `q = (3/2) |a|‖w‖² − |a|³/2` + constant, `x = |a|‖w‖` and `a² − ‖w‖² = δ` at both points two factors `‖w‖ − ‖w₀‖`
/// come out, and what is left are sums of positive terms (`a`, `w` for `|a|`, `‖w‖`):
///
/// ```text
/// D = (w − w₀)² [w (w + w₀)(a + 2a₀)/(a + a₀) + a² + a a₀ + a₀²] / (2 (a + a₀))
/// w − w₀ = (x − x₀) (x + x₀)/((r + r₀)(w + w₀)),      r = (a² + w²)/2
/// ```
#[must_use]
pub fn bregman(x: f64, x0: f64, gap: f64, delta: f64) -> f64 {
    if x0 == 0.0 && delta >= 0.0 {
        return value(x, delta);
    }
    let (Some((a, w)), Some((a0, w0))) = (sizes(x, delta), sizes(x0, delta)) else { return f64::NAN };
    if w + w0 == 0.0 {
        return 0.0; // the same point twice, or both so far below δ that the answer underflows
    }
    // In units of the largest of them, so that no square overflows.
    let unit = power_of_two(BIAS - biased_exponent(a.max(a0).max(w).max(w0)));
    // (x + x₀)/(w + w₀) is a mean of a and a₀: its weights do not underflow where x and x₀ are far below δ.
    let weight = w / (w + w0);
    let [a, a0, w, w0] = [a, a0, w, w0].map(|size| size * unit);
    if a + a0 == 0.0 {
        return 0.0; // likewise for δ < 0, where a vanishes with x
    }
    let mean = weight * a + (1.0 - weight) * a0;
    let sum_of_r = 0.5 * (a * a + w * w + a0 * a0 + w0 * w0);
    let difference = gap * unit * (mean / sum_of_r);
    let bracket = w * (w + w0) * ((a + 2.0 * a0) / (a + a0)) + a * a + a * a0 + a0 * a0;
    // One of the differences is left as gap times its factor, which over a + a₀ is of order 1.
    gap * (mean / (a + a0) * bracket / (2.0 * sum_of_r)) * difference
}

/// `(|a|, ‖w‖)` of one point.
fn sizes(x: f64, delta: f64) -> Option<(f64, f64)> {
    if x == 0.0 && delta == 0.0 {
        return Some((0.0, 0.0));
    }
    let layers = Layers::new(x, delta)?;
    let (larger, smaller) = (layers.larger(), layers.smaller());
    Some(if delta < 0.0 { (smaller, larger) } else { (larger, smaller) })
}

/// Where there are no layers: the answer at `x = δ = 0`, that at `x = ∞`, and NaN for what is no argument.
fn limit(x: f64, delta: f64, at_zero: f64, at_infinity: f64) -> f64 {
    if x == 0.0 && delta == 0.0 {
        at_zero
    } else if x == f64::INFINITY && delta.is_finite() {
        at_infinity
    } else {
        f64::NAN
    }
}

/// Of the exponent of binary64.
const BIAS: i32 = 1023;

/// The exponent field of a positive number: `⌊log₂⌋ + 1023` where it is normal, 0 where it is subnormal.
fn biased_exponent(positive: f64) -> i32 {
    i32::try_from(positive.to_bits() >> 52).unwrap_or(0)
}

/// `2^e` for `−1022 ≤ e ≤ 1023`.
fn power_of_two(e: i32) -> f64 {
    f64::from_bits(u64::from((e + BIAS).unsigned_abs()) << 52)
}

#[cfg(test)]
mod tests;
