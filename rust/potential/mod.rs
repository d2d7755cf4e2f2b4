//! What the flow implicitly minimised: Q, its derivatives and its conjugate, one file a theorem.
