//! Radau IIA of order 5, 9, 13, 17 and 21: the stepper for stiff problems.
//!
//! A step solves the collocation equations by simplified Newton ([`newton`](super::newton)), estimates its error, and
//! keeps the collocation polynomial for dense output and for the first guess of the next step. The Jacobian is kept
//! while Newton converges fast, the number of stages follows Newton's convergence rate ([`order`](super::order)).
//!
//! A new Jacobian is that of the middle stage as guessed: simplified Newton takes one for all stages, and no stage is as
//! far from the middle as the last one is from the start. (A fifth to a quarter fewer iterations on the dual flows.)
//!
//! # Error estimate
//! The stages' slopes, extrapolated to the left end by the derivative of the collocation polynomial `p`, should give
//! the slope there. The defect, filtered so that stiff components do not spoil it, is an embedded formula of order `s`:
//! `err = (γ/h·I − J)⁻¹ (f(t, y) − p'(0))`, and in the first step and after a rejection, where that may be far too
//! large, `err = (γ/h·I − J)⁻¹ (f(t, y + err) − p'(0))` once more. What the same defect makes of the end of the step must be
//! within the tolerance too ([`radau_error`](super::radau_error)): errors follow the tolerance where the order is reduced.
//!
//! # Sources
//! Hairer & Wanner, *Solving Ordinary Differential Equations II*, 2nd ed., IV.8: error (8.19), (8.20); step (8.21).
//! Hairer & Wanner, *J. Comput. Appl. Math.* 111 (1999) 93–111.

use super::collocation::Collocation;
use super::controller::StepControl;
use super::newton::{Convergence, Equations, Stages};
use super::options::Options;
use super::order::OrderSelection;
use super::outcome::Stats;
use super::radau_error::{Defect, Solved};
use super::radau_method::RadauMethod;
use super::stepper::{Context, Segment, Start, Stepper, Trial};
use super::system::{Implicit, ShiftedSolver};
use crate::real::Real;

/// Where the Jacobian at hand was evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Jacobian {
    /// At the start of this step.
    Fresh,
    /// In the middle of this step as it was guessed.
    Guessed,
    /// For an earlier step.
    Kept,
    /// Nowhere useful.
    Stale,
}

/// How the last trial went, as far as the next decision needs it.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    iterations: u32,
    rate: f64,
    /// Newton failed since the last accepted step.
    trouble: bool,
    /// The step was tried before.
    retried: bool,
}

/// Radau IIA with order selection. `J` solves the shifted systems.
#[derive(Debug)]
pub struct Radau<R, J> {
    /// Those of 3, 5, … stages, up to the most that suit the tolerance.
    methods: Vec<RadauMethod<R>>,
    /// Which of them.
    current: usize,
    select: OrderSelection,
    reuse_below: f64,
    solver: J,
    jacobian: Jacobian,
    /// The method and the step that the shifts of `solver` are prepared for.
    prepared: Option<(usize, f64)>,
    stages: Stages<R>,
    collocation: Collocation<R>,
    /// Step and method of the collocation polynomial.
    last: (R, usize),
    end: Vec<R>,
    slope: Vec<R>,
    defect: Defect,
    memory: Memory,
}

impl<R: Real, J: ShiftedSolver> Radau<R, J> {
    /// A stepper for `system`, which need not be the one it is used with later but of the same dimension.
    #[must_use]
    pub fn new<S: Implicit<R, Solver = J>>(system: &S, options: &Options) -> Self {
        let n = system.dim();
        let select = OrderSelection::new(options.min_stages, options.max_stages, options.rtol);
        let suits = |stages: &u32| *stages as usize <= select.first();
        Self {
            methods: [3, 5, 7, 9, 11].into_iter().filter(suits).map(|s| RadauMethod::new(s, options.rtol)).collect(),
            current: (select.first() - 3) / 2,
            select,
            reuse_below: options.reuse_jacobian_below,
            solver: system.new_solver(),
            jacobian: Jacobian::Stale,
            prepared: None,
            stages: Stages::new(n, select.first()),
            collocation: Collocation::new(n, select.first()),
            last: (R::ONE, 0),
            end: vec![R::ZERO; n],
            slope: vec![R::ZERO; n],
            defect: Defect::new(n),
            memory: Memory::default(),
        }
    }

    /// Order of the method the next step will be tried with: 5, 9, 13, 17 or 21.
    #[must_use]
    pub fn order(&self) -> u32 {
        2 * self.methods[self.current].order - 1
    }

