//! The defect of a polynomial on a step, sampled in binary64, and what follows from samples.
//!
//! What it is off by from rounding is part of the bound. Where that is what limits it, `exact_defect` samples again.

use super::super::reference::Reference;
use super::frame::{Frame, Reach, Rounding};
use super::growth::Load;
use super::newton::Linear;
use super::panel::{Panel, combine, terms};
use super::polynomial::{ExactWeights, POINTS, Polynomial, STAGES, Weights};
use crate::linalg::norm;
use crate::real::{DoubleDouble, Real};
use core::cmp::Ordering;

/// Where a step begins.
pub(super) struct Place<'r, 'p> {
    pub(super) table: &'r Polynomial,
    pub(super) frame: &'r Frame<'p>,
    pub(super) reference: &'r Reference,
    pub(super) time: f64,
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
    /// With all that is known of it.
    pub(super) fn load(&self) -> Load<'_> {
        self.beside_rounding(&self.squares)
    }

    /// With other squares: with none there is what rounding alone explains.
    pub(super) fn beside_rounding<'a>(&'a self, squares: &'a [f64]) -> Load<'a> {
        Load { h: self.h, modes: &self.modes, squares, noise: self.noise }
    }

    /// Number of modes.
    pub(super) fn modes(&self) -> usize {
        self.modes.len()
    }
}

/// The polynomial and the flow at the samples.
pub(super) struct Samples {
    /// `q − F(p)`, a sample after another.
    pub(super) defects: Vec<f64>,
    /// A bound of what rounding has done to each.
    pub(super) noise: Vec<f64>,
    /// The largest of the samples' reaches.
    pub(super) reach: Reach,
    /// Least and largest `z = 2ZᵀΔw` of the coordinates.
    pub(super) range: Range,
}

/// Least and largest shift of every coordinate over a step.
#[derive(Clone)]
pub(super) struct Range {
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Range {
    /// At the extrema of a Chebyshev polynomial.
    fn of(table: &Polynomial, rates: &[f64], factor: f64) -> Self {
        let d = rates.len() / STAGES;
        let mut found = Self { low: vec![0.0; d], high: vec![0.0; d] };
        let mut shift = vec![0.0; d];
        for weights in &table.range_at {
            combine(core::slice::from_ref(weights), rates, factor, &mut shift);
            found.low.iter_mut().zip(&shift).for_each(|(low, z)| *low = low.min(*z));
            found.high.iter_mut().zip(&shift).for_each(|(high, z)| *high = high.max(*z));
        }
        found
    }
}

impl Samples {
    /// In binary64.
    pub(super) fn of(panel: &Panel, place: &Place<'_, '_>) -> Self {
        let Place { table, frame, reference, time } = *place;
        let (z, n, d) = (frame.z, frame.z.n(), frame.z.d());
        let slopes = panel.rounded();
        let mut rates = vec![0.0; STAGES * d];
        z.apply_transposed_many(&slopes, &mut rates);
        let range = Range::of(table, &rates, 2.0 * panel.h);
        let mut shift = vec![0.0; POINTS * d];
        combine(&near(&table.value_at), &rates, 2.0 * panel.h, &mut shift);
        let (mut beta, mut slope) = (vec![0.0; POINTS * d], vec![0.0; POINTS * d]);
        reference.evaluate(&shift, &mut beta, &mut slope);
        let (mut fitted, mut defects) = (vec![0.0; POINTS * n], vec![0.0; POINTS * n]);
        z.apply_many(&beta, &mut fitted);
        combine(&near(&table.slope_at), &slopes, 1.0, &mut defects);
        for (defects, fitted) in defects.chunks_exact_mut(n).zip(fitted.chunks_exact(n)) {
            let each = defects.iter_mut().zip(fitted).zip(frame.targets);
            each.for_each(|((defect, fitted), y)| *defect -= (y - fitted) / frame.samples);
        }
        let known = norm(reference.nu().iter().map(|nu| nu.to_f64()));
        let (lengths, rounding) = (panel.lengths(), Rounding::sixteen(d));
        let (mut noise, mut reach) = (Vec::with_capacity(POINTS), Reach::default());
        for m in 0..POINTS {
            let moved = panel.h * terms(&table.value_at[m], &lengths);
            let here = frame.reach(time + table.points[m] * panel.h, known, moved, (STAGES + 5) as f64);
            let of_slope = (STAGES + 5) as f64 * f64::UNIT_ROUNDOFF * terms(&table.slope_at[m], &lengths);
            let at = m * d..(m + 1) * d;
            noise.push(of_slope + frame.noise((&beta[at.clone()], &slope[at]), (here, &[]), rounding));
            reach = reach.or(here);
        }
        Self { defects, noise, reach, range }
    }

    /// `None` if anything is not finite.
    pub(super) fn defect(&self, place: &Place<'_, '_>, linear: &Linear, h: f64, error: f64) -> Option<Defect> {
        let n = place.frame.z.n();
        let mut modes = vec![0.0; self.defects.len()];
        linear.eigen.vectors().apply_many(&self.defects, &mut modes);
        let mut squares = vec![0.0; n];
        let (mut noise, mut noise_squared) = (0.0, 0.0);
        for ((modes, weight), size) in modes.chunks_exact(n).zip(&place.table.quadrature).zip(&self.noise) {
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
        let share = self.share(place, &linear.slope, widest);
        let below = |value: &f64| (share * (value - linear.error)).max(0.0);
        let modes = linear.eigen.values().iter().map(below).collect();
        Some(Defect { modes, squares, noise: (noise, noise_squared), h })
    }

    /// The largest c with `S ≥ c T` everywhere between the polynomial and the flow.
    fn share(&self, place: &Place<'_, '_>, slope: &[f64], widest: f64) -> f64 {
        let (overshoot, Range { low, high }) = (Polynomial::overshoot(), &self.range);
        least_share(place.reference, slope, |i| {
            let margin = overshoot * (high[i] - low[i]) + 2.0 * place.frame.moved(i, self.reach, widest);
            (low[i] - margin, high[i] + margin)
        })
    }
}

/// Weights in binary64.
pub(super) fn near(weights: &[ExactWeights; POINTS]) -> [Weights; POINTS] {
    weights.map(|row| row.map(DoubleDouble::to_f64))
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
