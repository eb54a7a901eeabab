//! Tests of the public interface.

mod audit;
mod check;
mod chunks;
mod docs;
mod everything;
mod policy;
mod toy;
