//! Laws.
use super::*;
#[test]
fn scratch2() {
    let c = Case { n: 2, d: 4, x: vec![-0.037, -0.383, 1.415, 1.261, -0.633, -1.09, 0.38, 0.328], y: vec![-0.914, 2.306],
      weights: [vec![2.301, 1.035, 0.45, 1.2049999999999998], vec![2.062, 0.633, 1.653, 1.624], vec![2.301, 1.035, 0.45, 1.2049999999999998], vec![2.062, 0.633, 1.653, 1.624]], log_magnitude: vec![-13.8;4]};
    let times: Vec<f64> = (1..=40).map(|k| 0.25*f64::from(k)).collect();
    let w = c.flow(&Options { times: Some(&times), rtol: 1e-14, method: Method::Weights, ..Options::default() });
    for rtol in [1e-10,1e-12,1e-13,1e-14] {
    let a = c.flow(&Options { times: Some(&times), rtol, method: Method::Radau, ..Options::default() });
    let b = c.flow(&Options { times: Some(&times), rtol, method: Method::Explicit, ..Options::default() });
    eprintln!("rtol {rtol:e} {:?} {:?}", a.stats, b.stats);
    for t in 0..times.len() { let r = t*4..t*4+4; eprint!("{}: {:.0e}/{:.0e} ", times[t], distance(&a.beta[r.clone()], &w.beta[r.clone()]), distance(&b.beta[r.clone()], &w.beta[r])); }
    eprintln!();
    }
}
