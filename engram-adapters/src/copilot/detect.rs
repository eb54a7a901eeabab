//! Detection by the first line, and the identity that it says.

use engram_core::adapter::{Evidence, Framing, Identity};
use engram_core::head::Head;
use memchr::memmem;

use super::format::mark;
use super::readers::{Event, Session};
use super::revisions;
use crate::shared::time::tape_time;
use crate::shared::value::{StructuralIndex, Value, count, has_members, owned, parse};

/// Members of every line.
const LINE: &[&str] = &["type", "data", "id", "timestamp", "parentId"];
/// Members of the data of the first line.
const START: &[&str] = &["sessionId", "version", "producer", "copilotVersion"];

/// Reads the first line, if it is that of a session.
fn with_start<T>(head: &Head<'_>, then: impl FnOnce(Value<'_>) -> T) -> Option<T> {
    // Most heads are of other harnesses. Searching for one member is faster than parsing their first line.
    let first = head.lines().next()?;
    memmem::find(first.as_bytes(), b"\"copilotVersion\"")?;
    let mut index = StructuralIndex::default();
    let value = parse(first, &mut index).ok()?;
    let is_start = has_members(value, LINE)
        && value
            .member("data")
            .is_some_and(|data| has_members(data, START));
    is_start.then(|| then(value))
}

/// Evidence if the head begins with the start of a session.
pub(super) fn probe(head: &Head<'_>) -> Option<Evidence> {
    with_start(head, |_| Evidence {
        marks: vec![mark::HEADER],
        framing: Framing::Lines,
    })
}

/// Session, version, and start.
pub(super) fn identify(head: &Head<'_>) -> Identity {
    with_start(head, |value| {
        let event = Event::lenient(value);
        let start = Session::lenient_opt(event.data());
        // A version of the format that is no number is a fault of the record.
        let format = event.data().and_then(|data| count(data.member("version")));
        let is_known = format.is_none_or(|format| format == revisions::FORMAT);
        Identity {
            session_id: owned(start.id()),
            version: owned(start.version()).filter(|_| is_known),
            start: tape_time(event.timestamp()).map(|time| time.into_owned()),
            ..Identity::default()
        }
    })
    .unwrap_or_default()
}
