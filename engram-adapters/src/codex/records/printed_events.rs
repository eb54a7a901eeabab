//! What `exec --json` prints up to 0.42: the settings, the prompt, and the events of a protocol, without times and without the id of the
//! session.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Channel, Meta, MsgIn, MsgOut, Role, SessionFacts, Status, ToolCall, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;

use crate::shared::value::{Field, StructuralIndex, Value, integer, parse, text};
use crate::shared::view::view;

use super::usage::{self, CountPointers};
use crate::codex::blocks::{is_empty_token, joined_texts};
use crate::codex::omissions;
use crate::codex::record::Record;
use crate::codex::results::edits::{Applied, emit_printed_changes};
use crate::codex::schema::{CallEnd, Duration, Invocation, McpResult};
use crate::codex::state::session_state::SessionState;
use crate::codex::tools;

view! {
    /// The first line.
    Settings {
        model: "model" String,
        provider: "provider" String,
        workdir: "workdir" String,
        approval: "approval" String,
        effort: "reasoning effort" String,
    }
}

view! {
    /// An event.
    Event {
        call_id: "call_id" String,
        message: "message" String,
        text: "text" String,
        command: "command" Array,
        changes: "changes" Object,
        query: "query" String,
        invocation: "invocation" Object,
    }
}

/// The settings of the run.
pub fn settings(state: &mut SessionState, line: Value<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let settings = Settings::strict(line, "")?;
    let facts = SessionFacts {
        model: text(settings.model()),
        provider: text(settings.provider()),
        cwd: text(settings.workdir()),
        permission_mode: text(settings.approval()),
        effort: text(settings.effort()),
        ..SessionFacts::default()
    };
    state.last.set_model(settings.model().map(Value::raw));
    state.last.set_cwd(facts.cwd);
    out.emit(Meta::Session(facts), Pointer::Root)?;
    Ok(Outcome::Mapped)
}

/// The prompt of the run.
pub fn prompt(state: &mut SessionState, prompt: Value<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let Some(words) = prompt.text() else {
        return Err(Fault::malformed("/prompt", "a text", prompt.raw()));
    };
    let by = state.thread.sender(false);
    out.emit(MsgIn { role: Role::User, by, text: Some(words), attachments: Vec::new() }, Pointer::At("/prompt"))?;
    Ok(Outcome::Mapped)
}

/// An answer.
pub fn answer(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let words = required(Event::strict(record.value, record.at)?.message(), "/msg/message")?;
    out.emit(MsgOut { text: Some(words), model: state.last.model(), ..MsgOut::default() }, Pointer::At("/msg/message"))?;
    Ok(Outcome::Mapped)
}

/// A reasoning.
pub fn reasoning(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let words = required(Event::strict(record.value, record.at)?.text(), "/msg/text")?;
    let reasoning = MsgOut { text: Some(words), channel: Some(Channel::Reasoning), model: state.last.model(), ..MsgOut::default() };
    out.emit(reasoning, Pointer::At("/msg/text"))?;
    Ok(Outcome::Mapped)
}

/// An error that ends the turn.
pub fn error(_: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let words = text(Event::strict(record.value, record.at)?.message());
    out.emit(Meta::Error { code: None, text: words }, Pointer::At("/msg/message"))?;
    Ok(Outcome::Mapped)
}

/// A notice, such as a request that is tried again.
pub fn notice(_: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let words = text(Event::strict(record.value, record.at)?.message());
    out.emit(Meta::System { name: Text::Plain(record.short_name()), text: words }, Pointer::At("/msg/message"))?;
    Ok(Outcome::Mapped)
}

/// The counts of a response: alone up to 0.29, with the totals of the session since 0.34.
pub fn token_count(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    const POINTERS: CountPointers = CountPointers::new("/msg/info", "/msg/info/last_token_usage", "/msg/info/total_token_usage");
    match record.value.first_member("info") {
        Some(_) => usage::counts_of_event(state, record, &POINTERS, out),
        None if record.value.first_member("input_tokens").is_some() => usage::response_counts(state, record, out),
        None => Ok(record.omitted_by(&omissions::NO_COUNTS)),
    }
}

/// The beginning of a command.
pub fn command_begun(_: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let event = Event::strict(record.value, record.at)?;
    let call = ToolCall { call_id: text(event.call_id()), args: event.command().map(Value::raw), ..call_of(COMMAND) };
    out.emit(call, Pointer::At(record.at))?;
    Ok(Outcome::Mapped)
}

/// The end of a command. Its aggregated output contains both streams.
pub fn command_ended(_: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let end = CallEnd::strict(record.value, record.at)?;
    let exit = integer(end.exit_code());
    let whole = end.aggregated_output().filter(|output| !is_empty_token(output.raw()));
    let result = ToolResult {
        status: exit.map(|exit| if exit == 0 { Status::Ok } else { Status::Error }),
        exit,
        stdout: text(whole.or(end.stdout())),
        stderr: if whole.is_some() { None } else { stderr(&end) },
        ..result_of(COMMAND, &end)
    };
    out.emit(result, Pointer::At(record.at))?;
    Ok(Outcome::Mapped)
}

