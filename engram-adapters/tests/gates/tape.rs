//! Tapes of the artifacts, converted once and shared by all gates.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};

use engram_core::adapter::{SideInfo, StreamAdapter};
use engram_core::check::check;
use engram_core::error::AdapterError;
use engram_core::limits::Limits;
use engram_core::pipeline::{Input, Options, Summary, convert};
use engram_core::policy::Policy;
use engram_core::tape::JsonLines;

use crate::tree::Artifact;

/// The most violations of one tape that are reported.
const SHOWN: usize = 5;

/// A converted artifact.
pub struct Tape {
    /// The tape's bytes.
    pub text: String,
    /// The summary of the conversion.
    pub summary: Summary,
}

/// Converts bytes with one adapter.
pub fn convert_bytes(
    adapter: &dyn StreamAdapter,
    bytes: &[u8],
    policy: Policy,
    context: SideInfo,
) -> Result<Tape, AdapterError> {
    let options = Options {
        policy,
        context,
        ..Options::default()
    };
    let mut out = Vec::new();
    let summary = convert(
        adapter,
        Input::new(bytes, options.limits),
        &options,
        &mut JsonLines::new(&mut out),
    )?;
    Ok(Tape {
        text: String::from_utf8(out).expect("a tape is UTF-8"),
        summary,
    })
}

/// Converts an artifact as the command does, with its side files.
pub fn convert_artifact(artifact: &Artifact) -> Result<Tape, AdapterError> {
    convert_bytes(
        artifact.adapter(),
        &artifact.bytes,
        policy_for(artifact),
        artifact.context.clone(),
    )
}

/// Strict: every session of the tree has a supported version. Permissive for the few that record no version and whose structure proves
/// no schema: the strict policy rejects these.
pub fn policy_for(artifact: &Artifact) -> Policy {
    let mut input = Input::new(artifact.bytes.as_slice(), Limits::default());
    let identity = artifact
        .entry
        .identify(&input.head().expect("memory can be read"));
    let is_identified = identity.version.is_some() || identity.schema.is_some();
    if is_identified {
        Policy::Strict
    } else {
        Policy::Permissive
    }
}

/// As [`convert_artifact`], but each artifact is converted once for all gates.
pub fn tape_of(artifact: &'static Artifact) -> Result<&'static Tape, String> {
    type Made = OnceLock<Result<Tape, String>>;
    static TAPES: OnceLock<Mutex<HashMap<usize, &'static Made>>> = OnceLock::new();
    let made: &'static Made = {
        let mut tapes = TAPES
            .get_or_init(Mutex::default)
            .lock()
            .expect("no gate panics with the lock");
        tapes
            .entry(std::ptr::from_ref(artifact) as usize)
            .or_insert_with(|| Box::leak(Box::default()))
    };
    made.get_or_init(|| {
        convert_artifact(artifact).map_err(|error| format!("{}: {error}", artifact.full_name()))
    })
    .as_ref()
    .map_err(Clone::clone)
}

/// The rules that a tape violates.
pub fn violations(name: &str, tape: &str) -> Vec<String> {
    check(tape)
        .iter()
        .take(SHOWN)
        .map(|violation| format!("{name}: {violation}"))
        .collect()
}
