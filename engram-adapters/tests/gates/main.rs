//! The gates: every promise of the tape format and every claim of an adapter, checked over all fixtures and recordings.

mod accounting;
mod bless;
mod checker;
mod claims;
mod contract;
mod detection;
mod determinism;
mod forms;
mod gaps;
mod golden;
mod hostile;
mod mutation;
mod report;
mod tape;
mod tidy;
mod tools;
mod tree;
mod truth;
mod versions;
