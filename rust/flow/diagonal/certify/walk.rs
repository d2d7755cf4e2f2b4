//! Along the flow step by step: a polynomial on each, what it may be off by, and the rows that lie on it.

use super::super::dual::DualFlow;
use super::super::prepare::Prepared;
use super::super::reference::Reference;
use super::super::stopping::Stopping;
use super::frame::Frame;
use super::panel::{Defect, Panel};
use super::polynomial::{Polynomial, STAGES, Weights};
use super::rest::Rest;
use super::rows::Row;
use crate::flow::budget::Budget;
use crate::linalg::norm;
use crate::ode::{Action, Observer, Step};
use crate::real::{DoubleDouble, Real};

/// Steps are halved at most that often.
const DEEPEST: u32 = 10;
/// A step is halved while its defect, beside rounding, adds more than this part of what the whole flow may be off by.
const SHARE: f64 = 0.05;
/// Halving goes on while a half adds less than this part of what the whole did: by its degree it would be 2^-10.
const GAINS: f64 = 0.1;
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
    pub(super) time: f64,
    /// `e ≥ ‖ν̂ − ν‖₂`.
    pub(super) error: f64,
    /// The rows to bound, in the order of time.
    pub(super) rows: Vec<Row<'p>>,
    /// How many are done.
    pub(super) done: usize,
}

impl Walk<'_, '_> {
    /// Rows at time 0, where nothing has happened yet.
    pub(super) fn begin(&mut self) {
        let still = Panel { h: 0.0, slopes: vec![0.0; STAGES * self.frame.z.n()] };
        while self.rows.get(self.done).is_some_and(|row| row.time == 0.0) {
            self.bound(&still, &[0.0; STAGES], 0.0);
        }
    }

    /// Rows beyond the last step, where the flow has come to rest.
    pub(super) fn rest(&mut self) {
        if self.done == self.rows.len() {
            return;
        }
        let rest = Rest::of(&self.frame, &self.reference, self.time, self.error);
        let later = self.rows[self.done..].iter().map(|row| row.time - self.time);
        let errors: Vec<f64> = later.map(|t| rest.as_ref().map_or(f64::INFINITY, |rest| rest.after(t))).collect();
        let still = Panel { h: 0.0, slopes: vec![0.0; STAGES * self.frame.z.n()] };
        for error in errors {
            self.bound(&still, &[0.0; STAGES], error);
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
        let mut panel = self.guess(flow, step, start, end);
        let found = panel.corrected(&self.table, &self.frame, &self.reference, start, self.error);
        let middle = 0.5 * (start + end);
        let excess = found.as_ref().map_or(f64::INFINITY, |defect| self.excess(defect));
        // A half that is hardly better than the whole has come to rounding: its halves would be no better.
        let pays = excess > 0.0 && !(excess.is_finite() && excess > GAINS * before);
        if pays && depth < DEEPEST && start < middle && middle < end {
            self.cover(flow, step, (start, middle), (depth + 1, excess));
            self.cover(flow, step, (middle, end), (depth + 1, excess));
            return;
        }
        let grown = found.map(|defect| defect.load(&[], true).grow(self.error));
        let (inside, at_end) = grown.map_or((f64::INFINITY, f64::INFINITY), |grown| (grown.inside, grown.end));
        let hopeless = !(2.0 * self.frame.longest * at_end < HOPELESS);
        while let Some(row) = self.rows.get(self.done).filter(|row| row.time <= end) {
            if row.time == end {
                self.bound(&panel, &self.table.value(1.0), at_end);
            } else {
                let theta = ((row.time - start) / panel.h).clamp(0.0, 1.0);
                self.bound(&panel, &self.table.value(theta), inside);
            }
        }
        if hopeless {
            self.done = self.rows.len();
        }
        self.advance(&panel);
        (self.time, self.error) = (end, at_end);
    }

    /// The polynomial through the dense output of the integrator, from the end of the last one.
    fn guess<'a>(
        &self,
        flow: &mut DualFlow<'a>,
        step: &mut Step<'_, f64, DualFlow<'a>>,
        start: f64,
        end: f64,
    ) -> Panel {
        let (n, h) = (self.frame.z.n(), end - start);
        let mut from = vec![0.0; n];
        step.at(flow, start, &mut from);
        let mut increments = vec![0.0; STAGES * n];
        for (node, state) in self.table.nodes.iter().zip(increments.chunks_exact_mut(n)) {
            step.at(flow, start + node * h, state);
            state.iter_mut().zip(&from).for_each(|(state, from)| *state -= from);
        }
        Panel::through(&self.table, h, &increments, n)
    }

    /// What the defect adds beyond what rounding explains and beyond what may be added; 0 or less if that is nothing.
    fn excess(&self, defect: &Defect) -> f64 {
        let nothing = vec![0.0; defect.modes()];
        let (grown, rounded) = (defect.load(&[], true).grow(self.error), defect.load(&nothing, false).grow(self.error));
        let allowed = SHARE * self.tolerance / (2.0 * self.frame.longest);
        grown.end - rounded.end - 0.5 * (rounded.end - self.error).max(0.0) - allowed
    }

    /// Bound the next row, at `p(θ)` with these weights, where the polynomial is off by `error` at most.
    fn bound(&mut self, panel: &Panel, weights: &Weights, error: f64) {
        let n = self.frame.z.n();
        let mut state = vec![0.0; n];
        panel.at(weights, &mut state);
        let Some(row) = self.rows.get_mut(self.done) else { return };
        let known = norm(self.reference.nu().iter().map(|nu| nu.to_f64()));
        let reach = self.frame.reach(row.time, known, panel.terms(weights, n), (STAGES + 5) as f64);
        let fastest = panel.slopes.chunks_exact(n.max(1)).map(|f| norm(f.iter().copied())).sum::<f64>();
        let error = error + self.clock_error * row.time * fastest;
        row.bound(self.prepared, &self.frame, &self.reference, &state, reach, error);
        self.done += 1;
    }

    /// Move the reference to the end of the polynomial, to double-double.
    fn advance(&mut self, panel: &Panel) {
        let (z, n) = (self.frame.z, self.frame.z.n());
        let mut sum = vec![DoubleDouble::ZERO; n];
        for (weight, f) in self.table.whole.iter().zip(panel.slopes.chunks_exact(n)) {
            sum.iter_mut().zip(f).for_each(|(sum, f)| *sum += weight.mul_f64(*f).mul_f64(panel.h));
        }
        let unmoved = vec![0.0; z.d()];
        let (high, low): (Vec<f64>, Vec<f64>) = sum.iter().map(|s| (s.to_f64(), s.low())).unzip();
        self.reference.advance(&high, &unmoved);
        self.reference.advance(&low, &unmoved);
        self.reference.form_g(z);
        self.reference.refresh();
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
