//! How large an error of ν is, seen from β and from the residual. Knows no integrator.
//!
//! To first order an error `e` of ν changes β by `S∘Xᵀe` and the residual by `−X(S∘Xᵀe)`. Its size is the larger of
//!
//! 1. `max_i S_i |x_iᵀe|` over `rtol` times the largest |β|: the error a user sees in a row of the trajectory;
//! 2. `max|X(S∘Xᵀe)|` over `max|r|` times a tolerance of its own: the loss of a row is accurate on its way to 0, too.
//!
//! No absolute tolerance: β starts at κ, perhaps 10^-100000, and escapes from there by relative growth.
//!
//! An error that a perturbation of the right-hand side by its own round-off explains is none: (2) would wait for ever for
//! the residual to be known better than its terms are, and Newton's increments end there. Over a step of length h such a
//! perturbation `δr` moves ν by the `e` with `(N/h) e + X(S∘Xᵀe) = δr`; only implicit methods tell h, and only they
//! need that in (1).

use super::prepare::peak;
use super::reference::Reference;
use crate::linalg::{Rows, SquareMatrix, norm};
use crate::real::{DoubleDouble, Real};

/// Coordinates with a small S count as if it were this fraction of the largest: they may grow within the step.
const INACTIVE: f64 = 1e-3;
/// Round-off of the right-hand side, and of the stage equations that are solved with it, in ulps of `|y_n| + ‖x_n‖‖β‖`:
/// 2 for the product, the rest for the stage matrix, whose inverse has norms up to 60.
const ROUND_OFF: f64 = 32.0;
/// Round-off of a shift `z`, as a part of [`ROUND_OFF`]: a sum of products, added to an exponent.
const SHIFT_ROUND_OFF: f64 = 0.25;
/// How far beyond the size of a fitted coefficient the exponents may be extrapolated in one step, in e-folds.
const OVERSHOOT: f64 = 8.0;

/// Slopes below this are compared by their logarithms.
const SMALL: f64 = 1e-250;

/// A state as errors are measured from it, in binary64 whatever it is kept in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    /// z.
    pub(super) shift: &'a [f64],
    /// β.
    pub(super) beta: &'a [f64],
    /// S.
    pub(super) slope: &'a [f64],
    /// r.
    pub(super) residual: &'a [f64],
}

/// The weights, fixed at the start of a step.
#[derive(Debug)]
pub(super) struct ErrorWeights {
    rtol: f64,
    residual_rtol: f64,
    samples: f64,
    /// `‖x_n‖` of the rows, `‖x_i‖²` of the columns.
    row_norms: Vec<f64>,
    column_squares: Vec<f64>,
    /// Logarithm of the size of a coefficient that fits one sample alone.
    log_size: f64,
    /// `|y_n|`.
    targets: Vec<f64>,
    /// Weight of `|x_iᵀe|`, S, and round-off of the residual.
    weights: Vec<f64>,
    slope: Vec<f64>,
    round_off: Vec<f64>,
    /// `residual_rtol · max|r|`.
    residual_tolerance: f64,
    /// Start of the step, and its length as far as known from the stages.
    start: DoubleDouble,
    length: f64,
    /// Twice the unit round-off of the numbers of the state.
    ulp: f64,
    /// How many times its round-off at the start of the step the residual has.
    noise: f64,
    /// Of that the part that β itself accounts for.
    amplified: f64,
    /// Growth rates `Xᵀν'`, and the slope `ν'` they belong to.
    rates: Vec<f64>,
    rates_of: Vec<f64>,
    /// Room for `S∘Xᵀe` of one error, and for `X(S∘Xᵀe)` of several.
    seen: Vec<f64>,
    moved: Vec<f64>,
}

