//! How large an error of the factors is, seen from what a user sees. Knows no integrator.
//!
//! 1. `‖δz_c‖` of every column of Z over `rtol ‖z_c‖`: the columns are solutions of one linear equation `z' = B z`, and none
//!    of them may be lost beside another; a column that passes near 0 is measured by what it will be after the shortest time
//!    scale of the flow. Nothing absolute: weights may start at 1e-150, and a rank that is learned last starts as small.
//! 2. The change of the residual, `|⟨X_n, δM⟩|`, over `max|r|` times a tolerance of its own: the loss of a row is accurate on
//!    its way to 0, too. What rounding makes of a residual is no error, or the flow would wait for ever for one to be known
//!    better than that: taken off for an implicit method, whose corrections end there; added to what is tolerated for an
//!    explicit one, which compares slopes with states by this norm, and needs a norm.

use super::factors::Factors;
use super::modes::Modes;
use crate::linalg::norm;

/// Round-off of the residual of a mode, in ulps of its terms: 2 for the sum, the rest for the stage equations of an
/// implicit method, whose matrix has an inverse of norm up to 60.
const ROUND_OFF: f64 = 32.0;

/// The weights, fixed at the start of a step.
#[derive(Debug)]
pub(super) struct ErrorWeights<'a> {
    modes: &'a Modes,
    factors: Factors,
    rtol: f64,
    residual_rtol: f64,
    /// Whether corrections below round-off are none.
    implicit: bool,
    /// The state they were fixed at.
    state: Vec<f64>,
    /// `1/(rtol ‖z_c‖)`.
    columns: Vec<f64>,
    /// `residual_rtol max|r|`, and the round-off of every mode.
    tail: f64,
    noise: Vec<f64>,
    /// Workspaces over columns, over M and over modes.
    sizes: Vec<f64>,
    m: Vec<f64>,
    moved: Vec<f64>,
}

impl<'a> ErrorWeights<'a> {
    pub(super) fn new(modes: &'a Modes, factors: Factors, (rtol, residual_rtol): (f64, f64), implicit: bool) -> Self {
        Self {
            modes,
            factors,
            rtol,
            residual_rtol,
            implicit,
            state: vec![0.0; factors.dim()],
            columns: vec![0.0; factors.k],
            tail: 0.0,
            noise: vec![0.0; modes.rank()],
            sizes: vec![0.0; factors.k],
            m: vec![0.0; factors.features()],
            moved: vec![0.0; modes.rank()],
        }
    }

    /// Fix the weights at `state`, where the slope is `slope`.
    pub(super) fn set(&mut self, state: &[f64], slope: &[f64]) {
        self.state.copy_from_slice(state);
        let tau = self.time_scale(state);
        self.factors.columns(slope, &mut self.sizes);
        self.columns.copy_from_slice(&self.sizes);
        self.factors.columns(state, &mut self.sizes);
        for (weight, size) in self.columns.iter_mut().zip(&self.sizes) {
            let size = size + tau * *weight;
            *weight = if size > 0.0 { 1.0 / (self.rtol * size) } else { 0.0 };
        }
        self.factors.magnitudes(state, &mut self.m);
        self.modes.rows().apply_abs(&self.m, &mut self.noise);
        for (noise, y) in self.noise.iter_mut().zip(&self.modes.targets) {
            *noise = ROUND_OFF * f64::EPSILON * (y.abs() + *noise);
        }
    }

    /// `1/‖J‖`, by `‖J‖ ≤ ‖B‖ + ‖A‖²`; `max|r|` on the way.
    fn time_scale(&mut self, state: &[f64]) -> f64 {
        self.factors.product(state, &mut self.m);
        self.modes.residual(&self.m, &mut self.moved);
        let largest = self.moved.iter().fold(0.0_f64, |most, r| most.max(r.abs()));
        self.tail = self.residual_rtol * largest;
        let length = |v: &[f64]| norm(v.iter().copied());
        let gain = self.factors.gain();
        let drive = gain * self.modes.largest() * (length(&self.moved) / self.modes.samples());
        let rate = drive + self.modes.largest_decay() * (gain * length(state)).powi(2);
        if rate > 0.0 { 1.0 / rate } else { 0.0 }
    }

    /// Size of the error `e`, 1 being the largest acceptable.
    pub(super) fn size(&mut self, e: &[f64]) -> f64 {
        self.factors.columns(e, &mut self.sizes);
        let mut size = 0.0;
        for (moved, weight) in self.sizes.iter().zip(&self.columns) {
            // A column that is 0 stays 0.
            size = larger(size, if *moved == 0.0 { 0.0 } else { moved * weight });
        }
        self.factors.derivative(&self.state, e, &mut self.m);
        self.modes.rows().apply(&self.m, &mut self.moved);
        for (moved, noise) in self.moved.iter().zip(&self.noise) {
            let moved = moved.abs();
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
