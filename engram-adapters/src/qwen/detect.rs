//! Detection by the lines, of a session or of what a run prints, and the identity that they say.

use engram_core::adapter::{Evidence, Framing, Identity};
use engram_core::head::Head;
use memchr::memmem;

use super::format::mark;
use super::readers::{Line, Printed};
use super::revisions::PRINTED;
use crate::shared::document::listed;
use crate::shared::time::tape_time;
use crate::shared::value::{Value, find_line, has_members, owned};

/// How many lines are looked at.
const MAX_LINES: usize = 32;
/// Members of every line.
const ENVELOPE: &[&str] = &["uuid", "parentUuid", "sessionId", "timestamp", "type"];

/// How many marks a log may have.
const LINE_MARKS: usize = 3;

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

/// What a run prints first, in the first lines of the head, or in the list that `json` gives.
fn find_run<T>(head: &Head<'_>, then: impl Fn(&Printed<'_>) -> T) -> Option<(Framing, T)> {
    let has_version =
        |line: &&str| memmem::find(line.as_bytes(), b"\"qwen_code_version\"").is_some();
    let run = |line: Value<'_>| {
        has_members(line, &["session_id", "qwen_code_version"])
            .then(|| then(&Printed::lenient(line)))
    };
    let list = head.text().trim_start();
    if list.starts_with('[') {
        let first = listed(list).take(1).filter(has_version);
        return Some((Framing::Document, find_line(first, run)?));
    }
    let lines = head.lines().take(MAX_LINES).filter(has_version);
    Some((Framing::Lines, find_line(lines, run)?))
}

/// Evidence if a line has a mark.
pub(super) fn probe(head: &Head<'_>) -> Option<Evidence> {
    if let Some((framing, ())) = find_run(head, |_| ()) {
        let marks = vec![mark::PRINTED];
        return Some(Evidence { marks, framing });
    }
    let mut marks = Vec::new();
    find_line(candidates(head), |line| {
        for mark in marks_of(line) {
            if !marks.contains(&mark) {
                marks.push(mark);
            }
        }
        (marks.len() == LINE_MARKS).then_some(())
    });
    (!marks.is_empty()).then_some(Evidence {
        marks,
        framing: Framing::Lines,
    })
}

/// Session, sub-agent, version and start.
pub(super) fn identify(head: &Head<'_>) -> Identity {
    let of_run = |line: &Printed<'_>| Identity {
        schema: Some(PRINTED),
        session_id: owned(line.session_id()),
        version: owned(line.version()),
        ..Identity::default()
    };
    if let Some((_, identity)) = find_run(head, of_run) {
        return identity;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_known_by_the_version_in_its_first_line() {
        let of = |text: &str| {
            let evidence = probe(&Head::new(text.as_bytes(), true));
            evidence.map(|found| (found.marks, found.framing == Framing::Document))
        };
        let init = |more: &str| {
            format!(
                r#"{{"type":"system","subtype":"init","uuid":"s","session_id":"s","tools":[],{more}}}"#
            )
        };
        let own = init(r#""permission_mode":"yolo","qwen_code_version":"0.24.4""#);
        assert_eq!(of(&own), Some((vec![mark::PRINTED], false)));
        let list = format!("[{own},{{\"type\":\"assistant\"");
        assert_eq!(of(&list), Some((vec![mark::PRINTED], true)));
        // Claude Code.
        let other = init(r#""permissionMode":"default","claude_code_version":"2.1.332""#);
        assert_eq!(of(&other), None);
        assert_eq!(of(&format!("[{other}]")), None);
        // Words about a run.
        let words = r#"[{"type":"system","text":"\"qwen_code_version\"","session_id":"s"}]"#;
        assert_eq!(of(words), None);
    }
}
