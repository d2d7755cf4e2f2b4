//! The last digits: dual Newton with exponents, coefficients and residual in double-double.
//!
//! Binary64 exponents of size |ln κ| cost the coefficients |ln κ| units in the last place, and a binary64 residual is
//! its own round-off once the limit is reached. Here `ν` is a double-double vector and everything that depends on it is
//! evaluated to 30 digits, while systems stay binary64: iterative refinement (Wilkinson 1963), whose steps converge at
//! the rate of the factorization's error whatever the condition number below its inverse.

use crate::linalg::{Cholesky, Rows, SquareMatrix, WeightedGram};
use crate::real::{DoubleDouble, Real};

use super::accuracy::{self, Errors};
use super::certificate;
use super::dual::largest;
use super::exponents::Exponents;

/// Steps at most; two are the rule, each further one a sign of a factorization with few digits.
const STEPS: usize = 12;
/// A step that moves no exponent by more than this changes no digit of a binary64 coefficient.
const SETTLED: f64 = 1e-20;
/// Movement of the exponents above which the factorization is renewed.
const RENEW: f64 = 1e-3;
/// Relative size of slopes below which a coefficient is evaluated in binary64.
const NEGLIGIBLE: f64 = 1.0 / (1u128 << 64) as f64;
/// Above this error of the factored kernel its square root is factored instead (`√S Xᵀ = QR`).
const DOUBTFUL: f64 = 1e-3;

/// A refined point.
#[derive(Debug)]
pub(super) struct Refined {
    /// Multipliers of the samples in `x`.
    pub nu: Vec<DoubleDouble>,
    /// `G = Xᵀν`.
    pub g: Vec<DoubleDouble>,
    /// Coefficients.
    pub beta: Vec<DoubleDouble>,
    /// Slopes.
    pub slope: Vec<f64>,
    /// `y − Xβ`, rounded.
    pub residual: Vec<f64>,
    /// Systems formed and factored.
    pub systems: usize,
    /// Factor of the kernel near the point, if there is one without a shift, with its error and the movement since.
    factor: Option<Factor>,
    floor: f64,
}

#[derive(Debug)]
struct Factor {
    cholesky: Cholesky,
    error: f64,
    moved: f64,
    /// A diagonal shift was needed: good enough to step with, not to prove with.
    shifted: bool,
}

impl Refined {
    /// Refine the limit of `(x, y)` from the multipliers `nu`.
    pub fn from(x: Rows<'_>, y: &[f64], start: &Exponents, nu: &[f64]) -> Self {
        let zero = DoubleDouble::ZERO;
        let mut point = Self {
            nu: nu.iter().map(|v| DoubleDouble::from_f64(*v)).collect(),
            g: vec![zero; x.d()],
            beta: vec![zero; x.d()],
            slope: vec![0.0; x.d()],
            residual: vec![0.0; x.n()],
            systems: 0,
            factor: None,
            floor: 0.0,
        };
        point.evaluate(x, y, start);
        for _ in 0..STEPS {
            if !point.step(x, y, start) {
                break;
            }
        }
        point
    }

    /// What round-off can have done to the point.
    pub fn errors(&self, x: Rows<'_>, y: &[f64], start: &Exponents) -> Errors {
        accuracy::in_double_double(x, y, start, &self.nu, &self.g, &self.slope, self.floor, &self.beta, &self.residual)
    }

    /// The proven bound of every coefficient rounded to binary64.
    pub fn certify(&mut self, x: Rows<'_>, errors: &Errors) -> Vec<f64> {
        if self.factor.as_ref().is_none_or(|f| f.shifted || f.moved > RENEW) {
            self.factorize(x);
        }
        match self.factor.as_ref().filter(|f| !f.shifted) {
            None => vec![f64::INFINITY; x.d()],
            Some(factor) => certificate::certify(&certificate::Evidence {
                x,
                slope: &self.slope,
                slope_error: errors.slope,
                beta_error: &errors.beta,
                residual: &self.residual,
                residual_error: &errors.residual,
                cholesky: &factor.cholesky,
                moved: factor.moved,
                factor_error: factor.error,
            }),
        }
    }

    fn evaluate(&mut self, x: Rows<'_>, y: &[f64], start: &Exponents) {
        x.apply_transposed(&self.nu, &mut self.g);
        // Slopes of the first evaluation are not known yet: everything is evaluated exactly then.
        self.floor = NEGLIGIBLE * largest(&self.slope);
        start.evaluate_exactly(&self.g, self.floor, &mut self.beta, &mut self.slope);
        let mut product = vec![DoubleDouble::ZERO; x.n()];
        x.apply(&self.beta, &mut product);
        let difference = |(y, p): (&f64, &DoubleDouble)| (DoubleDouble::from_f64(*y) - *p).to_f64();
        self.residual.iter_mut().zip(y.iter().zip(&product)).for_each(|(r, pair)| *r = difference(pair));
    }

    /// One step of refinement. False if nothing is left to gain; the point is then the better of the two.
    fn step(&mut self, x: Rows<'_>, y: &[f64], start: &Exponents) -> bool {
        if self.factor.as_ref().is_none_or(|f| f.moved > RENEW) && !self.factorize(x) {
            return false;
        }
        let Some(factor) = &mut self.factor else { return false };
        let mut step = self.residual.clone();
        factor.cholesky.solve(&mut step);
        let mut movement = vec![0.0; x.d()];
        x.apply_transposed(&step, &mut movement);
        let moved = 2.0 * largest(&movement);
        if !(moved > SETTLED && moved < 1.0) {
            return false;
        }
        let before = (self.nu.clone(), largest(&self.residual));
        self.nu.iter_mut().zip(&step).for_each(|(nu, step)| *nu += DoubleDouble::from_f64(*step));
        self.evaluate(x, y, start);
        let after = largest(&self.residual);
        if !(after < before.1) {
            self.nu = before.0;
            self.evaluate(x, y, start);
            return false;
        }
        if let Some(factor) = &mut self.factor {
            factor.moved += moved;
        }
        // Progress by less than a half is the factorization's last digit.
        after < 0.5 * before.1
    }

    /// Factor `X diag(S) Xᵀ` at the point: through the kernel, or through `√S Xᵀ` where that squares too much.
    fn factorize(&mut self, x: Rows<'_>) -> bool {
        self.systems += 1;
        let mut kernel = SquareMatrix::zeros(x.n());
        WeightedGram::new(x.n(), x.d()).form(x, &self.slope, &mut kernel);
        let mut cholesky = Cholesky::new(x.n());
        let shift = cholesky.factor_scaled(&kernel);
        let error = if shift == Some(0.0) { certificate::by_gram(x, &cholesky) } else { f64::INFINITY };
        if error < DOUBTFUL {
            self.factor = Some(Factor { cholesky, error, moved: 0.0, shifted: false });
            return true;
        }
        let mut by_qr = Cholesky::new(x.n());
        if by_qr.factor_by_qr(x, &self.slope) {
            let error = certificate::by_qr(x, &by_qr);
            if error < 1.0 {
                self.factor = Some(Factor { cholesky: by_qr, error, moved: 0.0, shifted: false });
                return true;
            }
        }
        self.factor = shift.map(|shift| Factor { cholesky, error, moved: 0.0, shifted: shift > 0.0 });
        self.factor.is_some()
    }
}
