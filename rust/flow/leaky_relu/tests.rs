//! Laws of the flow.

mod decisions;
mod golden;
mod jacobian;
