//! A bound of the error of every row of a flow: `|β̃(t)_i − β(t)_i|`, whatever computed β̃.
//!
//! `−∇Ψ` is monotone, so two solutions of the dual flow approach each other, and an interpolant `ν̂` with defect
//! `d = ν̂' − F(ν̂)` is off by no more than the defect adds on the way, less what contracts (`growth`). The flow is therefore
//! integrated once more; each step becomes a polynomial of degree 9, corrected to the round-off of binary64 (`polynomial`,
//! `panel`), halved where that does not resolve it (`walk`); at every row
//!
//! `|β̃_i − β_i| ≤ |β̃_i − β̂_i| + ½Ŝ_i(e^{2(‖x_i‖e + δ_i)} − 1)`, `e ≥ ‖ν̂ − ν‖₂`,
//!
//! `δ_i` for the rounding of Ĝ (`frame`, `rows`). Nothing is asked of β̃: rows of any method at any tolerance have a bound, and it
//! is sharp as long as β̂ is the better of the two. Beyond the last step the flow has come to rest (`rest`).
//! Where the limit is known the sum of the two distances to it may be less (`late`).
//!
//! # What is proven, and what is sampled
//! Proven: the theorem, its round-off terms, the range of z over a step (a polynomial, bounded between its samples by
//! Ehlich and Zeller). Sampled: `∫d_k²` over a step, by Clenshaw and Curtis's rule on 28 points with a factor of 1.25 on the root;
//! the constants of the eigenvalue and QR decompositions are the usual estimates of their a-priori bounds.
//!
//! # Sources
//! THEORY of the package, §1; Azulay et al., ICML 2021, Theorem 1 and Appendix A; Hairer, Nørsett & Wanner, *Solving Ordinary
//! Differential Equations I*, 2nd ed., I.10 (differential inequalities).

mod defect;
mod exact_defect;
mod frame;
mod growth;
mod late;
mod newton;
mod panel;
mod polynomial;
mod rest;
mod rows;
mod walk;

use super::drive::at_start;
use super::exact;
use super::prepare::Prepared;
use super::problem::Problem;
use super::reference::Reference;
use crate::flow::Invalid;
use crate::flow::budget::Budget;
use crate::flow::monitor::Monitor;
use crate::flow::outcome::{Method, Options, Status};
use crate::ode::{self, Radau, integrate};
use crate::real::{DoubleDouble, Real};
use frame::Frame;
pub use late::End;
use late::Late;
use polynomial::Polynomial;
use rows::Row;
use walk::Walk;

/// The polynomials resolve steps that are too long for more than this …
const COARSEST: f64 = 1e-4;
/// … and a finer mesh than this one serves nothing.
const FINEST: f64 = 1e-10;
/// Error of β̂, as a part of the tolerance that the rows were computed with, and never less than the second number.
const BESIDE: (f64, f64) = (1e-4, 1e-13);
/// Trial steps at most; no flow is known to take a tenth of them at these tolerances.
const STEPS: u64 = 100_000;

/// What was proven of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    /// Bound of `|β̃(t)_i − β(t)_i|`, R × d as the rows that were asked about; infinite where nothing is known.
    pub error_bound: Vec<f64>,
    /// Why it ended before the last row, if it did.
    pub ended: Option<Status>,
}

/// A bound of the error of every row of `beta` (R × d), predictors that are to be those of the flow of `problem` at `times`
/// (R, rising). `end`: where the flow ends, if that is known. Of the options their unit of time, rtol, the seconds that are left
/// and no other count: rows are off by what they are off by.
///
/// # Errors
/// [`Invalid`] as of [`gradient_flow`](super::gradient_flow), and where `beta` has not one row a time.
pub fn certify(
    problem: &Problem<'_>,
    options: &Options<'_>,
    (times, beta): (&[f64], &[f64]),
    end: Option<End<'_>>,
    monitor: &dyn Monitor,
) -> Result<Certificate, Invalid> {
    problem.validate()?;
    let d = problem.x.d();
    Invalid::unless_length("beta", beta.len(), times.len() * d)?;
    let nothing = |ended| Certificate { error_bound: vec![f64::INFINITY; beta.len()], ended };
    if times.is_empty() {
        return Ok(nothing(None));
    }
    let options = Options { times: Some(times), method: Method::Radau, observables: &[], ..options.clone() };
    options.validate(d)?;
    let budget = Budget::new(options.max_seconds, monitor);
    let Some(prepared) = Prepared::of(problem, monitor) else { return Ok(nothing(Some(Status::Interrupted))) };
    let clock = prepared.clock(options.time_unit);
    let tolerance = (BESIDE.0 * options.rtol).max(BESIDE.1);
    let settings = Options { rtol: tolerance.sqrt().clamp(FINEST, COARSEST), ..options.clone() };
    let (mut dual, stopping) = at_start(&prepared, problem, &settings)?;
    if rests_at_zero(problem.y, &dual.reference) {
        return Ok(Certificate { error_bound: beta.iter().map(|beta| beta.abs()).collect(), ended: None });
    }
    let rows: Vec<Row<'_>> =
        times.iter().zip(beta.chunks_exact(d)).map(|(t, beta)| Row::new(clock.to_run(*t), beta)).collect();
    let last = rows.last().map_or(0.0, |row| row.time);
    let mut walk = Walk {
        frame: Frame::of(&prepared, problem, &dual.reference),
        prepared: &prepared,
        table: Polynomial::new(),
        reference: dual.reference.clone(),
        stopping,
        budget,
        tolerance,
        clock_error: if options.time_unit == 1.0 { 0.0 } else { 4.0 * f64::UNIT_ROUNDOFF },
        time: DoubleDouble::ZERO,
        error: 0.0,
        rows,
        done: 0,
    };
    walk.begin();
    if walk.done < walk.rows.len() {
        let settings =
            ode::Options { rtol: settings.rtol, max_steps: Some(STEPS), min_stages: 7, ..ode::Options::default() };
        let start = vec![0.0; dual.x.n()];
        let mut stepper = Radau::new(&dual, &settings);
        // The settings are in their ranges; a run that makes no step leaves all to `rest`.
        let _ = integrate(&mut stepper, &mut dual, 0.0, &start, last, &settings, &mut walk);
    }
    let ended = walk.budget.verdict();
    if ended.is_none() {
        walk.rest();
        if let Some(late) = end.and_then(|end| Late::of(&walk.frame, &prepared, &walk.reference, end)) {
            late.tighten(&mut walk.rows);
        }
    }
    Ok(Certificate { error_bound: walk.rows.into_iter().flat_map(|row| row.bound).collect(), ended })
}

/// Nothing to fit, from coefficients that are 0: they stay there, and no rounding says otherwise.
fn rests_at_zero(y: &[f64], start: &Reference) -> bool {
    let zero = vec![DoubleDouble::ZERO; start.d()];
    let (mut beta, mut slope) = (zero.clone(), vec![0.0; start.d()]);
    exact::evaluate(start, &zero, &mut beta, &mut slope);
    y.iter().all(|y| *y == 0.0) && beta.iter().all(|beta| beta.high == 0.0)
}

#[cfg(test)]
mod tests;
