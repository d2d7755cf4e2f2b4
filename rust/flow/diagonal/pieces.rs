//! A step as polynomials for rows whose times are known only when the run is over. Knows the dual flow, no method.
//!
//! The dense output `u` of a Radau step is as accurate as the estimate that was controlled, far less than its end: 1e-6 of
//! the largest coefficient has been seen at `rtol` 1e-10. How good it is, its derivative says: the defect `δ = u' − f(u)`
//! vanishes at the stages, and `u` is off by about `h δ` times [`OF_DEFECT`] between them. In a stiff direction an error
//! decays within the step, and that is far too much; so where it is more than rows may be off by, the state at one time
//! inside is found by a step of its own, and says what `u` is off by indeed. Where that is too much, too, the step is kept
//! in halves, through states each of which is the end of a step, and so on with the halves.

use super::dual::DualFlow;
use super::number::Number;
use super::prepare::peak;
use crate::flow::numbers::Path;
use crate::ode::{Step, System};

/// Times inside a step, away from the stages of 5 and 7 and most of the others, at which the defect is looked at.
const TIMES: [f64; 6] = [0.0, 0.08, 0.22, 0.45, 0.66, 0.86];
/// `max_θ |∫ ∏(s − c_i) ds|` over `|∏(θ − c_i)|` at these times for 7 stages, rounded up.
const OF_DEFECT: [f64; 6] = [0.02, 0.1, 0.1, 0.1, 0.1, 0.2];
/// The stages of 7 next to them, where that integral is largest: the error of `u`, which it is, is looked at there.
const LARGEST: [f64; 6] = [0.15, 0.15, 0.33, 0.56, 0.77, 0.93];
/// Where a polynomial through states of their own is looked at, as a part of its interval: between two of its nodes.
const BETWEEN_NODES: f64 = 0.3;
/// How often a step is halved at most.
const DEPTH: u32 = 4;

/// A piece, or `None` where the run is to end.
type Piece<T> = Option<T>;

/// The step from the reference of `flow`, each piece from where the last one ends. `interrupted` is polled; once it is true
/// the dense output has to do.
pub(super) fn pieces<'a, R: Number>(
    flow: &mut DualFlow<'a, R>,
    step: &mut Step<'_, R, DualFlow<'a, R>>,
    interrupted: &mut dyn FnMut() -> bool,
) -> Vec<R::Segment> {
    let (start, n) = (step.t_old(), flow.x.n());
    let (nodes, length) = (R::Segment::nodes(), step.t_new - start);
    let mut samples = vec![R::ZERO; nodes.len() * n];
    for (node, sample) in nodes.iter().zip(samples.chunks_exact_mut(n)) {
        if *node == 1.0 {
            sample.copy_from_slice(step.y_new());
        } else {
            step.at(flow, start + R::from_f64(*node) * length, sample);
        }
    }
    let scale = Scale::of(flow, step);
    let (worst, estimate) = scale.largest_defect(flow, step, &nodes, &samples);
    let whole = R::Segment::new(start, step.t_new, samples);
    let mut cut = Cut { flow, step, interrupted, scale, nodes, found: Vec::new() };
    let from = (start, vec![R::ZERO; n]);
    if estimate > 1.0 && cut.is_off(&whole, &from, worst).is_some_and(|off| off) {
        let halves = cut.halves(&from, cut.step.t_new, DEPTH);
        if halves.is_some() {
            let found = core::mem::take(&mut cut.found);
            cut.flow.visit(cut.step.y_new());
            return found;
        }
    }
    cut.flow.visit(cut.step.y_new());
    vec![whole]
}

/// A step that is being cut.
struct Cut<'c, 's, 'a, R: Number> {
    flow: &'c mut DualFlow<'a, R>,
    step: &'c mut Step<'s, R, DualFlow<'a, R>>,
    interrupted: &'c mut dyn FnMut() -> bool,
    scale: Scale,
    nodes: Vec<f64>,
    found: Vec<R::Segment>,
}

impl<R: Number> Cut<'_, '_, '_, R> {
    /// Keep what lies between a state and a later time in two pieces or more.
    fn halves(&mut self, from: &(R, Vec<R>), end: R, depth: u32) -> Piece<()> {
        let middle = from.0 + R::from_f64(0.5) * (end - from.0);
        let next = self.keep(from, middle, depth - 1)?;
        self.keep(&next, end, depth - 1)?;
        Some(())
    }

    /// Keep it in one piece if that is good enough; the state at its end.
    fn keep(&mut self, from: &(R, Vec<R>), end: R, depth: u32) -> Piece<(R, Vec<R>)> {
        let n = from.1.len();
        let mut samples = vec![R::ZERO; self.nodes.len() * n];
        for (k, sample) in samples.chunks_exact_mut(n).enumerate() {
            let node = self.nodes[k];
            let t = if node == 1.0 { end } else { from.0 + R::from_f64(node) * (end - from.0) };
            self.exactly(t, sample)?;
        }
        let last = samples[samples.len() - n..].to_vec();
        for sample in samples.chunks_exact_mut(n) {
            sample.iter_mut().zip(&from.1).for_each(|(state, from)| *state -= *from);
        }
        let segment = R::Segment::new(from.0, end, samples);
        if depth > 0 && self.is_off(&segment, from, BETWEEN_NODES)? {
            self.halves(from, end, depth)?;
        } else {
            self.found.push(segment);
        }
        Some((end, last))
    }

    /// Whether a polynomial from a state is off by more than is allowed at a part of its interval.
    fn is_off(&mut self, segment: &R::Segment, from: &(R, Vec<R>), part: f64) -> Piece<bool> {
        let (start, end) = segment.span();
        let t = start + R::from_f64(part) * (end - start);
        let (mut here, mut known) = (vec![R::ZERO; from.1.len()], vec![R::ZERO; from.1.len()]);
        segment.at(t, &mut here);
        self.exactly(t, &mut known)?;
        let error = here.iter().zip(&from.1).zip(&known).map(|((u, from), y)| (*u + *from - *y).to_f64());
        Some(self.scale.visible(self.flow, &error.collect::<Vec<_>>()) > 1.0)
    }

    /// The state at a time, as the end of a step of its own.
    fn exactly(&mut self, t: R, state: &mut [R]) -> Piece<()> {
        self.step.refined_at(self.flow, t, state, self.interrupted).then_some(())
    }
}

