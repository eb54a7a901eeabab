//! The contract of Engram: adapters, events and tapes, and how a tape is written, read and checked.
//!
//! A conversion has three [steps]. An [`Input`](pipeline::Input) divides an artifact into records; the [`Conversion`](steps::Conversion) of an
//! adapter checks all of them, decides what becomes of each, and emits events; the [`Emitter`](emit::Emitter) completes the events and passes
//! them to an [`EventSink`](sink::EventSink). The most important sink is [`JsonLines`](tape::JsonLines), which writes a tape.
//!
//! This crate contains no adapter, and it does not access files, clocks or the environment.
//!
//! A tape is read back as the same typed events:
//!
//! ```
//! use engram_core::check::check;
//! use engram_core::event::Event;
//! use engram_core::tape::events;
//!
//! let tape = concat!(
//!     r#"{"seq":0,"t":"2026-01-02T03:04:05Z","k":"code.edit","source":{"harness":"toy"},"op":"create","file":"src/main.rs"}"#,
//!     "\n"
//! );
//! for record in events(tape) {
//!     if let Event::CodeEdit(edit) = record?.event {
//!         println!("{} {}", edit.op.as_str(), edit.file.decode_lossy());
//!     }
//! }
//! // This excerpt has no `tape.start` and no `tape.stop`.
//! assert!(!check(tape).is_empty());
//! # Ok::<(), engram_core::tape::TapeError>(())
//! ```

pub mod adapter;
pub mod anchor;
pub mod audit;
pub mod bounds;
pub mod check;
mod conversion;
pub mod coverage;
pub mod descriptor;
pub mod drift;
pub mod emit;
pub mod error;
pub mod event;
pub mod event_schema;
pub mod file_path;
pub mod form_facts;
pub mod hash;
mod input;
pub mod json;
pub mod json_schema;
pub mod keys;
pub mod ledger;
pub mod limits;
pub mod members;
mod omission;
pub mod overview;
pub mod pipeline;
pub mod policy;
pub mod prices;
#[cfg(feature = "redact")]
pub mod redact;
pub mod repeats;
mod side_info;
pub mod sink;
pub mod stats;
pub mod steps;
mod stream_adapter;
mod string_form;
mod support;
pub mod tape;
pub mod text;
pub mod text_adapter;
pub mod time;
pub mod tool_kind;
pub mod version;
mod words;

pub use input::head;
