//! The state of the dual flow, `ν = ν_ref + Δν`, and the predictor it stands for. Knows no data and no time.
//!
//! `β_i = ¼(A_i e^{2G_i} − B_i e^{−2G_i})`, `S_i = dβ_i/dG_i = ½(A_i e^{2G_i} + B_i e^{−2G_i})`, `G = Xᵀν` (\[A\] Theorem 1
//! and Appendix A). At scale κ the exponents start at ln κ and end near 0: formed in binary64 they would carry an error
//! of |ln κ| ulps into β, 1.8e-11 at ln κ = −230000. So `G_ref = Xᵀν_ref` and the exponents at it are double-double,
//! and only the small `z = 2XᵀΔν` of one step is binary64.
//!
//! With `w = ½ ln(A/B) + 2G_ref + z` and the larger exponent `e`, `β = sign(w) e^e (1 − e^{−2|w|})` and
//! `S = 2 e^e (1 + e^{−2|w|})`: the difference of two exponentials would cancel where `|β| ≪ √(AB)`.

use super::power::Power;
use super::prepare::peak;
use crate::linalg::Rows;
use crate::real::{DoubleDouble, Real, vector};
use rayon::prelude::*;

/// Stands for `ln 0`: far below every exponent that matters, and finite, so that no rule needs a case of its own. The
/// half difference of an exponent and this one is `±5e299`, which makes `e^{−2|w|}` vanish as it must.
const LOG_ZERO: f64 = -1e300;
/// `G_ref` is formed in double-double once the shifts added to it in binary64 since it last was come to more than this
/// (see [`Reference::advance`]). A long step is, at once; of the many short ones one in several is.
pub(super) const EXACT_SHIFT: f64 = 8.0;
/// Coordinates evaluated at a time: their workspaces stay in the first-level cache.
const BLOCK: usize = 512;
/// Numbers of coordinates below this are not worth a second thread.
const WORTH_A_THREAD: usize = 1 << 15;

/// `ν_ref`, `G_ref = Xᵀν_ref` and the exponents at it.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    /// `ln(A/4)` and `ln(B/4)`.
    log_p0: Vec<DoubleDouble>,
    log_m0: Vec<DoubleDouble>,
    nu: Vec<DoubleDouble>,
    g: Vec<DoubleDouble>,
    exponents: Exponents,
    /// Sum of the largest shifts that were added to `g` in binary64.
    drift: f64,
    /// What takes the place of the exponentials in a tied network of depth 3 and more.
    power: Option<Power>,
}

/// `ln(A/4) + 2G_ref`, `ln(B/4) − 2G_ref` and half their difference, each as high and low parts.
#[derive(Clone, Debug, Default)]
struct Exponents {
    plus: Parts,
    minus: Parts,
    half: Parts,
}

#[derive(Clone, Debug, Default)]
struct Parts {
    high: Vec<f64>,
    low: Vec<f64>,
}

impl Parts {
    fn zeros(d: usize) -> Self {
        Self { high: vec![0.0; d], low: vec![0.0; d] }
    }

    fn set(&mut self, i: usize, value: DoubleDouble) {
        (self.high[i], self.low[i]) = (value.to_f64(), value.low());
    }
}

impl Reference {
    /// `ν_ref = 0` of `n` multipliers, for the start `ln A`, `ln B` (−inf where they are 0), all times `e^shift`.
    pub(super) fn new(log_a: &[DoubleDouble], log_b: &[DoubleDouble], shift: DoubleDouble, n: usize) -> Self {
        let quarter = |log: &DoubleDouble| {
            if log.to_f64() == f64::NEG_INFINITY {
                DoubleDouble::from_f64(LOG_ZERO)
            } else {
                *log - (DoubleDouble::LN_2 + DoubleDouble::LN_2) + shift
            }
        };
        let d = log_a.len();
        let mut reference = Self {
            log_p0: log_a.iter().map(quarter).collect(),
            log_m0: log_b.iter().map(quarter).collect(),
            nu: vec![DoubleDouble::ZERO; n],
            g: vec![DoubleDouble::ZERO; d],
            exponents: Exponents { plus: Parts::zeros(d), minus: Parts::zeros(d), half: Parts::zeros(d) },
            drift: 0.0,
            power: None,
        };
        reference.refresh();
        reference
    }

    /// `ν_ref = 0` of `n` multipliers, for a tied start `ln(αw)` of depth `depth`, coefficients times `e^shift`.
    pub(super) fn of_powers(depth: u32, log_start: &[DoubleDouble], shift: DoubleDouble, n: usize) -> Self {
        let none = vec![DoubleDouble::ZERO; log_start.len()];
        Self { power: Some(Power::new(depth, log_start, shift)), ..Self::new(&none, &none, DoubleDouble::ZERO, n) }
    }

    /// Number of coordinates.
    pub(super) fn d(&self) -> usize {
        self.g.len()
    }

    /// `ν_ref`.
    pub(super) fn nu(&self) -> &[DoubleDouble] {
        &self.nu
    }

