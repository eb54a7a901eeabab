//! Parsers for patches: hunks of a unified diff, and the `*** Begin Patch` format. A text that does not parse to its end is not a patch.

mod bare_cr;
mod begin_patch;
mod line;
mod quoted_name;
mod unified;

pub use bare_cr::{LineRuns, has_bare_cr, line_runs};
pub use begin_patch::{FileChange, FilePatch, Snippet, begin_patch};
pub use quoted_name::quoted_name;
pub use unified::{ChangedRun, unified_runs};
