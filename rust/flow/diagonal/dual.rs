//! The dual flow `ν' = r/N`, `r = y − Xβ(Xᵀν)`, and its Jacobian `−X diag(S) Xᵀ / N`, as a system to integrate.
//!
//! N-dimensional, exact, and the gradient flow of the convex `Ψ(ν) = ¼ΣS_i(Xᵀν) − yᵀν` divided by N (\[A\] Theorem 1,
//! Appendix A). The state that is integrated is `Δν = ν − ν_ref`: it is 0 at the start of every step.

use super::number::{Number, Stages};
use super::prepare::Prepared;
use super::reference::Reference;
use super::weights_of_error::{ErrorWeights, Seen};
use crate::linalg::{Rows, SquareMatrix, SymmetricTridiagonal, WeightedGram, norm};
use crate::ode::{Implicit, ShiftedSolver, System};

/// The flow, its reference, and everything known at one state: the start of the step at hand.
#[derive(Debug)]
pub(super) struct DualFlow<'a, R: Number = f64> {
    pub(super) x: Rows<'a>,
    pub(super) y: &'a [R],
    pub(super) samples: f64,
    pub(super) reference: Reference,
    pub(super) here: Point<R>,
    pub(super) norm: ErrorWeights,
    gram: WeightedGram,
    jacobian: SquareMatrix,
    jacobian_known: bool,
    stages: R::Stages,
    /// For roundings of a slope, a shift, a predictor and a residual to binary64.
    room: [Vec<f64>; 4],
}

/// What is known at one state.
#[derive(Clone, Debug, Default)]
pub(super) struct Point<R = f64> {
    /// Δν; NaN if nothing is known yet.
    state: Vec<R>,
    /// z = 2XᵀΔν.
    pub(super) shift: Vec<R>,
    /// β.
    pub(super) beta: Vec<R>,
    /// S.
    pub(super) slope: Vec<f64>,
    /// r.
    pub(super) residual: Vec<R>,
}

impl<'a, R: Number> DualFlow<'a, R> {
    /// At the tolerances `rtol` of β and of the residual.
    pub(super) fn new(prepared: &'a Prepared<'_, R>, reference: Reference, rtol: (f64, f64)) -> Self {
        let x = prepared.x();
        let (n, d) = (x.n(), x.d());
        let here = Point {
            state: vec![R::from_f64(f64::NAN); n],
            shift: vec![R::ZERO; d],
            beta: vec![R::ZERO; d],
            slope: vec![0.0; d],
            residual: vec![R::ZERO; n],
        };
        let targets: Vec<f64> = prepared.targets.iter().map(|y| y.to_f64()).collect();
        Self {
            x,
            y: &prepared.targets,
            samples: prepared.samples,
            reference,
            here,
            norm: ErrorWeights::new(x, &targets, prepared.samples, rtol, R::ULP),
            // Without columns there is nothing to integrate and no Jacobian is asked for.
            gram: WeightedGram::new(n, d.max(1)),
            jacobian: SquareMatrix::zeros(n),
            jacobian_known: false,
            stages: R::Stages::default(),
            room: Default::default(),
        }
    }

    /// How many times the rounding of its exponents β carries at [`DualFlow::here`].
    pub(super) fn amplification(&self) -> f64 {
        let (mut shift, mut beta) = (Vec::new(), Vec::new());
        let shift = R::rounded(&self.here.shift, &mut shift);
        self.reference.amplification(shift, R::rounded(&self.here.beta, &mut beta))
    }

    /// Make [`DualFlow::here`] the state `Δν`.
    pub(super) fn visit(&mut self, state: &[R]) {
        if self.here.state == state {
            return;
        }
        let here = &mut self.here;
        here.state.copy_from_slice(state);
        self.stages.visit(self.x, &self.reference, state, here);
        here.residual.iter_mut().zip(self.y).for_each(|(r, y)| *r = *y - *r);
    }

    /// Move the state into the reference: afterwards `Δν = 0`, and what is known of it stays.
    fn rebase(&mut self, state: &mut [R]) {
        self.visit(state);
        R::advance(&mut self.reference, self.x, state, &self.here.shift);
        self.stages.forget();
        state.fill(R::ZERO);
        self.here.state.fill(R::ZERO);
        self.here.shift.fill(R::ZERO);
    }
}

