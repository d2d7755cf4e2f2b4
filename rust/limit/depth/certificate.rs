//! A proven bound of `|β(∞)_i − β_i|` for every coefficient of a tied network (THEORY §6), round-off included, at any scale.
//!
//! With `p − 1 = e = D/(D−2)`: `S ∝ (1−z)^{−p} + (1+z)^{−p}` changes under `z → z + t`, `|t| < 1−|z|`, by a factor within
//! `(1 ± |t|/(1−|z|))^{−p}`. Let `ω_i = (1−|z_i|)/c_i`, `H = X diag(S) Xᵀ = LLᵀ`, `s_i = ‖L⁻¹x_i‖`, `τ = max s_i/ω_i`,
//! `λ = ‖L⁻¹r‖`. If `eτλ < 1` then with `M = (1 − eτλ)^{−1/e} − 1`, `T = M/τ`, `ρ = ((1−M)^{−e} − 1)/(eM) − 1`
//!
//! ```text
//! D_i = min(s_i T, |x_iᵀH⁻¹r| + s_i ρ T)   (s_i T for M ≥ 1)   bounds |x_iᵀ(ν* − ν)|,
//! ```
//!
//! and every `D_i/ω_i` lowers `M` to their largest and `T` to `λ/φ(M)`, `φ(M) = (1 − (1+M)^{−e})/(eM)`, again and again. With
//! `m = D_i/ω_i < 1`: `|β(∞)_i − β_i| ≤ S_i ω_i ((1−m)^{−e} − 1)/e`.
//!
//! All of it is invariant under a change of basis of the rows. In that of `basis`, rows scaled by `S_B^{−1/2}` and columns by
//! `S^{1/2}`, `H` is the identity and a correction, and what is left of the scale are the numbers `S_iω_i²`, kept by their
//! logarithms. The point itself is exact: its coordinates are the basic `z_B`, which nobody computed. Round-off enters
//! where the other `z` are formed, in β, in the residual and in the factor.

use crate::linalg::{Rows, norm};
use crate::real::{DoubleDouble, Real};

use super::basis::Basis;
use super::law::Law;
use super::polish::{Kernel, Point};

/// Lowering `M` stops when it gains less than this.
const STOPS_MOVING: f64 = 0.999;
/// Rounding of the bound itself.
const OUTWARD: f64 = 1.0 + 1e-12;
/// Unit of the bounds of double-double.
const U: f64 = DoubleDouble::UNIT_ROUNDOFF;
/// Roundings of `U h(z)` beside those of its logarithms: an exponential, an `expm1`, a product.
const OF_FUNCTIONS: f64 = 80.0;
/// The smallest number.
const SMALLEST: f64 = 5e-324;

/// What is known at one point.
pub(super) struct Evidence<'a> {
    pub rows: Rows<'a>,
    pub law: &'a Law,
    pub basis: &'a Basis,
    pub point: &'a Point,
    /// `X_B^{-1}` of the basic samples.
    pub inverse: &'a [f64],
}

/// The bound for every coefficient in the units of the problem; all infinite where nothing is proven.
pub(super) fn certify(evidence: &Evidence<'_>) -> Vec<f64> {
    evidence.sharpest().unwrap_or_else(|| vec![f64::INFINITY; evidence.rows.d()])
}

/// What round-off did to the point.
struct Noise {
    /// Relative, of `1 − |z|`.
    arc: Vec<f64>,
    /// Absolute, of β as it is kept.
    beta: Vec<f64>,
    /// Relative, of the slopes.
    slope: f64,
}

