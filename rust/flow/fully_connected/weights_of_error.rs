//! How large an error of the weights is, seen from what a user sees. Knows no integrator.
//!
//! 1. `‖δa‖` over `rtol ‖a‖` and `‖δC‖` over `rtol ‖C‖`: relative errors of β add from these two, and both are shown. Where a
//!    layer passes through 0 (an outer weight changes its sign for δ < 0; a layer starts at 0) it is measured by what it
//!    will be after the shortest time scale of the flow, `τ = 1/‖J‖`. No absolute tolerance: weights may start at 1e-300.
//! 2. The change of the residual, `σ_k |δq_k|`, over `max|r|` times a tolerance of its own: the loss of a row is accurate
//!    on its way to 0, too. What rounding makes of a residual, a few ulps of its terms, is no error: the flow would wait
//!    for ever for a residual to be known better than that. An implicit method measures corrections of its stages by this
//!    norm, which end there: below it they are 0. An explicit one compares slopes with states to see that it is stiff, so
//!    that its norm has to be one: round-off is added to what is tolerated.

use super::modes::Modes;
use super::number::Number;
use super::span::split;
use crate::linalg::norm;

/// Round-off of the residual of a mode, in ulps of its terms: 2 for the sum, the rest for the stage equations of an
/// implicit method, whose matrix has an inverse of norm up to 60.
const ROUND_OFF: f64 = 32.0;

/// What is known at the start of a step, to binary64.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    pub(super) state: &'a [f64],
    pub(super) slope: &'a [f64],
    /// r, as far as the run waits for it.
    pub(super) residual: &'a [f64],
    /// g.
    pub(super) gradient: &'a [f64],
}

/// The weights, fixed at the start of a step.
#[derive(Debug)]
pub(super) struct ErrorWeights {
    /// σ, ŷ and `σ_1²/N`.
    sigma: Vec<f64>,
    targets: Vec<f64>,
    decay: f64,
    /// What the coupling of the modes adds to the terms of a residual, per unit of `‖a‖‖C‖`.
    coupled: Vec<f64>,
    /// Twice the unit round-off of states and residuals.
    ulp: f64,
    m: usize,
    rtol: f64,
    residual_rtol: f64,
    /// Whether corrections below round-off are none.
    implicit: bool,
    /// The state they were fixed at.
    state: Vec<f64>,
    /// `1/(rtol ‖a‖)` and `1/(rtol ‖C‖)`.
    outer: f64,
    inner: f64,
    /// `residual_rtol max|r|`, and the round-off of every mode.
    tail: f64,
    noise: Vec<f64>,
    /// Workspace over modes.
    room: Vec<f64>,
}

impl ErrorWeights {
    pub(super) fn new<R: Number>(modes: &Modes<R>, m: usize, rtol: (f64, f64), implicit: bool) -> Self {
        let (rank, (rtol, residual_rtol)) = (modes.rank(), rtol);
        let high = |values: &[R]| values.iter().map(|value| value.to_f64()).collect();
        Self {
            sigma: high(&modes.sigma),
            targets: high(&modes.targets),
            decay: modes.largest_decay(),
            coupled: (0..rank).map(|k| modes.coupled_terms(k, 1.0)).collect(),
            ulp: R::ULP,
            m,
            rtol,
            residual_rtol,
            implicit,
            state: vec![0.0; m * (1 + rank)],
            outer: 0.0,
            inner: 0.0,
            tail: 0.0,
            noise: vec![0.0; rank],
            room: vec![0.0; rank],
        }
    }

    /// Fix the weights at this state.
    pub(super) fn set(&mut self, here: &Seen<'_>) {
        self.state.copy_from_slice(here.state);
        let ((a, c), (da, dc)) = (split(here.state, self.m), split(here.slope, self.m));
        let length = |v: &[f64]| norm(v.iter().copied());
        let (outer, inner) = (length(a), length(c));
        let (mut drive, mut largest) = (0.0, 0.0_f64);
        for (residual, g) in here.residual.iter().zip(here.gradient) {
            largest = largest.max(residual.abs());
            drive += g.powi(2);
        }
        // ‖J‖ ≤ |g| + s₁ (‖a‖² + ‖C‖²).
        let rate = drive.sqrt() + self.decay * (outer * outer + inner * inner);
        let tau = if rate > 0.0 { 1.0 / rate } else { 0.0 };
        let inverse = |size: f64| if size > 0.0 { 1.0 / (self.rtol * size) } else { 0.0 };
        self.outer = inverse(outer + tau * length(da));
        self.inner = inverse(inner + tau * length(dc));
        self.tail = self.residual_rtol * largest;
        self.set_noise(outer * inner);
    }

    fn set_noise(&mut self, size: f64) {
        let (a, c) = split(&self.state, self.m);
        self.noise.fill(0.0);
        for (a, c) in a.iter().zip(c.chunks_exact(self.noise.len().max(1))) {
            for (noise, c) in self.noise.iter_mut().zip(c) {
                *noise += (a * c).abs();
            }
        }
        let known = self.sigma.iter().zip(&self.targets).zip(&self.coupled);
        for (noise, ((sigma, y), coupled)) in self.noise.iter_mut().zip(known) {
            *noise = ROUND_OFF * self.ulp * (y.abs() + sigma.abs() * *noise + coupled * size);
        }
    }

    /// Size of the error `e`, 1 being the largest acceptable.
    pub(super) fn size(&mut self, e: &[f64]) -> f64 {
        let ((a, c), (da, dc)) = (split(&self.state, self.m), split(e, self.m));
        let rank = self.room.len();
        let length = |v: &[f64]| norm(v.iter().copied());
        let mut size = larger(length(da) * self.outer, length(dc) * self.inner);
        self.room.fill(0.0);
        for (((da, dc), a), c) in da.iter().zip(dc.chunks_exact(rank)).zip(a).zip(c.chunks_exact(rank)) {
            for ((dq, dc), c) in self.room.iter_mut().zip(dc).zip(c) {
                *dq += da * c + a * dc;
            }
        }
        for ((dq, sigma), noise) in self.room.iter().zip(&self.sigma).zip(&self.noise) {
            let moved = (sigma * dq).abs();
            let part = if self.implicit { (moved - noise).max(0.0) / self.tail } else { moved / (self.tail + noise) };
            // Nothing moves where nothing is tolerated; a moved that is not a number has to be seen.
            let part = if moved <= *noise && self.tail == 0.0 {
                0.0
            } else if moved.is_nan() {
                moved
            } else {
                part
            };
            size = larger(size, part);
        }
        size
    }
}

/// The larger; NaN if either is (`f64::max` would drop it, and a NaN error must not pass for a small one).
fn larger(a: f64, b: f64) -> f64 {
    if a >= b || a.is_nan() { a } else { b }
}
