//! One tool result with its call, and the events for what the log keeps beside the text that the model saw.

use std::rc::Rc;

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Author, CodeEdit, Decision, EditOp, Meta, MsgIn, Permission, Role, Status};
use engram_core::text::Text;

use super::result_text::repeats;
use crate::claude_code::blocks::CONTENT;
use crate::claude_code::context_events::emit_text;
use crate::claude_code::records::authors::{self, DENIED_BY_PERSON};
use crate::claude_code::schema::{Block, Line, Structured};
use crate::claude_code::state::open_calls::{Call, KeptArguments};
use crate::shared::value::{Field, Value, non_empty_text, raw_str, text};
use engram_core::keys::hash64;

/// One tool result with its call.
pub(super) struct ResultContext<'a> {
    pub call_id: Option<Text<'a>>,
    pub status: Status,
    /// The text that the model saw.
    pub content: Option<Text<'a>>,
    /// `toolUseResult`; empty if it is only text.
    pub structured: &'a Structured<'a>,
    /// None if the call is missing.
    pub call: Option<Rc<Call>>,
}

impl<'a> ResultContext<'a> {
    /// The name of the called tool, if the call is known.
    pub fn tool(&self) -> Option<Text<'_>> {
        self.call.as_ref().map(|call| Text::Plain(&call.tool))
    }

    /// The target of edits of this file.
    pub fn edit_of(&self, file: Text<'a>) -> EditTarget<'a> {
        EditTarget { call_id: self.call_id, file }
    }

    /// Emits the fields of the structured result that the model did not see.
    #[inline(never)]
    pub fn emit_extra_fields(&self, out: &mut Emitter) -> Result<(), Fault> {
        let structured = self.structured;
        let fields = [
            (structured.return_code_interpretation(), "/toolUseResult/returnCodeInterpretation"),
            (structured.output_file(), "/toolUseResult/outputFile"),
            (structured.task().and_then(|task| task.member("output")), "/toolUseResult/task/output"),
        ];
        for (field, pointer) in fields {
            if let Some(text) = non_empty_text(field).filter(|text| !repeats(*text, self.content)) {
                emit_context(Some(text), Pointer::At(pointer), out)?;
            }
        }
        if self.content.is_some_and(|content| content.starts_with("<persisted-output>")) {
            self.emit_full_output(out)?;
        }
        self.emit_changed_arguments(out)
    }

    /// Emits the texts that were written or replaced, if they differ from the call's arguments: a person or the harness changed
    /// them, or the file has other quotation marks.
    fn emit_changed_arguments(&self, out: &mut Emitter) -> Result<(), Fault> {
        let structured = self.structured;
        match self.call.as_ref().map(|call| &call.arguments) {
            Some(KeptArguments::WrittenText(text)) => emit_if_changed(structured.content(), *text, "/toolUseResult/content", out),
            Some(KeptArguments::ReplacedText { old, new }) => {
                emit_if_changed(structured.old_string(), *old, "/toolUseResult/oldString", out)?;
                emit_if_changed(structured.new_string(), *new, "/toolUseResult/newString", out)
            }
            _ => Ok(()),
        }
    }

    /// Emits the full answer of a sub-agent, if the model saw only its beginning and the name of a file.
    #[cold]
    fn emit_full_output(&self, out: &mut Emitter) -> Result<(), Fault> {
        for (index, block) in self.structured.content().into_iter().flat_map(Value::elements).enumerate() {
            if let Some(text) = non_empty_text(Block::lenient(block).text()) {
                emit_context(Some(text), Pointer::Field("/toolUseResult/content", index, "/text"), out)?;
            }
        }
        Ok(())
    }

    /// Emits a reason that the model did not see: why a call was denied or failed.
    #[cold]
    pub fn emit_denial_reason(&self, reason: Option<Text<'_>>, out: &mut Emitter) -> Result<(), Fault> {
        const POINTER: Pointer<'static> = Pointer::At("/toolUseResult");
        if self.status == Status::Denied {
            let denied = Permission { decision: Decision::Deny, tool: self.tool(), call_id: self.call_id, text: reason };
            out.emit(Meta::Permission(denied), Pointer::Root)?;
        } else if self.status == Status::Ok {
            emit_context(reason, POINTER, out)?;
        } else {
            out.emit(Meta::Error { code: None, text: reason }, POINTER)?;
        }
        Ok(())
    }
}

impl ResultContext<'_> {
    /// Emits who decided about the call, and what a person typed when denying it.
    #[inline]
    pub fn emit_decision(&self, line: &Line<'_>, (index, failed): (usize, bool), out: &mut Emitter) -> Result<(), Fault> {
        if let Some(decision) = line.permission_decision()
            && self.status != Status::Denied
        {
            self.emit_stated_decision(decision, out)?;
        }
        if failed && self.content.is_some_and(|content| content.starts_with(DENIED_BY_PERSON)) {
            self.emit_words(index, out)
        } else {
            Ok(())
        }
    }

    #[inline(never)]
    fn emit_stated_decision(&self, stated: Value<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let decision = match raw_str(stated.member("decision")) {
            "accept" => Decision::Allow,
            "reject" => Decision::Deny,
            _ => Decision::Ask,
        };
        let text = text(stated.member("source"));
        let permission = Permission { decision, tool: self.tool(), call_id: self.call_id, text };
        out.emit(Meta::Permission(permission), Pointer::At("/permissionDecision"))?;
        Ok(())
    }

    #[cold]
    fn emit_words(&self, index: usize, out: &mut Emitter) -> Result<(), Fault> {
        let content = self.content.map(|content| content.decode_lossy()).unwrap_or_default();
        let Some(words) = authors::words_of_denial(&content) else { return Ok(()) };
        let message = MsgIn { role: Role::User, by: Author::Person, text: Some(Text::Plain(words)), attachments: Vec::new() };
        out.emit(message, Pointer::Field(CONTENT, index, "/content"))?;
        Ok(())
    }
}

/// Emits a text whose hash is not that of the call's argument.
fn emit_if_changed(text: Field<'_>, argument: u64, pointer: &str, out: &mut Emitter) -> Result<(), Fault> {
    match text.filter(|text| text.text().is_some() && hash64(text.raw()) != argument) {
        Some(text) => emit_context(text.text(), Pointer::At(pointer), out),
        None => Ok(()),
    }
}

/// Emits a text that the log keeps beside a result.
#[cold]
pub(super) fn emit_context(text: Option<Text<'_>>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<(), Fault> {
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
        CodeEdit { call_id: self.call_id, ..CodeEdit::new(op, self.file) }
    }
}
