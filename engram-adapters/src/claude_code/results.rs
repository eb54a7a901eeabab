//! Tool results: what the tool returned, how the call ended, and what it read or changed.

use std::borrow::Cow;

use engram_core::emit::{Emitter, Fault};
use engram_core::event::{Artifact, Context, Decision, Meta, Permission, Status, ToolResult};
use engram_core::render::Pointer;
use engram_core::text::Text;
use engram_core::tool_kind::ToolKind;

use super::convert::Converter;
use super::messages::images;
use super::schema::{Block, FileArguments, Line, Structured};
use super::tools::TOOLS;
use crate::kit::correlate::key;
use crate::kit::search::holds;
use crate::kit::value::{Field, Value, filled_text, is_true, text, word};

/// Where the blocks of a message lie.
const CONTENT: &str = "/message/content";

/// What is remembered of a call until its result comes.
pub(super) struct Call {
    /// The tool's name.
    pub tool: Cow<'static, str>,
    pub kind: ToolKind,
    /// The sub-agent that it started.
    pub started: Option<Box<Started>>,
    pub kept: Kept,
}

/// What is kept of a call's arguments, where the result may not tell what was read or changed. Strings stand as the source spells them.
pub(super) enum Kept {
    Nothing,
    /// The file that was read.
    File(String),
    /// A key of the text that is to be written.
    Written(u64),
    /// All of them.
    Arguments(String),
}

/// What is remembered of a call that starts a sub-agent.
pub(super) struct Started {
    /// The call's id.
    pub call_id: String,
    /// A key of the prompt.
    pub prompt: u64,
}

impl Call {
    /// The facts of a call that its result may need.
    #[inline(never)]
    pub fn of(call_id: Text<'_>, tool: &str, input: Field<'_>, keep_arguments: bool) -> Self {
        let (tool, kind) = TOOLS.named(tool);
        let arguments = FileArguments::stated(input);
        let prompt = text(arguments.prompt()).map(|prompt| key(prompt.decode_lossy()));
        let started = prompt.map(|prompt| Box::new(Started { call_id: call_id.decode_lossy().into_owned(), prompt }));
        // Results of reads and of notebook edits do not always name the file.
        let kept = match (arguments.path().or(arguments.notebook_path()), input) {
            (Some(file), _) if kind == ToolKind::Read => Kept::File(file.raw().to_owned()),
            (Some(_), Some(input)) if keep_arguments || arguments.notebook_path().is_some() => Kept::Arguments(input.raw().to_owned()),
            (Some(_), _) if kind == ToolKind::Write => arguments.content().map_or(Kept::Nothing, |asked| Kept::Written(key(asked.raw()))),
            _ => Kept::Nothing,
        };
        Call { tool, kind, started, kept }
    }
}

/// What a result block comes to.
pub(super) struct Returned<'a> {
    pub call_id: Option<Text<'a>>,
    pub status: Status,
    /// The text that the model saw.
    pub content: Option<Text<'a>>,
    /// Empty where the result is only text.
    pub structured: &'a Structured<'a>,
    pub call: Option<Call>,
}

impl<'a> Returned<'a> {
    /// The tool that was called, where the call came before.
    fn tool(&self) -> Option<Text<'_>> {
        self.call.as_ref().map(|call| Text::Plain(&call.tool))
    }

    /// What the structured result says besides, where the model was not told it.
    #[inline(never)]
    fn say_rest(&self, out: &mut Emitter) -> Result<(), Fault> {
        let structured = self.structured;
        let rest = [
            (structured.code_words(), "/toolUseResult/returnCodeInterpretation"),
            (structured.output_file(), "/toolUseResult/outputFile"),
            (structured.task().and_then(|task| task.member("output")), "/toolUseResult/task/output"),
        ];
        for (field, pointer) in rest {
            if let Some(said) = filled_text(field).filter(|said| !repeats(*said, self.content)) {
                say_beside(Some(said), Pointer::At(pointer), out)?;
            }
        }
        if self.content.is_some_and(|content| content.begins("<persisted-output>")) {
            self.say_whole(out)?;
        }
        self.say_written(out)
    }

    /// The text that was written, where it is not what the call asked for: a person or the harness changed it.
    fn say_written(&self, out: &mut Emitter) -> Result<(), Fault> {
        let Some(Call { kept: Kept::Written(asked), .. }) = self.call else { return Ok(()) };
        match self.structured.content().filter(|written| written.text().is_some() && key(written.raw()) != asked) {
            Some(written) => say_beside(written.text(), Pointer::At("/toolUseResult/content"), out),
            None => Ok(()),
        }
    }

    /// The answer of a sub-agent, where the model was given its beginning and a file's name.
    #[cold]
    fn say_whole(&self, out: &mut Emitter) -> Result<(), Fault> {
        for (index, block) in self.structured.content().into_iter().flat_map(Value::elements).enumerate() {
            if let Some(said) = filled_text(Block::of(block).text()) {
                say_beside(Some(said), Pointer::Field("/toolUseResult/content", index, "/text"), out)?;
            }
        }
        Ok(())
    }

    /// What the log keeps beside the result, where the model was not told it: why a call was denied or failed.
    #[cold]
    fn say_unsaid(&self, said: Option<Text<'_>>, out: &mut Emitter) -> Result<(), Fault> {
        const POINTER: Pointer<'static> = Pointer::At("/toolUseResult");
        if self.status == Status::Denied {
            let denied = Permission { decision: Decision::Deny, tool: self.tool(), call_id: self.call_id, text: said };
            out.emit(Meta::Permission(denied), Pointer::Root)?;
        } else if self.status == Status::Ok {
            say_beside(said, POINTER, out)?;
        } else {
            out.emit(Meta::Error { code: None, text: said }, POINTER)?;
        }
        Ok(())
    }
}

