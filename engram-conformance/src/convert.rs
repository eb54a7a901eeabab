//! The adapter under test, and the ways in which the kit asks it for a tape.

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};

use engram_core::adapter::{HarnessAdapter, Identity, SideInfo, StreamAdapter};
use engram_core::descriptor::{AdapterDescriptor, UnknownVersionPolicy};
use engram_core::error::AdapterError;
use engram_core::limits::Limits;
use engram_core::pipeline::{Input, Options, convert};
use engram_core::policy::Policy;
use engram_core::tape::JsonLines;

use crate::options::{Offered, Session};

/// Why there is no tape.
#[derive(Debug, Clone, PartialEq)]
pub enum Trouble {
    /// The adapter said so, as it should.
    Refused(Box<AdapterError>),
    /// The adapter panicked, as it never should.
    Panicked,
    /// The text is no UTF-8, which the string form of the contract cannot take.
    NotText,
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trouble::Refused(error) => write!(f, "{error}"),
            Trouble::Panicked => f.write_str("the adapter panicked"),
            Trouble::NotText => f.write_str("not UTF-8, which the string form cannot take"),
        }
    }
}

/// An adapter under test.
pub struct Subject<'s> {
    /// The contract.
    pub adapter: &'s dyn HarnessAdapter,
    /// What it says about itself.
    pub descriptor: AdapterDescriptor,
    /// What more it offers.
    pub offered: Offered<'s>,
}

impl<'s> Subject<'s> {
    /// The adapter with what it offers.
    pub fn new(adapter: &'s dyn HarnessAdapter, offered: Offered<'s>) -> Self {
        Subject { adapter, descriptor: adapter.descriptor(), offered }
    }

    /// The tape of a session as a user gets it: by the streaming form with what the files around the session say, where that
    /// is offered, and strict where the session is identified; else by the string form.
    pub fn tape(&self, session: &Session) -> Result<String, Trouble> {
        match self.offered.stream {
            Some(stream) => streamed(stream, &session.bytes, policy_for(stream, &session.bytes), session.context.clone()),
            None => self.string_form(&session.bytes),
        }
    }

    /// The tape that the string form of the contract gives.
    pub fn string_form(&self, bytes: &[u8]) -> Result<String, Trouble> {
        let text = str::from_utf8(bytes).map_err(|_| Trouble::NotText)?;
        caught(|| self.adapter.convert_to_tape_jsonl(text))
    }

    /// The tape under a policy; none where the adapter cannot be asked for that policy.
    pub fn under(&self, policy: Policy, bytes: &[u8]) -> Option<Result<String, Trouble>> {
        match self.offered.stream {
            Some(stream) => Some(streamed(stream, bytes, policy, SideInfo::default())),
            None => (self.own_policy() == policy).then(|| self.string_form(bytes)),
        }
    }

    /// The policy that the string form keeps.
    pub fn own_policy(&self) -> Policy {
        match self.descriptor.unknown_version_policy {
            UnknownVersionPolicy::StrictFail => Policy::Strict,
            UnknownVersionPolicy::PermissiveDegrade => Policy::Permissive,
        }
    }

    /// True when some revision or the whole claim names the gap.
    pub fn declares(&self, code: &str) -> bool {
        self.descriptor.gaps.iter().any(|gap| gap.code == code)
    }
}

/// The tape of a session that arrives in pieces of so many bytes.
pub fn in_chunks(stream: &dyn StreamAdapter, session: &Session, size: usize) -> Result<String, Trouble> {
    let policy = policy_for(stream, &session.bytes);
    read(stream, Chunks { bytes: &session.bytes, size }, policy, session.context.clone())
}

fn streamed(stream: &dyn StreamAdapter, bytes: &[u8], policy: Policy, context: SideInfo) -> Result<String, Trouble> {
    read(stream, bytes, policy, context)
}

fn read(stream: &dyn StreamAdapter, source: impl Read, policy: Policy, context: SideInfo) -> Result<String, Trouble> {
    let options = Options { policy, context, ..Options::default() };
    caught(|| {
        let mut tape = Vec::new();
        convert(stream, Input::new(source, options.limits), &options, &mut JsonLines::new(&mut tape))?;
        Ok(String::from_utf8_lossy(&tape).into_owned())
    })
}

fn caught(make: impl FnOnce() -> Result<String, AdapterError>) -> Result<String, Trouble> {
    let made = catch_unwind(AssertUnwindSafe(make)).map_err(|_| Trouble::Panicked)?;
    made.map_err(|error| Trouble::Refused(Box::new(error)))
}

/// What the head of a session says.
pub fn identity(stream: &dyn StreamAdapter, bytes: &[u8]) -> Option<Identity> {
    Input::new(bytes, Limits::default()).head().ok().map(|head| stream.identify(&head))
}

/// Strict, but for a session that records no version and whose structure proves no schema: strict policy has to refuse it.
fn policy_for(stream: &dyn StreamAdapter, bytes: &[u8]) -> Policy {
    let is_identified = identity(stream, bytes).is_some_and(|identity| identity.version.is_some() || identity.schema.is_some());
    if is_identified { Policy::Strict } else { Policy::Permissive }
}

/// Gives at most so many bytes at a time.
struct Chunks<'b> {
    bytes: &'b [u8],
    size: usize,
}

impl Read for Chunks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let len = self.size.min(buffer.len()).min(self.bytes.len());
        let (now, later) = self.bytes.split_at(len);
        buffer[..len].copy_from_slice(now);
        self.bytes = later;
        Ok(len)
    }
}
