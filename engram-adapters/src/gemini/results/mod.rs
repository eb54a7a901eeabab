//! From tool calls and responses to calls, results, reads and edits.

mod call_record;
mod edits;
mod file_changes;
mod reads;
pub mod responses;
mod result_texts;
pub mod tool_calls;
mod tool_result;
