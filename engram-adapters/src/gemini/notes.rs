//! Step 1: looks at each record, and notes what it says, in the order in which step 3 emits it.

mod turns;

use std::collections::{BTreeSet, HashSet};

use engram_core::emit::{Fault, Pointer};
use engram_core::event::Kind;
use engram_core::keys::hash64;
use engram_core::steps::{Check, Record};
use engram_core::text::{MAX_DECODED_BYTES, Text};

use super::format::{ChangeKind, MessageKind, PromptKind, SavedKind, StreamKind};
use super::readers::{FunctionResponse, Line, Part, Response, SavedTurn, StreamLine, TypedPrompt};
use super::schema::{
    Form, TypedTexts, count_responses, displayed_responses, is_context, parts, stream_kind,
};
use crate::shared::seen::fact_of;
use crate::shared::value::{Field, Value, elements, non_empty_text, raw_str, text};

/// The name of a line without a type.
const UNTYPED: &str = "untyped";

/// One fact of a record. Keys are hashes; 0 stands for what is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// A record begins. The notes up to the next one belong to it.
    Record { number: u32, after: After },
    /// A message begins: a record, or a message of a history.
    Message {
        id: u64,
        time: u64,
        history: History,
    },
    /// The model of a turn.
    Model { key: u64 },
    /// The parts of a turn.
    Turn { content: u64, tokens: u64 },
    /// A thought. `nth` counts the equal ones of its turn.
    Thought { key: u64, nth: u32 },
    /// The content of a turn that is a text.
    Content { key: u64 },
    /// A text, a file or a notice.
    Text { key: u64 },
    /// A text in the user's place. `is_context` for what the harness puts before the first prompt.
    UserText { key: u64, is_context: bool },
    /// What a person typed, where the message has something else in its place.
    Typed { key: u64 },
    /// A file of a prompt.
    File { key: u64 },
    /// A call with an id. Calls with other arguments are other calls.
    Call { id: u64, args: u64, list: CallList },
    /// A call without an id, which is counted like a text.
    NamelessCall { key: u64 },
    /// What a call of the turn has returned. `call` counts back to the note of its call; 0 if it has no id. `key` is its key as a call without
    /// an id.
    Result {
        call: u32,
        key: u64,
        has_ended: bool,
    },
    /// What a person wrote while the tool of this result ran.
    Interjection { key: u64 },
    /// What the model got from this result.
    OwnResponse { id: u64, key: u64 },
    /// A result as the model gets it, in a message.
    Response { id: u64, key: u64 },
    /// A result as the terminal shows it, in a message.
    Displayed { id: u64, key: u64 },
    /// A person went back to the message with this id.
    Rewind { to: u64 },
    /// A piece of an answer that a run prints.
    Piece { bytes: u32 },
}

/// What a record says about the response before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// The response is complete.
    Ends,
    /// It has results of calls, which may be those of the response.
    GoesOn,
    /// It may be the turn again.
    Turn,
}

/// Whether a message may be part of a history that the harness writes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// It is a record of its own, and may go on with a history of message lines.
    GoesOn,
    /// It is a record of its own, and may begin such a history.
    MayBegin,
    /// It is the first message of a history in one record.
    First,
    /// It is a further one.
    Next,
}

/// Where a message has a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallList {
    /// In its list of calls.
    Calls,
    /// In its content, as the model's interface has it.
    Content,
}

/// The ids of the first messages of the histories that records have.
pub fn restated(notes: &[Note]) -> impl Iterator<Item = u64> + '_ {
    notes.iter().filter_map(|note| match note {
        Note::Message {
            id,
            history: History::First,
            ..
        } => Some(*id),
        _ => None,
    })
}

/// The notes of all records.
pub struct Notes {
    form: Form,
    pub list: Vec<Note>,
    /// What calls ask of a sub-agent, by the key of the text.
    pub tasks: HashSet<u64>,
    /// The sessions that `logs.json` names.
    pub typed_sessions: BTreeSet<String>,
}

impl Notes {
    pub fn new(form: Form) -> Self {
        Notes {
            form,
            list: Vec::new(),
            tasks: HashSet::new(),
            typed_sessions: BTreeSet::new(),
        }
    }

    /// Checks a record, and adds its notes.
    pub fn add(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        let before = self.list.len();
        self.list.push(Note::Record {
            number: record.number as u32,
            after: After::Ends,
        });
        let checked = self.record(record, before, check);
        if checked.is_err() {
            self.list.truncate(before);
        }
        checked
    }

