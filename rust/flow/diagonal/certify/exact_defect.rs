//! The defect sampled in double-double, and taken away as far as a polynomial can.
//!
//! Exponents, β, sums over the data and differences are double-double once, at all samples. What is left of the defect is then
//! projected onto the slopes (degree K − 1) and removed by steps of Newton's method, and what a step does to the defect is again a
//! difference: `β(z + δ) − β(z) = P(e^δ − 1) − M(e^{−δ} − 1)`, in binary64, with errors relative to the step. The defect so comes
//! down to what the degree does not resolve, and to roundings of the slopes, which are double-double.

use super::super::exact;
use super::defect::{Place, Samples, near};
use super::frame::{Reach, Rounding};
use super::newton::Linear;
use super::panel::{Panel, combine, terms};
use super::polynomial::{ExactWeights, POINTS, STAGES, Weights};
use crate::linalg::norm;
use crate::real::{DoubleDouble, Real, vector};

/// Corrections at most; each gains what an iteration of Newton's method gains.
const CORRECTIONS: usize = 4;
/// A correction that leaves more than this part of the squares is the last.
const GAINS: f64 = 0.5;
/// Exponents may move by this much in a correction: beyond, Newton's method has not converged, and none is made.
const SMALL: f64 = 1e-3;

/// The polynomial and the flow at the samples, and what differences need.
struct Known {
    samples: Samples,
    /// P and M.
    rising: Vec<f64>,
    falling: Vec<f64>,
}

/// Sample in double-double and correct until the defect comes to no more than `enough`, all of its integral taken; `coarse` are
/// the samples in binary64, whose range serves.
pub(super) fn corrected(
    panel: &mut Panel,
    place: &Place<'_, '_>,
    (linear, coarse): (&Linear, &Samples),
    enough: f64,
) -> Samples {
    let mut known = Known::of(panel, place, coarse);
    let total = |known: &Known| known.samples.defects.iter().map(|d| d * d).sum::<f64>();
    for _ in 0..CORRECTIONS {
        let before = total(&known);
        if panel.h * (before / POINTS as f64).sqrt() <= enough {
            break;
        }
        if !known.correct(panel, place, linear) || !(total(&known) < GAINS * before) {
            break;
        }
    }
    known.samples
}

impl Known {
    fn of(panel: &Panel, place: &Place<'_, '_>, coarse: &Samples) -> Self {
        let Place { table, frame, reference, time } = *place;
        let (z, n, d) = (frame.z, frame.z.n(), frame.z.d());
        let zero = DoubleDouble::ZERO;
        let (mut states, mut shift) = (vec![zero; POINTS * n], vec![zero; POINTS * d]);
        for (state, weights) in states.chunks_exact_mut(n).zip(&table.value_at) {
            panel.at(weights, state);
        }
        exact::shifts(z, &states, &mut shift);
        let (mut beta, mut slope) = (vec![zero; POINTS * d], vec![0.0; POINTS * d]);
        exact::evaluate(reference, &shift, &mut beta, &mut slope);
        let mut fitted = states;
        exact::each(z, (&beta, d), (&mut fitted, n), |v, out| z.apply(v, out));
        let mut q = vec![zero; n];
        let mut defects = Vec::with_capacity(POINTS * n);
        let samples = DoubleDouble::from_f64(frame.samples);
        for (fitted, weights) in fitted.chunks_exact(n).zip(&table.slope_at) {
            panel.slope(weights, &mut q);
            let each = q.iter().zip(fitted).zip(frame.targets);
            defects
                .extend(each.map(|((q, fitted), y)| (*q - (DoubleDouble::from_f64(*y) - *fitted) / samples).to_f64()));
        }
        let beta: Vec<f64> = beta.iter().map(|beta| beta.high).collect();
        let length = norm(reference.nu().iter().map(|nu| nu.to_f64()));
        let (lengths, rounding) = (panel.lengths(), frame.thirty());
        let path = frame.path(&panel.magnitudes(&widest(&table.value_at), reference.nu()));
        let (mut noise, mut reach) = (Vec::with_capacity(POINTS), Reach::default());
        for m in 0..POINTS {
            let moved = panel.h * terms(&table.value_at[m], &lengths);
            let here = frame.exact_reach(time + table.points[m] * panel.h, length, moved);
            let of_slope = Rounding::DOUBLE_DOUBLE * (STAGES + 8) as f64 * terms(&table.slope_at[m], &lengths);
            let at = m * d..(m + 1) * d;
            noise.push(of_slope + frame.noise((&beta[at.clone()], &slope[at]), (here, &path), rounding));
            reach = reach.or(here);
        }
        // The range is that of the samples in binary64.
        let reach = reach.or(coarse.reach);
        // β = P − M, S = 2(P + M).
        let parts = |sign: f64| slope.iter().zip(&beta).map(|(s, b)| 0.25 * s + sign * 0.5 * b).collect();
        let (rising, falling) = (parts(1.0), parts(-1.0));
        Self { samples: Samples { defects, noise, reach, range: coarse.range.clone() }, rising, falling }
    }

