//! The last digits: Newton's method in the coordinates of a basis of columns, with residuals in double-double.
//!
//! The unknowns are the points `z_B` of the basic columns, each kept with `1 − |z_B|` (see `basis`). From them
//! `X_Bᵀ μ = z_B/c_B`, `z = c∘Xᵀμ` for the others, `β = U∘h(z)` and the residual. A Newton step is taken in `β_B = U h(z_B)`, in
//! which the equations of an active column are linear, whatever the scale.

use crate::limit::row_space::RowSpace;
use crate::linalg::{Cholesky, Rows, SquareMatrix};
use crate::potential::Arc;
use crate::real::{DoubleDouble, Real, Scaled};

use super::basis::{Basis, times, times_transposed};
use super::law::Law;
use super::road::{Found, largest};

/// Steps at most; three are the rule.
const STEPS: usize = 40;
/// A residual below this part of the targets is exact for what binary64 can say of it.
const EXACT: f64 = 1e-29;
/// Gain that a step has to make.
const GAIN: f64 = 0.7;
/// Halvings of a step at most.
const HALVINGS: usize = 12;
/// `1 − |z|` below `2^TIED` is the rounding of a sum of products in double-double.
const TIED: i64 = -93;
/// Entries of the table of tied columns below this are 0.
const ZERO: f64 = 1e-12;
/// Rounds of refinement for `μ`.
const REFINEMENTS: usize = 4;
/// A basic coefficient grows in a step by no more than this many times itself and its unit.
const GROWTH: f64 = 100.0;

/// The point, evaluated.
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// Coordinates.
    pub arcs: Vec<Arc>,
    pub beta: Vec<DoubleDouble>,
    pub log_slope: Vec<f64>,
    /// Multipliers of the basic samples.
    pub mu: Vec<DoubleDouble>,
    /// `|X_Bᵀμ − z_B/c_B|`.
    pub miss: Vec<f64>,
    /// `y − Xβ` of the basic samples.
    pub residual: Vec<DoubleDouble>,
}

/// Everything a polished limit consists of.
#[derive(Clone, Debug)]
pub(super) struct Polished {
    pub basis: Basis,
    pub point: Point,
    /// Samples that span the row space.
    pub samples: Vec<usize>,
    pub steps: usize,
}

/// The problem as it is polished.
pub(super) struct Polish<'s, 'd> {
    space: &'s RowSpace<'d>,
    law: &'s Law,
    samples: Vec<usize>,
    data: Vec<f64>,
    targets: Vec<DoubleDouble>,
}

impl<'s, 'd> Polish<'s, 'd> {
    pub fn new(space: &'s RowSpace<'d>, law: &'s Law) -> Self {
        let samples = space.basic_samples();
        let data = samples.iter().flat_map(|n| space.samples().row(*n)).copied().collect();
        let targets = samples.iter().map(|n| DoubleDouble::from_f64(space.y[*n])).collect();
        Self { space, law, samples, data, targets }
    }