impl ErrorWeights {
    /// For numbers whose last place is `ulp`.
    pub(super) fn new(x: Rows<'_>, y: &[f64], samples: f64, (rtol, residual_rtol): (f64, f64), ulp: f64) -> Self {
        let (n, d) = (x.n(), x.d());
        let mut column_squares = vec![0.0; d];
        let mut row_norms = vec![0.0; n];
        for (i, norm) in row_norms.iter_mut().enumerate() {
            for (square, x) in column_squares.iter_mut().zip(x.row(i)) {
                *square += x * x;
                *norm += x * x;
            }
            *norm = norm.sqrt();
        }
        Self {
            rtol,
            residual_rtol,
            samples,
            row_norms,
            column_squares,
            log_size: (peak(y) / peak(x.data())).ln(),
            targets: y.iter().map(|y| y.abs()).collect(),
            weights: vec![0.0; d],
            slope: vec![0.0; d],
            round_off: vec![0.0; n],
            residual_tolerance: 0.0,
            start: DoubleDouble::ZERO,
            length: f64::INFINITY,
            ulp,
            noise: 1.0,
            amplified: 1.0,
            rates: vec![0.0; d],
            rates_of: vec![f64::NAN; n],
            seen: vec![0.0; d],
            moved: vec![0.0; n],
        }
    }

    /// `‖x_i‖²` of the columns.
    pub(super) fn column_squares(&self) -> &[f64] {
        &self.column_squares
    }

    /// Norm of the round-off of the residual at the start of the step.
    pub(super) fn round_off(&self) -> f64 {
        self.amplified * norm(self.round_off.iter().copied())
    }

    /// The stages of a step are evaluated at these times, where exponents have moved by up to `reach`: each e-fold adds its
    /// rounding to that of β.
    pub(super) fn at_times<R: Real>(&mut self, t: &[R], reach: f64) {
        self.noise = self.amplified + SHIFT_ROUND_OFF * reach;
        if let [_, .., last] = t {
            self.length = (exact(*last) - self.start).to_f64();
        }
    }

    /// Fix the weights at the start of a step: time `t`, slope `dy`.
    pub(super) fn set<R: Real>(&mut self, x: Rows<'_>, reference: &Reference, t: R, here: &Seen<'_>, dy: &[f64]) {
        self.start = exact(t);
        self.length = f64::INFINITY;
        self.amplified = reference.amplification(here.shift, here.beta);
        self.noise = self.amplified;
        self.find_rates(x, dy);
        self.slope.copy_from_slice(here.slope);
        self.residual_tolerance = self.residual_rtol * peak(here.residual);
        let size = here.beta.iter().map(|beta| beta * beta).sum::<f64>().sqrt();
        for ((noise, y), norm) in self.round_off.iter_mut().zip(&self.targets).zip(&self.row_norms) {
            *noise = (ROUND_OFF * self.ulp * (y + norm * size)).max(f64::MIN_POSITIVE);
        }
        let (beta, slope) = (&mut self.seen[..x.d()], &mut self.weights);
        let lift = if peak(here.slope) < SMALL {
            reference.evaluate_relative(here.shift, beta, slope)
        } else {
            beta.copy_from_slice(here.beta);
            slope.copy_from_slice(here.slope);
            0.0
        };
        let largest = peak(slope);
        let trace: f64 = slope.iter().zip(&self.column_squares).map(|(s, square)| s / largest * square).sum();
        let speed = slope.iter().zip(&self.rates).fold(0.0, |speed: f64, (s, g)| speed.max(s / largest * g.abs()));
        // β may be 0 here, at the start it often is. It is then measured by what it will be after the shortest time
        // scale of the flow, 1/‖J‖ ≥ N/trace, or when the exponents have moved by one half, whichever is less.
        let soon = ((speed * self.samples / trace).ln() + lift).exp().min(0.5 * largest);
        let unit = 1.0 / (self.rtol * peak(beta).max(soon));
        for weight in slope {
            *weight = weight.max(INACTIVE * largest) * unit;
        }
    }

