//! Tool results: what the tool returned, how the call ended, and what it read or changed.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{SideFile, Status, ToolResult};
use engram_core::text::Text;

use super::blocks::images;
use super::converter::Converter;
use super::edited::Edit;
use super::edits::{file_edit, notebook};
use super::returned::{Returned, repeats, say_beside};
use super::schema::{Block, Line, Structured};
use super::{patches, reads};
use crate::shared::value::{Field, Value, is_true, non_empty_text, raw_str, text};
use engram_core::keys::hash64;

/// Where the blocks of a message lie.
const CONTENT: &str = "/message/content";

#[cold]
fn no_call(index: usize) -> Fault {
    Fault::malformed(format!("{CONTENT}/{index}/tool_use_id"), "the id of a call", "nothing")
}

/// Texts by which the harness says that a call was not allowed to run.
const DENIED: &[&str] = &[
    "The user doesn't want to proceed with this tool use.",
    "The user doesn't want to take this action right now.",
    "Claude requested permissions to ",
    "Permission to use ",
];

/// Texts by which the harness says that a call was stopped.
const CANCELLED: &[&str] = &["[Tool call interrupted", "[Request interrupted by user", "Interrupted by user", "<tool_use_error>Cancelled"];

impl Converter {
    /// One `tool_result` block. False when it only repeats what was said.
    #[inline(never)]
    pub fn result(&mut self, line: &Line<'_>, block: &Block<'_>, index: usize, out: &mut Emitter) -> Result<bool, Fault> {
        let call_id = text(block.tool_use_id());
        let call = hash64(call_id.ok_or_else(|| no_call(index))?.raw());
        let mut room = String::new();
        let content = match block.content() {
            Some(list) if list.is_array() => joined(list, &mut room),
            content => text(content),
        };
        let structured = &Structured::lenient_opt(line.tool_use_result());
        let new = self.history.is_new_result(call);
        self.under_way.forget(call);
        if !new && !structured.object().is_object() {
            return Ok(false);
        }
        let status = status(line, block, content, structured);
        let returned = Returned { call_id, status, content, structured, call: self.calls.close(call) };
        if new {
            self.say_result(line, block, index, &returned, out)?;
            if returned.call.is_none() && structured.object().is_object() {
                self.unasked.keep(&returned, line, out)?;
            }
        }
        if status == Status::Ok {
            let files = self.files(&returned, index, out)?;
            return Ok(new || files);
        }
        Ok(new)
    }

    #[inline(never)]
    fn say_result(
        &mut self,
        line: &Line<'_>,
        block: &Block<'_>,
        index: usize,
        returned: &Returned<'_>,
        out: &mut Emitter,
    ) -> Result<(), Fault> {
        let structured = returned.structured;
        let whole = || whole_output(structured, returned.content);
        let (stdout, stderr) = (non_empty_text(structured.stdout()).or_else(whole), non_empty_text(structured.stderr()));
        let own_streams = stdout.is_some() || stderr.is_some();
        let failed = is_true(block.is_error());
        let streams = match (own_streams, failed) {
            (true, _) => (stdout, stderr),
            (false, true) => (None, returned.content),
            (false, false) => (returned.content, None),
        };
        let artifact = self.artifact(structured);
        let result = ToolResult {
            tool: returned.tool(),
            call_id: returned.call_id,
            status: Some(returned.status),
            exit: if failed { returned.content.and_then(exit_code) } else { None },
            stdout: streams.0,
            stderr: streams.1,
            truncated: artifact.is_some() || is_true(structured.truncated()),
            artifact,
            attachments: images(block.content()),
            duration_ms: structured.total_duration_ms().or(structured.duration_ms()).and_then(Value::unsigned),
        };
        out.emit(result, Pointer::Item(CONTENT, index))?;
        if own_streams && !renders(returned.content, stdout, stderr) {
            say_beside(returned.content, Pointer::Field(CONTENT, index, "/content"), out)?;
        }
        returned.say_rest(out)?;
        let unsaid = text(line.tool_use_result()).filter(|said| !repeats(*said, returned.content));
        if unsaid.is_some() || returned.status == Status::Denied {
            returned.say_unsaid(unsaid, out)?;
        }
        Ok(())
    }

    /// What a successful call read or changed. True when there was something.
    #[inline(never)]
    fn files(&mut self, returned: &Returned<'_>, index: usize, out: &mut Emitter) -> Result<bool, Fault> {
        let result = returned.structured;
        if !result.object().is_object() {
            return self.read_arguments(returned, index, out);
        }
        if let Some(file) = result.file().filter(|file| file.is_object()) {
            return reads::structured(returned, file, &mut self.room, out);
        }
        if let Some(diff) = result.bash_edit_diff() {
            return patches::shell(returned, diff, out);
        }
        if let Some(file) = text(result.notebook_path()) {
            let edit = Edit { call_id: returned.call_id, file };
            return notebook(&edit, result, out);
        }
        if let Some(file) = text(result.file_path()) {
            let edit = Edit { call_id: returned.call_id, file };
            return file_edit(&edit, result, &mut self.last_edited, &mut self.room, out);
        }
        if result.is_notebook_edit() {
            return self.read_arguments(returned, index, out);
        }
        Ok(false)
    }

