//! One prompt of a person is one `msg.in`: not its parts, not its copies, and no words that a hook printed.

use std::collections::{BTreeMap, BTreeSet};

use engram_core::error::excerpt;
use engram_core::event::Kind;

use crate::case::Case;
use crate::converted_session::{ConvertedSession, escaped};
use crate::outcome::Findings;
use crate::tape::Event;

/// Shorter words occur in the output of a hook by chance.
const LEAST_TELLING: usize = 8;

/// True for a `msg.in` by a person. Agents have prompts of their own.
fn is_by_person(event: &Event) -> bool {
    event.is(Kind::MsgIn)
        && event.text("role") == Some("user")
        && event.text("by") == Some("person")
        && event.0.pointer("/source/agent_id").is_none()
}

/// What came along with a prompt is no message of its own, and the tapes of a session have its prompts as often as the person sent them.
pub fn once(case: &Case<'_>, findings: &mut Findings) {
    for session in &case.sessions {
        for event in parts_of_prompts(session) {
            findings.fail(
                case.place_of(session, event),
                "attachments beside a prompt of the same person are a message of their own",
            );
        }
    }
    for (text, told) in by_words(case) {
        let sent = case
            .truth
            .prompts
            .iter()
            .filter(|prompt| prompt.trim() == text)
            .count();
        if sent == 0 {
            findings.note("messages that the ground truth does not list");
        } else if told.len() <= sent || is_repeated_on_one_tape(&told, sent) {
            findings.count_many("prompts", told.len() as u64);
        } else {
            let (session, event) = told[sent];
            findings.fail(
                case.place_of(session, event),
                format!(
                    "{} msg.in of a person say `{}`, which was sent {sent} times",
                    told.len(),
                    excerpt(text)
                ),
            );
        }
    }
}

/// True if one tape alone has a prompt more often than it was sent: `prompt.all` reports that.
fn is_repeated_on_one_tape(told: &[(&ConvertedSession, &Event)], sent: usize) -> bool {
    told.iter().any(|(session, _)| {
        let on_tape = told.iter().filter(|(of, _)| of.name() == session.name());
        on_tape.count() > sent
    })
}

/// The messages of persons without a text, directly beside another one: nothing but `meta` is between them.
fn parts_of_prompts(session: &ConvertedSession) -> Vec<&Event> {
    let said: Vec<&Event> = session
        .events
        .iter()
        .filter(|event| !event.is(Kind::Meta) && !event.is_replay())
        .collect();
    let has_text = |event: &&Event| is_by_person(event) && event.has("text");
    let neighbours = said.windows(2).filter_map(|pair| {
        let (one, other) = (pair[0], pair[1]);
        match (has_text(&one), has_text(&other)) {
            (true, false) if is_by_person(other) => Some(other),
            (false, true) if is_by_person(one) => Some(one),
            _ => None,
        }
    });
    neighbours.collect()
}

/// The messages of persons by their words, over all tapes. A session that is there as a document, or in several captures, has its prompts on
/// each tape: the one with the most of them counts.
fn by_words<'c>(case: &'c Case<'_>) -> BTreeMap<&'c str, Vec<(&'c ConvertedSession, &'c Event)>> {
    type Told<'c> = Vec<(&'c ConvertedSession, &'c Event)>;
    let mut sessions: BTreeMap<(&str, &str), Told<'c>> = BTreeMap::new();
    for session in &case.sessions {
        let mut told: BTreeMap<&str, Told<'c>> = BTreeMap::new();
        let own = session
            .events
            .iter()
            .filter(|event| is_by_person(event) && !event.is_replay());
        for event in own {
            let text = event.text("text").unwrap_or_default().trim();
            told.entry(text).or_default().push((session, event));
        }
        let id = session.session_id().unwrap_or(session.name());
        for (text, told) in told {
            let most = sessions.entry((id, text)).or_default();
            if told.len() > most.len() {
                *most = told;
            }
        }
    }
    let mut all: BTreeMap<&str, Told<'c>> = BTreeMap::new();
    for ((_, text), told) in sessions {
        all.entry(text).or_default().extend(told);
    }
    all
}

/// What a hook printed is not by a person, unless a person sent the same words.
pub fn of_hooks(case: &Case<'_>, findings: &mut Findings) {
    let sent: BTreeSet<&str> = case
        .truth
        .prompts
        .iter()
        .map(|prompt| prompt.trim())
        .collect();
    if sent.is_empty() {
        return findings.note("recordings without a list of prompts");
    }
    for session in &case.sessions {
        for event in session.events.iter().filter(|event| is_by_person(event)) {
            let text = event.text("text").unwrap_or_default().trim();
            if text.len() < LEAST_TELLING || sent.contains(text) || !is_printed(session, text) {
                findings.count("messages by a person");
            } else {
                findings.fail(
                    case.place_of(session, event),
                    format!("a hook printed `{}`, but it is by a person", excerpt(text)),
                );
            }
        }
    }
}

/// True if a notice of a hook has these words. Harnesses name such notices after the event of the hook, but their records say that it is one.
fn is_printed(session: &ConvertedSession, words: &str) -> bool {
    let spelled = escaped(words);
    let has_words = |event: &&Event| {
        let text = event.text("text").unwrap_or_default();
        text.contains(words) || text.contains(&spelled)
    };
    let is_of_hook = |event: &Event| {
        let record = session.record_of(event).unwrap_or_default();
        memchr::memmem::find(record, b"hook").is_some()
    };
    session
        .events
        .iter()
        .filter(|event| event.is_meta("context") || event.is_meta("system"))
        .filter(has_words)
        .any(is_of_hook)
}
