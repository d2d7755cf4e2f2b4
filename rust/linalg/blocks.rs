//! How work is cut into blocks and handed to threads. Knows no mathematics.
//!
//! The cut is the caller's and depends on the shape alone; threads only decide who computes a block, never what is
//! computed. That is the whole argument for results that are the same bit by bit on any number of threads.

use faer::MatMut;
use rayon::prelude::*;

/// Work below this many multiply-adds, 100 to 200 µs of them, is done by the calling thread: waking a second one costs a
/// few microseconds on a machine with nothing else to do, fifty and more on a virtual one, and all of the gain on a busy
/// one.
const WORTH_A_THREAD: usize = 2_000_000;

/// Whether `work` multiply-adds are worth the current pool.
pub(super) fn worth_threads(work: usize) -> bool {
    work >= WORTH_A_THREAD && rayon::current_num_threads() > 1
}

/// `each(i, blocks[i])` for all `i`, in any order, on the current pool if `threads`.
pub(super) fn for_each<T: Send>(blocks: &mut [T], threads: bool, each: impl Fn(usize, &mut T) + Sync) {
    if threads {
        blocks.par_iter_mut().enumerate().for_each(|(i, block)| each(i, block));
    } else {
        blocks.iter_mut().enumerate().for_each(|(i, block)| each(i, block));
    }
}

/// `each(start, slice[start..start + len])` over the chunks of `len`, in any order.
pub(super) fn for_each_chunk<T: Send>(
    slice: &mut [T],
    len: usize,
    threads: bool,
    each: impl Fn(usize, &mut [T]) + Sync,
) {
    if threads {
        slice.par_chunks_mut(len).enumerate().for_each(|(i, chunk)| each(i * len, chunk));
    } else {
        slice.chunks_mut(len).enumerate().for_each(|(i, chunk)| each(i * len, chunk));
    }
}

/// `each(start, rows start.. of the matrix)` over blocks of `len` rows, in any order.
pub(super) fn for_each_row_block(
    matrix: MatMut<'_, f64>,
    len: usize,
    threads: bool,
    each: &(impl Fn(usize, MatMut<'_, f64>) + Sync),
) {
    split_rows(matrix, 0, len, threads, each);
}

/// Binary splitting at multiples of `len`, so that the leaves are the same whoever takes them.
fn split_rows(
    matrix: MatMut<'_, f64>,
    start: usize,
    len: usize,
    threads: bool,
    each: &(impl Fn(usize, MatMut<'_, f64>) + Sync),
) {
    let blocks = matrix.nrows().div_ceil(len);
    if blocks <= 1 {
        each(start, matrix);
        return;
    }
    let middle = blocks / 2 * len;
    let (head, tail) = matrix.split_at_row_mut(middle);
    if threads {
        rayon::join(
            || split_rows(head, start, len, threads, each),
            || split_rows(tail, start + middle, len, threads, each),
        );
    } else {
        split_rows(head, start, len, threads, each);
        split_rows(tail, start + middle, len, threads, each);
    }
}
