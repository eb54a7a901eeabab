//! Tool results: their event (`tool_result`), and what the tool read or changed by the shape of the result.

mod edits;
mod located;
mod patches;
mod reads;
pub(super) mod result_context;
pub mod tool_result;

pub(in crate::claude_code) use patches::LAST_LINE;
