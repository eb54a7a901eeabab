//! One tool result with its call: how it ended, its text as the model saw it, and the events for what the log keeps beside that text.

use engram_core::emit::Pointer;
use engram_core::event::{Author, CodeEdit, Decision, EditOp, Meta, MsgIn, Status};
use engram_core::keys::hash64;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::claude_code::authors::{self, DENIED_BY_PERSON};
use crate::claude_code::blocks::CONTENT;
use crate::claude_code::context_events::emit_text;
use crate::claude_code::emit::state::Scratch;
use crate::claude_code::emit::state::open_calls::{Call, KeptArguments};
use crate::claude_code::readers::{Block, FileArguments, Line, Structured};
use crate::claude_code::wrappers::HANDED_BACK;
use crate::shared::search::contains;
use crate::shared::value::{Field, Value, elements, is_true, non_empty_text, parse, raw_str, text};

const TOOL_USE_RESULT: Pointer<'static> = Pointer::At("/toolUseResult");

/// One tool result with its call.
pub(super) struct ResultContext<'a> {
    pub call_id: Option<Text<'a>>,
    pub status: Status,
    /// The text that the model saw.
    pub content: Option<Text<'a>>,
    /// `toolUseResult`; empty if it is only text.
    pub structured: &'a Structured<'a>,
    /// None if the call is missing.
    pub call: Option<Call>,
    /// The directory of the session when the call returned.
    pub cwd: Option<Text<'a>>,
}

impl<'a> ResultContext<'a> {
    /// The name of the called tool, if the call is known.
    pub fn tool(&self) -> Option<Text<'_>> {
        self.call.as_ref().map(|call| Text::Plain(&call.tool))
    }

    fn is_of(&self, tool: &str) -> bool {
        self.call.as_ref().is_some_and(|call| &*call.tool == tool)
    }

    /// The target of edits of this file.
    pub fn edit_of(&self, file: Text<'a>) -> EditTarget<'a> {
        EditTarget {
            call_id: self.call_id,
            file,
            is_empty: false,
        }
    }

    /// Emits the fields of the structured result that the model did not see.
    #[inline(never)]
    pub fn emit_extra_fields(&self, scratch: &mut Scratch, out: &mut Emitter) {
        let structured = self.structured;
        let of_task = |name| structured.task().and_then(|task| task.member(name));
        let fields = [
            (
                structured.return_code_interpretation(),
                "/toolUseResult/returnCodeInterpretation",
            ),
            (structured.output_file(), "/toolUseResult/outputFile"),
            (
                structured.object().member("worktreePath"),
                "/toolUseResult/worktreePath",
            ),
            (
                structured.object().member("worktreeBranch"),
                "/toolUseResult/worktreeBranch",
            ),
            (
                structured.object().member("display"),
                "/toolUseResult/display",
            ),
            (of_task("output"), "/toolUseResult/task/output"),
            // The arguments of the call that made a task have it.
            (
                of_task("description").filter(|_| !self.is_of("TaskCreate")),
                "/toolUseResult/task/description",
            ),
        ];
        for (field, pointer) in fields {
            if let Some(text) = non_empty_text(field).filter(|text| !repeats(*text, self.content)) {
                emit_context(Some(text), Pointer::At(pointer), out);
            }
        }
        self.emit_changed_arguments(scratch, out)
    }

    /// Emits the texts that were written or replaced, if they differ from the call's arguments: a person or the harness changed
    /// them, or the file has other quotation marks.
    fn emit_changed_arguments(&self, scratch: &mut Scratch, out: &mut Emitter) {
        let structured = self.structured;
        let Some(call) = &self.call else { return };
        let (content, old, new) = match &call.arguments {
            KeptArguments::WrittenText(text) => (Some(*text), None, None),
            KeptArguments::ReplacedText { old, new } => (None, Some(*old), Some(*new)),
            KeptArguments::All(json) if structured.file_path().is_some() => {
                let arguments =
                    FileArguments::lenient_opt(parse(json, &mut scratch.arguments).ok());
                let hash = |field: Field<'_>| field.map(|value| hash64(value.raw()));
                (
                    hash(arguments.content()),
                    hash(arguments.old_string()),
                    hash(arguments.new_string()),
                )
            }
            _ => return,
        };
        for (argument, written, pointer) in [
            (content, structured.content(), "/toolUseResult/content"),
            (old, structured.old_string(), "/toolUseResult/oldString"),
            (new, structured.new_string(), "/toolUseResult/newString"),
        ] {
            if let Some(argument) = argument {
                emit_if_changed(written, argument, pointer, out);
            }
        }
    }

    /// True if the model saw only the beginning of the output, and the name of a file with all of it.
    pub fn is_persisted(&self) -> bool {
        self.content
            .is_some_and(|content| content.starts_with(PERSISTED))
    }

    /// True if the model saw the report of a sub-agent in words of the harness, with each line indented (2.1.332).
    pub fn is_handed_back(&self) -> bool {
        self.content
            .is_some_and(|content| content.starts_with(HANDED_BACK))
    }

    /// The whole output of a sub-agent or of an MCP tool, of which the model saw the beginning, or another form: a text, or blocks of text.
    #[cold]
    pub fn whole_output<'t>(&self, result: Field<'a>, buffer: &'t mut String) -> Option<Text<'t>>
    where
        'a: 't,
    {
        let blocks = result.filter(|result| result.is_array());
        match blocks.or(self
            .structured
            .content()
            .filter(|content| content.is_array()))
        {
            Some(blocks) => joined_text(blocks, buffer),
            None => non_empty_text(result),
        }
    }

    /// Before the result of a denied call: emits a reason that the model did not see. A denial without one is emitted with the result.
    pub fn emit_denial_reason(&self, reason: Text<'_>, out: &mut Emitter) {
        let denied = Decision::Deny.of_call(self.tool(), self.call_id, Some(reason));
        out.emit(denied, TOOL_USE_RESULT);
    }

    /// Emits a text that the model did not see: why a call failed, or a note.
    #[cold]
    pub fn emit_unseen_text(&self, text: Text<'_>, out: &mut Emitter) {
        if matches!(self.status, Status::Ok | Status::Cancelled) {
            emit_context(Some(text), TOOL_USE_RESULT, out);
        } else {
            let error = Meta::error(None, Some(text));
            out.emit(error, TOOL_USE_RESULT);
        }
    }
}

