//! The rows of the result: states of the reduced flow in, columns of a [`Flow`] out. Knows no integrator.

use super::prepare::{Prepared, peak};
use super::problem::Problem;
use super::reference::Reference;
use crate::flow::clock::Clock;
use crate::flow::observable::{Columns, Row};
use crate::flow::outcome::{Flow, Options, Stats, Status};
use crate::real::{DoubleDouble, Real};

/// States that go through the data together.
pub(super) const BATCH: usize = 16;

/// Rows so far.
pub(super) struct Table<'p> {
    prepared: &'p Prepared<'p>,
    problem: &'p Problem<'p>,
    clock: Clock,
    /// The times of the rows, where they are given: as the caller wrote them.
    given: Option<&'p [f64]>,
    /// What can be fitted of the original targets, where the reduced rows are others.
    targets: Option<Vec<f64>>,
    columns: Columns<'p>,
    /// Keep the vectors of every row, not of the last one only.
    save_beta: bool,
    /// β of the row at hand.
    beta: Vec<f64>,
    /// A row had a coefficient beyond the largest float: neither it nor any later one is written.
    overflown: bool,
    flow: Flow,
}

impl<'p> Table<'p> {
    pub(super) fn new(prepared: &'p Prepared<'p>, problem: &'p Problem<'p>, options: &Options<'p>) -> Self {
        Self {
            prepared,
            problem,
            clock: prepared.clock(options.time_unit),
            given: options.times,
            targets: prepared.is_rotated().then(|| prepared.reachable(problem.y)),
            columns: Columns::new(options.observables, options.end),
            save_beta: options.save_beta,
            beta: vec![0.0; problem.x.d()],
            overflown: false,
            flow: Flow::empty(),
        }
    }

    /// One row for each of the reduced `times`, up to the first that binary64 cannot hold: the states `ν_ref + Δν`, `Δν` one after another in `states`.
    pub(super) fn push(&mut self, reference: &Reference, times: &[f64], states: &[f64]) {
        let x = self.prepared.x();
        let (n, d) = (x.n(), x.d());
        for (times, states) in times.chunks(BATCH).zip(states.chunks(BATCH * n)) {
            if self.overflown {
                return;
            }
            let size = times.len() * d;
            let (mut shift, mut beta, mut slope) = (vec![0.0; size], vec![0.0; size], vec![0.0; size]);
            let mut residual = vec![0.0; states.len()];
            x.apply_transposed_many(states, &mut shift);
            let g = shift.clone();
            for z in &mut shift {
                *z *= 2.0;
            }
            reference.evaluate(&shift, &mut beta, &mut slope);
            x.apply_many(&beta, &mut residual);
            let held = (0..times.len()).take_while(|k| self.prepared.holds(&beta[k * d..(k + 1) * d])).count();
            self.overflown |= held < times.len();
            for (k, time) in times[..held].iter().enumerate() {
                let residual = &mut residual[k * n..(k + 1) * n];
                residual.iter_mut().zip(&self.prepared.targets).for_each(|(r, y)| *r = y - *r);
                self.push_numbers(*time, &beta[k * d..(k + 1) * d], residual);
                if self.save_beta || k + 1 == held {
                    self.push_vectors(reference, &states[k * n..(k + 1) * n], &g[k * d..(k + 1) * d]);
                }
            }
        }
    }

    /// Rows at `times` that all have the same state.
    pub(super) fn push_same(&mut self, reference: &Reference, times: &[f64], state: &[f64]) {
        let Some((first, others)) = times.split_first() else { return };
        self.push(reference, &[*first], state);
        if self.overflown {
            return;
        }
        for time in others {
            self.push_time(*time);
        }
        let Flow { times, loss, .. } = &mut self.flow;
        loss.resize(times.len(), loss.last().copied().unwrap_or(f64::NAN));
        self.columns.repeat(others.len());
        if self.save_beta {
            let (n, d) = (self.problem.x.n(), self.problem.x.d());
            let Flow { beta, dual, dual_low, multipliers, multipliers_low, .. } = &mut self.flow;
            for (rows, width) in [(beta, d), (dual, d), (dual_low, d), (multipliers, n), (multipliers_low, n)] {
                let last = rows.len() - width;
                (0..others.len()).for_each(|_| rows.extend_from_within(last..last + width));
            }
        }
    }

