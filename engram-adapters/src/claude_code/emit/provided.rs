//! Calls and results that are not those of the harness's tools: what the provider of the model ran inside of a response (advice, searches, code, tools of
//! its own MCP servers), and those that only a sent message has (`api-request-blob`), since their own lines are lost.

use engram_core::emit::Pointer;
use engram_core::event::{Status, ToolCall, ToolResult};
use engram_core::keys::hash64;
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::{Text, push_text};

use super::results::result_context::joined_text;
use crate::claude_code::blocks::CONTENT;
use crate::claude_code::emit::state::State;
use crate::claude_code::emit::state::open_calls::Call;
use crate::claude_code::format::{LineKind, rule};
use crate::claude_code::readers::Block;
use crate::claude_code::record::Record;
use crate::shared::value::{
    Field, Value, elements, integer, is_true, non_empty_text, raw_str, text,
};

/// The result of a call that the provider ran.
#[cold]
pub(super) fn provided_result(
    state: &mut State,
    block: &Block<'_>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    let call_id = text(block.tool_use_id());
    let call = call_id.and_then(|id| state.calls.close(hash64(id.raw())));
    let member = |name| block.content().and_then(|content| content.member(name));
    let exit = integer(member("return_code"));
    let is_error = is_true(block.is_error())
        || member("error_code").is_some()
        || exit.is_some_and(|exit| exit != 0);
    let mut buffer = String::new();
    let output = output(block.content(), &mut buffer);
    let is_words = output.is_some() && is_error && exit.is_none();
    let stderr = text(member("error_code")).or(non_empty_text(member("stderr")));
    let result = ToolResult {
        tool: call.as_ref().map(|call| Text::Plain(&call.tool)),
        call_id,
        status: Some(if is_error { Status::Error } else { Status::Ok }),
        exit,
        stdout: output.filter(|_| !is_words),
        stderr: stderr.or(output.filter(|_| is_words)),
        ..ToolResult::default()
    };
    out.emit(result, pointer);
}

/// The output in the content of a result: its text, what code printed, or the pages that were found, a title or an address a line. Content of
/// another form is its JSON.
fn output<'t, 'a: 't>(content: Field<'a>, buffer: &'t mut String) -> Option<Text<'t>> {
    let content = content?;
    if content.text().is_some() {
        return content.text();
    }
    if content.is_array() {
        let is_page = |value: &Value<'_>| raw_str(value.member("type")) == "web_search_result";
        if content.elements().any(|value| is_page(&value)) {
            pages(content, buffer);
            return Some(Text::Token(buffer));
        }
        return joined_text(content, buffer);
    }
    let is_printed = ["text", "stdout", "error_code"]
        .iter()
        .any(|name| content.member(name).is_some());
    if is_printed {
        return non_empty_text(content.member("text")).or(non_empty_text(content.member("stdout")));
    }
    Some(content.json())
}

/// The titles and addresses of pages.
fn pages(content: Value<'_>, buffer: &mut String) {
    let lines = content
        .elements()
        .flat_map(|page| [page.member("title"), page.member("url")])
        .filter_map(non_empty_text)
        .map(|line| line.decode_lossy().into_owned());
    let lines: Vec<String> = lines.collect();
    push_text(buffer, Text::Plain(&lines.join("\n")));
}

/// `api-request-blob`: emits the calls and results whose own lines are lost.
pub(super) fn sent_message(
    state: &mut State,
    record: &Record<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    let mut outcome = Outcome::duplicate(LineKind::ApiRequestBlob.name(), rule::REQUEST_BLOB);
    if state.plan.lost.is_empty() {
        return outcome;
    }
    for (index, value) in elements(record.message.content()).enumerate() {
        if state.plan.lost.contains(&(record.at, index)) {
            lost_part(state, &Block::lenient(value), index, out);
            outcome = Outcome::Mapped;
        }
    }
    outcome
}

/// A call or a result.
#[cold]
fn lost_part(state: &mut State, block: &Block<'_>, index: usize, out: &mut Emitter<'_>) {
    let pointer = Pointer::Item(CONTENT, index);
    if let (Some(id), Some(tool)) = (text(block.id()), text(block.name())) {
        let call = Call::new(id, &tool.decode_lossy(), block.input(), false);
        let kind = call.kind;
        state.calls.open(hash64(id.raw()), call);
        out.emit(
            ToolCall {
                call_id: Some(id),
                args: block.input().map(Value::raw),
                ..ToolCall::new(tool, kind)
            },
            pointer,
        );
        return;
    }
    let call_id = text(block.tool_use_id());
    let call = call_id.and_then(|id| state.calls.close(hash64(id.raw())));
    let mut buffer = String::new();
    let content = match block.content() {
        Some(list) if list.is_array() => joined_text(list, &mut buffer),
        content => text(content),
    };
    let status = if is_true(block.is_error()) {
        Status::Error
    } else {
        Status::Ok
    };
    let (stdout, stderr) = if status == Status::Ok {
        (content, None)
    } else {
        (None, content)
    };
    let tool = call.as_ref().map(|call| Text::Plain(&call.tool));
    out.emit(
        ToolResult {
            tool,
            call_id,
            status: Some(status),
            stdout,
            stderr,
            ..ToolResult::default()
        },
        pointer,
    );
}
