//! How fast the dense kernels are, at the sizes of DESIGN §6.
//!
//! Run one with `cargo bench --no-default-features --bench linalg -- gram`. Threads: those of the global rayon pool, so
//! `RAYON_NUM_THREADS=1` measures one.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use implicit_bias::linalg::{Cholesky, RowBasis, Rows, ShiftedLu, SquareMatrix, SymmetricTridiagonal, WeightedGram};
use std::hint::black_box;

/// Rows and columns: the published problem, a small one, a taller one.
const SHAPES: [(usize, usize); 3] = [(100, 1000), (40, 200), (300, 2000)];
/// Stages of the Radau method of order 13.
const STAGES: usize = 7;

/// Data without pattern: the fractional parts of multiples of the golden ratio, spread by squaring the index.
fn data(len: usize) -> Vec<f64> {
    (0..len).map(|k| ((k * k % 1_000_003) as f64 * 0.618_033_988_749_894_9).fract() - 0.5).collect()
}

/// One problem of every shape: its name, its data and its Gram matrix.
fn each_shape(mut run: impl FnMut(&str, Rows<'_>, &SquareMatrix)) {
    for (n, d) in SHAPES {
        let entries = data(n * d);
        let Some(x) = Rows::new(&entries, n, d) else { panic!("{} entries are not {n} x {d}", entries.len()) };
        let mut h = SquareMatrix::zeros(n);
        WeightedGram::new(n, d).form(x, &vec![1.0; d], &mut h);
        run(&format!("{n}x{d}"), x, &h);
    }
}

fn products(c: &mut Criterion) {
    let mut group = c.benchmark_group("products");
    each_shape(|name, x, _| {
        let (v, w) = (data(STAGES * x.d()), data(STAGES * x.n()));
        let (mut xv, mut xtw) = (vec![0.0; STAGES * x.n()], vec![0.0; STAGES * x.d()]);
        let (n, d) = (x.n(), x.d());
        group.bench_function(BenchmarkId::new("apply", name), |b| b.iter(|| x.apply(black_box(&v[..d]), &mut xv[..n])));
        group.bench_function(BenchmarkId::new("apply_transposed", name), |b| {
            b.iter(|| x.apply_transposed(black_box(&w[..n]), &mut xtw[..d]));
        });
        group.bench_function(BenchmarkId::new("apply_many", name), |b| b.iter(|| x.apply_many(black_box(&v), &mut xv)));
        group.bench_function(BenchmarkId::new("apply_transposed_many", name), |b| {
            b.iter(|| x.apply_transposed_many(black_box(&w), &mut xtw));
        });
    });
    group.finish();
}

fn positive_definite(c: &mut Criterion) {
    let mut group = c.benchmark_group("positive definite");
    each_shape(|name, x, h| {
        let s: Vec<f64> = data(x.d()).iter().map(|s| s + 0.6).collect();
        let mut gram = WeightedGram::new(x.n(), x.d());
        let mut out = SquareMatrix::zeros(x.n());
        group.bench_function(BenchmarkId::new("gram", name), |b| b.iter(|| gram.form(x, black_box(&s), &mut out)));
        let mut factor = Cholesky::new(x.n());
        group.bench_function(BenchmarkId::new("cholesky", name), |b| b.iter(|| factor.factor(black_box(h))));
        let mut solved = Vec::new();
        group.bench_function(BenchmarkId::new("solve_lower_rows", name), |b| {
            b.iter(|| factor.solve_lower_rows(x, &mut solved));
        });
        let mut b_vector = data(x.n());
        group.bench_function(BenchmarkId::new("solve", name), |b| b.iter(|| factor.solve(black_box(&mut b_vector))));
        group.bench_function(BenchmarkId::new("factor_by_qr", name), |b| b.iter(|| factor.factor_by_qr(x, &s)));
        group.bench_function(BenchmarkId::new("row basis", name), |b| b.iter(|| RowBasis::of(black_box(x))));
    });
    group.finish();
}

fn shifted(c: &mut Criterion) {
    let mut group = c.benchmark_group("shifted");
    each_shape(|name, x, h| {
        let n = x.n();
        let mut t = SymmetricTridiagonal::new(n);
        group.bench_function(BenchmarkId::new("reduce", name), |b| b.iter(|| t.reduce(black_box(h))));
        let (mut vectors, mut im) = (data(STAGES * n), data(n));
        group.bench_function(BenchmarkId::new("to_basis_many", name), |b| b.iter(|| t.to_basis_many(&mut vectors)));
        group.bench_function(BenchmarkId::new("from_basis_many", name), |b| b.iter(|| t.from_basis_many(&mut vectors)));
        group.bench_function(BenchmarkId::new("tridiagonal factor", name), |b| {
            b.iter(|| t.factor_complex(0, black_box(-1.0), 2.0));
        });
        group.bench_function(BenchmarkId::new("tridiagonal solve", name), |b| {
            b.iter(|| t.solve_complex(0, &mut vectors[..n], black_box(&mut im)));
        });
        let mut lu = ShiftedLu::new(n);
        lu.set(h);
        group.bench_function(BenchmarkId::new("dense factor", name), |b| b.iter(|| lu.factor_complex(0, -1.0, 2.0)));
        group.bench_function(BenchmarkId::new("dense solve", name), |b| {
            b.iter(|| lu.solve_complex(0, &mut vectors[..n], black_box(&mut im)));
        });
    });
    group.finish();
}

criterion_group!(benches, products, positive_definite, shifted);
criterion_main!(benches);
