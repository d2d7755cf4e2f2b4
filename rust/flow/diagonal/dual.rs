//! The dual flow `ν' = r/N`, `r = y − Xβ(Xᵀν)`, and its Jacobian `−X diag(S) Xᵀ / N`, as a system to integrate.
//!
//! N-dimensional, exact, and the gradient flow of the convex `Ψ(ν) = ¼ΣS_i(Xᵀν) − yᵀν` divided by N (\[A\] Theorem 1,
//! Appendix A). The state that is integrated is `Δν = ν − ν_ref`: it is 0 at the start of every step.

use super::prepare::Prepared;
use super::reference::{EXACT_SHIFT, Reference};
use super::shifts::Shifts;
use super::weights_of_error::ErrorWeights;
use crate::linalg::{Rows, SquareMatrix, SymmetricTridiagonal, WeightedGram, norm};
use crate::ode::{Implicit, ShiftedSolver, System};
use crate::real::{DoubleDouble, Real};

/// The flow, its reference, and everything known at one state: the start of the step at hand.
#[derive(Debug)]
pub(super) struct DualFlow<'a> {
    pub(super) x: Rows<'a>,
    pub(super) y: &'a [f64],
    pub(super) samples: f64,
    pub(super) reference: Reference,
    pub(super) here: Point,
    pub(super) norm: ErrorWeights,
    gram: WeightedGram,
    jacobian: SquareMatrix,
    jacobian_known: bool,
    shifts: Shifts,
    stages: Stages,
}

/// What is known at one state.
#[derive(Clone, Debug, Default)]
pub(super) struct Point {
    /// Δν; NaN if nothing is known yet.
    state: Vec<f64>,
    /// z = 2XᵀΔν.
    pub(super) shift: Vec<f64>,
    /// β.
    pub(super) beta: Vec<f64>,
    /// S.
    pub(super) slope: Vec<f64>,
    /// r.
    pub(super) residual: Vec<f64>,
}

/// Workspace for several states.
#[derive(Debug, Default)]
struct Stages {
    /// Of one.
    shift: Vec<f64>,
    beta: Vec<f64>,
    slope: Vec<f64>,
}

impl<'a> DualFlow<'a> {
    /// At the tolerances `rtol` of β and of the residual.
    pub(super) fn new(prepared: &'a Prepared<'_>, reference: Reference, rtol: (f64, f64)) -> Self {
        let x = prepared.x();
        let (n, d) = (x.n(), x.d());
        let here = Point {
            state: vec![f64::NAN; n],
            shift: vec![0.0; d],
            beta: vec![0.0; d],
            slope: vec![0.0; d],
            residual: vec![0.0; n],
        };
        Self {
            x,
            y: &prepared.targets,
            samples: prepared.samples,
            reference,
            here,
            norm: ErrorWeights::new(x, &prepared.targets, prepared.samples, rtol),
            // Without columns there is nothing to integrate and no Jacobian is asked for.
            gram: WeightedGram::new(n, d.max(1)),
            jacobian: SquareMatrix::zeros(n),
            jacobian_known: false,
            shifts: Shifts::default(),
            stages: Stages::default(),
        }
    }

    /// Make [`DualFlow::here`] the state `Δν`.
    pub(super) fn visit(&mut self, state: &[f64]) {
        if self.here.state == state {
            return;
        }
        let here = &mut self.here;
        here.state.copy_from_slice(state);
        self.shifts.of_state(self.x, state, &mut here.shift);
        self.reference.evaluate(&here.shift, &mut here.beta, &mut here.slope);
        self.x.apply_many(&here.beta, &mut here.residual);
        here.residual.iter_mut().zip(self.y).for_each(|(r, y)| *r = y - *r);
    }

    /// Move the state into the reference: afterwards `Δν = 0`, and what is known of it stays.
    fn rebase(&mut self, state: &mut [f64]) {
        self.visit(state);
        advance(&mut self.reference, self.x, state, &self.here.shift);
        state.fill(0.0);
        self.here.state.fill(0.0);
        self.here.shift.fill(0.0);
    }
}

