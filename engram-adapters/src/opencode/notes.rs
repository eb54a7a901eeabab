//! Step 1: finds the type of each record, checks what its handler needs, and notes by what a repeat of it is known.

use engram_core::emit::{Fault, Pointer};
use engram_core::event::Kind;
use engram_core::keys::hash64;
use engram_core::steps::{Check, Item, Record};

use super::format::{ContentKind, InfoKind, LineKind, MessageKind, PartKind, StepKind};
use super::readers::{
    Envelope, Error, Info, Invocation, Line, Message, Part, StepError, StepInfo, StepMessage,
    StepPart, Summary, Tokens,
};
use super::record_facts::{RecordId, set_facts};
use super::results::call::Call;
use super::results::step_call::StepOutput;
use crate::shared::document::required_array;
use crate::shared::value::{Field, Value, elements, is_true, non_empty_text, raw_str, text};

/// What the plan must know of a record. Ids and facts are hashes; an id is 0 if the record has none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Note {
    pub role: Role,
    /// Its number.
    pub number: u32,
    /// What it adds to a prompt.
    pub prompt: PromptPart,
    /// The message whose request ends with it; 0 if none does.
    pub ends_request: u64,
    /// The number of the record of its message. For a message, its own number; for a part, the number of the message that it belongs to.
    pub message: u32,
    /// Something stands after the parts of the message.
    pub has_end: bool,
    pub id: u64,
    pub time: u64,
    pub facts: [u64; 3],
    /// How many facts there are.
    pub count: u8,
    /// Its type.
    pub record: &'static str,
}

/// What a part adds to the prompt of its message. Words that the harness added (`synthetic`) add nothing. A file does: the harness makes it from
/// one that the prompt names, and marks the picture that it has read as `synthetic`, too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PromptPart {
    /// Nothing.
    #[default]
    None,
    /// Words, by their key.
    Words {
        key: u64,
        /// The model does not get them.
        is_ignored: bool,
    },
    /// A file.
    File,
    /// The harness makes a summary because the prompt before was too long for the model, and then writes that prompt again.
    Overflow,
}

impl PromptPart {
    fn of(part: &Part<'_>, speaker: Speaker) -> Self {
        let is_users = speaker == Speaker::User;
        let is_added = is_true(part.synthetic());
        match PartKind::named(raw_str(part.kind())).filter(|_| is_users) {
            Some(PartKind::Text) if is_added => PromptPart::None,
            Some(PartKind::Text) => match non_empty_text(part.text()) {
                Some(text) => PromptPart::Words {
                    key: hash64(text.raw()),
                    is_ignored: is_true(part.ignored()),
                },
                None => PromptPart::None,
            },
            Some(PartKind::File) => PromptPart::File,
            Some(PartKind::Compaction) if is_true(part.overflow()) => PromptPart::Overflow,
            _ => PromptPart::None,
        }
    }
}

/// What a record is to the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Role {
    /// The session's own record, or a line.
    #[default]
    Alone,
    Message,
    Part,
}

/// What a record is, by its place in the export.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// The session's own record.
    Info,
    /// The own record of a message. A `step-finish` part may state the tokens of each request.
    Message { has_step_finish: bool },
    /// A part: the number of the record of its message, and its place there.
    Part { message: u32, nth: u32 },
    /// A message of 2.x.
    Step,
    /// A part of an answer of 2.x.
    StepPart { message: u32, nth: u32 },
    /// A message without its own record, or without parts.
    Broken,
    /// A member of the document that no version writes, by its place in the list of their names.
    Other(u32),
    /// A line of a stream.
    Line,
}

/// Who a message is from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Speaker {
    /// The user, or the harness in the user's place.
    User,
    /// The agent.
    Assistant,
    /// The message has no known role, or is missing.
    #[default]
    Unknown,
}

impl Speaker {
    pub fn of(role: &str) -> Self {
        match role {
            "user" => Speaker::User,
            "assistant" => Speaker::Assistant,
            _ => Speaker::Unknown,
        }
    }
}

/// The notes of all records.
#[derive(Default)]
pub struct Notes {
    pub list: Vec<Note>,
    places: Vec<Place>,
    /// The names of members of the document that no version writes.
    others: Vec<String>,
    /// The last message that was accepted: the number of its record, its speaker, and its id.
    message: (u32, Speaker, u64),
}

impl Notes {
    /// What the record with this number is.
    pub fn place(&self, number: usize) -> Place {
        self.places.get(number).copied().unwrap_or(Place::Line)
    }

