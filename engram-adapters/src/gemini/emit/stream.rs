//! `--output-format stream-json`: what a run prints (0.11.3 and later). It has no reasoning, and the tokens of all requests as one sum.

use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::{
    self, Author, Meta, MsgIn, MsgOut, SessionFacts, Status, ToolCall, ToolResult, Usage,
};
use engram_core::ledger::Outcome;
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;

use super::calls::is_denied;
use super::prompts::split_hook;
use super::state::{Answer, Events, set_header};
use crate::gemini::descriptor::TOOLS;
use crate::gemini::format::{StreamKind, rule};
use crate::gemini::plan::responses::Piece;
use crate::gemini::readers::{ModelStats, StreamLine};
use crate::gemini::schema::{raw, stream_kind};
use crate::shared::time::tape_time;
use crate::shared::value::{Value, count, non_empty_text, raw_str, text};

impl Events {
    /// A line of what a run prints.
    pub(super) fn stream_line(
        &mut self,
        record: &Record<'_>,
        line: &StreamLine<'_>,
        out: &mut Emitter<'_>,
    ) -> Outcome {
        set_header(line.timestamp(), None, out);
        let Some(kind) = stream_kind(line) else {
            return Outcome::Mapped;
        };
        match kind {
            StreamKind::MessageAssistant => return self.piece(record.number, line, out),
            StreamKind::MessageUser => message(line, out),
            StreamKind::ToolUse => tool_use(line, out),
            StreamKind::ToolResult => tool_result(line, out),
            StreamKind::Init => init(line, out),
            StreamKind::Result => result(line, out),
            StreamKind::Error => drop(out.emit(
                Meta::error(None, non_empty_text(line.message())),
                "/message",
            )),
        }
        Outcome::Mapped
    }

    /// A piece of an answer. The answer is emitted with its last piece, as an event of the first one.
    fn piece(&mut self, number: usize, line: &StreamLine<'_>, out: &mut Emitter<'_>) -> Outcome {
        const PIECE: &str = StreamKind::MessageAssistant.name();
        let outcome = match self.plan.pieces.next() {
            Some(Piece::First { last }) => {
                let time = tape_time(line.timestamp()).map(|time| time.into_owned());
                self.answer = Answer {
                    text: String::new(),
                    first: number,
                    time,
                    last: Some(last as usize),
                };
                Outcome::Mapped
            }
            Some(Piece::Next) => Outcome::duplicate(PIECE, rule::ANSWER_PIECE),
            Some(Piece::Empty) | None => {
                return Outcome::bookkeeping(PIECE, rule::MESSAGE_EMPTY);
            }
        };
        self.answer.text.push_str(raw_str(line.content()));
        if self.answer.last == Some(number) {
            let Answer {
                text, first, time, ..
            } = std::mem::take(&mut self.answer);
            let token = format!("\"{text}\"");
            let answer = MsgOut {
                text: Some(Text::Token(&token)),
                ..MsgOut::default()
            };
            let header = RecordHeader {
                t: time.as_deref(),
                ..RecordHeader::default()
            };
            out.of_record(first, header, |out| out.emit(answer, "/content"));
        }
        outcome
    }
}

/// A run begins. The lines after it belong to its session.
fn init(line: &StreamLine<'_>, out: &mut Emitter<'_>) {
    if let Some(id) = text(line.session_id()) {
        out.set_source(Some(&*id.decode_lossy()), None);
    }
    let facts = SessionFacts {
        model: non_empty_text(line.model()),
        ..SessionFacts::default()
    };
    out.emit(Meta::Session(facts), Pointer::Root);
}

/// The prompt, without what a hook has put before it.
fn message(line: &StreamLine<'_>, out: &mut Emitter<'_>) {
    let (whole, place) = (text(line.content()), Pointer::At("/content"));
    let words = whole.and_then(|text| split_hook(text, place, out));
    let text = words.as_deref().map(Text::Plain).or(whole);
    if words.as_deref() != Some("") {
        out.emit(MsgIn::user(Author::Person, text), place);
    }
}

fn tool_use(line: &StreamLine<'_>, out: &mut Emitter<'_>) {
    let Some(tool) = text(line.tool()) else {
        return;
    };
    let kind = TOOLS.kind(&tool.decode_lossy());
    let call = ToolCall {
        call_id: text(line.call_id()),
        args: raw(line.args()),
        ..ToolCall::new(tool, kind)
    };
    out.emit(call, Pointer::Root);
}

fn tool_result(line: &StreamLine<'_>, out: &mut Emitter<'_>) {
    let message = line.error().and_then(|error| error.member("message"));
    let status = match raw_str(line.status()) {
        "success" => Some(Status::Ok),
        "error" if message.is_some_and(is_denied) => Some(Status::Denied),
        "error" => Some(Status::Error),
        _ => None,
    };
    let stderr = non_empty_text(message);
    let result = ToolResult {
        call_id: text(line.call_id()),
        status,
        stdout: text(line.output()),
        stderr,
        ..ToolResult::default()
    };
    out.emit(result, Pointer::Root);
}

/// The end of the run: what each model used.
fn result(line: &StreamLine<'_>, out: &mut Emitter<'_>) {
    if let Some(error) = line.error() {
        let (code, text) = (
            non_empty_text(error.member("type")),
            non_empty_text(error.member("message")),
        );
        out.emit(Meta::error(code, text), "/error");
    }
    let models = line
        .stats()
        .and_then(|stats| stats.member("models"))
        .filter(|models| models.is_object());
    let mut has_models = false;
    for (name, stats) in models.into_iter().flat_map(Value::members) {
        has_models = true;
        emit_usage(Some(name), stats, out);
    }
    match line.stats() {
        Some(stats) if !has_models => emit_usage(None, stats, out),
        Some(_) => {}
        None => drop(out.emit(Meta::system("result", text(line.status())), Pointer::Root)),
    }
}

fn emit_usage(model: Option<&str>, stats: Value<'_>, out: &mut Emitter<'_>) {
    let stats = ModelStats::lenient(stats);
    let [total, prompt, shown, cached] = [
        stats.total(),
        stats.prompt(),
        stats.output(),
        stats.cached(),
    ]
    .map(count);
    // What is neither prompt nor shown is reasoning.
    let output = total
        .zip(prompt)
        .and_then(|(total, prompt)| total.checked_sub(prompt));
    let tokens = event::Tokens {
        input: count(stats.input()),
        cache_read: cached,
        output,
        reasoning: output
            .zip(shown)
            .and_then(|(output, shown)| output.checked_sub(shown)),
        ..event::Tokens::default()
    };
    let token = model.map(|name| format!("\"{name}\""));
    let usage = Usage {
        model: token.as_deref().map(Text::Token),
        tokens,
        ..Usage::default()
    };
    out.emit(Meta::Usage(usage), "/stats");
}
