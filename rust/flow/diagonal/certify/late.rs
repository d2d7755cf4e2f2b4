//! Rows near the end: what is left between the flow and its limit, where that is known. Knows no interpolant and no step.
//!
//! With `β(∞)`, off by `δ_i` at most, a row is bounded by `|β̃_i − β(∞)_i| + |β(t)_i − β(∞)_i|`, the first of the two
//! a difference of numbers that are known, the second by the theorem of `limit`'s certificate, read from the limit: with
//! `Δ = ν(t) − ν*`, `H = X diag(S*) Xᵀ`, `φ(M) = (1 − e^{−2M})/(2M)`,
//!
//! `‖r(t)‖ ‖Δ‖ ≥ r(t)ᵀΔ ≥ φ(M) ‖Δ‖²_H`, `M = ‖XᵀΔ‖_∞ ≤ τ ‖Δ‖_H`, `τ_i = min(S_i^{−1/2}, ‖x_i‖/σ)`, `σ² = λ_min(H)`,
//!
//! so that `M ≤ −½ ln(1 − 2τ‖r‖/σ)`, `|x_iᵀΔ| ≤ τ_i M/τ` and `|β(t)_i − β(∞)_i| ≤ ½S*_i (e^{2τ_iM/τ} − 1)`. The residual
//! needs no targets: `r(t) = X(β(∞) − β(t))`, y projected. It is `Nν'`, and two solutions of a monotone flow, one of them
//! later, approach each other: `‖r‖` falls, and as `e^{−σ²e^{−2M}t/N}` or faster once M is known. What any row knows of it is
//! therefore known of all later ones. (`S ≥ S*e^{−2M}` from then on, `r' = −X diag(S) Xᵀ r/N`.)
//!
//! All of that holds for any part of the coordinates, H and M being theirs alone, for every one of them adds to `rᵀΔ`, and
//! `|x_iᵀΔ| ≤ ‖x_i‖‖Δ‖_H/σ` for the others. Coordinates next to 0, with their long `τ_i`, are left out where that is better.
//!
//! Where the rows were reduced, `X + δX = QZ`: σ loses `γ‖Z diag(S)^½‖`, `‖x_i‖` gains the factor `1 + γ`. It needs no
//! drift in time, of which the bound along the flow has some.

use super::super::prepare::Prepared;
use super::super::reference::Reference;
use super::frame::{Frame, SMALLEST};
use super::rows::Row;
use crate::linalg::{Rows, ThinSvd, norm};
use crate::real::{Real, dot_roundings};

/// Coordinates whose slopes are below this part of the largest may be left out of H; the best choice is kept.
const PARTS: [f64; 4] = [0.0, 1e-8, 1e-4, 1e-2];
/// Rounding of bounds.
const OUTWARD: f64 = 1.0 + 1e-10;

/// `β(∞)`, all coordinates in the units of the problem, and a bound of what it is off by.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    /// Coefficients (d).
    pub beta: &'a [f64],
    /// Their error bounds (d); infinite where nothing is known.
    pub error_bound: &'a [f64],
}

/// The limit in the reduced problem.
pub(super) struct Late<'p, 'r> {
    frame: &'r Frame<'p>,
    prepared: &'r Prepared<'p>,
    beta: Vec<f64>,
    off: Vec<f64>,
    /// Bounds of S from above.
    slope: Vec<f64>,
    /// `τ_i`, and the largest.
    tau: Vec<f64>,
    longest: f64,
    /// σ, rounded down.
    least: f64,
}

impl<'p, 'r> Late<'p, 'r> {
    /// `None` where the theorem makes no statement.
    pub(super) fn of(
        frame: &'r Frame<'p>,
        prepared: &'r Prepared<'p>,
        reference: &Reference,
        end: End<'_>,
    ) -> Option<Self> {
        let (beta, off) = (prepared.reduced(end.beta), prepared.reduced(end.error_bound));
        if !off.iter().all(|off| off.is_finite()) {
            return None;
        }
        let slopes = (0..beta.len()).map(|i| slopes(reference, i, beta[i], off[i]));
        let (lower, slope): (Vec<f64>, Vec<f64>) = slopes.unzip();
        let mut known: Option<Whitened> = None;
        let mut counted = usize::MAX;
        for part in PARTS {
            let largest = lower.iter().fold(0.0, |most: f64, s| most.max(*s));
            let among: Vec<bool> = lower.iter().map(|s| *s > part * largest).collect();
            let count = among.iter().filter(|among| **among).count();
            if count < counted {
                counted = count;
                let found = Whitened::of(frame, &lower, &among);
                let better =
                    |known: &Whitened| found.as_ref().is_some_and(|found| found.shortness() > known.shortness());
                known = if known.as_ref().is_none_or(better) { found } else { known };
            }
        }
        let Whitened { tau, longest, least } = known?;
        Some(Self { frame, prepared, beta, off, slope, tau, longest, least })
    }

