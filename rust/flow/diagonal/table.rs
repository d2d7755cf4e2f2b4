//! The rows of the result: states of the reduced flow in, columns of a [`Flow`] out. Knows no integrator.

use super::prepare::{Prepared, peak};
use super::reference::Reference;
use crate::flow::outcome::{Flow, Stats, Status};
use crate::linalg::Rows;
use crate::real::{DoubleDouble, Real};

/// States that go through the data together.
const BATCH: usize = 16;

/// Rows so far.
#[derive(Debug)]
pub(super) struct Table<'p> {
    prepared: &'p Prepared<'p>,
    original: Rows<'p>,
    flow: Flow,
}

impl<'p> Table<'p> {
    pub(super) fn new(prepared: &'p Prepared<'p>, original: Rows<'p>) -> Self {
        Self { prepared, original, flow: Flow::empty() }
    }

    /// One row for each of the reduced `times`: the states `ν_ref + Δν`, `Δν` one after another in `states`.
    pub(super) fn push(&mut self, reference: &Reference, times: &[f64], states: &[f64]) {
        let x = self.prepared.x();
        let (n, d) = (x.n(), x.d());
        for (times, states) in times.chunks(BATCH).zip(states.chunks(BATCH * n)) {
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
            for (k, time) in times.iter().enumerate() {
                let residual = &mut residual[k * n..(k + 1) * n];
                residual.iter_mut().zip(&self.prepared.targets).for_each(|(r, y)| *r = y - *r);
                self.flow.times.push(self.prepared.time(*time));
                self.flow.loss.push(self.prepared.loss(residual));
                self.flow.residual.push(self.prepared.in_units_of_y(peak(residual)));
                self.push_vectors(
                    reference,
                    &states[k * n..(k + 1) * n],
                    &g[k * d..(k + 1) * d],
                    &beta[k * d..(k + 1) * d],
                );
            }
        }
    }

    /// β, G and ν of one row.
    fn push_vectors(&mut self, reference: &Reference, state: &[f64], g: &[f64], beta: &[f64]) {
        let flow = &mut self.flow;
        let row = extend(&mut flow.beta, self.original.d());
        self.prepared.predictor(beta, row);
        let sum = |(reference, delta): (&DoubleDouble, &f64)| *reference + DoubleDouble::from_f64(*delta);
        let dual: Vec<DoubleDouble> = reference.g().iter().zip(g).map(sum).collect();
        let (high, low): (Vec<f64>, Vec<f64>) = dual.iter().map(|g| (g.to_f64(), g.low())).unzip();
        self.prepared.all_columns(&high, extend(&mut flow.dual, self.original.d()));
        self.prepared.all_columns(&low, extend(&mut flow.dual_low, self.original.d()));
        let nu: Vec<DoubleDouble> = reference.nu().iter().zip(state).map(sum).collect();
        let high = extend(&mut flow.multipliers, self.original.n());
        let low = extend(&mut flow.multipliers_low, self.original.n());
        self.prepared.multipliers(&nu, high, low);
    }

    /// The result.
    pub(super) fn finish(self, status: Status, stats: Stats) -> Flow {
        Flow { status, stats, ..self.flow }
    }
}

/// Room for `len` more numbers.
fn extend(values: &mut Vec<f64>, len: usize) -> &mut [f64] {
    let start = values.len();
    values.resize(start + len, 0.0);
    &mut values[start..]
}
