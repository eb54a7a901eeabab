//! `stream-json` captures: what the command line prints, saved line by line, with whatever else came through the same pipe.

use engram_core::adapter::Session;
use engram_core::emit::{Emitter, Fault, Stamp};
use engram_core::event::{Channel, Meta, MsgIn, MsgOut, Number, Role, SessionFacts, Tokens, Usage};
use engram_core::ledger::Outcome;
use engram_core::render::Pointer;
use engram_core::text::Text;
use serde::Deserialize;

use super::stream_calls::{Called, Calls, ToolCallBody};
use super::stream_pieces::{Piece, Pieces};
use super::stream_queries::Queries;
use super::{decoded, text_or_json, word};
use crate::kit::json::{self, Raw, boolean, filled_text, text, unsigned};
use crate::kit::time;

#[derive(Deserialize)]
pub(super) struct Record<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow)]
    subtype: Raw<'a>,
    #[serde(borrow)]
    session_id: Raw<'a>,
    #[serde(borrow)]
    timestamp_ms: Raw<'a>,
    #[serde(borrow)]
    model_call_id: Raw<'a>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(borrow)]
    call_id: Raw<'a>,
    #[serde(borrow)]
    tool_call: Option<ToolCallBody<'a>>,
    #[serde(borrow)]
    model: Raw<'a>,
    #[serde(borrow)]
    cwd: Raw<'a>,
    #[serde(borrow)]
    endpoint_url: Raw<'a>,
    #[serde(borrow)]
    is_error: Raw<'a>,
    #[serde(borrow)]
    result: Raw<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
    #[serde(borrow)]
    usage: Option<TurnUsage<'a>>,
    #[serde(borrow)]
    query_type: Raw<'a>,
    #[serde(borrow)]
    query: Raw<'a>,
    #[serde(borrow)]
    response: Raw<'a>,
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
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TurnUsage<'a> {
    #[serde(borrow)]
    input_tokens: Raw<'a>,
    #[serde(borrow)]
    output_tokens: Raw<'a>,
    #[serde(borrow)]
    cache_read_tokens: Raw<'a>,
    #[serde(borrow)]
    cache_write_tokens: Raw<'a>,
}

/// Converts one capture.
#[derive(Default)]
pub(super) struct Converter {
    pieces: Pieces,
    calls: Calls,
    queries: Queries,
}

impl Session for Converter {
    fn record(&mut self, text: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        if is_error_output(text) {
            return error_output(text, out);
        }
        let record: Record<'_> = json::parse(text)?;
        let time = unsigned(record.timestamp_ms).and_then(|millis| time::from_millis(millis.try_into().ok()?));
        if let Some(session_id) = decoded(record.session_id).filter(|id| !id.is_empty()) {
            out.source(Some(&session_id), None);
        }
        let stamp = Stamp { t: time.as_deref(), ..Stamp::default() };
        let (kind, subtype) = (word(record.kind), word(record.subtype));
        let line = out.line();
        if !matches!(kind, "assistant" | "thinking") && self.pieces.flush(out)? > 0 {
            out.restamp(line, stamp);
        } else {
            out.stamp(stamp);
        }
        match (kind, subtype) {
            ("system", "init") => init(&record, out),
            ("system", name @ ("task_notification" | "background_shell_timeout")) => {
                out.emit(Meta::System { name: Text::Plain(name), text: Some(Text::Plain(text)) }, Pointer::Root)?;
                Ok(Outcome::Mapped)
            }
            ("user", _) => user(&record, text, out),
            ("assistant", _) => self.assistant(&record, stamp, text, out),
            ("thinking", "delta") => {
                self.pieces.add(Piece::Thought, &decoded(record.text).unwrap_or_default(), stamp, out)?;
                Ok(Piece::Thought.outcome())
            }
            ("thinking", "completed") => {
                self.pieces.flush(out)?;
                Ok(Outcome::Bookkeeping { record: "thinking/completed", rule: "thinking_end" })
            }
            ("tool_call", "started") => self.calls.started(&record.called()?, &mut self.queries, out),
            ("tool_call", "completed") => self.calls.completed(&record.called()?, &mut self.queries, out),
            ("interaction_query", "request") => self.queries.request(word(record.query_type), record.query, out),
            ("interaction_query", "response") => self.queries.response(record.response, out),
            ("connection" | "retry", _) => connection(kind, subtype, record.endpoint_url, out),
            ("result", subtype) => self.result(&record, subtype, out),
            (kind, "") => Err(Fault::unrecognized(kind)),
            (kind, subtype) => Err(Fault::unrecognized(&format!("{kind}/{subtype}"))),
        }
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.pieces.flush(out)?;
        self.queries.finish(out)
    }
}