    fn record(
        &mut self,
        record: &Record<'_>,
        at: usize,
        check: &mut Check<'_>,
    ) -> Result<(), Fault> {
        match self.form {
            Form::Stream => self.stream_line(record.value, check),
            Form::TypedPrompts => {
                let prompt = TypedPrompt::strict(record.value, "")?;
                let session = text(prompt.session_id()).map(|id| id.decode_lossy());
                if let Some(id) = session.filter(|id| !self.typed_sessions.contains(&**id)) {
                    self.typed_sessions.insert(id.into_owned());
                }
                typed_prompt(&prompt, check)
            }
            Form::Saved => self.saved_turn(&SavedTurn::strict(record.value, "")?, check),
            Form::Lines | Form::Document => {
                let mut line = Line::default();
                line.strict_into(record.value, "")?;
                match self.form {
                    Form::Lines => self.line(&line, at, check),
                    _ if record.base.is_root() => Ok(()),
                    _ => self.logged_message(&line, History::GoesOn, check),
                }
            }
        }
    }

    /// A line of a log. Its type follows from the first of these members that it has: `$set`, `$rewindTo`, `type`, `sessionId`.
    fn line(&mut self, line: &Line<'_>, at: usize, check: &mut Check<'_>) -> Result<(), Fault> {
        if let Some(changes) = line.changes() {
            return self.changes(line, changes, check);
        }
        if line.kind().is_some() && line.rewind_to().is_none() {
            self.list[at] = with_after(self.list[at], line);
            let history = if line.begins_history() {
                History::MayBegin
            } else {
                History::GoesOn
            };
            return self.logged_message(line, history, check);
        }
        let record = match (line.rewind_to(), line.session_id()) {
            (Some(_), _) => "",
            (None, Some(_)) => raw_str(line.role()),
            (None, None) => return Err(Fault::unrecognized(UNTYPED)),
        };
        if line.timestamp().is_some() || line.start_time().is_some() {
            check.identify();
        }
        self.list.extend(line.rewind_to().map(|to| Note::Rewind {
            to: hash64(to.raw()),
        }));
        check.members(record, line.object(), Pointer::Root, &|_| None);
        Ok(())
    }

    /// A message that is a record of its own.
    fn logged_message(
        &mut self,
        line: &Line<'_>,
        history: History,
        check: &mut Check<'_>,
    ) -> Result<(), Fault> {
        if line.timestamp().is_some() || non_empty_text(line.id()).is_some() {
            check.identify();
        }
        self.message(line, history, Pointer::Root, check)
    }

    /// A `$set` line: what the harness changes in the header and the history.
    fn changes(
        &mut self,
        line: &Line<'_>,
        changes: Value<'_>,
        check: &mut Check<'_>,
    ) -> Result<(), Fault> {
        let Some((first, _)) = changes.members().next() else {
            return Err(Fault::malformed("/$set", "a member", changes.raw()));
        };
        check.members(first, line.object(), Pointer::Root, &|_| None);
        if let Some((name, _)) = changes
            .members()
            .find(|(name, _)| ChangeKind::named(name).is_none())
        {
            return Err(Fault::unrecognized(&format!("$set.{name}")));
        }
        let time = changes.member("lastUpdated");
        if let Some(time) = time.filter(|time| time.text().is_none()) {
            return Err(Fault::malformed("/$set/lastUpdated", "a time", time.raw()));
        }
        let set = Line::strict(changes, "/$set")?;
        let has_several = changes.members().nth(1).is_some();
        // A time alone changes nothing, repeated or not.
        if changes.member("messages").is_some() || (time.is_some() && has_several) {
            check.identify();
        }
        if first == ChangeKind::LastUpdated.name() && !has_several {
            self.list.pop();
        }
        for (n, message) in elements(set.messages()).enumerate() {
            let place = Pointer::Item("/$set/messages", n);
            let mut line = Line::default();
            line.strict_into(message, "")
                .map_err(|fault| fault.within(place))?;
            let history = if n == 0 {
                History::First
            } else {
                History::Next
            };
            self.message(&line, history, place, check)
                .map_err(|fault| fault.within(place))?;
        }
        Ok(())
    }

