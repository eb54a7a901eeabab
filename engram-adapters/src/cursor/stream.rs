//! `stream-json` captures: what the command line prints, saved line by line, with whatever else came through the same pipe.

use engram_core::adapter::Session;
use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault, RecordHeader};
use engram_core::event::{Channel, Meta, MsgIn, MsgOut, Role, SessionFacts, Tokens, Usage};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::stream_called::{Called, ToolCallBody};
use super::stream_calls::Calls;
use super::stream_pieces::{Piece, PullReader};
use super::stream_queries::Queries;
use super::{decoded, millis, text_or_json};
use crate::shared::value::{Field, StructuralIndex, Value, is_true, non_empty_text, number, parse, raw_str, text};
use crate::shared::view::view;

view! {
    /// A line of any type.
    Record {
        kind: "type" Any,
        subtype: "subtype" Any,
        session_id: "session_id" Any,
        timestamp_ms: "timestamp_ms" Any,
        /// The call of the model that a message belongs to, where it goes on with a tool call.
        model_call_id: "model_call_id" Any,
        message: "message" Object,
        text: "text" Any,
        call_id: "call_id" Any,
        tool_call: "tool_call" Object,
        model: "model" Any,
        cwd: "cwd" Any,
        endpoint_url: "endpoint_url" Any,
        is_error: "is_error" Any,
        result: "result" Any,
        error: "error" Any,
        usage: "usage" Object,
        query_type: "query_type" Any,
        query: "query" Any,
        response: "response" Any,
    }
}

view! {
    /// What a message says.
    Message {
        content: "content" Array,
    }
}

view! {
    /// One part of a message. Texts are the only ones known.
    Part {
        kind: "type" Any,
        text: "text" Any,
    }
}

view! {
    /// Tokens of the whole run.
    TurnUsage {
        input_tokens: "inputTokens" Any,
        output_tokens: "outputTokens" Any,
        cache_read_tokens: "cacheReadTokens" Any,
        cache_write_tokens: "cacheWriteTokens" Any,
    }
}

/// Converts one capture.
#[derive(Default)]
pub(super) struct Converter {
    pieces: PullReader,
    calls: Calls,
    queries: Queries,
    index: StructuralIndex,
}

impl Session for Converter {
    fn record(&mut self, source: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        if is_error_output(source) {
            return error_output(source, out);
        }
        let mut index = std::mem::take(&mut self.index);
        let outcome = parse(source, &mut index).and_then(|line| self.line(line, out));
        self.index = index;
        outcome
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), Fault> {
        self.pieces.flush(out)?;
        self.queries.finish(out)
    }
}

impl<'a> Record<'a> {
    fn called(&self) -> Result<Called<'a>, Fault> {
        let call_id = non_empty_text(self.call_id()).ok_or_else(|| Fault::malformed("/call_id", "a string", "none"))?;
        let body = self.tool_call().ok_or_else(|| Fault::malformed("/tool_call", "an object", "none"))?;
        let body = ToolCallBody::read(body, "/tool_call")?;
        Ok(Called { call_id, body, name: None, told: None, failed: false, pointer: Pointer::At("/tool_call") })
    }
}

impl Converter {
    fn line(&mut self, line: Value<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let record = Record::strict(line, "")?;
        let time = millis(record.timestamp_ms());
        if let Some(session_id) = decoded(record.session_id()).filter(|id| !id.is_empty()) {
            out.set_source(Some(&session_id), None);
        }
        let stamp = RecordHeader { t: time.as_deref(), ..RecordHeader::default() };
        let (kind, subtype) = (raw_str(record.kind()), raw_str(record.subtype()));
        let location = out.location();
        if !matches!(kind, "assistant" | "thinking") && self.pieces.flush(out)? > 0 {
            out.attribute_to(location, stamp);
        } else {
            out.set_header(stamp);
        }
        match (kind, subtype) {
            ("system", "init") => init(&record, out),
            ("system", name @ ("task_notification" | "background_shell_timeout")) => {
                out.emit(Meta::System { name: Text::Plain(name), text: Some(Text::Plain(line.raw())) }, Pointer::Root)?;
                Ok(Outcome::Mapped)
            }
            ("user", _) => user(&record, out),
            ("assistant", _) => self.assistant(&record, stamp, out),
            ("thinking", "delta") => {
                self.pieces.add(Piece::Thought, &decoded(record.text()).unwrap_or_default(), stamp, out)?;
                Ok(Piece::Thought.outcome())
            }
            ("thinking", "completed") => {
                self.pieces.flush(out)?;
                Ok(Outcome::Bookkeeping { record: "thinking/completed", rule: "thinking_end" })
            }
            ("tool_call", "started") => self.calls.started(&record.called()?, &mut self.queries, out),
            ("tool_call", "completed") => self.calls.completed(&record.called()?, &mut self.queries, out),
            ("interaction_query", "request") => self.queries.request(raw_str(record.query_type()), record.query(), out),
            ("interaction_query", "response") => self.queries.response(record.response(), out),
            ("connection" | "retry", _) => connection(kind, subtype, record.endpoint_url(), out),
            ("result", subtype) => self.result(&record, subtype, out),
            (kind, "") => Err(Fault::unrecognized(kind)),
            (kind, subtype) => Err(Fault::unrecognized(&format!("{kind}/{subtype}"))),
        }
    }