    /// Make the shifts ready. False if one of the matrices is singular or the shifts are not finite.
    fn prepare(&mut self, method: usize, h: f64) -> bool {
        if self.prepared == Some((method, h)) {
            return true;
        }
        self.prepared = None;
        let tableau = &self.methods[method].tableau;
        let ready = (tableau.real_shift / h).is_finite()
            && self.solver.prepare_real(tableau.real_shift / h)
            && tableau
                .complex_shifts
                .iter()
                .enumerate()
                .all(|(slot, (re, im))| (im / h).is_finite() && self.solver.prepare_complex(slot, re / h, im / h));
        if ready {
            self.prepared = Some((method, h));
        }
        ready
    }

    /// One attempt with the Jacobian at hand.
    fn newton<S: Implicit<R, Solver = J>>(
        &mut self,
        method: usize,
        system: &mut S,
        start: Start<'_, R>,
        h: R,
        context: &mut Context<'_>,
    ) -> Convergence {
        if !self.prepare(method, h.to_f64()) {
            return Convergence::Failed { factor: 0.5 };
        }
        let equations = Equations { method: &self.methods[method], start, h };
        self.stages.solve(&equations, system, &mut self.solver, context)
    }

    /// First guess of the increments: the last collocation polynomial, extrapolated, or nothing.
    ///
    /// Extrapolated eight times its length it may be far off, and Newton fails. Beginning once more from nothing before
    /// the step is shortened was tried on flows that come in bursts: more evaluations, and no fewer rejections.
    fn guess(&mut self, h: R) {
        let tableau = &self.methods[self.current].tableau;
        if self.collocation.is_empty() {
            self.stages.z.fill(R::ZERO);
        } else {
            self.collocation.extrapolate(h / self.last.0, &tableau.nodes, &mut self.stages.z);
        }
    }

    /// A new Jacobian: in the middle of the step as guessed, or at its start where there is no guess, or one that did not
    /// hold. False if it cannot be evaluated.
    fn find_jacobian<S: Implicit<R, Solver = J>>(
        &mut self,
        system: &mut S,
        start: Start<'_, R>,
        h: R,
        stats: &mut Stats,
    ) -> bool {
        self.prepared = None;
        self.jacobian = Jacobian::Stale;
        if !(self.collocation.is_empty() || self.memory.retried) {
            let tableau = &self.methods[self.current].tableau;
            let (middle, n) = (tableau.stages() / 2, start.y.len());
            let increment = &self.stages.z[middle * n..(middle + 1) * n];
            for ((state, y), z) in self.end.iter_mut().zip(start.y).zip(increment) {
                *state = *y + *z;
            }
            stats.jacobians += 1;
            if system.jacobian(start.t + tableau.nodes[middle] * h, &self.end, &mut self.solver) {
                self.jacobian = Jacobian::Guessed;
                return true;
            }
        }
        stats.jacobians += 1;
        let found = system.jacobian(start.t, start.y, &mut self.solver);
        if found {
            self.jacobian = Jacobian::Fresh;
        }
        found
    }

    /// The scaled error of the step in `stages`: the larger of what its two estimates say, each as if it were of order `s`.
    fn estimate<S: Implicit<R, Solver = J>>(
        &mut self,
        system: &mut S,
        start: Start<'_, R>,
        h: R,
        stats: &mut Stats,
    ) -> f64 {
        let RadauMethod { tableau, order, allowance, .. } = &self.methods[self.current];
        let step = Solved { tableau, h, increments: &self.stages.z };
        let filtered = self.defect.filtered(step, start.dy, &mut self.solver);
        stats.newton_systems += 1;
        let mut size = system.error_norm(filtered) / allowance;
        let first = self.collocation.is_empty() || self.memory.retried;
        if first && size >= 1.0 && size.is_finite() {
            for ((shifted, y), e) in self.end.iter_mut().zip(start.y).zip(filtered) {
                *shifted = *y + R::from_f64(*e);
            }
            system.rhs(start.t, &self.end, &mut self.slope);
            stats.rhs += 1;
            let filtered = self.defect.filtered(step, &self.slope, &mut self.solver);
            stats.newton_systems += 1;
            size = system.error_norm(filtered) / allowance;
        }
        // Negated, so that what is not a number comes out as it is.
        if !(size <= 1.0) {
            return size;
        }
        let at_end = system.error_norm(self.defect.at_end(step, &mut self.solver));
        stats.newton_systems += 1 + tableau.complex_shifts.len() as u64;
        let order = f64::from(*order);
        let at_end = at_end.powf((order + 1.0) / (2.0 * order));
        if at_end <= size { size } else { at_end }
    }
}