impl ResultContext<'_> {
    /// Emits who decided about the call, and what a person typed when denying it.
    #[inline]
    pub fn emit_decision(
        &self,
        line: &Line<'_>,
        (index, failed): (usize, bool),
        out: &mut Emitter,
    ) {
        if let Some(decision) = line.permission_decision()
            && self.status != Status::Denied
        {
            self.emit_stated_decision(decision, out);
        }
        if failed
            && self.content.is_some_and(|content| {
                DENIED_BY_PERSON
                    .iter()
                    .any(|denied| content.starts_with(denied))
            })
        {
            self.emit_words(index, out);
        } else if failed && is_true(line.holds_persons_words()) {
            self.emit_stated_words(line, index, out);
        }
    }

    #[inline(never)]
    fn emit_stated_decision(&self, stated: Value<'_>, out: &mut Emitter) {
        let decision = match raw_str(stated.member("decision")) {
            "accept" => Decision::Allow,
            "reject" => Decision::Deny,
            _ => Decision::Ask,
        };
        let source = text(stated.member("source"));
        out.emit(
            decision.of_call(self.tool(), self.call_id, source),
            "/permissionDecision",
        );
    }

    /// Emits the result of a call that a person denied: it is what the person typed.
    #[cold]
    fn emit_stated_words(&self, line: &Line<'_>, index: usize, out: &mut Emitter) {
        let source = line
            .permission_decision()
            .and_then(|decision| decision.member("source"));
        if raw_str(source) != "user_reject" || self.content.is_none() {
            return;
        }
        let message = MsgIn::user(Author::Person, self.content);
        out.emit(message, Pointer::Field(CONTENT, index, "/content"));
    }

    #[cold]
    fn emit_words(&self, index: usize, out: &mut Emitter) {
        let content = self
            .content
            .map(|content| content.decode_lossy())
            .unwrap_or_default();
        let Some(words) = authors::words_of_denial(&content) else {
            return;
        };
        let message = MsgIn::user(Author::Person, Some(Text::Plain(words)));
        out.emit(message, Pointer::Field(CONTENT, index, "/content"));
    }
}

/// Emits a text whose hash is not that of the call's argument.
fn emit_if_changed(text: Field<'_>, argument: u64, pointer: &str, out: &mut Emitter) {
    if let Some(text) = text.filter(|text| text.text().is_some() && hash64(text.raw()) != argument)
    {
        emit_context(text.text(), Pointer::At(pointer), out);
    }
}

/// Emits a text that the log keeps beside a result.
#[cold]
pub(super) fn emit_context(text: Option<Text<'_>>, pointer: Pointer<'_>, out: &mut Emitter) {
    emit_text("tool_result", text, pointer, out)
}

/// What all edits of one result have in common.
pub(super) struct EditTarget<'a> {
    pub call_id: Option<Text<'a>>,
    pub file: Text<'a>,
    /// The file was there before the edit, without any text.
    pub is_empty: bool,
}

