//! The last digits: dual Newton with exponents, coefficients and residual in double-double.
//!
//! Binary64 exponents of size |ln κ| cost the coefficients |ln κ| units in the last place, and a binary64 residual is
//! its own round-off once the limit is reached. Here `ν` is a double-double vector and everything that depends on it is
//! evaluated to 30 digits, while systems stay binary64: iterative refinement (Wilkinson 1963), whose steps converge at
//! the rate of the factorization's error whatever the condition number below its inverse.

use crate::linalg::{Cholesky, Rows, WeightedGram};
use crate::real::{DoubleDouble, Real};

use super::accuracy::{self, Errors, Evaluated, SMALLEST, abs_product, abs_transposed, magnitudes};
use super::certificate::{self, Inverse};
use super::dual::largest;
use super::exponents::Exponents;
use crate::limit::row_space::RowSpace;

/// Steps at most; two are the rule, each further one a sign of a factorization with few digits.
const STEPS: usize = 20;
/// … and to prove with.
const RENEW_PROOF: f64 = 1e-3;
/// Movement of the exponents that no step of refinement may exceed: the point is next to the limit already.
const ASTRAY: f64 = 0.5;
/// Least and largest lift of the slopes, relative to the largest, where steps go astray.
const LIFTS: (f64, f64) = (1e-14, 1e-6);
/// The unit round-off of double-double arithmetic as used here: each operation errs by at most 2^-102 relative, the
/// functions by 2^-98.
const DOUBLE_DOUBLE: f64 = 1.0 / (1u128 << 98) as f64;

/// Relative error of coefficients too small to be worth double-double: their exponents, at most 745 in size, are rounded.
const ROUGH: f64 = 1.0 / (1u64 << 42) as f64;
/// A bound no larger than this many times the rounding of the largest coefficient needs no more work.
const SHARP: f64 = 2.0;
/// Above this error of the factored kernel its square root is factored instead (`√S Xᵀ = QR`).
const DOUBTFUL: f64 = 1e-3;

/// How many digits are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Digits {
    /// Those of a binary64 coefficient.
    Sixteen,
    /// Those of a double-double one: refinement goes on until the residual no longer falls.
    Thirty,
}

impl Digits {
    /// A step that moves no exponent by more than this changes no digit that is wanted.
    fn settled(self) -> f64 {
        match self {
            Self::Sixteen => 1e-20,
            Self::Thirty => 0.0,
        }
    }

    /// Movement of the exponents above which the factorization is renewed to step with; each step gains about this
    /// factor, and thirty digits are worth a system more where sixteen are two steps away.
    fn renew(self) -> f64 {
        match self {
            Self::Sixteen => 0.1,
            Self::Thirty => 1e-5,
        }
    }

    /// Relative size of slopes below which a coefficient is evaluated in binary64: 2^-24 of [`ROUGH`] of the largest is
    /// far below what a binary64 coefficient shows. A double-double one shows it.
    fn negligible(self) -> f64 {
        match self {
            Self::Sixteen => 1.0 / (1u64 << 24) as f64,
            Self::Thirty => 0.0,
        }
    }
}

/// What is refined, and in which coordinates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    /// Vectors that span the row space: `G` is their combination with the multipliers.
    pub basis: Rows<'a>,
    /// The samples whose targets are to be met.
    pub x: Rows<'a>,
    pub y: &'a [DoubleDouble],
    /// How residuals are brought to the coordinates of the basis; `None` where the samples are the basis.
    pub whiten: Option<&'a RowSpace<'a>>,
    pub digits: Digits,
}

/// A refined point.
#[derive(Debug)]
pub(super) struct Refined {
    /// Multipliers of the basis.
    pub nu: Vec<DoubleDouble>,
    /// `G`.
    pub g: Vec<DoubleDouble>,
    /// Coefficients.
    pub beta: Vec<DoubleDouble>,
    /// Slopes.
    pub slope: Vec<f64>,
    /// `y − Xβ`, rounded.
    pub residual: Vec<f64>,
    /// Systems formed and factored on the way, not counting one for the certificate.
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
    /// What was added to the kernel, relatively. Above 0: good enough to step with, not to prove with.
    lift: f64,
}

impl Refined {
    /// Refine the limit from the multipliers `nu` of the basis, near which the slopes are `slope`. `known`: an unshifted
    /// factor of the kernel nearby, and
    /// how far the exponents have moved since.
    pub fn from(
        frame: Frame<'_>,
        start: &Exponents,
        nu: &[f64],
        slope: &[f64],
        known: Option<(&Cholesky, f64)>,
    ) -> Self {
        let nu: Vec<DoubleDouble> = nu.iter().map(|v| DoubleDouble::from_f64(*v)).collect();
        Self::within(STEPS, frame, start, &nu, slope, known)
    }

