//! Adapters from the session logs of coding agents to Engram tapes.
//!
//! - [`sessions::sessions`]: all sessions at a path, whatever they are stored in. The `engram` command does the same.
//! - [`ingest`]: one log from memory or a reader.
//! - [`Registry`]: the adapters as a value; [`Registry::with`] adds adapters from other crates.
//! - [`shared`]: the tools that adapters are built with.
//!
//! ```
//! use engram_adapters::ingest;
//! use engram_core::pipeline::{Input, Options};
//! use engram_core::tape::JsonLines;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/codex/0.169.0/main/session/.codex/sessions/2026/11/21/");
//! # let path = std::fs::read_dir(path)?.next().unwrap()?.path();
//! let log = std::fs::File::open(path)?;
//! let options = Options::default();
//! let mut tape = JsonLines::new(Vec::new());
//! let summary = ingest(Input::new(log, options.limits), &options, &mut tape)?;
//! assert_eq!((summary.harness, summary.version.as_deref()), ("codex", Some("0.169.0")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use engram_core::adapter::Evidence;
use engram_core::error::AdapterError;
use engram_core::head::Head;
use engram_core::pipeline::{ByteSource, Chosen, Input, Options, Summary, convert_chosen};
use engram_core::sink::EventSink;
use engram_core::tape::replay;

/// The code that the build script has made of an adapter's member tables: its record types, marks and rules, the views of the objects that
/// it reads, and the compiled table.
#[allow(unused_macros, reason = "a build may have no adapter")]
macro_rules! from_tables {
    ($adapter:literal) => {
        #[allow(dead_code, reason = "an adapter need not use each name of its format")]
        mod format {
            include!(concat!(env!("OUT_DIR"), "/", $adapter, "/format.rs"));
        }
        mod readers {
            include!(concat!(env!("OUT_DIR"), "/", $adapter, "/readers.rs"));
        }
        #[allow(unused_imports, reason = "a table need not have each kind of row")]
        mod table {
            include!(concat!(env!("OUT_DIR"), "/", $adapter, "/table.rs"));
        }
    };
}

#[cfg(feature = "acp")]
mod acp;
mod builtin;
#[cfg(feature = "conformance")]
pub mod certification;
#[cfg(feature = "claude-code")]
mod claude_code;
#[cfg(feature = "codex")]
mod codex;
#[cfg(feature = "conformance")]
pub mod conformance;
#[cfg(feature = "copilot")]
mod copilot;
#[cfg(feature = "cursor")]
mod cursor;
#[cfg(feature = "gemini")]
mod gemini;
mod home_directory;
pub mod homes;
pub mod open;
#[cfg(feature = "opencode")]
mod opencode;
#[cfg(feature = "pi")]
mod pi;
mod prompt_history;
#[cfg(feature = "qwen")]
mod qwen;
mod registration;
mod registry;
mod session_file;
mod session_form;
pub mod sessions;
pub mod shared;
pub mod tables;
mod text_only;
#[cfg(feature = "tool-intent")]
mod tool_intent;

pub use registration::{AdapterForm, Registration, SideInfoFn};
pub use registry::Registry;
pub use session_file::SessionFile;
pub use session_form::{FormPlace, SessionForm};

/// The one built-in adapter that recognises the content, with its evidence.
///
/// # Errors
/// As [`Registry::detect`].
///
/// ```
/// use engram_adapters::detect;
/// use engram_core::head::Head;
///
/// let log = br#"{"type":"system","subtype":"init","cwd":"/p","session_id":"s","model":"m"}"#;
/// let found = detect(&Head::new(log, true)).map(|(registration, _)| registration.id());
/// assert!(found.is_ok() || found.is_err_and(|error| error.code.as_str() == "unknown_harness"));
/// ```
pub fn detect(head: &Head<'_>) -> Result<(&'static Registration, Evidence), AdapterError> {
    Registry::builtin().detect(head)
}

/// Finds out which harness wrote the log and converts it.
///
/// Memory is bounded by the largest record (for a log that is one JSON document: by the document).
///
/// # Errors
/// As [`detect`] and [`convert_chosen`]. The sink may then contain part of a tape: discard it.
pub fn ingest<S: ByteSource>(
    input: Input<S>,
    options: &Options,
    sink: &mut dyn EventSink,
) -> Result<Summary, AdapterError> {
    ingest_with(&Registry::builtin(), input, options, sink)
}

/// As [`ingest`], with the adapters of `registry`.
///
/// # Errors
/// As [`ingest`]; `adapter_defect` if an adapter that converts complete texts only returns an invalid tape.
///
/// ```
/// use engram_adapters::{Registration, Registry, ingest_with};
/// use engram_core::pipeline::{Input, Options};
/// use engram_core::tape::JsonLines;
///
/// # fn convert(my_adapter: &'static Registration, log: &str) -> Result<Vec<u8>, engram_core::error::AdapterError> {
/// let registry = Registry::builtin().with(my_adapter);
/// let options = Options::default();
/// let mut tape = Vec::new();
/// ingest_with(&registry, Input::in_memory(log, options.limits), &options, &mut JsonLines::new(&mut tape))?;
/// # Ok(tape)
/// # }
/// ```
pub fn ingest_with<S: ByteSource>(
    registry: &Registry,
    mut input: Input<S>,
    options: &Options,
    sink: &mut dyn EventSink,
) -> Result<Summary, AdapterError> {
    let detected = registry.detect(&input.head()?);
    let (registration, evidence) = match detected {
        Ok(detected) => detected,
        Err(error) => {
            let converted = text_only::convert(registry, &mut input, error)?;
            replay(converted.tape.as_bytes(), sink)?;
            return Ok(converted.summary);
        }
    };
    let adapter = registration
        .stream()
        .ok_or_else(|| AdapterError::new(engram_core::error::ErrorCode::AdapterDefect))?;
    convert_chosen(input, options, sink, |head| {
        Ok(Chosen {
            adapter,
            framing: evidence.framing,
            identity: adapter.identify(head),
        })
    })
}

/// The examples of the page of the crate.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
