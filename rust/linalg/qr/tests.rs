//! QR: orthonormality, reproduction, rank, normal equations, refusals.

use super::super::testing::{Random, U, max_abs, rows};
use super::*;
use proptest::prelude::*;

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Householder QR has a columnwise backward error of `γ̃_{nd}` (Higham, theorem 19.4), `Q` the same departure from
/// orthonormality; the constant covers the sums that check it.
fn tolerance(n: usize, d: usize) -> f64 {
    8.0 * (n * d) as f64 * U
}

/// `X` of rank `rank`: random combinations of that many random rows.
fn of_rank(n: usize, d: usize, rank: usize, random: &mut Random) -> Vec<f64> {
    let (basis, weights) = (random.vector(rank * d), random.vector(n * rank));
    (0..n * d).map(|k| (0..rank).map(|l| weights[k / d * rank + l] * basis[l * d + k % d]).sum()).collect()
}

proptest! {
    #[test]
    fn the_basis_is_orthonormal_and_reproduces_the_rows(n in 1_usize..20, d in 1_usize..20, seed: u64) {
        let data = Random::new(seed).vector(n * d);
        let x = rows(&data, n, d);
        let basis = RowBasis::of(x);
        let q = basis.q_rows();
        for i in 0..basis.rank() {
            for j in 0..basis.rank() {
                let unit = if i == j { 1.0 } else { 0.0 };
                prop_assert!((dot(q.row(i), q.row(j)) - unit).abs() <= tolerance(n, d));
            }
        }
        prop_assert!(basis.rank() <= n.min(d));
        for j in 0..n {
            for k in 0..d {
                let back: f64 = (0..basis.rank()).map(|i| q.row(i)[k] * basis.r(i, j)).sum();
                let entry = x.row(basis.order()[j])[k];
                // What the rank leaves out is below max(n, d) ε |R_11| in every column.
                prop_assert!((back - entry).abs() <= 2.0 * tolerance(n, d) * (d as f64).sqrt());
            }
        }
    }

    #[test]
    fn the_rank_is_found(n in 1_usize..15, d in 1_usize..15, rank in 1_usize..15, seed: u64) {
        let rank = rank.min(n).min(d);
        let data = of_rank(n, d, rank, &mut Random::new(seed));
        prop_assert_eq!(RowBasis::of(rows(&data, n, d)).rank(), rank);
    }

    #[test]
    fn whitened_targets_are_coordinates_and_multipliers_come_back(n in 1_usize..12, extra in 0_usize..10, seed: u64) {
        let d = n + 3 + extra;
        let mut random = Random::new(seed);
        let (data, beta, w) = (random.vector(n * d), random.vector(d), random.vector(n));
        let x = rows(&data, n, d);
        let basis = RowBasis::of(x);
        prop_assume!(basis.rank() == n && basis.r(n - 1, n - 1).abs() > 1e-2);
        let b: Vec<f64> = (0..n).map(|i| dot(x.row(i), &beta)).collect();
        let mut whitened = vec![0.0; n];
        basis.solve_r_transposed(&b, &mut whitened);
        // cond(R) ≤ n ‖R‖/1e-2 amplifies the backward error.
        let bound = tolerance(n, d) * (n * d) as f64 * 1e2;
        for (i, whitened) in whitened.iter().enumerate() {
            prop_assert!((whitened - dot(basis.q_rows().row(i), &beta)).abs() <= bound);
        }
        let mut nu = vec![0.0; n];
        basis.solve_r(&w, &mut nu);
        for k in 0..d {
            let by_rows: f64 = (0..n).map(|i| x.row(i)[k] * nu[i]).sum();
            let by_basis: f64 = (0..n).map(|i| basis.q_rows().row(i)[k] * w[i]).sum();
            prop_assert!((by_rows - by_basis).abs() <= bound);
        }
    }
}

#[test]
fn the_pivots_fall_and_the_weakest_rows_come_last() {
    let mut data = Random::new(4).vector(5 * 8);
    data[..8].iter_mut().for_each(|x| *x *= 1e-9);
    data[16..24].iter_mut().for_each(|x| *x *= 1e-12);
    let basis = RowBasis::of(rows(&data, 5, 8));
    assert_eq!((basis.rank(), basis.order()[3], basis.order()[4]), (5, 0, 2));
    for j in 1..5 {
        assert!(basis.r(j, j).abs() <= basis.r(j - 1, j - 1).abs() * (1.0 + 1e-12));
    }
}

#[test]
fn duplicates_drop_out_and_get_no_multiplier() {
    let data = [1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 0.0, 1.0, 0.0];
    let basis = RowBasis::of(rows(&data, 3, 3));
    assert_eq!(basis.rank(), 2);
    let mut nu = [f64::NAN; 3];
    basis.solve_r(&[1.0, 1.0], &mut nu);
    assert_eq!(nu[basis.order()[2]], 0.0);
    assert!(max_abs(&nu) > 0.0 && nu.iter().all(|nu| nu.is_finite()));
}

#[test]
fn sizes_at_the_ends_of_the_range_are_handled() {
    for scale in [1e-250, 1e250] {
        let data: Vec<f64> = Random::new(9).vector(3 * 6).iter().map(|x| x * scale).collect();
        let basis = RowBasis::of(rows(&data, 3, 6));
        assert_eq!(basis.rank(), 3);
        assert!((dot(basis.q_rows().row(2), basis.q_rows().row(2)) - 1.0).abs() <= tolerance(3, 6));
    }
}

#[test]
fn zero_and_non_finite_data_have_rank_zero() {
    for data in [[0.0; 4], [1.0, f64::NAN, 0.0, 1.0], [1.0, f64::INFINITY, 0.0, 1.0]] {
        let basis = RowBasis::of(rows(&data, 2, 2));
        assert_eq!((basis.rank(), basis.q_rows().n()), (0, 0));
        let mut nu = [1.0; 2];
        basis.solve_r(&[], &mut nu);
        assert_eq!(nu, [0.0; 2]);
    }
}

#[test]
fn a_matrix_is_the_rotated_triangle_and_lengths_are_kept() {
    for (n, d, width) in [(5, 3, 3), (3, 3, 1), (40, 35, 600), (1, 1, 2)] {
        let mut random = Random::new(12);
        let (data, mut other) = (random.vector(n * d), random.vector(n * width));
        let qr = ThinQr::of(rows(&data, n, d));
        assert_eq!(qr.height(), n);
        let mut turned: Vec<f64> = qr.r_rows().data().to_vec();
        turned.resize(n * d, 0.0);
        qr.rotate_back(&mut turned, d);
        let bound = tolerance(n, d) * (n as f64).sqrt();
        assert!(turned.iter().zip(&data).all(|(turned, x)| (turned - x).abs() <= bound));
        let square = |rows: &[f64]| rows.iter().step_by(width).map(|x| x * x).sum::<f64>();
        let before = square(&other);
        qr.rotate_back(&mut other, width);
        assert!((square(&other) - before).abs() <= bound * before.max(1.0));
    }
}
