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
mod redact;
mod repeats;
mod toy;
mod versions;
