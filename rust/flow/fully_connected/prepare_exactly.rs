//! The problem in the form in which it is integrated in double-double. Knows no integrator.
//!
//! As in binary64 ([`prepare`](super::prepare)), in the modes of [`exact_basis`](super::exact_basis) and with neurons folded by
//! an orthogonal matrix that is one to thirty-one digits: `Z = Q R` of the `m × (1 + rank)` rows `[a_i c_i]`, all at once. What
//! goes with the neurons, the part of W outside the span, is `QᵀW` without its part in the span, and d × (1 + rank) numbers.

use super::exact_basis::ExactBasis;
use super::fold::{Folded, Rotation};
use super::modes::Modes;
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
    let folded = fold(&basis, &scaled(neurons.outer(), -own), &scaled(neurons.hidden(), -own), keep);
    let log_start = neurons.log() + DoubleDouble::LN_2.mul_f64(f64::from(own - units.weights));
    let factor = log_start.exp();
    let outside: Vec<DoubleDouble> = folded.outside.iter().map(|w| *w * factor).collect();
    let y = scaled(problem.targets(), -units.targets());
    let solid = solid(&basis);
    let (targets, rest) = project(&basis, &y);
    let errors = PROJECTION_ERRORS * x.n() as f64 * DoubleDouble::UNIT_ROUNDOFF * most(&y).high;
    let mut fitted = targets.clone();
    fitted[solid..].fill(DoubleDouble::ZERO);
    let mut reached = vec![DoubleDouble::ZERO; x.n()];
    basis.u.combine(&fitted, &mut reached);
    // Out of reach are directions that X does not have, and those that it has by the rounding of its entries.
    let beyond = most(&rest).high > errors || most(&targets[solid..]).high > errors;
    let modes = Modes::coupled(&basis.sigma, &basis.coupling, targets, x.n() as f64, solid);
    Prepared {
        outside: outside.iter().any(|w| w.high != 0.0).then(|| Split::new(&outside, x.d())),
        end: if beyond { Status::LeastSquares } else { Status::Converged },
        size: most(&reached).high,
        rest: if most(&rest).high > errors { rest } else { Vec::new() },
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

/// `Uᵀy` and what is left of y.
fn project(basis: &ExactBasis, y: &[DoubleDouble]) -> (Vec<DoubleDouble>, Vec<DoubleDouble>) {
    let (mut targets, mut fitted) = (vec![DoubleDouble::ZERO; basis.u.count()], vec![DoubleDouble::ZERO; y.len()]);
    if basis.u.count() > 0 {
        basis.u.apply(y, &mut targets);
        basis.u.combine(&targets, &mut fitted);
    }
    (targets, y.iter().zip(&fitted).map(|(y, fitted)| *y - *fitted).collect())
}

/// The neurons `a`, `w` (m × d), as few of them as there can be.
fn fold(basis: &ExactBasis, a: &[DoubleDouble], w: &[DoubleDouble], keep: bool) -> Folded<DoubleDouble> {
    let (rank, d, m) = (basis.v.count(), basis.v.width(), a.len());
    let width = 1 + rank;
    let mut z = Vec::with_capacity(m * width);
    let mut c = vec![DoubleDouble::ZERO; rank];
    for (a, w) in a.iter().zip(w.chunks_exact(d)) {
        if rank > 0 {
            basis.v.apply(w, &mut c);
        }
        z.push(*a);
        z.extend_from_slice(&c);
    }
    if m <= width {
        let outside = without_span(basis, w.to_vec(), &z);
        return Folded { z, outside, m, rotation: Rotation::Identity };
    }
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
    let weights = Split::new(w, d);
    let mut all = vec![DoubleDouble::ZERO; few * d];
    weights.combine_many(&q, &mut all);
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
