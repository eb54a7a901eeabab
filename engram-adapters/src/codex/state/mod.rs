//! What a conversion remembers from record to record. Each piece keeps its fields to itself.

pub mod emitted;
pub mod held_message;
pub mod last_stated;
pub mod mirror_dedup;
pub mod open_calls;
pub mod pairs;
pub mod pending_end;
pub mod replay;
pub mod review;
pub mod session_state;
pub mod thread;
pub mod token_counts;
pub mod turns;
