//! Agent transcripts (`agent-transcripts/**.jsonl`): messages and calls without ids, results or times of their own.

use engram_core::adapter::{Context, Session};
use engram_core::emit::{Emitter, Fault, Stamp};
use engram_core::event::{Channel, Meta, MsgIn, MsgOut, Role, SessionFacts, ToolCall};
use engram_core::ledger::Outcome;
use engram_core::render::Pointer;
use engram_core::text::Text;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{clock, edits, text_or_json, tools, word};
use crate::kit::json::{self, Raw, filled_text, text};

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow)]
    role: Raw<'a>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow)]
    status: Raw<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
    #[serde(borrow)]
    metadata: Option<Metadata<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Vec<Part<'a>>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(borrow)]
    name: Raw<'a>,
    #[serde(borrow)]
    input: Raw<'a>,
}

#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow)]
    overview: Raw<'a>,
}

/// Beginnings of user messages that the harness writes in the user's place (after it has compacted the history).
const SYNTHETIC: &[&str] = &["<dynamic_tool_catalog>"];

/// Converts one transcript.
pub(super) struct Converter {
    parent: Parent,
}

impl Converter {
    pub(super) fn new(context: &Context) -> Self {
        Converter { parent: Parent::new(context) }
    }
}

impl Session for Converter {
    fn record(&mut self, text: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let line: Line<'_> = json::parse(text)?;
        self.parent.state(out)?;
        match (word(line.role), word(line.kind)) {
            (role @ ("user" | "assistant"), "") => {
                let Some(message) = &line.message else { return Err(Fault::malformed("/message", "an object", "nothing")) };
                message.convert(role, text, out)
            }
            ("", "turn_ended") => turn_ended(word(line.status), line.error, Pointer::Root, out),
            ("", "error") => {
                out.emit(Meta::Error { code: None, text: text_or_json(line.error) }, Pointer::At("/error"))?;
                Ok(Outcome::Mapped)
            }
            ("", "metadata") => match line.metadata.and_then(|metadata| filled_text(metadata.overview)) {
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

impl Message<'_> {
    fn convert(&self, role: &str, record: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let mut events = 0;
        for (index, part) in self.content.iter().enumerate() {
            let pointer = Pointer::Item("/message/content", index);
            events += match (word(part.kind), role) {
                ("text", "user") => prompt(text(part.text), None, pointer, out)?,
                ("text", _) => answer(text(part.text), pointer, out)?,
                ("tool_use", "assistant") => call(part.name, part.input, pointer, out).map(|_| 1)?,
                (kind, _) => {
                    out.unrecognized_block(kind, raw_part(record, index)?, pointer)?;
                    1
                }
            };
        }
        said(events)
    }
}

/// The outcome of a message that gave so many events. One that says nothing is none that the harness is known to write.
pub(super) fn said(events: usize) -> Result<Outcome, Fault> {
    if events == 0 { Err(Fault::malformed("", "a message with text or a call", "neither")) } else { Ok(Outcome::Mapped) }
}

/// The JSON of one content part, which only the parts of unknown type need.
fn raw_part(record: &str, index: usize) -> Result<&str, Fault> {
    #[derive(Deserialize)]
    struct Record<'a> {
        #[serde(borrow)]
        message: RawMessage<'a>,
    }
    #[derive(Deserialize)]
    struct RawMessage<'a> {
        #[serde(borrow)]
        content: Vec<&'a RawValue>,
    }
    let record: Record<'_> = serde_json::from_str(record)?;
    Ok(record.message.content.get(index).map_or("null", |part| part.get()))
}

/// Writes a prompt and gives the number of events. The text is kept as the harness sent it, its sections included.
pub(super) fn prompt(text: Option<Text<'_>>, id: Option<Text<'_>>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<usize, Fault> {
    let Some(text) = text else { return Ok(0) };
    let decoded = text.decode_lossy();
    let time = clock::prompt_time(&decoded);
    if time.is_some() {
        out.stamp(Stamp { t: time.as_deref(), id, replay: false });
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
    let redacted = thought.is_empty() || thought.is("[REDACTED]");
    let text = Some(thought).filter(|_| !redacted);
    out.emit(MsgOut { text, channel: Some(Channel::Reasoning), redacted, ..MsgOut::default() }, pointer)?;
    Ok(1)
}

/// Writes a call, with the edit that it asks for, and gives the call's `seq`.
pub(super) fn call(name: Raw<'_>, input: Raw<'_>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<u64, Fault> {
    let Some(name) = filled_text(name) else { return Err(Fault::malformed("/message/content", "the name of a tool", "none")) };
    let tool = name.decode_lossy();
    let call = ToolCall { tool: name, kind: tools::TOOLS.kind(&tool), call_id: None, args: input.map(RawValue::get) };
    let seq = out.emit(call, pointer)?;
    if let Some(input) = input {
        edits::requested(&tool, input, seq, out, pointer)?;
    }
    Ok(seq)
}

/// The end of a turn: a failed or stopped one says so.
pub(super) fn turn_ended(status: &str, error: Raw<'_>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
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
    pub(super) fn new(context: &Context) -> Self {
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
