//! Tridiagonal reduction and shifted solves: residuals, pivoting, refusals.

use super::super::testing::{Random, U, max_abs, times};
use super::*;
use proptest::prelude::*;

fn symmetric(n: usize, random: &mut Random) -> SquareMatrix {
    let half = random.vector(n * n);
    SquareMatrix::from_fn(n, |i, j| half[i * n + j] + half[j * n + i])
}

fn reduced(a: &SquareMatrix) -> SymmetricTridiagonal {
    let mut t = SymmetricTridiagonal::new(a.n());
    t.reduce(a);
    t
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// `T b`.
fn tridiagonal_times(t: &SymmetricTridiagonal, b: &[f64]) -> Vec<f64> {
    let off = |i: usize, j: usize| t.off_diagonal().get(i).map_or(0.0, |off| off * b.get(j).copied().unwrap_or(0.0));
    (0..b.len()).map(|i| t.diagonal()[i] * b[i] + off(i, i + 1) + if i > 0 { off(i - 1, i - 1) } else { 0.0 }).collect()
}

/// `10 n u ‖·‖`: the constant of the n reflections, each with a backward error of a few u (Higham, lemma 19.3).
fn reflections(n: usize) -> f64 {
    10.0 * (n + 1) as f64 * U
}

proptest! {
    #[test]
    fn the_basis_is_orthonormal_and_makes_the_matrix_tridiagonal(n in 1_usize..30, seed: u64) {
        let mut random = Random::new(seed);
        let (a, b) = (symmetric(n, &mut random), random.vector(n));
        let mut t = reduced(&a);
        let mut inside = b.clone();
        t.to_basis(&mut inside);
        let image = tridiagonal_times(&t, &inside);
        t.from_basis(&mut inside);
        prop_assert!(max_abs(&b.iter().zip(&inside).map(|(b, c)| b - c).collect::<Vec<_>>()) <= reflections(n) * norm(&b));
        let mut direct = times(&a, &b);
        t.to_basis(&mut direct);
        let tolerance = reflections(n) * norm(a.data()) * norm(&b);
        prop_assert!(max_abs(&direct.iter().zip(&image).map(|(b, c)| b - c).collect::<Vec<_>>()) <= tolerance);
    }

    #[test]
    fn shifted_solves_leave_residuals_of_rounding_size(n in 1_usize..30, seed: u64, re in -3.0..3.0, im in -3.0..3.0) {
        let mut random = Random::new(seed);
        let (a, b, c) = (symmetric(n, &mut random), random.vector(n), random.vector(n));
        let mut t = reduced(&a);
        prop_assume!(t.factor_real(re) && t.factor_complex(1, re, im));
        // Partial pivoting on a tridiagonal matrix grows entries at most twofold (Higham, §9.6): a residual of
        // a few u ‖shift I − T‖ ‖x‖, beside that of the reduction.
        let size = norm(a.data()) + re.abs() + im.abs();
        let mut x = b.clone();
        t.to_basis(&mut x);
        t.solve_real(&mut x);
        t.from_basis(&mut x);
        let back: Vec<f64> = times(&a, &x).iter().zip(&x).zip(&b).map(|((ax, x), b)| re * x - ax - b).collect();
        prop_assert!(max_abs(&back) <= 2.0 * reflections(n) * size * norm(&x));

        let (mut x, mut y) = (b.clone(), c.clone());
        t.to_basis(&mut x);
        t.to_basis(&mut y);
        t.solve_complex(1, &mut x, &mut y);
        t.from_basis(&mut x);
        t.from_basis(&mut y);
        let (ax, ay) = (times(&a, &x), times(&a, &y));
        let tolerance = 2.0 * reflections(n) * size * (norm(&x) + norm(&y));
        for i in 0..n {
            prop_assert!((re * x[i] - im * y[i] - ax[i] - b[i]).abs() <= tolerance);
            prop_assert!((re * y[i] + im * x[i] - ay[i] - c[i]).abs() <= tolerance);
        }
    }

    #[test]
    fn several_vectors_at_once_are_the_vectors_one_by_one(n in 1_usize..30, s in 1_usize..9, seed: u64) {
        let mut random = Random::new(seed);
        let mut t = reduced(&symmetric(n, &mut random));
        let b = random.vector(n * s);
        let (mut together, mut apart) = (b.clone(), b.clone());
        t.to_basis_many(&mut together);
        apart.chunks_exact_mut(n).for_each(|b| t.to_basis(b));
        // Two orders of the same n products: 2 n u Σ|q b| ≤ 2 n u ‖b‖, for each of them.
        for (x, y) in together.iter().zip(&apart) {
            prop_assert!((x - y).abs() <= 4.0 * n as f64 * U * norm(&b));
        }
        t.from_basis_many(&mut together);
        for (x, y) in together.iter().zip(&b) {
            prop_assert!((x - y).abs() <= reflections(n) * norm(&b));
        }
    }
}

#[test]
fn a_zero_pivot_of_a_regular_matrix_is_exchanged() {
    // T = [[0, 1], [1, 0]] at shift 0: elimination without exchange divides by zero.
    let mut t = reduced(&SquareMatrix::from_fn(2, |i, j| if i == j { 0.0 } else { 1.0 }));
    assert!(t.factor_real(0.0) && t.factor_complex(0, 0.0, 0.0));
    let mut b = [3.0, 5.0];
    t.to_basis(&mut b);
    t.solve_real(&mut b);
    t.from_basis(&mut b);
    assert_eq!(b, [-5.0, -3.0]);
}

#[test]
fn a_shift_on_an_eigenvalue_is_refused() {
    let mut t = reduced(&SquareMatrix::from_fn(3, |i, j| if i == j { i as f64 } else { 0.0 }));
    for eigenvalue in [0.0, 1.0, 2.0] {
        assert!(!t.factor_real(eigenvalue) && !t.factor_complex(0, eigenvalue, 0.0));
    }
    assert!(t.factor_real(0.5) && t.factor_complex(0, 1.0, 1e-300));
}

#[test]
fn a_single_unknown_is_a_division() {
    let mut t = reduced(&SquareMatrix::from_fn(1, |_, _| -4.0));
    let (mut b, mut re, mut im) = ([6.0], [0.0], [10.0]);
    assert!(t.factor_real(-1.0) && t.factor_complex(0, -1.0, 1.0));
    t.to_basis(&mut b);
    t.solve_real(&mut b);
    t.solve_complex(0, &mut re, &mut im);
    assert_eq!(b, [2.0]);
    assert!((re[0] - 1.0).abs() < 1e-15 && (im[0] - 3.0).abs() < 1e-15);
}

#[test]
fn matrices_and_shifts_that_are_not_finite_are_refused() {
    for bad in [f64::NAN, f64::INFINITY] {
        for place in [(0, 0), (2, 1), (3, 3), (3, 0)] {
            let mut a = symmetric(4, &mut Random::new(1));
            a.set(place.0, place.1, bad);
            a.set(place.1, place.0, bad);
            let mut t = reduced(&a);
            assert!(!t.factor_real(1.0) && !t.factor_complex(0, 1.0, 1.0), "{bad} at {place:?}");
        }
        let mut t = reduced(&symmetric(4, &mut Random::new(1)));
        assert!(!t.factor_real(bad) && !t.factor_complex(0, bad, 1.0) && !t.factor_complex(0, 1.0, bad));
    }
}
