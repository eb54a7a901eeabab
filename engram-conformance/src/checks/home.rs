//! Over all tapes of one home, replays apart: a response has one usage, a call one `tool.call`, and a prompt one `msg.in`.

use std::collections::BTreeMap;

use engram_core::event::Kind;

use crate::case::Case;
use crate::converted_session::ConvertedSession;
use crate::outcome::Findings;
use crate::tape::Event;

/// What must be there once: the kind of fact, and the ids that name it.
type Key<'c> = (&'static str, Vec<&'c str>);

/// A fact of a home stands on one tape, or is marked as replay on the others. `call.once` and `usage.sum` find a fact that is twice on
/// one tape.
pub fn once(case: &Case<'_>, findings: &mut Findings) {
    let mut first: BTreeMap<Key<'_>, &ConvertedSession> = BTreeMap::new();
    let events = case
        .sessions
        .iter()
        .flat_map(|session| session.events.iter().map(move |event| (session, event)));
    for (session, event) in events.filter(|(_, event)| !event.is_replay()) {
        let Some(key) = key_of(event) else { continue };
        let what = format!("{} {}", key.0, key.1.join(" "));
        let other = *first.entry(key).or_insert(session);
        if other.name() == session.name() {
            findings.count("facts");
        } else if is_export(session)
            && is_export(other)
            && session.session_id() == other.session_id()
        {
            findings.note("facts in two exports of one session");
        } else {
            findings.fail(
                case.place_of(session, event),
                format!(
                    "the {what} is on the tape of {}, too, and not marked as replay",
                    other.name()
                ),
            );
        }
    }
}

/// True for a document: a session as a store or an export has it at one time. A log of lines only grows.
fn is_export(session: &ConvertedSession) -> bool {
    session.events.iter().all(|event| event.line().is_none())
}

/// The name of a fact of which a home has one.
fn key_of(event: &Event) -> Option<Key<'_>> {
    if event.is_meta("usage") {
        return Some((
            "usage of response",
            vec![
                event.text("message_id")?,
                event.text("part").unwrap_or_default(),
            ],
        ));
    }
    match event.kind()? {
        Kind::ToolCall => Some(("call", vec![event.text("call_id")?])),
        Kind::MsgIn => Some((
            "prompt",
            vec![
                event.0.pointer("/origin/id")?.as_str()?,
                event.text("text")?,
            ],
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(event: &str) -> Option<String> {
        key_of(&Event(serde_json::from_str(event).unwrap()))
            .map(|(what, ids)| format!("{what} {}", ids.join("/")))
    }

    #[test]
    fn responses_and_calls_are_named_by_their_ids() {
        assert_eq!(
            key(r#"{"k":"meta","label":"usage","message_id":"m"}"#).as_deref(),
            Some("usage of response m/")
        );
        let advisor = r#"{"k":"meta","label":"usage","message_id":"m","part":"advisor"}"#;
        assert_eq!(
            key(advisor).as_deref(),
            Some("usage of response m/advisor"),
            "a second model has a usage of its own"
        );
        assert_eq!(
            key(r#"{"k":"tool.call","call_id":"c"}"#).as_deref(),
            Some("call c")
        );
        assert_eq!(
            key(r#"{"k":"msg.in","text":"go","origin":{"id":"u"}}"#).as_deref(),
            Some("prompt u/go")
        );
        assert_eq!(
            key(r#"{"k":"msg.in","text":"go","origin":{"line":1}}"#),
            None,
            "a person may say the same thing twice"
        );
        assert_eq!(key(r#"{"k":"tool.result","call_id":"c"}"#), None);
        assert_eq!(
            key(r#"{"k":"meta","label":"usage"}"#),
            None,
            "a usage without an id names no response"
        );
    }
}