    /// The same in no more than so many steps.
    pub fn within(
        steps: usize,
        frame: Frame<'_>,
        start: &Exponents,
        nu: &[DoubleDouble],
        slope: &[f64],
        known: Option<(&Cholesky, f64)>,
    ) -> Self {
        let x = frame.x;
        let zero = DoubleDouble::ZERO;
        let mut point = Self {
            nu: nu.to_vec(),
            g: vec![zero; x.d()],
            beta: vec![zero; x.d()],
            slope: slope.to_vec(),
            residual: vec![0.0; x.n()],
            systems: 0,
            factor: known.map(|(cholesky, moved)| Factor {
                error: certificate::by_gram(frame.basis, cholesky, &Inverse::of(cholesky)),
                cholesky: cholesky.clone(),
                moved,
                lift: 0.0,
            }),
            floor: 0.0,
        };
        point.evaluate(frame, start);
        for _ in 0..steps {
            if !point.step(frame, start) {
                break;
            }
        }
        point
    }

    /// What round-off can have done to the point, where the samples are the basis.
    pub fn errors(&self, frame: Frame<'_>, start: &Exponents) -> Errors {
        let x = frame.x;
        let (nu, beta) = (high(&self.nu), magnitudes(&high(&self.beta)));
        if frame.digits == Digits::Thirty {
            let (g, slope) = (&high(&self.g), &self.slope);
            let evaluated = Evaluated { nu: &nu, g, beta: &beta, slope };
            return accuracy::in_double_double(x, frame.y, start, evaluated, &self.residual);
        }
        let path = abs_transposed(x, &nu);
        let product = 2.0 * (x.n() as f64 + 3.0) * DOUBLE_DOUBLE;
        // Double-double keeps its digits down to 2^-960 only; below, every product loses up to the least float.
        let underflow = 8.0 * (x.n() as f64 + 1.0) * SMALLEST;
        let mut worst = 0.0_f64;
        let exact_to: Vec<f64> = (0..beta.len())
            .map(|i| {
                let (exponent, shifted) = start.sizes(i, self.g[i].to_f64());
                let of_z = underflow + product * path[i] + 2.0 * DOUBLE_DOUBLE * shifted;
                let of_exponent = 4.0 * DOUBLE_DOUBLE * (1.0 + exponent);
                worst = worst.max((of_z + of_exponent).exp_m1());
                let rough = if self.slope[i] <= 2.0 * self.floor { ROUGH * self.slope[i] } else { 0.0 };
                0.5 * self.slope[i] * of_z.exp_m1() + beta[i] * of_exponent.exp_m1() + rough
            })
            .collect();
        let mut residual = abs_product(x, &exact_to);
        let sum = (x.d() as f64 + 2.0) * DOUBLE_DOUBLE;
        let terms = abs_product(x, &beta).into_iter().zip(frame.y).zip(&self.residual);
        for (error, ((size, y), rounded)) in residual.iter_mut().zip(terms) {
            *error +=
                sum * (size + y.to_f64().abs()) + 8.0 * (x.d() as f64) * SMALLEST + f64::UNIT_ROUNDOFF * rounded.abs();
        }
        let reported = |(size, error): (&f64, &f64)| error + f64::UNIT_ROUNDOFF * size + SMALLEST;
        Errors { beta: beta.iter().zip(&exact_to).map(reported).collect(), residual, slope: worst + ROUGH }
    }

    /// The proven bound of every coefficient rounded to binary64, where the samples are the basis.
    pub fn certify(&mut self, x: Rows<'_>, errors: &Errors) -> Vec<f64> {
        if self.factor.as_ref().is_none_or(|f| f.lift > 0.0 || f.moved > RENEW_PROOF || f.error > DOUBTFUL) {
            self.factorize(x);
        }
        match self.factor.as_ref().filter(|f| f.lift == 0.0) {
            None => vec![f64::INFINITY; x.d()],
            Some(factor) => certificate::certify(&certificate::Evidence {
                x,
                slope: &self.slope,
                slope_error: errors.slope,
                beta_error: &errors.beta,
                residual: &self.residual,
                residual_error: &errors.residual,
                cholesky: &factor.cholesky,
                inverse: &Inverse::of(&factor.cholesky),
                moved: factor.moved,
                factor_error: factor.error,
                enough: SHARP * largest(&errors.beta),
            }),
        }
    }

    fn evaluate(&mut self, frame: Frame<'_>, start: &Exponents) {
        let (x, y) = (frame.x, frame.y);
        frame.basis.apply_transposed(&self.nu, &mut self.g);
        self.floor = frame.digits.negligible() * largest(&self.slope);
        start.evaluate_exactly(&self.g, self.floor, &mut self.beta, &mut self.slope);
        let mut product = vec![DoubleDouble::ZERO; x.n()];
        x.apply(&self.beta, &mut product);
        let difference = |(y, p): (&DoubleDouble, &DoubleDouble)| (*y - *p).to_f64();
        self.residual.iter_mut().zip(y.iter().zip(&product)).for_each(|(r, pair)| *r = difference(pair));
    }

