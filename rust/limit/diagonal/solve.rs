//! The road to the limit: the interior point from far away, dual Newton from near by, each handing over to the other.
//!
//! The dual `Ψ(ν) = ¼ΣS_i(Xᵀν) − yᵀν` is generalized self-concordant, `|Ψ'''| ≤ ‖2XᵀΔ‖_∞ Ψ''`, so Newton damped by
//! `ln(1+m)/m`, `m = 2‖XᵀΔν‖_∞`, descends; from that length a search along the line (`line_search`) goes on to the
//! minimum, for `d` exponentials a trial where a system costs `N²d/2` products. Newton needs many systems only where the
//! exponentials are far from their values at the limit, and there the interior point needs few. Once a full Newton step has moved no
//! exponent by more than [`CHORD`], the same factorization serves further steps (the chord method): each costs two
//! products with the data and gains a factor of about that movement.

use crate::linalg::{Cholesky, SquareMatrix, WeightedGram};

use super::dual::{Point, Step, largest};
use super::exponents::Exponents;
use super::interior_point::{InteriorPoint, mean_magnitude};
use super::line_search;
use super::screen::{self, Screen};
use crate::limit::row_space::RowSpace;

/// Start in Newton where ln κ exceeds the logarithm of the mean |X⁺y| by no less than this.
const FAR: f64 = -12.0;
/// … of wide data, whose systems on the way are those of a few columns; the interior point needs all of them.
const FAR_IF_WIDE: f64 = -25.0;
/// Systems after which Newton from ν = 0 yields to the interior point, whatever it gained: more than it ever needs
/// where it pays, less than the interior point's own count.
const PATIENCE: usize = 15;
/// Whitened residual below which a Newton step is tried from the interior point's multipliers.
const CLOSE: f64 = 1e-2;
/// Movement `m` of the exponents above which a Newton step is damped.
const DAMPED: f64 = 0.1;
/// Movement of the exponents below which the factorization is kept.
const CHORD: f64 = 0.03;
/// Gain that a step has to make for the method to be kept.
const GAIN: f64 = 0.3;
/// Chord steps to one factorization.
pub(super) const CHORDS: usize = 8;

/// Why the road ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The residual is at its round-off floor.
    Floor,
    /// The budget of systems is used up; the best point is returned.
    Exhausted,
    /// The caller asked to stop.
    Interrupted,
}

/// Workspaces that one solve after another can use.
#[derive(Debug)]
pub(super) struct Workspace {
    gram: WeightedGram,
    kernel: SquareMatrix,
    screen: Screen,
    /// Factor of `X diag(S) Xᵀ` in the basis, at a point whose exponents have moved by `moved` since.
    pub cholesky: Cholesky,
    now: Point,
    trial: Point,
    step: Step,
}

/// What a solve found; the point itself stays in the workspace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    pub end: End,
    /// N × N systems formed and factored.
    pub systems: usize,
    /// Largest |Δ(2G)| between the factored kernel and the returned point, if that factor is still in the workspace
    /// and was not shifted.
    pub moved: Option<f64>,
    /// Bound of `|X|ᵀ|δ|` summed over the steps `δ` added to `G` since it was last formed from `ν`.
    pub stepped: f64,
}

impl Workspace {
    pub fn new(space: &RowSpace<'_>) -> Self {
        let (m, d) = (space.dim(), space.samples().d());
        Self {
            gram: WeightedGram::new(m, d),
            kernel: SquareMatrix::zeros(m),
            screen: Screen::default(),
            cholesky: Cholesky::new(m),
            now: Point::new(space),
            trial: Point::new(space),
            step: Step::new(space),
        }
    }

    /// The point last found.
    pub fn point(&self) -> &Point {
        &self.now
    }

    /// Factor the kernel at the point last found. False if it is not numerically positive definite.
    pub fn factor_here(&mut self, space: &RowSpace<'_>) -> bool {
        self.gram.form(space.rows(), &self.now.slope, &mut self.kernel);
        self.cholesky.factor_scaled(&self.kernel) == Some(0.0)
    }

    /// Find the limit. `warm`: multipliers of a neighbour to start Newton from, instead of choosing.
    pub fn solve(
        &mut self,
        space: &RowSpace<'_>,
        start: &Exponents,
        warm: Option<&[f64]>,
        budget: usize,
        interrupted: &dyn Fn() -> bool,
    ) -> Outcome {
        Road::new(self, space, start, warm, budget).travel(interrupted)
    }
}

