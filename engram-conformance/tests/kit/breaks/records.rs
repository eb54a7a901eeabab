//! Broken adapters whose tapes have the wrong form, or lose, invent and repeat records.

use std::collections::BTreeMap;

use engram_core::error::AdapterError;

use super::{Break, bytes, change, converts, events, set, strict, without_record};
use crate::adapter::Real;
use crate::tape::Tape;

/// The form of a tape, and its records.
pub(super) const RECORDS: &[Break] = &[
    events("drops a record", "text.all", |tape| {
        if let Some(at) = tape.find(&["LAB single edit now."]) {
            tape.remove(at);
        }
    }),
    bytes("writes a space into the JSON", "tape.canonical", |tape| {
        tape.replace(2, "{\"seq\":2,", "{\"seq\":2, ")
    }),
    bytes("invents a key", "tape.envelope", |tape| {
        change(
            tape,
            &["\"k\":\"msg.in\""],
            "\"role\":",
            "\"mood\":\"fine\",\"role\":",
        )
    }),
    bytes("invents a ninth kind", "tape.kinds", |tape| {
        tape.insert(2, tape.line(2).replacen("msg.in", "note", 1))
    }),
    bytes("skips a number", "tape.seq", |tape| {
        let last = tape.all(&["{\"seq\":"]).len() - 1;
        tape.replace(
            last,
            &format!("{{\"seq\":{last},"),
            &format!("{{\"seq\":{},", last + 1),
        );
    }),
    bytes("names another harness in an event", "tape.source", |tape| {
        tape.replace(2, "\"harness\":\"claude-code\"", "\"harness\":\"other\"")
    }),
    bytes("counts its events wrongly", "tape.bracket", |tape| {
        let count = tape
            .find(&["tape.stop"])
            .and_then(|at| tape.field(at, "span.link").map(str::to_owned))
            .unwrap_or_default();
        change(
            tape,
            &["tape.stop"],
            &format!("\"span.link\":{count}"),
            "\"span.link\":7",
        );
    }),
    events("omits a parent", "tape.parent", |tape| {
        if let Some(at) = tape.find(&["\"k\":\"tool.result\""]) {
            let parent = tape.field(at, "parent").unwrap_or_default().to_owned();
            tape.replace(at, &format!(",\"parent\":{parent}"), "");
        }
    }),
    bytes("adds the ledger up wrongly", "tape.ledger", |tape| {
        set(tape, &["tape.stop"], "mapped", "1")
    }),
    bytes("writes a time in another format", "tape.time", |tape| {
        set(tape, &["tape.start"], "t", "\"yesterday\"")
    }),
    strict(bytes(
        "marks a complete session as incomplete",
        "tape.policy",
        |tape| {
            change(
                tape,
                &["tape.stop"],
                "\"complete\":true",
                "\"complete\":false",
            )
        },
    )),
    events("invents a time", "time.recorded", |tape| {
        set(
            tape,
            &["\"k\":\"msg.in\"", "LAB please"],
            "t",
            "\"2026-11-21T03:04:05Z\"",
        )
    }),
    events(
        "emits a read behind later results",
        "order.source",
        |tape| {
            if let Some(at) = tape.find(&["\"k\":\"code.read\""]) {
                let later = tape
                    .all(&["\"k\":\"tool.result\""])
                    .into_iter()
                    .filter(|result| *result > at)
                    .nth(2);
                let read = tape.remove(at);
                tape.insert(later.unwrap_or(at), read);
            }
        },
    ),
    events("does not recognize a record", "record.known", |tape| {
        let notice = without_record(
            tape,
            2,
            "meta",
            "\"label\":\"unrecognized\",\"name\":\"mystery\",\"raw\":{}",
        );
        tape.insert(3, notice);
    }),
    converts(
        "does not report unknown members",
        "member.known",
        |real, input| Ok(without_unknown_members(&real.convert(input)?)),
    ),
    converts(
        "emits a record again that the log repeats",
        "record.repeated",
        with_repeated_prompts,
    ),
    converts(
        "takes a record for a repeat if its id occurred before",
        "id.shared",
        without_shared_ids,
    ),
    events("emits a record of another line again", "id.once", |tape| {
        if let Some(at) = tape.find(&["\"k\":\"msg.out\"", "\"id\":"])
            && let Some(line) = tape
                .field(at, "line")
                .and_then(|line| line.parse::<u64>().ok())
        {
            let again = tape.line(at).replacen(
                &format!("\"line\":{line}"),
                &format!("\"line\":{}", line + 1),
                1,
            );
            tape.insert(at + 1, again);
        }
    }),
];

/// The tape without the unknown members in its ledger.
fn without_unknown_members(tape: &str) -> String {
    match tape.split_once(",\"unknown_members\":[") {
        Some((before, rest)) => format!("{before}{}", rest.split_once(']').unwrap_or_default().1),
        None => tape.to_owned(),
    }
}

/// The tape with its first prompt once more for each line of the input that repeats the one before it.
fn with_repeated_prompts(real: &Real, input: &str) -> Result<String, AdapterError> {
    let mut tape = Tape::of(&real.convert(input)?);
    let lines: Vec<&str> = input.lines().collect();
    if let Some(at) = tape.find(&["\"k\":\"msg.in\""]) {
        lines
            .windows(2)
            .filter(|pair| pair[0] == pair[1])
            .for_each(|_| tape.insert(at + 1, tape.line(at).to_owned()));
    }
    Ok(tape.sealed())
}

/// The tape without the events of records whose id a record of another line has.
fn without_shared_ids(real: &Real, input: &str) -> Result<String, AdapterError> {
    let mut tape = Tape::of(&real.convert(input)?);
    let mut lines: BTreeMap<String, String> = BTreeMap::new();
    let mut shared = Vec::new();
    for at in tape.all(&["\"origin\":", "\"id\":"]) {
        let Some(id) = tape
            .line(at)
            .rsplit_once("\"id\":\"")
            .and_then(|(_, rest)| rest.split_once('"'))
        else {
            continue;
        };
        let line = tape.field(at, "line").unwrap_or_default().to_owned();
        if *lines.entry(id.0.to_owned()).or_insert_with(|| line.clone()) != line {
            shared.push(at);
        }
    }
    shared
        .into_iter()
        .rev()
        .for_each(|at| drop(tape.remove(at)));
    Ok(tape.sealed())
}
