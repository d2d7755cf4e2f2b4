//! What flows: one file a model, each a right-hand side and its Jacobian in reduced coordinates.