    /// Sizes of the errors in `e`, one after another, 1 being the largest acceptable; `seen` is `Xᵀe`. `jacobian` is
    /// `−X diag(S) Xᵀ/N` where it is at hand; it may be that of an earlier step, as it is for Newton's iteration.
    pub(super) fn norms(
        &mut self,
        x: Rows<'_>,
        jacobian: Option<&SquareMatrix>,
        e: &[f64],
        seen: &[f64],
        sizes: &mut [f64],
    ) {
        let (n, d) = (x.n(), x.d());
        let mut moved = core::mem::take(&mut self.moved);
        moved.resize(moved.len().max(e.len()), 0.0);
        if let Some(jacobian) = jacobian {
            // N² instead of N d multiplications: this is asked in every Newton iteration.
            jacobian.apply_symmetric_many(e, &mut moved[..e.len()]);
            for moved in &mut moved {
                *moved *= -self.samples;
            }
        } else {
            for (seen, moved) in seen.chunks_exact(d).zip(moved.chunks_exact_mut(n)) {
                self.seen.iter_mut().zip(seen).zip(&self.slope).for_each(|((out, seen), s)| *out = seen * s);
                x.apply_many(&self.seen, moved);
            }
        }
        let vectors = e.chunks_exact(n).zip(seen.chunks_exact(d)).zip(moved.chunks_exact(n));
        for (size, ((e, seen), moved)) in sizes.iter_mut().zip(vectors) {
            *size = self.norm(e, seen, moved);
        }
        self.moved = moved;
    }

    /// Size of one error, `seen = Xᵀe`, `moved = X(S∘Xᵀe)`.
    fn norm(&self, e: &[f64], seen: &[f64], moved: &[f64]) -> f64 {
        let mut size = largest_product(seen, &self.weights);
        // How many times round-off explains e.
        let (mut beyond, mut times) = (0.0, 0.0);
        for ((moved, e), noise) in moved.iter().zip(e).zip(&self.round_off) {
            let noise = noise * self.noise;
            beyond = larger(beyond, moved.abs() - noise);
            times = larger(times, (moved + e * (self.samples / self.length)).abs() / noise);
        }
        size = larger(size, beyond / self.residual_tolerance.max(f64::MIN_POSITIVE));
        if self.length == f64::INFINITY {
            size
        } else if times <= 1.0 {
            0.0
        } else {
            size * (1.0 - 1.0 / times)
        }
    }

    /// The longest step worth trying: a straight line may take no exponent further than [`OVERSHOOT`] e-folds beyond
    /// the larger of where it is and of the size of a fitted coefficient. It can still cross all of ln κ at once.
    pub(super) fn step_cap(&mut self, x: Rows<'_>, reference: &Reference, shift: &[f64], dy: &[f64]) -> f64 {
        self.find_rates(x, dy);
        let mut cap = f64::INFINITY;
        for (i, (rate, z)) in self.rates.iter().zip(shift).enumerate() {
            let room = reference.room(i, *z, *rate > 0.0, self.log_size, OVERSHOOT);
            if room < 2.0 * cap * rate.abs() {
                // What is left of the rate of a fitted coefficient is the rounding of r. It would hold up for ever those
                // that are far slower, by it and by a step of its own length.
                let noise: f64 = self.round_off.iter().enumerate().map(|(n, r)| x.row(n)[i].abs() * r).sum();
                cap = cap.min(room / (2.0 * (rate.abs() - noise / self.samples).max(0.0)));
            }
        }
        cap
    }

    fn find_rates(&mut self, x: Rows<'_>, dy: &[f64]) {
        if self.rates_of != dy {
            self.rates_of.copy_from_slice(dy);
            x.apply_transposed_many(dy, &mut self.rates);
        }
    }
}

/// `max |a_i w_i|` for `w ≥ 0`, NaN if one of them is: in eight chains, so that it runs at the speed of the memory.
fn largest_product(a: &[f64], w: &[f64]) -> f64 {
    let mut most = [0.0_f64; 8];
    let ((a, a_tail), (w, w_tail)) = (a.as_chunks::<8>(), w.as_chunks::<8>());
    for (a, w) in a.iter().zip(w) {
        for k in 0..8 {
            most[k] = larger(most[k], (a[k] * w[k]).abs());
        }
    }
    let tail = a_tail.iter().zip(w_tail).map(|(a, w)| (a * w).abs());
    most.into_iter().chain(tail).fold(0.0, larger)
}

/// The number, for differences that cancel.
fn exact<R: Real>(t: R) -> DoubleDouble {
    DoubleDouble { high: t.to_f64(), low: t.low() }
}

/// The larger; NaN if either is (`f64::max` would drop it, and a NaN error must not pass for a small one).
fn larger(a: f64, b: f64) -> f64 {
    if a >= b || a.is_nan() { a } else { b }
}