/// A text that stands beside a result.
#[cold]
fn say_beside(text: Option<Text<'_>>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<(), Fault> {
    out.emit(Meta::Context(Context { name: Text::Plain("tool_result"), file: None, hash: None, bytes: None, text }), pointer)?;
    Ok(())
}

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
        let call = key(call_id.ok_or_else(|| no_call(index))?.spelled());
        let mut room = String::new();
        let content = match block.content() {
            Some(list) if list.is_array() => joined(list, &mut room),
            content => text(content),
        };
        let structured = &Structured::stated(line.tool_use_result());
        let new = self.history.is_new_result(call);
        self.under_way.forget(call);
        if !new && !structured.object().is_object() {
            return Ok(false);
        }
        let status = status(line, block, content, structured);
        let returned = Returned { call_id, status, content, structured, call: self.calls.close(call) };
        if new {
            self.say_result(line, block, index, &returned, out)?;
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
        let (stdout, stderr) = (filled_text(structured.stdout()).or_else(whole), filled_text(structured.stderr()));
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

    /// The side file that holds the whole output.
    fn artifact<'a>(&self, structured: &Structured<'a>) -> Option<Artifact<'a>> {
        structured.persisted_output_path().and_then(|path| self.artifact_at(path, structured))
    }

    #[cold]
    fn artifact_at<'a>(&self, path: Value<'a>, structured: &Structured<'a>) -> Option<Artifact<'a>> {
        let path = filled_text(Some(path))?;
        let held = self.context.side_files.as_ref().and_then(|files| files.hash(&path.decode_lossy()));
        let bytes = structured.persisted_output_size().and_then(Value::unsigned);
        Some(Artifact { path, hash: held.map(|(hash, _)| hash), bytes: held.map(|(_, bytes)| bytes).or(bytes) })
    }
}

/// The whole output of a tool whose result was cut for the model (2.0.27 to 2.1.42, searches). Tools that write files keep the file there.
fn whole_output<'a>(structured: &Structured<'a>, content: Option<Text<'_>>) -> Option<Text<'a>> {
    let output = filled_text(structured.content()).filter(|_| structured.file_path().is_none())?;
    let is_told = content.is_some_and(|content| content.token() == output.token()) || repeats(output, content);
    (!is_told).then_some(output)
}

/// How the call ended.
#[inline(never)]
fn status(line: &Line<'_>, block: &Block<'_>, content: Option<Text<'_>>, structured: &Structured<'_>) -> Status {
    let begins = |texts: &[&str]| content.is_some_and(|content| texts.iter().any(|text| content.begins(text)));
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

/// True when `content` holds the text that the log keeps beside it, but for the word `Error`.
#[inline(never)]
fn repeats(said: Text<'_>, content: Option<Text<'_>>) -> bool {
    let Some(content) = content else { return said.is_empty() };
    let (said, content) = (said.decode_lossy(), content.decode_lossy());
    holds(&content, said.strip_prefix("Error: ").unwrap_or(&said).trim())
}

/// The text of a result's blocks, if there is any. That of several is joined in `room`, a line end between them.
#[inline(never)]
fn joined<'t, 'a: 't>(blocks: Value<'a>, room: &'t mut String) -> Option<Text<'t>> {
    let mut texts = blocks.elements().filter_map(text_of);
    let (first, second) = (texts.next()?, texts.next());
    if second.is_none() {
        return filled_text(first);
    }
    room.reserve(blocks.raw().len());
    room.push('"');
    for said in [first].into_iter().chain(second).chain(texts) {
        if room.len() > 1 {
            room.push_str("\\n");
        }
        room.push_str(word(said));
    }
    room.push('"');
    (room.len() > 2).then_some(Text::Token(room))
}

/// Where a block says something in text, if it is of a kind that does.
fn text_of(block: Value<'_>) -> Option<Field<'_>> {
    let block = Block::of(block);
    match word(block.kind()) {
        "text" => Some(block.text()),
        "tool_reference" => Some(block.tool_name()),
        _ => None,
    }
}
