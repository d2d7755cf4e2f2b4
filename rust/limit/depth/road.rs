//! The road to the limit from anywhere, in binary64: a primal–dual interior point.
//!
//! With `p = U (1−z)^{−e}`, `m = U (1+z)^{−e}`, `β = p − m` and the slacks `s = 1 ∓ z`, minimising Q is the linear program
//! `min Σ (x_j − …)` over `x = (p, m) > 0`, `𝒜x = y` with `s_j x_j^θ = U_j^θ` in place of complementarity, `θ = (D−2)/D`
//! (from `q`, whose split is `x − (D/2) x^{2/D}`): at depth ∞ the logarithmic barrier, at any depth the same `N × N` system
//! as Newton's in the dual. The central path, `s x^θ = τ U^θ` with `τ → 1` from above, is that of the limits from ever smaller
//! starts. Mehrotra's predictor and corrector (*SIAM J. Optim.* 2 (1992) 575–601) follow it.
//!
//! A coordinate whose start is no smaller than the solution is not split, for `p − m` would cancel: `β = U h(z)` is
//! linearised as it stands. Everything else is left to `polish`; a few digits are enough here.

use crate::linalg::{Cholesky, Rows, SquareMatrix, WeightedGram};
use crate::real::{DoubleDouble, Real, Scaled};

use super::law::Law;
use crate::limit::row_space::RowSpace;
use crate::potential::Arc;

/// Fraction of the way to the boundary that a step may go.
const TO_BOUNDARY: f64 = 0.995;
/// Slacks below this are noise beside `c g`.
const NOISE: f64 = 1e-13;
/// Residual, relative to the targets, that is left to `polish`.
const CLOSE: f64 = 1e-9;
/// `s x^θ` within this of its goal is there.
const CENTRED: f64 = 1e-3;

/// Systems without gain after which there is none to be had in binary64.
const IDLE: usize = 8;

/// One of the two parts of a coefficient, or all of it.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    coordinate: usize,
    /// 1 for `p`, −1 for `m`, 0 for a coefficient that is not split.
    sign: f64,
    x: f64,
    s: f64,
    dx: f64,
    ds: f64,
    /// `dx = from + rate · c dg`.
    from: f64,
    rate: f64,
    /// `ln U^θ`.
    goal: f64,
}

/// Where the road came to.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// Coefficients.
    pub beta: Vec<f64>,
    /// `z` as the slacks know it.
    pub arcs: Vec<(f64, f64)>,
    /// `dβ/dg`, of which the kernel was made.
    pub metric: Vec<f64>,
    pub systems: usize,
}

/// The iterate.
struct Road<'s, 'd> {
    space: &'s RowSpace<'d>,
    law: &'s Law,
    cost: Vec<f64>,
    theta: f64,
    /// Largest `ln U^θ` of the split coordinates: goals are measured from there.
    top: f64,
    parts: Vec<Part>,
    lambda: Vec<f64>,
    g: Vec<f64>,
    beta: Vec<f64>,
    metric: Vec<f64>,
    residual: Vec<f64>,
    step: Vec<f64>,
    step_g: Vec<f64>,
}

/// Follow it. `None` if the caller asked to stop.
pub(super) fn travel(space: &RowSpace<'_>, law: &Law, budget: usize, interrupted: &dyn Fn() -> bool) -> Option<Found> {
    let mut road = Road::start(space, law);
    let (rows, mut systems) = (space.rows(), 0);
    let mut gram = WeightedGram::new(rows.n(), rows.d());
    let mut kernel = SquareMatrix::zeros(rows.n());
    let mut cholesky = Cholesky::new(rows.n());
    let (mut least, mut idle) = ([f64::INFINITY; 3], 0);
    loop {
        road.evaluate(rows);
        let left = road.distance();
        let gained = left.iter().zip(&least).any(|(left, least)| *left < least - 0.1 * least.abs().min(1.0));
        idle = if gained { 0 } else { idle + 1 };
        least.iter_mut().zip(left).for_each(|(least, left)| *least = least.min(left));
        if road.is_over() || idle > IDLE || systems >= budget {
            break;
        }
        if interrupted() {
            return None;
        }
        systems += 1;
        road.linearise();
        gram.form(rows, &road.metric, &mut kernel);
        if cholesky.factor_scaled(&kernel).is_none() || !road.advance(rows, &cholesky) {
            break;
        }
    }
    Some(road.found(systems))
}

