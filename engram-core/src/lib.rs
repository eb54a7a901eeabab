//! The contract of the Engram tape: what an adapter is, what a tape holds, and how one is written, read and checked.
//!
//! One direction, one pass, bounded memory: an [`Input`](pipeline::Input) gives records, a
//! [`Session`](adapter::Session) turns each into events, the [`Emitter`](emit::Emitter) writes them.
//! This crate names no harness and touches no file, clock or environment.

pub mod adapter;
pub mod anchor;
pub mod audit;
pub mod block;
mod buffer;
mod byte_source;
pub mod check;
pub mod coverage;
mod decode;
pub mod descriptor;
mod digits;
pub mod emit;
mod envelope;
pub mod error;
mod escapes;
pub mod event;
pub mod event_schema;
mod fault;
pub mod hash;
pub mod head;
mod input;
mod json;
pub mod json_schema;
pub mod keys;
pub mod ledger;
pub mod limits;
mod members;
mod origin;
pub mod pipeline;
pub mod policy;
pub mod render;
mod stream;
mod support;
pub mod tape;
pub mod text;
pub mod tool_kind;
mod truncation;
pub mod version;
