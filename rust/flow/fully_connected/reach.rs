//! What holds of every end of a flow, theorem or not, of a predictor in double-double: it fits the targets as far as they can
//! be, and outside the span of the samples it is a combination of the hidden weights at the start (THEORY §4). Knows no
//! integrator.

use super::modes::Work;
use super::prepare::{Prepared, most};
use super::prepare_exactly;
use super::problem::Problem;
use crate::linalg::{ExactQr, length};
use crate::real::{DoubleDouble, Real};

/// Parts of hidden weights outside the span below this many ulps of the weights are none.
const ROUND_OFF: f64 = 64.0;

/// How far a predictor is from such an end.
#[derive(Clone, Debug, PartialEq)]
pub struct Reach {
    /// `y − Xβ` (N) of what of y can be fitted, to binary64.
    pub residual: Vec<f64>,
    /// Its largest entry over `max|y|` of that.
    pub feasibility: f64,
    /// The part of β that no hidden weights and no samples make up, the largest entry over that of β.
    pub stationarity: f64,
}

/// Of the predictor `beta` (d).
#[must_use]
pub fn reach(problem: &Problem<'_>, beta: &[DoubleDouble]) -> Reach {
    let prepared = prepare_exactly::of(problem, false);
    let Prepared { basis, modes, units, .. } = &prepared;
    let mut beta = beta.to_vec();
    super::number::Number::scale(&mut beta, -units.predictor());
    let (mut work, mut away) = (Work::new(modes.rank()), beta.clone());
    let mut residual = vec![DoubleDouble::ZERO; problem.x.n()];
    if modes.rank() > 0 {
        let mut there = vec![DoubleDouble::ZERO; beta.len()];
        basis.v.apply(&beta, &mut work.q);
        basis.v.combine(&work.q, &mut there);
        away.iter_mut().zip(&there).for_each(|(away, there)| *away -= *there);
        modes.residual_waited_for(&mut work);
        basis.u.combine(&work.r, &mut residual);
    }
    without_hidden(&prepared, &mut away);
    let over = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { part };
    Reach {
        feasibility: over(most(&residual).high, prepared.size),
        stationarity: over(most(&away).high, most(&beta).high),
        residual: residual.iter().map(|r| prepared.in_units_of_y(r.high)).collect(),
    }
}

/// Take out of `v` its part in the span of the hidden weights outside that of the samples.
fn without_hidden(prepared: &Prepared<DoubleDouble>, v: &mut [DoubleDouble]) {
    let least = ROUND_OFF
        * f64::EPSILON
        * f64::EPSILON
        * length(&prepared.folded.z).high.max(length(&prepared.folded.outside).high);
    let mut hidden = prepared.folded.outside.clone();
    for row in hidden.chunks_exact_mut(v.len()) {
        if length(row).high <= least {
            row.fill(DoubleDouble::ZERO);
        }
    }
    let qr = ExactQr::of(hidden, v.len(), true);
    qr.apply_transposed(v);
    v[..qr.rank()].fill(DoubleDouble::ZERO);
    qr.apply(v);
}
