//! binary64 as a `Real`.
