//! The road to limits that binary64 does not see: the interior point in double-double.
//!
//! Where `y` comes from fewer coefficients than there are samples, their fit is off by the rounding of `y`: others of
//! 1e-17 make up for it, and at small κ those are as far above κ as the large ones. A binary64 residual is round-off
//! before they are found, and their exponents are anybody's guess. The interior point in double-double goes on to find
//! them; then Newton, with the same kernel, takes the multipliers to their last digits.

use crate::linalg::Rows;
use crate::real::{DoubleDouble, Real};

use super::super::dual::largest;
use super::super::exponents::Exponents;
use super::super::interior_point::InteriorPoint;
use super::super::refine::Frame;
use super::high;
use super::kernel::Kernel;
use crate::limit::row_space::RowSpace;

/// Movement of the exponents by a Newton step from which on Newton is faster.
const NEAR: f64 = 0.3;
/// Newton steps at most: each squares the movement.
const STEPS: usize = 12;

/// Multipliers of the samples, and the slopes there.
pub(super) type Found = (Vec<DoubleDouble>, Vec<f64>);

/// The limit of the samples in `frame`, if it comes in sight, and the number of systems it took.
pub(super) fn search(
    space: &RowSpace<'_>,
    frame: Frame<'_>,
    start: &Exponents,
    budget: usize,
    interrupted: &dyn Fn() -> bool,
) -> (Option<Found>, usize) {
    let mut interior = InteriorPoint::<DoubleDouble>::start(space, frame.x.n(), start);
    let mut newton = 0;
    for systems in 1..=budget {
        if interrupted() {
            return (None, systems + newton);
        }
        let Some(kernel) = interior.kernel_metric(frame.x, frame.y).and_then(|metric| Kernel::of(frame.x, metric))
        else {
            return (None, systems + newton);
        };
        let nu: Vec<_> = interior.lambda.iter().map(|l| l.mul_f64(0.5)).collect();
        let mut point = Point::at(frame, start, nu);
        // The metric of the interior point is above the slopes until it is there: it makes light of a step, and knows
        // directions that the slopes have lost.
        if point.movement(frame.x, &kernel).1 < NEAR {
            let more = point.newton(frame, start, kernel.singular);
            newton += more;
            if more > 1 {
                return (Some((point.nu, point.slope)), systems + newton);
            }
        }
        if !interior.advance(frame.x, &|b| kernel.solve(b)) {
            return (None, systems + newton);
        }
    }
    (None, budget + newton)
}

/// A point of the dual, and its residual.
struct Point {
    nu: Vec<DoubleDouble>,
    slope: Vec<f64>,
    residual: Vec<DoubleDouble>,
}

impl Point {
    fn at(frame: Frame<'_>, start: &Exponents, nu: Vec<DoubleDouble>) -> Self {
        let (d, zero) = (frame.x.d(), DoubleDouble::ZERO);
        let (mut g, mut beta, mut slope) = (vec![zero; d], vec![zero; d], vec![0.0; d]);
        frame.x.apply_transposed(&nu, &mut g);
        start.evaluate_exactly(&g, 0.0, &mut beta, &mut slope);
        let mut residual = vec![zero; frame.x.n()];
        frame.x.apply(&beta, &mut residual);
        residual.iter_mut().zip(frame.y).for_each(|(r, y)| *r = *y - *r);
        Self { nu, slope, residual }
    }

    /// `H⁻¹r` and the movement of the exponents that it brings; infinite where something overflowed.
    fn movement(&self, x: Rows<'_>, kernel: &Kernel) -> (Vec<DoubleDouble>, f64) {
        let mut step = self.residual.clone();
        kernel.solve(&mut step);
        let mut g = vec![DoubleDouble::ZERO; x.d()];
        x.apply_transposed(&step, &mut g);
        let movement = 2.0 * largest(&high(&g));
        (step, if movement.is_nan() { f64::INFINITY } else { movement })
    }

    /// Full steps for as long as they shrink. Returns the systems it took; 1 if the first step would have been too long, or
    /// would leave out more than `singular` directions.
    fn newton(&mut self, frame: Frame<'_>, start: &Exponents, singular: usize) -> usize {
        let mut before = 2.0 * NEAR;
        for systems in 1..=STEPS {
            let Some(kernel) = Kernel::of(frame.x, &self.slope) else { return systems };
            let (step, movement) = self.movement(frame.x, &kernel);
            if !(movement < 0.5 * before) || kernel.singular > singular {
                return systems;
            }
            before = movement;
            let nu = self.nu.iter().zip(&step).map(|(nu, step)| *nu + *step).collect();
            *self = Self::at(frame, start, nu);
        }
        STEPS
    }
}
