//! Call ids may repeat: a later call with the id of an earlier one is a call of its own, and so is its result.

use std::collections::{BTreeMap, BTreeSet};

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
const MAX_BYTES: usize = 4 << 20;
/// Decides which calls get the id of another one.
const SEED: u64 = 47;
/// Shorter ids occur in other places too.
const LEAST_ID: usize = 4;

/// A call with one result.
struct Ended<'s> {
    id: &'s str,
    tool: &'s str,
    call: u64,
    result: u64,
    /// What the result says.
    said: [Option<&'s str>; 3],
}

/// In each session, some calls get the id of the call before them, in all their records.
pub fn calls(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    for session in &case.sessions {
        if session.source().len() > MAX_BYTES && !is_full_run() {
            findings.note("sessions above the size of the sample");
            continue;
        }
        let ended = ended(session);
        let chosen = chosen(&ended, &case.place(session));
        if chosen.is_empty() {
            findings.note("sessions without two calls that have an id and a result");
        }
        for (earlier, later) in chosen {
            let Some(renamed) = renamed(session, earlier.id, later.id) else {
                findings.note("calls that would repeat a record or a member");
                continue;
            };
            let changed = subject
                .tape(&renamed)
                .map_err(|error| error.to_string())
                .and_then(|tape| difference(session, &events(&tape.text)));
            match changed {
                Ok(()) => findings.count("calls with the id of another one"),
                Err(what) => {
                    let call = session
                        .events
                        .iter()
                        .find(|event| event.number("seq") == Some(later.call));
                    let place = call
                        .map_or_else(|| case.place(session), |call| case.place_of(session, call));
                    findings.fail(
                        place,
                        format!("the call {} with the id {}: {what}", later.id, earlier.id),
                    );
                }
            }
        }
    }
}

/// The calls of the session itself with an id of their own and one result, in their order.
fn ended(session: &ConvertedSession) -> Vec<Ended<'_>> {
    let mut of_id: BTreeMap<&str, (Vec<&Event>, Vec<&Event>)> = BTreeMap::new();
    for event in &session.events {
        let id = event.text("call_id").unwrap_or_default();
        let (calls, results) = of_id.entry(id).or_default();
        if event.is(Kind::ToolCall) {
            calls.push(event);
        } else if event.is(Kind::ToolResult) {
            results.push(event);
        }
    }
    let of_one = |call: &Event, result: &Event| call.0.get("origin") == result.0.get("origin");
    let pairs: Vec<(&str, &Event, &Event)> = of_id
        .into_iter()
        .filter(|(id, _)| id.len() >= LEAST_ID)
        .filter_map(
            |(id, (calls, results))| match (calls.as_slice(), results.as_slice()) {
                ([call], [result]) if !call.is_replay() => Some((id, *call, *result)),
                _ => None,
            },
        )
        .collect();
    // Where other calls have a record of their own, one without it is given by its end alone: a second such end repeats the first.
    let is_apart = pairs.iter().any(|(_, call, result)| !of_one(call, result));
    let seq = |event: &Event| event.number("seq").unwrap_or_default();
    let mut ended: Vec<Ended<'_>> = pairs
        .into_iter()
        .filter(|(_, call, result)| !(is_apart && of_one(call, result)))
        .map(|(id, call, result)| Ended {
            id,
            tool: call.text("tool").unwrap_or_default(),
            call: seq(call),
            result: seq(result),
            said: ["status", "stdout", "stderr"].map(|field| result.text(field)),
        })
        .collect();
    ended.sort_by_key(|ended| ended.call);
    ended
}

/// A seeded choice of neighbours: two calls one after the other, and two that are open at the same time.
fn chosen<'e, 's>(ended: &'e [Ended<'s>], place: &str) -> Vec<(&'e Ended<'s>, &'e Ended<'s>)> {
    let is_open = |earlier: &Ended<'_>, later: &Ended<'_>| earlier.result > later.call;
    // Which of two open calls a result belongs to is not said, so their results must have one form, and the second may not repeat the first.
    let differ = |earlier: &Ended<'_>, later: &Ended<'_>| {
        earlier.tool == later.tool && earlier.said != later.said
    };
    let pairs = ended.windows(2).map(|pair| (&pair[0], &pair[1]));
    let pairs = pairs.filter(|(earlier, later)| differ(earlier, later) || !is_open(earlier, later));
    if is_full_run() {
        return pairs.collect();
    }
    let (open, closed): (Vec<_>, Vec<_>) =
        pairs.partition(|(earlier, later)| is_open(earlier, later));
    let one = |pairs: Vec<(&'e Ended<'s>, &'e Ended<'s>)>| {
        pairs
            .into_iter()
            .min_by_key(|(_, later)| hash64((SEED, place, later.id)))
    };
    [one(open), one(closed)].into_iter().flatten().collect()
}

/// The session with one id in place of another. `None` if two records become the same, so that one of them is a repeat, or two members
/// of an object.
fn renamed(session: &ConvertedSession, to: &str, from: &str) -> Option<Session> {
    let input = &session.input;
    let quoted = |id: &str| format!("\"{}\"", escaped(id));
    let text = str::from_utf8(&input.bytes)
        .ok()?
        .replace(&quoted(from), &quoted(to));
    let distinct = |text: &str| text.lines().collect::<BTreeSet<_>>().len();
    let is_name = text.contains(&format!("{}:", quoted(to)));
    if is_name || distinct(&text) != distinct(str::from_utf8(&input.bytes).ok()?) {
        return None;
    }
    Some(input.with_bytes(text.into_bytes()))
}

/// What the tape of the changed session has more or less of.
fn difference(session: &ConvertedSession, changed: &[Event]) -> Result<(), String> {
    let of_kind =
        |events: &[Event], kind: Kind| events.iter().filter(|event| event.is(kind)).count();
    for kind in [Kind::ToolCall, Kind::ToolResult] {
        let (before, after) = (of_kind(&session.events, kind), of_kind(changed, kind));
        if before != after {
            return Err(format!("{after} {} instead of {before}", kind.as_str()));
        }
    }
    let answered = |events: &[Event]| {
        let results = events.iter().filter(|event| event.is(Kind::ToolResult));
        results
            .filter_map(|result| result.number("parent"))
            .collect::<BTreeSet<_>>()
            .len()
    };
    let (before, after) = (answered(&session.events), answered(changed));
    if before == after {
        Ok(())
    } else {
        Err(format!("{after} calls with a result instead of {before}"))
    }
}
