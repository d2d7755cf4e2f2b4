//! The few dense kernels: products with the data, `X diag(s) Xᵀ`, Cholesky, QR, shifted symmetric solves.

mod rows;

pub use rows::Rows;