/// What is allowed: the larger S of the two ends, over the largest coefficient of the two times what rows may be off by.
struct Scale(Vec<f64>);

impl Scale {
    fn of<'a, R: Number>(flow: &mut DualFlow<'a, R>, step: &Step<'_, R, DualFlow<'a, R>>) -> Self {
        flow.visit(step.y_old());
        let (before, size) = (flow.here.slope.clone(), peak(&flow.here.beta));
        flow.visit(step.y_new());
        let size = R::BETWEEN * peak(&flow.here.beta).max(size);
        Self(before.iter().zip(&flow.here.slope).map(|(before, after)| before.max(*after) / size).collect())
    }

    /// What an error `e` of the state does to β, `max_i S_i |x_iᵀe|`, in units of what is allowed.
    fn visible<R: Number>(&self, flow: &DualFlow<'_, R>, e: &[f64]) -> f64 {
        let mut shift = vec![0.0; flow.x.d()];
        flow.x.apply_transposed_many(e, &mut shift);
        self.0.iter().zip(&shift).fold(0.0, |off: f64, (scale, shift)| off.max(scale * shift.abs()))
    }

    /// Where the polynomial through `samples` is off most, as a part of the step, and by how much: what its defect says.
    fn largest_defect<'a, R: Number>(
        &self,
        flow: &mut DualFlow<'a, R>,
        step: &Step<'_, R, DualFlow<'a, R>>,
        nodes: &[f64],
        samples: &[R],
    ) -> (f64, f64) {
        let (n, length) = (flow.x.n(), step.t_new - step.t_old());
        let segment = R::Segment::new(R::ZERO, R::ONE, samples.to_vec());
        let (mut state, mut slope) = (vec![R::ZERO; n], step.dy_old().to_vec());
        let each = TIMES.iter().zip(&OF_DEFECT).zip(&LARGEST).map(|((theta, factor), largest)| {
            if *theta > 0.0 {
                segment.at(R::from_f64(*theta), &mut state);
                flow.rhs(step.t_old() + R::from_f64(*theta) * length, &state, &mut slope);
            }
            let mut defect: Vec<f64> = slope.iter().map(|slope| -(length * *slope).to_f64()).collect();
            for (weight, sample) in slope_weights(nodes, *theta).iter().zip(samples.chunks_exact(n)) {
                defect.iter_mut().zip(sample).for_each(|(defect, state)| *defect += weight * state.to_f64());
            }
            (*largest, factor * self.visible(flow, &defect))
        });
        each.fold((0.0, 0.0), |most, each| if each.1 > most.1 { each } else { most })
    }
}

/// Weights of the values at `nodes` in the slope of the polynomial through them at `theta`, its first node or none of them:
/// `l_j'(θ) = l_j(θ) Σ_{m≠j} 1/(θ − θ_m)`, at a node the limit of that.
fn slope_weights(nodes: &[f64], theta: f64) -> Vec<f64> {
    let each = |j: usize| {
        let others = || (0..nodes.len()).filter(move |m| *m != j);
        // The sum over what is left out of the product, in place of a sum of quotients that may divide by 0.
        let without = |k: usize| {
            let product = others().filter(move |m| *m != k).map(|m| (theta - nodes[m]) / (nodes[j] - nodes[m]));
            product.product::<f64>() / (nodes[j] - nodes[k])
        };
        others().map(without).sum()
    };
    (0..nodes.len()).map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_the_slope_are_those_of_powers() {
        // Eight Chebyshev points: weights of up to 2·7² at an end, a few roundings each.
        let nodes: Vec<f64> =
            (0..8).map(|j| 0.5 * (1.0 - (core::f64::consts::PI * f64::from(j) / 7.0).cos())).collect();
        for theta in TIMES {
            let weights = slope_weights(&nodes, theta);
            for k in 0..8 {
                let found: f64 = weights.iter().zip(&nodes).map(|(w, node)| w * node.powi(k)).sum();
                let truth = if k == 0 { 0.0 } else { f64::from(k) * theta.powi(k - 1) };
                assert!((found - truth).abs() < 1e-12, "the slope of θ^{k} at {theta} is {truth}, not {found}");
            }
        }
    }
}
