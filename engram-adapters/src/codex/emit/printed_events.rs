//! What `exec --json` prints up to 0.42: the settings, the prompt, and the events of a protocol, without times and without the id of the
//! session.

use engram_core::emit::Pointer;
use engram_core::event::{
    Channel, Meta, MsgIn, MsgOut, SessionFacts, Status, ToolCall, ToolResult,
};
use engram_core::keys::hash64;
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::codex::readers::{
    CallEnd, Duration, Invocation, McpResult, PrintedEvent, PrintedSettings,
};
use crate::shared::value::{Value, integer, raw_str, text};

use super::State;
use super::edits::{Applied, emit_printed_changes};
use crate::codex::blocks::{is_empty_token, joined_texts};
use crate::codex::record::Record;
use crate::codex::tools;

/// The settings of the run.
pub fn settings(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let settings = PrintedSettings::lenient(record.value);
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
    out.emit(Meta::Session(facts), Pointer::Root);
    Outcome::Mapped
}

/// The prompt of the run.
pub fn prompt(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let words = text(record.value.first_member("prompt"));
    let by = state.thread.sender(false);
    out.emit(MsgIn::user(by, words), "/prompt");
    Outcome::Mapped
}

/// An answer.
pub fn answer(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let words = text(PrintedEvent::lenient(record.value).message());
    out.emit(
        MsgOut {
            text: words,
            model: state.last.model(),
            ..MsgOut::default()
        },
        "/msg/message",
    );
    Outcome::Mapped
}

/// A reasoning.
pub fn reasoning(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let words = text(PrintedEvent::lenient(record.value).text());
    let reasoning = MsgOut {
        text: words,
        channel: Some(Channel::Reasoning),
        model: state.last.model(),
        ..MsgOut::default()
    };
    out.emit(reasoning, "/msg/text");
    Outcome::Mapped
}

/// An error that ends the turn.
pub fn error(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let words = text(PrintedEvent::lenient(record.value).message());
    out.emit(Meta::error(None, words), "/msg/message");
    Outcome::Mapped
}

/// A notice, such as a request that is tried again.
pub fn notice(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let words = text(PrintedEvent::lenient(record.value).message());
    out.emit(Meta::system(record.short_name(), words), "/msg/message");
    Outcome::Mapped
}

/// The beginning of a command.
pub fn command_begun(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let event = PrintedEvent::lenient(record.value);
    let call = ToolCall {
        call_id: text(event.call_id()),
        args: event.command().map(Value::raw),
        ..call_of(COMMAND)
    };
    out.emit(call, record.at);
    Outcome::Mapped
}

/// The end of a command. Its aggregated output contains both streams.
pub fn command_ended(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let end = CallEnd::lenient(record.value);
    let exit = integer(end.exit_code());
    let whole = end
        .aggregated_output()
        .filter(|output| !is_empty_token(output.raw()));
    let result = ToolResult {
        status: exit.map(|exit| if exit == 0 { Status::Ok } else { Status::Error }),
        exit,
        stdout: text(whole.or(end.stdout())),
        stderr: if whole.is_some() { None } else { stderr(&end) },
        ..result_of(COMMAND, &end)
    };
    out.emit(result, record.at);
    Outcome::Mapped
}

/// The beginning of a patch. Its changes become edits if it is applied.
pub fn patch_begun(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let event = PrintedEvent::lenient(record.value);
    let call = ToolCall {
        call_id: text(event.call_id()),
        args: event.changes().map(Value::raw),
        ..call_of(PATCH)
    };
    out.emit(call, record.at);
    state
        .printed_patches
        .insert(hash64(raw_str(event.call_id())), record.number);
    Outcome::Mapped
}

