//! The contract, tested from outside.

mod audit;
mod calls;
mod check;
mod chunks;
mod docs;
mod everything;
mod policy;
mod toy;