    /// `G_ref`.
    pub(super) fn g(&self) -> &[DoubleDouble] {
        &self.g
    }

    /// True where `A_i > 0` (can grow) and where `B_i > 0` (can fall).
    pub(super) fn sides(&self, i: usize) -> (bool, bool) {
        (self.log_p0[i].to_f64() > LOG_ZERO, self.log_m0[i].to_f64() > LOG_ZERO)
    }

    /// The exponents of the rising and of the falling part of coordinate `i` at the shift `z_i`, to binary64.
    pub(super) fn exponents(&self, i: usize, z: f64) -> (f64, f64) {
        (self.exponents.plus.high[i] + z, self.exponents.minus.high[i] - z)
    }

    /// How far `2G_i` may move upwards (or downwards) from the shift `z_i` in a straight line: until what grows has the size
    /// `e^log_size`, and `overshoot` e-folds beyond the larger of that and what it is.
    pub(super) fn room(&self, i: usize, z: f64, upwards: bool, log_size: f64, overshoot: f64) -> f64 {
        if let Some(power) = &self.power {
            return power.room(i, z, upwards, log_size + overshoot);
        }
        let (plus, minus) = self.exponents(i, z);
        let exponent = if upwards { plus } else { minus };
        (log_size - exponent).max(0.0) + overshoot
    }

    /// How many times its own rounding a shift makes of β.
    pub(super) fn amplification(&self, z: &[f64], beta: &[f64]) -> f64 {
        self.power.as_ref().map_or(1.0, |power| power.amplification(z, beta))
    }

    /// `ln(A/4)` and `ln(B/4)` of coordinate `i`, far below any exponent where they are −∞.
    pub(super) fn start(&self, i: usize) -> (DoubleDouble, DoubleDouble) {
        (self.log_p0[i], self.log_m0[i])
    }

    /// What the exponents of coordinate `i` are at the reference: of the rising and the falling part, and half their
    /// difference.
    pub(super) fn exact_exponents(&self, i: usize) -> [DoubleDouble; 3] {
        let Exponents { plus, minus, half } = &self.exponents;
        [plus, minus, half].map(|parts| DoubleDouble { high: parts.high[i], low: parts.low[i] })
    }

    /// `ν_ref += Δν`, `G_ref += ½z` for `z = 2XᵀΔν`. Returns the largest shifts since `G_ref` was last exact, added up.
    ///
    /// A shift carries a relative error of a few ulps, ε, and adds `ε|z|` to that of β: where they come to more than
    /// [`EXACT_SHIFT`], the caller has to form `G_ref` from `ν_ref` ([`Reference::form_g`]). The error is then gone, and
    /// does not grow with the number of steps. [`Reference::refresh`] has to follow.
    pub(super) fn advance(&mut self, delta_nu: &[f64], z: &[f64]) -> f64 {
        for (nu, delta) in self.nu.iter_mut().zip(delta_nu) {
            *nu += DoubleDouble::from_f64(*delta);
        }
        for (sum, z) in self.g.iter_mut().zip(z) {
            *sum += DoubleDouble::from_f64(0.5 * z);
        }
        self.drift += peak(z);
        self.drift
    }

    /// `ν_ref += Δν`, `G_ref += ½z` and the exponents with it, all in double-double.
    ///
    /// The exponents move by themselves: formed again from `G_ref`, those of fitted coefficients, numbers near 0, would
    /// carry the rounding of |ln κ| into every step, and no residual would come below that.
    pub(super) fn follow(&mut self, delta_nu: &[DoubleDouble], z: &[DoubleDouble]) {
        self.nu.iter_mut().zip(delta_nu).for_each(|(nu, delta)| *nu += *delta);
        for (i, z) in z.iter().enumerate() {
            self.g[i] += DoubleDouble { high: 0.5 * z.high, low: 0.5 * z.low };
            let [plus, minus, half] = self.exact_exponents(i);
            self.exponents.plus.set(i, plus + *z);
            self.exponents.minus.set(i, minus - *z);
            self.exponents.half.set(i, half + *z);
        }
    }

    /// `G_ref = Xᵀν_ref` in double-double.
    pub(super) fn form_g(&mut self, x: Rows<'_>) {
        x.apply_transposed(&self.nu, &mut self.g);
        self.drift = 0.0;
    }

    /// Form the exponents at `G_ref`: the end of every change of it.
    pub(super) fn refresh(&mut self) {
        if let Some(power) = &mut self.power {
            power.refresh(&self.g);
            return;
        }
        let half = DoubleDouble::from_f64(0.5);
        for i in 0..self.g.len() {
            let shift = self.g[i] + self.g[i];
            let (plus, minus) = (self.log_p0[i] + shift, self.log_m0[i] - shift);
            self.exponents.plus.set(i, plus);
            self.exponents.minus.set(i, minus);
            // Not from the two exponents: at large κ they agree in all but the last digits.
            self.exponents.half.set(i, (self.log_p0[i] - self.log_m0[i]) * half + shift);
        }
    }

