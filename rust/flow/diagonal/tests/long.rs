//! Long runs: what is kept of a row when the row is not, how far a run is, and that it stops wherever it is told to.

use super::{Case, method};
use crate::flow::{Flow, Method, Monitor, Observable, Options, Progress, Status};
use core::cell::{Cell, RefCell};

const METHODS: [Method; 3] = [Method::Radau, Method::Explicit, Method::Weights];

/// As many samples as a wide problem has, more than there are features, and a column that never moves.
fn cases() -> Vec<Case> {
    let (wide, tall) = (Case::gaussian(4, 9, -2.0, 3), Case::gaussian(9, 4, -2.0, 4));
    let mut dead = wide.clone();
    dead.weights.iter_mut().for_each(|weights| weights[5] = 0.0);
    vec![wide, tall, dead]
}

/// Rows to ask for: before, on the way and long after convergence.
const TIMES: [f64; 6] = [0.0, 0.1, 1.0, 3.0, 1e5, 1e6];

#[test]
fn observables_are_functions_of_the_rows_that_a_run_without_them_has() {
    for (k, case) in cases().iter().enumerate() {
        let end = vec![0.25; case.d];
        for m in METHODS {
            let options = Options { times: Some(&TIMES), method: m, ..Options::default() };
            let plain = case.flow(&options);
            let flow = case.flow(&Options { observables: &Observable::ALL, end: &end, ..options });
            assert_eq!((&flow.beta, &flow.times), (&plain.beta, &plain.times), "case {k}, {m:?}");
            let [loss, residual, l1, l2, largest, potential, distance] = &flow.observables[..] else {
                panic!("columns")
            };
            assert_eq!((loss, loss.len()), (&flow.loss, TIMES.len()));
            for (t, beta) in flow.beta.chunks_exact(case.d).enumerate() {
                let close = |found: f64, sum: f64| assert!((found - sum).abs() <= 1e-14 * sum, "{k} {m:?} {t} {found}");
                close(l1[t], beta.iter().map(|b| b.abs()).sum());
                close(l2[t], beta.iter().map(|b| b * b).sum::<f64>().sqrt());
                close(largest[t], beta.iter().fold(0.0, |m: f64, b| m.max(b.abs())));
                close(distance[t], beta.iter().map(|b| (b - 0.25) * (b - 0.25)).sum::<f64>().sqrt());
                let r = case.y.iter().zip(case.x.chunks_exact(case.d));
                let r = r.map(|(y, x)| y - x.iter().zip(beta).map(|(x, b)| x * b).sum::<f64>());
                let most = r.fold(0.0, |most: f64, r| most.max(r.abs()));
                // What least squares leaves of y is part of y − Xβ, and no part of the observable.
                let rest = if case.n > case.d { 1e3 } else { 1e-13 };
                assert!((residual[t] - most).abs() <= rest, "{k} {m:?} {t}: {} for {most}", residual[t]);
            }
            assert!(residual[5] < 1e-13 && residual[0] > 0.1, "{k} {m:?}: {residual:?}");
            // The start is where the divergence is from, and the loss falls by what the potential gains.
            assert!(potential[0] < 1e-30 && potential.windows(2).all(|pair| pair[0] <= pair[1] * (1.0 + 1e-9)));
        }
    }
}

#[test]
fn a_run_that_keeps_the_last_row_only_has_the_numbers_of_all() {
    for case in &cases() {
        for m in METHODS {
            for times in [None, Some(&TIMES[..])] {
                let options = Options { times, observables: &Observable::ALL[..6], ..method(m) };
                let all = case.flow(&options);
                let last = case.flow(&Options { save_beta: false, ..options });
                assert_eq!((&last.times, &last.loss, &last.observables), (&all.times, &all.loss, &all.observables));
                let tail = |rows: &[f64], width: usize| rows[rows.len() - width..].to_vec();
                assert_eq!(last.beta, tail(&all.beta, case.d), "{m:?}");
                if m == Method::Weights {
                    assert_eq!(last.states, tail(&all.states, 4 * case.d));
                } else {
                    assert_eq!(last.dual, tail(&all.dual, case.d));
                    assert_eq!(last.multipliers, tail(&all.multipliers, case.n));
                    assert_eq!(last.multipliers_low.len(), case.n);
                }
            }
        }
    }
}

