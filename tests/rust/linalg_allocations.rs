//! The kernels of a hot loop allocate nothing after their first call. A test of its own, because it counts the
//! allocations of the whole process.

use implicit_bias::linalg::{Cholesky, Rows, ShiftedLu, SquareMatrix, SymmetricTridiagonal, WeightedGram};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, counting for each thread.
struct Counting;

#[expect(unsafe_code, reason = "an allocator can only be counted by standing in for it; it forwards and adds one")]
// SAFETY: every call is forwarded unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of this thread in the second of two runs of `work`.
fn allocations_of_a_second_run(mut work: impl FnMut()) -> usize {
    work();
    let before = ALLOCATIONS.with(Cell::get);
    work();
    ALLOCATIONS.with(Cell::get) - before
}

#[test]
fn the_counter_counts() {
    assert!(allocations_of_a_second_run(|| drop(std::hint::black_box(vec![0.0; 100]))) > 0);
}

#[test]
fn a_second_call_of_the_kernels_of_a_hot_loop_allocates_nothing() {
    // A pool of one: handing a task to another thread may allocate in the queue between them.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.expect("a pool of one thread can always be made").install(run_every_kernel_twice);
}

fn run_every_kernel_twice() {
    for (n, d) in [(20, 90), (100, 1000)] {
        let data: Vec<f64> = (0..n * d).map(|k| ((k * k % 10_007) as f64).sin()).collect();
        let Some(x) = Rows::new(&data, n, d) else { panic!("{} numbers are not {n} x {d}", data.len()) };
        let s = vec![1.0; d];
        let (mut gram, mut h, mut factor) = (WeightedGram::new(n, d), SquareMatrix::zeros(n), Cholesky::new(n));
        let (mut t, mut lu) = (SymmetricTridiagonal::new(n), ShiftedLu::new(n));
        let (mut b, mut c, mut solved) = (vec![1.0; 7 * n], vec![1.0; n], Vec::new());
        let (mut v, mut xv) = (vec![1.0; 7 * d], vec![1.0; 7 * n]);
        let measure = |name: &str, work: &mut dyn FnMut()| {
            assert_eq!(allocations_of_a_second_run(work), 0, "{name} at {n} x {d}");
        };
        measure("gram", &mut || gram.form(x, &s, &mut h));
        measure("cholesky", &mut || assert!(factor.factor(&h)));
        measure("scaled cholesky", &mut || assert_eq!(factor.factor_scaled(&h), Some(0.0)));
        measure("solve", &mut || factor.solve(&mut c));
        measure("solved rows", &mut || factor.solve_lower_rows(x, &mut solved));
        measure("reduction", &mut || t.reduce(&h));
        measure("change of basis", &mut || {
            t.to_basis_many(&mut b);
            t.from_basis_many(&mut b);
            t.to_basis(&mut c);
        });
        measure("tridiagonal solves", &mut || {
            assert!(t.factor_real(-1.0) && t.factor_complex(1, -1.0, 1.0));
            t.solve_real(&mut c);
            t.solve_complex(1, &mut b[..n], &mut c);
        });
        lu.set(&h);
        measure("dense solves", &mut || {
            assert!(lu.factor_real(-1.0) && lu.factor_complex(1, -1.0, 1.0));
            lu.solve_real(&mut c);
            lu.solve_complex(1, &mut b[..n], &mut c);
        });
        measure("products", &mut || {
            x.apply(&v[..d], &mut xv[..n]);
            x.apply_transposed(&xv[..n], &mut v[..d]);
            x.apply_many(&v, &mut xv);
            x.apply_transposed_many(&xv, &mut v);
        });
    }
}
