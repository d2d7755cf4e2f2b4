//! A row of a run in span coordinates, and the way back to original samples and features. Knows no integrator.

use super::divergence::Divergence;
use super::modes::Work;
use super::number::{Basis, Number};
use super::prepare::{Prepared, most};
use super::span::{in_span, split};
use crate::flow::recorder::Shown;

/// Shows states of one run.
pub(super) struct SpanRows<'p, R: Number = f64> {
    pub(super) prepared: &'p Prepared<R>,
    /// `D_Q(β, β(0))`, where a theorem gives a Q.
    pub(super) divergence: Option<Divergence<R>>,
}

impl<R: Number> Shown<R> for SpanRows<'_, R> {
    fn show(&mut self, states: &[R], beta: &mut [R], residual: &mut [R]) {
        let Prepared { basis, modes, outside, rest, units, .. } = self.prepared;
        let (m, rank) = (self.prepared.m(), modes.rank());
        let count = states.len() / self.prepared.dim().max(1);
        let (mut q, mut r) = (Vec::with_capacity(count * rank), Vec::with_capacity(count * rank));
        let (mut outer, mut work) = (Vec::with_capacity(count * m), Work::new(rank));
        for state in states.chunks_exact(self.prepared.dim()) {
            let (a, c) = split(state, m);
            in_span(a, c, &mut work.q);
            modes.residual(&mut work);
            q.extend_from_slice(&work.q);
            r.extend_from_slice(&work.r);
            outer.extend_from_slice(a);
        }
        beta.fill(R::ZERO);
        residual.fill(R::ZERO);
        if rank > 0 {
            basis.of_samples(&r, residual);
            if !beta.is_empty() {
                basis.of_features(&q, beta);
            }
        }
        if let Some(outside) = outside
            && !beta.is_empty()
        {
            let mut part = vec![R::ZERO; beta.len()];
            R::combine_many(outside, &outer, &mut part);
            beta.iter_mut().zip(part).for_each(|(beta, part)| *beta += part);
        }
        for row in residual.chunks_exact_mut(basis.samples()) {
            row.iter_mut().zip(rest).for_each(|(r, rest)| *r += *rest);
        }
        R::scale(beta, units.predictor());
        R::scale(residual, units.targets());
    }

    fn largest(&mut self, _beta: &[R], residual: &[R]) -> R {
        let Prepared { basis, modes, rest, units, .. } = self.prepared;
        let mut residual = residual.to_vec();
        if rest.is_empty() && modes.solid == modes.rank() {
            return most(&residual);
        }
        let mut fitted = rest.clone();
        R::scale(&mut fitted, units.targets());
        residual.iter_mut().zip(&fitted).for_each(|(r, rest)| *r -= *rest);
        if modes.solid < modes.rank() {
            // Only what the run waits for.
            let mut work = Work::new(modes.rank());
            basis.to_modes(&residual, &mut work.r);
            modes.wait_for(&mut work);
            basis.of_samples(&work.r, &mut residual);
        }
        most(&residual)
    }

    fn potential(&mut self, beta: &[R]) -> R {
        self.divergence.as_ref().map_or(R::from_f64(f64::NAN), |divergence| divergence(beta))
    }
}
