//! The one answer to arguments of the wrong size: a bug of the caller, stopped where it enters.

use core::fmt::Debug;

/// Panic, naming `what`, unless the shapes agree.
#[track_caller]
pub(super) fn agree<T: PartialEq + Debug + Copy>(what: &str, found: T, expected: T) {
    assert!(found == expected, "{what}: {found:?} where {expected:?} is expected");
}