    fn message(
        &mut self,
        line: &Line<'_>,
        history: History,
        at: Pointer<'_>,
        check: &mut Check<'_>,
    ) -> Result<(), Fault> {
        let kind = raw_str(line.kind());
        self.list.push(Note::Message {
            id: id_key(line.id()),
            time: key(line.timestamp()),
            history,
        });
        let Some(known) = MessageKind::named(kind) else {
            return Err(if kind.is_empty() {
                Fault::malformed("/type", "a message type", "none")
            } else {
                Fault::unrecognized(kind)
            });
        };
        match known {
            MessageKind::Gemini => self.turn(line, check)?,
            MessageKind::User => self.user(line, "/content", check)?,
            MessageKind::Info | MessageKind::Warning | MessageKind::Error => {
                self.notice(kind, line)?
            }
        }
        check.members(kind, line.object(), at, &|_| None);
        Ok(())
    }

    /// A turn of a saved conversation, as the message that it would be in a log.
    fn saved_turn(&mut self, turn: &SavedTurn<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        let (role, line) = (raw_str(turn.role()), Line::of_turn(turn));
        self.list.push(Note::Message {
            id: 0,
            time: 0,
            history: History::GoesOn,
        });
        match SavedKind::named(role).ok_or_else(|| Fault::unrecognized(role))? {
            SavedKind::User => self.user(&line, "/parts", check)?,
            SavedKind::Model => {
                self.list.push(Note::Turn {
                    content: 0,
                    tokens: 0,
                });
                self.model_content(&line, "/parts", check)?;
            }
        }
        check.members(role, turn.object(), Pointer::Root, &|_| None);
        Ok(())
    }

    /// A message in the user's place.
    fn user(&mut self, line: &Line<'_>, path: &str, check: &Check<'_>) -> Result<(), Fault> {
        let Some(content) = line.content() else {
            return Ok(());
        };
        if let Some(text) = content.text() {
            self.user_text(text);
            return Ok(());
        }
        if !content.is_array() {
            return Err(Fault::malformed(
                path,
                "text or a list of parts",
                content.raw(),
            ));
        }
        let typed = TypedTexts::of(line);
        if typed.are_missing {
            let typed = typed.texts.iter().filter(|text| !text.is_empty());
            self.list.extend(typed.map(|text| Note::Typed {
                key: text_key("user", *text),
            }));
        }
        for (_, response) in displayed_responses(line) {
            let id = response.id().map_or(0, |id| hash64(id.raw()));
            self.list.push(Note::Displayed {
                id,
                key: response_key(&response),
            });
        }
        let has_responses = count_responses(Some(content)) > 0;
        for (n, part) in parts(Some(content)).enumerate() {
            self.user_part(&part, has_responses, Pointer::Item(path, n), check)?;
        }
        Ok(())
    }

    fn user_part(
        &mut self,
        part: &Part<'_>,
        has_responses: bool,
        place: Pointer<'_>,
        check: &Check<'_>,
    ) -> Result<(), Fault> {
        if let Some(response) = part.response() {
            check.gives(Kind::ToolResult, place)?;
            let response = FunctionResponse::lenient(response);
            if response.name().is_none() {
                return Err(Fault::malformed(
                    "/functionResponse/name",
                    "the name of a tool",
                    "none",
                )
                .within(place));
            }
            let id = part
                .response()
                .and_then(|response| response.first_member("id"))
                .map_or(0, |id| hash64(id.raw()));
            self.list.push(Note::Response {
                id,
                key: response_key(&response),
            });
        } else if let Some(text) = text(part.plain_text()) {
            self.user_text(text);
        } else if let Some(file) = part.file() {
            if !has_responses {
                self.list.push(Note::File {
                    key: hash64(("file", file.raw())),
                });
            }
        } else {
            check.unknown_block(part.unknown_name())?;
        }
        Ok(())
    }

    fn user_text(&mut self, text: Text<'_>) {
        if !text.is_empty() {
            self.list.push(Note::UserText {
                key: text_key("user", text),
                is_context: is_context(text),
            });
        }
    }

    /// A notice of the terminal.
    fn notice(&mut self, kind: &str, line: &Line<'_>) -> Result<(), Fault> {
        if let Some(content) = line.content().filter(|content| content.text().is_none()) {
            return Err(Fault::malformed("/content", "text", content.raw()));
        }
        self.list.push(Note::Text {
            key: notice_key(kind, raw_str(line.content())),
        });
        Ok(())
    }