/// `ν_ref += Δν`, given `z = 2XᵀΔν`; `G_ref` once more from `ν_ref`, in double-double, before the rounding errors of the
/// `z` that were added to it could be seen in β.
pub(super) fn advance(reference: &mut Reference, x: Rows<'_>, delta_nu: &[f64], z: &[f64]) {
    if reference.advance(delta_nu, z) > EXACT_SHIFT {
        let mut g = vec![DoubleDouble::ZERO; x.d()];
        x.apply_transposed(reference.nu(), &mut g);
        reference.set_g(g);
    }
    reference.refresh();
}

impl System<f64> for DualFlow<'_> {
    fn dim(&self) -> usize {
        self.x.n()
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) {
        self.visit(y);
        dy.iter_mut().zip(&self.here.residual).for_each(|(dy, r)| *dy = r / self.samples);
    }

    fn rhs_stages(&mut self, t: &[f64], y: &[f64], dy: &mut [f64]) {
        let size = t.len() * self.x.d();
        let Stages { beta, slope, .. } = &mut self.stages;
        for buffer in [&mut *beta, &mut *slope] {
            buffer.resize(size.max(buffer.len()), 0.0);
        }
        let (beta, slope) = (&mut beta[..size], &mut slope[..size]);
        let shift = self.shifts.of_states(self.x, y);
        self.reference.evaluate(shift, beta, slope);
        self.x.apply_many(beta, dy);
        for dy in dy.chunks_exact_mut(self.x.n()) {
            dy.iter_mut().zip(self.y).for_each(|(dy, y)| *dy = (y - *dy) / self.samples);
        }
        self.norm.at_times(t);
    }

    fn set_error_weights(&mut self, t: f64, y: &[f64], dy: &[f64]) {
        self.visit(y);
        self.norm.set(self.x, &self.reference, t, &self.here, dy);
    }

    fn error_norm(&mut self, e: &[f64]) -> f64 {
        let mut size = [0.0];
        self.error_norms(e, &mut size);
        size[0]
    }

    fn error_norms(&mut self, e: &[f64], sizes: &mut [f64]) {
        let seen = self.shifts.of_errors(self.x, e);
        self.norm.norms(self.x, self.jacobian_known.then_some(&self.jacobian), e, seen, sizes);
    }

    fn accepted(&mut self, _t: f64, y: &mut [f64]) -> bool {
        self.rebase(y);
        true
    }

    /// The loss of a gradient flow falls. Where rows are 10^100 apart an error in ν that β and the residual of the start
    /// do not show can be any number of e-folds at the end.
    fn admits(&mut self, dy: &[f64], _y_new: &[f64], dy_new: &[f64]) -> bool {
        norm(dy_new.iter().copied()) <= 2.0 * norm(dy.iter().copied()) + self.norm.round_off() / self.samples
    }

    fn step_cap(&mut self, _t: f64, y: &[f64], dy: &[f64]) -> f64 {
        self.visit(y);
        self.norm.step_cap(self.x, &self.reference, &self.here.shift, dy)
    }
}

impl Implicit<f64> for DualFlow<'_> {
    type Solver = Tridiagonal;

    fn jacobian(&mut self, _t: f64, y: &[f64], solver: &mut Tridiagonal) -> bool {
        let d = self.x.d();
        if self.here.state != y {
            // The guess of a stage: it is S there that is wanted, not the flow, and no step starts there.
            let Stages { shift, beta, slope } = &mut self.stages;
            for buffer in [&mut *shift, &mut *beta, &mut *slope] {
                buffer.resize(d.max(buffer.len()), 0.0);
            }
            self.shifts.of_state(self.x, y, &mut shift[..d]);
            self.reference.evaluate(&shift[..d], &mut beta[..d], &mut slope[..d]);
        }
        let slope = if self.here.state == y { &self.here.slope } else { &self.stages.slope[..d] };
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
