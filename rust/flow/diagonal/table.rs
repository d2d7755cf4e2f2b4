//! The rows of the result: states of the reduced flow in, columns of a [`Flow`] out. Knows no integrator.

use super::exact;
use super::number::Number;
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
pub(super) struct Table<'p, R: Number = f64> {
    prepared: &'p Prepared<'p, R>,
    problem: &'p Problem<'p>,
    clock: Clock,
    /// The times of the rows, where they are given: as the caller wrote them.
    given: Option<&'p [f64]>,
    /// What can be fitted of the original targets, where the reduced rows are others.
    targets: Option<Vec<R>>,
    columns: Columns<'p, R>,
    /// Keep the vectors of every row, not of the last one only.
    save_beta: bool,
    /// β of the row at hand.
    beta: Vec<R>,
    /// A row had a coefficient beyond the largest float: neither it nor any later one is written.
    overflown: bool,
    flow: Flow,
}

impl<'p, R: Number> Table<'p, R> {
    pub(super) fn new(prepared: &'p Prepared<'p, R>, problem: &'p Problem<'p>, options: &Options<'p>) -> Self {
        let low = |i: usize| options.end_low.get(i).copied().unwrap_or(0.0);
        let end = options.end.iter().enumerate().map(|(i, end)| R::from_parts(*end, low(i))).collect();
        Self {
            prepared,
            problem,
            clock: prepared.clock(options.time_unit),
            given: options.times,
            targets: prepared.is_rotated().then(|| prepared.reachable(problem)),
            columns: Columns::new(options.observables, end),
            save_beta: options.save_beta,
            beta: vec![R::ZERO; problem.x.d()],
            overflown: false,
            flow: Flow::empty(),
        }
    }

    /// One row for each of the reduced `times`, up to the first that binary64 cannot hold: the states `ν_ref + Δν`, `Δν` one after another in `states`.
    pub(super) fn push(&mut self, reference: &Reference, times: &[f64], states: &[R]) {
        let x = self.prepared.x();
        let (n, d) = (x.n(), x.d());
        for (times, states) in times.chunks(BATCH).zip(states.chunks(BATCH * n)) {
            if self.overflown {
                return;
            }
            let size = times.len() * d;
            let (mut shift, mut beta, mut slope) = (vec![R::ZERO; size], vec![R::ZERO; size], vec![0.0; size]);
            let mut residual = vec![R::ZERO; states.len()];
            R::transposed_many(x, states, &mut shift);
            let g = shift.clone();
            let two = R::from_f64(2.0);
            for z in &mut shift {
                *z *= two;
            }
            R::evaluate(reference, &shift, &mut beta, &mut slope);
            R::apply_many(x, &beta, &mut residual);
            let held = (0..times.len()).take_while(|k| self.prepared.holds(&beta[k * d..(k + 1) * d])).count();
            self.overflown |= held < times.len();
            for (k, time) in times[..held].iter().enumerate() {
                let residual = &mut residual[k * n..(k + 1) * n];
                residual.iter_mut().zip(&self.prepared.targets).for_each(|(r, y)| *r = *y - *r);
                let g = &g[k * d..(k + 1) * d];
                self.push_numbers(*time, (reference, g), &beta[k * d..(k + 1) * d], residual);
                if self.save_beta || k + 1 == held {
                    self.push_vectors(reference, &states[k * n..(k + 1) * n], g);
                }
            }
        }
    }

