//! What a step of Radau IIA leaves wrong, from what it has computed already. Knows no tolerance and no step-size rule.
//!
//! The collocation polynomial `p` satisfies the equation at the nodes `c_i`; between them it has the defect
//! `δ(τ) ≈ M(τ) v` with `M(τ) = Π(τ − c_i)/Π(−c_i)` and `v = f(t, y) − p'(0)`. Two numbers are made of it.
//!
//! * [`Defect::filtered`], Hairer's: `(γ/h·I − J)⁻¹ v`, of order `s`. The step itself has order `2s − 1`, so that this may
//!   be larger than the tolerance by the power of it that the two orders say. That is right where the step is short for
//!   every component of the solution, or long.
//! * [`Defect::at_end`], for where it is neither. With constant `J` the defect makes of the end of the step
//!   `h G(hJ) v`, `G(z) = ∫₀¹ e^{z(1−τ)} M(τ) dτ`. `M` is orthogonal to all polynomials of degree `s − 2`, hence
//!   `G = s!/(2s)! z^{s−1}` for small `z`, the order `2s − 1`; and `M(1) = 0`, hence `G ∝ z⁻²` for large `z`, which is all
//!   that is left of it there. A tolerance that counts on the order everywhere is missed in between by up to half of its
//!   digits: at `rtol = 1e-20` errors of 1e-17 on the dual flows, 3e-17 on Van der Pol's equation.
//!   With `Q(z) = Π(γ_i − z)` over the eigenvalues of `A⁻¹`, the rational function
//!
//!   `Ĝ(z) = s!/(2s)! z^{s−1} γ Q(0) / ((γ − z) Q(z))`
//!
//!   has both limits but for a factor, `1 ≤ G/Ĝ ≤ 2.1` on the whole negative axis for every `s` (a test says so), and its
//!   factors are solves with the matrices that Newton's iteration has factored: as many as one iteration of it, without a
//!   right-hand side.
//!
//!   Of a component slaved to a slow one more is left at the end of a very long step, `G = s/z` by Prothero & Robinson's
//!   problem. It goes no further: the next step forgets it. Held to that (`Ĝ` with a factor `(γ − 2sz)/(γ − z)` for
//!   `γ/(γ − z)` is within a factor 3.5 of it everywhere), the dual flows take 30 to 50 % more steps in binary64 and Van der
//!   Pol's equation ten times as many at 1e-20, most of them where the defect is round-off times `hJ`.
//!
//! # Sources
//! Hairer & Wanner, *Solving Ordinary Differential Equations II*, 2nd ed., IV.8, (8.19), (8.20); IV.15 on order reduction.
//! The second number is ours.

use super::radau_tableau::RadauTableau;
use super::system::ShiftedSolver;
use crate::real::Real;

/// Where a step of length `h` from `y` has its collocation equations solved.
#[derive(Clone, Copy, Debug)]
pub struct Solved<'a, R> {
    /// The method.
    pub tableau: &'a RadauTableau<R>,
    /// The step.
    pub h: R,
    /// The increments of its stages, one after another.
    pub increments: &'a [R],
}

/// The defect of a step and what is made of it.
#[derive(Clone, Debug)]
pub struct Defect {
    error: Vec<f64>,
    re: Vec<f64>,
    im: Vec<f64>,
}

impl Defect {
    /// Room for `dim` unknowns.
    #[must_use]
    pub fn new(dim: usize) -> Self {
        let zeros = || vec![0.0; dim];
        Self { error: zeros(), re: zeros(), im: zeros() }
    }

    /// `(γ/h·I − J)⁻¹ (slope − p'(0))`, where `slope` is `f` at the left end or near it.
    pub fn filtered<R: Real, J: ShiftedSolver>(&mut self, step: Solved<'_, R>, slope: &[R], solver: &mut J) -> &[f64] {
        let n = slope.len();
        let inverse_h = R::ONE / step.h;
        for (i, (error, slope)) in self.error.iter_mut().zip(slope).enumerate() {
            let increments = step.increments[i..].iter().step_by(n);
            let sum = step.tableau.left_slope.iter().zip(increments).fold(R::ZERO, |sum, (w, z)| sum + *w * *z);
            *error = (*slope - sum * inverse_h).to_f64();
        }
        solver.enter_basis(&mut self.error);
        solver.solve_real(&mut self.error);
        solver.leave_basis(&mut self.error);
        &self.error
    }

