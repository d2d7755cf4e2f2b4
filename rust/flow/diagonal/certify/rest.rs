//! Beyond the last step: the flow has come to rest, and a constant is its interpolant, over any time.
//!
//! Its defect is the residual there, `d = −r/N`. As long as e stays below some E, the Jacobians between the two lie above a
//! B of the slopes within `2‖z_i‖E`, and with all modes stiff e² is below the solution of `p' = −μp + ‖d‖²_{B⁻¹}`: hence
//! `e(t)² ≤ e²e^{−μt} + (1 − e^{−μt})‖d‖²_{B⁻¹}/μ`, which is E² at most if that is chosen as the largest it comes to.

use super::super::exact;
use super::super::reference::Reference;
use super::defect::least_share;
use super::frame::{Frame, Reach};
use super::growth::Load;
use crate::linalg::{SymmetricEigen, WeightedGram, norm};
use crate::real::{DoubleDouble, Real};

/// E, as a multiple of what e comes to without the widening.
const MARGIN: f64 = 2.0;
/// Rounding of the bound itself.
const OUTWARD: f64 = 1.0 + 1e-9;

/// The state at rest and its error.
pub(super) struct Rest<'p, 'r> {
    frame: &'r Frame<'p>,
    reference: &'r Reference,
    beta: Vec<f64>,
    slope: Vec<f64>,
    /// Eigenvalues of `Z diag(S) Zᵀ/N` less their error, and the coefficients of the defect.
    values: Vec<f64>,
    defect: Vec<f64>,
    /// What rounding does to G.
    path: Vec<f64>,
    error: f64,
    time: f64,
}

impl<'p, 'r> Rest<'p, 'r> {
    /// At the reference, at this time, with this error. `None` if anything is not finite.
    pub(super) fn of(frame: &'r Frame<'p>, reference: &'r Reference, time: f64, error: f64) -> Option<Self> {
        let (z, n, d) = (frame.z, frame.z.n(), frame.z.d());
        let zero = DoubleDouble::ZERO;
        let (mut beta, mut slope, mut fitted) = (vec![zero; d], vec![0.0; d], vec![zero; n]);
        exact::evaluate(reference, &vec![zero; d], &mut beta, &mut slope);
        z.apply(&beta, &mut fitted);
        let beta = beta.iter().map(|beta| beta.high).collect();
        let rest = |(fitted, y): (&DoubleDouble, &f64)| (DoubleDouble::from_f64(*y) - *fitted).to_f64() / frame.samples;
        let defect: Vec<f64> = fitted.iter().zip(frame.targets).map(rest).collect();
        let mut jacobian = WeightedGram::of(z, &slope);
        for entry in jacobian.data_mut() {
            *entry /= frame.samples;
        }
        let eigen = SymmetricEigen::of(&jacobian)?;
        let off = (WeightedGram::roundings(d) + 10 * n + 4) as f64 * f64::UNIT_ROUNDOFF * jacobian.trace();
        let mut coefficients = vec![0.0; n];
        eigen.vectors().apply(&defect, &mut coefficients);
        let values = eigen.values().iter().map(|value| (value - off).max(0.0)).collect();
        let magnitudes: Vec<f64> = reference.nu().iter().map(|nu| nu.to_f64().abs()).collect();
        let path = frame.path(&magnitudes);
        Some(Self { frame, reference, beta, slope, values, defect: coefficients, path, error, time })
    }

    /// A bound of e that much later.
    pub(super) fn after(&self, t: f64) -> f64 {
        let bound = self.forever(t).min(self.by_steps(t));
        if bound.is_nan() { f64::INFINITY } else { bound }
    }

    /// By contraction in all modes; infinite if one of them does not contract.
    fn forever(&self, t: f64) -> f64 {
        // Whatever the share c is, g and μ follow from that of c = 1.
        let (slowest, g) = (self.values.first().copied().unwrap_or(0.0), self.push(self.noise(t)));
        let largest = MARGIN * self.error.max(g / slowest.sqrt()) + f64::MIN_POSITIVE;
        let share = self.share(t, largest);
        let (mu, g) = (share * slowest, g / share.sqrt());
        if !(self.error.max(g / mu.sqrt()) <= largest) {
            return f64::INFINITY;
        }
        let decay = (-mu * t).exp();
        OUTWARD * (self.error * self.error * decay + (1.0 - decay) * (g * g / mu)).sqrt()
    }

    /// `‖d‖_{B⁻¹}` for `c = 1`.
    fn push(&self, noise: f64) -> f64 {
        let squares: f64 = self.defect.iter().zip(&self.values).map(|(d, b)| d * d / b).sum();
        squares.sqrt() + noise / self.values.first().copied().unwrap_or(0.0).sqrt()
    }

    /// As for any step.
    fn by_steps(&self, t: f64) -> f64 {
        let (length, noise) = (norm(self.defect.iter().copied()), self.noise(t));
        let share = self.share(t, self.error + (length * (1.0 + 1e-9) + noise) * t);
        let modes: Vec<f64> = self.values.iter().map(|value| share * value).collect();
        let squares: Vec<f64> = self.defect.iter().map(|d| t * d * d).collect();
        let noise = (t * noise, t * noise * noise);
        Load { h: t, modes: &modes, squares: &squares, noise }.grow(self.error).end
    }

    /// What rounding has done to the defect, and does up to then.
    fn noise(&self, t: f64) -> f64 {
        self.frame.noise((&self.beta, &self.slope), (self.reach(t), &self.path), self.frame.thirty())
    }

    fn reach(&self, t: f64) -> Reach {
        self.frame.exact_reach(self.time + t, norm(self.reference.nu().iter().map(|nu| nu.to_f64())), 0.0)
    }

    fn share(&self, t: f64, widest: f64) -> f64 {
        let reach = self.reach(t);
        let margin = |i: usize| 2.0 * (self.frame.moved(i, reach, widest) + self.path[i]);
        least_share(self.reference, &self.slope, |i| (-margin(i), margin(i)))
    }
}
