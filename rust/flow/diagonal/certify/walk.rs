//! Along the flow step by step: a polynomial on each, what it may be off by, and the rows that lie on it.

use super::super::dual::DualFlow;
use super::super::prepare::Prepared;
use super::super::reference::Reference;
use super::super::stopping::Stopping;
use super::defect::{Defect, Place, Samples};
use super::exact_defect::corrected;
use super::frame::Frame;
use super::newton::correct;
use super::panel::{Panel, terms};
use super::polynomial::{Polynomial, STAGES};
use super::rest::Rest;
use super::rows::{Beside, Row};
use crate::flow::budget::Budget;
use crate::linalg::norm;
use crate::ode::{Action, Observer, Step};
use crate::real::{DoubleDouble, Real};

/// Steps are halved at most that often.
const DEEPEST: u32 = 10;
/// A step is halved while its defect, beside rounding, adds more than this part of what the whole flow may be off by, and is
/// sampled in double-double where rounding does.
const SHARE: f64 = 0.05;
/// Halving goes on while a half adds less than this part of what the whole did: by its degree it would be 2^-16.
const GAINS: f64 = 0.1;
/// Corrections end where the defect of a step adds this part of what it may.
const ENOUGH: f64 = 0.1;
/// Sampling and correcting in double-double goes on while it leaves less than this part of what the last time did.
const AGAIN: f64 = 0.1;
/// Newton's method in binary64 is done when exponents move by less than this part of what they may be off by, or by the second
/// number.
const SETTLED: (f64, f64) = (1e-3, 1e-16);
/// What is beyond this many e-folds is not followed any further.
const HOPELESS: f64 = 100.0;

/// The observer of an integration that finds the steps; what it integrates serves as a first guess only.
pub(super) struct Walk<'p, 'i> {
    pub(super) prepared: &'p Prepared<'p>,
    pub(super) frame: Frame<'p>,
    pub(super) table: Polynomial,
    pub(super) reference: Reference,
    pub(super) stopping: Stopping<'p>,
    pub(super) budget: Budget<'i>,
    /// Relative error of the exponents that is small beside what a caller asks for.
    pub(super) tolerance: f64,
    /// Relative error of the times of the rows.
    pub(super) clock_error: f64,
    /// Where the last panel ended, in double-double: rounded, times of 10^16 steps of the flow would add up.
    pub(super) time: DoubleDouble,
    /// `e ≥ ‖ν̂ − ν‖₂`.
    pub(super) error: f64,
    /// The rows to bound, in the order of time.
    pub(super) rows: Vec<Row<'p>>,
    /// How many are done.
    pub(super) done: usize,
}

/// A panel with its defect.
struct Measured {
    panel: Panel,
    defect: Defect,
    /// What the defect adds to e beyond what rounding explains and beyond what may be added; 0 or less if that is nothing.
    excess: f64,
    /// True if it was sampled in double-double.
    exact: bool,
}

impl Walk<'_, '_> {
    /// Rows at time 0, where nothing has happened yet.
    pub(super) fn begin(&mut self) {
        let still = Panel::still(self.frame.z.n());
        while self.rows.get(self.done).is_some_and(|row| row.time == 0.0) {
            self.bound(&still, 0.0, (0.0, true));
        }
    }

    /// Rows beyond the last step, where the flow has come to rest.
    pub(super) fn rest(&mut self) {
        if self.done == self.rows.len() {
            return;
        }
        let time = self.time.to_f64();
        let rest = Rest::of(&self.frame, &self.reference, time, self.error);
        let later = self.rows[self.done..].iter().map(|row| row.time - time);
        let errors: Vec<f64> = later.map(|t| rest.as_ref().map_or(f64::INFINITY, |rest| rest.after(t))).collect();
        let still = Panel::still(self.frame.z.n());
        for error in errors {
            self.bound(&still, 0.0, (error, true));
        }
    }

