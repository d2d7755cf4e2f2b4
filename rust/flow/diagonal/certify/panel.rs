//! One step of the flow as a polynomial: corrected by Newton's method, and its defect measured.
//!
//! The unknowns are the slopes `f_j` at the nodes, the equations `f_j = F(ν_n + h Σ_k A_jk f_k)`, `F(w) = (t̂ − Zβ)/N`. With the
//! Jacobian `−J`, `J = Z diag(T) Zᵀ/N = VᵀΛV` the same at all nodes, a step of Newton's method is `(1 + hλ_k A) δf_k = R_k` in
//! each mode k: K × K systems, whose inverses are formed once.
//!
//! T is S in the middle of the step, but nowhere more than twice its least there: then half of J, or more, lies below every
//! Jacobian on the step, and one decomposition serves to solve and to bound.

use super::super::reference::Reference;
use super::frame::{Frame, Reach};
use super::growth::Load;
use super::polynomial::{ExactWeights, Polynomial, SAMPLES, STAGES, Weights, inverse};
use crate::linalg::{SymmetricEigen, WeightedGram, norm};
use crate::real::{DoubleDouble, Real};
use core::cmp::Ordering;

/// Newton's iterations at most; each gains a factor of two to ten.
const ITERATIONS: usize = 14;
/// Changes of an exponent below this are no changes.
const SETTLED: f64 = 1e-16;
/// An iteration that gains less than this factor is at round-off, or is not going to converge.
const GAINS: f64 = 0.7;
/// Slopes below this are 0: next to subnormal numbers they have no digits.
const NO_SLOPE: f64 = 1e-280;

/// The slopes of a polynomial of length `h` from the reference, at the nodes one after another (K × n).
#[derive(Clone, Debug)]
pub(super) struct Panel {
    pub(super) h: f64,
    pub(super) slopes: Vec<f64>,
}

/// Where the Jacobian is taken, its modes, and `(1 + hλA)⁻¹` for each.
struct Linear {
    slope: Vec<f64>,
    eigen: SymmetricEigen,
    systems: Vec<[Weights; STAGES]>,
    /// A bound of the error of the eigenvalues, from forming and decomposing the matrix.
    error: f64,
}

/// What is known of the defect on a panel.
#[derive(Clone, Debug)]
pub(super) struct Defect {
    /// `b_k`, ascending, of a matrix below every Jacobian between the polynomial and the flow.
    modes: Vec<f64>,
    squares: Vec<f64>,
    noise: (f64, f64),
    h: f64,
}

impl Defect {
    /// With what rounding alone explains (`false`), or with all of it.
    pub(super) fn load<'a>(&'a self, nothing: &'a [f64], all: bool) -> Load<'a> {
        let squares = if all { &self.squares } else { nothing };
        Load { h: self.h, modes: &self.modes, squares, noise: self.noise }
    }

    /// Number of modes.
    pub(super) fn modes(&self) -> usize {
        self.modes.len()
    }
}

impl Panel {
    /// From increments `Δw` at the nodes.
    pub(super) fn through(table: &Polynomial, h: f64, increments: &[f64], n: usize) -> Self {
        let mut slopes = vec![0.0; STAGES * n];
        combine(&table.inverse, increments, 1.0 / h, &mut slopes);
        Self { h, slopes }
    }

    /// `Δw` for these weights of the slopes.
    pub(super) fn at(&self, weights: &Weights, out: &mut [f64]) {
        combine(core::slice::from_ref(weights), &self.slopes, self.h, out);
    }

    /// `‖f_j‖`.
    fn lengths(&self, n: usize) -> [f64; STAGES] {
        core::array::from_fn(|j| norm(self.slopes[j * n..(j + 1) * n].iter().copied()))
    }

    /// `Zᵀf_j`, a node after another.
    fn rates(&self, frame: &Frame<'_>) -> Vec<DoubleDouble> {
        let (n, d) = (frame.z.n(), frame.z.d());
        let mut rates = vec![DoubleDouble::ZERO; STAGES * d];
        for (f, rates) in self.slopes.chunks_exact(n).zip(rates.chunks_exact_mut(d)) {
            let exact: Vec<DoubleDouble> = f.iter().map(|f| DoubleDouble::from_f64(*f)).collect();
            frame.z.apply_transposed(&exact, rates);
        }
        rates
    }

    /// A bound of `‖Δw‖`, term by term.
    pub(super) fn terms(&self, weights: &Weights, n: usize) -> f64 {
        self.h * self.lengths(n).iter().zip(weights).map(|(f, w)| f * w.abs()).sum::<f64>()
    }

