//! The predictor of a tied network of depth `D ≥ 3` along the flow, in binary64 (\[W\] Theorem 3; THEORY §6).
//!
//! `β_i = U_i (a₊^{−e} − a₋^{−e})`, `S_i = dβ_i/dG_i = c_i U_i e (a₊^{−e−1} + a₋^{−e−1})` with `a± = 1 ∓ c_i G_i`,
//! `U = (αw)^D`, `c = D(D−2)(αw)^{D−2}`, `e = D/(D−2)`. What becomes small is `a±`: it is kept in double-double at the
//! reference, and moves by itself. A rounding of `G` is `1/a` times as large in β ([`Power::amplification`]).

use crate::real::{DoubleDouble, Real, two_sum};

/// All coordinates.
#[derive(Clone, Debug)]
pub(super) struct Power {
    e: f64,
    /// `ln U`.
    log_unit: Vec<f64>,
    /// `U^{1/4}`: `U` may be 1e-900 where `U a^{−e}` is 1.
    root: Vec<f64>,
    cost: Vec<DoubleDouble>,
    /// `z = cG`, `a₊` and `a₋` at the reference.
    z: Vec<DoubleDouble>,
    rising: Vec<DoubleDouble>,
    falling: Vec<DoubleDouble>,
}

impl Power {
    /// For `ln(αw)`, coefficients times `e^shift`.
    pub(super) fn new(depth: u32, log_start: &[DoubleDouble], shift: DoubleDouble) -> Self {
        let d = f64::from(depth);
        let logs: Vec<DoubleDouble> = log_start.iter().map(|log| log.mul_f64(d) + shift).collect();
        let factor = DoubleDouble::from_f64(d * (d - 2.0));
        Self {
            e: d / (d - 2.0),
            root: logs.iter().map(|log| log.mul_f64(0.25).exp().to_f64()).collect(),
            log_unit: logs.iter().map(|log| log.to_f64()).collect(),
            cost: log_start.iter().map(|log| log.mul_f64(d - 2.0).exp() * factor).collect(),
            z: vec![DoubleDouble::ZERO; log_start.len()],
            rising: vec![DoubleDouble::ONE; log_start.len()],
            falling: vec![DoubleDouble::ONE; log_start.len()],
        }
    }

    /// Form `a±` at `G`.
    pub(super) fn refresh(&mut self, g: &[DoubleDouble]) {
        for (i, g) in g.iter().enumerate() {
            let z = self.cost[i] * *g;
            self.z[i] = z;
            self.rising[i] = DoubleDouble::ONE - z;
            self.falling[i] = DoubleDouble::ONE + z;
        }
    }

    /// `a₊`, `a₋` after a shift of `2G`.
    fn arcs(&self, i: usize, shift: f64) -> (f64, f64) {
        let by = 0.5 * self.cost[i].high * shift;
        (after(self.rising[i], -by), after(self.falling[i], by))
    }

    /// `z` after it: where the start is large, `1 ∓ z` have lost it.
    fn dual(&self, i: usize, shift: f64) -> f64 {
        after(self.z[i], 0.5 * self.cost[i].high * shift)
    }

    /// β and S at shifts of `2G`, from coordinate `start` on, times `e^lift`; not finite outside of the domain.
    pub(super) fn evaluate(&self, start: usize, shift: &[f64], lift: f64, beta: &mut [f64], slope: &mut [f64]) {
        let (e, lift) = (self.e, (0.25 * lift).exp());
        for (k, ((shift, beta), slope)) in shift.iter().zip(beta).zip(slope).enumerate() {
            let i = start + k;
            let (rising, falling) = self.arcs(i, *shift);
            let z = self.dual(i, *shift);
            let up = z >= 0.0;
            let (near, far) = if up { (rising, falling) } else { (falling, rising) };
            if !(near > 0.0) {
                (*beta, *slope) = (f64::INFINITY, f64::INFINITY);
                continue;
            }
            let gap = e * (2.0 * z.abs() / near).ln_1p();
            let fourth = lift * self.root[i] * near.powf(-0.25 * e);
            let power = (fourth * fourth) * (fourth * fourth);
            let size = -(-gap).exp_m1() * power;
            *beta = if up { size } else { -size };
            *slope = self.cost[i].high * e * power * (1.0 + (-gap).exp() * (near / far)) / near;
        }
    }

    /// The logarithm of the larger of the two powers.
    pub(super) fn exponent(&self, i: usize, shift: f64) -> f64 {
        let (rising, falling) = self.arcs(i, shift);
        self.log_unit[i] - self.e * rising.min(falling).ln()
    }

    /// How far `2G` may move upwards (or downwards) until the power that grows then is `e^log_size`; half of the way to its
    /// pole where it is larger already.
    pub(super) fn room(&self, i: usize, shift: f64, upwards: bool, log_size: f64) -> f64 {
        let (rising, falling) = self.arcs(i, shift);
        let a = if upwards { rising } else { falling };
        let there = ((self.log_unit[i] - log_size) / self.e).exp().min(0.5 * a);
        2.0 * (a - there) / self.cost[i].high
    }

    /// By how much the roundings of `G` are amplified in the largest coefficients.
    pub(super) fn amplification(&self, shift: &[f64], beta: &[f64]) -> f64 {
        let largest = beta.iter().fold(0.0, |m: f64, b| m.max(b.abs()));
        if largest == 0.0 {
            return 1.0;
        }
        shift.iter().zip(beta).enumerate().fold(1.0, |most: f64, (i, (shift, beta))| {
            let (rising, falling) = self.arcs(i, *shift);
            most.max(self.e * beta.abs() / largest / rising.min(falling))
        })
    }
}

/// `a + by`, rounded once.
fn after(a: DoubleDouble, by: f64) -> f64 {
    let (sum, error) = two_sum(a.high, by);
    sum + (error + a.low)
}
