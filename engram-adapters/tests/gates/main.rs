//! The gates: every promise of the tape format and every claim of an adapter, checked over all fixtures and recordings.

mod report;
mod tape;
mod tree;
mod truth;