    /// A time of the reduced problem, as that of the next row.
    fn push_time(&mut self, tau: f64) {
        let row = self.flow.times.len();
        let given = self.given.and_then(|given| given.get(row));
        self.flow.times.push(given.map_or_else(|| self.clock.to_caller(tau), |t| *t));
    }

    /// Time, loss and observables of one row, whose β is left in `self.beta`.
    fn push_numbers(&mut self, time: f64, beta: &[f64], residual: &[f64]) {
        self.prepared.predictor(beta, &mut self.beta);
        let loss = self.prepared.loss(beta, residual);
        self.push_time(time);
        self.flow.loss.push(loss);
        let (problem, beta) = (self.problem, &self.beta);
        let residual = || match &self.targets {
            None => self.prepared.in_units_of_y(peak(residual)),
            Some(targets) => {
                let mut fitted = vec![0.0; targets.len()];
                problem.x.apply(beta, &mut fitted);
                // Terms that overflow have no sum, and `f64::max` would drop it.
                let size = |r: f64| if r.is_nan() { f64::INFINITY } else { r.abs() };
                fitted.iter().zip(targets).fold(0.0, |most: f64, (fitted, y)| most.max(size(y - fitted)))
            }
        };
        let potential = || problem.start.divergence(beta);
        self.columns.push(&Row { beta, loss, residual: &residual, potential: &potential });
    }

    /// β, G and ν of the row whose numbers were pushed last.
    fn push_vectors(&mut self, reference: &Reference, state: &[f64], g: &[f64]) {
        let (n, d) = (self.problem.x.n(), self.problem.x.d());
        let Flow { beta, dual, dual_low, multipliers, multipliers_low, .. } = &mut self.flow;
        if !self.save_beta {
            [&mut *beta, dual, dual_low, multipliers, multipliers_low].into_iter().for_each(Vec::clear);
        }
        beta.extend_from_slice(&self.beta);
        let sum = |(reference, delta): (&DoubleDouble, &f64)| *reference + DoubleDouble::from_f64(*delta);
        let g: Vec<DoubleDouble> = reference.g().iter().zip(g).map(sum).collect();
        let (high, low): (Vec<f64>, Vec<f64>) = g.iter().map(|g| (g.to_f64(), g.low())).unzip();
        self.prepared.all_columns(&high, extend(dual, d));
        self.prepared.all_columns(&low, extend(dual_low, d));
        let nu: Vec<DoubleDouble> = reference.nu().iter().zip(state).map(sum).collect();
        self.prepared.multipliers(&nu, extend(multipliers, n), extend(multipliers_low, n));
    }

    /// The residual `r` of the reduced problem, `max|r|` in the units of y.
    pub(super) fn size_of(&self, residual: &[f64]) -> f64 {
        self.prepared.in_units_of_y(peak(residual))
    }

    /// A time of the reduced problem in that of the original one.
    pub(super) fn time(&self, scaled: f64) -> f64 {
        self.clock.to_caller(scaled)
    }

    /// Those of some automatic times, rising, that differ to the caller.
    pub(super) fn told_apart(&self, times: Vec<f64>) -> Vec<f64> {
        self.clock.told_apart(times)
    }

    /// True if a row could not be written, for a coefficient beyond the largest float, and none will be any more.
    pub(super) fn is_overflown(&self) -> bool {
        self.overflown
    }

    /// The result. A run whose rows end early, at a number that binary64 cannot hold, has not come to any other end.
    pub(super) fn finish(self, status: Status, stats: Stats) -> Flow {
        let status = if self.overflown { Status::StepTooSmall } else { status };
        Flow { status, stats, observables: self.columns.into_values(), ..self.flow }
    }
}

/// Room for `len` more numbers.
fn extend(values: &mut Vec<f64>, len: usize) -> &mut [f64] {
    let start = values.len();
    values.resize(start + len, 0.0);
    &mut values[start..]
}