    /// The records of an export, in their order.
    pub fn items<'a>(
        &mut self,
        document: Value<'a>,
        check: &mut Check<'_>,
    ) -> Result<Vec<Item<'a>>, Fault> {
        let missing = || Fault::malformed("/info", "a session with messages", "nothing");
        let info = document.member("info").ok_or_else(missing)?;
        let messages = required_array(document, "messages")?;
        let mut items = vec![self.item(Place::Info, info, Pointer::At("/info"))];
        for (n, message) in messages.elements().enumerate() {
            let at = Pointer::Item("/messages", n);
            let view = Message::lenient(message);
            let number = items.len() as u32;
            match (view.info(), view.parts()) {
                (Some(info), Some(parts)) => {
                    if info.is_object() {
                        check.members("message", message, at, &|_| None);
                    }
                    check_tool_metadata(n, info, parts, check);
                    let has_step_finish = parts
                        .elements()
                        .any(|part| raw_str(part.first_member("type")) == "step-finish");
                    items.push(self.item(
                        Place::Message { has_step_finish },
                        info,
                        Pointer::Field("/messages", n, "/info"),
                    ));
                    for (nth, part) in parts.elements().enumerate() {
                        let place = Place::Part {
                            message: number,
                            nth: nth as u32,
                        };
                        items.push(self.item(
                            place,
                            part,
                            Pointer::Nested("/messages", n, "/parts", nth),
                        ));
                    }
                }
                (None, _) if message.first_member("type").is_some() => {
                    items.push(Item {
                        without: Some("content"),
                        ..self.item(Place::Step, message, at)
                    });
                    let is_answer = raw_str(message.member("type")) == "assistant";
                    let content = message
                        .member("content")
                        .filter(|content| is_answer && content.is_array());
                    for (nth, part) in elements(content).enumerate() {
                        let place = Place::StepPart {
                            message: number,
                            nth: nth as u32,
                        };
                        items.push(self.item(
                            place,
                            part,
                            Pointer::Nested("/messages", n, "/content", nth),
                        ));
                    }
                }
                _ => items.push(self.item(Place::Broken, message, at)),
            }
        }
        for (name, value) in document.members().filter(|(name, _)| *name != "messages") {
            if name != "info" {
                items.push(self.item(Place::Other(self.others.len() as u32), value, Pointer::Root));
                self.others.push(name.to_owned());
            }
        }
        Ok(items)
    }

    fn item<'a>(&mut self, place: Place, value: Value<'a>, base: Pointer<'static>) -> Item<'a> {
        self.places.push(place);
        Item {
            value,
            base,
            without: None,
        }
    }

    /// Checks a record, and adds its note.
    pub fn add(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        let (value, number) = (record.value, record.number as u32);
        let note = match self.place(record.number) {
            Place::Info => info(value, check)?,
            Place::Message { has_step_finish } => {
                let note = message(value, has_step_finish, check)?;
                let key = key_of(value.member("id"));
                self.message = (number, Speaker::of(raw_str(value.member("role"))), key);
                Note {
                    role: Role::Message,
                    message: number,
                    ..note
                }
            }
            Place::Part { message, nth } => {
                let mut view = Part::default();
                view.strict_into(value, "")?;
                let (_, speaker, key) = self.message_of(message);
                let record = part(&view, speaker, check)?;
                check.members(record, value, Pointer::Root, &|_| None);
                let id = match non_empty_text(view.id()) {
                    Some(_) => RecordId::Part(view.id()),
                    None => RecordId::PartOf(key, nth as usize),
                };
                let ends_request = match record == PartKind::StepFinish.name() {
                    true => key,
                    false => 0,
                };
                Note {
                    role: Role::Part,
                    message,
                    prompt: PromptPart::of(&view, speaker),
                    ends_request,
                    ..noted(record, id, value)
                }
            }
            Place::Step => {
                let note = step(value, check)?;
                self.message = (number, Speaker::Assistant, key_of(value.member("id")));
                Note {
                    role: Role::Message,
                    message: number,
                    ..note
                }
            }
            Place::StepPart { message, nth } => {
                let record = step_part(value, check)?;
                let (_, _, key) = self.message_of(message);
                Note {
                    role: Role::Part,
                    message,
                    ..noted(record, RecordId::PartOf(key, nth as usize), value)
                }
            }
            Place::Other(at) => {
                let name = self.others.get(at as usize).map_or("", String::as_str);
                return Err(Fault::unrecognized(name));
            }
            Place::Broken => return Err(Fault::malformed("", "a message with parts", value.raw())),
            Place::Line => line(value, check)?,
        };
        self.list.push(Note { number, ..note });
        Ok(())
    }

    /// The message with this number. Nothing is known of one that was not accepted.
    fn message_of(&self, number: u32) -> (u32, Speaker, u64) {
        if self.message.0 == number {
            self.message
        } else {
            (number, Speaker::Unknown, 0)
        }
    }
}

/// The id of a message as a key; 0 if it has none.
fn key_of(id: Field<'_>) -> u64 {
    non_empty_text(id).map_or(0, |id| hash64(id.raw()).max(1))
}

