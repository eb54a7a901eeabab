//! The facts of a message, a part or a line, to compare it with an earlier record of the same id.

use engram_core::keys::hash64;

use crate::shared::seen::{fact_of, fact_of_members};
use crate::shared::value::{Field, Value, raw_str, text};

/// The id of a record, by its type.
#[derive(Clone, Copy)]
pub enum RecordId<'a> {
    Message(Field<'a>),
    Part(Field<'a>),
    /// A part without an id of its own: the key of the id of its message (0: none), and its place there.
    PartOf(u64, usize),
    /// The part of a line of a stream.
    Line(Field<'a>),
    /// A line without a part: all that it says.
    WholeLine(Value<'a>),
}

impl RecordId<'_> {
    /// The id as a hash. `None` if it is empty, or there is none.
    pub fn key(self) -> Option<u64> {
        let of = |record: &str, id: Field<'_>| {
            text(id)
                .filter(|id| !id.is_empty())
                .map(|id| hash64((record, id.raw())))
        };
        match self {
            RecordId::Message(id) => of("message", id),
            RecordId::Part(id) => of("part", id),
            RecordId::PartOf(message, place) => {
                (message != 0).then(|| hash64(("part of", message, place)))
            }
            RecordId::Line(id) => of("line", id),
            RecordId::WholeLine(line) => Some(fact_of(line)),
        }
    }
}

/// The place of the fact that a part has a call.
pub const CALL: usize = 0;
/// The place of the fact that a message has tokens.
pub const TOKENS: usize = 1;
/// The place of the fact that a message has an error.
pub const ERROR: usize = 2;

/// Replaces the list by the facts of the record. Returns its time.
pub fn set_facts<'a>(facts: &mut Vec<u64>, id: RecordId<'_>, record: Value<'a>) -> &'a str {
    facts.clear();
    match id {
        RecordId::WholeLine(_) => return "",
        RecordId::Message(_) if raw_str(record.member("type")) == "shell" => {
            command_facts(facts, record)
        }
        RecordId::Message(_) => message_facts(facts, record),
        RecordId::Part(_) | RecordId::PartOf(..) | RecordId::Line(_) => part_facts(facts, record),
    }
    record.member("time").map_or("", Value::raw)
}

/// A command of the user, and its end: 2.x writes the message again when the command has ended.
fn command_facts(facts: &mut Vec<u64>, message: Value<'_>) {
    facts.push(fact_of_members(
        message,
        &["id", "time", "output", "status", "exit"],
    ));
    facts.push(fact_of_members(message, &["id", "time"]));
}

/// The message itself, its tokens and its error. Tokens and errors of two messages may be equal, so they count with the message. The
/// content of an answer consists of records of its own.
fn message_facts(facts: &mut Vec<u64>, message: Value<'_>) {
    const USAGE: [&str; 3] = ["tokens", "cost", "finish"];
    let is_answer = raw_str(message.member("type")) == "assistant";
    let others = [
        "id",
        "time",
        "error",
        if is_answer { "content" } else { "id" },
    ];
    let own = fact_of_members(message, &[USAGE.as_slice(), &others].concat());
    let usage = USAGE.map(|name| message.member(name).map(fact_of));
    facts.push(own);
    facts.push(if usage == [None; 3] {
        own
    } else {
        hash64((own, usage))
    });
    facts.push(
        message
            .member("error")
            .map_or(own, |error| hash64((own, fact_of(error)))),
    );
}

/// A call and its end, or the part itself.
fn part_facts(facts: &mut Vec<u64>, part: Value<'_>) {
    match part
        .member("state")
        .filter(|state| raw_str(part.member("type")) == "tool" && state.is_object())
    {
        Some(state) => {
            let input = state.member("input").map(fact_of);
            facts.push(hash64((
                fact_of_members(part, &["id", "time", "state", "metadata"]),
                input,
            )));
            facts.push(hash64((
                fact_of_members(state, &["input", "time"]),
                part.member("metadata").map(fact_of),
            )));
        }
        None => facts.push(fact_of_members(part, &["id", "time"])),
    }
}
