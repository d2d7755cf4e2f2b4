//! Projections and multipliers for data of any shape and rank.

use super::*;
use crate::limit::row_space::RowSpace;

fn rows(x: &[f64], n: usize, d: usize) -> Rows<'_> {
    let Some(rows) = Rows::new(x, n, d) else { panic!("{} numbers are not {n} x {d}", x.len()) };
    rows
}

/// `n × d` data of rank `rank`: a product of two random factors.
fn of_rank(random: &mut Random, n: usize, d: usize, rank: usize) -> Vec<f64> {
    let (left, right) = (random.vector(n * rank), random.vector(rank * d));
    let entry = |k: usize| (0..rank).map(|j| left[k / d * rank + j] * right[j * d + k % d]).sum();
    (0..n * d).map(entry).collect()
}

#[test]
fn projected_targets_satisfy_the_normal_equations() {
    let mut random = Random(3);
    for (n, d, rank) in [(4, 6, 2), (6, 6, 3), (9, 4, 4), (12, 3, 2), (5, 8, 5), (3, 1, 1), (4, 4, 1)] {
        let x = of_rank(&mut random, n, d, rank);
        let (x, y) = (rows(&x, n, d), random.vector(n));
        let space = RowSpace::of(x, &y);
        assert_eq!((space.dim(), space.reachable), (rank, rank == n), "{n} x {d}, rank {rank}");
        // In the units of the scaled problem: Xᵀ(y − Py) = 0 up to the rounding of a projection of well-conditioned data.
        let off: Vec<f64> = space.units().y.iter().zip(&space.y).map(|(y, p)| y - p).collect();
        let mut normal = vec![0.0; d];
        space.samples().apply_transposed(&off, &mut normal);
        assert!(largest(&normal) <= 1e-13, "{n} x {d}, rank {rank}: {normal:?}");
        // And the minimum-norm solution reaches what was projected.
        let mut reached = vec![0.0; n];
        space.samples().apply(&space.least, &mut reached);
        let missed: Vec<f64> = reached.iter().zip(&space.y).map(|(r, y)| r - y).collect();
        assert!(largest(&missed) <= 1e-12, "{n} x {d}, rank {rank}: {missed:?}");
    }
}

#[test]
fn the_least_multipliers_keep_the_gradient_and_have_no_part_that_does_nothing() {
    let mut random = Random(4);
    for (n, d, rank) in [(5, 7, 2), (8, 3, 3), (6, 6, 4)] {
        let data = of_rank(&mut random, n, d, rank);
        let (x, y) = (rows(&data, n, d), random.vector(n));
        let space = RowSpace::of(x, &y);
        let mut basic = vec![0.0; n];
        space.basic_multipliers(&random.vector(rank), &mut basic);
        let mut least = basic.clone();
        space.least_multipliers(&mut least);
        let product = |nu: &[f64]| {
            let mut g = vec![0.0; d];
            space.samples().apply_transposed(nu, &mut g);
            g
        };
        let moved: Vec<f64> = product(&basic).iter().zip(product(&least)).map(|(a, b)| a - b).collect();
        assert!(largest(&moved) <= 1e-12 * largest(&product(&basic)), "Xᵀν moved by {moved:?}");
        // Least norm means ν in the range of X: projecting it changes nothing.
        let range = RowSpace::of(x, &least);
        let unit = 2.0_f64.powi(range.units().unit);
        let off: Vec<f64> = range.y.iter().zip(&least).map(|(p, nu)| p * unit - nu).collect();
        assert!(largest(&off) <= 1e-12 * largest(&least), "{n} x {d}: {off:?} does nothing");
    }
}

#[test]
fn an_error_of_the_projection_is_seen_in_the_residual() {
    let mut random = Random(5);
    let (n, d) = (7, 3);
    let data = random.vector(n * d);
    let space = RowSpace::of(rows(&data, n, d), &random.vector(n));
    // Xc plus something orthogonal to the range: the part in it is Xc.
    let c = random.vector(d);
    let mut inside = vec![0.0; n];
    space.samples().apply(&c, &mut inside);
    let outside: Vec<f64> = space.units().y.iter().zip(&space.y).map(|(y, p)| 1e3 * (y - p)).collect();
    let residual: Vec<DoubleDouble> =
        inside.iter().zip(&outside).map(|(a, b)| DoubleDouble::from_f64(*a).add_f64(*b)).collect();
    let Some((part, error)) = space.reachable_part(&residual) else { panic!("random data are well-conditioned") };
    assert!(error < 1e-10);
    for (found, expected) in part.iter().zip(&inside) {
        // `outside` is orthogonal to 1e-13 of its size only.
        assert!((found - expected).abs() <= 1e-10, "{found} instead of {expected}");
    }
}
