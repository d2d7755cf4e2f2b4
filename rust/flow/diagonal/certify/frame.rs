//! The reduced problem, and what separates it from the one that was asked: norms and rounding errors. Knows no time step.
//!
//! The flow is integrated for rows Z and targets t̂ with `G ≈ Zᵀw`, `w' = (t̂ − Zβ)/N`. Where the rows of X are independent,
//! `Z = X` and `t̂ = y` and the two are the same. Otherwise, with `X + δX = QZ` (Q exactly orthonormal, `‖δx_i‖ ≤ γ‖x_i‖`; γ = 0
//! and Q = I for `N ≤ d`) and `u = Qᵀy − t̂`, the part of y that the reduced targets leave out,
//!
//! `|G_i − z_iᵀw| ≤ γ‖z_i‖(‖w‖ + ‖y‖t/N) + |z_iᵀu| t/N`,
//!
//! for what is orthogonal to the range of Q moves `ν` at the constant rate of y, and u at its own. Both are round-off, and act
//! on β as a shift of its argument and through it on w' as one more defect.

use super::super::prepare::Prepared;
use super::super::problem::Problem;
use super::super::reference::Reference;
use crate::linalg::{Rows, RowwiseQr, norm};
use crate::real::{DoubleDouble, Real};

/// Rounding of sums of squares and products of norms.
const OUTWARD: f64 = 1.0 + 1e-10;
/// Relative error of β and S as `Reference` evaluates them, in units of round-off: two vector exponentials, six products.
const OF_BETA: f64 = 16.0;

/// How exactly β and sums over the data are formed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounding {
    /// Relative, of β.
    beta: f64,
    /// Of the exponents at the reference, which are double-double throughout.
    exponent: f64,
    /// Relative, of sums over the coordinates.
    sum: f64,
}

impl Rounding {
    /// Of a double-double product with the data, beyond what its length adds, and of its functions: 64 units of 2^-104.
    pub(super) const DOUBLE_DOUBLE: f64 = 1.0 / (1u128 << 98) as f64;

    /// Of binary64, d coordinates.
    pub(super) fn sixteen(d: usize) -> Self {
        let u = f64::UNIT_ROUNDOFF;
        // A product of several vectors with the data may add up in any order.
        Self { beta: OF_BETA * u, exponent: 0.0, sum: (d + 4) as f64 * u }
    }
}

/// What rounding errors of the flow are made of.
#[derive(Debug)]
pub(super) struct Frame<'p> {
    pub(super) z: Rows<'p>,
    pub(super) targets: &'p [f64],
    pub(super) samples: f64,
    /// `‖z_i‖` of the columns, rounded up, and the largest.
    pub(super) columns: Vec<f64>,
    pub(super) longest: f64,
    /// `|z_iᵀu|/N`; empty if u = 0.
    drift: Vec<f64>,
    /// `γ`, and `‖y‖`.
    pub(super) gamma: f64,
    size: f64,
    /// Rounding errors of `Zᵀw` in binary64, relative to products of norms.
    of_shift: f64,
    /// The largest `|ln A|` or `|ln B|`.
    logarithm: f64,
}

/// How far `G` may be from where β was evaluated: `|δG_i| ≤ near ‖z_i‖ + time · drift_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reach {
    pub(super) near: f64,
    pub(super) time: f64,
}

impl Reach {
    /// The larger of the two.
    pub(super) fn or(self, other: Self) -> Self {
        Self { near: self.near.max(other.near), time: self.time.max(other.time) }
    }
}

impl<'p> Frame<'p> {
    pub(super) fn of(prepared: &'p Prepared<'_>, problem: &Problem<'_>, reference: &Reference) -> Self {
        let (z, u) = (prepared.x(), f64::UNIT_ROUNDOFF);
        let (n, d) = (z.n(), z.d());
        let y = prepared.scaled_targets(problem.y);
        let length = |v: &[f64]| OUTWARD * norm(v.iter().copied());
        let mut columns = vec![0.0; d];
        (0..n).for_each(|i| columns.iter_mut().zip(z.row(i)).for_each(|(sum, x)| *sum += x * x));
        for sum in &mut columns {
            *sum = OUTWARD * (sum.sqrt() + 1e-160);
        }
        let (rotated, gamma) = match prepared.tall() {
            None => (y.clone(), 0.0),
            Some(tall) => {
                // d reflections of length N: the constants of Higham, Accuracy and Stability, 2nd ed., Thm 19.4, as
                // `limit` takes them for its own factorization.
                let gamma = (6.0 * tall.n() as f64 + 3.0 * d as f64 + 12.0) * d as f64 * u;
                (RowwiseQr::of(tall).apply_qt(&y), gamma)
            }
        };
        let left: Vec<f64> = rotated.iter().zip(&prepared.targets).map(|(y, t)| y - t).collect();
        Self {
            z,
            targets: &prepared.targets,
            samples: prepared.samples,
            longest: columns.iter().fold(0.0, |most: f64, c| most.max(*c)),
            drift: drift(z, &left, &columns, prepared.samples),
            columns,
            gamma,
            size: length(&y),
            of_shift: (n as f64 + 4.0) * u,
            logarithm: longest_logarithm(reference),
        }
    }

