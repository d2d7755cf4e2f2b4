//! How much an error can have grown over a step: numbers in, numbers out. Knows no flow.
//!
//! An error `ε` of the flow, `e = ‖ε‖₂`, obeys `(e²)' ≤ −2‖ε‖²_B + 2εᵀd` for the defect `d` of the interpolant and any
//! symmetric `B ≥ 0` below the mean Jacobian between the two (−∇Ψ is monotone). In the eigenbasis of B, `b_k` ascending,
//! let the first j modes be *soft* and the others *stiff*, with `a = ∫‖d_soft‖`, `g = ‖d_stiff‖_{B⁻¹}`, `μ = b_0`. Then
//!
//! 1. `e⁺ ≤ e e^{−μh} + ∫ e^{−μ(h−s)} ‖d‖ ds`;
//! 2. `e⁺ ≤ a + √(e² + ½∫g²)`, from `−2b ε_k² + 2ε_k d_k ≤ d_k²/2b` for the stiff modes;
//! 3. `e⁺ ≤ a + √(e² e^{−μh} + ∫g²)`, from half of `−2‖ε‖²_B` against g and the other half against `μe²`.
//!
//! (THEORY §1: complete the square; for 3 the right-hand side is a supersolution, `v = (a + √p)²`, `p' = −μp + g²`.)
//! Any j will do; the least bound is taken. The second grows with time only, so its least over j bounds e on the way, too.
//!
//! Integrals of norms are taken by Cauchy and Schwarz from integrals of squares, which are smooth where norms are not.

/// Samples of a defect cover the integrals of its squares to within this factor (of the root).
const SAMPLED: f64 = 1.25;
/// Rounding of the bounds themselves.
const OUTWARD: f64 = 1.0 + 1e-10;

/// The defect on a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load<'a> {
    /// Length of the step.
    pub h: f64,
    /// `b_k ≥ 0`, ascending.
    pub modes: &'a [f64],
    /// `∫ d_k²`, a mode each.
    pub squares: &'a [f64],
    /// `∫ n` and `∫ n²` of a bound n of what is not known of d, in any direction.
    pub noise: (f64, f64),
}

/// Bounds of the error at the end and anywhere on the step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grown {
    pub end: f64,
    pub inside: f64,
}

