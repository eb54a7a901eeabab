//! Detection of a Codex session by its content, and the identity that its head says.

use std::borrow::Cow;
use std::sync::LazyLock;

use engram_core::adapter::{Evidence, Framing, Identity};
use engram_core::head::Head;
use memchr::memmem::Finder;
use serde_json::value::RawValue;

use crate::shared::time::tape_time;
use crate::shared::value::{
    Field, StructuralIndex, Value, find_line, has_members, non_empty_text, parse, raw_str, text,
};

use super::cut_line::{ENVELOPE_START, next_record};
use crate::codex::format::mark;
use crate::codex::readers::{Bare, Line, SessionHead, SessionMeta};
use crate::codex::revisions::{BARE_JSONL, EXEC_EVENTS, EXEC_JSON, TS_JSON};
use crate::codex::schema::{is_line_type, is_of_agent, spawned};

/// Bytes of a line that are searched for its first fields.
const FIRST_FIELDS_BYTES: usize = 1024;
/// Lines of the head that are searched. A file may begin with a cut line.
const HEAD_LINES: usize = 32;

/// The provider of TRAE CLI (`traex`, from 2.0 on), a fork that has Codex's header and other records (`history_mutation`). Public readers tell
/// its sessions by it: agentsview (pull request 1349), botmux and deja-vu. No adapter reads them yet.
const TRAE: &str = "trae";

/// The types of bare lines.
const BARE_TYPES: [&str; 4] = [
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
];

/// The marks that prove that this is a Codex session; none if it is not one.
pub fn probe(head: &Head<'_>) -> Option<Evidence> {
    let mut index = StructuralIndex::default();
    if document_session(head.text(), &mut index).is_some() {
        return Some(Evidence {
            marks: vec![mark::TS_DOCUMENT],
            framing: Framing::Document,
        });
    }
    let mut marks = Vec::new();
    if header(head, &mut index).is_some() {
        marks.push(mark::BARE_HEADER);
        if find_line(head.lines().skip(1).take(HEAD_LINES), |line| {
            is_bare(line).then_some(())
        })
        .is_some()
        {
            marks.push(mark::BARE_RECORDS);
        }
    }
    if exec_thread(head).is_some() {
        marks.push(mark::EXEC_THREAD);
    }
    if is_exec_settings(head) {
        marks.push(mark::EXEC_SETTINGS);
    }
    let mut has_envelopes = false;
    let meta = find_envelope(head, |line| {
        has_envelopes = true;
        meta(line).map(|meta| raw_str(meta.model_provider()) == TRAE)
    });
    if meta == Some(true) {
        return None;
    }
    if has_envelopes {
        marks.push(mark::ENVELOPE);
    }
    if meta.is_some() {
        marks.push(mark::SESSION_META);
    }
    (!marks.is_empty()).then_some(Evidence {
        marks,
        framing: Framing::Lines,
    })
}

/// The identity that the head says. Only the envelope form has a `cli_version`; the older forms are schemas of their own.
pub fn identify(head: &Head<'_>) -> Identity {
    let mut index = StructuralIndex::default();
    if let Some(session) = document_session(head.text(), &mut index) {
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
    if let Some(session_id) = exec_thread(head) {
        return Identity {
            schema: Some(EXEC_JSON),
            session_id,
            ..Identity::default()
        };
    }
    if is_exec_settings(head) {
        return Identity {
            schema: Some(EXEC_EVENTS),
            ..Identity::default()
        };
    }
    let mut first_time = None;
    let stated = find_envelope(head, |line| {
        first_time.get_or_insert_with(|| time(line.timestamp()));
        meta(line).map(|meta| {
            (
                owned(meta.cli_version()),
                owned(meta.id()),
                is_of_agent(&meta),
            )
        })
    });
    let (version, session_id, is_of_agent) = stated.unwrap_or_default();
    let agent_id = session_id.clone().filter(|_| is_of_agent);
    Identity {
        version,
        session_id,
        agent_id,
        start: first_time.flatten(),
        ..Identity::default()
    }
}

/// The ids of a session that an agent started and of that agent's session.
pub fn lineage(head: &Head<'_>) -> Option<(String, String)> {
    let mut index = StructuralIndex::default();
    let meta = meta(&envelope(head.lines().next()?, &mut index)?)?;
    let parent = text(spawned(meta.source())?.parent_thread_id())?
        .decode_lossy()
        .into_owned();
    Some((owned(meta.id())?, parent))
}

/// The key of an envelope's content.
static PAYLOAD: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"payload\""));
/// The type of the line with which `exec --json` begins.
static THREAD_STARTED: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"thread.started\""));
/// A key of the settings with which it begins up to 0.42.
static WORKDIR: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"workdir\""));
/// A key of every header of the bare form.
static INSTRUCTIONS: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"instructions\""));

