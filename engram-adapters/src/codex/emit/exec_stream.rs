//! What `exec --json` prints (0.44 and later): threads, turns and items, without times and without prompts.

use engram_core::emit::Pointer;
use engram_core::event::{Channel, CodeEdit, EditOp, Meta, MsgOut, Status, ToolCall, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::{Text, canonical_json};

use crate::shared::value::{Value, elements, integer, raw_str, text};

use super::State;
use super::output_text::status_of_mcp_error;
use super::patch_text::operation;
use crate::codex::blocks::joined_texts;
use crate::codex::format::rule;
use crate::codex::record::Record;
use crate::codex::tools;

/// Where the item of a line is.
const ITEM: &str = "/item";

/// An error of the turn or the harness.
pub fn error(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let (holder, at) = match record.value.first_member("error") {
        Some(error) => (error, "/error/message"),
        None => (record.value, "/message"),
    };
    out.emit(Meta::error(None, text(holder.first_member("message"))), at);
    Outcome::Mapped
}

/// A notice of the harness about an error or a risk.
pub fn error_item(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    out.emit(
        Meta::error(None, text(item(record).first_member("message"))),
        "/item/message",
    );
    Outcome::Mapped
}

/// An answer.
pub fn agent_message(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    emit_text(record, None, out)
}

/// A reasoning.
pub fn reasoning(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    emit_text(record, Some(Channel::Reasoning), out)
}

fn emit_text(record: &Record<'_>, channel: Option<Channel>, out: &mut Emitter<'_>) -> Outcome {
    let item = item(record);
    out.emit(
        MsgOut {
            text: text(item.first_member("text")),
            channel,
            ..MsgOut::default()
        },
        "/item/text",
    );
    Outcome::Mapped
}

/// The list of what is to be done, each time that it changes.
pub fn todo_list(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let list = item(record)
        .first_member("items")
        .map(Value::raw)
        .map(canonical_json)
        .unwrap_or_default();
    if !state.last.insert_instructions((state.files.run, &*list)) {
        return record.duplicate(rule::EXEC_SAME_LIST);
    }
    out.emit(
        Meta::system("todo_list", Some(Text::Plain(&list))),
        "/item/items",
    );
    Outcome::Mapped
}

/// The beginning of a call.
pub fn call_started(_: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    emit_call(item(record), out);
    Outcome::Mapped
}

/// The end of a call. Older versions print no beginning of a changed file.
pub fn call_completed(state: &mut State, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let item = item(record);
    let id = text(item.first_member("id")).unwrap_or_default();
    if out.seq_of_open_call(id).is_none() {
        emit_call(item, out);
    }
    let tool = tool_of(item);
    let error = item
        .first_member("error")
        .and_then(|error| error.first_member("message"));
    let status = match (text(error), item.first_member("server")) {
        (Some(_), Some(_)) => Some(status_of_mcp_error(raw_str(error))),
        _ => status_of(item),
    };
    let answer = item.first_member("result");
    let texts = answer.and_then(|answer| joined_texts(answer.first_member("content"), "\\n"));
    let structured = answer.and_then(|answer| answer.first_member("structured_content"));
    let states = item.first_member("agents_states");
    let printed = text(item.first_member("aggregated_output"))
        .or(texts.as_deref().map(Text::Token))
        .or(structured.or(states).map(Value::json));
    let result = ToolResult {
        tool: Some(tool),
        call_id: Some(id),
        status,
        exit: integer(item.first_member("exit_code")),
        stdout: printed,
        stderr: text(error),
        ..ToolResult::default()
    };
    out.emit(result, ITEM);
    if status == Some(Status::Ok) {
        emit_edits(state, item, id, out);
    }
    Outcome::Mapped
}

fn emit_call(item: Value<'_>, out: &mut Emitter<'_>) {
    let server = text(item.first_member("server"));
    let tool = tool_of(item);
    let kind = tools::kind_on(server, &tool.decode_lossy());
    let args = [
        "command",
        "arguments",
        "changes",
        "action",
        "query",
        "prompt",
        "receiver_thread_ids",
    ];
    let args = args
        .into_iter()
        .find_map(|name| item.first_member(name))
        .map(Value::raw);
    out.emit(
        ToolCall {
            server,
            call_id: text(item.first_member("id")),
            args,
            ..ToolCall::new(tool, kind)
        },
        ITEM,
    );
}

/// Emits the files of an applied patch. The stream says which files it changed, and not how.
fn emit_edits(state: &mut State, item: Value<'_>, id: Text<'_>, out: &mut Emitter<'_>) {
    for (index, change) in elements(item.first_member("changes")).enumerate() {
        let Some(file) = text(change.member("path")) else {
            continue;
        };
        let op = match raw_str(change.member("kind")) {
            "add" => EditOp::Create,
            "delete" => EditOp::Delete,
            _ => EditOp::Update,
        };
        let op = operation(&mut state.files, op, &file.decode_lossy());
        out.emit(
            CodeEdit {
                call_id: Some(id),
                ..CodeEdit::new(op, file)
            },
            Pointer::Item("/item/changes", index),
        );
    }
}

/// The name of a tool, or the type of the item where it is one tool.
fn tool_of(item: Value<'_>) -> Text<'_> {
    text(item.first_member("tool"))
        .or_else(|| text(item.first_member("type")))
        .unwrap_or_default()
}

fn status_of(item: Value<'_>) -> Option<Status> {
    match (
        raw_str(item.first_member("status")),
        integer(item.first_member("exit_code")),
    ) {
        ("declined", _) => Some(Status::Denied),
        (_, Some(exit)) => Some(if exit == 0 { Status::Ok } else { Status::Error }),
        ("completed", None) => Some(Status::Ok),
        ("failed", None) => Some(Status::Error),
        _ => None,
    }
}

fn item<'a>(record: &Record<'a>) -> Value<'a> {
    record.value.first_member("item").unwrap_or(Value::MISSING)
}
