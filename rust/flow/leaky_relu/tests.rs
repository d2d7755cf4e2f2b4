//! Laws of the flow.

mod golden;
