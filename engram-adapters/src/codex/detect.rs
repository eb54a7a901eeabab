//! Telling a Codex session by its content, and what its head says of it.

use std::borrow::Cow;

use engram_core::adapter::{Evidence, Framing, Identity};
use engram_core::head::Head;
use engram_core::text::Text;
use memchr::memmem;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::kit::json::Raw;
use crate::kit::time::rfc3339;
use crate::kit::value::{Index, parse, text};

use super::convert::next_record;
use super::legacy;
use super::revisions::{BARE_JSONL, TS_JSON};
use super::schema::spawned;

/// How far into a line its first fields reach.
const BEGINNING_BYTES: usize = 1024;
/// Lines of the head that are looked at. A file may begin with a cut line.
const LINES: usize = 32;

/// A line of the envelope form, without its content.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    timestamp: Raw<'a>,
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    payload: Meta<'a>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    cli_version: Raw<'a>,
    #[serde(borrow)]
    source: Raw<'a>,
}

/// The header of the bare form. `instructions` must be there, if only as `null`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header<'a> {
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    timestamp: Raw<'a>,
    #[serde(rename = "instructions", deserialize_with = "IgnoredAny::deserialize")]
    _instructions: IgnoredAny,
    #[serde(rename = "git", default)]
    _git: Option<IgnoredAny>,
}

/// A line of the bare form behind the header.
#[derive(Deserialize)]
struct BareLine<'a> {
    #[serde(borrow, default)]
    record_type: Cow<'a, str>,
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
}

/// The types of envelope lines, each of them Codex's own word.
pub(super) const ENVELOPE_TYPES: [&str; 8] = [
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
    "world_state",
    "token_usage_record",
    "inter_agent_communication_metadata",
];

/// The types of bare lines.
const BARE_TYPES: [&str; 4] = ["message", "reasoning", "function_call", "function_call_output"];

/// The document that the TypeScript version wrote.
const TS_DOCUMENT: &str = "ts_document";
/// The header line of bare records.
const BARE_HEADER: &str = "bare_header";
/// A bare record after it.
const BARE_RECORDS: &str = "bare_records";
/// A record in an envelope.
const ENVELOPE: &str = "envelope";
/// The envelope that opens a session.
const SESSION_META: &str = "session_meta";

/// The names of all marks.
pub(super) fn marks() -> Vec<&'static str> {
    vec![TS_DOCUMENT, BARE_HEADER, BARE_RECORDS, ENVELOPE, SESSION_META]
}

/// Yes or no, with the marks that prove it.
pub(super) fn probe(head: &Head<'_>) -> Option<Evidence> {
    if legacy::head(head.text()).is_some() {
        return Some(Evidence { marks: vec![TS_DOCUMENT], framing: Framing::Document });
    }
    let mut marks = Vec::new();
    if header(head).is_some() {
        marks.push(BARE_HEADER);
        if head.lines().skip(1).take(LINES).any(is_bare) {
            marks.push(BARE_RECORDS);
        }
    }
    let envelopes = || head.lines().take(LINES).filter_map(envelope);
    if envelopes().next().is_some() {
        marks.push(ENVELOPE);
    }
    if envelopes().any(|line| line.kind == "session_meta") {
        marks.push(SESSION_META);
    }
    (!marks.is_empty()).then_some(Evidence { marks, framing: Framing::Lines })
}

/// What the head says: `cli_version` stands only in the envelope form, and the forms before it are schemas of their own.
pub(super) fn identify(head: &Head<'_>) -> Identity {
    if let Some(session) = legacy::head(head.text()) {
        return Identity { schema: Some(TS_JSON), session_id: owned(session.id), start: time(session.timestamp), ..Identity::default() };
    }
    if let Some(header) = header(head) {
        return Identity { schema: Some(BARE_JSONL), session_id: owned(header.id), start: time(header.timestamp), ..Identity::default() };
    }
    let mut lines = head.lines().take(LINES).filter_map(envelope);
    let Some(first) = lines.next() else { return Identity::default() };
    let start = time(first.timestamp);
    let meta = if first.kind == "session_meta" { Some(first) } else { lines.find(|line| line.kind == "session_meta") };
    let meta = meta.map(|line| line.payload);
    Identity {
        version: meta.as_ref().and_then(|meta| owned(meta.cli_version)),
        session_id: meta.and_then(|meta| owned(meta.id)),
        start,
        ..Identity::default()
    }
}

/// The ids of a session that an agent started, and of the session that started it.
pub(super) fn lineage(head: &Head<'_>) -> Option<(String, String)> {
    let meta = head.lines().take(1).filter_map(envelope).find(|line| line.kind == "session_meta")?.payload;
    let mut index = Index::default();
    let source = parse(meta.source?.get(), &mut index).ok()?;
    let parent = text(spawned(Some(source))?.parent_thread_id)?.decode_lossy().into_owned();
    Some((owned(meta.id)?, parent))
}

/// True when the field stands at the beginning of the line, where the harness writes it. Long lines of others are not parsed.
fn begins_with_field(line: &str, field: &str) -> bool {
    let beginning = &line.as_bytes()[..line.len().min(BEGINNING_BYTES)];
    memmem::find(beginning, field.as_bytes()).is_some()
}

fn envelope(line: &str) -> Option<Envelope<'_>> {
    if !begins_with_field(line, "\"payload\"") && next_record(line).is_none() {
        return None;
    }
    // A cut line may stand in front of a whole one.
    let whole = serde_json::from_str(line).ok();
    let found: Envelope<'_> = whole.or_else(|| serde_json::from_str(line.get(next_record(line)?..)?).ok())?;
    (found.timestamp.is_some() && ENVELOPE_TYPES.contains(&found.kind.as_ref())).then_some(found)
}

fn header<'h>(head: &Head<'h>) -> Option<Header<'h>> {
    let first = head.lines().next().filter(|line| begins_with_field(line, "\"instructions\""))?;
    let header: Header<'_> = serde_json::from_str(first).ok()?;
    (header.id.and_then(Text::of).is_some() && time(header.timestamp).is_some()).then_some(header)
}

fn is_bare(line: &str) -> bool {
    serde_json::from_str::<BareLine<'_>>(line).is_ok_and(|line| line.record_type == "state" || BARE_TYPES.contains(&line.kind.as_ref()))
}

fn owned(raw: Raw<'_>) -> Option<String> {
    raw.and_then(Text::of).filter(|text| !text.is_empty()).map(|text| text.decode_lossy().into_owned())
}

fn time(raw: Raw<'_>) -> Option<String> {
    let decoded = raw.and_then(Text::of)?.decode_lossy();
    rfc3339(&decoded).map(Cow::into_owned)
}
