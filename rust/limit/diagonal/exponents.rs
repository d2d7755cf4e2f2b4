//! `β` and its slopes `S` as functions of `G = Xᵀν`, at any scale.
//!
//! With `root = ½ ln(AB)` and `z = 2G + ½ ln(A/B)`: `β = ½ e^root sinh z`, `S = e^root cosh z`, formed as
//! `β = ±¼ e^(root + |z|) (1 − e^(−2|z|))` so that neither `|β| ≪ √(AB)` cancels nor `√(AB) = e^−10000` underflows
//! before it is multiplied by what makes it large. A one-sided coordinate (A or B zero) has one exponential: `e^(−2|z|) = 0`.

use crate::potential::{Start, asinh_of_twice_quotient, hyperbolic_entropy};
use crate::real::{DoubleDouble, Real, vector};

/// One coordinate of a start, ready to be evaluated.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Side<R> {
    /// `root = ½ ln(AB)` and `shift = ½ ln(A/B)`.
    Both { root: R, shift: R },
    /// B = 0: `β = ¼ A e^{2G} ≥ 0`.
    Plus { log_a: R },
    /// A = 0: `β = −¼ B e^{−2G} ≤ 0`.
    Minus { log_b: R },
    /// A = B = 0: `β` stays 0.
    Neither,
}

/// A start in the units of the scaled problem.
#[derive(Clone, Debug)]
pub(super) struct Exponents {
    exact: Vec<Side<DoubleDouble>>,
    plain: Vec<Side<f64>>,
    /// `|ln 2^unit|`, by which the exponents differ from the user's.
    log_unit: f64,
}

/// Sizes of `½ ln(AB)` and `½ ln(A/B)` of a coordinate in the user's units, and of what was taken off to measure in ours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub root: f64,
    pub shift: f64,
    pub log_unit: f64,
}

/// Buffers of one evaluation.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    exponent: Vec<f64>,
    minus_twice: Vec<f64>,
    negative: Vec<bool>,
    exp: Vec<f64>,
    exp_m1: Vec<f64>,
}

impl Exponents {
    /// The start with coefficients measured in `2^unit`.
    pub fn of(start: &Start, unit: i32) -> Self {
        let log_unit = DoubleDouble::from_f64(f64::from(unit)) * DoubleDouble::LN_2;
        let half = DoubleDouble::from_f64(0.5);
        let side = |(a, b): (&DoubleDouble, &DoubleDouble)| match (a.is_finite(), b.is_finite()) {
            (true, true) => Side::Both { root: (*a + *b) * half - log_unit, shift: (*a - *b) * half },
            (true, false) => Side::Plus { log_a: *a - log_unit },
            (false, true) => Side::Minus { log_b: *b - log_unit },
            (false, false) => Side::Neither,
        };
        let exact: Vec<_> = start.log_a.iter().zip(&start.log_b).map(side).collect();
        let plain = exact.iter().map(|s| s.map(DoubleDouble::to_f64)).collect();
        Self { exact, plain, log_unit: log_unit.to_f64().abs() }
    }

    /// Number of coordinates.
    pub fn len(&self) -> usize {
        self.plain.len()
    }

    /// ln(4/A) and ln(4/B) of a coordinate, the costs of the entropic program; infinite for a side that is not there.
    pub fn costs(&self, i: usize) -> (f64, f64) {
        let log_four = 2.0 * core::f64::consts::LN_2;
        match self.plain[i] {
            Side::Both { root, shift } => (log_four - (root + shift), log_four - (root - shift)),
            Side::Plus { log_a } => (log_four - log_a, f64::INFINITY),
            Side::Minus { log_b } => (f64::INFINITY, log_four - log_b),
            Side::Neither => (f64::INFINITY, f64::INFINITY),
        }
    }

    /// Is the start unbiased and the same in every coordinate?
    pub fn is_uniform(&self) -> bool {
        let Some(Side::Both { root, shift }) = self.exact.first().copied() else { return false };
        shift == DoubleDouble::ZERO && self.exact.iter().all(|s| *s == Side::Both { root, shift })
    }

