//! The coordinates in which the dual is solved, and the targets projected onto what the data can reach.
//!
//! Well-conditioned data serve as they are. Otherwise `Xᵀ P = Q R` with pivoting: `G = Xᵀν = Q w`, the rows of `Qᵀ` take the
//! place of the samples and `w` that of the multipliers, so that no system squares the condition number of `X`.
//! Residuals are always formed with `X` itself and whitened afterwards: `Qᵀ` knows the row space to round-off only.

use crate::linalg::{Cholesky, RowBasis, Rows, RowwiseQr, SquareMatrix, WeightedGram};

use crate::real::{DoubleDouble, Real};

use super::units::Units;

/// Largest condition number of the (unit-diagonal) kernel `X Xᵀ` for which the rows of `X` are a basis good enough.
const WELL_CONDITIONED: f64 = 1e8;

/// Basis of the row space, targets in it, and the way back to multipliers of the samples.
#[derive(Debug)]
pub(super) struct RowSpace<'a> {
    units: Units<'a>,
    basis: Basis,
    /// Targets projected onto the range of `X`, in scaled units.
    pub y: Vec<f64>,
    /// The same in the coordinates of the basis.
    pub target: Vec<f64>,
    /// Minimum-ℓ2 solution `X⁺y`, in scaled units.
    pub least: Vec<f64>,
    /// False if `y` had a part that no `β` can reach.
    pub reachable: bool,
}

#[derive(Debug)]
enum Basis {
    /// The samples themselves.
    Samples(Box<Kernel>),
    /// Full row rank, badly conditioned.
    Orthonormal(RowBasis),
    /// Rank below the number of samples.
    Deficient(RowBasis, Box<Projection>),
}

/// `X Xᵀ` and its factor.
#[derive(Debug)]
struct Kernel {
    matrix: SquareMatrix,
    cholesky: Cholesky,
}

/// Least squares over the samples in their own weights: `W X = (W M) Qᵀ`, `W M = Q₂ R₂`.
#[derive(Debug)]
struct Projection {
    /// Row weights `W`.
    weights: Vec<f64>,
    /// `M`, N × rank, row-major.
    m: Vec<f64>,
    qr: RowwiseQr,
    rank: usize,
}

impl<'a> RowSpace<'a> {
    /// Analyse `x` and project `y`.
    pub fn of(x: Rows<'a>, y: &[f64]) -> Self {
        let units = Units::of(x, y);
        let basis = Basis::of(&units);
        let mut space =
            Self { target: Vec::new(), least: vec![0.0; x.d()], y: units.y.clone(), units, basis, reachable: true };
        space.project();
        space
    }

    /// An upper bound of every entry of `|Q||ν|`.
    pub fn longest_path(&self, nu: &[f64]) -> f64 {
        match &self.basis {
            Basis::Samples(_) => nu.iter().zip(self.units.row_peaks()).map(|(nu, peak)| nu.abs() * peak).sum(),
            // The columns of Qᵀ are parts of orthonormal ones.
            _ => nu.iter().map(|nu| nu * nu).sum::<f64>().sqrt(),
        }
    }

    fn project(&mut self) {
        let rows = self.units.rows();
        let mut target = vec![0.0; self.dim()];
        self.whiten(&self.units.y, &mut target);
        match &self.basis {
            Basis::Samples(kernel) => {
                let mut multipliers = target.clone();
                kernel.cholesky.solve(&mut multipliers);
                rows.apply_transposed(&multipliers, &mut self.least);
            }
            Basis::Orthonormal(basis) => basis.q_rows().apply_transposed(&target, &mut self.least),
            Basis::Deficient(basis, projection) => {
                basis.q_rows().apply_transposed(&target, &mut self.least);
                projection.expand(&target, &mut self.y);
                let size = self.units.y.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
                let off = self.units.y.iter().zip(&self.y).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
                // Projection in binary64 moves consistent targets by their rounding times a factor that grows with
                // the size of the problem; below that the two cannot be told apart.
                let noise = 8.0 * f64::EPSILON * (rows.n().max(rows.d()) as f64);
                self.reachable = off <= noise * size;
                if self.reachable && basis.rank() < rows.d() {
                    // The samples outside the basis repeat the others: keep what the user gave.
                    self.y.copy_from_slice(&self.units.y);
                }
            }
        }
        self.target = target;
    }

