//! A step of the flow corrected by Newton's method in binary64.
//!
//! The unknowns are the slopes `f_j` at the nodes, the equations `f_j = F(ν_n + h Σ_k A_jk f_k)`, `F(w) = (t̂ − Zβ)/N`. With the
//! Jacobian `−J`, `J = Z diag(T) Zᵀ/N = VᵀΛV` the same at all nodes, a step of Newton's method is `(1 + hλ_k A) δf_k = R_k` in
//! each mode k: K × K systems, whose inverses are formed once.
//!
//! T is S in the middle of the step, but nowhere more than twice its least there: then half of J, or more, lies below every
//! Jacobian on the step, and one decomposition serves to solve and to bound.

use super::defect::Place;
use super::panel::{Panel, combine};
use super::polynomial::{Polynomial, STAGES, Weights, inverse};
use crate::linalg::{SymmetricEigen, WeightedGram, norm};
use crate::real::{DoubleDouble, Real};

/// Newton's iterations at most; each gains a factor of two to a hundred.
const ITERATIONS: usize = 14;
/// An iteration that gains less than this factor is at round-off, or is not going to converge.
const GAINS: f64 = 0.7;
/// Slopes below this are 0: next to subnormal numbers they have no digits.
const NO_SLOPE: f64 = 1e-280;

/// Where the Jacobian is taken, its modes, and `(1 + hλA)⁻¹` for each.
pub(super) struct Linear {
    /// T.
    pub(super) slope: Vec<f64>,
    pub(super) eigen: SymmetricEigen,
    systems: Vec<[Weights; STAGES]>,
    /// A bound of the error of the eigenvalues, from forming and decomposing the matrix.
    pub(super) error: f64,
}

impl Linear {
    /// The Jacobian from S at the nodes. `None` if it is not finite.
    fn of(place: &Place<'_, '_>, h: f64, slopes: &[f64]) -> Option<Self> {
        let Place { table, frame, reference, .. } = *place;
        let (n, d) = (frame.z.n(), frame.z.d());
        let middle = STAGES / 2;
        let mut slope = slopes[middle * d..(middle + 1) * d].to_vec();
        let (mut beta, mut start) = (vec![0.0; d], vec![0.0; d]);
        reference.evaluate(&vec![0.0; d], &mut beta, &mut start);
        for s in slopes.chunks_exact(d).chain([start.as_slice()]) {
            slope.iter_mut().zip(s).for_each(|(least, s)| *least = least.min(2.0 * s));
        }
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
        let systems = eigen.values().iter().map(|value| system(table, h * value.max(0.0))).collect::<Option<_>>()?;
        Some(Self { slope, eigen, systems, error })
    }

    /// `(1 + hJA)⁻¹` of a residual at the nodes (K × n), in place.
    pub(super) fn solve(&self, residual: &mut [f64]) {
        let (vectors, n) = (self.eigen.vectors(), self.systems.len());
        let mut modes = vec![0.0; residual.len()];
        vectors.apply_many(residual, &mut modes);
        for (k, system) in self.systems.iter().enumerate() {
            let known: Weights = core::array::from_fn(|j| modes[j * n + k]);
            for (j, row) in system.iter().enumerate() {
                modes[j * n + k] = row.iter().zip(&known).map(|(a, r)| a * r).sum();
            }
        }
        vectors.apply_transposed_many(&modes, residual);
    }
}

/// Newton's method until exponents move by no more than `settled`, or until it is at round-off: the defect tells how well that
/// went. `None` if numbers overflow.
pub(super) fn correct(panel: &mut Panel, place: &Place<'_, '_>, settled: f64) -> Option<Linear> {
    let Place { table, frame, .. } = *place;
    let n = frame.z.n();
    let (mut slopes, mut moved) = (panel.rounded(), vec![0.0; STAGES * n]);
    let nodes = Nodes::of(&slopes, panel.h, place);
    let linear = Linear::of(place, panel.h, &nodes.slope)?;
    let (mut residual, mut last) = (nodes.flow, f64::INFINITY);
    for iteration in 0..ITERATIONS {
        if iteration > 0 {
            residual = Nodes::of(&slopes, panel.h, place).flow;
        }
        residual.iter_mut().zip(&slopes).for_each(|(r, f)| *r -= f);
        linear.solve(&mut residual);
        combine(&table.integrals, &residual, panel.h, &mut moved);
        let most = moved.chunks_exact(n).fold(0.0, |most: f64, v| most.max(norm(v.iter().copied())));
        let size = 2.0 * frame.longest * most;
        if !size.is_finite() {
            return None;
        }
        if size >= GAINS * last {
            break;
        }
        slopes.iter_mut().zip(&residual).for_each(|(f, step)| *f += step);
        if size <= settled {
            break;
        }
        last = size;
    }
    panel.slopes = slopes.into_iter().map(DoubleDouble::from_f64).collect();
    Some(linear)
}

/// The flow at the nodes.
struct Nodes {
    slope: Vec<f64>,
    flow: Vec<f64>,
}

impl Nodes {
    fn of(slopes: &[f64], h: f64, place: &Place<'_, '_>) -> Self {
        let Place { table, frame, reference, .. } = *place;
        let (z, n, d) = (frame.z, frame.z.n(), frame.z.d());
        let mut states = vec![0.0; STAGES * n];
        combine(&table.integrals, slopes, 2.0 * h, &mut states);
        let mut shift = vec![0.0; STAGES * d];
        z.apply_transposed_many(&states, &mut shift);
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
