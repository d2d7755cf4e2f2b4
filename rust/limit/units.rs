//! The problem in units of size one: rows of the data and targets are scaled by powers of two, exactly.
//!
//! `β` is then measured in `2^unit`, and `ln κ` shifts by `unit · ln 2`. Nothing is rounded: a limit computed in these
//! units is the limit in the user's, digit for digit, for data of 1e±100 as for data of size one.

use std::borrow::Cow;

use crate::linalg::Rows;
use crate::real::{DoubleDouble, Real};

/// Rows whose largest entry lies within `2^±MODERATE` need no scaling: the kernels scale themselves to unit diagonal.
const MODERATE: i32 = 20;

/// Data and targets after scaling.
#[derive(Debug)]
pub(super) struct Units<'a> {
    x: Cow<'a, [f64]>,
    n: usize,
    d: usize,
    /// Scaled targets, largest between 1 and 2 (all 0 if the targets are).
    pub y: Vec<f64>,
    /// Targets so far below the others that they underflow in these units, and their samples.
    lost: Vec<(usize, f64)>,
    /// Row `n` of the data was multiplied by `2^-row_exponent[n]`.
    row_exponent: Vec<i32>,
    /// Largest magnitude of each scaled row.
    row_peaks: Vec<f64>,
    /// `β` is measured in `2^unit`.
    pub unit: i32,
}

impl<'a> Units<'a> {
    /// Scale `x` and `y`. Data in moderate units are borrowed, not copied.
    pub fn of(x: Rows<'a>, y: &[f64]) -> Self {
        let mut row_peaks: Vec<f64> = (0..x.n()).map(|i| peak(x.row(i))).collect();
        let mut row_exponent: Vec<i32> = row_peaks.iter().map(|peak| exponent(*peak)).collect();
        // A row of zeros has no unit of its own; it takes the largest one, so that its target stays small.
        let top = row_exponent.iter().copied().filter(|e| *e != ZERO).max().unwrap_or(0);
        row_exponent.iter_mut().filter(|e| **e == ZERO).for_each(|e| *e = top);
        if row_exponent.iter().all(|e| e.abs() <= MODERATE) {
            row_exponent.fill(0);
        }
        row_peaks.iter_mut().zip(&row_exponent).for_each(|(peak, e)| *peak = scale_by_power(*peak, -e));
        let data = if row_exponent.iter().all(|e| *e == 0) {
            Cow::Borrowed(x.data())
        } else {
            let mut scaled = Vec::with_capacity(x.n() * x.d());
            for (i, e) in row_exponent.iter().enumerate() {
                scaled.extend(x.row(i).iter().map(|v| scale_by_power(*v, -e)));
            }
            Cow::Owned(scaled)
        };
        let quotient = y.iter().zip(&row_exponent).filter(|(v, _)| **v != 0.0).map(|(v, e)| exponent(*v) - e);
        let unit = quotient.max().unwrap_or(0);
        let scaled: Vec<f64> = y.iter().zip(&row_exponent).map(|(v, e)| scale_by_power(*v, -(e + unit))).collect();
        let lost = y.iter().zip(&scaled).enumerate().filter(|(_, (v, s))| **v != 0.0 && !s.is_normal());
        let lost = lost.map(|(i, (v, _))| (i, *v)).collect();
        Self { x: data, n: x.n(), d: x.d(), y: scaled, lost, row_exponent, row_peaks, unit }
    }

    /// The scaled data.
    pub fn rows(&self) -> Rows<'_> {
        Rows::from_parts(&self.x, self.n, self.d)
    }

    /// Largest magnitude of each scaled row.
    pub fn row_peaks(&self) -> &[f64] {
        &self.row_peaks
    }

    /// Weight `2^row_exponent / max` of each row: least squares are in the user's units, not in ours.
    pub fn row_weights(&self) -> Vec<f64> {
        let top = self.row_exponent.iter().copied().max().unwrap_or(0);
        self.row_exponent.iter().map(|e| scale_by_power(1.0, e - top)).collect()
    }

    /// Data and targets in one unit for all rows, the data within 1: where rows are compared with each other. The second
    /// is the power of two in which these targets are measured.
    pub fn in_one_unit(&self) -> (Vec<f64>, Vec<f64>, i32) {
        let weights = self.row_weights();
        let data = self.x.chunks_exact(self.d.max(1)).zip(&weights).flat_map(|(row, w)| row.iter().map(move |v| v * w));
        let targets = self.y.iter().zip(&weights).map(|(y, w)| y * w).collect();
        (data.collect(), targets, self.unit + self.row_exponent.iter().copied().max().unwrap_or(0))
    }

    /// Coefficients in the user's units; may overflow to ±inf where the true ones do.
    pub fn coefficients_out(&self, beta: &mut [f64]) {
        for b in beta {
            *b = scale_by_power(*b, self.unit);
        }
    }

    /// Coefficients from the user's units.
    pub fn coefficients_in(&self, beta: &mut [f64]) {
        for b in beta {
            *b = scale_by_power(*b, -self.unit);
        }
    }

    /// Residuals in the user's units.
    pub fn residuals_out(&self, r: &mut [f64]) {
        for (r, e) in r.iter_mut().zip(&self.row_exponent) {
            *r = scale_by_power(*r, e + self.unit);
        }
    }

    /// Targets in the user's units. Those that the units lost are there again: no residual is measured without them.
    pub fn targets_out(&self, y: &mut [f64]) {
        self.residuals_out(y);
        for (i, target) in &self.lost {
            y[*i] = *target;
        }
    }

    /// Targets from the user's units.
    pub fn exact_targets_in(&self, y: &mut [DoubleDouble]) {
        for (y, e) in y.iter_mut().zip(&self.row_exponent) {
            *y = exactly_scaled(*y, -(e + self.unit));
        }
    }

    /// Residuals `y − there` of targets in the user's units and of products in ours, in the user's: no target is lost.
    pub fn exact_residuals(&self, y: &[DoubleDouble], there: &[DoubleDouble]) -> Vec<f64> {
        let each = |((y, there), e): ((&DoubleDouble, &DoubleDouble), &i32)| {
            (*y - exactly_scaled(*there, e + self.unit)).to_f64()
        };
        y.iter().zip(there).zip(&self.row_exponent).map(each).collect()
    }

    /// Targets in the user's units.
    pub fn exact_targets_out(&self, y: &mut [DoubleDouble]) {
        for (y, e) in y.iter_mut().zip(&self.row_exponent) {
            *y = exactly_scaled(*y, e + self.unit);
        }
    }

    /// Coefficients in the user's units; may overflow to ±inf where the true ones do.
    pub fn exact_coefficients_out(&self, beta: &mut [DoubleDouble]) {
        for b in beta {
            *b = exactly_scaled(*b, self.unit);
        }
    }

    /// Coefficients from the user's units.
    pub fn exact_coefficients_in(&self, beta: &mut [DoubleDouble]) {
        for b in beta {
            *b = exactly_scaled(*b, -self.unit);
        }
    }

    /// Multipliers of the user's rows.
    pub fn exact_multipliers_out(&self, nu: &mut [DoubleDouble]) {
        for (nu, e) in nu.iter_mut().zip(&self.row_exponent) {
            *nu = exactly_scaled(*nu, -e);
        }
    }

    /// Multipliers of the user's rows: `Xᵀν` is the same in both units.
    pub fn multipliers_out(&self, nu: &mut [f64]) {
        for (nu, e) in nu.iter_mut().zip(&self.row_exponent) {
            *nu = scale_by_power(*nu, -e);
        }
    }
}

