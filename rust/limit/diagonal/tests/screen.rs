//! The kernel of wide data from the columns that matter.

use super::*;
use crate::limit::diagonal::screen::Screen;
use crate::linalg::{SquareMatrix, WeightedGram};

const N: usize = 6;
const D: usize = 4000;

/// Wide data, correlated if asked, and `K = X Xᵀ`.
fn wide(random: &mut Random, correlated: bool) -> Vec<f64> {
    let common = random.vector(D);
    let weight = if correlated { 2.0 } else { 0.0 };
    (0..N)
        .flat_map(|_| random.vector(D).into_iter().zip(&common).map(|(v, c)| v + weight * c).collect::<Vec<_>>())
        .collect()
}

fn rows(data: &[f64]) -> Rows<'_> {
    let Some(rows) = Rows::new(data, N, D) else { panic!("{} numbers are not {N} x {D}", data.len()) };
    rows
}

#[test]
fn columns_that_matter_and_the_mean_of_the_rest_make_the_kernel() {
    let mut random = Random(5);
    for correlated in [false, true] {
        let data = wide(&mut random, correlated);
        let x = rows(&data);
        let known = WeightedGram::of(x, &vec![1.0; D]);
        // Fifty slopes of size one; the rest between 0 and 2e-5, a twelve-hundredth of the whole.
        let mut slope: Vec<f64> = (0..D).map(|_| 2e-5 * random.unit()).collect();
        (0..50).for_each(|k| slope[79 * k] = 0.5 + random.unit());
        let (exact, mut out) = (WeightedGram::of(x, &slope), SquareMatrix::zeros(N));
        assert!(Screen::default().form(x, &known, &slope, &mut out));
        // What is off is Σ (S_i − s̄) x_i x_iᵀ over the rest: 4,000 independent terms of 1e-5/√3, so about 4e-4 of entries
        // of X of size 1 (of 5 where correlated); seven times that is granted.
        let allowed = if correlated { 1.3e-2 } else { 2.6e-3 };
        for (computed, exact) in out.data().iter().zip(exact.data()) {
            assert!((computed - exact).abs() <= allowed, "{computed} for {exact}");
        }
    }
}

#[test]
fn slopes_that_all_matter_and_data_that_are_not_wide_are_left_alone() {
    let mut random = Random(6);
    let data = wide(&mut random, false);
    let known = SquareMatrix::zeros(N);
    let mut out = SquareMatrix::zeros(N);
    assert!(!Screen::default().form(rows(&data), &known, &vec![1.0; D], &mut out));
    let narrow = &data[..N * 40];
    let Some(narrow) = Rows::new(narrow, N, 40) else { panic!("240 numbers") };
    let mut slope = vec![0.0; 40];
    slope[3] = 1.0;
    assert!(!Screen::default().form(narrow, &known, &slope, &mut out));
    assert_eq!(out, SquareMatrix::zeros(N));
}
