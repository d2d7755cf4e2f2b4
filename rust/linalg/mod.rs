//! The few dense kernels: products with the data, `X diag(s) Xᵀ`, Cholesky, QR, shifted solves.
//!
//! Numbers in, numbers out: nothing here knows a network, an integrator or Python. `u` is the unit round-off, 2⁻⁵³.
//!
//! | question | file |
//! |---|---|
//! | products with the data | [`Rows`] |
//! | `X diag(s) Xᵀ` | [`WeightedGram`] |
//! | `H = L Lᵀ`, its solves and its condition | [`Cholesky`] |
//! | an orthonormal basis of the row space, its rank | [`RowBasis`] |
//! | least squares, rows of any size | [`RowwiseQr`] |
//! | a rotation that makes a matrix triangular | [`ThinQr`], in double-double [`ExactQr`] |
//! | singular values and vectors | [`ThinSvd`] |
//! | eigenvalues and vectors of a symmetric matrix | [`SymmetricEigen`] |
//! | `(shift I − A) x = b` for many shifts, `A` symmetric | [`SymmetricTridiagonal`] |
//! | the same for any `A` | [`ShiftedLu`] |
//!
//! # Threads
//!
//! Kernels run on the current rayon pool. Work is cut into blocks that depend on the shape alone, each block has its own
//! result, and partial results are added in block order: the bits do not depend on the number of threads. Inside a block
//! faer runs sequentially.
//!
//! # Shapes
//!
//! Arguments whose sizes do not fit together are a bug of the caller, and panic. Size zero is a size.
//!
//! # Non-finite input
//!
//! Products pass it on. Factorizations answer "no" (`false`, `None`, rank 0): none of them panics or loops.

mod blocks;
mod cholesky;
mod condition;
mod dense_lu;
mod exact_qr;
mod few_vectors;
mod gram;
mod norm;
mod powers_of_two;
mod qr;
mod row_products;
mod rows;
mod rowwise_qr;
mod scratch;
mod shape;
mod square;
mod symmetric_eigen;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod thin_svd;
mod tridiagonal;
mod tridiagonal_lu;
mod weighted_qr;

pub use cholesky::Cholesky;
pub(crate) use dense_lu::Lu;
pub use dense_lu::ShiftedLu;
pub use exact_qr::ExactQr;
pub use gram::WeightedGram;
pub(crate) use norm::{length, norm};
pub use qr::{RowBasis, ThinQr};
pub use rows::Rows;
pub use rowwise_qr::RowwiseQr;
pub use square::SquareMatrix;
pub use symmetric_eigen::SymmetricEigen;
pub use thin_svd::ThinSvd;
pub use tridiagonal::SymmetricTridiagonal;