/// Largest magnitude, in lanes that the compiler keeps apart.
fn peak(row: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut peaks = [0.0_f64; LANES];
    let (lanes, rest) = row.as_chunks::<LANES>();
    for v in lanes {
        for (peak, v) in peaks.iter_mut().zip(v) {
            *peak = if v.abs() > *peak { v.abs() } else { *peak };
        }
    }
    peaks.iter().chain(rest).fold(0.0, |m, v| m.max(v.abs()))
}

/// Marks a row of zeros.
const ZERO: i32 = i32::MIN;

/// `e` with `2^e ≤ |v| < 2^(e+1)`, subnormal numbers included; [`ZERO`] at 0.
pub(super) fn exponent(v: f64) -> i32 {
    const EXPONENT_BITS: u64 = 0x7ff;
    if v == 0.0 {
        return ZERO;
    }
    let biased = |v: f64| i32::try_from((v.to_bits() >> 52) & EXPONENT_BITS).unwrap_or(0);
    match biased(v) {
        0 => biased(v * 2.0_f64.powi(64)) - 64 - 1023,
        e => e - 1023,
    }
}

/// `v · 2^e`, in factors that cannot over- or underflow before the product does.
pub(super) fn scale_by_power(v: f64, e: i32) -> f64 {
    let (mut v, mut e) = (v, e);
    while e > 1000 {
        v *= 2.0_f64.powi(1000);
        e -= 1000;
        if v.is_infinite() || v == 0.0 {
            return v;
        }
    }
    while e < -1000 {
        v *= 2.0_f64.powi(-1000);
        e += 1000;
        if v == 0.0 {
            return v;
        }
    }
    v * 2.0_f64.powi(e)
}

/// `v · 2^e`, both parts; normalised again where one of them became subnormal.
pub(super) fn exactly_scaled(v: DoubleDouble, e: i32) -> DoubleDouble {
    DoubleDouble::from_parts(scale_by_power(v.to_f64(), e), scale_by_power(v.low(), e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exponent_brackets_its_number_from_the_smallest_subnormal_to_the_largest_float() {
        for v in [5e-324, 1e-310, f64::MIN_POSITIVE, 0.75, 1.0, -1.5, 2.0, 1e300, f64::MAX] {
            let e = exponent(v);
            let scaled = scale_by_power(v.abs(), -e);
            assert!((1.0..2.0).contains(&scaled), "{v}: exponent {e} leaves {scaled}");
        }
    }

    #[test]
    fn scaling_is_exact_and_undone_exactly() {
        let x = [1e100, -3e99, 2e-100, 7e-101];
        let Some(rows) = Rows::new(&x, 2, 2) else { panic!("2 x 2") };
        let units = Units::of(rows, &[5e80, -1e-90]);
        assert!(units.rows().data().iter().all(|v| v.abs() < 2.0));
        let mut r = units.y.clone();
        units.residuals_out(&mut r);
        assert_eq!(r, [5e80, -1e-90]);
    }

    #[test]
    fn a_target_too_small_for_the_units_is_not_forgotten() {
        // 2e-100 of rows of 1e-150 is a coefficient of 2e50, beside which 3e-100 of rows of 1e308 is 0.
        let Some(rows) = Rows::new(&[1e-150, 0.0, 0.0, 1e308], 2, 2) else { panic!("2 x 2") };
        let units = Units::of(rows, &[2e-100, -3e-100]);
        let mut y = units.y.clone();
        assert_eq!(y[1], 0.0);
        units.targets_out(&mut y);
        assert_eq!(y, [2e-100, -3e-100]);
    }

    #[test]
    fn data_of_moderate_size_are_borrowed() {
        let x = [1.0, 2.0, 300.0, 4.0];
        let Some(rows) = Rows::new(&x, 2, 2) else { panic!("2 x 2") };
        assert!(matches!(Units::of(rows, &[1.0, 1.0]).x, Cow::Borrowed(_)));
    }
}