/// Counts, and says stop from the `patience`-th question on.
struct Watcher {
    patience: u64,
    asked: Cell<u64>,
    told: RefCell<Vec<Progress>>,
}

impl Watcher {
    fn new(patience: u64) -> Self {
        Self { patience, asked: Cell::new(0), told: RefCell::default() }
    }
}

impl Monitor for Watcher {
    fn interrupted(&self) -> bool {
        self.asked.set(self.asked.get() + 1);
        self.asked.get() >= self.patience
    }

    fn progress(&self, now: Progress) {
        self.told.borrow_mut().push(now);
    }
}

#[test]
fn progress_rises_to_one_and_counts_every_step() {
    let case = Case::gaussian(5, 20, -10.0, 6);
    for m in METHODS {
        for times in [None, Some(&TIMES[..])] {
            let watcher = Watcher::new(u64::MAX);
            let flow = case.flow_until(&Options { times, ..method(m) }, &watcher);
            let told = watcher.told.into_inner();
            assert!(told.windows(2).all(|pair| pair[0].fraction <= pair[1].fraction), "{m:?}");
            let Some(last) = told.last() else { panic!("nothing was told") };
            assert_eq!(last.steps, flow.stats.accepted);
            let rows = flow.times.len();
            assert_eq!((last.fraction, last.time), (1.0, flow.times[rows - 1]), "{m:?}");
            assert!((last.residual - flow.observables[0][rows - 1]).abs() < 1e-14);
        }
    }
}

#[test]
fn a_run_ends_at_whatever_question_the_answer_is_to_stop() {
    // Many rows inside a step, so that questions are asked there too.
    let case = Case::gaussian(5, 20, -10.0, 8);
    let times: Vec<f64> = (0..200).map(|k| 0.01 * f64::from(k)).collect();
    for m in METHODS {
        for times in [None, Some(&times[..])] {
            let options = Options { times, ..method(m) };
            let asker = Watcher::new(u64::MAX);
            let complete = case.flow_until(&options, &asker);
            let questions = asker.asked.get();
            assert!(questions > 20, "{m:?} asks {questions} times");
            for patience in (1..=questions).step_by(1 + usize::try_from(questions / 40).unwrap_or(0)) {
                let flow = case.flow_until(&options, &Watcher::new(patience));
                if times.is_none() && flow.status == complete.status {
                    // The last questions are asked while rows are written, and an instant is enough for these.
                    assert_eq!(flow.times, complete.times);
                    check_rows(&flow, &complete, case.d, true);
                    continue;
                }
                assert_eq!(flow.status, Status::Interrupted, "{m:?}, question {patience} of {questions}");
                check_rows(&flow, &complete, case.d, times.is_some());
            }
        }
    }
}

/// Rows of an interrupted run: whole ones, in order, and where their times were given those of the complete run.
fn check_rows(flow: &Flow, complete: &Flow, d: usize, given: bool) {
    let count = flow.times.len();
    assert_eq!((flow.loss.len(), flow.beta.len(), flow.observables[0].len()), (count, count * d, count));
    assert!(flow.times.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(flow.beta.iter().all(|beta| beta.is_finite()));
    if given {
        assert_eq!(flow.times, complete.times[..count]);
        // Rows that go through the data in batches of another size round differently.
        let largest = complete.beta.iter().fold(0.0_f64, |most, beta| most.max(beta.abs()));
        let pairs = flow.beta.iter().zip(&complete.beta[..count * d]);
        assert!(pairs.fold(0.0_f64, |most, (a, b)| most.max((a - b).abs())) < 1e-13 * largest);
    }
}
