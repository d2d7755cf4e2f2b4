//! The rows of a flow in the raw weights: states in, columns of a [`Flow`] out. Plain loops, as in the flow itself.

use super::clock::Clock;
use super::prepare::peak;
use super::problem::Problem;
use crate::flow::observable::{Columns, Row};
use crate::flow::outcome::{Flow, Options, Stats, Status};
use crate::linalg::Rows;

/// Rows so far.
#[derive(Debug)]
pub(super) struct RawTable<'p> {
    problem: &'p Problem<'p>,
    /// The part of y that can be fitted.
    targets: &'p [f64],
    clock: Clock,
    /// The times of the rows, where they are given.
    given: Option<&'p [f64]>,
    columns: Columns<'p>,
    /// Keep the weights of every row, not of the last one only.
    save_beta: bool,
    /// A row had a coefficient beyond the largest float: neither it nor any later one is written.
    overflown: bool,
    flow: Flow,
}

impl<'p> RawTable<'p> {
    pub(super) fn new(problem: &'p Problem<'p>, targets: &'p [f64], options: &Options<'p>, clock: Clock) -> Self {
        Self {
            problem,
            targets,
            clock,
            given: options.times,
            columns: Columns::new(options.observables, options.end),
            save_beta: options.save_beta,
            overflown: false,
            flow: Flow::empty(),
        }
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.flow.times.len()
    }

    /// A time of the run in that of the caller.
    pub(super) fn time(&self, tau: f64) -> f64 {
        self.clock.to_caller(tau)
    }

    /// True if a row could not be written, for a coefficient beyond the largest float, and none will be any more.
    pub(super) fn is_overflown(&self) -> bool {
        self.overflown
    }

    /// One more row, unless binary64 cannot hold it.
    pub(super) fn push(&mut self, tau: f64, state: &[f64]) {
        let Problem { x, y, start, .. } = *self.problem;
        let beta = predictor(state);
        self.overflown |= !beta.iter().all(|beta| beta.is_finite());
        if self.overflown {
            return;
        }
        let mut r = vec![0.0; x.n()];
        residual(x, y, &beta, &mut r);
        let loss = r.iter().map(|r| r * r).sum::<f64>() / (2.0 * x.n() as f64);
        let given = self.given.and_then(|given| given.get(self.len()));
        self.flow.times.push(given.map_or_else(|| self.time(tau), |t| *t));
        self.flow.loss.push(loss);
        let largest = || {
            let mut r = vec![0.0; x.n()];
            residual(x, self.targets, &beta, &mut r);
            peak(&r)
        };
        let potential = || start.divergence(&beta);
        self.columns.push(&Row { beta: &beta, loss, residual: &largest, potential: &potential });
        if !self.save_beta {
            self.flow.beta.clear();
            self.flow.parameters.clear();
        }
        self.flow.beta.extend(beta);
        self.flow.parameters.extend_from_slice(state);
    }

    /// The result.
    pub(super) fn finish(self, status: Status, stats: Stats) -> Flow {
        let status = if self.overflown { Status::StepTooSmall } else { status };
        Flow { status, stats, observables: self.columns.into_values(), ..self.flow }
    }
}

/// Where u₊, v₊, u₋, v₋ start in the state.
pub(super) fn split(state: &[f64]) -> [&[f64]; 4] {
    let d = state.len() / 4;
    [&state[..d], &state[d..2 * d], &state[2 * d..3 * d], &state[3 * d..]]
}

/// β of the weights.
pub(super) fn predictor(state: &[f64]) -> Vec<f64> {
    let [u_plus, v_plus, u_minus, v_minus] = split(state);
    let products = u_plus.iter().zip(v_plus).zip(u_minus.iter().zip(v_minus));
    products.map(|((up, vp), (um, vm))| up * vp - um * vm).collect()
}

/// `y − Xβ`, sums in the order of the columns.
pub(super) fn residual(x: Rows<'_>, y: &[f64], beta: &[f64], out: &mut [f64]) {
    for (n, (out, y)) in out.iter_mut().zip(y).enumerate() {
        *out = y - x.row(n).iter().zip(beta).map(|(x, beta)| x * beta).sum::<f64>();
    }
}
