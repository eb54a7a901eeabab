//! The contract of the Engram tape: what an adapter is, what a tape holds, and how one is written, read and checked.
//!
//! One direction, one pass, bounded memory: an [`Input`](pipeline::Input) gives records, a
//! [`Session`](adapter::Session) turns each into events, the [`Emitter`](emit::Emitter) writes them.
//! This crate names no harness and touches no file, clock or environment.

pub mod adapter;
pub mod anchor;
pub mod audit;
pub mod check;
pub mod coverage;
pub mod descriptor;
pub mod emit;
pub mod error;
pub mod event;
pub mod event_schema;
mod fault;
pub mod hash;
mod input;
pub mod json_schema;
pub mod keys;
pub mod ledger;
pub mod limits;
pub mod pipeline;
pub mod policy;
pub mod sink;
pub mod stats;
mod stream;
mod support;
pub mod tape;
pub mod text;
pub mod time;
pub mod tool_kind;
pub mod version;

pub use input::head;