impl<'s, 'd> Road<'s, 'd> {
    fn start(space: &'s RowSpace<'d>, law: &'s Law) -> Self {
        let (d, m) = (space.samples().d(), space.dim());
        let theta = 1.0 / law.e;
        let mean = (space.least.iter().map(|b| b.abs()).sum::<f64>() / d.max(1) as f64).max(1e-300);
        let mut parts = Vec::with_capacity(2 * d);
        for (i, least) in space.least.iter().enumerate() {
            let log = law.log_unit[i].to_f64();
            let part =
                |sign: f64, x: f64| Part { coordinate: i, sign, x, s: 1.0, goal: theta * log, ..Part::default() };
            if log >= mean.ln() {
                parts.push(part(0.0, 0.0));
            } else {
                parts.push(part(1.0, mean + least.max(0.0)));
                parts.push(part(-1.0, mean + (-least).max(0.0)));
            }
        }
        let split = parts.iter().filter(|p| p.sign != 0.0);
        let top = split.fold(f64::NEG_INFINITY, |top, p| top.max(p.goal));
        Self {
            space,
            law,
            cost: law.log_cost.iter().map(|log| log.exp()).collect(),
            theta,
            top,
            parts,
            lambda: vec![0.0; m],
            g: vec![0.0; d],
            beta: vec![0.0; d],
            metric: vec![0.0; d],
            residual: vec![0.0; m],
            step: vec![0.0; m],
            step_g: vec![0.0; d],
        }
    }

    /// β, g and the residual at the iterate.
    fn evaluate(&mut self, rows: Rows<'_>) {
        rows.apply_transposed(&self.lambda, &mut self.g);
        self.beta.fill(0.0);
        for part in &self.parts {
            self.beta[part.coordinate] += if part.sign == 0.0 { part.x } else { part.sign * part.x };
        }
        rows.apply(&self.beta, &mut self.residual);
        self.residual.iter_mut().zip(&self.space.target).for_each(|(r, y)| *r = y - *r);
    }

    fn is_over(&self) -> bool {
        let size = largest(&self.space.target);
        if largest(&self.residual) > CLOSE * size {
            return false;
        }
        let least = self.parts.iter().filter(|p| p.sign != 0.0).fold(1.0, |least, p| f64::min(least, p.s));
        let off = self.parts.iter().fold(0.0, |off: f64, part| {
            off.max(if part.sign == 0.0 { self.misfit(part).abs() } else { (self.log_ratio(part)).abs() })
        });
        least < NOISE || off < CENTRED
    }

    /// What is left: of the residual, of the way to the central path's end in e-folds, and of the coefficients that are not
    /// split.
    fn distance(&self) -> [f64; 3] {
        let whole = self.parts.iter().filter(|p| p.sign == 0.0);
        let whole = whole.fold(0.0, |most: f64, p| most.max(self.misfit(p).abs()));
        let residual = largest(&self.residual) / largest(&self.space.target);
        [residual.ln(), self.tau(0.0, 0.0).ln() - self.top, whole.ln()]
    }

    /// `ln(s x^θ / U^θ)`.
    fn log_ratio(&self, part: &Part) -> f64 {
        part.s.ln() + self.theta * part.x.ln() - part.goal
    }

    /// `h(z) − β/U` of a coefficient that is not split, relative to the larger of 1 and itself.
    fn misfit(&self, part: &Part) -> f64 {
        let (h, _) = self.whole(part);
        let unit = self.law.log_unit[part.coordinate].to_f64().exp();
        (h - part.x / unit) / (1.0 + h.abs())
    }

    /// `h(z)` and `h'(z)` at `z = c g`.
    fn whole(&self, part: &Part) -> (f64, f64) {
        let (i, e) = (part.coordinate, self.law.e);
        let z = self.cost[i] * self.g[i];
        let (low, high) = ((-z).ln_1p(), z.ln_1p());
        let h = if z >= 0.0 {
            -(-e * (high - low)).exp_m1() * (-e * low).exp()
        } else {
            (-e * (low - high)).exp_m1() * (-e * high).exp()
        };
        (h, e * ((-(e + 1.0) * low).exp() + (-(e + 1.0) * high).exp()))
    }

    /// The kernel's metric, and `dx` as a function of `c dg` towards `τ = 0`.
    fn linearise(&mut self) {
        self.metric.fill(0.0);
        for k in 0..self.parts.len() {
            let part = self.parts[k];
            let i = part.coordinate;
            let rate = if part.sign == 0.0 {
                self.whole(&part).1 * self.law.log_unit[i].to_f64().exp()
            } else {
                part.x / (self.theta * part.s)
            };
            self.parts[k].rate = rate;
            self.metric[i] += self.cost[i] * rate;
        }
    }

    /// Predictor and corrector. False if no step could be taken.
    fn advance(&mut self, rows: Rows<'_>, cholesky: &Cholesky) -> bool {
        let now = self.tau(0.0, 0.0);
        self.direction(rows, cholesky, f64::NEG_INFINITY, false);
        let (primal, dual) = self.lengths();
        let predicted = self.tau(primal, dual);
        let aim = ((predicted / now).powi(3) * now).ln();
        self.direction(rows, cholesky, aim, true);
        let (primal, dual) = self.lengths();
        let finite = self.step.iter().all(|v| v.is_finite()) && self.parts.iter().all(|p| p.dx.is_finite());
        if !(finite && primal > 0.0 && dual > 0.0) {
            return false;
        }
        for part in &mut self.parts {
            part.x += primal * part.dx;
            part.s += dual * part.ds;
        }
        self.lambda.iter_mut().zip(&self.step).for_each(|(l, d)| *l += dual * *d);
        true
    }