    /// One step. False if there was none.
    fn correct(&mut self, panel: &mut Panel, place: &Place<'_, '_>, linear: &Linear) -> bool {
        let Place { table, frame, .. } = *place;
        let (z, n, d) = (frame.z, frame.z.n(), frame.z.d());
        let mut step = vec![0.0; STAGES * n];
        combine(&table.projection, &self.samples.defects, -1.0, &mut step);
        linear.solve(&mut step);
        let lengths: Weights = core::array::from_fn(|j| norm(step[j * n..(j + 1) * n].iter().copied()));
        let at = |weights: &Weights| weights.iter().zip(&lengths).map(|(w, length)| w.abs() * length).sum::<f64>();
        let longest = table.range_at.iter().fold(0.0, |most: f64, weights| most.max(at(weights)));
        // Between the extrema, too: twice the overshoot, of a polynomial in any direction, is below a half.
        let moved = 1.5 * panel.h * longest;
        if !(2.0 * frame.longest * moved <= SMALL) {
            return false;
        }
        panel.slopes.iter_mut().zip(&step).for_each(|(f, step)| *f = f.add_f64(*step));
        let mut rates = vec![0.0; STAGES * d];
        z.apply_transposed_many(&step, &mut rates);
        let mut change = vec![0.0; POINTS * d];
        combine(&near(&table.value_at), &rates, 2.0 * panel.h, &mut change);
        let sizes = self.move_by(&mut change, place, |m| panel.h * terms(&table.value_at[m], &lengths));
        let mut added = vec![0.0; POINTS * n];
        z.apply_many(&change, &mut added);
        let mut slopes = vec![0.0; POINTS * n];
        combine(&near(&table.slope_at), &step, 1.0, &mut slopes);
        let each = self.samples.defects.iter_mut().zip(&slopes).zip(&added);
        each.for_each(|((defect, slope), fitted)| *defect += slope + fitted / frame.samples);
        for (m, (noise, size)) in self.samples.noise.iter_mut().zip(sizes).enumerate() {
            let of_slope = (STAGES + 5) as f64 * f64::UNIT_ROUNDOFF * terms(&table.slope_at[m], &lengths);
            *noise += of_slope + size / frame.samples;
        }
        for (noise, defects) in self.samples.noise.iter_mut().zip(self.samples.defects.chunks_exact(n)) {
            *noise += 2.0 * f64::UNIT_ROUNDOFF * norm(defects.iter().copied());
        }
        self.samples.reach.near += moved;
        true
    }

    /// From changes of z to those of β, in place; for each sample a bound of the rounding error of `ZΔβ`. `length(m)` bounds
    /// half of what `Δz` is made of, term by term.
    fn move_by(&mut self, change: &mut [f64], place: &Place<'_, '_>, length: impl Fn(usize) -> f64) -> Vec<f64> {
        let frame = place.frame;
        let (n, d, u) = (frame.z.n(), frame.z.d(), f64::UNIT_ROUNDOFF);
        let (mut up, mut down) = (vec![0.0; change.len()], vec![0.0; change.len()]);
        vector::exp_m1(change, &mut up);
        for z in change.iter_mut() {
            *z = -*z;
        }
        vector::exp_m1(change, &mut down);
        let of_shift = (n + STAGES + 8) as f64 * u;
        let of_product = (d + 16) as f64 * u;
        let mut sizes = Vec::with_capacity(POINTS);
        for m in 0..POINTS {
            let (at, length) = (m * d..(m + 1) * d, length(m));
            let parts = self.rising[at.clone()].iter_mut().zip(&mut self.falling[at.clone()]);
            let steps = change[at.clone()].iter_mut().zip(up[at.clone()].iter().zip(&down[at]));
            let mut size = 0.0;
            for (((rising, falling), (change, (up, down))), column) in parts.zip(steps).zip(&frame.columns) {
                let (more, less) = (*rising * up, *falling * down);
                // dβ = (P + M) dz; |Δz| ≤ 2 ‖z_i‖ length, and so is its rounding; P and M are off by an ulp of S.
                let slope = *rising + *falling;
                let (error, moved) = (4.0 * of_shift * column * length, more.abs() + less.abs());
                size += column * (slope * error + of_product * (moved + slope * change.abs()));
                (*rising, *falling) = (*rising + more, *falling + less);
                *change = more - less;
            }
            sizes.push(size);
        }
        sizes
    }
}

/// The largest weight of every stage at any of the points.
fn widest(weights: &[ExactWeights; POINTS]) -> ExactWeights {
    let largest = |k: usize| weights.iter().fold(0.0, |most: f64, row| most.max(row[k].high.abs()));
    core::array::from_fn(|k| DoubleDouble::from_f64(largest(k)))
}
