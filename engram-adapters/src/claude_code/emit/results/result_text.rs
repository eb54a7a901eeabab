//! The text of a result as the model saw it, and how it compares with the texts that the log keeps beside it.

use engram_core::text::Text;

use crate::claude_code::readers::{Block, Structured};
use crate::shared::search::contains;
use crate::shared::value::{Field, Value, non_empty_text, raw_str, text};

/// The text of a result's blocks, if there is any. The texts of several blocks are joined in `buffer`, with line ends between them.
#[inline(never)]
pub fn joined_text<'t, 'a: 't>(blocks: Value<'a>, buffer: &'t mut String) -> Option<Text<'t>> {
    let mut texts = blocks.elements().filter_map(text_of_block);
    let (first, second) = (texts.next()?, texts.next());
    if second.is_none() {
        return non_empty_text(first);
    }
    buffer.reserve(blocks.raw().len());
    buffer.push('"');
    for text in [first].into_iter().chain(second).chain(texts) {
        if buffer.len() > 1 {
            buffer.push_str("\\n");
        }
        buffer.push_str(raw_str(text));
    }
    buffer.push('"');
    (buffer.len() > 2).then_some(Text::Token(buffer))
}

/// The text field of a block; none for blocks without text.
fn text_of_block(block: Value<'_>) -> Option<Field<'_>> {
    let block = Block::lenient(block);
    match raw_str(block.kind()) {
        "text" => Some(block.text()),
        "tool_reference" => Some(block.tool_name()),
        _ => None,
    }
}

/// True if `content` contains the text. A beginning `Error: ` does not count.
#[inline(never)]
pub(super) fn repeats(text: Text<'_>, content: Option<Text<'_>>) -> bool {
    let Some(content) = content else {
        return text.is_empty();
    };
    let (text, content) = (text.comparable(), content.comparable());
    contains(
        &content,
        text.strip_prefix("Error: ").unwrap_or(&text).trim(),
    )
}

/// How the text of a result begins whose output is in a file, because it is too big for the model.
pub(super) const PERSISTED: &str = "<persisted-output>";

/// The file that such a text names.
pub(super) fn persisted_path(shown: &str) -> Option<&str> {
    let (_, path) = shown.split_once("Full output saved to: ")?;
    path.lines()
        .next()
        .map(str::trim)
        .filter(|path| !path.is_empty())
}

/// True if a command printed nothing, and the model gets a text of the harness: that there was no output, or which files it changed.
pub(super) fn is_placeholder(structured: &Structured<'_>, content: Option<Text<'_>>) -> bool {
    let is_silent = |stream: Field<'_>| {
        stream
            .and_then(Value::text)
            .is_some_and(|text| text.is_empty())
    };
    let is_hint = |content: Text<'_>| {
        text(structured.stale_read_hint()).is_some_and(|hint| repeats(hint, Some(content)))
    };
    let names_no_output = |content: Text<'_>| {
        content.starts_with("(")
            && content
                .raw()
                .trim_end_matches('"')
                .ends_with(" completed with no output)")
            || content.eq_str("Tool ran without output or errors")
    };
    content.is_some_and(|content| names_no_output(content) || is_hint(content))
        && is_silent(structured.stdout())
        && is_silent(structured.stderr())
}

/// The full output of a search whose result was shortened for the model (2.0.27 to 2.1.42). For tools that write files, the field is
/// the file.
pub(super) fn full_output<'a>(
    structured: &Structured<'a>,
    content: Option<Text<'_>>,
) -> Option<Text<'a>> {
    let output =
        non_empty_text(structured.content()).filter(|_| structured.file_path().is_none())?;
    let is_shown = content.is_some_and(|content| content.token() == output.token())
        || repeats(output, content);
    (!is_shown).then_some(output)
}

/// True if `content` is the one stream that the command wrote to. White space at its ends does not count.
#[inline(never)]
pub(super) fn is_stream(
    content: Option<Text<'_>>,
    stdout: Option<Text<'_>>,
    stderr: Option<Text<'_>>,
) -> bool {
    match (content, stdout, stderr) {
        (None, ..) => true,
        (Some(content), Some(stream), None)
            if content.token().is_some() && content.token() == stream.token() =>
        {
            true
        }
        (Some(content), Some(stream), None) if differ_at_once(content, stream) => false,
        (Some(content), Some(stream), None) | (Some(content), None, Some(stream)) => {
            content.comparable().trim() == stream.comparable().trim()
        }
        _ => false,
    }
}

/// True if the first characters of two tokens show that the texts differ by more than white space.
fn differ_at_once(one: Text<'_>, other: Text<'_>) -> bool {
    let first = |text: Text<'_>| {
        text.token()?
            .as_bytes()
            .get(1)
            .copied()
            .filter(|byte| byte.is_ascii_graphic() && *byte != b'\\')
    };
    matches!((first(one), first(other)), (Some(one), Some(other)) if one != other)
}
