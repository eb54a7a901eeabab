//! Adapters from the logs of coding agents to Engram tapes: the registry, detection and ingestion.

use std::path::Path;

use engram_core::adapter::{Evidence, SideInfo, StreamAdapter};
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::head::Head;
use engram_core::pipeline::{ByteSource, Input, Options, Summary, convert_chosen};
use engram_core::sink::EventSink;

mod claude_code;
mod codex;
mod cursor;
mod gemini;
pub mod open;
mod opencode;
pub mod shared;
pub mod tables;

use shared::tool_table::ToolTable;

/// One adapter and what belongs to it.
pub struct Entry {
    /// The adapter.
    pub adapter: &'static dyn StreamAdapter,
    /// The harness's tool names.
    pub tools: &'static ToolTable,
    /// Looks at the files around an artifact for what the artifact alone does not say.
    pub surroundings: fn(&Path, &Head<'_>) -> SideInfo,
}

/// Every adapter, in the order in which tables show them.
pub const REGISTRY: &[Entry] = &[claude_code::ENTRY, codex::ENTRY, opencode::ENTRY, gemini::ENTRY, cursor::ENTRY];

/// The entry of the adapter with this id.
///
/// # Errors
/// `unknown_adapter`, naming those there are.
pub fn by_id(id: &str) -> Result<&'static Entry, AdapterError> {
    REGISTRY.iter().find(|entry| entry.adapter.describe().adapter_id == id).ok_or_else(|| {
        let ids: Vec<&str> = REGISTRY.iter().map(|entry| entry.adapter.describe().adapter_id).collect();
        AdapterError::new(ErrorCode::UnknownAdapter).expected(format!("one of {}", ids.join(", "))).found(id)
    })
}

/// The one adapter that recognises the content, with its evidence.
///
/// # Errors
/// `unknown_harness` when none does, `ambiguous_harness` with the candidates and their evidence when several do.
pub fn detect(head: &Head<'_>) -> Result<(&'static Entry, Evidence), AdapterError> {
    only(head, REGISTRY.iter().map(|entry| (entry, entry.adapter)))
}

/// The one of several that recognises the content.
fn only<'a, T>(head: &Head<'_>, candidates: impl Iterator<Item = (T, &'a dyn StreamAdapter)>) -> Result<(T, Evidence), AdapterError> {
    let mut found: Vec<(T, &dyn StreamAdapter, Evidence)> =
        candidates.filter_map(|(candidate, adapter)| Some((candidate, adapter, adapter.probe(head)?))).collect();
    if found.len() > 1 {
        let named: Vec<String> = found
            .iter()
            .map(|(_, adapter, evidence)| format!("{} ({})", adapter.describe().adapter_id, evidence.marks.join(", ")))
            .collect();
        let mut error = AdapterError::new(ErrorCode::AmbiguousHarness).expected("one harness");
        // Our own words, so they need not be cut as an excerpt of the input.
        error.found = Some(named.join("; "));
        return Err(error);
    }
    found.pop().map(|(candidate, _, evidence)| (candidate, evidence)).ok_or_else(|| {
        let error = AdapterError::new(ErrorCode::UnknownHarness).expected("the log of a supported harness");
        if head.is_blank() { error.found("nothing but white space") } else { error.found(head.text().lines().next().unwrap_or_default()) }
    })
}

/// Detects the harness, picks the adapter, converts, and gives what it came to.
///
/// # Errors
/// As [`detect`] and [`convert_chosen`]. The sink may hold part of a tape then: the caller throws it away.
pub fn ingest<S: ByteSource>(input: Input<S>, options: &Options, sink: &mut dyn EventSink) -> Result<Summary, AdapterError> {
    convert_chosen(input, options, sink, |head| {
        let (entry, evidence) = detect(head)?;
        Ok((entry.adapter, evidence.framing))
    })
}

/// As [`ingest`], with adapters from elsewhere beside the registered ones.
///
/// # Errors
/// As [`ingest`].
pub fn ingest_with<S: ByteSource>(
    more: &[&dyn StreamAdapter],
    input: Input<S>,
    options: &Options,
    sink: &mut dyn EventSink,
) -> Result<Summary, AdapterError> {
    convert_chosen(input, options, sink, |head| {
        let registered = REGISTRY.iter().map(|entry| entry.adapter);
        let (adapter, evidence) = only(head, registered.chain(more.iter().copied()).map(|adapter| (adapter, adapter)))?;
        Ok((adapter, evidence.framing))
    })
}