impl<'a> EditTarget<'a> {
    /// An event of this result.
    pub fn event(&self, op: EditOp) -> CodeEdit<'a> {
        let op = match op {
            EditOp::Create if self.is_empty => EditOp::Update,
            op => op,
        };
        CodeEdit {
            call_id: self.call_id,
            ..CodeEdit::new(op, self.file)
        }
    }
}

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

/// True if the model gets a text of the harness in place of an output: a command printed nothing, or the file is empty.
pub(super) fn is_placeholder(structured: &Structured<'_>, content: Option<Text<'_>>) -> bool {
    let is_reminder = |content: Text<'_>| content.starts_with("<system-reminder>");
    let has_no_text = structured
        .file()
        .and_then(|file| file.member("content"))
        .and_then(Value::text)
        .is_some_and(|text| text.is_empty());
    if has_no_text && content.is_some_and(is_reminder) {
        return true;
    }
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
    // An MCP server gave no block.
    if structured.object().is_empty_list() && content.is_some_and(names_no_output) {
        return true;
    }
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

/// How the harness reports that a call was denied, beside the denials of a person.
const DENIED: &[&str] = &[
    "The user doesn't want to take this action right now.",
    "Claude requested permissions to ",
    "Permission to use ",
    // The auto mode (2.1.220 and later), which has a reason of its own when its check does not answer.
    "Permission for this action was denied by the Claude Code auto mode classifier.",
    "Auto mode could not evaluate this action and is blocking it for safety",
    "Auto mode is unavailable: its safety check does not run for this session",
];

/// The same, after the name of a model that does not answer.
const CHECK_IS_MISSING: &str =
    " is temporarily unavailable, so auto mode cannot determine the safety of ";

/// The longest name of a model.
const MODEL_BYTES: usize = 100;

/// How the harness reports that a call was cancelled.
const CANCELLED: &[&str] = &[
    "[Tool call interrupted",
    "[Request interrupted by user",
    "Interrupted by user",
    "<tool_use_error>Cancelled",
];

/// True if the log says that somebody decided against a call: a person, a rule of the settings, a hook.
fn is_rejected(stated: Field<'_>) -> bool {
    raw_str(stated.and_then(|stated| stated.member("decision"))) == "reject"
}

/// How the call ended.
#[inline(never)]
pub(super) fn status(
    line: &Line<'_>,
    block: &Block<'_>,
    content: Option<Text<'_>>,
    structured: &Structured<'_>,
) -> Status {
    let begins = |texts: &[&str]| {
        content.is_some_and(|content| texts.iter().any(|text| content.starts_with(text)))
    };
    let was_stopped = || {
        begins(&DENIED_BY_PERSON)
            && content.is_some_and(|content| authors::was_stopped(&content.decode_lossy()))
    };
    if is_true(structured.interrupted()) || begins(CANCELLED) || was_stopped() {
        Status::Cancelled
    } else if !is_true(block.is_error()) {
        Status::Ok
    } else if line.tool_denial_kind().is_some()
        || is_rejected(line.permission_decision())
        || is_denied(line, block)
        || begins(&DENIED_BY_PERSON)
        || begins(DENIED)
        || content.is_some_and(is_check_missing)
    {
        Status::Denied
    } else {
        Status::Error
    }
}

/// True if the auto mode refused a call since no model could look at it.
fn is_check_missing(content: Text<'_>) -> bool {
    let raw = content.raw().as_bytes();
    let head = &raw[..raw.len().min(MODEL_BYTES + CHECK_IS_MISSING.len())];
    memchr::memmem::find(head, CHECK_IS_MISSING.as_bytes()).is_some()
}

/// True if a capture says that the call was denied.
fn is_denied(line: &Line<'_>, block: &Block<'_>) -> bool {
    // These calls were stopped.
    const STOPPED: [&str; 2] = ["interrupted", "cancelled"];
    let of_call = |stated: &Value<'_>| raw_str(stated.member("id")) == raw_str(block.tool_use_id());
    elements(line.result_meta()).filter(of_call).any(|stated| {
        let kind = raw_str(stated.member("non_execution_kind"));
        let decision = stated
            .member("permission_decision")
            .and_then(|decision| decision.member("decision"));
        raw_str(decision) == "reject" || !(kind.is_empty() || STOPPED.contains(&kind))
    })
}

/// The number of `Exit code N`, with which the results of failed commands begin (2.0.45 and later).
#[inline(never)]
pub(super) fn exit_code(content: Text<'_>) -> Option<i64> {
    let digits = content.token()?.strip_prefix("\"Exit code ")?;
    let end = digits.find(|c: char| !c.is_ascii_digit())?;
    digits.get(..end)?.parse().ok()
}
