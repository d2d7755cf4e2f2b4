use super::*;

fn start(depth: u32, log_start: &[f64]) -> TiedStart {
    TiedStart { depth, log_start: log_start.iter().map(|log| DoubleDouble::from_f64(*log)).collect() }
}

/// Numbers in (−1, 1) that look random.
fn numbers(n: usize, seed: u32) -> Vec<f64> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12345);
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state >> 8) / f64::from(1_u32 << 23) - 1.0
        })
        .collect()
}

#[test]
fn every_scale_meets_the_targets_and_proves_its_coefficients() {
    for depth in [3, 4, 5, 8, 30] {
        for log in [7.0, 0.0, -1.0, -3.0, -10.0, -50.0, -700.0, -1e5] {
            for seed in 0..4 {
                let (n, d) = (4, 11);
                let (data, y) = (numbers(n * d, seed), numbers(n, seed + 100));
                let Some(x) = Rows::new(&data, n, d) else { panic!("shape") };
                let found = limit(x, &y, &start(depth, &vec![log; d]), &Options::default(), &|| false);
                assert_eq!(found.status, Status::Converged, "depth {depth}, ln α = {log}, seed {seed}: {found:?}");
                let size = largest(&found.beta);
                let bound = found.error_bound.as_deref().map_or(f64::INFINITY, largest);
                assert!(bound < 1e-14 * size, "depth {depth}, ln α = {log}, seed {seed}: {bound:e} of {size:e}");
                assert!(found.n_iter <= 60, "depth {depth}, ln α = {log}, seed {seed}: {} systems", found.n_iter);
            }
        }
    }
}

#[test]
fn the_gradient_of_the_potential_is_in_the_range_of_the_data() {
    let (n, d) = (3, 7);
    let (data, y) = (numbers(n * d, 5), numbers(n, 6));
    let Some(x) = Rows::new(&data, n, d) else { panic!("shape") };
    for depth in [3, 5, 12] {
        let start = start(depth, &numbers(d, 7));
        let found = limit(x, &y, &start, &Options::default(), &|| false);
        let mut there = vec![0.0; d];
        x.apply_transposed(&found.multipliers, &mut there);
        for ((q, beta), there) in start.potentials().zip(&found.beta).zip(&there) {
            let gradient = q.gradient(DoubleDouble::from_f64(*beta)).value().high;
            // z is known to a rounding, and is a sum of n products.
            assert!((gradient - there).abs() < 1e-13 * (1.0 + gradient.abs()), "depth {depth}: {gradient} {there}");
        }
    }
}

#[test]
fn targets_of_zero_leave_everything_at_rest() {
    let data = numbers(6, 1);
    let Some(x) = Rows::new(&data, 2, 3) else { panic!("shape") };
    let found = limit(x, &[0.0, 0.0], &start(3, &[-1.0; 3]), &Options::default(), &|| false);
    assert_eq!((found.beta, found.status), (vec![0.0; 3], Status::Converged));
}

#[test]
fn a_limit_passes_its_own_check_and_another_point_does_not() {
    let (n, d) = (3, 7);
    let (data, y) = (numbers(n * d, 9), numbers(n, 10));
    let Some(x) = Rows::new(&data, n, d) else { panic!("shape") };
    let start = start(4, &[-2.0; 7]);
    let found = limit(x, &y, &start, &Options::default(), &|| false);
    let good = check(x, &y, &start, &found.beta, &|| false);
    assert!(good.conditions.stationarity < 1e-9 && good.conditions.feasibility < 1e-14, "{good:?}");
    let least = RowSpace::of(x, &y).least.clone();
    let bad = check(x, &y, &start, &least, &|| false);
    assert!(bad.conditions.stationarity > 1e-3, "{bad:?}");
}