    /// The side file that holds the whole output.
    fn artifact<'a>(&self, structured: &Structured<'a>) -> Option<SideFile<'a>> {
        structured.persisted_output_path().and_then(|path| self.artifact_at(path, structured))
    }

    #[cold]
    fn artifact_at<'a>(&self, path: Value<'a>, structured: &Structured<'a>) -> Option<SideFile<'a>> {
        let path = non_empty_text(Some(path))?;
        let held = self.context.side_files.as_ref().and_then(|files| files.hash(&path.decode_lossy()));
        let bytes = structured.persisted_output_size().and_then(Value::unsigned);
        Some(SideFile { path, hash: held.map(|(hash, _)| hash), bytes: held.map(|(_, bytes)| bytes).or(bytes) })
    }
}

/// The whole output of a tool whose result was cut for the model (2.0.27 to 2.1.42, searches). Tools that write files keep the file there.
fn whole_output<'a>(structured: &Structured<'a>, content: Option<Text<'_>>) -> Option<Text<'a>> {
    let output = non_empty_text(structured.content()).filter(|_| structured.file_path().is_none())?;
    let is_told = content.is_some_and(|content| content.token() == output.token()) || repeats(output, content);
    (!is_told).then_some(output)
}

/// How the call ended.
#[inline(never)]
fn status(line: &Line<'_>, block: &Block<'_>, content: Option<Text<'_>>, structured: &Structured<'_>) -> Status {
    let begins = |texts: &[&str]| content.is_some_and(|content| texts.iter().any(|text| content.starts_with(text)));
    if is_true(structured.interrupted()) || begins(CANCELLED) {
        Status::Cancelled
    } else if !is_true(block.is_error()) {
        Status::Ok
    } else if line.tool_denial_kind().is_some() || begins(DENIED) {
        Status::Denied
    } else {
        Status::Error
    }
}

/// `Exit code N`, with which failed commands begin (2.0.45 and later).
#[inline(never)]
fn exit_code(content: Text<'_>) -> Option<i64> {
    let digits = content.token()?.strip_prefix("\"Exit code ")?;
    let end = digits.find(|c: char| !c.is_ascii_digit())?;
    digits.get(..end)?.parse().ok()
}

/// True when `content` is the one stream that the command wrote to, but for white space at its ends.
#[inline(never)]
fn renders(content: Option<Text<'_>>, stdout: Option<Text<'_>>, stderr: Option<Text<'_>>) -> bool {
    match (content, stdout, stderr) {
        (None, _, _) => true,
        (Some(content), Some(stream), None) if content.token().is_some() && content.token() == stream.token() => true,
        (Some(content), Some(stream), None) if differ_at_once(content, stream) => false,
        (Some(content), Some(stream), None) | (Some(content), None, Some(stream)) => {
            content.decode_lossy().trim() == stream.decode_lossy().trim()
        }
        _ => false,
    }
}

/// True when the first characters of two tokens show that their texts differ, white space aside.
fn differ_at_once(one: Text<'_>, other: Text<'_>) -> bool {
    let first = |text: Text<'_>| text.token()?.as_bytes().get(1).copied().filter(|byte| byte.is_ascii_graphic() && *byte != b'\\');
    matches!((first(one), first(other)), (Some(one), Some(other)) if one != other)
}

/// The text of a result's blocks, if there is any. That of several is joined in `room`, a line end between them.
#[inline(never)]
fn joined<'t, 'a: 't>(blocks: Value<'a>, room: &'t mut String) -> Option<Text<'t>> {
    let mut texts = blocks.elements().filter_map(text_of);
    let (first, second) = (texts.next()?, texts.next());
    if second.is_none() {
        return non_empty_text(first);
    }
    room.reserve(blocks.raw().len());
    room.push('"');
    for said in [first].into_iter().chain(second).chain(texts) {
        if room.len() > 1 {
            room.push_str("\\n");
        }
        room.push_str(raw_str(said));
    }
    room.push('"');
    (room.len() > 2).then_some(Text::Token(room))
}

/// Where a block says something in text, if it is of a kind that does.
fn text_of(block: Value<'_>) -> Option<Field<'_>> {
    let block = Block::lenient(block);
    match raw_str(block.kind()) {
        "text" => Some(block.text()),
        "tool_reference" => Some(block.tool_name()),
        _ => None,
    }
}