impl<R: Number> System<R> for DualFlow<'_, R> {
    fn dim(&self) -> usize {
        self.x.n()
    }

    fn rhs(&mut self, _t: R, y: &[R], dy: &mut [R]) {
        self.visit(y);
        let samples = R::from_f64(self.samples);
        dy.iter_mut().zip(&self.here.residual).for_each(|(dy, r)| *dy = *r / samples);
    }

    fn rhs_stages(&mut self, t: &[R], y: &[R], dy: &mut [R]) {
        let samples = R::from_f64(self.samples);
        self.stages.fitted(self.x, &self.reference, y, dy);
        for dy in dy.chunks_exact_mut(self.x.n()) {
            dy.iter_mut().zip(self.y).for_each(|(dy, y)| *dy = (*y - *dy) / samples);
        }
        self.norm.at_times(t, self.stages.reach());
    }

    fn set_error_weights(&mut self, t: R, y: &[R], dy: &[R]) {
        self.visit(y);
        let [slope, shift, beta, residual] = &mut self.room;
        let seen = Seen {
            shift: R::rounded(&self.here.shift, shift),
            beta: R::rounded(&self.here.beta, beta),
            slope: &self.here.slope,
            residual: R::rounded(&self.here.residual, residual),
        };
        self.norm.set(self.x, &self.reference, t, &seen, R::rounded(dy, slope));
    }

    fn error_norm(&mut self, e: &[f64]) -> f64 {
        let mut size = [0.0];
        self.error_norms(e, &mut size);
        size[0]
    }

    fn error_norms(&mut self, e: &[f64], sizes: &mut [f64]) {
        let seen = self.stages.of_errors(self.x, e);
        self.norm.norms(self.x, self.jacobian_known.then_some(&self.jacobian), e, seen, sizes);
    }

    fn inexactness(&self) -> f64 {
        self.stages.inexactness()
    }

    fn accepted(&mut self, _t: R, y: &mut [R]) -> bool {
        self.rebase(y);
        true
    }

    /// The loss of a gradient flow falls. Where rows are 10^100 apart an error in ν that β and the residual of the start
    /// do not show can be any number of e-folds at the end.
    fn admits(&mut self, dy: &[R], _y_new: &[R], dy_new: &[R]) -> bool {
        let size = |slope: &[R]| norm(slope.iter().map(|v| v.to_f64()));
        size(dy_new) <= 2.0 * size(dy) + self.norm.round_off() / self.samples
    }

    fn step_cap(&mut self, _t: R, y: &[R], dy: &[R]) -> f64 {
        self.visit(y);
        let [slope, shift, ..] = &mut self.room;
        let shift = R::rounded(&self.here.shift, shift);
        self.norm.step_cap(self.x, &self.reference, shift, R::rounded(dy, slope))
    }
}

impl<R: Number> Implicit<R> for DualFlow<'_, R> {
    type Solver = Tridiagonal;

    fn jacobian(&mut self, _t: R, y: &[R], solver: &mut Tridiagonal) -> bool {
        // At the guess of a stage it is S that is wanted, not the flow, and no step starts there.
        let slope = if self.here.state == y {
            &self.here.slope
        } else {
            let state = R::rounded(y, &mut self.room[0]);
            self.stages.slope(self.x, &self.reference, state)
        };
        if !slope.iter().all(|s| s.is_finite()) {
            return false;
        }
        self.gram.form(self.x, slope, &mut self.jacobian);
        let factor = -1.0 / self.samples;
        self.jacobian.data_mut().iter_mut().for_each(|h| *h *= factor);
        self.jacobian_known = true;
        solver.0.reduce(&self.jacobian);
        true
    }

    fn new_solver(&self) -> Tridiagonal {
        Tridiagonal(SymmetricTridiagonal::new(self.x.n()))
    }
}

/// Shifted systems with a symmetric Jacobian: `J = QTQᵀ` once, every shift in O(N) between two changes of basis.
#[derive(Debug)]
pub(super) struct Tridiagonal(SymmetricTridiagonal);

impl ShiftedSolver for Tridiagonal {
    fn prepare_real(&mut self, shift: f64) -> bool {
        self.0.factor_real(shift)
    }

    fn prepare_complex(&mut self, slot: usize, re: f64, im: f64) -> bool {
        self.0.factor_complex(slot, re, im)
    }

    fn enter_basis(&mut self, b: &mut [f64]) {
        self.0.to_basis_many(b);
    }

    fn leave_basis(&mut self, b: &mut [f64]) {
        self.0.from_basis_many(b);
    }

    fn solve_real(&mut self, b: &mut [f64]) {
        self.0.solve_real(b);
    }

    fn solve_complex(&mut self, slot: usize, b_re: &mut [f64], b_im: &mut [f64]) {
        self.0.solve_complex(slot, b_re, b_im);
    }
}
