//! What the tools of a harness return that shows files as diffs, in its own logs and over a protocol.

mod diff;
mod edits;
mod output;
mod reads;

pub use diff::{Section, sections};
pub use edits::{Texts, created, emit_edits, set_texts};
pub use output::{Returned, returned};
pub use reads::emit_read;
