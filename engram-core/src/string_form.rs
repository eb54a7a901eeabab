//! The string form of the contract, for every adapter that reads an artifact record by record.

use crate::adapter::{AdapterId, HarnessAdapter};
use crate::descriptor::{AdapterDescriptor, UnknownVersionPolicy};
use crate::error::{AdapterError, ErrorCode};
use crate::pipeline::{Input, Options, convert};
use crate::policy::Policy;
use crate::stream_adapter::StreamAdapter;
use crate::tape::JsonLines;

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