    /// `h Ĝ(hJ) v` for the `v` of the last [`Defect::filtered`].
    pub fn at_end<R: Real, J: ShiftedSolver>(&mut self, step: Solved<'_, R>, solver: &mut J) -> &[f64] {
        let RadauTableau { real_shift, complex_shifts, .. } = step.tableau;
        let s = step.tableau.stages();
        // A solve multiplies by h, which is divided out half before and half after: h may be 1e±300.
        let half = step.h.to_f64().sqrt().recip();
        // s!/(2s)!
        let least: f64 = (s + 1..=2 * s).map(|k| 1.0 / k as f64).product();
        let factor = least * real_shift * real_shift * half;
        solver.enter_basis(&mut self.error);
        self.error.iter_mut().for_each(|v| *v *= half);
        solver.solve_real(&mut self.error);
        self.error.iter_mut().for_each(|v| *v *= factor);
        for (slot, (re, im)) in complex_shifts.iter().enumerate() {
            // For the pair γ = re ± i·im, z = hJ and w = (γ − z)⁻¹v: |γ − z|⁻²v = −Im w/im =: u, z u = re u − Re w, and
            // |γ|² z² |γ − z|⁻² v = |γ|² (v − |γ|²u + 2 re z u).
            self.re.iter_mut().zip(&self.error).for_each(|(w, v)| *w = v * half);
            self.im.fill(0.0);
            solver.solve_complex(slot, &mut self.re, &mut self.im);
            let square = re * re + im * im;
            for ((v, w_re), w_im) in self.error.iter_mut().zip(&self.re).zip(&self.im) {
                let u = -w_im * half / im;
                *v = square * (*v - square * u + 2.0 * re * (re * u - w_re * half));
            }
        }
        solver.leave_basis(&mut self.error);
        &self.error
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::DoubleDouble as D;

    /// `J = λ`.
    struct Scalar {
        lambda: f64,
        real: f64,
        complex: Vec<(f64, f64)>,
    }

    impl ShiftedSolver for Scalar {
        fn prepare_real(&mut self, shift: f64) -> bool {
            self.real = shift - self.lambda;
            true
        }

        fn prepare_complex(&mut self, _slot: usize, re: f64, im: f64) -> bool {
            self.complex.push((re - self.lambda, im));
            true
        }

        fn solve_real(&mut self, b: &mut [f64]) {
            b[0] /= self.real;
        }

        fn solve_complex(&mut self, slot: usize, b_re: &mut [f64], b_im: &mut [f64]) {
            let (re, im) = self.complex[slot];
            let square = re * re + im * im;
            (b_re[0], b_im[0]) = ((b_re[0] * re + b_im[0] * im) / square, (b_im[0] * re - b_re[0] * im) / square);
        }
    }

    /// `Ĝ(z)` as the solver makes it, for `v = 1` and `h = 1`.
    fn estimated(tableau: &RadauTableau<f64>, z: f64) -> f64 {
        let mut solver = Scalar { lambda: z, real: 0.0, complex: Vec::new() };
        solver.prepare_real(tableau.real_shift);
        for (slot, (re, im)) in tableau.complex_shifts.iter().enumerate() {
            solver.prepare_complex(slot, *re, *im);
        }
        let increments = vec![0.0; tableau.stages()];
        let step = Solved { tableau, h: 1.0, increments: &increments };
        let mut defect = Defect::new(1);
        defect.filtered(step, &[1.0], &mut solver);
        defect.at_end(step, &mut solver)[0]
    }

    /// `G(z)` in double-double: its power series, whose terms `∫ (z(1−τ))^k/k! M` vanish for `k < s − 1`, where that does not
    /// cancel, else the exponential against the polynomial by parts, which ends.
    fn exact(tableau: &RadauTableau<D>, z: f64) -> f64 {
        let s = tableau.stages();
        // M in powers of x = 1 − τ: Π((1 − c_i) − x)/Π(−c_i).
        let mut powers = vec![D::ONE];
        for c in &tableau.nodes {
            let mut next = vec![D::ZERO; powers.len() + 1];
            for (k, a) in powers.iter().enumerate() {
                next[k] -= *a * (D::ONE - *c) / *c;
                next[k + 1] += *a / *c;
            }
            powers = next;
        }
        let (real, mut sum) = (D::from_f64(z), D::ZERO);
        if z.abs() < 10.0 {
            let mut term = D::ONE;
            for k in 0..80 {
                if k > 0 {
                    term = term * real / D::from_f64(k as f64);
                }
                if k + 1 >= s {
                    let moments = powers.iter().enumerate().map(|(j, a)| *a / D::from_f64((j + k + 1) as f64));
                    sum += term * moments.fold(D::ZERO, |sum, moment| sum + moment);
                }
            }
            return sum.to_f64();
        }
        // ∫₀¹ e^{zx} x^j dx = (e^z − j I_{j−1})/z.
        let mut integral = real.exp_m1() / real;
        for (j, a) in powers.iter().enumerate() {
            if j > 0 {
                integral = (real.exp() - integral * D::from_f64(j as f64)) / real;
            }
            sum += *a * integral;
        }
        sum.to_f64()
    }

    #[test]
    fn the_estimate_of_the_end_is_between_half_of_the_truth_and_the_truth_however_stiff_a_component_is() {
        for stages in [3, 5, 7, 9, 11] {
            let (tableau, precise) = (RadauTableau::<f64>::of_stages(stages), RadauTableau::<D>::of_stages(stages));
            // A pair of factors cancels to |z/γ|², in binary64: below, the estimate is its own round-off.
            for z in (-4..24).map(|quarter| -10.0_f64.powf(f64::from(quarter) / 4.0)) {
                let ratio = exact(&precise, z) / estimated(&tableau, z);
                assert!((0.99..2.12).contains(&ratio), "{stages} stages, z = {z}: {ratio}");
            }
        }
    }
}
