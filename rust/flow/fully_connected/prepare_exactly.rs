//! The problem in the form in which it is integrated in double-double. Knows no integrator.
//!
//! As in binary64 ([`prepare`](super::prepare)), in the modes of [`exact_basis`](super::exact_basis) and with neurons folded by
//! an orthogonal matrix that is one to thirty-one digits: `Z = Q R` of the `m × (1 + rank)` rows `[a_i c_i]`, all at once. What
//! goes with the neurons, the part of W outside the span, is `QᵀW` without its part in the span, and d × (1 + rank) numbers.

use super::exact_basis::ExactBasis;
use super::fold::{Folded, Rotation};
use super::modes::{Modes, Work};
use super::prepare::{Prepared, most, units_of};
use super::problem::Problem;
use super::split::Split;
use super::units::times_power;
use crate::flow::outcome::Status;
use crate::linalg::{ExactQr, Rows};
use crate::real::{DoubleDouble, Real};

/// y is out of reach if what is left of it is above this many times N roundings of its largest entry.
const PROJECTION_ERRORS: f64 = 64.0;

/// The problem; what turns neurons back is kept if `keep`.
pub(super) fn of(problem: &Problem<'_>, keep: bool) -> Prepared<DoubleDouble> {
    let (x, neurons) = (problem.x, problem.neurons);
    let (units, own) = units_of(problem);
    let data: Vec<f64> = x.data().iter().map(|x| times_power(*x, -units.data)).collect();
    let basis = ExactBasis::of(Rows::from_parts(&data, x.n(), x.d()));
    let in_units = |part: &[f64]| part.iter().map(|w| times_power(*w, -own)).collect::<Vec<_>>();
    let hidden = Split::from_parts(in_units(neurons.w), neurons.w_low.map_or_else(Vec::new, in_units), x.d());
    let folded = fold(&basis, &scaled(neurons.outer(), -own), &hidden, keep);
    let log_start = neurons.log() + DoubleDouble::LN_2.mul_f64(f64::from(own - units.weights));
    let factor = log_start.exp();
    let outside: Vec<DoubleDouble> = folded.outside.iter().map(|w| *w * factor).collect();
    let y = scaled(problem.targets(), -units.targets());
    let errors = PROJECTION_ERRORS * x.n() as f64 * DoubleDouble::UNIT_ROUNDOFF * most(&y).high;
    let Projected { modes, fitted, rest } = Projected::of(&basis, &y);
    let rest = if most(&rest).high > errors { rest } else { Vec::new() };
    Prepared {
        outside: outside.iter().any(|w| w.high != 0.0).then(|| Split::new(&outside, x.d())),
        end: if rest.is_empty() { Status::Converged } else { Status::LeastSquares },
        size: most(&fitted).high,
        rest,
        basis,
        modes,
        units,
        folded,
        log_start,
    }
}

fn scaled(mut values: Vec<DoubleDouble>, e: i32) -> Vec<DoubleDouble> {
    super::number::Number::scale(&mut values, e);
    values
}

/// How many modes are none of round-off of the data, as in binary64.
fn solid(basis: &ExactBasis) -> usize {
    let size = |k: usize| basis.sigma[k].high.abs();
    let longer = basis.u.width().max(basis.v.width()) as f64;
    (0..basis.sigma.len()).take_while(|k| size(*k) > longer * f64::EPSILON * size(0)).count()
}

/// y without the part that cannot be fitted, and that part.
struct Projected {
    modes: Modes<DoubleDouble>,
    fitted: Vec<DoubleDouble>,
    rest: Vec<DoubleDouble>,
}

impl Projected {
    /// A mode of round-off has no more of y than the others leave it, `y = S q` with `q` of least squares in the others: it would
    /// move by a rounding of the data in a time scale, for ever, and all other residuals would follow it at that distance.
    fn of(basis: &ExactBasis, y: &[DoubleDouble]) -> Self {
        let (rank, n, solid) = (basis.u.count(), y.len(), solid(basis));
        let (mut targets, mut fitted) = (vec![DoubleDouble::ZERO; rank], vec![DoubleDouble::ZERO; n]);
        if rank > 0 {
            basis.u.apply(y, &mut targets);
        }
        if solid < rank {
            targets = reached(&Modes::coupled(&basis.sigma, &basis.coupling, targets, n as f64, solid));
        }
        if rank > 0 {
            basis.u.combine(&targets, &mut fitted);
        }
        let rest = y.iter().zip(&fitted).map(|(y, fitted)| *y - *fitted).collect();
        Self { modes: Modes::coupled(&basis.sigma, &basis.coupling, targets, n as f64, solid), fitted, rest }
    }
}