    /// The basic samples.
    pub fn rows(&self) -> Rows<'_> {
        Rows::from_parts(&self.data, self.samples.len(), self.space.samples().d())
    }

    /// From where the road ended. `None` if no point could be evaluated.
    pub fn finish(&self, found: &Found, interrupted: &dyn Fn() -> bool) -> Option<Polished> {
        let size = largest(&found.beta).max(f64::MIN_POSITIVE);
        let arcs: Vec<Arc> = (0..found.beta.len()).map(|i| found.arc(self.law, i, size)).collect();
        let slopes: Vec<f64> = found.metric.iter().map(|s| s.ln()).collect();
        let mut basis = Basis::choose(self.space.rows(), &slopes)?;
        let start: Vec<Arc> = basis.columns.iter().map(|i| arcs[*i]).collect();
        let own = |basis: &Basis| basis.columns.iter().map(|i| own_arc(found, *i)).collect::<Vec<_>>();
        let mut point = self.evaluate(&basis, &start).or_else(|| self.evaluate(&basis, &own(&basis)))?;
        let (mut steps, mut fresh) = (0, true);
        let goal = EXACT * largest(&self.space.y);
        while steps < STEPS && size_of(&point) > goal && !interrupted() {
            steps += 1;
            if let Some(next) = self.step(&basis, &point) {
                point = next;
                fresh = false;
                continue;
            }
            // Other columns may have taken over.
            if fresh {
                break;
            }
            fresh = true;
            let again = Basis::choose(self.space.rows(), &point.log_slope)?;
            if again.columns == basis.columns {
                break;
            }
            let start: Vec<Arc> = again.columns.iter().map(|i| point.arcs[*i]).collect();
            let Some(same) = self.evaluate(&again, &start) else { break };
            (basis, point) = (again, same);
        }
        Some(Polished { basis, point, samples: self.samples.clone(), steps })
    }

    /// Everything at basic points. `None` if another coordinate would leave (−1, 1).
    fn evaluate(&self, basis: &Basis, basic: &[Arc]) -> Option<Point> {
        let (rows, d) = (self.rows(), self.space.samples().d());
        let aim: Vec<DoubleDouble> =
            basis.columns.iter().zip(basic).map(|(i, arc)| (arc.z / self.law.cost[*i]).value()).collect();
        let (mu, miss) = self.multipliers(basis, &aim);
        let mut g = vec![DoubleDouble::ZERO; d];
        rows.apply_transposed(&mu, &mut g);
        let mut arcs: Vec<Arc> =
            g.iter().zip(&self.law.cost).map(|(g, c)| Arc::from_z(Scaled::from(*g) * *c)).collect();
        for (i, arc) in basis.columns.iter().zip(basic) {
            arcs[*i] = *arc;
        }
        self.tie(basis, basic, &mut arcs);
        if arcs.iter().any(|arc| arc.a.is_zero() || arc.a.is_negative() || !arc.a.is_finite()) {
            return None;
        }
        let beta: Vec<DoubleDouble> = arcs.iter().enumerate().map(|(i, arc)| self.law.beta(i, *arc).value()).collect();
        let mut residual = vec![DoubleDouble::ZERO; rows.n()];
        rows.apply(&beta, &mut residual);
        residual.iter_mut().zip(&self.targets).for_each(|(r, y)| *r = *y - *r);
        if residual.iter().any(|r| !r.is_finite()) {
            return None;
        }
        let log_slope = arcs.iter().enumerate().map(|(i, arc)| self.law.log_slope(i, *arc)).collect();
        Some(Point { arcs, beta, log_slope, mu, miss, residual })
    }

    /// Coordinates whose `1 − |z|` is below the rounding of `z`, for more columns are active than there are samples: on small
    /// whole numbers the constants cancel exactly, and what is left is `a_I/c_I = ± Σ T_bI ± a_b/c_b`.
    fn tie(&self, basis: &Basis, basic: &[Arc], arcs: &mut [Arc]) {
        let d = arcs.len();
        for (i, tied) in arcs.iter_mut().enumerate() {
            if basis.columns.contains(&i) || !tied.a.abs().is_below(TIED) {
                continue;
            }
            let negative = tied.z.is_negative();
            let terms = basis.columns.iter().zip(basic).enumerate().map(|(b, (k, arc))| {
                let entry = basis.table[b * d + i];
                // Rounding of a 0, which an inner coordinate would make much of.
                let entry = if entry.abs() < ZERO { 0.0 } else { entry };
                let small = arc.a / self.law.cost[*k] * Scaled::from(entry);
                if arc.z.is_negative() == negative { small } else { -small }
            });
            let sum = terms.fold(Scaled::ZERO, |sum, term| sum + term) * self.law.cost[i];
            *tied = Arc::from_a(sum, negative);
        }
    }

    /// `μ` with `X_Bᵀμ = aim`, by iterative refinement with the inverse, and what it misses.
    fn multipliers(&self, basis: &Basis, aim: &[DoubleDouble]) -> (Vec<DoubleDouble>, Vec<f64>) {
        let m = self.samples.len();
        let mut mu = vec![DoubleDouble::ZERO; m];
        let mut miss: Vec<DoubleDouble> = aim.to_vec();
        for _ in 0..REFINEMENTS {
            let left: Vec<f64> = miss.iter().map(|v| v.high).collect();
            let w = times_transposed(&basis.inverse, &left);
            let mut step = vec![0.0; self.space.samples().n()];
            self.space.basic_multipliers(&w, &mut step);
            let next: Vec<DoubleDouble> = mu.iter().zip(&self.samples).map(|(mu, n)| mu.add_f64(step[*n])).collect();
            let found = self.columns_times(basis, &next);
            let after: Vec<DoubleDouble> = aim.iter().zip(&found).map(|(a, f)| *a - *f).collect();
            let size = |v: &[DoubleDouble]| v.iter().fold(0.0, |s: f64, v| s.max(v.high.abs()));
            if !(size(&after) < size(&miss)) {
                break;
            }
            (mu, miss) = (next, after);
        }
        (mu, miss.iter().map(|v| v.high.abs()).collect())
    }

    /// `X_Bᵀ μ`.
    fn columns_times(&self, basis: &Basis, mu: &[DoubleDouble]) -> Vec<DoubleDouble> {
        let rows = self.rows();
        let product = |i: &usize| {
            mu.iter().enumerate().fold(DoubleDouble::ZERO, |sum, (n, mu)| sum + mu.mul_f64(rows.row(n)[*i]))
        };
        basis.columns.iter().map(product).collect()
    }

    /// A Newton step, shortened until it gains. `None` if it does not.
    fn step(&self, basis: &Basis, point: &Point) -> Option<Point> {
        let kernel = Kernel::of(basis, &point.log_slope)?;
        let residual: Vec<f64> = point.residual.iter().map(|r| r.high).collect();
        let move_by = kernel.solve(&self.in_basis(basis, &residual));
        let before = size_of(point);
        let mut length = 1.0;
        for _ in 0..HALVINGS {
            let basic: Vec<Arc> = basis
                .columns
                .iter()
                .zip(&move_by)
                .map(|(i, (log, step))| self.moved(point, *i, *log, length * step))
                .collect();
            if let Some(next) = self.evaluate(basis, &basic)
                && size_of(&next) < GAIN * before
            {
                return Some(next);
            }
            length *= 0.5;
        }
        None
    }

    /// Where a basic coefficient is after a change of `step e^log`.
    fn moved(&self, point: &Point, i: usize, log: f64, step: f64) -> Arc {
        let (beta, unit) = (self.law.beta(i, point.arcs[i]), self.law.unit[i]);
        let change = Scaled::from(step) * Scaled::exp(DoubleDouble::from(log));
        let most = (beta.abs() + unit) * Scaled::from(GROWTH);
        let change = if (most - change.abs()).is_negative() { if step < 0.0 { -most } else { most } } else { change };
        self.law.arc_of(i, beta + change)
    }

    /// `X_B^{-1} r`.
    pub fn in_basis(&self, basis: &Basis, residual: &[f64]) -> Vec<f64> {
        let mut all = vec![0.0; self.space.samples().n()];
        for (n, r) in self.samples.iter().zip(residual) {
            all[*n] = *r;
        }
        if self.samples.len() < all.len() {
            // Least squares over all samples would see the others; the basic ones are as many equations as unknowns.
            return self.solve_basic(basis, residual);
        }
        let mut white = vec![0.0; self.space.dim()];
        self.space.whiten(&all, &mut white);
        times(&basis.inverse, &white)
    }

    /// The same for basic samples that are not all: `X_b = R_bᵀ Q`, refined from the least-squares inverse.
    fn solve_basic(&self, basis: &Basis, residual: &[f64]) -> Vec<f64> {
        let rows = self.rows();
        let m = residual.len();
        let Some(inverse) = super::basis::inverse_of(m, &|n, b| rows.row(n)[basis.columns[b]]) else {
            return vec![0.0; m];
        };
        times(&inverse, residual)
    }
}

