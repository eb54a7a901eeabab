//! Detection by the lines, and the identity that they say.

use engram_core::adapter::{Evidence, Framing, Identity};
use engram_core::head::Head;
use memchr::memmem;

use super::format::mark;
use super::readers::Line;
use crate::shared::time::tape_time;
use crate::shared::value::{Value, find_line, has_members, owned};

/// How many lines are looked at.
const MAX_LINES: usize = 32;
/// Members of every line.
const ENVELOPE: &[&str] = &["uuid", "parentUuid", "sessionId", "timestamp", "type"];

/// The marks of a line: members that only this harness has beside the envelope.
fn marks_of(line: Value<'_>) -> impl Iterator<Item = &'static str> {
    let is_line = has_members(line, ENVELOPE);
    let is_agent =
        has_members(line, &["agentName", "isSidechain"]) && line.member("userType").is_none();
    let marks = [
        has_members(line, &["provenance"]).then_some(mark::PROVENANCE),
        has_members(line, &["systemPayload"]).then_some(mark::PAYLOAD),
        is_agent.then_some(mark::AGENT),
    ];
    marks.into_iter().flatten().filter(move |_| is_line)
}

/// The first lines of the head that may be of this harness.
fn candidates<'h>(head: &'h Head<'_>) -> impl Iterator<Item = &'h str> {
    // To search for a name spares parsing the lines of other harnesses.
    let may_be = |line: &&str| {
        memmem::find(line.as_bytes(), b"\"parentUuid\"").is_some()
            && [
                &b"\"provenance\""[..],
                b"\"systemPayload\"",
                b"\"agentName\"",
            ]
            .iter()
            .any(|name| memmem::find(line.as_bytes(), name).is_some())
    };
    head.lines().take(MAX_LINES).filter(may_be)
}

/// Evidence if a line has a mark.
pub(super) fn probe(head: &Head<'_>) -> Option<Evidence> {
    let mut marks = Vec::new();
    find_line(candidates(head), |line| {
        for mark in marks_of(line) {
            if !marks.contains(&mark) {
                marks.push(mark);
            }
        }
        (marks.len() == mark::ALL.len()).then_some(())
    });
    (!marks.is_empty()).then_some(Evidence {
        marks,
        framing: Framing::Lines,
    })
}

/// Session, sub-agent, version and start.
pub(super) fn identify(head: &Head<'_>) -> Identity {
    find_line(candidates(head), |value| {
        marks_of(value).next()?;
        let line = Line::lenient(value);
        Some(Identity {
            session_id: owned(line.session_id()),
            agent_id: owned(line.agent_id()),
            version: owned(line.version()),
            start: tape_time(line.timestamp()).map(|time| time.into_owned()),
            ..Identity::default()
        })
    })
    .unwrap_or_default()
}