impl<R: Real, S: Implicit<R>> Stepper<R, S> for Radau<R, S::Solver> {
    fn control(&self) -> StepControl {
        let RadauMethod { order, stopping, .. } = self.methods[self.current];
        let most = 2.0 * f64::from(stopping.limit);
        let safety = 0.9 * (1.0 + most) / (f64::from(self.memory.iterations.max(1)) + most);
        StepControl { order, safety, min_factor: 0.2, max_factor: 8.0, predictive: true, first: f64::INFINITY }
    }

    fn attempt(&mut self, system: &mut S, start: Start<'_, R>, h: R, context: &mut Context<'_>) -> Trial {
        let mut result = Convergence::Failed { factor: 0.5 };
        // A Jacobian from an earlier step gets one chance, and only one made for this step may shorten it; a guess that
        // did not hold is as bad for the shorter step.
        for _ in 0..2 {
            self.guess(h);
            if self.jacobian == Jacobian::Stale && !self.find_jacobian(system, start, h, context.stats) {
                break;
            }
            result = self.newton(self.current, system, start, h, context);
            if !matches!(result, Convergence::Failed { .. }) || self.jacobian == Jacobian::Fresh {
                break;
            }
            let guessed = self.jacobian == Jacobian::Guessed;
            self.jacobian = Jacobian::Stale;
            if guessed {
                break;
            }
        }
        let trial = match result {
            Convergence::Interrupted => return Trial::Interrupted,
            Convergence::Failed { factor } => {
                self.memory.trouble = true;
                Trial::Failed { factor }
            }
            Convergence::Converged { iterations, rate } => {
                (self.memory.iterations, self.memory.rate) = (iterations, rate);
                let error = self.estimate(system, start, h, context.stats);
                let increment = self.stages.end(self.methods[self.current].tableau.stages());
                for ((end, y), z) in self.end.iter_mut().zip(start.y).zip(increment) {
                    *end = *y + *z;
                }
                if error > 1.0 && self.jacobian == Jacobian::Kept {
                    self.jacobian = Jacobian::Stale;
                }
                Trial::Computed { error }
            }
        };
        self.memory.retried = true;
        trial
    }

    fn end(&self) -> &[R] {
        &self.end
    }

    fn accept(&mut self, _system: &mut S, segment: &Segment<'_, R>, growth: f64) -> f64 {
        let tableau = &self.methods[self.current].tableau;
        self.collocation.set(&tableau.nodes, &self.stages.z);
        self.last = (segment.h, self.current);
        let Memory { rate, trouble, .. } = self.memory;
        let keep = rate <= self.reuse_below;
        self.jacobian = if keep { Jacobian::Kept } else { Jacobian::Stale };
        self.current = (self.select.next(tableau.stages(), rate, trouble) - 3) / 2;
        (self.memory.trouble, self.memory.retried) = (false, false);
        // A slightly longer step is not worth new factorizations (Hairer's program: factors in [1, 1.2]).
        if keep && self.current == self.last.1 && (1.0..=1.2).contains(&growth) { 1.0 } else { growth }
    }

    fn interpolate(&mut self, _: &mut S, segment: &Segment<'_, R>, theta: R, out: &mut [R], _: &mut Stats) {
        out.copy_from_slice(segment.start.y);
        self.collocation.add_to(theta, out);
    }

    fn refine(
        &mut self,
        system: &mut S,
        segment: &Segment<'_, R>,
        theta: R,
        out: &mut [R],
        context: &mut Context<'_>,
    ) -> bool {
        let method = self.last.1;
        let Self { methods, collocation, stages, .. } = self;
        let n = out.len();
        stages.z.fill(R::ZERO);
        for (c, z) in methods[method].tableau.nodes.iter().zip(stages.z.chunks_exact_mut(n)) {
            collocation.add_to(theta * *c, z);
        }
        // Begun from the dense output, not from an extrapolation: the rate of the step says nothing about this one.
        self.stages.forget_rate();
        let result = self.newton(method, system, segment.start, theta * segment.h, context);
        self.stages.forget_rate();
        let increment = self.stages.end(self.methods[method].tableau.stages());
        for ((out, y), z) in out.iter_mut().zip(segment.start.y).zip(increment) {
            *out = *y + *z;
        }
        matches!(result, Convergence::Converged { .. })
    }
}
