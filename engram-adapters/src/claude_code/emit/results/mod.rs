//! Tool results: their event (`tool_result`), and what the tool read or changed (`file_events`, by the shape of the result).

mod agreement;
mod edits;
mod file_events;
mod located;
mod orphan_results;
mod patch_lines;
mod patches;
mod reads;
mod result_context;
pub(super) mod result_text;
mod status;
mod text_only_results;
pub mod tool_result;

pub(in crate::claude_code) use patch_lines::LAST_LINE;
