//! Shifted systems with the Jacobian of the flow in span coordinates. Knows no integrator and no data.
//!
//! The modes couple only through the m outer weights: for one neuron the Jacobian is an arrow, in general m + 1 diagonals
//! bordered by m rows. Eliminating the modes leaves a symmetric m × m system, so a shift costs O(rank m² + m³) and a
//! solve O(rank m + m²), where a dense LU of the `m(1 + rank)` unknowns would cost the cube of that.
//!
//! With `A = Σa_i²`, `v_k = (c_ik + g_k a_i/λ)_i`, `t_k = s_k λ/(λ + s_k A)` and `d_k = Σ_i a_i b_ik/λ` the equations
//! `λδa_i − Σ_k (δg_k c_ik + g_k δc_ik) = b_i`, `λδc_ik − g_k δa_i − a_i δg_k = b_ik`, `δg_k = −s_k Σ_i (δa_i c_ik + a_i δc_ik)`
//! become `[(λ − |g|²/λ) I + Σ_k t_k v_k v_kᵀ] δa = b + Σ_k (g_k b_k/λ − t_k d_k v_k)`, `δg_k = −t_k (d_k + v_kᵀδa)`.

use crate::linalg::Lu;
use crate::ode::ShiftedSolver;
use core::ops::{Add, Div, Mul, Sub};
use faer::c64;
use faer::traits::ComplexField;

/// Real or complex.
pub(super) trait Number:
    ComplexField + Copy + From<f64> + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    fn finite(self) -> bool;
}

impl Number for f64 {
    fn finite(self) -> bool {
        self.is_finite()
    }
}

impl Number for c64 {
    fn finite(self) -> bool {
        self.is_finite()
    }
}

/// The Jacobian at one state, and its shifts in use.
#[derive(Debug)]
pub(super) struct Arrow {
    place: Place,
    real: Shifted<f64>,
    complex: Vec<Shifted<c64>>,
}

/// Where the Jacobian was taken.
#[derive(Clone, Debug)]
struct Place {
    /// s.
    decay: Vec<f64>,
    /// a, C (m × rank) and g.
    a: Vec<f64>,
    c: Vec<f64>,
    g: Vec<f64>,
}

impl Arrow {
    /// For `m` neurons; no Jacobian yet.
    pub(super) fn new(m: usize, decay: &[f64]) -> Self {
        let rank = decay.len();
        let place = Place { decay: decay.to_vec(), a: vec![0.0; m], c: vec![0.0; m * rank], g: vec![0.0; rank] };
        Self { place, real: Shifted::new(m, rank), complex: Vec::new() }
    }

    /// The Jacobian at `(a, C)`, where the gradient is `g`. False if it is not finite.
    pub(super) fn set(&mut self, a: &[f64], c: &[f64], g: &[f64]) -> bool {
        let Place { a: place_a, c: place_c, g: place_g, .. } = &mut self.place;
        for (to, from) in [(place_a, a), (place_c, c), (place_g, g)] {
            to.copy_from_slice(from);
        }
        [a, c, g].iter().all(|values| values.iter().all(|value| value.is_finite()))
    }
}

impl ShiftedSolver for Arrow {
    fn prepare_real(&mut self, shift: f64) -> bool {
        self.real.prepare(&self.place, shift)
    }

    fn prepare_complex(&mut self, slot: usize, re: f64, im: f64) -> bool {
        let (m, rank) = (self.place.a.len(), self.place.g.len());
        while self.complex.len() <= slot {
            self.complex.push(Shifted::new(m, rank));
        }
        self.complex[slot].prepare(&self.place, c64::new(re, im))
    }

    fn solve_real(&mut self, b: &mut [f64]) {
        self.real.room.copy_from_slice(b);
        self.real.solve(&self.place);
        b.copy_from_slice(&self.real.room);
    }

    fn solve_complex(&mut self, slot: usize, b_re: &mut [f64], b_im: &mut [f64]) {
        let shifted = &mut self.complex[slot];
        for (room, (re, im)) in shifted.room.iter_mut().zip(b_re.iter().zip(&*b_im)) {
            *room = c64::new(*re, *im);
        }
        shifted.solve(&self.place);
        for (room, (re, im)) in shifted.room.iter().zip(b_re.iter_mut().zip(b_im)) {
            (*re, *im) = (room.re, room.im);
        }
    }
}

