//! The flow at the stages of a step in double-double, mostly at the price of binary64.
//!
//! A product with the data in double-double costs a dozen in binary64, and Newton's iteration asks for one after another
//! at states that differ less and less. Of the flow at a corrected state only the difference has to be found: with `e` the
//! correction and `δ = 2Xᵀe`, which the size of the correction asks for anyway,
//! `β(z + δ) − β(z) = P(e^δ − 1) − M(e^{−δ} − 1)`, `P = ¼A e^{2G}`, `M = ¼B e^{−2G}`, all in binary64. That is off by a
//! few `u|δ|` (`u = 2^-53`), and Newton's iteration takes that into account. It adds up from one difference to the next;
//! once the sum is no longer far below the difference at hand, it is time for the next evaluation in double-double. Of a
//! step's five to ten iterations two are.

use super::dual::Point;
use super::exact;
use super::number::{Number, Stages};
use super::prepare::peak;
use super::reference::Reference;
use super::shifts::Corrections;
use crate::linalg::Rows;
use crate::real::{DoubleDouble, Real, vector};

/// Differences of exponents above this are evaluated anew: `e^δ − 1` must not become large.
const LARGEST: f64 = 0.5;
/// Error of a difference, as a part of its largest shift: `2^-53` in sums of some hundred products and in `e^δ − 1`.
const ERROR: f64 = 8.0 * f64::EPSILON;
/// Errors that have added up may be this part of the difference at hand. An iteration gains a few digits at best.
const SMALL: f64 = 1e-6;

/// The flow at the states seen last.
#[derive(Debug, Default)]
pub(super) struct Differences {
    states: Vec<DoubleDouble>,
    corrections: Corrections,
    fitted: Vec<DoubleDouble>,
    /// P and M of each.
    rising: Vec<f64>,
    falling: Vec<f64>,
    /// Error of the shifts, in sum.
    error: f64,
    /// The same as a part of the last difference.
    inexactness: f64,
    /// Largest shift.
    reach: f64,
    /// Room for evaluations in double-double,
    shift: Vec<DoubleDouble>,
    beta: Vec<DoubleDouble>,
    /// and in binary64.
    slope: Vec<f64>,
    change: Vec<f64>,
    up: Vec<f64>,
    down: Vec<f64>,
    moved: Vec<f64>,
}

impl Differences {
    /// Move to `states`, if they are the known ones after their corrections, to the bit. False if they are not, are too far,
    /// or what is known is not known well enough.
    fn follow(&mut self, x: Rows<'_>, states: &[DoubleDouble]) -> bool {
        let known = self.states.iter().zip(&self.corrections.values).map(|(old, e)| *old + DoubleDouble::from(*e));
        if known.len() != states.len() || !known.zip(states).all(|(known, new)| known == *new) {
            return false;
        }
        let largest = 2.0 * peak(&self.corrections.products);
        let error = self.error + ERROR * largest;
        // A NaN, which is no largest number, comes with corrections that lead to no known state.
        if largest > LARGEST || error > SMALL * largest {
            return false;
        }
        // No correction leaves no error.
        (self.error, self.inexactness) = (error, if largest > 0.0 { error / largest } else { 0.0 });
        for buffer in [&mut self.change, &mut self.up, &mut self.down] {
            buffer.resize(self.corrections.products.len(), 0.0);
        }
        self.moved.resize(states.len(), 0.0);
        self.change.iter_mut().zip(&self.corrections.products).for_each(|(z, product)| *z = 2.0 * product);
        vector::exp_m1(&self.change, &mut self.up);
        self.change.iter_mut().for_each(|z| *z = -*z);
        vector::exp_m1(&self.change, &mut self.down);
        let parts = self.rising.iter_mut().zip(&mut self.falling).zip(self.up.iter_mut().zip(&self.down));
        for ((rising, falling), (up, down)) in parts {
            let (more, less) = (*rising * *up, *falling * *down);
            (*rising, *falling) = (*rising + more, *falling + less);
            *up = more - less;
        }
        x.apply_many(&self.up, &mut self.moved);
        self.fitted.iter_mut().zip(&self.moved).for_each(|(fitted, moved)| *fitted = fitted.add_f64(*moved));
        self.remember(states);
        true
    }

    fn remember(&mut self, states: &[DoubleDouble]) {
        self.states.clear();
        self.states.extend_from_slice(states);
        self.corrections.values.clear();
    }

    /// Evaluate everything at `states`.
    fn evaluate(&mut self, x: Rows<'_>, reference: &Reference, states: &[DoubleDouble]) {
        let size = states.len() / x.n().max(1) * x.d();
        for buffer in [&mut self.shift, &mut self.beta] {
            buffer.resize(size, DoubleDouble::ZERO);
        }
        for buffer in [&mut self.slope, &mut self.rising, &mut self.falling] {
            buffer.resize(size, 0.0);
        }
        self.fitted.resize(states.len(), DoubleDouble::ZERO);
        exact::shifts(x, states, &mut self.shift);
        exact::evaluate(reference, &self.shift, &mut self.beta, &mut self.slope);
        self.reach = peak(&self.shift);
        DoubleDouble::apply_many(x, &self.beta, &mut self.fitted);
        let parts = self.rising.iter_mut().zip(&mut self.falling).zip(self.slope.iter().zip(&self.beta));
        for ((rising, falling), (slope, beta)) in parts {
            // β = P − M, S = 2(P + M): the smaller of the two is off by an ulp of the larger, and so is what it adds.
            (*rising, *falling) = (0.25 * slope + 0.5 * beta.high, 0.25 * slope - 0.5 * beta.high);
        }
        (self.error, self.inexactness) = (0.0, 0.0);
        self.remember(states);
    }
}

impl Stages<DoubleDouble> for Differences {
    fn fitted(&mut self, x: Rows<'_>, reference: &Reference, states: &[DoubleDouble], fitted: &mut [DoubleDouble]) {
        if !self.follow(x, states) {
            self.evaluate(x, reference, states);
        }
        fitted.copy_from_slice(&self.fitted);
    }

    /// What begins a step is always exact.
    fn visit(&mut self, x: Rows<'_>, reference: &Reference, state: &[DoubleDouble], here: &mut Point<DoubleDouble>) {
        exact::shifts(x, state, &mut here.shift);
        exact::evaluate(reference, &here.shift, &mut here.beta, &mut here.slope);
        DoubleDouble::apply_many(x, &here.beta, &mut here.residual);
    }

    fn of_errors(&mut self, x: Rows<'_>, errors: &[f64]) -> &[f64] {
        self.corrections.of_errors(x, errors, self.states.len())
    }

    fn slope(&mut self, x: Rows<'_>, reference: &Reference, state: &[f64]) -> &[f64] {
        for buffer in [&mut self.change, &mut self.up, &mut self.down] {
            buffer.resize(x.d(), 0.0);
        }
        x.apply_transposed_many(state, &mut self.change);
        self.change.iter_mut().for_each(|z| *z *= 2.0);
        reference.evaluate(&self.change, &mut self.up, &mut self.down);
        &self.down
    }

    fn inexactness(&self) -> f64 {
        self.inexactness
    }

    fn reach(&self) -> f64 {
        self.reach
    }

    fn forget(&mut self) {
        self.states.clear();
    }
}
