//! From a finished tool call to its result, reads and edits.

pub mod attachment;
pub mod call;
mod call_edits;
mod diffs;
mod edits;
mod paths;
mod read_lines;
mod reads;
pub mod step_call;
mod step_edits;
mod step_reads;
pub mod tool_result;
