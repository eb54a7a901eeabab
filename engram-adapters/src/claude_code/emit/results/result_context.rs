//! One tool result with its call, and the events for what the log keeps beside the text that the model saw.

use engram_core::emit::Pointer;
use engram_core::event::{Author, CodeEdit, Decision, EditOp, Meta, MsgIn, Role, Status};
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::result_text::{PERSISTED, repeats};
use crate::claude_code::authors::{self, DENIED_BY_PERSON};
use crate::claude_code::blocks::CONTENT;
use crate::claude_code::context_events::emit_text;
use crate::claude_code::emit::state::Scratch;
use crate::claude_code::emit::state::open_calls::{Call, KeptArguments};
use crate::claude_code::readers::{Block, FileArguments, Line, Structured};
use crate::shared::value::{Field, Value, is_true, non_empty_text, parse, raw_str, text};
use engram_core::keys::hash64;

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

    /// The target of edits of this file.
    pub fn edit_of(&self, file: Text<'a>) -> EditTarget<'a> {
        EditTarget {
            call_id: self.call_id,
            file,
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
            (of_task("description"), "/toolUseResult/task/description"),
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

    /// Emits the full output of a sub-agent or of an MCP tool, which the log has in blocks.
    #[cold]
    pub fn emit_full_output(&self, result: Field<'_>, out: &mut Emitter) {
        let list = result.filter(|result| result.is_array());
        let (blocks, base) = match list {
            Some(list) => (Some(list), "/toolUseResult"),
            None => (self.structured.content(), "/toolUseResult/content"),
        };
        for (index, block) in blocks.into_iter().flat_map(Value::elements).enumerate() {
            if let Some(text) = non_empty_text(Block::lenient(block).text()) {
                emit_context(Some(text), Pointer::Field(base, index, "/text"), out);
            }
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
            let error = Meta::Error {
                code: None,
                text: Some(text),
            };
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
            Pointer::At("/permissionDecision"),
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
        let message = MsgIn {
            role: Role::User,
            by: Author::Person,
            text: self.content,
            attachments: Vec::new(),
        };
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
        let message = MsgIn {
            role: Role::User,
            by: Author::Person,
            text: Some(Text::Plain(words)),
            attachments: Vec::new(),
        };
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
}

impl<'a> EditTarget<'a> {
    /// An event of this result.
    pub fn event(&self, op: EditOp) -> CodeEdit<'a> {
        CodeEdit {
            call_id: self.call_id,
            ..CodeEdit::new(op, self.file)
        }
    }
}
