//! Errors of a conversion: a stable code and a location for programs, a sentence for people.

mod fault;
mod of_fault;

use std::error::Error;
use std::fmt;
use std::io::ErrorKind;
use std::sync::Arc;

use serde::Serialize;

pub use self::fault::Fault;
use crate::policy::Policy;
use crate::words::words;
pub(crate) use of_fault::{error_of, unreadable};

words! {
    /// Stable error codes. Their names are part of the public interface; `docs/errors.md` lists them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    #[non_exhaustive]
    pub enum ErrorCode {
        /// No adapter recognises the content.
        UnknownHarness = "unknown_harness",
        /// More than one adapter recognises the content.
        AmbiguousHarness = "ambiguous_harness",
        /// The version is newer than all recorded ones or otherwise outside the matrix, or none is recorded and the schema is not positively
        /// identified.
        UnknownHarnessVersion = "unknown_harness_version",
        /// The version is on the known-bad list.
        KnownBadVersion = "known_bad_version",
        /// The adapter does not know the type of a record or block.
        UnrecognizedRecord = "unrecognized_record",
        /// A record has a member that the adapter does not know, or one of another JSON type.
        UnknownMember = "unknown_member",
        /// A record is not JSON, not UTF-8, or has the wrong structure.
        MalformedRecord = "malformed_record",
        /// The artifact ends inside a record.
        TruncatedInput = "truncated_input",
        /// The input exceeds one of the [`Limits`](crate::limits::Limits).
        LimitExceeded = "limit_exceeded",
        /// A store lacks a table, a column or rows that its sessions need.
        IncompleteStore = "incomplete_store",
        /// There is no such file, directory or session.
        NotFound = "not_found",
        /// Reading the artifact or writing the tape failed.
        Io = "io",
        /// The adapter broke its contract. This is a bug.
        AdapterDefect = "adapter_defect",
        /// No adapter has the requested id.
        UnknownAdapter = "unknown_adapter",
        /// Recordings for checking adapters are missing or incomplete.
        BadRecordings = "bad_recordings",
        /// A table of prices cannot be read.
        BadPrices = "bad_prices",
    }
}

impl ErrorCode {
    /// What happened and what to do about it, in one sentence.
    pub fn explain(self) -> &'static str {
        match self {
            ErrorCode::UnknownHarness => {
                "no adapter recognises this content; check that the path is a session log of a supported harness"
            }
            ErrorCode::AmbiguousHarness => {
                "several adapters recognise this content; choose one with --adapter"
            }
            ErrorCode::UnknownHarnessVersion => {
                "the log schema of this harness version is not known, because no session of it was recorded"
            }
            ErrorCode::KnownBadVersion => "logs of this harness version cannot be trusted",
            ErrorCode::UnrecognizedRecord => "the adapter does not know this record type",
            ErrorCode::UnknownMember => {
                "the adapter does not know this member, or not with this type: the log format may have changed; `engram-lab drift` lists such changes"
            }
            ErrorCode::MalformedRecord => {
                "the record or the database is damaged, or its structure does not match its type"
            }
            ErrorCode::TruncatedInput => {
                "the input is cut off: a log inside a record, or a database before its end"
            }
            ErrorCode::LimitExceeded => {
                "the record, or the input, is larger or more deeply nested than the limit"
            }
            ErrorCode::IncompleteStore => {
                "the store is not whole, or a later version of the harness wrote it: restore it from a copy, or upgrade engram"
            }
            ErrorCode::NotFound => "there is no such file, directory or session; check its name",
            ErrorCode::Io => "reading or writing failed; check the path and its permissions",
            ErrorCode::AdapterDefect => {
                "the adapter broke its contract; please report this with the harness and version of the log"
            }
            ErrorCode::UnknownAdapter => "no adapter has this id; `engram adapters` lists them",
            ErrorCode::BadRecordings => {
                "these recordings cannot be used to check an adapter; docs/conformance.md describes their layout"
            }
            ErrorCode::BadPrices => {
                "this is no table of prices; `--help` says which columns it has"
            }
        }
    }

    /// [`Self::explain`], and what permissive policy does instead of failing.
    pub fn explain_strict(self) -> String {
        let advice = self.permissive().map(|advice| format!("; {advice}"));
        format!("{}{}", self.explain(), advice.unwrap_or_default())
    }

    /// What permissive policy does instead of failing, if anything.
    fn permissive(self) -> Option<&'static str> {
        match self {
            ErrorCode::UnknownHarnessVersion | ErrorCode::KnownBadVersion => {
                Some("--policy permissive converts the log with lowered claims")
            }
            ErrorCode::UnrecognizedRecord | ErrorCode::MalformedRecord => {
                Some("--policy permissive keeps it as `meta unrecognized`")
            }
            ErrorCode::UnknownMember => {
                Some("--policy permissive converts the rest with lowered claims")
            }
            ErrorCode::TruncatedInput => Some("--policy permissive converts everything before it"),
            ErrorCode::LimitExceeded => Some("--policy permissive keeps its hash and size"),
            _ => None,
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error with its location, as far as it is known. Serializes to the JSON that the command line prints.
///
/// `Debug` is the sentence of `Display`, too: it is what `main` prints of an error that it returns.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub struct AdapterError {
    /// The stable error code.
    pub code: ErrorCode,
    /// The id of the adapter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapter: Option<&'static str>,
    /// The harness that wrote the artifact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harness: Option<&'static str>,
    /// The harness version, as the artifact gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The newest recorded version that is older than [`Self::version`]. With `unknown_harness_version` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older_recorded: Option<&'static str>,
    /// The oldest recorded version that is newer than [`Self::version`]. With `unknown_harness_version` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newer_recorded: Option<&'static str>,
    /// The path of the artifact, as the caller gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The 1-based physical line of the artifact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The location inside the record, as a JSON pointer (RFC 6901).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// What was expected there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What was found: an escaped excerpt of at most [`EXCERPT_CHARS`] characters, because logs contain secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// The policy of the conversion. The message suggests permissive policy only if this is strict policy.
    #[serde(skip)]
    pub policy: Policy,
    #[serde(skip)]
    cause: Option<Cause>,
}

