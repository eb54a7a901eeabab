//! Step 1: checks each line, and notes what later lines decide about it.

use engram_core::emit::{Fault, Pointer};
use engram_core::keys::{PlaceMap, hash64};
use engram_core::steps::{Check, Record};

use super::call_line::call_of;
use super::format::MessageKind;
use super::message::{Kind, agent_of, at, is_out, key, kind_of};
use super::readers::{Block, Call, Diff};
use crate::shared::value::{Field, Value, is_true, raw_str};

/// What a line says about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct CallNote {
    /// The key of its id.
    pub call: u64,
    /// The key of its arguments; 0 if it has none.
    pub args: u64,
    /// It names the tool.
    pub has_name: bool,
    /// It has a title.
    pub has_title: bool,
    /// It has a kind of the protocol.
    pub has_kind: bool,
    /// The key of its file; 0 if it has none.
    pub place: u64,
    /// The key of the file of which it has a change; 0 if it has none.
    pub diff: u64,
    /// The agent asks whether the call may run.
    pub is_question: bool,
    /// It begins a call.
    pub is_new: bool,
    /// It has what the tool returned to the program.
    pub has_response: bool,
    /// The call has ended.
    pub is_end: bool,
}

/// What decides about a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// A request or a notice, by its method. Only a request has an id. `path` is the key of the file that it names.
    Request {
        method: &'static str,
        id: u64,
        path: u64,
    },
    /// An answer to the request with this number. `session` is the session that it names.
    Answer {
        request: Option<usize>,
        session: u64,
    },
    /// A piece of a message with this id. One that is whole is a message of its own.
    Chunk {
        kind: MessageKind,
        message: u64,
        is_whole: bool,
    },
    /// A call, or an update of one.
    Call(CallNote),
    /// The size of the context and the cost, as a key.
    Usage(u64),
    /// A fact beside the conversation, which does not end a message.
    Aside,
}

impl What {
    /// True if the client cancels the turn.
    pub fn is_cancel(&self) -> bool {
        matches!(self, What::Request { method, .. } if *method == MessageKind::Cancel.name())
    }
}

/// The note of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Note {
    /// The number of the record.
    pub number: usize,
    /// The key of the session; 0 if the line names none.
    pub session: u64,
    /// What it says.
    pub what: What,
}

/// The notes of a log.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// All lines but those of the recorder.
    pub list: Vec<Note>,
    /// Requests without an answer, by direction and id: the method and the number of the record.
    open: PlaceMap<(bool, u64), (&'static str, usize)>,
}

impl Notes {
    /// Checks a line.
    pub fn add(&mut self, record: &Record<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        let kind = kind_of(record.value)?;
        let mut method = None;
        if let Kind::Log(_) = kind {
            check.identify();
        } else {
            let what = self.what(kind, record, check)?;
            // A model may say the same piece several times in one read, which is one time.
            if !matches!(what, What::Chunk { .. }) {
                check.identify();
            }
            if let What::Answer {
                request: Some(_), ..
            } = what
            {
                method = self.close(record.value);
            }
            if let What::Request { method, id, .. } = what
                && id != 0
            {
                let is_out = is_out(record.value);
                self.open.insert((is_out, id), (method, record.number));
            }
            let mut note = |what| {
                self.list.push(Note {
                    number: record.number,
                    session: key(at(record.value, "m/params/sessionId")),
                    what,
                });
            };
            note(what);
            if kind == Kind::Message(MessageKind::RequestPermission) {
                note(What::Call(CallNote {
                    is_question: true,
                    ..note_of(&call_of(record.value))
                }));
            }
        }
        let name = match kind {
            Kind::Own => raw_str(at(record.value, "m/method")),
            kind => kind.name(),
        };
        check.members(name, record.value, Pointer::Root, &|_| method);
        Ok(())
    }

    fn what(&self, kind: Kind, record: &Record<'_>, check: &mut Check<'_>) -> Result<What, Fault> {
        use MessageKind::*;
        let value = record.value;
        let update = at(value, "m/params/update");
        let request = |method| What::Request {
            method,
            id: id_of(value),
            path: key(at(value, "m/params/path")),
        };
        Ok(match kind {
            Kind::Answer => What::Answer {
                request: self.request_of(value).map(|(_, number)| number),
                session: key(at(value, "m/result/sessionId")),
            },
            Kind::Message(
                kind @ (UpdateUserMessageChunk | UpdateAgentMessageChunk | UpdateAgentThoughtChunk),
            ) => {
                let content = update.and_then(|update| update.member("content"));
                let block = check_block(content, "/m/params/update/content", check)?;
                What::Chunk {
                    kind,
                    message: hash64((
                        key(update.and_then(|update| update.member("messageId"))),
                        key(agent_of(value)),
                    )),
                    // An image is no piece of a text.
                    is_whole: kind == UpdateUserMessageChunk && is_reminder(&block)
                        || is_notice(value)
                        || is_discrete(value)
                        || raw_str(block.kind()) != "text",
                }
            }
            Kind::Message(kind @ (UpdateToolCall | UpdateToolCallUpdate)) => {
                let note = check_call(update, "/m/params/update")?;
                What::Call(CallNote {
                    is_new: kind == UpdateToolCall,
                    ..note
                })
            }
            Kind::Message(UpdateUsageUpdate) => {
                let part = |name| update.and_then(|update| at(update, name)).map(Value::raw);
                What::Usage(hash64((part("used"), part("cost/amount"))))
            }
            Kind::Message(RequestPermission) => {
                check_call(at(value, "m/params/toolCall"), "/m/params/toolCall")?;
                request(RequestPermission.name())
            }
            Kind::Message(Prompt) => {
                let prompt = at(value, "m/params/prompt");
                for block in prompt.into_iter().flat_map(Value::elements) {
                    check_block(Some(block), "/m/params/prompt", check)?;
                }
                request(Prompt.name())
            }
            Kind::Message(kind) if kind.name().starts_with("session/update/") => What::Aside,
            Kind::Log(_) => What::Aside,
            kind => request(kind.name()),
        })
    }

