//! Thirty digits.

use super::Case;
use super::golden::{cases, digits};
use crate::flow::{Flow, Method, Options, Precision, Status};
use crate::real::{DoubleDouble, Real};

fn options<'a>(rtol: f64) -> Options<'a> {
    Options { rtol, tol: 1e-29, precision: Precision::DoubleDouble, ..Options::default() }
}

#[test]
fn smoke() {
    for (k, (case, times, beta, loss)) in cases().iter().enumerate() {
        let _ = (beta, loss);
        for rtol in [1e-18, 1e-22, 1e-28] {
            let clock = std::time::Instant::now();
            let flow = case.flow(&Options { times: Some(times), ..options(rtol) });
            println!("{k} {rtol} {:?} {:?} {:?}", flow.status, flow.stats, clock.elapsed());
            let exact = digits();
            for t in 0..flow.times.len() {
                let mut worst = 0.0_f64;
                let mut size = 0.0_f64;
                for i in 0..case.d {
                    let at = t * case.d + i;
                    let truth = exact[k].0[at];
                    let found = DoubleDouble::from_parts(flow.beta[at], flow.beta_low[at]);
                    worst = worst.max((found - truth).abs().to_f64());
                    size = size.max(truth.abs().to_f64());
                }
                let l = DoubleDouble::from_parts(flow.loss[t], flow.loss_low[t]);
                println!(
                    "   t {} beta {:e} loss {:e}",
                    times[t],
                    worst / size,
                    ((l - exact[k].1[t]) / exact[k].1[t]).to_f64()
                );
            }
        }
    }
    let _: Option<(Flow, Method, Status, Case)> = None;
}

#[test]
fn large() {
    for (n, d, log) in [(5, 20, -3.5), (5, 20, -115.0), (20, 100, -13.8), (100, 1000, -13.8)] {
        let case = Case::gaussian(n, d, log, 3);
        let clock = std::time::Instant::now();
        let flow = case.flow(&Options::default());
        let one = clock.elapsed();
        println!("{n} {d} {log} double {:?} {:?} {:?}", flow.status, flow.stats, one);
        for rtol in [1e-14, 1e-18, 1e-22, 1e-28] {
            let clock = std::time::Instant::now();
            let flow = case.flow(&options(rtol));
            let two = clock.elapsed();
            println!(
                "   {rtol:e} {:?} acc {} rej {} rhs {} jac {} it {} {:?}, {:.2} times a step",
                flow.status,
                flow.stats.accepted,
                flow.stats.rejected,
                flow.stats.rhs,
                flow.stats.jacobians,
                flow.stats.newton_iterations,
                two,
                0.0
            );
        }
    }
}
