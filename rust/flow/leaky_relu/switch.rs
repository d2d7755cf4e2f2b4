//! Between two segments: who has reached or left a kink, what becomes of it, and what is told of it.

use super::decision::Decision;
use super::guards::{Guard, NOISE, What};
use super::number::{Number, of_exact};
use super::problem::Problem;
use super::run::{Now, Run};
use super::segment::{Pattern, Piece, Side};
use super::smooth::{Work, pull};
use super::stopping::terms;
use super::units::peak;
use crate::flow::outcome::{Event, EventKind, Status};
use crate::linalg::norm;
use crate::real::{DoubleDouble, Real};

impl<R: Number> Run<'_, R> {
    /// The first pattern. A status if the run is over before it begins.
    pub(super) fn start(&mut self, now: &mut Now<R>, problem: &Problem<'_>) -> Option<Status> {
        let (span, d) = (self.span, problem.x.d());
        let (mut on, hidden) = (Vec::new(), of_exact::<R>(&problem.start.hidden()));
        for (neuron, w) in now.state.chunks_exact(self.width()).zip(hidden.chunks_exact(d)) {
            let mut sides = vec![Side::Positive; span.kinks.len()];
            let mut kinks = Vec::new();
            for (g, side) in sides.iter_mut().enumerate() {
                *side = Side::of(span.along(g, &neuron[1..]));
                let row = problem.x.row(span.kinks[g][0].0);
                // A neuron whose weights are all 0 never moves.
                if self.slope < 1.0 && is_zero(row, w) && neuron.iter().any(|v| *v != R::ZERO) {
                    *side = Side::Sliding;
                    kinks.push(g);
                }
            }
            now.pieces.push(Piece::new(span, self.slope, Pattern { sides, held: Vec::new() }));
            on.push(kinks);
        }
        let work = self.visit(now);
        if self.goal.size == 0.0 {
            self.goal.size = peak(&work.residual);
        }
        if peak(&work.residual) == 0.0 {
            return Some(Status::Converged);
        }
        for (i, on) in on.iter().enumerate().filter(|(_, on): &(usize, &Vec<usize>)| !on.is_empty()) {
            if !self.settle(now, i, on, &[], &work) {
                return Some(Status::Ambiguous);
            }
        }
        None
    }

    /// What happens where these guards fire. False if the flow could go on in several ways.
    pub(super) fn decide(&mut self, now: &mut Now<R>, fired: &[Guard]) -> bool {
        let work = self.visit(now);
        for i in 0..now.pieces.len() {
            let mine = || fired.iter().filter(|guard| guard.neuron == i);
            if mine().any(|guard| guard.what == What::Repels) {
                return false;
            }
            let mut pattern = now.pieces[i].pattern.clone();
            let dependent = now.pieces[i].is_dependent();
            let mut ended = false;
            for guard in mine() {
                if let (What::Leaves(side), false) = (guard.what, dependent) {
                    pattern.sides[guard.kink] = side;
                    ended = true;
                    self.record(now.t.to_f64(), i, guard.kink, leaving(side));
                }
            }
            let arriving = self.arriving(now, i, fired, &work);
            if ended {
                now.pieces[i] = Piece::new(self.span, self.slope, pattern);
            }
            if arriving.is_empty() && !(dependent && mine().next().is_some()) {
                continue;
            }
            let sides = &now.pieces[i].pattern.sides;
            let sliding = (0..sides.len()).filter(|g| sides[*g] == Side::Sliding);
            let on: Vec<usize> = sliding.chain(arriving.iter().copied()).collect();
            if !self.settle(now, i, &on, &arriving, &work) {
                return false;
            }
        }
        true
    }

    /// The kinks of neuron i that are reached now: those whose guards have fired, and those that are as good as there.
    fn arriving(&self, now: &Now<R>, i: usize, fired: &[Guard], work: &Work<R>) -> Vec<usize> {
        let (span, piece) = (self.span, &now.pieces[i]);
        let neuron = &now.state[i * self.width()..(i + 1) * self.width()];
        let mut pulled = vec![R::ZERO; span.k];
        pull(span, piece, &work.residual, &mut pulled);
        let size = norm(neuron[1..].iter().map(|v| v.to_f64()));
        let together = R::TOGETHER.min(self.options.rtol);
        (0..span.kinks.len())
            .filter(|g| piece.pattern.sides[*g] != Side::Sliding)
            .filter(|g| {
                if fired.contains(&Guard { neuron: i, kink: *g, what: What::Reaches }) {
                    return true;
                }
                let sign = piece.pattern.sides[*g].sign();
                let p = sign * span.along(*g, &neuron[1..]).to_f64();
                let v = sign * neuron[0].to_f64() * span.along(*g, &pulled).to_f64();
                let near = p <= together * span.kink_norm(*g) * size;
                v < 0.0 && p > 0.0 && near && p <= together * now.t.to_f64() * -v
            })
            .collect()
    }

    /// One decision for the kinks `on` of neuron i. False if the flow could go on in several ways.
    fn settle(&mut self, now: &mut Now<R>, i: usize, on: &[usize], arriving: &[usize], work: &Work<R>) -> bool {
        let sigma = &work.sigma[i * self.span.n..(i + 1) * self.span.n];
        let a = now.state[i * self.width()];
        // Where a is 0 it is about to have the sign of a'.
        let sign = if a == R::ZERO { R::inner(sigma, &work.residual) } else { a }.to_f64();
        let sign = if sign == 0.0 { 0.0 } else { sign.signum() };
        let piece = &now.pieces[i];
        let noise = NOISE * R::ULP * terms(self.span, &self.gains(now), &now.state);
        let decision =
            Decision { span: self.span, slope: self.slope, sign, residual: &work.residual, noise, piece, on };
        let Some(pattern) = decision.settle(arriving) else { return false };
        let old = piece.pattern.sides.clone();
        let is_start = arriving.is_empty() && now.t == R::ZERO && self.events.is_empty();
        for g in on {
            let (before, after) = (old[*g], pattern.sides[*g]);
            if after == Side::Sliding && (arriving.contains(g) || is_start) {
                self.record(now.t.to_f64(), i, *g, |_| EventKind::StartsSliding);
            } else if arriving.contains(g) && after != before {
                self.record(now.t.to_f64(), i, *g, |_| EventKind::Crosses);
            } else if !is_start && before == Side::Sliding && after != Side::Sliding {
                self.record(now.t.to_f64(), i, *g, leaving(after));
            }
        }
        now.pieces[i] = Piece::new(self.span, self.slope, pattern);
        true
    }

    /// One event for every sample of a kink.
    fn record(&mut self, time: f64, neuron: usize, g: usize, kind: impl Fn(f64) -> EventKind) {
        for (sample, factor) in &self.span.kinks[g] {
            self.events.push(Event { time, sample: *sample, neuron, kind: kind(factor.to_f64()) });
        }
    }

    /// The events in the order users see.
    pub(super) fn sorted_events(&self) -> Vec<Event> {
        let mut events = self.events.clone();
        events.sort_by(|a, b| a.time.total_cmp(&b.time).then((a.neuron, a.sample).cmp(&(b.neuron, b.sample))));
        events
    }
}

/// What leaving a kink to a side is for a sample with a factor: antiparallel ones leave to the other.
fn leaving(side: Side) -> impl Fn(f64) -> EventKind {
    move |factor| {
        if side.sign() * factor > 0.0 { EventKind::StopsSlidingPositive } else { EventKind::StopsSlidingNegative }
    }
}

/// `xᵀw = 0` as far as its rounding can tell.
fn is_zero<R: Number>(x: &[f64], w: &[R]) -> bool {
    let (sum, terms) = x.iter().zip(w).fold((DoubleDouble::ZERO, 0.0), |(sum, terms), (x, w)| {
        let w = DoubleDouble::from_parts(w.to_f64(), w.low());
        (sum + DoubleDouble::from_f64(*x) * w, terms + (x * w.high).abs())
    });
    sum.to_f64().abs() <= 4.0 * R::ULP * terms
}