    /// Correct the polynomial, and measure its defect against the flow from `reference` at time `t`, from which the true one
    /// differs by `error` at most. `None` if numbers overflow.
    pub(super) fn corrected(
        &mut self,
        table: &Polynomial,
        frame: &Frame<'_>,
        reference: &Reference,
        t: f64,
        error: f64,
    ) -> Option<Defect> {
        let linear = self.linear(table, frame, reference)?;
        self.correct(table, frame, reference, &linear)?;
        let samples = Samples::of(self, table, frame, reference, t);
        samples.defect(frame, reference, &linear, self.h, error)
    }

    /// The Jacobian, from S at the nodes.
    fn linear(&self, table: &Polynomial, frame: &Frame<'_>, reference: &Reference) -> Option<Linear> {
        let (n, d) = (frame.z.n(), frame.z.d());
        let states = Nodes::of(self, table, frame, reference);
        let middle = STAGES / 2;
        let mut slope = states.slope[middle * d..(middle + 1) * d].to_vec();
        for s in states.slope.chunks_exact(d) {
            slope.iter_mut().zip(s).for_each(|(least, s)| *least = least.min(2.0 * s));
        }
        let (mut beta, mut start) = (vec![0.0; d], vec![0.0; d]);
        reference.evaluate(&vec![0.0; d], &mut beta, &mut start);
        slope.iter_mut().zip(&start).for_each(|(least, s)| *least = least.min(2.0 * s));
        for s in slope.iter_mut().filter(|s| **s < NO_SLOPE) {
            *s = 0.0;
        }
        let mut jacobian = WeightedGram::of(frame.z, &slope);
        for entry in jacobian.data_mut() {
            *entry /= frame.samples;
        }
        let eigen = SymmetricEigen::of(&jacobian)?;
        // Forming: k u of the matrix of absolute values, whose norm is below the trace. Decomposing: c n u of the norm.
        let roundings = (WeightedGram::roundings(d) + 10 * n + 4) as f64;
        let error = roundings * f64::UNIT_ROUNDOFF * jacobian.trace();
        let systems =
            eigen.values().iter().map(|value| system(table, self.h * value.max(0.0))).collect::<Option<_>>()?;
        Some(Linear { slope, eigen, systems, error })
    }

    /// Newton's method until it is at round-off; the defect tells how well that went.
    fn correct(&mut self, table: &Polynomial, frame: &Frame<'_>, reference: &Reference, linear: &Linear) -> Option<()> {
        let (n, vectors) = (frame.z.n(), linear.eigen.vectors());
        let (mut modes, mut moved) = (vec![0.0; STAGES * n], vec![0.0; STAGES * n]);
        let mut last = f64::INFINITY;
        for _ in 0..ITERATIONS {
            let mut residual = Nodes::of(self, table, frame, reference).flow;
            residual.iter_mut().zip(&self.slopes).for_each(|(r, f)| *r -= f);
            vectors.apply_many(&residual, &mut modes);
            solve(&linear.systems, &mut modes, n);
            vectors.apply_transposed_many(&modes, &mut residual);
            combine(&table.integrals, &residual, self.h, &mut moved);
            let size = 2.0 * frame.longest * moved.chunks_exact(n).fold(0.0, |most: f64, v| most.max(length(v)));
            if !size.is_finite() {
                return None;
            }
            if size >= GAINS * last {
                break;
            }
            self.slopes.iter_mut().zip(&residual).for_each(|(f, step)| *f += step);
            if size <= SETTLED {
                break;
            }
            last = size;
        }
        Some(())
    }
}

/// The flow at the nodes.
struct Nodes {
    slope: Vec<f64>,
    flow: Vec<f64>,
}

impl Nodes {
    fn of(panel: &Panel, table: &Polynomial, frame: &Frame<'_>, reference: &Reference) -> Self {
        let (z, n, d) = (frame.z, frame.z.n(), frame.z.d());
        let mut states = vec![0.0; STAGES * n];
        combine(&table.integrals, &panel.slopes, panel.h, &mut states);
        let mut shift = vec![0.0; STAGES * d];
        z.apply_transposed_many(&states, &mut shift);
        for z in &mut shift {
            *z *= 2.0;
        }
        let (mut beta, mut slope) = (vec![0.0; STAGES * d], vec![0.0; STAGES * d]);
        reference.evaluate(&shift, &mut beta, &mut slope);
        let mut flow = vec![0.0; STAGES * n];
        z.apply_many(&beta, &mut flow);
        for flow in flow.chunks_exact_mut(n) {
            flow.iter_mut().zip(frame.targets).for_each(|(f, y)| *f = (y - *f) / frame.samples);
        }
        Self { slope, flow }
    }
}