    /// The open request that an answer is of.
    fn request_of(&self, answer: Value<'_>) -> Option<(&'static str, usize)> {
        let key = (!is_out(answer), id_of(answer));
        self.open.get(&key).copied()
    }

    /// Closes the request of an answer, and returns its method.
    fn close(&mut self, answer: Value<'_>) -> Option<&'static str> {
        let key = (!is_out(answer), id_of(answer));
        self.open.remove(&key).map(|(method, _)| method)
    }
}

/// What the harness told the model beside a prompt, and sends back as a piece of it when it loads a session (Kimi Code).
pub(super) fn is_reminder(block: &Block<'_>) -> bool {
    raw_str(block.text()).starts_with("<system-reminder>")
}

/// What a piece of an answer is from that the model has not said (Qwen Code 0.24.4: the first two recorded, the others from its program).
const NOTICES: [&str; 5] = [
    "background_notification",
    "background_task_completed",
    "slash_command",
    "todo_stop_guard",
    "vision_bridge_notice",
];

/// True for a piece of an answer with words of the agent's program (Qwen Code, claude-agent-acp 0.101.0: recorded).
pub(super) fn is_notice(record: Value<'_>) -> bool {
    let meta = at(record, "m/params/update/_meta");
    let of = |path| meta.and_then(|meta| at(meta, path));
    NOTICES.contains(&raw_str(of("source"))) || of("claudeCode/kind").is_some()
}

/// True for a piece that is a message of its own (Qwen Code 0.24.4: recorded).
fn is_discrete(record: Value<'_>) -> bool {
    is_true(at(record, "m/params/update/_meta/qwenDiscreteMessage"))
}

/// The key of the id of a request; 0 for a notice.
fn id_of(record: Value<'_>) -> u64 {
    key(at(record, "m/id"))
}

/// Checks a part of a message.
fn check_block<'a>(
    block: Field<'a>,
    pointer: &'static str,
    check: &mut Check<'_>,
) -> Result<Block<'a>, Fault> {
    let block = Block::lenient_opt(block);
    match raw_str(block.kind()) {
        "text" if block.text().is_none() => Err(Fault::malformed(pointer, "a text", "nothing")),
        "text" | "image" | "audio" | "resource_link" | "resource" => Ok(block),
        other => check.unknown_block(other).map(|()| block),
    }
}

/// Checks a call.
fn check_call(call: Field<'_>, pointer: &'static str) -> Result<CallNote, Fault> {
    let call = Call::lenient_opt(call);
    let note = note_of(&call);
    match note.call {
        0 => Err(Fault::malformed(pointer, "the id of a call", "nothing")),
        _ => Ok(note),
    }
}

/// True for arguments without those of the model: Kilo gives a command its directory before they come.
fn is_empty(input: Value<'_>) -> bool {
    input.is_object() && input.members().all(|(name, _)| name == "cwd")
}

/// What a line says about a call.
pub(super) fn note_of(call: &Call<'_>) -> CallNote {
    CallNote {
        call: key(call.id()),
        args: key(call.input().filter(|input| !is_empty(*input))),
        has_name: name_of(call).is_some(),
        has_title: !raw_str(call.title()).is_empty(),
        has_kind: call.kind().is_some(),
        place: key(place_of(call)),
        diff: key(diffs(call).next().and_then(|diff| diff.path())),
        is_question: false,
        is_new: false,
        has_response: response_of(call).is_some(),
        is_end: matches!(raw_str(call.status()), "completed" | "failed"),
    }
}

/// The name of the tool, if the agent says it.
pub(super) fn name_of<'a>(call: &Call<'a>) -> Field<'a> {
    let of_meta = |name| call.meta().and_then(|meta| meta.member(name));
    call.name()
        .or_else(|| of_meta("toolName"))
        .or_else(|| of_meta("tool_name"))
        .or_else(|| at(call.meta()?, "claudeCode/toolName"))
        .filter(|name| !name.raw_str().is_empty())
}

/// What the tool returned to the program, before the model got a text of it (claude-agent-acp).
pub(super) fn response_of<'a>(call: &Call<'a>) -> Field<'a> {
    at(call.meta()?, "claudeCode/toolResponse").filter(|response| response.is_object())
}

/// The first file of a call.
pub(super) fn place_of<'a>(call: &Call<'a>) -> Field<'a> {
    let first = call.locations()?.elements().next()?;
    first
        .member("path")
        .filter(|path| !path.raw_str().is_empty())
}

/// The changes of files that a call shows.
pub(super) fn diffs<'a>(call: &Call<'a>) -> impl Iterator<Item = Diff<'a>> {
    let content = call.content().into_iter().flat_map(Value::elements);
    content
        .filter(|item| raw_str(item.member("type")) == "diff")
        .map(Diff::lenient)
}
