//! An id that several records have hides none of them: each fact that only one of them says is on the tape.

use std::collections::BTreeSet;

use engram_core::event::Kind;
use engram_core::keys::hash64;

use crate::case::Case;
use crate::converted_session::{ConvertedSession, escaped};
use crate::outcome::Findings;
use crate::repeats::is_full_run;
use crate::session::Session;
use crate::subject::Subject;
use crate::tape::{Event, events};

/// Longer sessions are changed in a full run only.
const MAX_BYTES: usize = 1 << 20;
/// Decides which records get the id of an earlier one.
const SEED: u64 = 61;
/// How many records of each session are tried, one at a time, with the id of an earlier record. A full run tries all.
const ALONE: usize = 3;
/// Shorter ids occur in other places too.
const LEAST_ID: usize = 4;
/// The most lost facts of one session that are reported.
const MAX_LOST: usize = 2;

/// What a change of ids must not change: the members that state the content of an event.
const CONTENT: &[(Kind, &[&str])] = &[
    (Kind::MsgIn, &["role", "text", "attachments"]),
    (Kind::MsgOut, &["channel", "text", "redacted"]),
    (Kind::ToolCall, &["tool", "args"]),
    (Kind::ToolResult, &["status", "exit", "stdout", "stderr"]),
    (Kind::CodeRead, &["file", "range", "hash"]),
    (
        Kind::CodeEdit,
        &[
            "op",
            "file",
            "before_range",
            "after_range",
            "before_hash",
            "after_hash",
        ],
    ),
];

/// In each session, single records get the id of an earlier one, and then all records get one id.
pub fn records(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    for session in &case.sessions {
        if session.source().len() > MAX_BYTES && !is_full_run() {
            findings.note("sessions above the size of the sample");
            continue;
        }
        let Ok(source) = str::from_utf8(session.source()) else {
            findings.note("sessions that are not UTF-8");
            continue;
        };
        let ids = ids(session, source);
        let [first, rest @ ..] = ids.as_slice() else {
            findings.note("sessions without records that have an id");
            continue;
        };
        for (earlier, later) in pairs(&ids, &case.place(session)) {
            trial(subject, case, session, (&[later], earlier), findings);
        }
        if !rest.is_empty() {
            trial(subject, case, session, (rest, first), findings);
        }
    }
}

/// The ids of records and responses on the tape, each once, in their order. Those that also name something else are left out.
fn ids<'s>(session: &'s ConvertedSession, source: &str) -> Vec<&'s str> {
    let mut others: BTreeSet<&str> = BTreeSet::new();
    for event in &session.events {
        others.extend(event.text("call_id"));
        others.extend(
            ["/source/session_id", "/source/agent_id"]
                .iter()
                .filter_map(|id| event.0.pointer(id)?.as_str()),
        );
    }
    let mut ids = Vec::new();
    for event in &session.events {
        let of_record = event
            .0
            .pointer("/origin/id")
            .and_then(serde_json::Value::as_str);
        for id in of_record
            .into_iter()
            .chain(event.text("message_id"))
            .filter(|id| id.len() >= LEAST_ID)
        {
            if others.insert(id)
                && source.contains(&quoted(id))
                && !source.contains(&format!("{}:", quoted(id)))
            {
                ids.push(id);
            }
        }
    }
    ids
}

/// A seeded choice of two ids: the earlier and the later one.
fn pairs<'i>(ids: &'i [&'i str], place: &str) -> Vec<(&'i str, &'i str)> {
    let order = |later: usize| hash64((SEED, place, ids[later]));
    let mut later: Vec<usize> = (1..ids.len()).collect();
    if !is_full_run() {
        later.sort_by_key(|later| order(*later));
        later.truncate(ALONE);
    }
    later
        .into_iter()
        .map(|later| (ids[order(later) as usize % later], ids[later]))
        .collect()
}

/// Gives one id to the records with all of these ids.
fn trial(
    subject: &Subject<'_>,
    case: &Case<'_>,
    session: &ConvertedSession,
    (from, to): (&[&str], &str),
    findings: &mut Findings,
) {
    let changed = with_one_id(session, from, to);
    match subject
        .tape(&changed)
        .map_err(|error| error.to_string())
        .map(|tape| lost(session, &events(&tape.text)))
    {
        Ok(lost) if lost.is_empty() => {
            findings.count_many("records with the id of another one", from.len() as u64)
        }
        Ok(lost) => {
            for event in lost.into_iter().take(MAX_LOST) {
                let kind = event.kind().map_or("", Kind::as_str);
                findings.fail(
                    case.place_of(session, event),
                    format!(
                        "{} of {} have the id {to}: this {kind} is lost",
                        from.len(),
                        from[0]
                    ),
                );
            }
        }
        Err(error) => findings.fail(
            case.place(session),
            format!("{} of {} have the id {to}: {error}", from.len(), from[0]),
        ),
    }
}

/// The session with one id in place of others.
fn with_one_id(session: &ConvertedSession, from: &[&str], to: &str) -> Session {
    let input = &session.input;
    let from: BTreeSet<String> = from.iter().map(|id| escaped(id)).collect();
    let (source, to) = (String::from_utf8_lossy(&input.bytes), escaped(to));
    let mut text = String::with_capacity(source.len());
    // Between two quotes without a quote in it is a string, or what is between two strings, which is no id.
    for (n, part) in source.split('"').enumerate() {
        text.push_str(if n == 0 { "" } else { "\"" });
        text.push_str(if from.contains(part) { &to } else { part });
    }
    input.with_bytes(text.into_bytes())
}

/// The events whose content the changed tape does not have. Records with one id and the same content are one record, so content
/// counts once.
fn lost<'s>(session: &'s ConvertedSession, changed: &[Event]) -> Vec<&'s Event> {
    let kept: BTreeSet<u64> = changed.iter().filter_map(content).collect();
    session
        .events
        .iter()
        .filter(|event| content(event).is_some_and(|content| !kept.contains(&content)))
        .collect()
}

/// The content of an event, as a hash.
fn content(event: &Event) -> Option<u64> {
    let (kind, members) = CONTENT.iter().find(|(kind, _)| event.is(*kind))?;
    let values: Vec<String> = members
        .iter()
        .map(|member| {
            event
                .0
                .get(*member)
                .map(ToString::to_string)
                .unwrap_or_default()
        })
        .collect();
    Some(hash64((kind.as_str(), values)))
}

fn quoted(id: &str) -> String {
    format!("\"{}\"", escaped(id))
}
