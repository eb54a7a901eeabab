//! Sessions in one artifact stay apart: what a capture says of one session does not depend on another that writes to it, too.

use std::collections::BTreeMap;

use engram_core::event::Kind;
use serde_json::Value;

use crate::case::Case;
use crate::convert::sessions_are_apart;
use crate::converted_session::{ConvertedSession, escaped};
use crate::outcome::Findings;
use crate::repeats::is_full_run;
use crate::session::Session;
use crate::subject::Subject;
use crate::tape::{Event, events};

/// Longer sessions are examined in a full run only.
const MAX_BYTES: usize = 1 << 20;
/// Shorter ids occur in other places too.
const LEAST_ID: usize = 8;

/// How two sessions are written to one artifact.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    LineByLine,
    OneAfterTheOther,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Way::LineByLine => "line by line",
            Way::OneAfterTheOther => "one after the other",
        }
    }

    /// The lines of both sessions: which session a line is of, and its number there, from 1.
    fn order(self, counts: [usize; 2]) -> Vec<(usize, usize)> {
        let mut order: Vec<(usize, usize)> = [0, 1]
            .into_iter()
            .flat_map(|of| (1..=counts[of]).map(move |line| (of, line)))
            .collect();
        if self == Way::LineByLine {
            order.sort_by_key(|(of, line)| (*line, *of));
        }
        order
    }
}

/// Each session is mixed with the next one of its recording, and with its twin, which differs in the id of the session alone: so all other
/// ids, the files and the texts are those of the other session, too.
pub fn sessions(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    let captures: Vec<&ConvertedSession> = case
        .sessions
        .iter()
        .filter(|session| is_capture(subject, session, findings))
        .collect();
    for (at, session) in captures.iter().enumerate() {
        let mut compare = |pair: Pair, ways: &[Way], what: &'static str| {
            for way in ways {
                match pair.difference(subject, &session.input, *way) {
                    Ok(()) => findings.count(what),
                    Err(difference) => findings.fail(
                        case.place(session),
                        format!("{what}, {}: {difference}", way.name()),
                    ),
                }
            }
        };
        let all = all_lines_state_session(session);
        if let Some(next) = captures
            .get(at + 1)
            .filter(|next| next.schema() == session.schema())
            && let Some(pair) = Pair::of(session, next)
        {
            let is_mixable = all && all_lines_state_session(next);
            compare(
                pair,
                if is_mixable {
                    &[Way::LineByLine, Way::OneAfterTheOther]
                } else {
                    &[Way::OneAfterTheOther]
                },
                "sessions with the next one",
            );
        }
        match Pair::twins(session).filter(|_| all) {
            Some(twins) => compare(
                twins,
                &[Way::LineByLine, Way::OneAfterTheOther],
                "sessions with a twin",
            ),
            None => findings.note("sessions of which not every record has the session"),
        }
    }
}

/// True for a session in a form that may have the records of several.
fn is_capture(subject: &Subject<'_>, session: &ConvertedSession, findings: &mut Findings) -> bool {
    let is_capture = subject
        .capabilities
        .stream
        .is_some_and(|stream| sessions_are_apart(stream, &session.input));
    if !is_capture {
        findings.note("sessions in a form of one session");
    } else if session.source().len() > MAX_BYTES && !is_full_run() {
        findings.note("sessions above the size of the sample");
        return false;
    }
    is_capture
}

/// True if every line has the session, and no event is of another one.
fn all_lines_state_session(session: &ConvertedSession) -> bool {
    let Some(id) = session.session_id() else {
        return false;
    };
    let quoted = format!("\"{}\"", escaped(id));
    let states =
        |line: &[u8]| line.is_empty() || memchr::memmem::find(line, quoted.as_bytes()).is_some();
    session.source().split(|byte| *byte == b'\n').all(states)
        && session
            .events
            .iter()
            .all(|event| session_of(event) == Some(id))
}

/// Two sessions: their ids and texts.
struct Pair {
    ids: [String; 2],
    texts: [String; 2],
}

impl Pair {
    /// `None` if both are the same session.
    fn of(one: &ConvertedSession, other: &ConvertedSession) -> Option<Pair> {
        let ids = [one.session_id()?.to_owned(), other.session_id()?.to_owned()];
        let text =
            |session: &ConvertedSession| str::from_utf8(session.source()).map(str::to_owned).ok();
        (ids[0] != ids[1]).then_some(Pair {
            ids,
            texts: [text(one)?, text(other)?],
        })
    }

