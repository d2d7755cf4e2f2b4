//! Where gradient flow ends, what it implicitly minimised, and a proof.
//!
//! # Notation
//!
//! Data are `X` (N × d, one sample a row) and `y` (N); the predictor of a linear model is `β`, the residual
//! `r = y − Xβ`, the loss `Σ r² / (2N)`. Gradient flow on the weights moves `β` by `β' = S ∘ Xᵀr / N`.
//!
//! | model | predictor | reduced state | module |
//! |---|---|---|---|
//! | untied diagonal network | `β = u₊∘v₊ − u₋∘v₋` | `ν ∈ R^N`, `ν' = r/N`, `∇Q(β) = Xᵀν` | `diagonal` |
//! | fully connected linear network | `β = Wᵀa` | `a` and `W` in the singular vectors of `X` | `fully_connected` |
//! | matrix factorization | `M = U Vᵀ`, or `W Wᵀ` | a thin factor Z of `[U; V][U; V]ᵀ` | `matrix_factorization` |
//! | leaky-ReLU network | `f(x) = Σ a_i σ(w_iᵀx)` | `a` and `W` in the span of the samples, event by event | `leaky_relu` |
//!
//! The scale of the start enters only through its logarithm, so 10^-100000 is an ordinary input.
//!
//! # Direction of dependence
//!
//! [`python`](self) → [`limit`], [`flow`], [`potential`] → [`ode`], [`linalg`] → [`real`]. Never back: the core knows no Python,
//! and the integrators know no network.
//!
//! # Sources
//!
//! Azulay et al., *On the Implicit Bias of Initialization Shape*, ICML 2021 (cited as \[A\]); Woodworth et al.,
//! *Kernel and Rich Regimes in Overparametrized Models*, COLT 2020 (cited as \[W\]).

pub mod flow;
pub mod limit;
pub mod linalg;
pub mod ode;
pub mod potential;
pub mod real;

#[cfg(feature = "python")]
mod python;
