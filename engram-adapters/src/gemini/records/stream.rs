//! `--output-format stream-json`: what a run prints (0.11.3 and later). It has no reasoning, and the tokens of all requests as one sum.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{self, Author, Meta, MsgIn, MsgOut, Role, SessionFacts, Status, ToolCall, ToolResult, Usage};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::message_record::set_header;
use crate::gemini::descriptor::rule;
use crate::gemini::members;
use crate::gemini::schema::{ModelStats, StreamLine, raw};
use crate::gemini::state::session_state::SessionState;
use crate::gemini::tools::TOOLS;
use crate::shared::by_session::BySession;
use crate::shared::route::{Action, Route};
use crate::shared::time::tape_time;
use crate::shared::value::{Value, count, non_empty_text, raw_str, text};

type LineHandler = fn(&StreamLine<'_>, &mut Emitter<'_>) -> Result<(), Fault>;

/// The lines by `type`. Texts of the model are joined before ([`line`]).
pub(super) static LINES: &[Route<LineHandler>] = &[
    Route::convert("message", message),
    Route::convert("tool_use", tool_use),
    Route::convert("tool_result", tool_result),
    Route::convert("init", init),
    Route::convert("result", result),
    Route::convert("error", error),
];

/// The type of a line with a piece of an answer.
const PIECE: &str = "message/assistant";

/// Emits the answer that has been printed so far.
pub(super) fn end_answer(state: &mut SessionState, out: &mut Emitter<'_>) -> Result<(), Fault> {
    state.answer.end(PIECE, rule::PIECE, out)
}

/// Goes to the session that a run names when it begins. The other lines have no id: they belong to the run that began last.
pub(super) fn begin_run(sessions: &mut BySession<SessionState>, value: Value<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let line = StreamLine::strict(value, "")?;
    let Some(id) = text(line.session_id()).filter(|_| raw_str(line.kind()) == "init").map(|id| id.decode_lossy()) else { return Ok(()) };
    if !sessions.is_current(&id) {
        end_answer(sessions.current(), out)?;
        // The answer was all that waited for a later line.
        drop(sessions.switch_to(&id));
        if sessions.has_several() {
            out.set_source(Some(&*id), None);
        }
    }
    Ok(())
}

/// Converts a line.
pub(super) fn line(state: &mut SessionState, value: Value<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let line = StreamLine::strict(value, "")?;
    let kind = raw_str(line.kind());
    let Some(Action::Convert(convert)) = Route::find(LINES, kind) else {
        return Err(match kind {
            "" => Fault::malformed("/type", "a line type", "nothing"),
            kind => Fault::unrecognized(kind),
        });
    };
    let is_answer = kind == "message" && raw_str(line.role()) == "assistant";
    if !is_answer {
        end_answer(state, out)?;
    }
    set_header(line.timestamp(), None, out);
    let record = match (kind, is_answer) {
        ("message", true) => PIECE,
        ("message", false) => "message/user",
        (kind, _) => kind,
    };
    members::check(record, value, Pointer::Root, out)?;
    if !is_answer {
        convert(&line, out)?;
        return Ok(Outcome::Mapped);
    }
    let content = line.content().ok_or_else(|| Fault::malformed("/content", "text", "nothing"))?;
    let time = tape_time(line.timestamp());
    if !state.answer.add(content.raw_str(), time.as_deref(), out) {
        end_answer(state, out)?;
        set_header(line.timestamp(), None, out);
        if !state.answer.add(content.raw_str(), time.as_deref(), out) {
            out.emit(MsgOut { text: content.text(), ..MsgOut::default() }, Pointer::At("/content"))?;
            return Ok(Outcome::Mapped);
        }
    }
    if content.raw_str().is_empty() && !state.answer.has_text() {
        return Ok(Outcome::Bookkeeping { record: PIECE, rule: rule::EMPTY });
    }
    Ok(Outcome::Duplicate { record: PIECE, rule: rule::PIECE })
}

fn init(line: &StreamLine<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let facts = SessionFacts { model: non_empty_text(line.model()), ..SessionFacts::default() };
    out.emit(Meta::Session(facts), Pointer::Root).map(drop)
}

/// The prompt.
fn message(line: &StreamLine<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    if raw_str(line.role()) != "user" {
        return Err(Fault::malformed("/role", "`user` or `assistant`", raw_str(line.role())));
    }
    let prompt = MsgIn { role: Role::User, by: Author::Person, text: text(line.content()), attachments: Vec::new() };
    out.emit(prompt, Pointer::At("/content")).map(drop)
}

fn tool_use(line: &StreamLine<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let tool = text(line.tool()).ok_or_else(|| Fault::malformed("/tool_name", "the name of a tool", "none"))?;
    let kind = TOOLS.kind(&tool.decode_lossy());
    let call = ToolCall { call_id: text(line.call_id()), args: raw(line.args()), ..ToolCall::new(tool, kind) };
    out.emit(call, Pointer::Root).map(drop)
}

fn tool_result(line: &StreamLine<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let status = match raw_str(line.status()) {
        "success" => Some(Status::Ok),
        "error" => Some(Status::Error),
        _ => None,
    };
    let stderr = line.error().and_then(|error| non_empty_text(error.member("message")));
    let result = ToolResult { call_id: text(line.call_id()), status, stdout: text(line.output()), stderr, ..ToolResult::default() };
    out.emit(result, Pointer::Root).map(drop)
}

fn error(line: &StreamLine<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    out.emit(Meta::Error { code: None, text: non_empty_text(line.message()) }, Pointer::At("/message")).map(drop)
}

/// The end of the run: what each model used.
fn result(line: &StreamLine<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    if let Some(error) = line.error() {
        let (code, text) = (non_empty_text(error.member("type")), non_empty_text(error.member("message")));
        out.emit(Meta::Error { code, text }, Pointer::At("/error"))?;
    }
    let models = line.stats().and_then(|stats| stats.member("models")).filter(|models| models.is_object());
    let mut has_models = false;
    for (name, stats) in models.into_iter().flat_map(Value::members) {
        has_models = true;
        emit_usage(Some(name), stats, out)?;
    }
    match line.stats() {
        Some(stats) if !has_models => emit_usage(None, stats, out),
        Some(_) => Ok(()),
        None => out.emit(Meta::System { name: Text::Plain("result"), text: text(line.status()) }, Pointer::Root).map(drop),
    }
}

fn emit_usage(model: Option<&str>, stats: Value<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let stats = ModelStats::lenient(stats);
    let [total, prompt, shown, cached] = [stats.total(), stats.prompt(), stats.output(), stats.cached()].map(count);
    // What is neither prompt nor shown is reasoning.
    let output = total.zip(prompt).and_then(|(total, prompt)| total.checked_sub(prompt));
    let tokens = event::Tokens {
        input: count(stats.input()),
        cache_read: cached,
        output,
        reasoning: output.zip(shown).and_then(|(output, shown)| output.checked_sub(shown)),
        ..event::Tokens::default()
    };
    let token = model.map(|name| format!("\"{name}\""));
    let usage = Usage { model: token.as_deref().map(Text::Token), tokens, ..Usage::default() };
    out.emit(Meta::Usage(usage), Pointer::At("/stats")).map(drop)
}