    /// A line of what a run prints.
    fn stream_line(&mut self, value: Value<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        let line = StreamLine::strict(value, "")?;
        let (kind, role) = (raw_str(line.kind()), raw_str(line.role()));
        let Some(known) = stream_kind(&line) else {
            return Err(match kind {
                "" => Fault::malformed("/type", "a line type", "nothing"),
                "message" => Fault::malformed("/role", "`user` or `assistant`", role),
                _ => Fault::unrecognized(kind),
            });
        };
        match known {
            StreamKind::MessageAssistant => {
                let content = line
                    .content()
                    .ok_or_else(|| Fault::malformed("/content", "text", "nothing"))?;
                self.list.push(Note::Piece {
                    bytes: content.raw_str().len() as u32,
                });
            }
            StreamKind::ToolUse if line.tool().is_none() => {
                return Err(Fault::malformed("/tool_name", "the name of a tool", "none"));
            }
            StreamKind::MessageUser | StreamKind::ToolUse => {}
            StreamKind::ToolResult | StreamKind::Init | StreamKind::Result | StreamKind::Error => {}
        }
        // Pieces of a text often have equal bytes.
        if line.timestamp().is_some() && known != StreamKind::MessageAssistant {
            check.identify();
        }
        check.members(known.name(), value, Pointer::Root, &|_| None);
        Ok(())
    }
}

/// One entry of `logs.json`. Its only known type is `user`.
fn typed_prompt(prompt: &TypedPrompt<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
    let kind = raw_str(prompt.kind());
    let PromptKind::User = PromptKind::named(kind).ok_or_else(|| Fault::unrecognized(kind))?;
    if prompt.message().is_none() {
        return Err(Fault::malformed("/message", "text", "none"));
    }
    if prompt.timestamp().is_some() {
        check.identify();
    }
    check.members(kind, prompt.object(), Pointer::Root, &|_| None);
    Ok(())
}

/// The note of a record that begins with a message.
fn with_after(note: Note, line: &Line<'_>) -> Note {
    let Note::Record { number, .. } = note else {
        return note;
    };
    let content = line.content().filter(|content| content.is_array());
    let after = match raw_str(line.kind()) {
        "gemini" => After::Turn,
        "user"
            if content.is_some_and(|content| {
                count_responses(Some(content)) == content.elements().count()
            }) =>
        {
            After::GoesOn
        }
        _ => After::Ends,
    };
    Note::Record { number, after }
}

/// The key of a value; white space in it does not count.
fn key(field: Field<'_>) -> u64 {
    field.map_or(0, fact_of)
}

/// The key of an id that is not empty.
fn id_key(id: Field<'_>) -> u64 {
    id.filter(|id| id.non_empty_text().is_some())
        .map_or(0, |id| hash64(id.raw()))
}

/// The key of one speaker's text. The harness always escapes a text in the same way, so the raw JSON is compared.
fn text_key(speaker: &str, text: Text<'_>) -> u64 {
    hash64((speaker, hash64(text.raw())))
}

/// The key of a notice; `text` is the inside of its token.
pub(super) fn notice_key(kind: &str, text: &str) -> u64 {
    hash64((kind, text))
}

/// The key of a call without an id.
fn call_key(name: Value<'_>, args: u64) -> u64 {
    hash64(("call", name.raw(), args))
}

/// The key of a thought without its white space and emphasis, which change when the harness splits thoughts and joins them again.
fn thought_key(token: &str) -> u64 {
    if token.len() > MAX_DECODED_BYTES {
        return hash64(token);
    }
    let mut bytes = token.bytes().peekable();
    let mut plain = Vec::with_capacity(token.len());
    while let Some(byte) = bytes.next() {
        match byte {
            b' ' | b'*' | b'\n' => {}
            // Escaped white space: `\n`, `\t`, `\r`. Other escapes are text.
            b'\\' => drop(bytes.next_if(|next| matches!(next, b'n' | b't' | b'r'))),
            other => plain.push(other),
        }
    }
    hash64(plain)
}

/// The key of a response.
fn response_key(response: &FunctionResponse<'_>) -> u64 {
    let content = Response::lenient_opt(response.response());
    match (content.output(), content.error()) {
        (None, None) => hash64(response.response().map(Value::raw)),
        (output, error) => hash64((output.map(Value::raw), error.map(Value::raw))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_equal_without_white_space_and_emphasis() {
        let joined = thought_key(r#""**Plan** Look at it.""#);
        assert_eq!(joined, thought_key(r#""**Plan**\n\nLook at it.\n""#));
        assert_ne!(joined, thought_key(r#""**Plan** Look at that.""#));
    }

    #[test]
    fn a_note_is_small() {
        assert!(size_of::<Note>() <= 32);
    }
}