/// β and S at one sample.
struct State {
    shift: Vec<f64>,
    beta: Vec<f64>,
    slope: Vec<f64>,
    /// β with what the low part of z adds.
    exact: Vec<DoubleDouble>,
    low: Vec<f64>,
}

impl State {
    fn new(d: usize) -> Self {
        let zeros = vec![0.0; d];
        Self {
            shift: zeros.clone(),
            beta: zeros.clone(),
            slope: zeros.clone(),
            exact: vec![DoubleDouble::ZERO; d],
            low: zeros,
        }
    }

    /// At `z = factor Σ_k w_k g_k`.
    fn find(&mut self, weights: &ExactWeights, rates: &[DoubleDouble], factor: f64, reference: &Reference) {
        let d = self.shift.len();
        for (i, (shift, low)) in self.shift.iter_mut().zip(&mut self.low).enumerate() {
            let rates = rates[i..].iter().step_by(d);
            let z = weights.iter().zip(rates).fold(DoubleDouble::ZERO, |sum, (w, g)| sum + *w * *g).mul_f64(factor);
            (*shift, *low) = (z.to_f64(), z.low());
        }
        reference.evaluate(&self.shift, &mut self.beta, &mut self.slope);
        // dβ/dz = S/2, and the low part is at most an ulp of z: its square is nothing.
        for (i, exact) in self.exact.iter_mut().enumerate() {
            *exact = DoubleDouble::from_parts(self.beta[i], 0.5 * self.slope[i] * self.low[i]);
        }
    }
}

/// The polynomial and the flow at the samples.
struct Samples {
    /// `q − F(p)`, a sample after another.
    defects: Vec<f64>,
    /// A bound of what rounding has done to each.
    noise: Vec<f64>,
    /// Least and largest `z = 2ZᵀΔw` of the coordinates over the samples.
    low: Vec<f64>,
    high: Vec<f64>,
    /// The largest of the samples' reaches.
    reach: Reach,
    quadrature: [f64; SAMPLES],
}

impl Samples {
    /// The exponents, the sums over the data and the differences are double-double: in binary64 their rounding would be what
    /// limits the bound, by a factor of 100 where z moves far. β and S are binary64 functions of z, to a few ulps.
    fn of(panel: &Panel, table: &Polynomial, frame: &Frame<'_>, reference: &Reference, t: f64) -> Self {
        let (z, n, d) = (frame.z, frame.z.n(), frame.z.d());
        let rates = panel.rates(frame);
        let mut state = State::new(d);
        let mut residual = vec![DoubleDouble::ZERO; n];
        let known = norm(reference.nu().iter().map(|nu| nu.to_f64()));
        let lengths = panel.lengths(n);
        let mut found = Self {
            defects: vec![0.0; SAMPLES * n],
            noise: Vec::with_capacity(SAMPLES),
            low: vec![0.0; d],
            high: vec![0.0; d],
            reach: Reach::default(),
            quadrature: table.quadrature,
        };
        let terms =
            |weights: &ExactWeights| -> f64 { weights.iter().zip(&lengths).map(|(w, f)| w.to_f64().abs() * f).sum() };
        for (m, defect) in found.defects.chunks_exact_mut(n).enumerate() {
            state.find(&table.value_at[m], &rates, 2.0 * panel.h, reference);
            z.apply(&state.exact, &mut residual);
            for (r, y) in residual.iter_mut().zip(frame.targets) {
                *r = DoubleDouble::from_f64(*y) - *r;
            }
            let samples = DoubleDouble::from_f64(frame.samples);
            for (i, (defect, r)) in defect.iter_mut().zip(&residual).enumerate() {
                let slopes = panel.slopes[i..].iter().step_by(n);
                let q = table.slope_at[m].iter().zip(slopes).fold(DoubleDouble::ZERO, |q, (w, f)| q + w.mul_f64(*f));
                *defect = (q - *r / samples).to_f64();
            }
            found.low.iter_mut().zip(&state.shift).for_each(|(low, z)| *low = low.min(*z));
            found.high.iter_mut().zip(&state.shift).for_each(|(high, z)| *high = high.max(*z));
            let time = t + table.samples[m] * panel.h;
            let reach = frame.exact_reach(time, known, panel.h * terms(&table.value_at[m]));
            // The length of the step is rounded, and with it the slope in true time.
            let of_time = 4.0 * f64::UNIT_ROUNDOFF * terms(&table.slope_at[m]);
            found.noise.push(of_time + frame.noise(&state.beta, &state.slope, reach));
            found.reach.near = found.reach.near.max(reach.near);
            found.reach.time = found.reach.time.max(reach.time);
        }
        found
    }