    /// β and S at the shifts `z` of one state, times the power of e that makes the largest of them about 1: what they
    /// are to each other where all of them underflow. The logarithm of that power.
    pub(super) fn evaluate_relative(&self, z: &[f64], beta: &mut [f64], slope: &mut [f64]) -> f64 {
        let top = z.iter().enumerate().fold(LOG_ZERO, |top, (i, z)| {
            let (plus, minus) = match &self.power {
                Some(power) => (power.exponent(i, *z), LOG_ZERO),
                None => self.exponents(i, *z),
            };
            top.max(plus).max(minus)
        });
        let blocks = z.chunks(BLOCK).zip(beta.chunks_mut(BLOCK)).zip(slope.chunks_mut(BLOCK));
        for (k, ((z, beta), slope)) in blocks.enumerate() {
            self.evaluate_block(k * BLOCK, z, -top, beta, slope);
        }
        -top
    }

    /// β and S at the shifts `z = 2XᵀΔν`, for several states one after another. Relative error of β a few ulps while
    /// `z` is exact; 0 below the range of binary64, not finite above it.
    pub(super) fn evaluate(&self, z: &[f64], beta: &mut [f64], slope: &mut [f64]) {
        let d = self.d();
        if d == 0 {
            return;
        }
        let state = |((z, beta), slope): ((&[f64], &mut [f64]), &mut [f64])| {
            let blocks = z.chunks(BLOCK).zip(beta.chunks_mut(BLOCK)).zip(slope.chunks_mut(BLOCK));
            for (k, ((z, beta), slope)) in blocks.enumerate() {
                self.evaluate_block(k * BLOCK, z, 0.0, beta, slope);
            }
        };
        if z.len() < WORTH_A_THREAD || rayon::current_num_threads() == 1 {
            z.chunks(d).zip(beta.chunks_mut(d)).zip(slope.chunks_mut(d)).for_each(state);
        } else if z.len() > d {
            z.par_chunks(d).zip(beta.par_chunks_mut(d)).zip(slope.par_chunks_mut(d)).for_each(state);
        } else {
            let blocks = z.par_chunks(BLOCK).zip(beta.par_chunks_mut(BLOCK)).zip(slope.par_chunks_mut(BLOCK));
            blocks.enumerate().for_each(|(k, ((z, beta), slope))| self.evaluate_block(k * BLOCK, z, 0.0, beta, slope));
        }
    }

    fn evaluate_block(&self, start: usize, z: &[f64], lift: f64, beta: &mut [f64], slope: &mut [f64]) {
        match &self.power {
            Some(power) => power.evaluate(start, z, lift, beta, slope),
            None => self.exponents.evaluate(start, z, lift, beta, slope),
        }
    }
}

impl Exponents {
    /// One block of at most [`BLOCK`] coordinates from `start` on, times `e^lift`.
    fn evaluate(&self, start: usize, z: &[f64], lift: f64, beta: &mut [f64], slope: &mut [f64]) {
        let len = z.len();
        let range = start..start + len;
        let (plus, plus_low) = (&self.plus.high[range.clone()], &self.plus.low[range.clone()]);
        let (minus, minus_low) = (&self.minus.high[range.clone()], &self.minus.low[range.clone()]);
        let (half, half_low) = (&self.half.high[range.clone()], &self.half.low[range]);
        let mut room = [[0.0; BLOCK]; 4];
        let [w, correction, exponent, gap] = &mut room;
        // Cut to one length, or the compiler checks every index and cannot vectorise.
        let (w, correction, exponent, gap) =
            (&mut w[..len], &mut correction[..len], &mut exponent[..len], &mut gap[..len]);
        let (beta, slope) = (&mut beta[..len], &mut slope[..len]);
        for i in 0..len {
            let (sum, error) = two_sum(half[i], z[i]);
            w[i] = sum + (error + half_low[i]);
            let rising = w[i] >= 0.0;
            let (high, low, shift) =
                if rising { (plus[i], plus_low[i], z[i]) } else { (minus[i], minus_low[i], -z[i]) };
            let (sum, error) = two_sum(high, shift);
            exponent[i] = sum + lift;
            correction[i] = error + low;
            gap[i] = -2.0 * w[i].abs();
        }
        vector::exp(exponent, beta);
        vector::exp_m1(gap, slope);
        for i in 0..len {
            // The lower part of the exponent is at most an ulp of the upper one: e^low = 1 + low where e^high matters.
            let larger = beta[i] + beta[i] * correction[i];
            beta[i] = -larger * slope[i] * 1.0_f64.copysign(w[i]);
            slope[i] = 2.0 * larger * (2.0 + slope[i]);
        }
    }
}

/// `a + b` and what rounding it lost (Knuth): exact for all finite `a`, `b` whose sum does not overflow.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let from_b = sum - a;
    (sum, (a - (sum - from_b)) + (b - from_b))
}