    /// Rows at `times` that all have the same state.
    pub(super) fn push_same(&mut self, reference: &Reference, times: &[f64], state: &[R]) {
        let Some((first, others)) = times.split_first() else { return };
        self.push(reference, &[*first], state);
        if self.overflown {
            return;
        }
        for time in others {
            self.push_time(*time);
        }
        let Flow { times, loss, loss_low, .. } = &mut self.flow;
        for loss in [loss, loss_low] {
            let Some(last) = loss.last().copied() else { continue };
            loss.resize(times.len(), last);
        }
        self.columns.repeat(others.len());
        if self.save_beta {
            let (n, d) = (self.problem.x.n(), self.problem.x.d());
            let Flow { beta, beta_low, dual, dual_low, multipliers, multipliers_low, .. } = &mut self.flow;
            let rows = [(beta, d), (beta_low, d), (dual, d), (dual_low, d), (multipliers, n), (multipliers_low, n)];
            for (rows, width) in rows.into_iter().filter(|(rows, _)| !rows.is_empty()) {
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
    fn push_numbers(&mut self, time: f64, at: (&Reference, &[R]), beta: &[R], residual: &[R]) {
        self.prepared.predictor(beta, &mut self.beta);
        let loss = self.prepared.loss(beta, residual);
        self.push_time(time);
        self.flow.loss.push(loss.to_f64());
        if R::HAS_LOW {
            self.flow.loss_low.push(loss.low());
        }
        let (problem, beta) = (self.problem, &self.beta);
        let residual = || match &self.targets {
            None => self.prepared.in_units_of_y(largest(residual.iter().copied())),
            Some(targets) => {
                let mut fitted = vec![R::ZERO; targets.len()];
                problem.x.apply(beta, &mut fitted);
                largest(fitted.iter().zip(targets).map(|(fitted, y)| *y - *fitted))
            }
        };
        let from_multipliers = || {
            let g: Vec<DoubleDouble> = at.0.g().iter().zip(at.1).map(sum).collect();
            let found = exact::divergence(at.0, &g);
            self.prepared.divergence(R::from_parts(found.to_f64(), found.low()))
        };
        let potential = || R::divergence(problem, beta).unwrap_or_else(from_multipliers);
        self.columns.push(&Row { beta, loss, residual: &residual, potential: &potential });
    }

    /// β, G and ν of the row whose numbers were pushed last.
    fn push_vectors(&mut self, reference: &Reference, state: &[R], g: &[R]) {
        let (n, d) = (self.problem.x.n(), self.problem.x.d());
        let Flow { beta, beta_low, dual, dual_low, multipliers, multipliers_low, .. } = &mut self.flow;
        if !self.save_beta {
            [&mut *beta, beta_low, dual, dual_low, multipliers, multipliers_low].into_iter().for_each(Vec::clear);
        }
        beta.extend(self.beta.iter().map(|beta| beta.to_f64()));
        if R::HAS_LOW {
            beta_low.extend(self.beta.iter().map(|beta| beta.low()));
        }
        let g: Vec<DoubleDouble> = reference.g().iter().zip(g).map(sum).collect();
        let (high, low): (Vec<f64>, Vec<f64>) = g.iter().map(|g| (g.to_f64(), g.low())).unzip();
        self.prepared.all_columns(&high, extend(dual, d));
        self.prepared.all_columns(&low, extend(dual_low, d));
        let nu: Vec<DoubleDouble> = reference.nu().iter().zip(state).map(sum).collect();
        self.prepared.multipliers(&nu, extend(multipliers, n), extend(multipliers_low, n));
    }

    /// The residual `r` of the reduced problem, `max|r|` in the units of y.
    pub(super) fn size_of(&self, residual: &[R]) -> f64 {
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
        let columns = self.columns.into_values();
        let part = |of: fn(&R) -> f64| columns.iter().map(|column| column.iter().map(of).collect()).collect();
        let observables_low = if R::HAS_LOW { part(|value| value.low()) } else { Vec::new() };
        Flow { status, stats, observables: part(|value| value.to_f64()), observables_low, ..self.flow }
    }
}

/// A number at the reference, and what a state adds to it.
fn sum<R: Real>((reference, delta): (&DoubleDouble, &R)) -> DoubleDouble {
    *reference + DoubleDouble::from_parts(delta.to_f64(), delta.low())
}

/// `max|r|`. Terms that overflow have no sum, and NaN is not to be dropped for it.
fn largest<R: Real>(residuals: impl Iterator<Item = R>) -> R {
    residuals.fold(R::ZERO, |most, r| {
        let size = if r.to_f64().is_nan() { R::from_f64(f64::INFINITY) } else { r.abs() };
        if size > most { size } else { most }
    })
}

/// Room for `len` more numbers.
fn extend(values: &mut Vec<f64>, len: usize) -> &mut [f64] {
    let start = values.len();
    values.resize(start + len, 0.0);
    &mut values[start..]
}