impl Load<'_> {
    /// From the error `e` at the start.
    pub(super) fn grow(&self, e: f64) -> Grown {
        let slowest = self.modes.first().copied().unwrap_or(0.0);
        let decay = (-slowest * self.h).exp().min(1.0);
        let total = self.squares.iter().sum::<f64>();
        let mut grown = self.by_contraction(e, slowest, decay, total);
        let (mut soft, stiff) = (0.0, self.stiffness());
        for j in 0..=self.modes.len() {
            let a = if j == 0 { 0.0 } else { SAMPLED * (self.h * soft).sqrt() + self.noise.0 };
            let g = stiff.get(j).map_or(0.0, |(squares, b)| SAMPLED * squares.sqrt() + (self.noise.1 / b).sqrt());
            let inside = a + (e * e + 0.5 * g * g).sqrt();
            let contracted = a + (e * e * decay + g * g).sqrt();
            // `min` drops a NaN, of 0/0 in modes that do not contract: it says nothing.
            grown.inside = grown.inside.min(inside);
            grown.end = grown.end.min(inside).min(contracted);
            soft += self.squares.get(j).copied().unwrap_or(0.0);
        }
        Grown { end: OUTWARD * grown.end, inside: OUTWARD * grown.inside }
    }

    /// The first bound; infinite where nothing is known.
    fn by_contraction(&self, e: f64, slowest: f64, decay: f64, total: f64) -> Grown {
        let rate = 2.0 * slowest * self.h;
        // ∫ e^{−2μs} ds, rounded up where it would cancel.
        let memory = if rate > 1e-6 { self.h * (-(-rate).exp_m1() / rate) } else { self.h };
        let all = SAMPLED * (self.h * total).sqrt() + self.noise.0;
        let end = e * decay + memory.sqrt() * (SAMPLED * total.sqrt() + self.noise.1.sqrt());
        let known = |bound: f64| if bound.is_nan() { f64::INFINITY } else { bound };
        Grown { end: known(end), inside: known(e + all) }
    }

    /// `Σ_{k≥j} ∫d_k²/b_k` and `b_j` for every j.
    fn stiffness(&self) -> Vec<(f64, f64)> {
        let mut sum = 0.0;
        let mut all: Vec<(f64, f64)> = (self.modes.iter().zip(self.squares).rev())
            .map(|(b, square)| {
                sum += if *b > 0.0 { square / b } else { f64::INFINITY };
                (sum, *b)
            })
            .collect();
        all.reverse();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ε_k' = −b_k ε_k + d_k` with constant `d`, whose solution is known.
    fn exact(modes: &[f64], d: &[f64], start: &[f64], t: f64) -> f64 {
        let each = |((b, d), e): ((&f64, &f64), &f64)| {
            let moved = if *b > 0.0 { -(-b * t).exp_m1() / b } else { t };
            (e * (-b * t).exp() + d * moved).powi(2)
        };
        modes.iter().zip(d).zip(start).map(each).sum::<f64>().sqrt()
    }

    #[test]
    fn linear_errors_stay_below_every_bound_from_soft_to_stiff() {
        for h in [1e-3, 1.0, 1e3] {
            for modes in [[0.0, 0.0, 0.0], [0.0, 1.0, 1e6], [1e-3, 1.0, 1e3], [5.0, 5.0, 5.0]] {
                for (d, start) in
                    [([1.0, -2.0, 3.0], [0.0; 3]), ([1e-3, 1.0, 1e3], [1.0, 1.0, -1.0]), ([0.0; 3], [1.0; 3])]
                {
                    let squares = d.map(|d: f64| h * d * d);
                    let load = Load { h, modes: &modes, squares: &squares, noise: (0.0, 0.0) };
                    let e = start.iter().map(|e| e * e).sum::<f64>().sqrt();
                    let grown = load.grow(e);
                    assert!(exact(&modes, &d, &start, h) <= grown.end, "{h} {modes:?} {d:?}");
                    for part in 0..=20 {
                        assert!(exact(&modes, &d, &start, h * f64::from(part) / 20.0) <= grown.inside);
                    }
                }
            }
        }
    }

    #[test]
    fn a_stiff_defect_costs_what_it_does_and_not_its_integral() {
        let (h, b, d) = (1.0, 1e8, 1.0);
        let load = Load { h, modes: &[b], squares: &[h * d * d], noise: (0.0, 0.0) };
        // The truth is d/b = 1e-8, the integral of the defect 1.
        let found = load.grow(0.0).end;
        assert!((1e-8..1e-3).contains(&found), "{found}");
    }

    #[test]
    fn noise_counts_as_a_defect_of_any_direction() {
        let modes = [0.0, 1.0];
        let with = Load { h: 2.0, modes: &modes, squares: &[0.0; 2], noise: (2e-3, 2e-6) }.grow(1e-3);
        assert!(exact(&modes, &[1e-3, 0.0], &[1e-3, 0.0], 2.0) <= with.end);
        assert!(exact(&modes, &[0.0, 1e-3], &[0.0, 1e-3], 2.0) <= with.end);
    }

    #[test]
    fn what_is_not_known_is_infinite_and_never_nan() {
        for squares in [[f64::NAN, 0.0], [f64::INFINITY, 1.0]] {
            for e in [0.0, f64::INFINITY] {
                let grown = Load { h: 1.0, modes: &[0.0, 1.0], squares: &squares, noise: (0.0, 0.0) }.grow(e);
                assert_eq!(grown, Grown { end: f64::INFINITY, inside: f64::INFINITY });
            }
        }
    }
}