/// A note with the facts of a record.
fn noted(record: &'static str, id: RecordId<'_>, value: Value<'_>) -> Note {
    let mut facts = Vec::new();
    let Some(key) = id.key() else {
        return Note {
            record,
            ..Note::default()
        };
    };
    let time = hash64(set_facts(&mut facts, id, value));
    let count = facts.len().min(3);
    let mut first = [0; 3];
    first[..count].copy_from_slice(&facts[..count]);
    Note {
        record,
        id: key.max(1),
        time,
        facts: first,
        count: count as u8,
        ..Note::default()
    }
}

/// Compares what each call of message `n` adds to its result (0.1.174). The message has it by call id, its parts name the tools.
fn check_tool_metadata(n: usize, info: Value<'_>, parts: Value<'_>, check: &mut Check<'_>) {
    let Some(by_call) = info
        .member("metadata")
        .and_then(|metadata| metadata.member("tool"))
    else {
        return;
    };
    let path = format!("/messages/{n}/info/metadata/tool");
    for invocation in parts
        .elements()
        .filter_map(|part| Part::lenient(part).invocation())
        .map(Invocation::lenient)
    {
        let (id, tool) = (raw_str(invocation.call_id()), raw_str(invocation.name()));
        if let Some(metadata) = by_call.member(id) {
            let segment = id.replace('~', "~0").replace('/', "~1");
            check.members(
                "tool.metadata",
                metadata,
                Pointer::Member(&path, &segment),
                &|_| Some(tool),
            );
        }
    }
}

fn info(value: Value<'_>, check: &mut Check<'_>) -> Result<Note, Fault> {
    let record = if value.member("version").is_some() {
        Info::strict(value, "")?;
        InfoKind::Session
    } else {
        StepInfo::strict(value, "")?;
        InfoKind::StepSession
    };
    let record = record.name();
    check.members(record, value, Pointer::Root, &|_| None);
    Ok(Note {
        record,
        ..Note::default()
    })
}

fn message(info: Value<'_>, has_step_finish: bool, check: &mut Check<'_>) -> Result<Note, Fault> {
    let mut envelope = Envelope::default();
    envelope.fill_message(info)?;
    let role = raw_str(envelope.role());
    let Some(record) = MessageKind::named(role).map(MessageKind::name) else {
        return Err(match envelope.role() {
            None => Fault::malformed("/role", "a role", "nothing"),
            Some(_) => Fault::unrecognized(&format!("message/{role}")),
        });
    };
    if let Some(summary) = envelope.summary().filter(|summary| summary.is_object()) {
        Summary::strict(summary, "/summary")?;
    }
    let mut has_end = envelope.error().is_some();
    if let Some(error) = envelope.error() {
        Error::strict(error, "/error")?;
    }
    if let Some(tokens) = envelope.tokens().filter(|_| !has_step_finish) {
        has_end |= Tokens::strict(tokens, "/tokens")?.is_spent();
    }
    // What tools add to their results is compared by `check_tool_metadata`, which knows the tools.
    check.members(record, info, Pointer::Root, &|_| Some(""));
    Ok(Note {
        has_end,
        ..noted(record, RecordId::Message(envelope.id()), info)
    })
}

/// Checks what the handler of a part needs. Returns its type.
fn part(part: &Part<'_>, speaker: Speaker, check: &mut Check<'_>) -> Result<&'static str, Fault> {
    let kind = raw_str(part.kind());
    let nothing =
        |field: &'static str, expected: &'static str| Fault::malformed(field, expected, "nothing");
    let Some(record) = PartKind::named(kind) else {
        return Err(if kind.is_empty() {
            nothing("/type", "a part type")
        } else {
            Fault::unrecognized(kind)
        });
    };
    match record {
        PartKind::Tool | PartKind::ToolInvocation => match part.invocation() {
            None => drop(Call::of_state(part)?),
            Some(invocation) => drop(Call::of_invocation(
                &Invocation::strict(invocation, "/toolInvocation")?,
                None,
            )?),
        },
        PartKind::Text => {
            let text = text(part.text()).ok_or_else(|| nothing("/text", "text"))?;
            if !text.is_empty() {
                speaks(speaker, check)?;
            }
        }
        PartKind::File => speaks(speaker, check)?,
        PartKind::StepFinish => {
            let tokens = part
                .tokens()
                .ok_or_else(|| nothing("/tokens", "token counts"))?;
            Tokens::strict(tokens, "/tokens")?;
        }
        PartKind::Patch => drop(
            part.files()
                .ok_or_else(|| nothing("/files", "a list of files"))?,
        ),
        PartKind::Retry => drop(Error::strict(
            part.error().ok_or_else(|| nothing("/error", "an error"))?,
            "/error",
        )?),
        PartKind::Subtask if non_empty_text(part.prompt()).is_some() => {
            check.gives(Kind::MsgIn, Pointer::At("/prompt"))?
        }
        PartKind::Subtask | PartKind::Reasoning | PartKind::Snapshot | PartKind::Compaction => {}
        PartKind::Agent | PartKind::SourceUrl | PartKind::Omitted(_) => {}
    }
    Ok(record.name())
}

