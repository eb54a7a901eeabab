//! Telling a Codex session by its content, and what its head says of it.

use std::borrow::Cow;
use std::sync::LazyLock;

use engram_core::adapter::{Evidence, Framing, Identity};
use engram_core::head::Head;
use memchr::memmem::Finder;

use crate::shared::time::tape_time;
use crate::shared::value::{Field, StructuralIndex, Value, find_line, non_empty_text, parse, raw_str, text};

use super::convert::{BEGINNING, next_record};
use super::legacy;
use super::revisions::{BARE_JSONL, TS_JSON};
use super::rules::is_line_type;
use super::schema::{Bare, Line, SessionMeta, spawned};

/// How far into a line its first fields reach.
const BEGINNING_BYTES: usize = 1024;
/// Lines of the head that are looked at. A file may begin with a cut line.
const LINES: usize = 32;

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
    let mut index = StructuralIndex::default();
    if legacy::head(head.text(), &mut index).is_some() {
        return Some(Evidence { marks: vec![TS_DOCUMENT], framing: Framing::Document });
    }
    let mut marks = Vec::new();
    if header(head, &mut index).is_some() {
        marks.push(BARE_HEADER);
        if find_line(head.lines().skip(1).take(LINES), |line| is_bare(line).then_some(())).is_some() {
            marks.push(BARE_RECORDS);
        }
    }
    let mut has_envelopes = false;
    let meta = find_envelope(head, |line| {
        has_envelopes = true;
        meta(line).map(drop)
    });
    if has_envelopes {
        marks.push(ENVELOPE);
    }
    if meta.is_some() {
        marks.push(SESSION_META);
    }
    (!marks.is_empty()).then_some(Evidence { marks, framing: Framing::Lines })
}

/// What the head says: `cli_version` stands only in the envelope form, and the forms before it are schemas of their own.
pub(super) fn identify(head: &Head<'_>) -> Identity {
    let mut index = StructuralIndex::default();
    if let Some(session) = legacy::head(head.text(), &mut index) {
        return Identity {
            schema: Some(TS_JSON),
            session_id: owned(session.id()),
            start: time(session.timestamp()),
            ..Identity::default()
        };
    }
    if let Some(header) = header(head, &mut index) {
        return Identity {
            schema: Some(BARE_JSONL),
            session_id: owned(header.id()),
            start: time(header.timestamp()),
            ..Identity::default()
        };
    }
    let mut first_time = None;
    let stated = find_envelope(head, |line| {
        first_time.get_or_insert_with(|| time(line.timestamp()));
        meta(line).map(|meta| (owned(meta.cli_version()), owned(meta.id())))
    });
    let (version, session_id) = stated.unwrap_or_default();
    Identity { version, session_id, start: first_time.flatten(), ..Identity::default() }
}

/// The ids of a session that an agent started, and of the session that started it.
pub(super) fn lineage(head: &Head<'_>) -> Option<(String, String)> {
    let mut index = StructuralIndex::default();
    let meta = meta(&envelope(head.lines().next()?, &mut index)?)?;
    let parent = text(spawned(meta.source())?.parent_thread_id())?.decode_lossy().into_owned();
    Some((owned(meta.id())?, parent))
}

/// What an envelope holds stands behind this.
static PAYLOAD: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"payload\""));
/// Every header of the bare form has this.
static INSTRUCTIONS: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"instructions\""));

/// True when the field stands at the beginning of the line, where the harness writes it. Long lines of others are not parsed.
fn begins_with_field(line: &str, field: &Finder<'_>) -> bool {
    field.find(&line.as_bytes()[..line.len().min(BEGINNING_BYTES)]).is_some()
}

/// What `visit` finds in the envelopes among the first lines: its first answer.
fn find_envelope<T>(head: &Head<'_>, mut visit: impl FnMut(&Line<'_>) -> Option<T>) -> Option<T> {
    let mut index = StructuralIndex::default();
    head.lines().take(LINES).find_map(|line| envelope(line, &mut index).and_then(|line| visit(&line)))
}

fn envelope<'a>(line: &'a str, index: &'a mut StructuralIndex) -> Option<Line<'a>> {
    // A cut line may stand in front of a whole one. It begins as all do, or in the middle of one.
    let may_be_cut = line.starts_with(BEGINNING) || !line.starts_with("{\"");
    let next = if may_be_cut { next_record(line) } else { None };
    if next.is_none() && !begins_with_field(line, &PAYLOAD) {
        return None;
    }
    let cut = next.filter(|_| parse(line, index).is_err());
    let found = Line::lenient(parse(line.get(cut.unwrap_or_default()..)?, index).ok()?);
    (found.timestamp().is_some() && found.payload().is_some() && is_line_type(raw_str(found.kind()))).then_some(found)
}

/// The header of a session, if the line is one.
fn meta<'a>(line: &Line<'a>) -> Option<SessionMeta<'a>> {
    if raw_str(line.kind()) == "session_meta" { line.payload().map(SessionMeta::lenient) } else { None }
}

/// The header of the bare form, in the first line. `instructions` must be there, if only as `null`.
fn header<'a>(head: &Head<'a>, index: &'a mut StructuralIndex) -> Option<Bare<'a>> {
    let first = head.lines().next().filter(|line| begins_with_field(line, &INSTRUCTIONS))?;
    let line = parse(first, index).ok()?;
    let has_only_known = line.members().all(|(name, _)| ["id", "timestamp", "instructions", "git"].contains(&name));
    let header = Bare::lenient(line);
    let is_header = has_only_known && line.members().any(|(name, _)| name == "instructions");
    (is_header && header.id().is_some() && time(header.timestamp()).is_some()).then_some(header)
}

fn is_bare(line: Value<'_>) -> bool {
    raw_str(line.first("record_type")) == "state" || BARE_TYPES.contains(&raw_str(line.first("type")))
}

fn owned(field: Field<'_>) -> Option<String> {
    non_empty_text(field).map(|text| text.decode_lossy().into_owned())
}

fn time(field: Field<'_>) -> Option<String> {
    tape_time(field).map(Cow::into_owned)
}