/// The beginning of a patch. Its changes become edits if it is applied.
pub fn patch_begun(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let event = Event::strict(record.value, record.at)?;
    let (id, changes) = (required(event.call_id(), "/msg/call_id")?, event.changes().map(Value::raw));
    out.emit(ToolCall { call_id: Some(id), args: changes, ..call_of(PATCH) }, Pointer::At(record.at))?;
    if let Some(changes) = out.keep(changes.unwrap_or_default()) {
        state.printed_patches.open(&*id.decode_lossy(), changes);
    }
    Ok(Outcome::Mapped)
}

/// The end of a patch.
pub fn patch_ended(state: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let end = CallEnd::strict(record.value, record.at)?;
    let id = required(end.call_id(), "/msg/call_id")?;
    let is_applied = end.success().is_some_and(Value::is_true);
    let status = Some(if is_applied { Status::Ok } else { Status::Error });
    out.emit(ToolResult { status, stdout: text(end.stdout()), stderr: stderr(&end), ..result_of(PATCH, &end) }, Pointer::At(record.at))?;
    let key = id.decode_lossy();
    if let Some(changes) = state.printed_patches.get(&*key).filter(|_| is_applied) {
        let mut index = StructuralIndex::default();
        let printed = text(end.stdout()).map(|stdout| stdout.comparable()).unwrap_or_default();
        let changes = parse(changes, &mut index)?;
        let applied = Applied { directory: state.last.cwd(), changes, printed: &printed, text: None, call_id: id };
        emit_printed_changes(&mut state.files, &applied, Pointer::At(record.at), out)?;
    }
    state.printed_patches.close(&*key);
    Ok(Outcome::Mapped)
}

/// The beginning of a call of an MCP server's tool.
pub fn mcp_begun(_: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let event = Event::strict(record.value, record.at)?;
    let called = Invocation::lenient_opt(event.invocation());
    let tool = required(called.tool(), "/msg/invocation/tool")?;
    let (server, args) = (text(called.server()), called.arguments().map(Value::raw));
    out.emit(ToolCall { server, call_id: text(event.call_id()), args, ..ToolCall::new(tool, ToolKind::Mcp) }, Pointer::At(record.at))?;
    Ok(Outcome::Mapped)
}

/// The end of a call of an MCP server's tool.
pub fn mcp_ended(_: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let end = CallEnd::strict(record.value, record.at)?;
    let tool = Invocation::lenient_opt(end.invocation()).tool();
    let wrapped = McpResult::strict(end.result().unwrap_or(record.value), "/msg/result")?;
    let answer = McpResult::lenient_opt(wrapped.ok());
    let texts = joined_texts(answer.content(), "\\n");
    let is_error = wrapped.err().is_some() || answer.is_error().is_some_and(Value::is_true);
    let result = ToolResult {
        tool: text(tool),
        status: Some(if is_error { Status::Error } else { Status::Ok }),
        stdout: texts.as_deref().map(Text::Token).or(answer.structured().map(Value::json)),
        stderr: text(wrapped.err()),
        ..result_of("", &end)
    };
    out.emit(result, Pointer::At(record.at))?;
    Ok(Outcome::Mapped)
}

/// The beginning of a web search. What is searched for is stated at its end.
pub fn search_begun(_: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let event = Event::strict(record.value, record.at)?;
    out.emit(ToolCall { call_id: text(event.call_id()), ..call_of(SEARCH) }, Pointer::At(record.at))?;
    Ok(Outcome::Mapped)
}

/// The end of a web search: what was searched for, and not what was found.
pub fn search_ended(_: &mut SessionState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let event = Event::strict(record.value, record.at)?;
    let id = required(event.call_id(), "/msg/call_id")?;
    let query = Meta::System { name: Text::Plain("web_search_query"), text: text(event.query()) };
    out.emit_child(out.seq_of_call(id), query, Pointer::At("/msg/query"))?;
    let result = ToolResult { tool: Some(Text::Plain(SEARCH)), call_id: Some(id), status: Some(Status::Ok), ..ToolResult::default() };
    out.emit(result, Pointer::At(record.at))?;
    Ok(Outcome::Mapped)
}

/// The tool of commands. The stream does not name the tool that the model called.
const COMMAND: &str = "exec_command";
const PATCH: &str = "apply_patch";
const SEARCH: &str = "web_search";

fn call_of(tool: &'static str) -> ToolCall<'static> {
    ToolCall::new(Text::Plain(tool), tools::kind(tool, ""))
}

fn result_of<'r>(tool: &'static str, end: &CallEnd<'r>) -> ToolResult<'r> {
    let duration_ms = end.duration().and_then(|duration| Duration::lenient(duration).millis());
    ToolResult { tool: Some(Text::Plain(tool)), call_id: text(end.call_id()), duration_ms, ..ToolResult::default() }
}

fn stderr<'r>(end: &CallEnd<'r>) -> Option<Text<'r>> {
    text(end.stderr().filter(|stderr| !is_empty_token(stderr.raw())))
}

fn required<'r>(field: Field<'r>, at: &'static str) -> Result<Text<'r>, Fault> {
    text(field).ok_or_else(|| Fault::malformed(at, "a text", "nothing"))
}
