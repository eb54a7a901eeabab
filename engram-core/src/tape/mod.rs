//! The tape: JSON Lines of events, written and read.
//!
//! ```
//! use engram_core::event::Event;
//! use engram_core::tape;
//!
//! let tape = concat!(
//!     r#"{"seq":0,"t":"2026-01-02T03:04:05Z","k":"tool.call","source":{"harness":"toy"},"tool":"shell","kind":"execute"}"#,
//!     "\n"
//! );
//! for record in tape::events(tape) {
//!     if let Event::ToolCall(call) = record?.event {
//!         assert_eq!(call.tool.decode_lossy(), "shell");
//!     }
//! }
//! # Ok::<(), tape::TapeError>(())
//! ```

mod error;
#[cfg_attr(
    not(feature = "redact"),
    allow(dead_code, reason = "only redaction visits the texts of an event")
)]
pub(crate) mod fields;
pub(crate) mod jsonl;
pub(crate) mod object;
mod owned;
pub(crate) mod raw;
mod read;
mod replay;

pub use error::{InvalidEvent, TapeError};
pub use jsonl::JsonLines;
pub use owned::OwnedEvent;
pub use raw::{Envelope, Members, RawEvent, RawEvents, raw_events};
pub use read::{Events, events};
pub(crate) use replay::read_line;
pub use replay::replay;

/// The format of the tapes that this crate writes.
pub const TAPE_SCHEMA: &str = "engram.tape/1";

/// The name of this set of rules in a tape. It changes with every rule.
pub const REDACTION: &str = "engram-redact/4";