    /// The scaled problem's units.
    pub fn units(&self) -> &Units<'a> {
        &self.units
    }

    /// The scaled data.
    pub fn samples(&self) -> Rows<'_> {
        self.units.rows()
    }

    /// Number of basis vectors, the rank of `X`.
    pub fn dim(&self) -> usize {
        match &self.basis {
            Basis::Samples(_) => self.samples().n(),
            Basis::Orthonormal(basis) | Basis::Deficient(basis, _) => basis.rank(),
        }
    }

    /// The basis, one vector a row.
    pub fn rows(&self) -> Rows<'_> {
        match &self.basis {
            Basis::Samples(_) => self.samples(),
            Basis::Orthonormal(basis) | Basis::Deficient(basis, _) => basis.q_rows(),
        }
    }

    /// The kernel `X Xᵀ`, where the samples are the basis.
    pub fn kernel(&self) -> Option<&SquareMatrix> {
        match &self.basis {
            Basis::Samples(kernel) => Some(&kernel.matrix),
            _ => None,
        }
    }

    /// A residual in the coordinates of the basis.
    pub fn whiten(&self, r: &[f64], out: &mut [f64]) {
        match &self.basis {
            Basis::Samples(_) => out.copy_from_slice(r),
            Basis::Orthonormal(basis) => basis.solve_r_transposed(r, out),
            Basis::Deficient(_, projection) => projection.coordinates(r, out),
        }
    }

    /// Samples that span the row space, and multipliers of them with the same `Xᵀν`.
    pub fn basic_samples(&self) -> Vec<usize> {
        match &self.basis {
            Basis::Samples(_) | Basis::Orthonormal(_) => (0..self.samples().n()).collect(),
            Basis::Deficient(basis, _) => basis.order()[..basis.rank()].to_vec(),
        }
    }

    /// Multipliers of all samples (scaled units) for the coordinates `w`; zero outside the basic samples.
    pub fn basic_multipliers(&self, w: &[f64], nu: &mut [f64]) {
        match &self.basis {
            Basis::Samples(_) => nu.copy_from_slice(w),
            Basis::Orthonormal(basis) | Basis::Deficient(basis, _) => basis.solve_r(w, nu),
        }
    }

    /// Of a residual `y − Xβ` of all samples the part in the range of `X`, which is what separates `β` from the set over
    /// which Q is minimised, with a bound of its relative error. `None` where that is not known to a digit.
    ///
    /// Projecting `y` once leaves an error of `cond(X) u ‖y − Xβ‖`, large where `y` is far from the range; the normal
    /// equations `(XᵀW²X) c = XᵀW²r` of a residual in double-double have no such term, and show that error.
    pub fn reachable_part(&self, residual: &[DoubleDouble]) -> Option<(Vec<f64>, f64)> {
        let Basis::Deficient(basis, projection) = &self.basis else { return None };
        let error = projection.error_of_normal_equations();
        if !(error < 0.1) {
            return None;
        }
        let weigh = |(r, w): (&DoubleDouble, &f64)| *r * DoubleDouble::from_f64(w * w);
        let weighted: Vec<DoubleDouble> = residual.iter().zip(&projection.weights).map(weigh).collect();
        let mut gradient = vec![DoubleDouble::ZERO; self.samples().d()];
        self.samples().apply_transposed(&weighted, &mut gradient);
        let gradient: Vec<f64> = gradient.iter().map(|g| g.to_f64()).collect();
        let (mut w, mut part) = (vec![0.0; basis.rank()], vec![0.0; residual.len()]);
        basis.q_rows().apply(&gradient, &mut w);
        let w = projection.solve_normal_equations(&w);
        projection.expand(&w, &mut part);
        Some((part, error))
    }

    /// Among all multipliers (scaled units) with the same `Xᵀν` those of least norm in the user's units.
    pub fn least_multipliers(&self, nu: &mut [f64]) {
        if let Basis::Deficient(basis, projection) = &self.basis {
            let mut g = vec![0.0; self.samples().d()];
            self.samples().apply_transposed(nu, &mut g);
            let mut w = vec![0.0; basis.rank()];
            basis.q_rows().apply(&g, &mut w);
            projection.least_multipliers(&w, nu);
        }
    }
}

