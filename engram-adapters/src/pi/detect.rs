//! Detection by the header, and the identity that it says.

use engram_core::adapter::{Evidence, Framing, Identity};
use engram_core::head::Head;
use memchr::memmem;

use super::format::mark;
use super::readers::Header;
use super::revisions;
use crate::shared::time::tape_time;
use crate::shared::value::{StructuralIndex, Value, count, has_members, owned, parse, raw_str};

/// Members of every header.
const HEADER: &[&str] = &["type", "version", "id", "timestamp", "cwd"];
/// Members that lines of other harnesses have beside these.
const OTHERS: [&str; 3] = ["sessionId", "session_id", "message"];

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

/// At most this many lines of a head are searched for what OpenClaw adds.
const MAX_LINES: usize = 64;

/// The mark of OpenClaw on a line.
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

/// Evidence if the head begins with the header of a session of OpenClaw: an entry behind it has what only OpenClaw writes.
pub(super) fn probe_claw(head: &Head<'_>) -> Option<Evidence> {
    with_header(head, |_| ())?;
    let lines = head.lines().skip(1).take(MAX_LINES);
    let mut marks: Vec<&str> = lines.filter_map(mark_of_claw).collect();
    marks.sort_unstable();
    marks.dedup();
    (!marks.is_empty()).then_some(Evidence {
        marks,
        framing: Framing::Lines,
    })
}

/// Evidence if the head begins with the header of a session of Pi. What `pi --mode json` prints begins with the same line, and has no
/// entries behind it.
pub(super) fn probe(head: &Head<'_>) -> Option<Evidence> {
    with_header(head, |_| ())?;
    if probe_claw(head).is_some() {
        return None;
    }
    let second = head.lines().nth(1);
    let mut index = StructuralIndex::default();
    let is_printed = second
        .and_then(|line| parse(line, &mut index).ok())
        .is_some_and(|line| has_members(line, &["type"]) && !has_members(line, &["parentId"]));
    (!is_printed).then(|| Evidence {
        marks: vec![mark::HEADER],
        framing: Framing::Lines,
    })
}

/// Session, start, and the schema if the version of the format is known. No log has the version of the harness.
pub(super) fn identify(head: &Head<'_>, is_claw: bool) -> Identity {
    with_header(head, |value| {
        let header = Header::lenient(value);
        Identity {
            session_id: owned(header.id()),
            start: tape_time(header.timestamp()).map(|time| time.into_owned()),
            // A version that is no number is a fault of the header.
            schema: match count(header.version()) {
                None | Some(revisions::FORMAT) => Some(revisions::TREE),
                Some(revisions::CLAW_FORMAT) if is_claw => Some(revisions::CLAW_TREE),
                Some(_) => None,
            },
            ..Identity::default()
        }
    })
    .unwrap_or_default()
}
