//! The contract, tested from outside.

mod audit;
mod check;
