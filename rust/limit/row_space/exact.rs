//! Projections and least norms to thirty digits: iterative refinement of the binary64 factorizations of the row space.
//!
//! What is refined is always a vector of features or of samples in double-double; its residual is formed with `X` itself in
//! double-double and solved for in binary64, so that every step gains the digits which the factorization has (Wilkinson
//! 1963; for least squares Björck, *BIT* 7 (1967) 257–278). Knows no potential.

use super::{Basis, Projection, RowSpace};
use crate::linalg::Rows;
use crate::real::{DoubleDouble, Real};

/// Steps at most; each gains at least a factor of two.
const STEPS: usize = 40;

/// Targets to thirty digits, in scaled units.
#[derive(Clone, Debug)]
pub(in crate::limit) struct Targets {
    /// As they were given.
    pub given: Vec<DoubleDouble>,
    /// Projected onto the range of `X`.
    pub reached: Vec<DoubleDouble>,
    /// False if the two differ by more than round-off.
    pub reachable: bool,
}

impl RowSpace<'_> {
    /// Project the targets `y` (the user's units) as the flow does, in the user's weights of the samples.
    ///
    /// `XᵀW²(y − Xc) = 0` is refined: an orthogonal projection of `y` itself would leave `cond(X) u ‖y − Xc‖`.
    pub fn exact_targets(&self, y: &[DoubleDouble]) -> Targets {
        let mut given = y.to_vec();
        self.units().exact_targets_in(&mut given);
        let Basis::Deficient(_, projection) = &self.basis else {
            return Targets { reached: given.clone(), given, reachable: true };
        };
        let c = self.refined(projection, |there| {
            let off: Vec<_> = given.iter().zip(there).map(|(y, there)| *y - *there).collect();
            self.weighed(projection, &off)
        });
        let mut reached = vec![DoubleDouble::ZERO; given.len()];
        self.samples().apply(&c, &mut reached);
        let largest = |v: &mut dyn Iterator<Item = DoubleDouble>| v.fold(0.0, |m: f64, v| m.max(v.to_f64().abs()));
        let size = largest(&mut given.iter().copied());
        let off = largest(&mut given.iter().zip(&reached).map(|(a, b)| *a - *b));
        // As in binary64: below the noise of a projection the two cannot be told apart, and what was given is kept.
        let noise = 64.0 * DoubleDouble::UNIT_ROUNDOFF * (given.len().max(self.samples().d()) as f64);
        let reachable = off <= noise * size;
        if reachable {
            reached.copy_from_slice(&given);
        }
        Targets { given, reached, reachable }
    }

    /// Among all multipliers (scaled units) with the same `Xᵀν` those of least norm in the user's units: `ν = W²Xc`.
    pub fn exact_least_multipliers(&self, nu: &mut [DoubleDouble]) {
        let Basis::Deficient(_, projection) = &self.basis else { return };
        let x = self.samples();
        let mut wanted = vec![DoubleDouble::ZERO; x.d()];
        x.apply_transposed(nu, &mut wanted);
        let c = self.refined(projection, |there| {
            let mut off = self.weighed(projection, there);
            off.iter_mut().zip(&wanted).for_each(|(off, wanted)| *off = *wanted - *off);
            off
        });
        x.apply(&c, nu);
        nu.iter_mut().zip(&projection.weights).for_each(|(nu, w)| *nu = nu.mul_f64(w * w));
    }

    /// The point nearest to `from` with `Xb = target`, and multipliers of the basic samples: `b = from + Xᵀμ`.
    pub fn exact_nearest(
        &self,
        from: &[DoubleDouble],
        target: &[DoubleDouble],
    ) -> (Vec<DoubleDouble>, Vec<DoubleDouble>) {
        let x = self.samples();
        let mut mu = vec![DoubleDouble::ZERO; x.n()];
        let mut best = (f64::INFINITY, mu.clone(), from.to_vec());
        for _ in 0..STEPS {
            let mut b = vec![DoubleDouble::ZERO; x.d()];
            x.apply_transposed(&mu, &mut b);
            b.iter_mut().zip(from).for_each(|(b, from)| *b += *from);
            let mut off = vec![DoubleDouble::ZERO; x.n()];
            x.apply(&b, &mut off);
            let off: Vec<f64> = off.iter().zip(target).map(|(off, t)| (*t - *off).to_f64()).collect();
            let size = off.iter().fold(0.0, |m: f64, v| if v.abs() > m || v.is_nan() { v.abs() } else { m });
            let gains = size < 0.5 * best.0;
            if size < best.0 {
                best = (size, mu.clone(), b);
            }
            if !gains || size == 0.0 {
                break;
            }
            let step = self.least_norm_step(&off);
            mu.iter_mut().zip(&step).for_each(|(mu, step)| *mu = mu.add_f64(*step));
        }
        (best.1, best.2)
    }

    /// Multipliers of the basic samples with `XXᵀμ = r`, to the digits of the factorization.
    fn least_norm_step(&self, r: &[f64]) -> Vec<f64> {
        if let Basis::Samples(kernel) = &self.basis {
            let mut mu = r.to_vec();
            kernel.cholesky.solve(&mut mu);
            return mu;
        }
        let (mut w, mut mu) = (vec![0.0; self.dim()], vec![0.0; r.len()]);
        self.whiten(r, &mut w);
        self.basic_multipliers(&w, &mut mu);
        mu
    }

    /// A bound of what an error of `XᵀW²r`, entry by entry, does to each entry of the [reachable part](Self::reachable_part)
    /// of `r`: `‖R₂⁻¹‖ ‖error‖` over its weight.
    pub fn reachable_noise(&self, of_gradient: &[f64]) -> Vec<f64> {
        let Basis::Deficient(_, projection) = &self.basis else { return vec![0.0; self.samples().n()] };
        let size = of_gradient.iter().map(|e| e * e).sum::<f64>().sqrt() * projection.inverse_norm();
        projection.weights.iter().map(|w| size / w).collect()
    }

    /// `XᵀW²v`.
    fn weighed(&self, projection: &Projection, v: &[DoubleDouble]) -> Vec<DoubleDouble> {
        let weighed: Vec<_> = v.iter().zip(&projection.weights).map(|(v, w)| v.mul_f64(w * w)).collect();
        let mut out = vec![DoubleDouble::ZERO; self.samples().d()];
        self.samples().apply_transposed(&weighed, &mut out);
        out
    }

    /// The `c` of the row space at which `off(Xc)`, what is left of a right-hand side of `XᵀW²Xc = b`, is 0.
    fn refined(
        &self,
        projection: &Projection,
        off: impl Fn(&[DoubleDouble]) -> Vec<DoubleDouble>,
    ) -> Vec<DoubleDouble> {
        let (x, q): (_, Rows<'_>) = (self.samples(), self.rows());
        let (mut c, mut there) = (vec![DoubleDouble::ZERO; x.d()], vec![DoubleDouble::ZERO; x.n()]);
        let (mut w, mut change) = (vec![0.0; q.n()], vec![0.0; x.d()]);
        let mut before = f64::INFINITY;
        for _ in 0..STEPS {
            x.apply(&c, &mut there);
            let left: Vec<f64> = off(&there).iter().map(|v| v.to_f64()).collect();
            q.apply(&left, &mut w);
            let w = projection.solve_normal_equations(&w);
            let size = w.iter().fold(0.0, |m: f64, v| if v.abs() > m || v.is_nan() { v.abs() } else { m });
            if !(size < 0.5 * before) || size == 0.0 {
                break;
            }
            before = size;
            q.apply_transposed(&w, &mut change);
            c.iter_mut().zip(&change).for_each(|(c, change)| *c = c.add_f64(*change));
        }
        c
    }
}

impl Projection {
    /// A bound of `‖R₂⁻¹‖`.
    fn inverse_norm(&self) -> f64 {
        let mut squares = 0.0;
        for i in 0..self.rank {
            let (mut unit, mut column) = (vec![0.0; self.rank], vec![0.0; self.rank]);
            unit[i] = 1.0;
            self.qr.solve_r(&unit, &mut column);
            squares += column.iter().map(|v| v * v).sum::<f64>();
        }
        squares.sqrt() * (1.0 + self.error_of_normal_equations())
    }
}
