//! The 1-norm of an inverse that is only known by its solves.
//!
//! # Sources
//! Hager, *SIAM J. Sci. Stat. Comput.* 5 (1984) 311–316; Higham, *ACM TOMS* 14 (1988) 381–396, algorithm 4.1 (with its
//! alternating test vector, which catches the matrices on which the iteration stalls at once).

/// Iterations at most; Higham reports two or three in practice.
const MAX_ITERATIONS: usize = 5;

/// A lower bound of `‖A⁻¹‖₁` for symmetric `A` of size `n`, nearly always within a factor 3; `solve` maps `b` to `A⁻¹ b`.
pub(super) fn inverse_norm_estimate(n: usize, solve: impl Fn(&mut [f64])) -> f64 {
    if n == 0 {
        return 0.0;
    }
    let mut x = vec![1.0 / n as f64; n];
    solve(&mut x);
    let mut estimate = norm_1(&x);
    let mut last_peak = None;
    for _ in 0..MAX_ITERATIONS {
        // The subgradient of ‖A⁻¹x‖₁; A⁻¹ is its own transpose.
        for x in &mut x {
            *x = 1.0_f64.copysign(*x);
        }
        solve(&mut x);
        let Some(peak) = largest(&x) else { break };
        if last_peak.is_some_and(|last: usize| x[peak].abs() <= x[last].abs()) {
            break;
        }
        last_peak = Some(peak);
        x.fill(0.0);
        x[peak] = 1.0;
        solve(&mut x);
        let next = norm_1(&x);
        if next <= estimate {
            break;
        }
        estimate = next;
    }
    for (i, x) in x.iter_mut().enumerate() {
        let size = 1.0 + i as f64 / (n.max(2) - 1) as f64;
        *x = if i % 2 == 0 { size } else { -size };
    }
    solve(&mut x);
    estimate.max(2.0 * norm_1(&x) / (3 * n) as f64)
}

fn norm_1(x: &[f64]) -> f64 {
    x.iter().map(|x| x.abs()).sum()
}

/// Index of the largest magnitude.
fn largest(x: &[f64]) -> Option<usize> {
    (0..x.len()).max_by(|&i, &j| x[i].abs().total_cmp(&x[j].abs()))
}
