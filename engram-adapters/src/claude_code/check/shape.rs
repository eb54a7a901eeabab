//! What a line must have, by its type. Step 3 relies on it.

use engram_core::emit::{Fault, Pointer};
use engram_core::steps::Check;

use crate::claude_code::blocks::{
    CONTENT, images, is_call, is_provided_result, malformed_content, message_block,
    missing_in_block, prompt_texts,
};
use crate::claude_code::emit::LAST_LINE;
use crate::claude_code::format::LineKind;
use crate::claude_code::readers::{Attachment, DiffFile, Hunk, Line, Message};
use crate::claude_code::record::SYNTHETIC_MODEL;
use crate::shared::value::{Field, Value, elements, is_true, raw_str, text};

/// The content of an `assistant` line: a text, or a list of blocks.
pub(super) fn answer(message: &Message<'_>, check: &Check<'_>) -> Result<(), Fault> {
    let content = message
        .content()
        .ok_or_else(|| malformed_content("nothing"))?;
    if raw_str(message.model()) == SYNTHETIC_MODEL || content.text().is_some() {
        return Ok(());
    }
    if content.elements().next().is_none()
        && let Some(character) = message.object().member("0")
    {
        // 2.1.81 logged the raw text of a failed stream as a message with one member for each character.
        return Err(Fault::malformed("/message", "a message", character.raw()));
    }
    if !content.is_array() {
        return Err(malformed_content(content.raw()));
    }
    for (index, value) in content.elements().enumerate() {
        let block = message_block(value, index)?;
        match raw_str(block.kind()) {
            kind if is_call(kind) => {
                required(index, "name", block.name(), "the name of a tool", "nothing")?
            }
            "text" => required(index, "text", block.text(), "text", value.raw())?,
            "thinking" | "redacted_thinking" | "fallback" => {}
            kind if is_provided_result(kind) => required(
                index,
                "tool_use_id",
                block.tool_use_id(),
                "the id of a call",
                "nothing",
            )?,
            other => check
                .unknown_block(other)
                .map_err(|fault| fault.within(Pointer::Item(CONTENT, index)))?,
        }
    }
    Ok(())
}

/// The content of a `user` line: a text, or a list of blocks.
pub(super) fn input(
    line: &Line<'_>,
    message: &Message<'_>,
    check: &Check<'_>,
) -> Result<(), Fault> {
    let content = message
        .content()
        .ok_or_else(|| malformed_content("nothing"))?;
    if content.text().is_some() {
        return Ok(());
    }
    if !content.is_array() {
        return Err(malformed_content(content.raw()));
    }
    for (index, value) in content.elements().enumerate() {
        let block = message_block(value, index)?;
        match raw_str(block.kind()) {
            "tool_result" => required(
                index,
                "tool_use_id",
                block.tool_use_id(),
                "the id of a call",
                "nothing",
            )?,
            "text" => required(index, "text", block.text(), "text", value.raw())?,
            "image" | "document" if block.source().is_some() => {}
            "image" | "document" => {
                return Err(missing_in_block(index, "source", "an object", value.raw()));
            }
            other => check
                .unknown_block(other)
                .map_err(|fault| fault.within(Pointer::Item(CONTENT, index)))?,
        }
    }
    if is_shared_result(line, content) {
        check.unknown_block("toolUseResult")?;
    }
    shell_diff(
        line.tool_use_result()
            .and_then(|result| result.member("bashEditDiff")),
    )
}

/// The changes of a shell command have the numbers of real lines.
fn shell_diff(diff: Field<'_>) -> Result<(), Fault> {
    let Some(files) = diff.and_then(|diff| diff.member("files")) else {
        return Ok(());
    };
    for (index, file) in files.elements().map(DiffFile::lenient).enumerate() {
        let is_number = |start: Field<'_>| {
            start
                .and_then(Value::unsigned)
                .is_some_and(|start| (1..=LAST_LINE).contains(&start))
        };
        let fits = |hunk: &Hunk<'_>| {
            let is_empty = hunk
                .lines()
                .is_none_or(|lines| lines.elements().next().is_none());
            let before = is_true(file.created()) || is_number(hunk.old_start());
            is_empty || (before && (is_true(file.deleted()) || is_number(hunk.new_start())))
        };
        if let Some(hunk) = elements(file.hunks())
            .map(Hunk::lenient)
            .find(|hunk| !fits(hunk))
        {
            let pointer = format!("/toolUseResult/bashEditDiff/files/{index}/hunks");
            return Err(Fault::malformed(
                pointer,
                "the numbers of lines",
                hunk.object().raw(),
            ));
        }
    }
    Ok(())
}