    /// The least `½ ln(AB)`: how far from its start the slowest coefficient is. `−∞` for one that is one-sided.
    pub fn least_root(&self) -> f64 {
        let root = |s: &Side<f64>| if let Side::Both { root, .. } = s { *root } else { f64::NEG_INFINITY };
        self.plain.iter().map(root).fold(f64::INFINITY, f64::min)
    }

    /// The size of the largest exponent at the start.
    pub fn largest_root(&self) -> f64 {
        let root = |s: &Side<f64>| match *s {
            Side::Both { root, .. } | Side::Plus { log_a: root } | Side::Minus { log_b: root } => root.abs(),
            Side::Neither => 0.0,
        };
        self.plain.iter().map(root).fold(0.0, f64::max)
    }

    /// The mean `½ ln(AB)` of the two-sided coordinates, by which starts are sorted.
    pub fn mean_root(&self) -> f64 {
        let roots = self.plain.iter().filter_map(|s| if let Side::Both { root, .. } = s { Some(*root) } else { None });
        let (sum, count) = roots.fold((0.0, 0.0), |(sum, count), root| (sum + root, count + 1.0));
        if count > 0.0 { sum / count } else { 0.0 }
    }

    /// Changes of `½ ln(AB)` and `½ ln(A/B)` from this start to another, where all coordinates are two-sided.
    pub fn change(&self, to: &Self) -> Option<Vec<(f64, f64)>> {
        let difference = |(a, b): (&Side<f64>, &Side<f64>)| match (*a, *b) {
            (Side::Both { root, shift }, Side::Both { root: r, shift: s }) => Some((r - root, s - shift)),
            _ => None,
        };
        self.plain.iter().zip(&to.plain).map(difference).collect()
    }

    /// Is there a coordinate whose coefficient cannot take both signs?
    pub fn any_one_sided(&self) -> bool {
        self.plain.iter().any(|s| !matches!(s, Side::Both { .. }))
    }

    /// The sign a coefficient is bound to: 1, −1, or `None` if free. 0 if it cannot move.
    pub fn bound_sign(&self, i: usize) -> Option<f64> {
        match self.plain[i] {
            Side::Both { .. } => None,
            Side::Plus { .. } => Some(1.0),
            Side::Minus { .. } => Some(-1.0),
            Side::Neither => Some(0.0),
        }
    }

    /// `β` and `S` from `G` in binary64. Relative error of `S` about `2u(1 + |root| + |z|)` plus that of `z`.
    pub fn evaluate(&self, g: &[f64], beta: &mut [f64], slope: &mut [f64], scratch: &mut Scratch) {
        scratch.resize(self.len());
        for (i, (side, g)) in self.plain.iter().zip(g).enumerate() {
            let (exponent, minus_twice, negative) = side.exponent(*g);
            scratch.exponent[i] = exponent;
            scratch.minus_twice[i] = minus_twice;
            scratch.negative[i] = negative;
        }
        vector::exp(&scratch.exponent, &mut scratch.exp);
        vector::exp_m1(&scratch.minus_twice, &mut scratch.exp_m1);
        for i in 0..beta.len() {
            let (e, m) = (scratch.exp[i], scratch.exp_m1[i]);
            let magnitude = -0.25 * e * m;
            beta[i] = if scratch.negative[i] { -magnitude } else { magnitude };
            slope[i] = 0.5 * e * (2.0 + m);
        }
    }

    /// `β` from `G` in double-double, and `S` rounded to binary64. Coordinates with `S < floor` are evaluated in
    /// binary64: their relative error of 2^-50 is an absolute one far below what the others leave.
    pub fn evaluate_exactly(&self, g: &[DoubleDouble], floor: f64, beta: &mut [DoubleDouble], slope: &mut [f64]) {
        for (((side, g), beta), slope) in self.exact.iter().zip(g).zip(beta).zip(slope) {
            let (exponent, minus_twice, negative) = side.exponent(*g);
            let rough = exponent.to_f64().exp();
            let magnitude = if rough < floor || !exponent.is_finite() {
                let tail = minus_twice.to_f64().exp_m1();
                *slope = 0.5 * rough * (2.0 + tail);
                DoubleDouble::from_f64(-0.25 * rough * tail)
            } else {
                let (e, m) = (exponent.exp(), minus_twice.exp_m1());
                *slope = 0.5 * e.to_f64() * (2.0 + m.to_f64());
                DoubleDouble::from_f64(-0.25) * e * m
            };
            *beta = if negative { -magnitude } else { magnitude };
        }
    }

