//! Step 1: checks each line, and notes what decides about it.

use engram_core::emit::{Fault, Pointer};
use engram_core::keys::hash64;
use engram_core::steps::{Check, Record};
use engram_core::text::Text;

use super::format::LineKind;
use super::readers::{Answer, Call, CallResult, Counts, Line, Message, Part, Response, Telemetry};
use crate::shared::joined::Joined;
use crate::shared::log::LogNotes;
use crate::shared::value::{
    Field, Value, count, elements, has_members, is_true, raw_str, required, text,
};

/// Where the parts of a message are.
pub(super) const PARTS: &str = "/message/parts";
/// Where an event is that the harness counted.
pub(super) const EVENT: &str = "/systemPayload/uiEvent";

/// The type of a line, as the member table names it.
///
/// # Errors
/// [`Fault::Unrecognized`] if the type is not known.
pub(super) fn kind_of(value: Value<'_>) -> Result<LineKind, Fault> {
    let event = telemetry(value).and_then(|event| event.member("event.name"));
    let parts = [value.member("type"), value.member("subtype"), event];
    let parts = parts.into_iter().filter_map(text);
    let name: Vec<_> = parts.map(|part| part.decode_lossy()).collect();
    let name = name.join("/");
    LineKind::named(&name).ok_or_else(|| Fault::unrecognized(&name))
}

/// The event of a line that the harness counted.
pub(super) fn telemetry(line: Value<'_>) -> Option<Value<'_>> {
    line.member("systemPayload")?.member("uiEvent")
}

/// What a line is, as far as decisions need it. Ids and counts are keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A response: the key of its request; none for one of a sub-agent without counts.
    Response {
        counts: Option<u64>,
        /// It has calls alone, so it goes on with the response before it, if that is of the same sub-agent.
        is_rest: bool,
    },
    /// A request that the harness counted.
    Counted {
        counts: u64,
        prompt: u64,
        /// The sub-agent that made it.
        agent: Option<Agent>,
    },
    /// A call that the harness counted.
    Called { call: u64, prompt: u64 },
    /// A title. The next line may continue the one before it.
    Title,
    /// Anything else.
    Other,
}

/// A sub-agent, as its name says: `<type>-<call>`. One of the harness itself has another name, and before 0.21.10 no name has the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Agent {
    /// The key of the call that started it.
    pub call: u64,
    /// The key of its type.
    pub kind: u64,
}

/// What decides about a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Note {
    /// The number of the record.
    pub number: usize,
    /// The key of its id.
    pub id: u64,
    /// The key of the line that it continues, 0 for the first line.
    pub parent: u64,
    /// What it is.
    pub kind: Kind,
}

/// The notes of a session.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The lines, in the order of the log.
    pub lines: Vec<Note>,
    /// The keys of all calls.
    pub calls: Vec<u64>,
    /// The keys of the types of sub-agents that calls start.
    pub kinds: Vec<u64>,
}

impl LogNotes for Notes {
    fn add(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        let kind = kind_of(record.value)?;
        let line = Line::strict(record.value, "")?;
        if let Some(message) = line.message() {
            check_message(kind, &Message::strict(message, "/message")?)?;
        }
        if let Some(result) = line.result() {
            CallResult::strict(result, "/toolCallResult")?;
        }
        if let Some(event) = telemetry(record.value) {
            Telemetry::strict(event, EVENT)?;
        }
        if let Some(version) = text(line.version()) {
            check.version(&version.decode_lossy())?;
        }
        let display = line
            .result()
            .and_then(|result| result.member("resultDisplay"));
        check.members(kind.name(), record.value, Pointer::Root, &|key| {
            (key == "display").then(|| display_of(display))
        });
        check.identify();
        self.note(record.number, kind, &line);
        Ok(())
    }
}

impl Notes {
    fn note(&mut self, number: usize, kind: LineKind, line: &Line<'_>) {
        let parts = Message::lenient_opt(line.message()).parts();
        let calls = elements(parts).filter_map(|part| Part::lenient(part).call());
        for call in calls.map(Call::lenient) {
            let kind = call.args().and_then(|args| args.member("subagent_type"));
            self.calls.push(key(call.id()));
            self.kinds.extend(kind.map(|kind| key(Some(kind))));
        }
        let event = Telemetry::lenient_opt(line.payload().and_then(|it| it.member("uiEvent")));
        let kind = match kind {
            LineKind::Assistant => Kind::Response {
                counts: (line.usage().is_some() || line.agent_id().is_none())
                    .then(|| request_key(counts(&Counts::lenient_opt(line.usage())), said(parts))),
                is_rest: line.agent_id().is_some() && has_calls_alone(parts),
            },
            LineKind::SystemUiTelemetryQwenCodeApiResponse => Kind::Counted {
                counts: request_key(counts_of_event(&event), text(event.response_text())),
                prompt: key(event.prompt_id()),
                agent: agent(&event),
            },
            LineKind::SystemUiTelemetryQwenCodeToolCall => Kind::Called {
                call: key(event.call_id()),
                prompt: key(event.prompt_id()),
            },
            LineKind::SystemCustomTitle => Kind::Title,
            _ => Kind::Other,
        };
        self.lines.push(Note {
            number,
            id: key(line.uuid()),
            parent: key(line.parent()),
            kind,
        });
    }
}