/// The end of a patch.
pub fn patch_ended(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let end = CallEnd::lenient(record.value);
    let is_applied = end.success().is_some_and(Value::is_true);
    let status = Some(if is_applied {
        Status::Ok
    } else {
        Status::Error
    });
    out.emit(
        ToolResult {
            status,
            stdout: text(end.stdout()),
            stderr: stderr(&end),
            ..result_of(PATCH, &end)
        },
        record.at,
    );
    let begun = state
        .printed_patches
        .remove(&hash64(raw_str(end.call_id())))
        .filter(|_| is_applied);
    if let Some(mut begun) = begun.and_then(|begun| record.others.get(begun as usize)) {
        let msg = begun.value().and_then(|line| line.first_member("msg"));
        let changes = msg
            .and_then(|msg| msg.first_member("changes"))
            .unwrap_or(Value::MISSING);
        let printed = text(end.stdout())
            .map(|stdout| stdout.comparable())
            .unwrap_or_default();
        let call_id = text(end.call_id()).unwrap_or_default();
        let applied = Applied {
            directory: state.last.cwd(),
            changes,
            printed: &printed,
            text: None,
            call_id,
        };
        emit_printed_changes(&mut state.files, &applied, Pointer::At(record.at), out);
    }
    Outcome::Mapped
}

/// The beginning of a call of an MCP server's tool.
pub fn mcp_begun(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let event = PrintedEvent::lenient(record.value);
    let called = Invocation::lenient_opt(event.invocation());
    let tool = text(called.tool()).unwrap_or_default();
    let (server, args) = (text(called.server()), called.arguments().map(Value::raw));
    out.emit(
        ToolCall {
            server,
            call_id: text(event.call_id()),
            args,
            ..ToolCall::new(tool, tools::MCP)
        },
        record.at,
    );
    Outcome::Mapped
}

/// The end of a call of an MCP server's tool.
pub fn mcp_ended(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let end = CallEnd::lenient(record.value);
    let tool = Invocation::lenient_opt(end.invocation()).tool();
    let wrapped = McpResult::lenient(end.result().unwrap_or(record.value));
    let answer = McpResult::lenient_opt(wrapped.ok());
    let texts = joined_texts(answer.content(), "\\n");
    let is_error = wrapped.err().is_some() || answer.is_error().is_some_and(Value::is_true);
    let result = ToolResult {
        tool: text(tool),
        status: Some(if is_error { Status::Error } else { Status::Ok }),
        stdout: texts
            .as_deref()
            .map(Text::Token)
            .or(answer.structured().map(Value::json)),
        stderr: text(wrapped.err()),
        ..result_of("", &end)
    };
    out.emit(result, record.at);
    Outcome::Mapped
}

/// The beginning of a web search. What is searched for is given at its end.
pub fn search_begun(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let event = PrintedEvent::lenient(record.value);
    out.emit(
        ToolCall {
            call_id: text(event.call_id()),
            ..call_of(SEARCH)
        },
        record.at,
    );
    Outcome::Mapped
}

/// The end of a web search: what was searched for, and not what was found.
pub fn search_ended(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let event = PrintedEvent::lenient(record.value);
    let id = text(event.call_id()).unwrap_or_default();
    let query = Meta::system("web_search_query", text(event.query()));
    out.emit_child(out.seq_of_call(id), query, "/msg/query");
    let result = ToolResult {
        tool: Some(Text::Plain(SEARCH)),
        call_id: Some(id),
        status: Some(Status::Ok),
        ..ToolResult::default()
    };
    out.emit(result, record.at);
    Outcome::Mapped
}

/// The tool of commands. The stream does not name the tool that the model called.
const COMMAND: &str = "exec_command";
const PATCH: &str = "apply_patch";
const SEARCH: &str = "web_search";

fn call_of(tool: &'static str) -> ToolCall<'static> {
    ToolCall::new(Text::Plain(tool), tools::kind(tool, ""))
}

fn result_of<'r>(tool: &'static str, end: &CallEnd<'r>) -> ToolResult<'r> {
    let duration_ms = end
        .duration()
        .and_then(|duration| Duration::lenient(duration).millis());
    ToolResult {
        tool: Some(Text::Plain(tool)),
        call_id: text(end.call_id()),
        duration_ms,
        ..ToolResult::default()
    }
}

fn stderr<'r>(end: &CallEnd<'r>) -> Option<Text<'r>> {
    text(end.stderr().filter(|stderr| !is_empty_token(stderr.raw())))
}
