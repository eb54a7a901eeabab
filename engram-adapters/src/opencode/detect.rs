//! Is it ours, and what does its head say? Named marks of content, never a file name.

use std::sync::LazyLock;

use engram_core::adapter::{Evidence, Framing, Identity};
use engram_core::head::Head;
use memchr::memmem::Finder;
use serde::de::IgnoredAny;

use super::revisions::STREAM;
use super::schema::{Info, Line, Time};
use crate::shared::time::from_millis;
use crate::shared::value::{StructuralIndex, Value, find_line, integer, parse, raw_str, text};

/// An export: a session's own record, then its messages.
const EXPORT: &str = "export.info.id=ses_+version,messages";
/// A line of `run --format json` that carries a part.
const STREAM_PART: &str = "run.sessionID=ses_+part.messageID=msg_";
/// A line of `run --format json` that carries an error.
const STREAM_ERROR: &str = "run.sessionID=ses_+error.name";

/// Every mark.
pub(super) const MARKS: &[&str] = &[EXPORT, STREAM_PART, STREAM_ERROR];

/// A line of a stream says its session within so many bytes.
const BEGINNING_BYTES: usize = 256;

/// The most lines of JSON that are looked at. The words of notices in front of a stream do not count, however many they are.
const LOOKED_AT: usize = 64;

/// How ids of sessions begin.
const SESSION: &str = "ses_";

/// What the record before the messages of an export says.
struct Header {
    session_id: String,
    parent_id: Option<String>,
    version: String,
    created: Option<i64>,
}

/// The session's record that an export begins with, if the text is the beginning of an export. The rest need not be there.
fn export(head: &Head<'_>) -> Option<Header> {
    let source = head.text();
    let record = after(after(after(source, "{")?, "\"info\"")?, ":")?;
    let mut values = serde_json::Deserializer::from_str(record).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    let (record, rest) = record.split_at_checked(values.byte_offset())?;
    after(after(rest, ",")?, "\"messages\"")?;
    let mut index = StructuralIndex::default();
    let info = Info::lenient(parse(record, &mut index).ok()?);
    let owned = |field| text(field).map(|text| text.decode_lossy().into_owned());
    Some(Header {
        session_id: owned(info.id()).filter(|id| id.starts_with(SESSION))?,
        parent_id: owned(info.parent_id()),
        version: owned(info.version())?,
        created: integer(Time::lenient_opt(info.time()).created()),
    })
}

fn after<'t>(source: &'t str, token: &str) -> Option<&'t str> {
    source.trim_ascii_start().strip_prefix(token)
}

/// The lines of the head that may be of a stream: each says its session before its part. Lines of others are not parsed.
fn stream_lines<'h>(head: &Head<'h>) -> impl Iterator<Item = &'h str> {
    static SESSION_ID: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"sessionID\""));
    let lines = head.lines().filter(|line| line.trim_ascii_start().starts_with('{')).take(LOOKED_AT);
    lines.filter(|line| SESSION_ID.find(&line.as_bytes()[..line.len().min(BEGINNING_BYTES)]).is_some())
}

/// The mark that a line of a stream has.
fn mark(line: &Line<'_>) -> Option<&'static str> {
    if !raw_str(line.session_id()).starts_with(SESSION) || line.timestamp().is_none() {
        return None;
    }
    match raw_str(line.kind()) {
        "error" => line.error().map(|_| STREAM_ERROR),
        "step_start" | "step_finish" | "text" | "tool_use" | "reasoning" => {
            raw_str(line.part()?.member("messageID")).starts_with("msg_").then_some(STREAM_PART)
        }
        _ => None,
    }
}

/// Yes when the head is that of an export, or a line is one of a stream.
pub(super) fn probe(head: &Head<'_>) -> Option<Evidence> {
    if export(head).is_some() {
        return Some(Evidence { marks: vec![EXPORT], framing: Framing::Document });
    }
    let mut marks: Vec<&'static str> = Vec::new();
    find_line(stream_lines(head), |line| {
        marks.extend(mark(&Line::lenient(line)).filter(|mark| !marks.contains(mark)));
        None::<()>
    });
    (!marks.is_empty()).then_some(Evidence { marks, framing: Framing::Lines })
}

/// The session, the version that created it, and when.
pub(super) fn identify(head: &Head<'_>) -> Identity {
    if let Some(header) = export(head) {
        return Identity {
            // Builds that others made may put a `v` in front.
            version: Some(header.version.strip_prefix('v').map(str::to_owned).unwrap_or(header.version)),
            session_id: Some(header.session_id),
            start: header.created.and_then(from_millis),
            ..Identity::default()
        };
    }
    let of_stream = |line: Value<'_>| {
        let line = Line::lenient(line);
        mark(&line)?;
        let session_id = text(line.session_id()).map(|id| id.decode_lossy().into_owned());
        let start = integer(line.timestamp()).and_then(from_millis);
        Some(Identity { schema: Some(STREAM), session_id, start, ..Identity::default() })
    };
    find_line(stream_lines(head), of_stream).unwrap_or_default()
}

/// The ids of an exported session and of its parent.
pub(super) fn family(head: &Head<'_>) -> Option<(String, String)> {
    let header = export(head)?;
    Some((header.session_id, header.parent_id?))
}
