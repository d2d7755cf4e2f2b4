//! `(s I − J) x = b` for the Jacobian of a segment, without forming it.
//!
//! The neurons couple through the residual only: with `h_j = P_j X̃ᵀC_j r/N`, `D_j = [[0, h_jᵀ], [h_j, 0]]` and
//! `F_j = [σ_j, a_j C_j X̃P_j] = ∂(a_j σ_j)/∂(a_j, u_j)`, the Jacobian is `D − (1/N) (F_jᵀ g_l F_l)_{jl}`: a block-diagonal
//! matrix of arrows, inverted by hand, and a term of rank N. Woodbury's identity leaves one N × N system, `I + M(s)`,
//! `M(s) = (1/N) Σ_j g_j [(s/Δ_j) t_j t_jᵀ + (a_j²/s) F̂_jF̂_jᵀ]`, `Δ_j = s² − ‖h_j‖²`, `t_j = σ_j + (a_j/s) F̂_jh_j`,
//! `F̂_j = C_jX̃P_j`: a shift costs O(mN² + N³), where a dense Jacobian costs O((mk)³).
//!
//! Woodbury's identity loses the digits by which `M` exceeds 1, which is the stiffness of the step. That is harmless here:
//! Newton's corrections start from a fresh residual, and a few digits of each are enough. Units of the neurons differ by
//! any factor; a factorization that is symmetric would have to balance them first, this one never mixes them.

use super::number::Number;
use super::smooth::{Smooth, pull};
use crate::linalg::norm;
use crate::ode::ShiftedSolver;
use crate::real::Real;
use faer::linalg::solvers::{PartialPivLu, Solve};
use faer::{Mat, c64};

/// The Jacobian of one state, and the shifts in use.
#[derive(Debug)]
pub(super) struct Shifts {
    n: usize,
    k: usize,
    samples: f64,
    /// `X̃`, and for each neuron what makes up its block.
    rows: Vec<f64>,
    arrows: Vec<Arrow>,
    /// `Σ g_j a_j² F̂_jF̂_jᵀ / N`, column after column.
    still: Vec<f64>,
    ready: Vec<Option<Shift>>,
}

/// One neuron.
#[derive(Clone, Debug)]
struct Arrow {
    a: f64,
    gain: f64,
    slopes: Vec<f64>,
    slide: super::columns::Columns,
    sigma: Vec<f64>,
    h: Vec<f64>,
    square: f64,
    /// `F̂h`.
    fh: Vec<f64>,
}

/// One shift.
#[derive(Debug)]
struct Shift {
    s: c64,
    lu: PartialPivLu<c64>,
}

impl Shifts {
    /// Room for `m` neurons.
    pub(super) fn new(n: usize, k: usize, m: usize) -> Self {
        Self {
            n,
            k,
            samples: n as f64,
            rows: Vec::new(),
            arrows: Vec::with_capacity(m),
            still: vec![0.0; n * n],
            ready: Vec::new(),
        }
    }

    /// The Jacobian at the state last visited by `flow`. False if it is not finite.
    pub(super) fn set<R: Number>(&mut self, flow: &Smooth<'_, R>, state: &[R]) -> bool {
        let (span, work) = (flow.span, flow.here());
        if self.rows.is_empty() {
            self.rows = (0..span.n).flat_map(|n| span.row(n).iter().copied()).collect();
        }
        self.ready.clear();
        self.arrows.clear();
        self.still.fill(0.0);
        for (i, neuron) in state.chunks_exact(1 + self.k).enumerate() {
            let piece = &flow.pieces[i];
            let mut pulled = vec![R::ZERO; self.k];
            pull(span, piece, &work.residual, &mut pulled);
            let h: Vec<f64> = pulled.iter().map(|h| h.to_f64()).collect();
            let mut arrow = Arrow {
                a: neuron[0].to_f64(),
                gain: flow.gains[i],
                slopes: piece.slopes.clone(),
                slide: piece.slide.rounded(),
                sigma: work.sigma[i * self.n..(i + 1) * self.n].iter().map(|sigma| sigma.to_f64()).collect(),
                square: norm(h.iter().copied()).powi(2),
                fh: vec![0.0; self.n],
                h,
            };
            // h lies in the range of P.
            for (n, (fh, c)) in arrow.fh.iter_mut().zip(&arrow.slopes).enumerate() {
                *fh = c * f64::dot(span.row(n), &arrow.h);
            }
            self.add_still(span.gram(), &arrow);
            self.arrows.push(arrow);
        }
        self.still.iter().all(|v| v.is_finite()) && self.arrows.iter().all(|arrow| arrow.square.is_finite())
    }

    /// `still += g a² F̂F̂ᵀ / N`, `F̂F̂ᵀ = C(K − YYᵀ)C` with `Y = X̃B`, `B` the basis of the slide.
    fn add_still(&mut self, gram: &[f64], arrow: &Arrow) {
        let weight = arrow.gain * arrow.a * arrow.a / self.samples;
        if weight == 0.0 {
            return;
        }
        let parts: Vec<Vec<f64>> = if arrow.slide.rank() > 0 {
            self.rows.chunks_exact(self.k).map(|row| arrow.slide.coordinates(row)).collect()
        } else {
            vec![Vec::new(); self.n]
        };
        for (l, column) in self.still.chunks_exact_mut(self.n).enumerate() {
            let c = weight * arrow.slopes[l];
            if c == 0.0 {
                continue;
            }
            for (n, out) in column.iter_mut().enumerate() {
                let inside: f64 = parts[n].iter().zip(&parts[l]).map(|(a, b)| a * b).sum();
                *out += c * arrow.slopes[n] * (gram[l * self.n + n] - inside);
            }
        }
    }

