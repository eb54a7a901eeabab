//! The contract, tested from outside.

mod check;
