//! Laws of the flow.

mod decisions;
mod exact;
mod golden;
mod jacobian;