    fn prepare(&mut self, slot: usize, s: c64) -> bool {
        while self.ready.len() <= slot {
            self.ready.push(None);
        }
        let one_over_s = s.inv();
        let mut matrix = Mat::from_fn(self.n, self.n, |i, l| {
            let unit = if i == l { c64::new(1.0, 0.0) } else { c64::new(0.0, 0.0) };
            unit + one_over_s * self.still[l * self.n + i]
        });
        for arrow in &self.arrows {
            let factor = s / (s * s - arrow.square) * (arrow.gain / self.samples);
            let t: Vec<c64> =
                arrow.sigma.iter().zip(&arrow.fh).map(|(sigma, fh)| one_over_s * (arrow.a * fh) + *sigma).collect();
            for (l, right) in t.iter().enumerate() {
                let right = factor * right;
                for (out, left) in matrix.as_mut().col_mut(l).iter_mut().zip(&t) {
                    *out += left * right;
                }
            }
        }
        let finite = (0..self.n).all(|l| matrix.as_ref().col(l).iter().all(|v| v.is_finite()));
        if !finite {
            return false;
        }
        let lu = matrix.partial_piv_lu();
        let regular = (0..self.n).all(|j| lu.U()[(j, j)].inv().is_finite());
        self.ready[slot] = regular.then_some(Shift { s, lu });
        regular
    }

    /// Solve in place; `at(j)` and `put(j, v)` read and write entry j.
    fn solve(&self, slot: usize, b: &mut [c64]) {
        let Some(Shift { s, lu }) = self.ready.get(slot).and_then(Option::as_ref) else { return };
        let width = 1 + self.k;
        let mut z = Mat::<c64>::zeros(self.n, 1);
        let mut x = vec![c64::new(0.0, 0.0); width];
        for (arrow, b) in self.arrows.iter().zip(b.chunks_exact(width)) {
            x.copy_from_slice(b);
            arrow.solve(*s, &mut x);
            arrow.project(&mut x[1..]);
            for (n, row) in self.rows.chunks_exact(self.k).enumerate() {
                let w: c64 = row.iter().zip(&x[1..]).map(|(row, x)| x * *row).sum();
                z[(n, 0)] += (x[0] * arrow.sigma[n] + w * (arrow.a * arrow.slopes[n])) * arrow.gain;
            }
        }
        lu.solve_in_place(z.as_mut());
        for (arrow, b) in self.arrows.iter().zip(b.chunks_exact_mut(width)) {
            x.fill(c64::new(0.0, 0.0));
            for (n, row) in self.rows.chunks_exact(self.k).enumerate() {
                let z = z[(n, 0)] / self.samples;
                x[0] += z * arrow.sigma[n];
                let z = z * (arrow.a * arrow.slopes[n]);
                x[1..].iter_mut().zip(row).for_each(|(x, row)| *x += z * *row);
            }
            arrow.project(&mut x[1..]);
            b.iter_mut().zip(&x).for_each(|(b, x)| *b -= *x);
            arrow.solve(*s, b);
        }
    }
}

impl Arrow {
    /// `(s I − D)⁻¹ b`.
    fn solve(&self, s: c64, b: &mut [c64]) {
        let pulled: c64 = self.h.iter().zip(&b[1..]).map(|(h, b)| b * *h).sum();
        let first = (s * b[0] + pulled) / (s * s - self.square);
        for (b, h) in b[1..].iter_mut().zip(&self.h) {
            *b = (*b + first * *h) / s;
        }
        b[0] = first;
    }

    /// `P v`.
    fn project(&self, v: &mut [c64]) {
        if self.slide.rank() == 0 {
            return;
        }
        let (mut re, mut im): (Vec<f64>, Vec<f64>) = v.iter().map(|v| (v.re, v.im)).unzip();
        self.slide.remove(&mut re);
        self.slide.remove(&mut im);
        v.iter_mut().zip(re.iter().zip(&im)).for_each(|(v, (re, im))| *v = c64::new(*re, *im));
    }
}

impl ShiftedSolver for Shifts {
    fn prepare_real(&mut self, shift: f64) -> bool {
        self.prepare(0, c64::new(shift, 0.0))
    }

    fn prepare_complex(&mut self, slot: usize, re: f64, im: f64) -> bool {
        self.prepare(1 + slot, c64::new(re, im))
    }

    fn solve_real(&mut self, b: &mut [f64]) {
        let mut complex: Vec<c64> = b.iter().map(|b| c64::new(*b, 0.0)).collect();
        self.solve(0, &mut complex);
        b.iter_mut().zip(&complex).for_each(|(b, x)| *b = x.re);
    }

    fn solve_complex(&mut self, slot: usize, b_re: &mut [f64], b_im: &mut [f64]) {
        let mut complex: Vec<c64> = b_re.iter().zip(b_im.iter()).map(|(re, im)| c64::new(*re, *im)).collect();
        self.solve(1 + slot, &mut complex);
        for (x, (re, im)) in complex.iter().zip(b_re.iter_mut().zip(b_im)) {
            (*re, *im) = (x.re, x.im);
        }
    }
}