/// The point as the slacks of the road know it, whatever its coefficient.
fn own_arc(found: &Found, i: usize) -> Arc {
    let (z, a) = found.arcs[i];
    if z.abs() < 0.5 { Arc::from_z(Scaled::from(z)) } else { Arc::from_a(Scaled::from(a), z < 0.0) }
}

/// `max|y − Xβ|`.
fn size_of(point: &Point) -> f64 {
    point.residual.iter().fold(0.0, |m: f64, r| m.max(r.high.abs()))
}

/// `diag(S_B) + T diag(S_I) Tᵀ` with unit diagonal or so: in the metric of the basic slopes.
pub(super) struct Kernel {
    pub cholesky: Cholesky,
    /// `½ ln S_B`.
    half: Vec<f64>,
    /// `S_B^{-1/2} T S_I^{1/2}`, m × d, 0 in the basic columns.
    pub scaled: Vec<f64>,
}

impl Kernel {
    pub fn of(basis: &Basis, log_slope: &[f64]) -> Option<Self> {
        let (m, d) = (basis.columns.len(), log_slope.len());
        let half: Vec<f64> = basis.columns.iter().map(|i| 0.5 * log_slope[*i]).collect();
        let mut scaled = basis.table.clone();
        for (row, half) in scaled.chunks_exact_mut(d.max(1)).zip(&half) {
            for (t, log) in row.iter_mut().zip(log_slope) {
                *t = if *t == 0.0 { 0.0 } else { *t * (0.5 * log - half).exp() };
            }
            basis.columns.iter().for_each(|i| row[*i] = 0.0);
        }
        let row = |i: usize| &scaled[i * d..(i + 1) * d];
        let kernel = SquareMatrix::from_fn(m, |i, j| {
            let sum: f64 = row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum();
            sum + f64::from(u8::from(i == j))
        });
        let mut cholesky = Cholesky::new(m);
        (cholesky.factor_scaled(&kernel) == Some(0.0)).then_some(Self { cholesky, half, scaled })
    }

    /// A residual of the basic rows in that metric, `S_B^{-1/2} r`, and the logarithm of what it was divided by.
    pub fn enter(&self, r: &[f64]) -> (Vec<f64>, f64) {
        let logs = r.iter().zip(&self.half).map(|(r, half)| r.abs().ln() - half);
        let shift = logs.fold(f64::NEG_INFINITY, f64::max);
        if shift == f64::NEG_INFINITY {
            return (vec![0.0; r.len()], 0.0);
        }
        let scaled = r.iter().zip(&self.half).map(|(r, half)| r.signum() * (r.abs().ln() - half - shift).exp());
        (scaled.collect(), shift)
    }

    /// Changes of `β_B` by Newton's method, each as a logarithm and a factor.
    fn solve(&self, r: &[f64]) -> Vec<(f64, f64)> {
        let (mut scaled, shift) = self.enter(r);
        self.cholesky.solve(&mut scaled);
        scaled.iter().zip(&self.half).map(|(v, half)| (shift + half, *v)).collect()
    }
}
