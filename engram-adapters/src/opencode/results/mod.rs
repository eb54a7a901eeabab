//! From a finished tool call to its result, reads and edits.

pub mod attachment;
pub mod call;
mod diffs;
mod edits;
mod reads;
pub mod tool_result;