    /// A piece of a message has a time and belongs to no model call; the whole message follows and is what counts.
    fn assistant(&mut self, record: &Record<'_>, stamp: RecordHeader<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let is_piece = record.timestamp_ms().is_some() && record.model_call_id().is_none();
        let parts = parts(record)?;
        if is_piece && parts.iter().all(|(part, _)| raw_str(part.kind()) == "text") {
            for (part, _) in parts {
                self.pieces.add(Piece::Answer, &decoded(part.text()).unwrap_or_default(), stamp, out)?;
            }
            return Ok(Piece::Answer.outcome());
        }
        let channel = if record.model_call_id().is_some() { Channel::Commentary } else { Channel::Final };
        let mut outcome = Err(Fault::malformed("/message/content", "a part", "none"));
        for (index, (part, value)) in parts.iter().enumerate() {
            let pointer = Pointer::Item("/message/content", index);
            if raw_str(part.kind()) != "text" {
                out.unrecognized_block(raw_str(part.kind()), value.raw(), pointer)?;
                outcome = Ok(Outcome::Mapped);
                continue;
            }
            let Some(text) = text(part.text()) else { continue };
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
        let said = non_empty_text(record.result());
        let failed = is_true(record.is_error()) || subtype != "success";
        let mut outcome = Outcome::Duplicate { record: "result/success", rule: "result_text" };
        if failed {
            let text = text_or_json(record.error()).or(said);
            let code = Some(Text::Plain(subtype)).filter(|subtype| !subtype.is_empty());
            out.emit(Meta::Error { code, text }, Pointer::Root)?;
            outcome = Outcome::Mapped;
        } else if let Some(text) = said
            && !self.pieces.repeats_all(&text.decode_lossy())
        {
            out.emit(MsgOut { text: Some(text), channel: Some(Channel::Final), ..MsgOut::default() }, Pointer::At("/result"))?;
            outcome = Outcome::Mapped;
        }
        if let Some(usage) = record.usage() {
            out.emit(Meta::Usage(TurnUsage::lenient(usage).counted()), Pointer::At("/usage"))?;
            outcome = Outcome::Mapped;
        }
        Ok(outcome)
    }
}

impl<'a> TurnUsage<'a> {
    fn counted(&self) -> Usage<'a> {
        let tokens = Tokens {
            input: number(self.input_tokens()),
            output: number(self.output_tokens()),
            cache_read: number(self.cache_read_tokens()),
            cache_write: number(self.cache_write_tokens()),
            ..Tokens::default()
        };
        Usage { tokens, ..Usage::default() }
    }
}

/// The parts of a message, each with the value that it was read from.
fn parts<'a>(record: &Record<'a>) -> Result<Vec<(Part<'a>, Value<'a>)>, Fault> {
    let message = record.message().ok_or_else(|| Fault::malformed("/message", "an object", "nothing"))?;
    let content = Message::strict(message, "/message")?.content();
    let content = content.ok_or_else(|| Fault::malformed("/message/content", "a list of parts", "nothing"))?;
    content.elements().map(|part| Ok((Part::strict(part, "/message/content")?, part))).collect()
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
    let facts = SessionFacts { model: non_empty_text(record.model()), cwd: non_empty_text(record.cwd()), ..SessionFacts::default() };
    out.emit(Meta::Session(facts), Pointer::Root)?;
    Ok(Outcome::Mapped)
}

fn user(record: &Record<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
    let mut outcome = Err(Fault::malformed("/message/content", "a part", "none"));
    for (index, (part, value)) in parts(record)?.iter().enumerate() {
        let pointer = Pointer::Item("/message/content", index);
        match (raw_str(part.kind()), text(part.text())) {
            ("text", None) => return Err(Fault::malformed("/message/content", "a text", "none")),
            ("text", text) => out.emit(MsgIn { role: Role::User, text, synthetic: false, attachments: Vec::new() }, pointer).map(|_| ())?,
            (kind, _) => out.unrecognized_block(kind, value.raw(), pointer)?,
        }
        outcome = Ok(Outcome::Mapped);
    }
    outcome
}

/// A lost connection or a retry is an error that the harness met; finding back is a notice.
fn connection(kind: &str, subtype: &str, endpoint: Field<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
    let name = format!("{kind}/{subtype}");
    let (name, text) = (Text::Plain(&name), text(endpoint));
    let notice = match subtype {
        "reconnecting" | "starting" => Meta::Error { code: Some(name), text },
        _ => Meta::System { name, text },
    };
    out.emit(notice, Pointer::Root)?;
    Ok(Outcome::Mapped)
}
