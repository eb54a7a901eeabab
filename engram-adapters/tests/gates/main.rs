//! The gates: the compatibility kit over all adapters, and checks of this repository: bad input, golden tapes, documents, sources.

mod bless;
mod codes;
mod conformance;
mod contract;
mod detection;
mod determinism;
mod drift;
mod excerpt;
mod forms;
mod golden;
mod hostile;
mod imports;
mod members;
mod mutation;
mod outside;
mod outside_stream;
mod report;
mod rollback;
mod schema;
mod snapshot_faults;
mod snapshots;
mod tape;
mod tidy;
mod tree;
mod typed;
mod versions;
