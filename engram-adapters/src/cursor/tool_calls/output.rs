//! The output of a successful call, by its tool. For shell commands, of a failed one too.

use engram_core::event::{Status, ToolResult};
use engram_core::text::Text;

use crate::cursor::fields::unsigned;
use crate::cursor::readers::ResultFields;
use crate::shared::value::{Value, integer, is_true, non_empty_text, raw_str};

/// A shell command: exit code, output and duration, whether it succeeded or not.
pub(super) fn shell<'a>(fields: &ResultFields<'a>, result: &mut ToolResult<'a>) {
    // A command that went on in the background has not ended: its exit code is the default of the format.
    let went_on = fields.background_reason().is_some_and(|reason| {
        reason.raw() != "0" && !raw_str(Some(reason)).ends_with("UNSPECIFIED")
    });
    result.exit = integer(fields.exit_code()).filter(|_| !went_on);
    result.stdout = non_empty_text(fields.stdout());
    result.stderr = non_empty_text(fields.stderr());
    if result.stdout.is_none() && result.stderr.is_none() {
        result.stdout = non_empty_text(fields.interleaved_output())
            .or(non_empty_text(fields.output_head()))
            .or(non_empty_text(fields.output_tail()));
    }
    result.truncated = unsigned(fields.elided_chars()).is_some_and(|elided| elided > 0);
    result.duration_ms = unsigned(fields.execution_time()).or(result.duration_ms);
    // `ShellAbortReason` (SDK 1.0.32 descriptors): 1 `USER_ABORT`, 2 `TIMEOUT`. Nobody stops a command that takes too long.
    let is_timeout = fields
        .abort_reason()
        .is_some_and(|reason| reason.raw() == "2" || raw_str(Some(reason)).ends_with("TIMEOUT"));
    if is_true(fields.aborted()) && !is_timeout {
        result.status = Some(Status::Cancelled);
    } else if result.status == Some(Status::Ok) && result.exit.is_some_and(|exit| exit != 0) {
        result.status = Some(Status::Error);
    }
}

/// The content of a file or a page.
pub(super) fn content_text<'a>(fields: &ResultFields<'a>, result: &mut ToolResult<'a>) {
    result.stdout = if fields.content().is_some() {
        non_empty_text(fields.content())
    } else {
        json_or_none(fields)
    };
}

/// A page as Markdown.
pub(super) fn markdown_text<'a>(fields: &ResultFields<'a>, result: &mut ToolResult<'a>) {
    result.stdout = if fields.markdown().is_some() {
        non_empty_text(fields.markdown())
    } else {
        json_or_none(fields)
    };
}

/// The message of a change to a file.
pub(super) fn message_text<'a>(fields: &ResultFields<'a>, result: &mut ToolResult<'a>) {
    result.stdout = non_empty_text(fields.message());
}

/// No text: the result is a fact about a file, which `code.edit` represents.
pub(super) fn no_text(_: &ResultFields<'_>, _: &mut ToolResult<'_>) {}

/// The texts that an MCP tool returned, or all its parts as JSON.
pub(super) fn mcp_parts<'a>(
    fields: &ResultFields<'a>,
    buffer: &'a mut String,
    result: &mut ToolResult<'a>,
) {
    let output =
        fields
            .content()
            .and_then(|content| match joined_texts(content.elements(), buffer) {
                Some(texts) => Some(texts).filter(|texts| !texts.is_empty()),
                None => Some(fields.json()),
            });
    if is_true(fields.is_error()) {
        result.status = Some(Status::Error);
        result.stderr = output;
    } else {
        result.stdout = output;
    }
}

/// The whole result as JSON, unless it is empty.
pub(super) fn json_text<'a>(fields: &ResultFields<'a>, result: &mut ToolResult<'a>) {
    result.stdout = json_or_none(fields);
}

fn json_or_none<'a>(fields: &ResultFields<'a>) -> Option<Text<'a>> {
    Some(fields.json()).filter(|_| !fields.object().is_empty_object())
}

/// The texts of the parts that an MCP tool returned, with line ends between them: what the model gets of them. `None` if a part is no text.
pub(in crate::cursor) fn joined_texts<'t>(
    parts: impl Iterator<Item = Value<'t>>,
    buffer: &'t mut String,
) -> Option<Text<'t>> {
    buffer.push('"');
    for (index, part) in parts.enumerate() {
        let text = part.member("text")?.member("text");
        text?.text()?;
        buffer.push_str(if index > 0 { "\\n" } else { "" });
        buffer.push_str(raw_str(text));
    }
    buffer.push('"');
    Some(Text::Token(buffer))
}
