//! Detection by the header, and the identity that it says.

use engram_core::adapter::{Evidence, Framing, Identity};
use engram_core::head::Head;
use memchr::memmem;

use super::format::mark;
use super::readers::Header;
use super::revisions::{FORMAT, Format};
use crate::shared::time::tape_time;
use crate::shared::value::{StructuralIndex, Value, count, has_members, owned, parse, raw_str};

/// Members of every header.
const HEADER: &[&str] = &["type", "version", "id", "timestamp", "cwd"];
/// Members that lines of other harnesses have beside these.
const OTHERS: [&str; 3] = ["sessionId", "session_id", "message"];
/// At most this many lines of a head are searched for what OpenClaw adds.
const MAX_LINES: usize = 64;

/// Whose sessions are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Pi,
    OpenClaw,
}

/// Reads the header, if the head begins with one.
fn with_header<T>(head: &Head<'_>, then: impl FnOnce(Value<'_>) -> T) -> Option<T> {
    // Most heads are of other harnesses. Searching for one member is faster than parsing their first line.
    let first = head.lines().next()?;
    memmem::find(first.as_bytes(), b"\"cwd\"")?;
    let mut index = StructuralIndex::default();
    let value = parse(first, &mut index).ok()?;
    let is_other = OTHERS.iter().any(|name| value.member(name).is_some());
    (has_members(value, HEADER) && !is_other).then(|| then(value))
}

/// What a line has that only OpenClaw writes.
fn mark_of_claw(line: &str) -> Option<&'static str> {
    let may_be = |name: &str| memmem::find(line.as_bytes(), name.as_bytes()).is_some();
    if !may_be("\"model-snapshot\"") && !may_be("\"__openclaw\"") {
        return None;
    }
    let mut index = StructuralIndex::default();
    let entry = parse(line, &mut index).ok()?;
    let has = |of: &str, name: &str| entry.member(of).is_some_and(|of| has_members(of, &[name]));
    if raw_str(entry.member("customType")) == "model-snapshot" && has("data", "modelApi") {
        return Some(mark::SNAPSHOT);
    }
    has("message", "__openclaw").then_some(mark::OWN)
}

/// True if the line behind the header is no entry: what `pi --mode json` prints begins with the same line.
fn is_printed(head: &Head<'_>) -> bool {
    let mut index = StructuralIndex::default();
    let second = head.lines().nth(1);
    second
        .and_then(|line| parse(line, &mut index).ok())
        .is_some_and(|line| has_members(line, &["type"]) && !has_members(line, &["parentId"]))
}

/// Evidence if the head begins with the header of a session of this family: OpenClaw's, if an entry has what only OpenClaw writes, else Pi's.
pub(super) fn probe(head: &Head<'_>, family: Family) -> Option<Evidence> {
    with_header(head, |_| ())?;
    let lines = head.lines().skip(1).take(MAX_LINES);
    let mut marks: Vec<&str> = lines.filter_map(mark_of_claw).collect();
    marks.sort_unstable();
    marks.dedup();
    let found = match marks.is_empty() {
        false => Family::OpenClaw,
        true if is_printed(head) => return None,
        true => {
            marks.push(mark::HEADER);
            Family::Pi
        }
    };
    (found == family).then_some(Evidence {
        marks,
        framing: Framing::Lines,
    })
}

/// Session, start, and the schema if the version of the format is one of these. No log has the version of the harness.
pub(super) fn identify(head: &Head<'_>, formats: &[Format]) -> Identity {
    with_header(head, |value| {
        let header = Header::lenient(value);
        // A version that is no number is a fault of the header.
        let version = count(header.version()).unwrap_or(FORMAT);
        let format = formats.iter().find(|(number, _)| *number == version);
        Identity {
            session_id: owned(header.id()),
            start: tape_time(header.timestamp()).map(|time| time.into_owned()),
            schema: format.map(|(_, schema)| *schema),
            ..Identity::default()
        }
    })
    .unwrap_or_default()
}