/// One solve under way.
struct Road<'w, 's, 'd> {
    work: &'w mut Workspace,
    space: &'s RowSpace<'d>,
    start: &'s Exponents,
    unit_of_residual: f64,
    budget: usize,
    systems: usize,
    /// Newton steps are being taken.
    newton: bool,
    /// … from the very start, where damped ones are allowed.
    from_start: bool,
    interior: Option<InteriorPoint<f64>>,
    best: Option<(f64, Vec<f64>)>,
    /// Movement of the exponents since the factored kernel, if there is one without a shift.
    moved: Option<f64>,
    stepped: f64,
    screening: Screening,
}

/// May kernels be formed of the coordinates that matter only?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Screening {
    /// Yes, but the one at hand was not.
    Allowed,
    /// The one at hand was.
    InUse,
    /// No more: a step with such a kernel gained too little.
    Over,
}

impl<'w, 's, 'd> Road<'w, 's, 'd> {
    fn new(
        work: &'w mut Workspace,
        space: &'s RowSpace<'d>,
        start: &'s Exponents,
        warm: Option<&[f64]>,
        budget: usize,
    ) -> Self {
        match warm {
            Some(nu) => work.now.nu.copy_from_slice(nu),
            None => work.now.nu.fill(0.0),
        }
        let wide = space.kernel().is_some() && screen::pays(space.samples());
        let far = if wide { FAR_IF_WIDE } else { FAR };
        let near = warm.is_some() || start.least_root() - mean_magnitude(&space.least).ln() > far;
        let targets = largest(&space.target);
        work.now.evaluate(space, start, 1.0);
        // y = 0 with a biased start: the residual at the start is what has to vanish.
        let unit_of_residual = if targets > 0.0 { targets } else { largest(&work.now.white).max(f64::MIN_POSITIVE) };
        work.now.size /= unit_of_residual;
        Self {
            work,
            space,
            start,
            unit_of_residual,
            budget,
            systems: 0,
            newton: near,
            from_start: near,
            interior: None,
            best: None,
            moved: None,
            stepped: 0.0,
            screening: Screening::Allowed,
        }
    }

    fn travel(mut self, interrupted: &dyn Fn() -> bool) -> Outcome {
        let end = loop {
            if let Some(interior) = self.interior.as_ref().filter(|_| !self.newton) {
                let now = &mut self.work.now;
                now.nu.iter_mut().zip(&interior.lambda).for_each(|(nu, lambda)| *nu = 0.5 * lambda);
                now.evaluate(self.space, self.start, self.unit_of_residual);
                self.moved = None;
                self.stepped = 0.0;
            }
            if self.work.now.at_floor {
                break End::Floor;
            }
            self.remember();
            if self.systems >= self.budget {
                break End::Exhausted;
            }
            if interrupted() {
                break End::Interrupted;
            }
            if (self.newton || self.work.now.size < CLOSE) && self.newton_step() {
                self.chord_steps();
                continue;
            }
            if !self.interior_step() {
                break End::Exhausted;
            }
        };
        if end != End::Floor {
            self.return_to_best();
        }
        let moved = self.moved.filter(|_| self.screening != Screening::InUse);
        Outcome { end, systems: self.systems, moved, stepped: self.stepped }
    }

    fn remember(&mut self) {
        let size = self.work.now.size;
        if self.best.as_ref().is_none_or(|(best, _)| size < *best) {
            self.best = Some((size, self.work.now.nu.clone()));
        }
    }

    /// To the best point seen, formed from its multipliers.
    fn return_to_best(&mut self) {
        if let Some((_, nu)) = self.best.take().filter(|(size, _)| *size < self.work.now.size) {
            self.work.now.nu = nu;
            self.moved = None;
        }
        self.work.now.evaluate(self.space, self.start, self.unit_of_residual);
        self.stepped = 0.0;
    }

    /// Try a (damped) Newton step. False if the interior point should go on instead.
    fn newton_step(&mut self) -> bool {
        loop {
            if self.factor() && self.try_newton() {
                return true;
            }
            // With a kernel of some of the coordinates a step may gain too little; one of all of them tells.
            if self.screening != Screening::InUse {
                self.newton = false;
                self.from_start = false;
                return false;
            }
            self.screening = Screening::Over;
        }
    }