    /// A session, and one that differs in its id alone.
    fn twins(session: &ConvertedSession) -> Option<Pair> {
        let id = session.session_id().filter(|id| id.len() >= LEAST_ID)?;
        let text = str::from_utf8(session.source()).ok()?;
        let (head, last) = id.split_at(id.floor_char_boundary(id.len() - 1));
        let other = format!("{head}{}", if last == "0" { "1" } else { "0" });
        let texts = [
            text.to_owned(),
            text.replace(&escaped(id), &escaped(&other)),
        ];
        Some(Pair {
            ids: [id.to_owned(), other],
            texts,
        })
    }

    /// What the tape of both says differently from that of each alone.
    fn difference(&self, subject: &Subject<'_>, input: &Session, way: Way) -> Result<(), String> {
        let lines: [Vec<&str>; 2] = [0, 1].map(|of: usize| self.texts[of].lines().collect());
        let order = way.order([lines[0].len(), lines[1].len()]);
        let mixed = order
            .iter()
            .map(|(of, line)| format!("{}\n", lines[*of][line - 1]))
            .collect();
        let tape = |text: String| {
            subject
                .tape(&input.with_bytes(text.into_bytes()))
                .map(|tape| tape.text)
                .map_err(|error| error.to_string())
        };
        let mixed = events(&tape(mixed)?);
        let place = |line: u64| {
            usize::try_from(line)
                .ok()
                .and_then(|line| order.get(line.checked_sub(1)?))
                .map(|(_, line)| *line as u64)
        };
        for (id, text) in self.ids.iter().zip(&self.texts) {
            let alone = facts(&events(&tape(text.clone())?), id, Some);
            let together = facts(&mixed, id, place);
            if let Some((at, expected)) = alone
                .iter()
                .enumerate()
                .find(|(at, fact)| together.get(*at) != Some(*fact))
            {
                return Err(format!(
                    "the event {at} of {id} is {} instead of {expected}",
                    together.get(at).unwrap_or(&Value::Null)
                ));
            }
            if together.len() > alone.len() {
                return Err(format!(
                    "{id} has {} events instead of {}",
                    together.len(),
                    alone.len()
                ));
            }
        }
        Ok(())
    }
}

fn session_of(event: &Event) -> Option<&str> {
    event
        .0
        .pointer("/source/session_id")
        .and_then(Value::as_str)
}

/// What a tape says of one session: its events without those of the tape itself, with their order in the session in place of their
/// numbers, and without inherited times. `line` is the line of the session alone.
fn facts(events: &[Event], id: &str, line: impl Fn(u64) -> Option<u64>) -> Vec<Value> {
    let is_of_tape = |event: &Event| {
        event.is(Kind::Meta)
            && matches!(event.label(), Some("tape.start" | "tape.stop" | "revision"))
    };
    let own: Vec<&Event> = events
        .iter()
        .filter(|event| session_of(event) == Some(id) && !is_of_tape(event))
        .collect();
    let places: BTreeMap<u64, usize> = own
        .iter()
        .enumerate()
        .filter_map(|(at, event)| Some((event.number("seq")?, at)))
        .collect();
    own.iter()
        .map(|event| fact(event, &places, &line))
        .collect()
}

fn fact(event: &Event, places: &BTreeMap<u64, usize>, line: impl Fn(u64) -> Option<u64>) -> Value {
    let mut fact = event.0.clone();
    let Some(members) = fact.as_object_mut() else {
        return fact;
    };
    members.remove("seq");
    if members.remove("t_basis").is_some() {
        members.remove("t");
    }
    for reference in ["parent", "to"] {
        if let Some(seq) = members.get(reference).and_then(Value::as_u64) {
            // An event of another session has no place in this one.
            members.insert(reference.to_owned(), places.get(&seq).copied().into());
        }
    }
    if let Some(origin) = members.get_mut("origin").and_then(Value::as_object_mut)
        && let Some(own) = origin.get("line").and_then(Value::as_u64).and_then(line)
    {
        origin.insert("line".to_owned(), own.into());
    }
    fact
}
