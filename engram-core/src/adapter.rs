//! The contract of an adapter: it converts an artifact to a tape.

use std::fmt;

use crate::descriptor::AdapterDescriptor;
use crate::error::AdapterError;
pub use crate::input::head::Identity;
pub use crate::side_info::{LogRecord, OlderLog, ParentCall, SideFiles, SideInfo};
pub use crate::stream_adapter::{Evidence, Framing, SessionInit, StreamAdapter};
pub use crate::string_form::{convert_str, string_form};

/// Stable id of an adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AdapterId(pub &'static str);

impl fmt::Display for AdapterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The string form of the contract. Every [`StreamAdapter`] implements it, and a reference to one is a reference to this, too.
pub trait HarnessAdapter: Send + Sync {
    /// The adapter's stable id.
    fn id(&self) -> AdapterId;

    /// Converts one artifact to a tape. The same input always gives the same output.
    ///
    /// # Errors
    /// [`AdapterError`] with a stable code: `unknown_harness` if the adapter does not recognise the text. There is no partial tape then.
    fn convert_to_tape_jsonl(&self, input: &str) -> Result<String, AdapterError>;

    /// What the adapter supports and claims.
    fn descriptor(&self) -> AdapterDescriptor;
}
