//! Many starts, warm from their neighbours: the same answers, in the order of the input, on any number of threads.

use super::*;

/// Data, and 40 starts between ln κ = 4 and −36 in shuffled order, some of them biased.
fn starts(d: usize) -> Vec<Start> {
    let start = |k: usize| -> Start {
        let log_kappa = 4.0 - 40.0 * ((k * 17 % 40) as f64 / 40.0);
        let side = |i: usize| {
            let bias = if k % 5 == 4 { (i % 7) as f64 } else { 0.0 };
            (DoubleDouble::from_f64(log_kappa + bias), DoubleDouble::from_f64(log_kappa - bias))
        };
        (0..d).map(side).collect()
    };
    (0..40).map(start).collect()
}

#[test]
fn a_path_is_its_points_one_by_one() {
    let mut random = Random(21);
    let (x, y) = (random.vector(6 * 15), random.vector(6));
    let Some(rows) = Rows::new(&x, 6, 15) else { panic!("6 x 15") };
    let starts = starts(15);
    let options = Options::default();
    let path = limit_path(rows, &y, &starts, &options, &|| false);
    assert_eq!(path.len(), starts.len());
    let mut systems = (0, 0);
    for (k, (found, start)) in path.iter().zip(&starts).enumerate() {
        let alone = limit(rows, &y, start, &options, &|| false);
        assert_eq!(found.status, Status::Converged, "start {k}");
        systems = (systems.0 + found.n_iter, systems.1 + alone.n_iter);
        let (a, b) = (found.error_bound.clone().unwrap_or_default(), alone.error_bound.unwrap_or_default());
        assert!(largest(&a) < 1e-9, "start {k}: the bound {:e} would make the next line empty", largest(&a));
        for i in 0..15 {
            // Both are within their bounds of one truth.
            assert!((found.beta[i] - alone.beta[i]).abs() <= a[i] + b[i], "start {k}, coefficient {i}");
        }
    }
    assert!(systems.0 < systems.1, "neighbours are to save systems: {} with, {} without", systems.0, systems.1);
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    let mut random = Random(22);
    // Large enough for products and kernels to be cut into blocks.
    let (n, d) = (40, 1500);
    let (x, y) = (random.vector(n * d), random.vector(n));
    let Some(rows) = Rows::new(&x, n, d) else { panic!("{n} x {d}") };
    let starts = &starts(d)[..20];
    let [one, two, three] = on_one_two_and_three_threads(|| {
        let path = limit_path(rows, &y, starts, &Options::default(), &|| false);
        path.into_iter().chain([limit(rows, &y, &starts[1], &Options::default(), &|| false)]).collect::<Vec<_>>()
    });
    assert!(one.iter().all(|limit| limit.status.success()));
    assert_eq!(one, two);
    assert_eq!(one, three);
}

#[test]
fn no_starts_and_an_interrupt_are_answered() {
    let Some(rows) = Rows::new(&[1.0, 2.0], 1, 2) else { panic!("1 x 2") };
    assert!(limit_path(rows, &[1.0], &[], &Options::default(), &|| false).is_empty());
    let interrupted = limit_path(rows, &[1.0], &starts(2), &Options::default(), &|| true);
    assert!(interrupted.iter().all(|limit| limit.status == Status::Interrupted && limit.beta.len() == 2));
}