impl Evidence<'_> {
    fn sharpest(&self) -> Option<Vec<f64>> {
        let (m, d) = (self.basis.columns.len(), self.rows.d());
        let kernel = Kernel::of(self.basis, &self.point.log_slope)?;
        let noise = self.noise()?;
        let error = self.inverse_error()?;
        let (residual, blur) = self.residual(&noise, error);
        let theta = (1.0 + self.factor_error(&kernel, error)?) * (1.0 + 2.0 * noise.slope) - 1.0;
        if !(theta < 0.5) {
            return None;
        }
        let grow = OUTWARD / (1.0 - theta).sqrt();
        let sizes: Vec<f64> = residual.iter().zip(&blur).map(|(r, b)| r.abs() + b).collect();
        let (_, shift) = kernel.enter(&sizes);
        let in_metric = |v: &[f64]| -> Vec<f64> {
            let each = v.iter().zip(&self.basis.columns);
            each.map(|(v, i)| {
                if *v == 0.0 { 0.0 } else { v.signum() * (v.abs().ln() - 0.5 * self.point.log_slope[*i] - shift).exp() }
            })
            .collect()
        };
        let mut inner = in_metric(&residual);
        kernel.cholesky.solve_lower(&mut inner);
        // H ≥ 1 in this metric: ‖L⁻¹‖ ≤ 1.
        let (size, blurred) = (norm(inner.iter().copied()), grow * norm(in_metric(&blur).into_iter()));
        let lambda = grow * size + blurred;
        let mut multipliers = inner.clone();
        kernel.cholesky.solve_lower_transposed(&mut multipliers);
        let mut whitened = Vec::new();
        let columns = self.columns(shift);
        kernel.cholesky.solve_lower_rows(Rows::from_parts(&columns, m, d), &mut whitened);
        let (mut tau, mut along) = (vec![0.0; d], vec![0.0; d]);
        for (row, inner) in whitened.chunks_exact(d.max(1)).zip(&inner) {
            for ((w, tau), along) in row.iter().zip(&mut tau).zip(&mut along) {
                *tau += w * w;
                *along += w * inner;
            }
        }
        let off = self.column_errors(error, &|i| shift - self.log_reach(i));
        let rounding = 8.0 * (m * m) as f64 * f64::UNIT_ROUNDOFF * kernel.cholesky.scaled_trace().sqrt();
        for i in 0..d {
            let unit = OUTWARD / (1.0 - noise.arc[i]);
            // Solving with L, of condition √trace at most, and what the column was off by before.
            let length = norm((0..m).map(|b| columns[b * d + i]));
            let doubt = rounding * length + off[i];
            let s = grow * (tau[i].sqrt() + doubt);
            let along_error = (2.0 * theta * s + doubt) * size + s * blurred;
            along[i] = unit * ((1.0 + 2.0 * theta) * along[i].abs() + along_error);
            tau[i] = unit * s;
        }
        let movement = movement(&tau, &along, lambda, self.law.e)?;
        (0..d).map(|i| self.bound(i, movement[i], &noise)).collect()
    }

    /// `ln ω_i`.
    fn log_reach(&self, i: usize) -> f64 {
        self.point.arcs[i].a.ln().high - self.law.log_cost[i]
    }

    /// The columns of the data in the metric over `ω`, times the `e^shift` by which `λ` has been divided: what the theorem
    /// multiplies with each other is in the range of binary64, whatever the scale.
    fn columns(&self, shift: f64) -> Vec<f64> {
        let d = self.rows.d();
        let mut columns = self.basis.table.clone();
        for (row, k) in columns.chunks_exact_mut(d.max(1)).zip(&self.basis.columns) {
            let half = 0.5 * self.point.log_slope[*k];
            for (i, entry) in row.iter_mut().enumerate().filter(|(_, entry)| **entry != 0.0) {
                *entry *= (shift - half - self.log_reach(i)).exp();
            }
        }
        columns
    }

    /// From `|x_iᵀΔ|/ω_i` to the coefficient.
    fn bound(&self, i: usize, movement: f64, noise: &Noise) -> Option<f64> {
        if !(movement < 1.0) {
            return None;
        }
        let e = self.law.e;
        let growth = (-e * (-movement).ln_1p()).exp_m1() / e;
        let size = (self.point.log_slope[i] + self.log_reach(i)).exp() * (1.0 + noise.slope);
        Some(OUTWARD * (size * growth + noise.beta[i] + SMALLEST))
    }

    fn noise(&self) -> Option<Noise> {
        let (rows, point, law) = (self.rows, self.point, self.law);
        let (n, d, e) = (rows.n() as f64, rows.d(), law.e);
        let of_start = (4.0 * law.log_size + 40.0) * U;
        let magnitudes: Vec<f64> = point.mu.iter().map(|v| v.high.abs()).collect();
        let mut path = vec![0.0; d];
        rows.apply_transposed_abs(&magnitudes, &mut path);
        // What X_Bᵀμ misses of the coordinates, as computed and as it may be.
        let formed = |(miss, i): (&f64, &usize)| miss + 2.0 * (n + 2.0) * U * path[*i];
        let miss: Vec<f64> = point.miss.iter().zip(&self.basis.columns).map(formed).collect();
        let mut passed_on = vec![0.0; d];
        self.basis.rows(d).apply_transposed_abs(&miss, &mut passed_on);
        let mut arc = vec![0.0; d];
        for i in 0..d {
            let z = point.arcs[i].z.abs().value().high;
            let of_g = 2.0 * passed_on[i] + 2.0 * (n + 1.0) * U * path[i];
            let of_z = law.log_cost[i].exp() * of_g + (of_start + 4.0 * U) * z;
            arc[i] = (of_z.ln() - point.arcs[i].a.ln().high).exp();
        }
        for i in &self.basis.columns {
            // Chosen, and kept to the last place of whichever is the smaller.
            let inner = point.arcs[*i].is_inner();
            arc[*i] = 4.0 * U * if inner { 2.0 * point.arcs[*i].z.abs().value().high } else { 1.0 };
        }
        if arc.iter().any(|q| !(*q < 0.5)) {
            return None;
        }
        let mut slope = 0.0_f64;
        let beta = (0..d).map(|i| {
            let log = point.arcs[i].a.ln().high.abs();
            let relative = OF_FUNCTIONS * U + 4.0 * e * log * U + f64::from(law.depth.depth()) * of_start;
            let moved = (-e * (-arc[i]).ln_1p()).exp_m1() / e;
            // Logarithms of slopes are rounded to binary64.
            let rounded = f64::EPSILON * (8.0 + 2.0 * point.log_slope[i].abs());
            slope = slope.max((-(e + 1.0) * (-arc[i]).ln_1p()).exp_m1() + relative + rounded);
            let reach = (point.log_slope[i] + self.log_reach(i)).exp();
            1.01 * reach * moved + relative * point.beta[i].high.abs() + SMALLEST
        });
        let beta = beta.collect();
        Some(Noise { arc, beta, slope })
    }

    /// `‖1 − V X_B‖_∞ / (1 − ‖1 − V X_B‖_∞)`: how far the inverse is from one.
    fn inverse_error(&self) -> Option<f64> {
        let m = self.basis.columns.len();
        let (mut most, mut sizes) = (0.0_f64, 0.0_f64);
        for i in 0..m {
            let row = &self.inverse[i * m..(i + 1) * m];
            let (mut off, mut size) = (0.0, 0.0);
            for (j, column) in self.basis.columns.iter().enumerate() {
                let terms = row.iter().enumerate().map(|(n, v)| v * self.rows.row(n)[*column]);
                let (sum, magnitude) = terms.fold((0.0, 0.0), |(s, a), t| (s + t, a + t.abs()));
                off += (sum - f64::from(u8::from(i == j))).abs();
                size += magnitude;
            }
            most = most.max(off);
            sizes = sizes.max(size);
        }
        let off = OUTWARD * (most + (m as f64 + 2.0) * f64::UNIT_ROUNDOFF * sizes);
        (off < 0.25).then_some(off / (1.0 - off))
    }

    /// `X_B^{-1} r`, and what it may be off by: β, the product with the data, and the inverse.
    fn residual(&self, noise: &Noise, error: f64) -> (Vec<f64>, Vec<f64>) {
        let (rows, d, m) = (self.rows, self.rows.d(), self.basis.columns.len());
        let there: Vec<f64> = self.point.residual.iter().map(|r| r.high).collect();
        let found = super::basis::times(self.inverse, &there);
        let beta: Vec<f64> = self.point.beta.iter().map(|b| b.high.abs()).collect();
        let mut sizes = vec![0.0; rows.n()];
        rows.apply_abs(&beta, &mut sizes);
        let sum = (1.25 * d as f64 + 8.0) * U;
        let arithmetic: Vec<f64> = sizes
            .iter()
            .zip(&there)
            .map(|(size, r)| sum * 2.0 * (size + r.abs()) + f64::UNIT_ROUNDOFF * r.abs() + 8.0 * d as f64 * SMALLEST)
            .collect();
        let absolute: Vec<f64> = self.inverse.iter().map(|v| v.abs()).collect();
        let through = super::basis::times(&absolute, &arithmetic);
        let most = |v: &[f64]| v.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        let spread = error * (most(&found) + most(&through));
        let rounding = (m as f64 + 2.0) * f64::UNIT_ROUNDOFF;
        let magnitudes: Vec<f64> = there.iter().map(|r| r.abs()).collect();
        let products = super::basis::times(&absolute, &magnitudes);
        let mut of_beta = vec![0.0; m];
        self.basis.rows(d).apply_abs(&noise.beta, &mut of_beta);
        let blur = (0..m).map(|b| OUTWARD * (2.0 * of_beta[b] + 1.1 * through[b] + spread + rounding * products[b]));
        (found, blur.collect())
    }

    /// What the columns in the metric are off by: T is `V X` for an inverse V that is off by `error` of its rows, the rows of
    /// T by as much of the largest entries of their columns. Column i is measured in `e^-log(i)`, rows in the slopes of
    /// their own.
    fn column_errors(&self, error: f64, log: &dyn Fn(usize) -> f64) -> Vec<f64> {
        let (m, d) = (self.basis.columns.len(), self.rows.d());
        let relative = error + 4.0 * m as f64 * f64::UNIT_ROUNDOFF;
        let each = |i: usize| {
            let most = (0..m).map(|b| self.basis.table[b * d + i].abs()).fold(0.0, f64::max);
            let scale = |b: &usize| (log(i) - 0.5 * self.point.log_slope[*b]).exp();
            relative * most * norm(self.basis.columns.iter().map(scale))
        };
        let mut off: Vec<f64> = (0..d).map(each).collect();
        self.basis.columns.iter().for_each(|i| off[*i] = 0.0);
        off
    }

    /// Relative error of the factored kernel, which is at least the identity: what the table is off by, both ways, and what
    /// forming and factoring it rounds.
    fn factor_error(&self, kernel: &Kernel, error: f64) -> Option<f64> {
        let (m, d) = (self.basis.columns.len(), self.rows.d());
        let square: f64 = kernel.scaled.iter().map(|t| t * t).sum();
        let off = norm(self.column_errors(error, &|i| 0.5 * self.point.log_slope[i]).into_iter());
        let table = 2.0 * off * square.sqrt() + off * off;
        let arithmetic = (d as f64 + 3.0 * m as f64 + 10.0) * f64::UNIT_ROUNDOFF * (square + m as f64);
        let found = table + arithmetic;
        found.is_finite().then_some(found)
    }
}