/// `S q` of the `q` of least squares in the modes that a run waits for. Their systems are diagonal but for the coupling, and
/// every refinement gains what that is below σ.
fn reached(modes: &Modes<DoubleDouble>) -> Vec<DoubleDouble> {
    let mut work = Work::new(modes.rank());
    let mut last = f64::INFINITY;
    loop {
        modes.residual_waited_for(&mut work);
        let size = most(&work.r).high;
        // Not `size < last`: what is not a number ends it as well.
        if !(size < 0.5 * last) {
            break;
        }
        last = size;
        for ((q, r), sigma) in work.q.iter_mut().zip(&work.r).zip(&modes.sigma).take(modes.solid) {
            *q += *r / *sigma;
        }
    }
    modes.residual(&mut work);
    modes.targets.iter().zip(&work.r).map(|(y, r)| *y - *r).collect()
}

/// The neurons `a`, `w` (m × d), as few of them as there can be.
fn fold(basis: &ExactBasis, a: &[DoubleDouble], w: &Split, keep: bool) -> Folded<DoubleDouble> {
    let (rank, m) = (basis.v.count(), a.len());
    let mut z = Vec::with_capacity(m * (1 + rank));
    let mut c = vec![DoubleDouble::ZERO; rank];
    for (i, a) in a.iter().enumerate() {
        if rank > 0 {
            basis.v.apply(&w.row(i).collect::<Vec<_>>(), &mut c);
        }
        z.push(*a);
        z.extend_from_slice(&c);
    }
    if m <= 1 + rank {
        let outside = without_span(basis, (0..m).flat_map(|i| w.row(i)).collect(), &z);
        return Folded { z, outside, m, rotation: Rotation::Identity };
    }
    turned(basis, &z, w, keep)
}

/// More neurons `[a_i c_i]` than can differ: `Z P = Q R`, of which the rows of `R Pᵀ` are left.
fn turned(basis: &ExactBasis, z: &[DoubleDouble], w: &Split, keep: bool) -> Folded<DoubleDouble> {
    let (width, m, d) = (1 + basis.v.count(), w.count(), w.width());
    let columns = (0..m * width).map(|k| z[k % m * width + k / m]).collect();
    let qr = ExactQr::of(columns, m, true);
    // Of dependent columns only so many neurons are left; those that are 0 never move.
    let few = qr.rank().max(1);
    let mut z = vec![DoubleDouble::ZERO; few * width];
    for (i, row) in z.chunks_exact_mut(width).enumerate().take(qr.rank()) {
        qr.order().iter().enumerate().for_each(|(j, to)| row[*to] = qr.r(i, j));
    }
    let unit = (0..qr.rank() * qr.rank()).map(|k| DoubleDouble::from(f64::from(u8::from(k / few == k % few))));
    let mut q = qr.basis_times(&unit.collect::<Vec<_>>());
    q.resize(few * m, DoubleDouble::ZERO);
    let mut all = vec![DoubleDouble::ZERO; few * d];
    w.combine_many(&q, &mut all);
    let outside = without_span(basis, all, &z);
    let columns = || (0..few * m).map(|k| q[k % few * m + k / few].high).collect();
    Folded { z, outside, m: few, rotation: Rotation::Columns(if keep { columns() } else { Vec::new() }) }
}

/// `W − C Vᵀ`, for the neurons `[a_i c_i]`.
fn without_span(basis: &ExactBasis, mut w: Vec<DoubleDouble>, z: &[DoubleDouble]) -> Vec<DoubleDouble> {
    let (rank, d) = (basis.v.count(), basis.v.width());
    if rank == 0 {
        return w;
    }
    let (mut part, mut again) = (vec![DoubleDouble::ZERO; d], vec![DoubleDouble::ZERO; rank]);
    for (w, z) in w.chunks_exact_mut(d).zip(z.chunks_exact(1 + rank)) {
        basis.v.combine(&z[1..], &mut part);
        w.iter_mut().zip(&part).for_each(|(w, part)| *w -= *part);
        // Once more: outer weights may be large, and multiply what rounding leaves in the span.
        basis.v.apply(w, &mut again);
        basis.v.combine(&again, &mut part);
        w.iter_mut().zip(&part).for_each(|(w, part)| *w -= *part);
    }
    w
}
