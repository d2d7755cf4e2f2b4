//! Runs a loop with the widest vector instructions the machine has. Knows nothing about what the loop computes.
//!
//! The package is compiled for baseline x86-64, where `f64::mul_add` is a call into the C library. [`dispatch`] compiles
//! a [`Kernel`] once for the baseline and once for each instruction set of `pulp`, and picks at run time. A kernel is
//! plain Rust on fixed arrays: the compiler never reorders or contracts floating-point operations, so what a kernel
//! returns does not depend on how its loop was vectorised, only on whether it was told to fuse.

use pulp::{Arch, Simd, WithSimd};

/// A loop that profits from vector instructions. `run` must be `#[inline(always)]`, or it is compiled without them.
pub(super) trait Kernel {
    /// What it returns.
    type Output;
    /// Do it. `FUSED`: `mul_add` is one instruction here; otherwise it is a library call.
    fn run<const FUSED: bool>(self) -> Self::Output;
}

struct Vectorised<K>(K);

impl<K: Kernel> WithSimd for Vectorised<K> {
    type Output = K::Output;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> K::Output {
        // Every vector instruction set that pulp dispatches to on these two has a fused multiply-add.
        if !S::IS_SCALAR && cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            self.0.run::<true>()
        } else {
            self.0.run::<false>()
        }
    }
}

/// Run `kernel` with the best instructions of this machine: 1 to 3 ns more than calling it.
#[inline]
pub(super) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    Arch::new().dispatch(Vectorised(kernel))
}

/// `a·b + c`, with one rounding if `FUSED` and two if not.
#[inline(always)]
pub(super) fn multiply_add<const FUSED: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}
