//! Agent transcripts (`agent-transcripts/**.jsonl`): messages and calls without ids, results or times of their own.

use engram_core::adapter::{Session, SideInfo};
use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault, RecordHeader};
use engram_core::event::{Channel, Meta, MsgIn, MsgOut, Role, Seq, SessionFacts, ToolCall};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::{clock, edits, text_or_json, tools};
use crate::shared::value::{Field, StructuralIndex, Value, non_empty_text, parse, raw_str, text};
use crate::shared::view::view;

view! {
    /// A message, or what is said of the whole transcript.
    Line {
        kind: "type" Any,
        role: "role" Any,
        message: "message" Object,
        status: "status" Any,
        error: "error" Any,
        metadata: "metadata" Object,
    }
}

view! {
    /// What a message says.
    Message {
        content: "content" Array,
    }
}

view! {
    /// A text, or a call.
    Part {
        kind: "type" Any,
        text: "text" Any,
        name: "name" Any,
        input: "input" Any,
    }
}

/// Beginnings of user messages that the harness writes in the user's place (after it has compacted the history).
const SYNTHETIC: &[&str] = &["<dynamic_tool_catalog>"];

/// Converts one transcript.
pub(super) struct Converter {
    parent: Parent,
    index: StructuralIndex,
}

impl Converter {
    pub(super) fn new(context: &SideInfo) -> Self {
        Converter { parent: Parent::new(context), index: StructuralIndex::default() }
    }
}

impl Session for Converter {
    fn record(&mut self, text: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let line = Line::strict(parse(text, &mut self.index)?, "")?;
        self.parent.state(out)?;
        match (raw_str(line.role()), raw_str(line.kind())) {
            (role @ ("user" | "assistant"), "") => {
                let Some(said) = line.message() else { return Err(Fault::malformed("/message", "an object", "nothing")) };
                message(said, role, out)
            }
            ("", "turn_ended") => turn_ended(raw_str(line.status()), line.error(), Pointer::Root, out),
            ("", "error") => {
                out.emit(Meta::Error { code: None, text: text_or_json(line.error()) }, Pointer::At("/error"))?;
                Ok(Outcome::Mapped)
            }
            ("", "metadata") => match line.metadata().and_then(|metadata| non_empty_text(metadata.member("overview"))) {
                Some(overview) => {
                    let notice = Meta::System { name: Text::Plain("overview"), text: Some(overview) };
                    out.emit(notice, Pointer::At("/metadata/overview"))?;
                    Ok(Outcome::Mapped)
                }
                None => Err(Fault::malformed("/metadata", "an overview", "none")),
            },
            (role, kind) => Err(Fault::unrecognized(if kind.is_empty() { role } else { kind })),
        }
    }
}

fn message(message: Value<'_>, role: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
    let Some(content) = Message::strict(message, "/message")?.content() else {
        return Err(Fault::malformed("/message/content", "a list of parts", "nothing"));
    };
    let mut events = 0;
    for (index, value) in content.elements().enumerate() {
        let part = Part::strict(value, "/message/content")?;
        let pointer = Pointer::Item("/message/content", index);
        events += match (raw_str(part.kind()), role) {
            ("text", "user") => prompt(text(part.text()), None, pointer, out)?,
            ("text", _) => answer(text(part.text()), pointer, out)?,
            ("tool_use", "assistant") => call(part.name(), part.input(), pointer, out).map(|_| 1)?,
            (kind, _) => {
                out.unrecognized_block(kind, value.raw(), pointer)?;
                1
            }
        };
    }
    said(events)
}

/// The outcome of a message that gave so many events. One that says nothing is none that the harness is known to write.
pub(super) fn said(events: usize) -> Result<Outcome, Fault> {
    if events == 0 { Err(Fault::malformed("", "a message with text or a call", "neither")) } else { Ok(Outcome::Mapped) }
}

/// Writes a prompt and gives the number of events. The text is kept as the harness sent it, its sections included.
pub(super) fn prompt(text: Option<Text<'_>>, id: Option<Text<'_>>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<usize, Fault> {
    let Some(text) = text else { return Ok(0) };
    let decoded = text.decode_lossy();
    let time = clock::prompt_time(&decoded);
    if time.is_some() {
        out.set_header(RecordHeader { t: time.as_deref(), id, replay: false });
    }
    let synthetic = SYNTHETIC.iter().any(|beginning| decoded.starts_with(beginning));
    out.emit(MsgIn { role: Role::User, text: Some(text), synthetic, attachments: Vec::new() }, pointer)?;
    Ok(1)
}

/// Writes what the agent said and gives the number of events.
pub(super) fn answer(text: Option<Text<'_>>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<usize, Fault> {
    let Some(text) = text else { return Ok(0) };
    out.emit(MsgOut { text: Some(text), ..MsgOut::default() }, pointer)?;
    Ok(1)
}

/// Writes a thought and gives the number of events. An empty one, or the word that stands for it, is all that a redacted one leaves.
pub(super) fn reasoning(thought: Text<'_>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<usize, Fault> {
    let redacted = thought.is_empty() || thought.eq_str("[REDACTED]");
    let text = Some(thought).filter(|_| !redacted);
    out.emit(MsgOut { text, channel: Some(Channel::Reasoning), redacted, ..MsgOut::default() }, pointer)?;
    Ok(1)
}

/// Writes a call, with the edit that it asks for, and gives the call's `seq`.
pub(super) fn call(name: Field<'_>, input: Field<'_>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<Seq, Fault> {
    let Some(name) = non_empty_text(name) else { return Err(Fault::malformed("/message/content", "the name of a tool", "none")) };
    let tool = name.decode_lossy();
    let call = ToolCall { tool: name, kind: tools::TOOLS.kind(&tool), call_id: None, args: input.map(Value::raw) };
    let seq = out.emit(call, pointer)?;
    if let Some(input) = input {
        edits::requested(&tool, input, seq, out, pointer)?;
    }
    Ok(seq)
}

/// The end of a turn: a failed or stopped one says so.
pub(super) fn turn_ended(status: &str, error: Field<'_>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
    match status {
        "success" => return Ok(Outcome::Bookkeeping { record: "turn_ended", rule: "turn_end" }),
        "aborted" => out.emit(Meta::Interrupt { text: text_or_json(error) }, pointer)?,
        status => out.emit(
            Meta::Error { code: Some(Text::Plain(status)).filter(|status| !status.is_empty()), text: text_or_json(error) },
            pointer,
        )?,
    };
    Ok(Outcome::Mapped)
}

/// The session that started this one, stated with the first record.
pub(super) struct Parent {
    session_id: Option<String>,
}

impl Parent {
    pub(super) fn new(context: &SideInfo) -> Self {
        Parent { session_id: context.parent_session_id.clone() }
    }

    pub(super) fn state(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        if let Some(session_id) = self.session_id.take() {
            let facts = SessionFacts { parent_session_id: Some(Text::Plain(&session_id)), ..SessionFacts::default() };
            out.emit(Meta::Session(facts), Pointer::Root)?;
        }
        Ok(())
    }
}