    /// Mean of `s x^θ` after a step of these lengths, each relative to its goal and measured in the largest of them.
    fn tau(&self, primal: f64, dual: f64) -> f64 {
        let split = self.parts.iter().filter(|p| p.sign != 0.0);
        let (sum, count) = split.fold((0.0, 0.0), |(sum, count), p| {
            let product = (p.s + dual * p.ds) * (p.x + primal * p.dx).max(0.0).powf(self.theta);
            (sum + product * (self.top - p.goal).min(600.0).exp(), count + 1.0)
        });
        if count > 0.0 { sum / count } else { 1.0 }
    }

    /// Newton direction towards `ln τ = aim` (in the unit of [`Road::tau`]); the corrector takes the second-order terms of the
    /// predictor with it.
    fn direction(&mut self, rows: Rows<'_>, cholesky: &Cholesky, aim: f64, corrector: bool) {
        let mut moved = vec![0.0; self.beta.len()];
        for k in 0..self.parts.len() {
            let part = self.parts[k];
            let i = part.coordinate;
            let z = self.cost[i] * self.g[i];
            let from = if part.sign == 0.0 {
                self.whole(&part).0 * self.law.log_unit[i].to_f64().exp() - part.x
            } else {
                let log = f64::max(aim + part.goal - self.top, part.goal) - (self.log_ratio(&part) + part.goal);
                // Products below their goal are brought there by their logarithm: a quotient of 1e20 is no step.
                let mut rho = if log > 0.0 { log } else { log.exp_m1() };
                if corrector {
                    let (a, b) = ((part.ds / part.s).clamp(-1.0, 1.0), (part.dx / part.x).clamp(-1.0, 1.0));
                    rho -= self.theta * a * b + 0.5 * self.theta * (self.theta - 1.0) * b * b;
                }
                let dual = 1.0 - part.sign * z - part.s;
                part.x / self.theta * (rho - dual / part.s)
            };
            self.parts[k].from = from;
            moved[i] += if part.sign == 0.0 { from } else { part.sign * from };
        }
        rows.apply(&moved, &mut self.step);
        self.step.iter_mut().zip(&self.residual).for_each(|(s, r)| *s = r - *s);
        cholesky.solve(&mut self.step);
        rows.apply_transposed(&self.step, &mut self.step_g);
        for part in &mut self.parts {
            let i = part.coordinate;
            let dz = self.cost[i] * self.step_g[i];
            if part.sign == 0.0 {
                part.dx = part.from + part.rate * dz;
                part.ds = dz;
            } else {
                part.dx = part.from + part.sign * part.rate * dz;
                part.ds = 1.0 - part.sign * self.cost[i] * self.g[i] - part.s - part.sign * dz;
            }
        }
    }

    /// Longest primal and dual steps that stay inside.
    fn lengths(&self) -> (f64, f64) {
        let (mut primal, mut dual) = (f64::INFINITY, f64::INFINITY);
        for part in &self.parts {
            if part.sign == 0.0 {
                let z = self.cost[part.coordinate] * self.g[part.coordinate];
                dual = dual.min((1.0 - z * part.ds.signum()) / part.ds.abs());
                continue;
            }
            if part.dx < 0.0 {
                primal = primal.min(-part.x / part.dx);
            }
            if part.ds < 0.0 {
                dual = dual.min(-part.s / part.ds);
            }
        }
        ((TO_BOUNDARY * primal).min(1.0), (TO_BOUNDARY * dual).min(1.0))
    }

    fn found(self, systems: usize) -> Found {
        let d = self.beta.len();
        let mut arcs = vec![(0.0, 1.0); d];
        let mut last = vec![f64::INFINITY; d];
        for part in &self.parts {
            let i = part.coordinate;
            if part.sign == 0.0 {
                let z = self.cost[i] * self.g[i];
                arcs[i] = (z, 1.0 - z.abs());
            } else if part.s < last[i] {
                last[i] = part.s;
                arcs[i] = (part.sign * (1.0 - part.s.min(1.0)), part.s.min(1.0));
            }
        }
        Found { beta: self.beta, arcs, metric: self.metric, systems }
    }
}

impl Found {
    /// The point of coordinate `i`: where the coefficient is the better known of the two, from that.
    pub fn arc(&self, law: &Law, i: usize, size: f64) -> Arc {
        let (z, a) = self.arcs[i];
        let active = (self.beta[i].abs() / size).powf(1.0 / law.e) > a;
        if active && self.beta[i] != 0.0 {
            return law.arc_of(i, Scaled::from(self.beta[i]));
        }
        if z.abs() < 0.5 {
            Arc::from_z(Scaled::from(z))
        } else {
            Arc::from_a(Scaled::from(DoubleDouble::from_f64(a)), z < 0.0)
        }
    }
}

/// Largest magnitude; NaN if there is one.
pub(super) fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |m, v| if v.abs() > m || v.is_nan() { v.abs() } else { m })
}