/// One shift.
#[derive(Clone, Debug)]
struct Shifted<T: ComplexField> {
    lambda: T,
    /// t (rank).
    t: Vec<T>,
    /// V (m × rank).
    v: Vec<T>,
    lu: Lu<T>,
    /// The right-hand side, then the solution.
    room: Vec<T>,
    /// d, then δg (rank).
    modes: Vec<T>,
    /// The right-hand side of the m × m system.
    neurons: Vec<T>,
}

impl<T: Number> Shifted<T> {
    fn new(m: usize, rank: usize) -> Self {
        let zero = T::from(0.0);
        Self {
            lambda: zero,
            t: vec![zero; rank],
            v: vec![zero; m * rank],
            lu: Lu::new(m),
            room: vec![zero; m * (1 + rank)],
            modes: vec![zero; rank],
            neurons: vec![zero; m],
        }
    }

    fn prepare(&mut self, place: &Place, lambda: T) -> bool {
        self.lambda = lambda;
        let (zero, rank) = (T::from(0.0), place.g.len());
        let outer: f64 = place.a.iter().map(|a| a * a).sum();
        let square: f64 = place.g.iter().map(|g| g * g).sum();
        for (t, s) in self.t.iter_mut().zip(&place.decay) {
            *t = T::from(*s) * (lambda / (lambda + T::from(s * outer)));
        }
        let inverse = T::from(1.0) / lambda;
        for ((v, c), a) in self.v.chunks_exact_mut(rank).zip(place.c.chunks_exact(rank)).zip(&place.a) {
            for ((v, c), g) in v.iter_mut().zip(c).zip(&place.g) {
                *v = T::from(*c) + T::from(a * g) * inverse;
            }
        }
        let diagonal = lambda - T::from(square) * inverse;
        let (t, v) = (&self.t, &self.v);
        let entry = |i: usize, j: usize| {
            let rows = v[i * rank..(i + 1) * rank].iter().zip(&v[j * rank..(j + 1) * rank]);
            let sum = rows.zip(t).fold(zero, |sum, ((x, y), t)| sum + *x * *y * *t);
            if i == j { sum + diagonal } else { sum }
        };
        self.lu.factor_entries(entry, Number::finite)
    }

    fn solve(&mut self, place: &Place) {
        let (zero, m, rank) = (T::from(0.0), place.a.len(), place.g.len());
        let inverse = T::from(1.0) / self.lambda;
        let (outer, inner) = self.room.split_at_mut(m);
        self.modes.fill(zero);
        for (b, a) in inner.chunks_exact(rank).zip(&place.a) {
            for (d, b) in self.modes.iter_mut().zip(b) {
                *d += T::from(*a) * *b * inverse;
            }
        }
        let rows = outer.iter().zip(inner.chunks_exact(rank)).zip(self.v.chunks_exact(rank));
        for (right, ((b, row), v)) in self.neurons.iter_mut().zip(rows) {
            *right = *b;
            for ((((b, v), g), t), d) in row.iter().zip(v).zip(&place.g).zip(&self.t).zip(&self.modes) {
                *right = *right + T::from(*g) * *b * inverse - *t * *d * *v;
            }
        }
        let solution = self.lu.solve(|i| self.neurons[i]);
        for (i, outer) in outer.iter_mut().enumerate() {
            *outer = solution[(i, 0)];
        }
        for (da, v) in outer.iter().zip(self.v.chunks_exact(rank)) {
            for (d, v) in self.modes.iter_mut().zip(v) {
                *d += *v * *da;
            }
        }
        for (d, t) in self.modes.iter_mut().zip(&self.t) {
            *d = zero - *t * *d;
        }
        for ((row, da), a) in inner.chunks_exact_mut(rank).zip(outer.iter()).zip(&place.a) {
            for ((b, g), dg) in row.iter_mut().zip(&place.g).zip(&self.modes) {
                *b = (*b + T::from(*g) * *da + T::from(*a) * *dg) * inverse;
            }
        }
    }
}