    /// `None` if anything is not finite.
    fn defect(&self, frame: &Frame<'_>, reference: &Reference, linear: &Linear, h: f64, error: f64) -> Option<Defect> {
        let n = frame.z.n();
        let mut modes = vec![0.0; self.defects.len()];
        linear.eigen.vectors().apply_many(&self.defects, &mut modes);
        let mut squares = vec![0.0; n];
        let (mut noise, mut noise_squared) = (0.0, 0.0);
        for ((modes, weight), size) in modes.chunks_exact(n).zip(&self.quadrature).zip(&self.noise) {
            let weight = h * weight;
            squares.iter_mut().zip(modes).for_each(|(sum, c)| *sum += weight * c * c);
            noise += weight * size;
            noise_squared += weight * size * size;
        }
        let total = squares.iter().sum::<f64>();
        if !(total.is_finite() && noise_squared.is_finite()) {
            return None;
        }
        // Whatever B is, e stays below this on the step (1 of `growth` with μ = 0).
        let widest = error + 1.25 * (h * total).sqrt() + noise;
        let share = self.share(frame, reference, &linear.slope, widest);
        let below = |value: &f64| (share * (value - linear.error)).max(0.0);
        let modes = linear.eigen.values().iter().map(below).collect();
        Some(Defect { modes, squares, noise: (noise, noise_squared), h })
    }

    /// The largest c with `S ≥ c T` everywhere between the polynomial and the flow.
    fn share(&self, frame: &Frame<'_>, reference: &Reference, slope: &[f64], widest: f64) -> f64 {
        let overshoot = Polynomial::overshoot();
        least_share(reference, slope, |i| {
            let margin = overshoot * (self.high[i] - self.low[i]) + 2.0 * frame.moved(i, self.reach, widest);
            (self.low[i] - margin, self.high[i] + margin)
        })
    }
}

/// The largest c with `S ≥ c T` for all z within `range(i)`, rounded down: S is convex in z, least where it has its minimum
/// or at the end of the range that is nearer to it.
pub(super) fn least_share(reference: &Reference, slope: &[f64], range: impl Fn(usize) -> (f64, f64)) -> f64 {
    let d = slope.len();
    let nearest = |i: usize| {
        let ((low, high), (plus, minus)) = (range(i), reference.exponents(i, 0.0));
        // Not `clamp`, which panics on a NaN.
        (0.5 * (minus - plus)).max(low).min(high)
    };
    let at: Vec<f64> = (0..d).map(nearest).collect();
    let (mut beta, mut least) = (vec![0.0; d], vec![0.0; d]);
    reference.evaluate(&at, &mut beta, &mut least);
    let ratios = least.iter().zip(slope).filter(|(_, slope)| **slope > 0.0).map(|(least, slope)| least / slope);
    let smaller = |share: f64, ratio: f64| match ratio.partial_cmp(&share) {
        Some(Ordering::Less) => ratio,
        Some(_) => share,
        // Of a range without ends nothing is known.
        None => 0.0,
    };
    ratios.fold(1.0, smaller) * (1.0 - 1e-9)
}

/// `(1 + hλA)⁻¹`.
fn system(table: &Polynomial, h_lambda: f64) -> Option<[Weights; STAGES]> {
    let unit = |i: usize, j: usize| f64::from(u8::from(i == j));
    // By the larger of the two, so that nothing overflows.
    let scale = h_lambda.max(1.0);
    let matrix = core::array::from_fn(|i| {
        core::array::from_fn(|j| unit(i, j) / scale + (h_lambda / scale) * table.integrals[i][j])
    });
    let inverse = inverse(&matrix)?;
    Some(inverse.map(|row| row.map(|entry| entry / scale)))
}

/// Apply the system of each mode to its K entries.
fn solve(systems: &[[Weights; STAGES]], modes: &mut [f64], n: usize) {
    for (k, system) in systems.iter().enumerate() {
        let known: Weights = core::array::from_fn(|j| modes[j * n + k]);
        for (j, row) in system.iter().enumerate() {
            modes[j * n + k] = row.iter().zip(&known).map(|(a, r)| a * r).sum();
        }
    }
}

/// `out_m = factor Σ_k w_mk v_k`, rows of weights over K vectors.
fn combine(weights: &[Weights], vectors: &[f64], factor: f64, out: &mut [f64]) {
    let n = vectors.len() / STAGES;
    for (weights, out) in weights.iter().zip(out.chunks_exact_mut(n)) {
        out.fill(0.0);
        for (w, v) in weights.iter().zip(vectors.chunks_exact(n)) {
            out.iter_mut().zip(v).for_each(|(out, v)| *out += w * v);
        }
        for out in out.iter_mut() {
            *out *= factor;
        }
    }
}

fn length(v: &[f64]) -> f64 {
    norm(v.iter().copied())
}