    /// Is every residual within what round-off can have done to it? Beyond there are no digits to be had.
    pub fn arrived(&self, frame: Frame<'_>, start: &Exponents) -> bool {
        let errors = self.errors(frame, start);
        self.residual.iter().zip(&errors.residual).all(|(r, error)| r.abs() <= *error)
    }

    /// One step of refinement. False if nothing is left to gain; the point is then the better of the two.
    fn step(&mut self, frame: Frame<'_>, start: &Exponents) -> bool {
        if frame.digits == Digits::Thirty && largest(&self.residual) == 0.0 {
            return false;
        }
        if self.factor.as_ref().is_none_or(|f| f.moved > frame.digits.renew()) {
            self.systems += 1;
            // Once slopes had to be lifted they stay lifted: the null space is still there.
            let lift = self.factor.as_ref().map_or(0.0, |f| f.lift);
            let renewed = if lift > 0.0 { self.lift(frame.basis, lift) } else { self.factorize(frame.basis) };
            if !renewed && !self.regularize(frame.basis) {
                return false;
            }
        }
        let Some((step, moved)) = self.direction(frame) else { return false };
        if moved <= frame.digits.settled() {
            return false;
        }
        if !(moved < ASTRAY) {
            return self.regularize(frame.basis);
        }
        let (nu, before) = (self.nu.clone(), largest(&self.residual));
        self.nu.iter_mut().zip(&step).for_each(|(nu, step)| *nu += DoubleDouble::from_f64(*step));
        self.evaluate(frame, start);
        let after = largest(&self.residual);
        if !(after < before) {
            self.nu = nu;
            self.evaluate(frame, start);
            // Sixteen digits never come as far: what they want has settled before.
            let arrived = frame.digits == Digits::Thirty && self.arrived(frame, start);
            return !arrived && self.regularize(frame.basis);
        }
        if let Some(factor) = &mut self.factor {
            factor.moved += moved;
        }
        // Progress by less than a half is the factorization's last digit.
        after < 0.5 * before
    }

    /// `H⁻¹r` and the movement of the exponents that it brings.
    fn direction(&self, frame: Frame<'_>) -> Option<(Vec<f64>, f64)> {
        let factor = self.factor.as_ref()?;
        let mut step = vec![0.0; frame.basis.n()];
        match frame.whiten {
            Some(space) => space.whiten(&self.residual, &mut step),
            None => step.copy_from_slice(&self.residual),
        }
        factor.cholesky.solve(&mut step);
        let mut movement = vec![0.0; frame.basis.d()];
        frame.basis.apply_transposed(&step, &mut movement);
        Some((step, 2.0 * largest(&movement)))
    }

    /// Lift all slopes further. Where fewer coefficients than samples are away from 0 the kernel is singular to working
    /// precision, and round-off of the residual in its null space would send `ν` far away for nothing; lifted slopes
    /// keep such directions still and converge in the others all the same. False when lifted as far as makes sense.
    fn regularize(&mut self, basis: Rows<'_>) -> bool {
        let lift = self.factor.as_ref().map_or(0.0, |f| f.lift);
        let lift = f64::max(LIFTS.0, 100.0 * lift);
        lift <= LIFTS.1 && self.lift(basis, lift)
    }

    /// Factor the kernel of slopes that are lifted by this part of the largest.
    fn lift(&mut self, basis: Rows<'_>, lift: f64) -> bool {
        let floor = lift * largest(&self.slope);
        let lifted: Vec<f64> = self.slope.iter().map(|s| s + floor).collect();
        let mut cholesky = Cholesky::new(basis.n());
        if cholesky.factor_scaled(&WeightedGram::of(basis, &lifted)).is_none() {
            return false;
        }
        self.factor = Some(Factor { cholesky, error: f64::INFINITY, moved: 0.0, lift });
        true
    }

    /// Factor `X diag(S) Xᵀ` at the point: through the kernel, or through `√S Xᵀ` where that squares too much.
    fn factorize(&mut self, x: Rows<'_>) -> bool {
        let mut cholesky = Cholesky::new(x.n());
        let shift = cholesky.factor_scaled(&WeightedGram::of(x, &self.slope));
        let error = if shift == Some(0.0) {
            certificate::by_gram(x, &cholesky, &Inverse::of(&cholesky))
        } else {
            f64::INFINITY
        };
        if error < DOUBTFUL {
            self.factor = Some(Factor { cholesky, error, moved: 0.0, lift: 0.0 });
            return true;
        }
        let mut by_qr = Cholesky::new(x.n());
        if by_qr.factor_by_qr(x, &self.slope) {
            let error = certificate::by_qr(x, &by_qr, &Inverse::of(&by_qr));
            if error < 1.0 {
                self.factor = Some(Factor { cholesky: by_qr, error, moved: 0.0, lift: 0.0 });
                return true;
            }
        }
        self.factor = shift.map(|shift| Factor { cholesky, error, moved: 0.0, lift: shift });
        self.factor.is_some()
    }
}

fn high(v: &[DoubleDouble]) -> Vec<f64> {
    v.iter().map(|v| v.to_f64()).collect()
}
