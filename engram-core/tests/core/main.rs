//! The contract, tested from outside.

mod audit;
mod check;
mod chunks;
mod docs;
mod everything;
mod policy;
mod toy;
