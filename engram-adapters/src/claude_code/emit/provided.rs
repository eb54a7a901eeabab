//! What the provider of the model ran inside of a response: advice, searches, code, tools of its own MCP servers.

use engram_core::emit::Pointer;
use engram_core::event::{Status, ToolResult};
use engram_core::keys::hash64;
use engram_core::steps::Emitter;
use engram_core::text::{Text, push_text};

use super::results::result_text::joined_text;
use crate::claude_code::emit::state::State;
use crate::claude_code::readers::Block;
use crate::shared::value::{Field, Value, integer, is_true, non_empty_text, raw_str, text};

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