    /// Take the smaller of the bounds that the rows have, in the order of time, and of this one.
    pub(super) fn tighten(&self, rows: &mut [Row<'_>]) {
        let (mut residual, mut before) = (f64::INFINITY, 0.0);
        for row in rows {
            residual = f64::min(residual * self.decay(residual, row.time - before), self.residual(row));
            before = row.time;
            if let Some(movement) = self.movement(residual) {
                self.bound(row, movement);
            }
        }
    }

    /// By how much a residual of that size must have fallen after so long, at least.
    fn decay(&self, residual: f64, time: f64) -> f64 {
        let Some(most) = self.movement(residual) else { return 1.0 };
        // Times are rounded; what is left of their difference is what counts.
        let time = (time * (1.0 - 1e-10)).max(0.0);
        let rate = self.least * self.least * (-2.0 * most).exp() / self.frame.samples;
        OUTWARD * (-rate * time).exp()
    }

    /// `M` for this residual.
    fn movement(&self, residual: f64) -> Option<f64> {
        let reach = 2.0 * OUTWARD * self.longest * residual / self.least;
        (reach < 1.0).then(|| -0.5 * OUTWARD * (-reach).ln_1p())
    }

    /// A bound of `‖r(t)‖` by that of the row.
    fn residual(&self, row: &Row<'_>) -> f64 {
        let frame = self.frame;
        let (beta, bound) = (self.prepared.reduced(row.beta), self.prepared.reduced(&row.bound));
        let gap: Vec<f64> = self.beta.iter().zip(&beta).map(|(limit, beta)| limit - beta).collect();
        let mut along = vec![0.0; frame.z.n()];
        frame.z.apply(&gap, &mut along);
        let product = (dot_roundings(frame.z.d()) as f64 + 4.0) * f64::UNIT_ROUNDOFF;
        let each = gap.iter().zip(&frame.columns).zip(self.off.iter().zip(&bound));
        let errors: f64 =
            each.map(|((gap, x), (off, bound))| x * (frame.outer(product) * gap.abs() + off + bound)).sum();
        let rounded = norm(along.iter().copied());
        let lost: f64 = gap.iter().zip(&frame.columns).map(|(gap, x)| (frame.outer(*x) - x) * gap.abs()).sum();
        let residual = OUTWARD * (rounded + frame.outer(errors) + lost);
        if residual.is_nan() { f64::INFINITY } else { residual }
    }

    fn bound(&self, row: &mut Row<'_>, most: f64) {
        let each = |i: usize| 0.5 * self.slope[i] * (2.0 * OUTWARD * most * (self.tau[i] / self.longest)).exp_m1();
        let moved: Vec<f64> = (0..self.beta.len()).map(|i| each(i) + self.off[i]).collect();
        let (mut limit, mut off) = (vec![0.0; row.beta.len()], vec![0.0; row.beta.len()]);
        self.prepared.predictor(&self.beta, &mut limit);
        self.prepared.predictor(&moved, &mut off);
        row.within(&limit, &off);
    }
}

/// What H is to the coordinates.
struct Whitened {
    tau: Vec<f64>,
    /// The largest τ of those that H is made of.
    longest: f64,
    least: f64,
}

impl Whitened {
    /// H of the coordinates `among` all, with these slopes. `None` if nothing is known of it.
    fn of(frame: &Frame<'_>, slope: &[f64], among: &[bool]) -> Option<Self> {
        let least = frame.least_singular_value(slope, among)?;
        let each = |((slope, column), among): ((&f64, &f64), &bool)| {
            let by_length = frame.outer(*column) / least;
            if *among { by_length.min(OUTWARD / slope.sqrt()) } else { by_length }
        };
        let tau: Vec<f64> = slope.iter().zip(&frame.columns).zip(among).map(each).collect();
        let longest =
            tau.iter().zip(among).filter(|(_, among)| **among).fold(0.0, |most: f64, (tau, _)| most.max(*tau));
        (longest > 0.0 && tau.iter().all(|tau| tau.is_finite())).then_some(Self { tau, longest, least })
    }

    /// The larger, the longer may a residual be.
    fn shortness(&self) -> f64 {
        self.least / self.longest
    }
}

/// Bounds of `S = √(4β² + k)` from below and above for a β that is off by `off`: `|dS/dβ| ≤ 2`.
fn slopes(reference: &Reference, i: usize, beta: f64, off: f64) -> (f64, f64) {
    let (plus, minus) = reference.start(i);
    let middle = 0.5 * (plus.to_f64() + minus.to_f64());
    let kappa = 4.0 * middle.exp();
    // The exponent is rounded; of one that stands for ln 0 nothing is left.
    let relative = if kappa > 0.0 { (8.0 + 2.0 * middle.abs()) * f64::UNIT_ROUNDOFF } else { 1e-15 };
    let slope = (2.0 * beta).hypot(kappa);
    let lower = slope * (1.0 - relative) - 2.0 * OUTWARD * off;
    (lower.max(0.0), slope * (1.0 + relative) + 2.0 * OUTWARD * off + 8.0 * SMALLEST)
}

impl Frame<'_> {
    /// A length of the original columns, from that of the reduced ones.
    fn outer(&self, length: f64) -> f64 {
        (1.0 + self.gamma) * length
    }

    /// A lower bound of the least singular value of `X diag(S)^½` on the range of X; `None` if it is not known to be above 0.
    fn least_singular_value(&self, slope: &[f64], among: &[bool]) -> Option<f64> {
        let kept: Vec<(usize, f64)> = (0..slope.len()).filter(|i| among[*i]).map(|i| (i, slope[i].sqrt())).collect();
        let (n, d) = (self.z.n(), kept.len());
        let scaled: Vec<f64> =
            (0..n).flat_map(|n| kept.iter().map(move |(i, root)| self.z.row(n)[*i] * root)).collect();
        let svd = ThinSvd::of(Rows::from_parts(&scaled, n, d), 1.0);
        let size = OUTWARD * norm(scaled.iter().copied());
        // Householder QR and the decomposition of its triangle, the constants of `limit`'s certificate by QR. From the kernel, which is
        // taken where σ₁ ≤ 10 σ_n, the error is at most `5√n` units for each of no more than d roundings.
        let (long, short) = (n.max(d) as f64, n.min(d) as f64);
        let off = (6.0 * long + 13.0 * short + 12.0) * short * f64::UNIT_ROUNDOFF + self.gamma;
        let least = svd.sigma().get(n.checked_sub(1)?)? - off * size;
        (least > 0.0).then_some(least)
    }
}
