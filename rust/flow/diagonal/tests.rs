//! Laws of the diagonal flow.