    /// From `start` to `end`, in one step or in halves; `before` is what the defect of the whole added, if this is a half.
    fn cover<'a>(
        &mut self,
        flow: &mut DualFlow<'a>,
        step: &mut Step<'_, f64, DualFlow<'a>>,
        (start, end): (f64, f64),
        (depth, before): (u32, f64),
    ) {
        if self.done == self.rows.len() || self.budget.is_spent() {
            return;
        }
        let guess = self.guess(flow, step, start, end);
        let middle = 0.5 * (start + end);
        let divisible = depth < DEEPEST && start < middle && middle < end;
        // A half that is hardly better than the whole has come to rounding: its halves would be no better.
        let pays = |excess: f64| divisible && excess > 0.0 && !(excess.is_finite() && excess > GAINS * before);
        let found = self.measure(guess.clone(), &pays);
        let excess = found.as_ref().map_or(f64::INFINITY, |found| found.excess);
        if pays(excess) {
            self.cover(flow, step, (start, middle), (depth + 1, excess));
            self.cover(flow, step, (middle, end), (depth + 1, excess));
            return;
        }
        let grown = found.as_ref().map(|found| found.defect.load().grow(self.error));
        let (inside, at_end) = grown.map_or((f64::INFINITY, f64::INFINITY), |grown| (grown.inside, grown.end));
        let (panel, exact) = found.map_or((guess, false), |found| (found.panel, found.exact));
        while let Some(row) = self.rows.get(self.done).filter(|row| row.time <= end) {
            let (theta, error) = if row.time == end {
                (1.0, at_end)
            } else {
                let since = (DoubleDouble::from_f64(row.time) - self.time).to_f64();
                ((since / panel.h).clamp(0.0, 1.0), inside)
            };
            self.bound(&panel, theta, (error, exact));
        }
        if !(2.0 * self.frame.longest * at_end < HOPELESS) {
            self.done = self.rows.len();
        }
        self.advance(&panel);
        self.error = at_end;
    }

    /// The polynomial through the dense output of the integrator, from the end of the last one.
    fn guess<'a>(
        &self,
        flow: &mut DualFlow<'a>,
        step: &mut Step<'_, f64, DualFlow<'a>>,
        start: f64,
        end: f64,
    ) -> Panel {
        let n = self.frame.z.n();
        let h = (DoubleDouble::from_f64(end) - self.time).to_f64();
        let mut from = vec![0.0; n];
        step.at(flow, start, &mut from);
        let mut increments = vec![0.0; STAGES * n];
        for (node, state) in self.table.nodes.iter().zip(increments.chunks_exact_mut(n)) {
            step.at(flow, start + node * h, state);
            state.iter_mut().zip(&from).for_each(|(state, from)| *state -= from);
        }
        Panel::through(&self.table, h, &increments, n)
    }

    /// Correct the panel and measure its defect: in double-double where rounding adds too much, unless halving pays anyway.
    /// `None` if numbers overflow.
    fn measure(&self, mut panel: Panel, pays: &dyn Fn(f64) -> bool) -> Option<Measured> {
        let (frame, reference) = (&self.frame, &self.reference);
        let place = Place { table: &self.table, frame, reference, time: self.time.to_f64() };
        let linear = correct(&mut panel, &place, (SETTLED.0 * self.tolerance).max(SETTLED.1))?;
        let coarse = Samples::of(&panel, &place);
        let defect = coarse.defect(&place, &linear, panel.h, self.error)?;
        let (excess, rounded) = self.excess(&defect);
        if pays(excess) || rounded <= self.allowed() {
            return Some(Measured { panel, defect, excess, exact: false });
        }
        let mut last = f64::INFINITY;
        loop {
            let samples = corrected(&mut panel, &place, (&linear, &coarse), ENOUGH * self.allowed());
            let defect = samples.defect(&place, &linear, panel.h, self.error)?;
            let (excess, rounded) = self.excess(&defect);
            let added = rounded + excess.max(0.0);
            // Differences are as exact as the corrections were small: from where those led, the next ones are smaller.
            if added <= self.allowed() || !(added < AGAIN * last) {
                return Some(Measured { panel, defect, excess, exact: true });
            }
            last = added;
        }
    }

    /// What a step may add to e.
    fn allowed(&self) -> f64 {
        SHARE * self.tolerance / (2.0 * self.frame.longest)
    }

    /// [`Measured::excess`], and what rounding adds.
    fn excess(&self, defect: &Defect) -> (f64, f64) {
        let nothing = vec![0.0; defect.modes()];
        let (grown, rounded) = (defect.load().grow(self.error), defect.beside_rounding(&nothing).grow(self.error));
        let rounding = (rounded.end - self.error).max(0.0);
        (grown.end - rounded.end - 0.5 * rounding - self.allowed(), rounding)
    }

    /// Bound the next row, at `p(θ)`, where the polynomial is off by that much; in double-double if it is exact.
    fn bound(&mut self, panel: &Panel, theta: f64, (error, exact): (f64, bool)) {
        let n = self.frame.z.n();
        let (weights, lengths) = (self.table.value(theta), panel.lengths());
        let mut state = vec![DoubleDouble::ZERO; n];
        panel.at(&weights, &mut state);
        let Some(row) = self.rows.get_mut(self.done) else { return };
        let known = norm(self.reference.nu().iter().map(|nu| nu.to_f64()));
        let moved = panel.h * terms(&weights, &lengths);
        let (reach, path) = if exact {
            let magnitudes = panel.magnitudes(&weights, self.reference.nu());
            (self.frame.exact_reach(row.time, known, moved), self.frame.path(&magnitudes))
        } else {
            (self.frame.reach(row.time, known, moved, (STAGES + 5) as f64), Vec::new())
        };
        // Of the time of the row, and of θ.
        let clock = self.clock_error * row.time + 4.0 * f64::UNIT_ROUNDOFF * panel.h;
        let fastest = (1.1 * terms(&self.table.slope(theta), &lengths)).max(lengths.iter().sum::<f64>());
        let error = error + clock * fastest;
        let beside = Beside { prepared: self.prepared, frame: &self.frame, reference: &self.reference };
        row.bound(&beside, &state, (reach, &path), error, exact);
        self.done += 1;
    }

    /// Move the reference to the end of the polynomial, to double-double.
    fn advance(&mut self, panel: &Panel) {
        let (z, n) = (self.frame.z, self.frame.z.n());
        let mut sum = vec![DoubleDouble::ZERO; n];
        panel.at(&self.table.whole, &mut sum);
        let unmoved = vec![0.0; z.d()];
        let (high, low): (Vec<f64>, Vec<f64>) = sum.iter().map(|s| (s.to_f64(), s.low())).unzip();
        self.reference.advance(&high, &unmoved);
        self.reference.advance(&low, &unmoved);
        self.reference.form_g(z);
        self.reference.refresh();
        self.time = self.time.add_f64(panel.h);
    }
}

impl<'a> Observer<f64, DualFlow<'a>> for Walk<'_, '_> {
    fn step(&mut self, flow: &mut DualFlow<'a>, step: &mut Step<'_, f64, DualFlow<'a>>) -> Action<f64> {
        let (start, end) = (step.t_old(), step.t_new);
        self.cover(flow, step, (start, end), (0, f64::INFINITY));
        if self.done == self.rows.len() || self.budget.is_spent() {
            return Action::Stop;
        }
        flow.visit(step.y_new());
        let over = self.stopping.judge(&flow.here.beta, &flow.here.residual, 1.0).is_some();
        if over { Action::Stop } else { Action::Continue }
    }

    fn interrupted(&mut self) -> bool {
        self.budget.is_spent()
    }
}