/// The error of the system behind an error.
#[derive(Clone)]
struct Cause(Arc<std::io::Error>);

impl PartialEq for Cause {
    fn eq(&self, other: &Cause) -> bool {
        self.0.kind() == other.0.kind()
    }
}

impl Eq for Cause {}

impl Error for AdapterError {
    /// The [`std::io::Error`] that it was made of, if it was made of one.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause
            .as_ref()
            .map(|cause| &*cause.0 as &(dyn Error + 'static))
    }
}

impl AdapterError {
    /// An error with a code and nothing else.
    pub fn new(code: ErrorCode) -> Self {
        AdapterError {
            code,
            adapter: None,
            harness: None,
            version: None,
            older_recorded: None,
            newer_recorded: None,
            path: None,
            line: None,
            pointer: None,
            expected: None,
            found: None,
            policy: Policy::Strict,
            cause: None,
        }
    }

    /// Sets what was expected.
    pub fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    /// Sets what was found, shortened to an excerpt.
    pub fn found(mut self, found: &str) -> Self {
        self.found = Some(excerpt(found));
        self
    }

    /// Sets the path of the artifact.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Sets the policy of the conversion.
    pub fn under(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the 1-based line.
    pub fn line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// How the version relates to the recorded ones, if that is known.
    fn distance(&self) -> Option<String> {
        match (self.older_recorded, self.newer_recorded) {
            (Some(older), Some(newer)) => Some(format!(
                "between {older} and {newer}, which write different schemas"
            )),
            (Some(older), None) => Some(format!(
                "newer than {older}, the newest recorded version; a newer engram may know it"
            )),
            (None, Some(newer)) => Some(format!("older than {newer}, the oldest recorded version")),
            (None, None) => None,
        }
    }
}

impl From<std::io::Error> for AdapterError {
    /// Readers of compressed files report a damaged file as `InvalidData`, a truncated one as `UnexpectedEof`, and one over a limit as
    /// `FileTooLarge`. Other kinds come from the file system.
    fn from(error: std::io::Error) -> Self {
        let code = match error.kind() {
            ErrorKind::NotFound => ErrorCode::NotFound,
            ErrorKind::InvalidData => ErrorCode::MalformedRecord,
            ErrorKind::UnexpectedEof => ErrorCode::TruncatedInput,
            // The system's own error of this kind is about a file that is written.
            ErrorKind::FileTooLarge if error.raw_os_error().is_none() => ErrorCode::LimitExceeded,
            _ => ErrorCode::Io,
        };
        let found = AdapterError::new(code).found(&error.to_string());
        AdapterError {
            cause: Some(Cause(Arc::new(error))),
            ..found
        }
    }
}

impl fmt::Debug for AdapterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for AdapterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        if let Some(path) = &self.path {
            write!(f, " in {path}")?;
        }
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(pointer) = &self.pointer {
            write!(f, ", at {pointer}")?;
        }
        if let (Some(harness), Some(version)) = (self.harness, &self.version) {
            write!(f, " ({harness} {version})")?;
        }
        if let Some(expected) = &self.expected {
            write!(f, ": expected {expected}")?;
        }
        if let Some(found) = &self.found {
            write!(f, ", found `{found}`")?;
        }
        match self.distance() {
            Some(distance) => write!(f, ": {distance}")?,
            None => write!(f, ": {}", self.code.explain())?,
        }
        match self
            .code
            .permissive()
            .filter(|_| self.policy == Policy::Strict)
        {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}

/// The maximum length of an excerpt in an error, in characters.
pub const EXCERPT_CHARS: usize = 80;

/// The first [`EXCERPT_CHARS`] characters of `text`, escaped, for errors.
pub fn excerpt(text: &str) -> String {
    let mut out: String = text
        .chars()
        .take(EXCERPT_CHARS)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(EXCERPT_CHARS).is_some() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_may_not_grow_is_no_limit_of_ours_and_the_error_of_the_system_is_kept() {
        // EFBIG.
        let of_system = AdapterError::from(std::io::Error::from_raw_os_error(27));
        assert_eq!(of_system.code, ErrorCode::Io);
        let own = AdapterError::from(crate::bounds::over("line_bytes", 1));
        assert_eq!(own.code, ErrorCode::LimitExceeded);
        let source = own
            .source()
            .and_then(|error| error.downcast_ref::<std::io::Error>());
        assert_eq!(
            source.map(std::io::Error::kind),
            Some(ErrorKind::FileTooLarge)
        );
    }
}
