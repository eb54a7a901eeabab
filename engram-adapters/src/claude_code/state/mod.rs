//! What the conversion of a line needs to know of earlier lines. Each file keeps one piece of it private.

pub mod dedup;
pub mod deferred;
pub mod early_results;
pub mod history_copies;
pub mod last_edit;
pub mod last_stated;
mod line_facts;
pub mod marked_files;
pub mod open_calls;
pub mod open_response;
pub mod orphan_arguments;
pub mod pending_output;
pub mod pending_prompts;
pub mod pending_usage;
pub mod read_lines;
pub mod replay;
pub mod result_notes;
pub mod rewinds;
pub mod rewritten_lines;
pub mod session_state;
pub mod sidechains;
pub mod titles;
pub mod typed_commands;
pub mod waiting_lines;
