//! What the conversion of one session remembers, each piece private to its file.

pub mod compaction;
pub mod last_stated;
pub mod later_calls;
pub mod message_context;
pub mod record_facts;
pub mod replay;
pub mod revert;
pub mod session_state;
