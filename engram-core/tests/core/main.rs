//! Tests of the public interface.

mod audit;
mod calls;
mod check;
mod chunks;
mod docs;
mod drift;
mod everything;
mod members;
mod policy;
mod repeats;
mod toy;
mod versions;
