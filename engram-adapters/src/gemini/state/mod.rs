//! What the conversion of one session remembers, each piece private to its file.

pub mod current_session;
pub mod dedup;
pub mod history_rewrite;
pub mod last_stated;
mod message_facts;
pub mod occurrences;
pub mod open_answer;
pub mod pending_usage;
mod repeated_turns;
pub mod rewind_points;
mod seen_calls;
pub mod session_state;
pub mod tally;
pub mod typed_prompts;