/// True when the key or value is at the beginning of the line, where the harness writes it. Long lines of other formats are not parsed.
fn has_early_key(line: &str, key: &Finder<'_>) -> bool {
    key.find(&line.as_bytes()[..line.len().min(FIRST_FIELDS_BYTES)])
        .is_some()
}

/// The id of the thread in the line with which `exec --json` begins, if that is the first line.
fn exec_thread(head: &Head<'_>) -> Option<Option<String>> {
    let first = head
        .lines()
        .next()
        .filter(|line| has_early_key(line, &THREAD_STARTED))?;
    let mut index = StructuralIndex::default();
    let line = parse(first, &mut index).ok()?;
    let is_start =
        raw_str(line.first_member("type")) == "thread.started" && has_members(line, &["thread_id"]);
    is_start.then(|| owned(line.first_member("thread_id")))
}

/// True if the first line has the settings with which `exec --json` begins up to 0.42.
fn is_exec_settings(head: &Head<'_>) -> bool {
    let Some(first) = head
        .lines()
        .next()
        .filter(|line| has_early_key(line, &WORKDIR))
    else {
        return false;
    };
    let mut index = StructuralIndex::default();
    parse(first, &mut index).is_ok_and(|line| {
        has_members(
            line,
            &["workdir", "approval", "sandbox", "model", "provider"],
        )
    })
}

/// The first result of `visit` for the envelopes among the first lines.
fn find_envelope<T>(head: &Head<'_>, mut visit: impl FnMut(&Line<'_>) -> Option<T>) -> Option<T> {
    let mut index = StructuralIndex::default();
    head.lines()
        .take(HEAD_LINES)
        .find_map(|line| envelope(line, &mut index).and_then(|line| visit(&line)))
}

fn envelope<'a>(line: &'a str, index: &'a mut StructuralIndex) -> Option<Line<'a>> {
    // A cut record may precede a complete one in its line. It begins as all do, or in the middle.
    let may_be_cut = line.starts_with(ENVELOPE_START) || !line.starts_with("{\"");
    let next = if may_be_cut { next_record(line) } else { None };
    if next.is_none() && !has_early_key(line, &PAYLOAD) {
        return None;
    }
    let cut = next.filter(|_| parse(line, index).is_err());
    let found = Line::lenient(parse(line.get(cut.unwrap_or_default()..)?, index).ok()?);
    (is_line_type(raw_str(found.kind())) && has_members(found.object(), &["timestamp", "payload"]))
        .then_some(found)
}

/// The session's header, if the line is one.
fn meta<'a>(line: &Line<'a>) -> Option<SessionMeta<'a>> {
    if raw_str(line.kind()) == "session_meta" {
        line.payload().map(SessionMeta::lenient)
    } else {
        None
    }
}

/// The header of the bare form, in the first line. It always has these members, even if their value is `null`.
fn header<'a>(head: &Head<'a>, index: &'a mut StructuralIndex) -> Option<Bare<'a>> {
    let first = head
        .lines()
        .next()
        .filter(|line| has_early_key(line, &INSTRUCTIONS))?;
    let line = parse(first, index).ok()?;
    let has_only_known = line
        .members()
        .all(|(name, _)| ["id", "timestamp", "instructions", "git"].contains(&name));
    (has_only_known && has_members(line, &["id", "timestamp", "instructions"]))
        .then(|| Bare::lenient(line))
}

fn is_bare(line: Value<'_>) -> bool {
    raw_str(line.first_member("record_type")) == "state"
        || BARE_TYPES.contains(&raw_str(line.first_member("type")))
}

/// `session` of the TypeScript document: its first member, followed by `items`. The document may be longer than the head.
fn document_session<'a>(text: &'a str, index: &'a mut StructuralIndex) -> Option<SessionHead<'a>> {
    let after_key = text
        .trim_ascii_start()
        .strip_prefix('{')?
        .trim_ascii_start()
        .strip_prefix("\"session\"")?;
    let after_colon = after_key.trim_ascii_start().strip_prefix(':')?;
    let mut values = serde_json::Deserializer::from_str(after_colon).into_iter::<&RawValue>();
    let session = values.next()?.ok()?;
    let session = parse(session.get(), index).ok()?;
    let rest = after_colon
        .get(values.byte_offset()..)?
        .trim_ascii_start()
        .strip_prefix(',')?
        .trim_ascii_start();
    (rest.starts_with("\"items\"") && has_members(session, &["id", "timestamp"]))
        .then(|| SessionHead::lenient(session))
}

fn owned(field: Field<'_>) -> Option<String> {
    non_empty_text(field).map(|text| text.decode_lossy().into_owned())
}

fn time(field: Field<'_>) -> Option<String> {
    tape_time(field).map(Cow::into_owned)
}