/// True for a structured result beside several results, none of which repeats it. It does not name its call.
pub(in crate::claude_code) fn is_shared_result(line: &Line<'_>, content: Value<'_>) -> bool {
    let Some(structured) = line.tool_use_result() else {
        return false;
    };
    let repeats = |block: Value<'_>| {
        block
            .member("content")
            .is_some_and(|content| content.raw() == structured.raw())
    };
    has_several_results(content) && !content.elements().any(repeats)
}

/// True if a message has the results of several calls.
pub(in crate::claude_code) fn has_several_results(content: Value<'_>) -> bool {
    content
        .elements()
        .filter(|block| super::is_result(*block))
        .nth(1)
        .is_some()
}

fn required(
    index: usize,
    name: &str,
    field: Field<'_>,
    expected: &'static str,
    found: &str,
) -> Result<(), Fault> {
    if text(field).is_some() {
        Ok(())
    } else {
        Err(missing_in_block(index, name, expected, found))
    }
}

/// The member of a line that its type needs.
pub(super) fn session_line(kind: LineKind, line: &Line<'_>) -> Result<(), Fault> {
    let needs = |field: Field<'_>, pointer: &str, expected| match field {
        Some(_) => Ok(()),
        None => Err(Fault::malformed(pointer, expected, "nothing")),
    };
    match kind {
        LineKind::Summary => needs(line.summary(), "/summary", "a title"),
        LineKind::AiTitle => needs(line.ai_title(), "/aiTitle", "a title"),
        LineKind::CustomTitle => needs(
            line.object().member("customTitle"),
            "/customTitle",
            "a title",
        ),
        LineKind::PrLink => needs(
            line.object()
                .member("prUrl")
                .filter(|url| url.text().is_some()),
            "/prUrl",
            "a URL",
        ),
        LineKind::ApiRequestShape => needs(line.shape(), "/shape", "the shape of a request"),
        _ => Ok(()),
    }
}

/// A `system` line: its content is text.
pub(super) fn notice(line: &Line<'_>) -> Result<(), Fault> {
    match line.content().filter(|content| content.text().is_none()) {
        Some(content) => Err(Fault::malformed("/content", "text", content.raw())),
        None => Ok(()),
    }
}

/// An `attachment` line.
pub(super) fn attachment<'a>(line: &Line<'a>) -> Result<Attachment<'a>, Fault> {
    let attachment = line
        .attachment()
        .ok_or_else(|| Fault::malformed("/attachment", "an attachment", "nothing"))?;
    let attachment = Attachment::strict(attachment, "/attachment")?;
    match raw_str(attachment.kind()) {
        "queued_command" => prompt(
            attachment.prompt(),
            "/attachment/prompt",
            "text or a list of blocks",
        )?,
        "instructions" if attachment.object().member("files").is_none() => {
            return Err(Fault::malformed(
                "/attachment/files",
                "a list of files",
                "nothing",
            ));
        }
        _ => {}
    }
    Ok(attachment)
}

/// A prompt: a text, or a list of texts and images.
pub(super) fn prompt(
    prompt: Field<'_>,
    pointer: &str,
    expected: &'static str,
) -> Result<(), Fault> {
    let prompt = prompt.ok_or_else(|| Fault::malformed(pointer, "a prompt", "nothing"))?;
    let is_prompt = prompt_texts(prompt).next().is_some() || !images(Some(prompt)).is_empty();
    if is_prompt {
        Ok(())
    } else {
        Err(Fault::malformed(pointer, expected, prompt.raw()))
    }
}