/// `D_i/ω_i`, or `None` where `eτλ ≥ 1`.
fn movement(tau: &[f64], along: &[f64], lambda: f64, e: f64) -> Option<Vec<f64>> {
    let largest = tau.iter().copied().fold(0.0, f64::max);
    let reach = e * largest * lambda;
    if !(reach < 1.0) {
        return None;
    }
    let mut most = OUTWARD * (-(-reach).ln_1p() / e).exp_m1();
    loop {
        let length = lambda / phi(most, e);
        let each = |(tau, along): (&f64, &f64)| {
            let whole = tau * length;
            if most < 1.0 { f64::min(whole, along + tau * rho(most, e) * length) } else { whole }
        };
        let movement: Vec<f64> = tau.iter().zip(along).map(each).collect();
        let next = OUTWARD * movement.iter().copied().fold(0.0, f64::max);
        if !(next <= STOPS_MOVING * most && next < most) {
            return Some(movement);
        }
        most = next;
    }
}

/// `(1 − (1+M)^{−e})/(eM)`, rounded down.
fn phi(m: f64, e: f64) -> f64 {
    if m > 1e-8 { -(-e * m.ln_1p()).exp_m1() / (e * m) / OUTWARD } else { 1.0 - (e + 1.0) * m }
}

/// `((1−M)^{−e} − 1)/(eM) − 1`, rounded up.
fn rho(m: f64, e: f64) -> f64 {
    // Below 1e-3 the difference would cancel; (e+1)M/2 + … ≤ (e+1)M there.
    if m > 1e-3 { OUTWARD * ((-e * (-m).ln_1p()).exp_m1() / (e * m) - 1.0) } else { (e + 1.0) * m }
}
