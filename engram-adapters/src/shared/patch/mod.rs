//! Parsers for patches: hunks of a unified diff, and the `*** Begin Patch` format. A text that does not parse to its end is not a patch.

mod begin_patch;
mod line;
mod unified;

pub use begin_patch::{FileChange, FilePatch, Snippet, begin_patch};
pub use unified::{ChangedRun, unified_runs};
