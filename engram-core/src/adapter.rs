//! The contract of an adapter: it converts an artifact to a tape.

use std::fmt;

use crate::descriptor::{AdapterDescriptor, UnknownVersionPolicy};
use crate::error::{AdapterError, ErrorCode};
pub use crate::input::head::Identity;
use crate::pipeline::{Input, Options, convert};
use crate::policy::Policy;
pub use crate::side_info::{LogRecord, OlderLog, ParentCall, SideFiles, SideInfo};
pub use crate::stream_adapter::{Evidence, Framing, SessionInit, StreamAdapter};
use crate::tape::JsonLines;

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

impl<A: StreamAdapter> HarnessAdapter for A {
    fn id(&self) -> AdapterId {
        AdapterId(self.describe().adapter_id)
    }

    /// As [`string_form`]. A text that is not the adapter's own is refused: a tape of it would name a harness that has not written it.
    fn convert_to_tape_jsonl(&self, input: &str) -> Result<String, AdapterError> {
        let mut artifact = Input::in_memory(input, Options::default().limits);
        if self.probe(&artifact.head()?).is_none() {
            let id = self.describe().adapter_id;
            return Err(AdapterError::new(ErrorCode::UnknownHarness)
                .expected(format!("a log that the adapter {id} recognises"))
                .found(input.lines().next().unwrap_or_default()));
        }
        string_form(self, input)
    }

    fn descriptor(&self) -> AdapterDescriptor {
        *self.describe()
    }
}

/// Converts text by the adapter's own policy, with the default limits, whoever wrote it.
///
/// # Errors
/// As [`convert`].
pub fn string_form(adapter: &dyn StreamAdapter, input: &str) -> Result<String, AdapterError> {
    let policy = match adapter.describe().unknown_version_policy {
        UnknownVersionPolicy::StrictFail => Policy::Strict,
        UnknownVersionPolicy::PermissiveDegrade => Policy::Permissive,
    };
    convert_str(
        adapter,
        input,
        &Options {
            policy,
            ..Options::default()
        },
    )
}

/// Converts an artifact that is in memory, and returns the tape. See [`convert`].
///
/// # Errors
/// As [`convert`].
pub fn convert_str(
    adapter: &dyn StreamAdapter,
    input: &str,
    options: &Options,
) -> Result<String, AdapterError> {
    let mut tape = Vec::with_capacity(input.len());
    convert(
        adapter,
        Input::in_memory(input, options.limits),
        options,
        &mut JsonLines::new(&mut tape),
    )?;
    // A tape is built from strings; the check costs a pass over ASCII.
    String::from_utf8(tape).map_err(|_| AdapterError::new(ErrorCode::AdapterDefect))
}