impl<'a> Record<'a> {
    fn called(&'a self) -> Result<Called<'a>, Fault> {
        let call_id = filled_text(self.call_id).ok_or_else(|| Fault::malformed("/call_id", "a string", "none"))?;
        let body = self.tool_call.as_ref().ok_or_else(|| Fault::malformed("/tool_call", "an object", "none"))?;
        Ok(Called { call_id, body, name: None, told: None, failed: false, pointer: Pointer::At("/tool_call") })
    }
}

impl Converter {
    /// A piece of a message has a time and belongs to no model call; the whole message follows and is what counts.
    fn assistant(&mut self, record: &Record<'_>, stamp: Stamp<'_>, raw: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let is_piece = record.timestamp_ms.is_some() && record.model_call_id.is_none();
        let parts = parts(record)?;
        if is_piece && parts.iter().all(|part| word(part.kind) == "text") {
            for part in parts {
                self.pieces.add(Piece::Answer, &decoded(part.text).unwrap_or_default(), stamp, out)?;
            }
            return Ok(Piece::Answer.outcome());
        }
        let channel = if record.model_call_id.is_some() { Channel::Commentary } else { Channel::Final };
        let mut outcome = Err(Fault::malformed("/message/content", "a part", "none"));
        for (index, part) in parts.iter().enumerate() {
            let pointer = Pointer::Item("/message/content", index);
            if word(part.kind) != "text" {
                out.unrecognized_block(word(part.kind), raw, pointer)?;
                outcome = Ok(Outcome::Mapped);
                continue;
            }
            let Some(text) = text(part.text) else { continue };
            if !self.pieces.whole(&text.decode_lossy(), stamp, out)? {
                outcome = Ok(Piece::Answer.outcome());
                continue;
            }
            out.emit(MsgOut { text: Some(text), channel: Some(channel), ..MsgOut::default() }, pointer)?;
            outcome = Ok(Outcome::Mapped);
        }
        outcome
    }

    /// The end of the run. Its text is that of all messages, joined without a separator; only a text that is not is new.
    fn result(&mut self, record: &Record<'_>, subtype: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let said = filled_text(record.result);
        let failed = boolean(record.is_error) == Some(true) || subtype != "success";
        let mut outcome = Outcome::Duplicate { record: "result/success", rule: "result_text" };
        if failed {
            let text = text_or_json(record.error).or(said);
            let code = Some(Text::Plain(subtype)).filter(|subtype| !subtype.is_empty());
            out.emit(Meta::Error { code, text }, Pointer::Root)?;
            outcome = Outcome::Mapped;
        } else if let Some(text) = said
            && !self.pieces.repeats_all(&text.decode_lossy())
        {
            out.emit(MsgOut { text: Some(text), channel: Some(Channel::Final), ..MsgOut::default() }, Pointer::At("/result"))?;
            outcome = Outcome::Mapped;
        }
        if let Some(usage) = &record.usage {
            out.emit(Meta::Usage(usage.stated()), Pointer::At("/usage"))?;
            outcome = Outcome::Mapped;
        }
        Ok(outcome)
    }
}

impl<'a> TurnUsage<'a> {
    fn stated(&self) -> Usage<'a> {
        let tokens = Tokens {
            input: self.input_tokens.and_then(Number::of),
            output: self.output_tokens.and_then(Number::of),
            cache_read: self.cache_read_tokens.and_then(Number::of),
            cache_write: self.cache_write_tokens.and_then(Number::of),
            ..Tokens::default()
        };
        Usage { tokens, ..Usage::default() }
    }
}

fn parts<'a>(record: &'a Record<'a>) -> Result<&'a [Part<'a>], Fault> {
    let message = record.message.as_ref().ok_or_else(|| Fault::malformed("/message", "an object", "nothing"))?;
    Ok(&message.content)
}

/// Standard error often shares the pipe: a line that is no JSON object is a line of it.
fn is_error_output(text: &str) -> bool {
    let text = text.trim_ascii();
    !text.starts_with('{') && !text.ends_with('}')
}

fn error_output(text: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
    let text = text.strip_suffix('\r').unwrap_or(text);
    out.emit(Meta::Error { code: Some(Text::Plain("stderr")), text: Some(Text::Plain(text)) }, Pointer::Root)?;
    Ok(Outcome::Mapped)
}

fn init(record: &Record<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
    let facts = SessionFacts { model: filled_text(record.model), cwd: filled_text(record.cwd), ..SessionFacts::default() };
    out.emit(Meta::Session(facts), Pointer::Root)?;
    Ok(Outcome::Mapped)
}

fn user(record: &Record<'_>, raw: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
    let mut outcome = Err(Fault::malformed("/message/content", "a part", "none"));
    for (index, part) in parts(record)?.iter().enumerate() {
        let pointer = Pointer::Item("/message/content", index);
        match (word(part.kind), text(part.text)) {
            ("text", None) => return Err(Fault::malformed("/message/content", "a text", "none")),
            ("text", text) => out.emit(MsgIn { role: Role::User, text, synthetic: false, attachments: Vec::new() }, pointer).map(|_| ())?,
            (kind, _) => out.unrecognized_block(kind, raw, pointer)?,
        }
        outcome = Ok(Outcome::Mapped);
    }
    outcome
}

/// A lost connection or a retry is an error that the harness met; finding back is a notice.
fn connection(kind: &str, subtype: &str, endpoint: Raw<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
    let name = format!("{kind}/{subtype}");
    let (name, text) = (Text::Plain(&name), text(endpoint));
    let notice = match subtype {
        "reconnecting" | "starting" => Meta::Error { code: Some(name), text },
        _ => Meta::System { name, text },
    };
    out.emit(notice, Pointer::Root)?;
    Ok(Outcome::Mapped)
}