    /// At time t and `w = ν_ref + Δw`, z formed in binary64: `‖ν_ref‖`, and a bound of `‖Δw‖` term by term with the roundings
    /// of an entry.
    pub(super) fn reach(&self, t: f64, reference: f64, delta: f64, roundings: f64) -> Reach {
        let Reach { near, time } = self.exact_reach(t, reference, delta);
        let exact = (self.z.n() as f64 + 20.0) * Rounding::DOUBLE_DOUBLE * (reference + delta);
        Reach {
            near: near + OUTWARD * exact + OUTWARD * (roundings * f64::UNIT_ROUNDOFF + self.of_shift) * delta,
            time,
        }
    }

    /// The same for z in double-double, beside what rounding does on its path.
    pub(super) fn exact_reach(&self, t: f64, reference: f64, delta: f64) -> Reach {
        let rotated =
            if self.gamma > 0.0 { self.gamma * (reference + delta + self.size * t / self.samples) } else { 0.0 };
        Reach { near: OUTWARD * rotated, time: t }
    }

    /// What rounding does to `G_i` formed in double-double from numbers of these magnitudes: a unit of `|z_i|ᵀ|w|` each.
    pub(super) fn path(&self, magnitudes: &[f64]) -> Vec<f64> {
        let mut path = vec![0.0; self.z.d()];
        self.z.apply_transposed_abs(magnitudes, &mut path);
        let unit = 2.0 * (self.z.n() as f64 + 20.0) * Rounding::DOUBLE_DOUBLE;
        for path in &mut path {
            *path *= unit;
        }
        path
    }

    /// `|δG_i|` of coordinate i, for an error of w of this size.
    pub(super) fn moved(&self, i: usize, reach: Reach, error: f64) -> f64 {
        let drift = self.drift.get(i).map_or(0.0, |drift| drift * reach.time);
        OUTWARD * (self.columns[i] * (reach.near + error) + drift)
    }

    /// Of double-double.
    pub(super) fn thirty(&self) -> Rounding {
        // Exponents are those of a start that is known to 4 units of its logarithms.
        let (unit, d) = (Rounding::DOUBLE_DOUBLE, self.z.d() as f64);
        Rounding { beta: 2.0 * unit, exponent: unit * (1.0 + self.logarithm), sum: (d + 4.0) * unit }
    }

    /// A bound of the change of `β_i` for `|δG_i| ≤ moved`, evaluation included: `½S(e^{2|δG|} − 1)`, as S changes by no
    /// more than `e^{2|δG|}` on the way.
    pub(super) fn beta_error(beta: f64, slope: f64, moved: f64, rounding: Rounding) -> f64 {
        let moved = 2.0 * moved + rounding.exponent;
        // e^x − 1 ≤ x(1 + x) up to 1.
        let growth = if moved < 1e-12 { moved * (1.0 + moved) } else { moved.exp_m1() };
        let slope = slope * (1.0 + 2.0 * OF_BETA * f64::UNIT_ROUNDOFF) + 8.0 * SMALLEST;
        OUTWARD * (0.5 * slope * growth + rounding.beta * beta.abs() + 8.0 * SMALLEST)
    }

    /// A bound of `‖δw'‖`: what rounding has done to `(t̂ − Zβ)/N` formed from β, S at that reach, and on that path.
    pub(super) fn noise(
        &self,
        (beta, slope): (&[f64], &[f64]),
        (reach, path): (Reach, &[f64]),
        rounding: Rounding,
    ) -> f64 {
        let (mut terms, mut errors) = (0.0, 0.0);
        for (i, ((beta, slope), column)) in beta.iter().zip(slope).zip(&self.columns).enumerate() {
            let moved = self.moved(i, reach, 0.0) + path.get(i).copied().unwrap_or(0.0);
            terms += column * beta.abs();
            errors += column * Self::beta_error(*beta, *slope, moved, rounding);
        }
        OUTWARD * ((rounding.sum + self.gamma) * (terms + self.size) + errors) / self.samples
    }
}

/// Smallest error of a number that underflows.
pub(super) const SMALLEST: f64 = 5e-324;

/// `|z_iᵀu|/N`, rounded up; empty if u = 0.
fn drift(z: Rows<'_>, u: &[f64], columns: &[f64], samples: f64) -> Vec<f64> {
    if u.iter().all(|u| *u == 0.0) {
        return Vec::new();
    }
    let exact: Vec<DoubleDouble> = u.iter().map(|u| DoubleDouble::from_f64(*u)).collect();
    let mut along = vec![DoubleDouble::ZERO; z.d()];
    z.apply_transposed(&exact, &mut along);
    // The difference y − t̂ is rounded once where the two are not near to each other.
    let length = 2.0 * f64::UNIT_ROUNDOFF * norm(u.iter().copied());
    along.iter().zip(columns).map(|(sum, column)| OUTWARD * (sum.to_f64().abs() + length * column) / samples).collect()
}

/// The largest logarithm of what a coordinate starts from, but for those of 0.
fn longest_logarithm(reference: &Reference) -> f64 {
    let of = |(can, log): (bool, DoubleDouble)| if can { log.to_f64().abs() } else { 0.0 };
    let each = |i: usize| {
        let ((up, down), (plus, minus)) = (reference.sides(i), reference.start(i));
        of((up, plus)).max(of((down, minus)))
    };
    (0..reference.d()).map(each).fold(0.0, f64::max)
}