    /// A step with the factorization at hand; taken if it gains enough.
    fn try_newton(&mut self) -> bool {
        let movement = self.newton_direction();
        if movement > DAMPED {
            self.damped_step(movement);
        } else {
            self.full_step();
        }
        let (before, after) = (self.work.now.size, self.work.trial.size);
        let patient = self.newton && self.from_start && self.systems <= PATIENCE;
        let descends = patient && (movement > DAMPED || after < 0.5 * before);
        let gains = self.work.trial.at_floor || descends || after < GAIN * before;
        if gains {
            std::mem::swap(&mut self.work.now, &mut self.work.trial);
            self.newton = true;
            self.moved = self.moved.map(|moved| moved + self.work.step.length * movement);
            self.stepped = 0.0;
        }
        gains
    }

    /// Further steps with the factorization at hand, while it is good enough to gain.
    fn chord_steps(&mut self) {
        for _ in 0..CHORDS {
            if self.work.now.at_floor || self.moved.is_none_or(|moved| moved > CHORD) {
                return;
            }
            let movement = self.newton_direction();
            let work = &mut *self.work;
            work.trial.evaluate_step(&work.now, &work.step, self.space, self.start, self.unit_of_residual);
            if !(self.work.trial.at_floor || self.work.trial.size < GAIN * self.work.now.size) {
                return;
            }
            std::mem::swap(&mut self.work.now, &mut self.work.trial);
            self.moved = self.moved.map(|moved| moved + movement);
            self.stepped += self.space.longest_path(&self.work.step.nu);
        }
    }

    /// Factor the kernel at the current point. At `ν = 0` of a start that is the same in all coordinates it is a
    /// multiple of the kernel `X Xᵀ` that the analysis of the data already formed, and of wide data a few columns make it.
    fn factor(&mut self) -> bool {
        self.systems += 1;
        let work = &mut *self.work;
        let at_start = work.now.nu.iter().all(|nu| *nu == 0.0);
        let (rows, slope, known) = (self.space.rows(), &work.now.slope, self.space.kernel());
        let allowed = known.filter(|_| self.screening != Screening::Over);
        if allowed.is_some() {
            self.screening = Screening::Allowed;
        }
        if let Some(kernel) = known.filter(|_| at_start && self.start.is_uniform()) {
            work.kernel.copy_scaled(kernel, slope[0]);
        } else if allowed.is_some_and(|known| work.screen.form(rows, known, slope, &mut work.kernel)) {
            self.screening = Screening::InUse;
        } else {
            work.gram.form(rows, slope, &mut work.kernel);
        }
        let shift = work.cholesky.factor_scaled(&work.kernel);
        self.moved = (shift == Some(0.0)).then_some(0.0);
        shift.is_some()
    }

    /// `δ = H⁻¹r` at full length into `step`, and the movement of the exponents.
    fn newton_direction(&mut self) -> f64 {
        let work = &mut *self.work;
        work.step.nu.copy_from_slice(&work.now.white);
        work.cholesky.solve(&mut work.step.nu);
        self.space.rows().apply_transposed(&work.step.nu, &mut work.step.g);
        work.step.length = 1.0;
        work.step.movement()
    }

    /// As far along the step as the dual falls. `G` is updated, not formed: such a point is not yet the limit, and where
    /// it seems so it is formed after all. From the interior point a step is tried for its residual, not for the dual.
    fn damped_step(&mut self, movement: f64) {
        let work = &mut *self.work;
        if self.from_start {
            line_search::shorten(&mut work.step, movement, &work.now, &mut work.trial, self.start);
        } else {
            work.step.length = line_search::safe_length(movement);
        }
        work.trial.evaluate_step(&work.now, &work.step, self.space, self.start, self.unit_of_residual);
        if work.trial.at_floor {
            work.trial.evaluate(self.space, self.start, self.unit_of_residual);
        }
    }

    fn full_step(&mut self) {
        let work = &mut *self.work;
        let there = work.now.nu.iter().zip(&work.step.nu).map(|(nu, step)| nu + step);
        work.trial.nu.iter_mut().zip(there).for_each(|(trial, nu)| *trial = nu);
        work.trial.evaluate(self.space, self.start, self.unit_of_residual);
    }

    fn interior_step(&mut self) -> bool {
        let (space, start) = (self.space, self.start);
        let interior = self.interior.get_or_insert_with(|| InteriorPoint::start(space, space.dim(), start));
        self.systems += 1;
        self.moved = None;
        let work = &mut *self.work;
        interior.step(space, &mut work.gram, &mut work.kernel, &mut work.cholesky)
    }
}