    /// `|root| + |z|` and `|shift| + |z|`, what round-off in the exponents is proportional to.
    pub fn sizes(&self, i: usize, g: f64) -> (f64, f64) {
        match self.plain[i] {
            Side::Both { root, shift } => {
                let z = (2.0 * g + shift).abs();
                (root.abs() + z, shift.abs() + z)
            }
            Side::Plus { log_a: root } | Side::Minus { log_b: root } => (root.abs() + 2.0 * g.abs(), 2.0 * g.abs()),
            Side::Neither => (0.0, 0.0),
        }
    }

    /// What the exponents of a coordinate were formed of.
    pub fn origin(&self, i: usize) -> Origin {
        let (root, shift) = match self.plain[i] {
            Side::Both { root, shift } => (root.abs(), shift.abs()),
            Side::Plus { log_a: root } | Side::Minus { log_b: root } => (root.abs(), 0.0),
            Side::Neither => (0.0, 0.0),
        };
        Origin { root: root + self.log_unit, shift, log_unit: self.log_unit }
    }

    /// `G` of a coefficient, `½(arcsinh(2β/√(AB)) − shift)`, and the slope `S` there. `None` where `β` does not tell:
    /// 0 on a one-sided coordinate, or the wrong sign.
    pub fn invert(&self, i: usize, beta: f64) -> Option<(f64, f64)> {
        match self.plain[i] {
            Side::Both { root, shift } => {
                let entropy = hyperbolic_entropy::asinh_of_quotient(beta, root);
                // √(4β² + κ²) without under- or overflow of κ.
                let slope = (2.0 * beta).hypot(root.exp());
                Some((0.5 * (entropy - shift), slope))
            }
            Side::Plus { log_a } if beta > 0.0 => Some((0.5 * ((4.0 * beta).ln() - log_a), 2.0 * beta)),
            Side::Minus { log_b } if beta < 0.0 => Some((-0.5 * ((-4.0 * beta).ln() - log_b), -2.0 * beta)),
            _ => None,
        }
    }
}

impl Exponents {
    /// `2G` of a coefficient in double-double, infinite at 0 on a one-sided coordinate; `None` for a sign it cannot take.
    pub fn invert_exactly(&self, i: usize, beta: DoubleDouble) -> Option<DoubleDouble> {
        let size = beta.to_f64();
        match self.exact[i] {
            Side::Both { root, shift } => Some(asinh_of_twice_quotient(beta, root) - shift),
            Side::Plus { log_a } if size >= 0.0 => Some(beta.mul_f64(4.0).ln() - log_a),
            Side::Minus { log_b } if size <= 0.0 => Some(log_b - beta.mul_f64(-4.0).ln()),
            Side::Neither if size == 0.0 => Some(DoubleDouble::ZERO),
            _ => None,
        }
    }
}

impl<R: Real> Side<R> {
    fn map<T>(self, f: impl Fn(R) -> T) -> Side<T> {
        match self {
            Self::Both { root, shift } => Side::Both { root: f(root), shift: f(shift) },
            Self::Plus { log_a } => Side::Plus { log_a: f(log_a) },
            Self::Minus { log_b } => Side::Minus { log_b: f(log_b) },
            Self::Neither => Side::Neither,
        }
    }

    /// `(root + |z|, −2|z|, z < 0)`; the second is −∞ where one exponential is left.
    fn exponent(&self, g: R) -> (R, R, bool) {
        let never = R::from_f64(f64::NEG_INFINITY);
        let twice = g + g;
        match *self {
            Self::Both { root, shift } => {
                let z = twice + shift;
                let size = z.abs();
                (root + size, -(size + size), z < R::ZERO)
            }
            Self::Plus { log_a } => (log_a + twice, never, false),
            Self::Minus { log_b } => (log_b - twice, never, true),
            Self::Neither => (never, never, false),
        }
    }
}

impl Scratch {
    fn resize(&mut self, d: usize) {
        self.exponent.resize(d, 0.0);
        self.minus_twice.resize(d, 0.0);
        self.negative.resize(d, false);
        self.exp.resize(d, 0.0);
        self.exp_m1.resize(d, 0.0);
    }
}
