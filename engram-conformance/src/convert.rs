//! The ways in which the kit asks an adapter for a tape. A panic of the adapter is caught.

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};

use engram_core::adapter::{HarnessAdapter, Identity, SessionInit, SideInfo, StreamAdapter};
use engram_core::error::AdapterError;
use engram_core::limits::Limits;
use engram_core::pipeline::{Input, Options, convert};
use engram_core::policy::Policy;
use engram_core::tape::JsonLines;

use crate::session::Session;

/// Why there is no tape.
#[derive(Debug, Clone, PartialEq)]
pub enum ConversionError {
    /// The adapter returned an error, as it should.
    Refused(Box<AdapterError>),
    /// The adapter panicked, which it never should.
    Panicked,
    /// The input is not UTF-8, so the string form of the contract cannot take it.
    NotUtf8,
}

impl std::fmt::Display for ConversionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ConversionError::Refused(error) => write!(f, "{error}"),
            ConversionError::Panicked => f.write_str("the adapter panicked"),
            ConversionError::NotUtf8 => {
                f.write_str("the input is not UTF-8, which the string form requires")
            }
        }
    }
}

/// The tape that the string form of the contract returns.
pub fn string_form(adapter: &dyn HarnessAdapter, bytes: &[u8]) -> Result<String, ConversionError> {
    let text = str::from_utf8(bytes).map_err(|_| ConversionError::NotUtf8)?;
    catch(|| adapter.convert_to_tape_jsonl(text))
}

/// The tape of a stream under a policy.
pub fn stream_form(
    stream: &dyn StreamAdapter,
    source: impl Read,
    policy: Policy,
    context: SideInfo,
) -> Result<String, ConversionError> {
    let options = Options {
        policy,
        context,
        ..Options::default()
    };
    catch(|| {
        let mut tape = Vec::new();
        convert(
            stream,
            Input::new(source, options.limits),
            &options,
            &mut JsonLines::new(&mut tape),
        )?;
        Ok(String::from_utf8_lossy(&tape).into_owned())
    })
}

/// The tape of a session that arrives in chunks of `size` bytes, under a policy.
pub fn in_chunks(
    stream: &dyn StreamAdapter,
    session: &Session,
    size: usize,
    policy: Policy,
) -> Result<String, ConversionError> {
    stream_form(
        stream,
        Chunks {
            bytes: &session.bytes,
            size,
        },
        policy,
        session.context.clone(),
    )
}

fn catch(
    convert: impl FnOnce() -> Result<String, AdapterError>,
) -> Result<String, ConversionError> {
    let result = catch_unwind(AssertUnwindSafe(convert)).map_err(|_| ConversionError::Panicked)?;
    result.map_err(|error| ConversionError::Refused(Box::new(error)))
}

/// The identity that the head of a session says.
fn identity(stream: &dyn StreamAdapter, bytes: &[u8]) -> Option<Identity> {
    Input::new(bytes, Limits::default())
        .head()
        .ok()
        .map(|head| stream.identify(&head))
}

/// True if an artifact of this form may have the records of several sessions, as the adapter says.
pub fn sessions_are_apart(stream: &dyn StreamAdapter, session: &Session) -> bool {
    let mut input = Input::new(session.bytes.as_slice(), Limits::default());
    let Ok(head) = input.head() else { return false };
    let identity = session.context.complete(stream.identify(&head));
    let (revision, _) = stream.describe().matrix.identify(&identity);
    let init = SessionInit {
        identity: &identity,
        revision,
        head: &head,
        context: &session.context,
    };
    stream.conversion(&init).sessions_are_apart()
}

/// Strict, except for a session with neither a version nor a schema: strict policy must refuse it.
pub fn default_policy(stream: &dyn StreamAdapter, bytes: &[u8]) -> Policy {
    let is_identified = identity(stream, bytes)
        .is_some_and(|identity| identity.version.is_some() || identity.schema.is_some());
    if is_identified {
        Policy::Strict
    } else {
        Policy::Permissive
    }
}

/// Reads at most `size` bytes at a time.
struct Chunks<'b> {
    bytes: &'b [u8],
    size: usize,
}

impl Read for Chunks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let len = self.size.min(buffer.len()).min(self.bytes.len());
        let (chunk, rest) = self.bytes.split_at(len);
        buffer[..len].copy_from_slice(chunk);
        self.bytes = rest;
        Ok(len)
    }
}