impl Basis {
    fn of(units: &Units<'_>) -> Self {
        let x = units.rows();
        if x.n() <= x.d() {
            let kernel = WeightedGram::of(x, &vec![1.0; x.d()]);
            let mut cholesky = Cholesky::new(x.n());
            if cholesky.factor_scaled(&kernel) == Some(0.0) && cholesky.condition_estimate(&kernel) < WELL_CONDITIONED {
                return Self::Samples(Box::new(Kernel { matrix: kernel, cholesky }));
            }
        }
        let basis = RowBasis::of(x);
        if basis.rank() == x.n() {
            return Self::Orthonormal(basis);
        }
        let projection = Box::new(Projection::of(units, &basis));
        Self::Deficient(basis, projection)
    }
}

impl Projection {
    fn of(units: &Units<'_>, basis: &RowBasis) -> Self {
        let (n, rank) = (units.rows().n(), basis.rank());
        let weights = units.row_weights();
        let mut m = vec![0.0; n * rank];
        for (j, sample) in basis.order().iter().enumerate() {
            for (i, entry) in m[sample * rank..(sample + 1) * rank].iter_mut().enumerate() {
                *entry = basis.r(i, j);
            }
        }
        let weighted: Vec<f64> =
            m.chunks_exact(rank.max(1)).zip(&weights).flat_map(|(row, w)| row.iter().map(move |v| v * w)).collect();
        let qr = RowwiseQr::of(Rows::from_parts(&weighted, n, rank));
        Self { weights, m, qr, rank }
    }

    /// Least-squares coordinates `R₂⁻¹ Q₂ᵀ W r`.
    fn coordinates(&self, r: &[f64], out: &mut [f64]) {
        let weighted: Vec<f64> = r.iter().zip(&self.weights).map(|(r, w)| r * w).collect();
        self.qr.solve_r(&self.qr.apply_qt(&weighted)[..self.rank], out);
    }

    /// Targets `M w` of the coordinates `w`.
    fn expand(&self, w: &[f64], out: &mut [f64]) {
        Rows::from_parts(&self.m, self.weights.len(), self.rank).apply(w, out);
    }

    /// `W (W M) (R₂ᵀR₂)⁻¹ w`: of least norm among the multipliers of the unscaled rows.
    fn least_multipliers(&self, w: &[f64], nu: &mut [f64]) {
        let inner = self.solve_normal_equations(w);
        self.expand(&inner, nu);
        nu.iter_mut().zip(&self.weights).for_each(|(nu, w)| *nu *= w * w);
    }

    /// `(R₂ᵀR₂)⁻¹ b`.
    fn solve_normal_equations(&self, b: &[f64]) -> Vec<f64> {
        let (mut half, mut out) = (vec![0.0; self.rank], vec![0.0; self.rank]);
        self.qr.solve_r_transposed(b, &mut half);
        self.qr.solve_r(&half, &mut out);
        out
    }

    /// A bound of their relative error, `8 N u cond(R₂)²` with the condition read off the diagonal.
    fn error_of_normal_equations(&self) -> f64 {
        let (least, most) = self.qr.diagonal().fold((f64::INFINITY, 0.0), |(a, b), v| (f64::min(a, v), f64::max(b, v)));
        if self.rank == 0 {
            return 0.0;
        }
        8.0 * self.weights.len() as f64 * f64::UNIT_ROUNDOFF * (most / least).powi(2)
    }
}