/// A part with words needs a message with a role.
fn speaks(speaker: Speaker, check: &Check<'_>) -> Result<(), Fault> {
    match speaker {
        Speaker::User => check.gives(Kind::MsgIn, Pointer::Root),
        Speaker::Assistant => Ok(()),
        Speaker::Unknown => Err(Fault::malformed(
            "/messageID",
            "a message with a role",
            "none",
        )),
    }
}

fn step(value: Value<'_>, check: &mut Check<'_>) -> Result<Note, Fault> {
    let mut message = StepMessage::default();
    message.strict_into(value, "")?;
    let kind = raw_str(message.kind());
    let record =
        StepKind::named(kind).ok_or_else(|| Fault::unrecognized(&format!("step/{kind}")))?;
    let nothing =
        |field: &'static str, expected: &'static str| Fault::malformed(field, expected, "nothing");
    match record {
        StepKind::User => check.gives(Kind::MsgIn, Pointer::Root)?,
        StepKind::Synthetic | StepKind::Skill | StepKind::System => {
            message.text().ok_or_else(|| nothing("/text", "text"))?;
            check.gives(Kind::MsgIn, Pointer::Root)?;
        }
        StepKind::Shell => drop(
            message
                .command()
                .ok_or_else(|| nothing("/command", "a command"))?,
        ),
        StepKind::Assistant | StepKind::Compaction => {
            if let Some(tokens) = message.tokens() {
                Tokens::strict(tokens, "/tokens")?;
            }
            if let Some(error) = message.error() {
                StepError::strict(error, "/error")?;
            }
        }
        StepKind::Idle
        | StepKind::AgentSwitched
        | StepKind::ModelSwitched
        | StepKind::LocationSwitched => {}
    }
    check.members(record.name(), value, Pointer::Root, &|_| None);
    Ok(Note {
        has_end: record == StepKind::Assistant,
        ..noted(record.name(), RecordId::Message(message.id()), value)
    })
}

fn step_part(value: Value<'_>, check: &mut Check<'_>) -> Result<&'static str, Fault> {
    let mut part = StepPart::default();
    part.strict_into(value, "")?;
    let kind = raw_str(part.kind());
    let Some(record) = ContentKind::named(kind) else {
        let missing = || Fault::malformed("/type", "a part type", "nothing");
        return Err(if kind.is_empty() {
            missing()
        } else {
            Fault::unrecognized(&format!("content/{kind}"))
        });
    };
    if record == ContentKind::Tool {
        Call::of_step(&part, &StepOutput::default())?;
    }
    check.members(record.name(), value, Pointer::Root, &|_| None);
    Ok(record.name())
}

/// A line of a stream. All but errors have one part.
fn line(value: Value<'_>, check: &mut Check<'_>) -> Result<Note, Fault> {
    let line = Line::strict(value, "")?;
    let kind = raw_str(line.kind());
    let nothing =
        |field: &'static str, expected: &'static str| Fault::malformed(field, expected, "nothing");
    let Some(record) = LineKind::named(kind) else {
        return Err(if kind.is_empty() {
            nothing("/type", "a line type")
        } else {
            Fault::unrecognized(kind)
        });
    };
    if record == LineKind::Error {
        Error::strict(
            line.error().ok_or_else(|| nothing("/error", "an error"))?,
            "/error",
        )?;
    } else {
        let value = line.part().ok_or_else(|| nothing("/part", "a part"))?;
        let mut view = Part::default();
        view.strict_into(value, "/part")?;
        part(&view, Speaker::Assistant, check)
            .map_err(|fault| fault.within(Pointer::At("/part")))?;
    }
    check.members(record.name(), value, Pointer::Root, &|_| None);
    // A part of 2.x has the id of its call as `id`.
    let id = match line.part() {
        Some(part) => RecordId::Line(part.member("partID").or_else(|| part.member("id"))),
        None => RecordId::WholeLine(value),
    };
    let note = noted(record.name(), id, line.part().unwrap_or(value));
    // Ids of two sessions have nothing to do with each other.
    let of_session = |id: u64| {
        if id == 0 {
            0
        } else {
            hash64((id, line.session_id().map(Value::raw))).max(1)
        }
    };
    let of_message = line
        .part()
        .filter(|_| record == LineKind::StepFinish)
        .map_or(0, |part| of_session(key_of(part.member("messageID"))));
    Ok(Note {
        id: of_session(note.id),
        ends_request: of_message,
        ..note
    })
}