fn key(field: Field<'_>) -> u64 {
    text(field).map_or(0, |_| hash64(raw_str(field)))
}

/// The sub-agent of a request. Its name is a part of the prompt's: `<session>#<agent>#<number>`.
fn agent(event: &Telemetry<'_>) -> Option<Agent> {
    let kind = raw_str(event.agent_name());
    let agent = raw_str(event.prompt_id()).split('#').nth(1)?;
    let call = agent.strip_prefix(kind)?.strip_prefix('-');
    (!kind.is_empty()).then(|| Agent {
        call: hash64(call.unwrap_or_default()),
        kind: hash64(kind),
    })
}

/// Prompt, cache, output, reasoning, and all together, as a response has them.
pub(super) fn counts<'a>(of: &Counts<'a>) -> [Field<'a>; 5] {
    [
        of.prompt(),
        of.cached(),
        of.output(),
        of.thoughts(),
        of.total(),
    ]
}

/// The same, as an event has them.
pub(super) fn counts_of_event<'a>(of: &Telemetry<'a>) -> [Field<'a>; 5] {
    [
        of.prompt(),
        of.cached(),
        of.output(),
        of.thoughts(),
        of.total(),
    ]
}

/// The key of a request: its counts. What a response lacks is 0 in its event. Where the provider counts nothing (0.24.4: recorded), the words tell.
fn request_key<'a>(counts: [Field<'_>; 5], words: impl IntoIterator<Item = Text<'a>>) -> u64 {
    let counts = counts.map(|field| count(field).unwrap_or_default());
    match counts {
        [0, 0, 0, 0, 0] => {
            let words: Joined = words.into_iter().collect();
            hash64((counts, words.text().comparable()))
        }
        _ => hash64(counts),
    }
}

/// What the model said to the person.
fn said<'a>(parts: Field<'a>) -> impl Iterator<Item = Text<'a>> {
    let parts = elements(parts).map(Part::lenient);
    parts
        .filter(|part| !is_true(part.thought()))
        .filter_map(|part| text(part.text()))
}

fn has_calls_alone(parts: Field<'_>) -> bool {
    let mut parts = elements(parts).peekable();
    parts.peek().is_some() && parts.all(|part| Part::lenient(part).call().is_some())
}

/// The form of what the terminal shows of a result.
pub(super) fn display_of(display: Field<'_>) -> &'static str {
    let Some(display) = display else {
        return "";
    };
    let kind = display.member("type");
    // A form that has a type has it as a text. That of commands has no members but those of the table.
    if has_members(display, &["type"]) && kind.and_then(Value::text).is_none() {
        return "shell";
    }
    match raw_str(kind) {
        "shell_result" => "shell",
        "task_execution" => "task",
        // The form of a sub-agent without its type: that of commands does not know its members.
        "" if display.member("subagentName").is_some() => "shell",
        "" if ["fileDiff", "newContent"]
            .iter()
            .any(|name| display.member(name).is_some()) =>
        {
            "diff"
        }
        _ => "other",
    }
}

fn check_message(kind: LineKind, message: &Message<'_>) -> Result<(), Fault> {
    for (n, value) in elements(message.parts()).enumerate() {
        check_part(value).map_err(|fault| fault.within(Pointer::Item(PARTS, n)))?;
    }
    let mut parts = elements(message.parts()).map(Part::lenient);
    if kind == LineKind::ToolResult && parts.all(|part| part.response().is_none()) {
        return Err(Fault::malformed(PARTS, "a `functionResponse`", "none"));
    }
    Ok(())
}

fn check_part(value: Value<'_>) -> Result<(), Fault> {
    let part = Part::strict(value, "")?;
    if let Some(call) = part.call() {
        required(
            Call::strict(call, "/functionCall")?.name(),
            "/functionCall/name",
        )?;
    }
    if let Some(response) = part.response() {
        let response = Response::strict(response, "/functionResponse")?;
        let at = "/functionResponse/response";
        required(response.response(), at)?;
        if let Some(answer) = response.response() {
            Answer::strict(answer, at)?;
        }
    }
    Ok(())
}
