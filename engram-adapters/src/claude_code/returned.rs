//! What a result block comes to, and what the log keeps beside it.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{Decision, ImplicitInput, Meta, Permission, Status};
use engram_core::text::Text;

use super::calls::{Call, Kept};
use super::schema::{Block, Structured};
use crate::shared::search::contains;
use crate::shared::value::{Field, Value, non_empty_text};
use engram_core::keys::hash64;

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
    pub fn tool(&self) -> Option<Text<'_>> {
        self.call.as_ref().map(|call| Text::Plain(&call.tool))
    }

    /// What the structured result says besides, where the model was not told it.
    #[inline(never)]
    pub fn say_rest(&self, out: &mut Emitter) -> Result<(), Fault> {
        let structured = self.structured;
        let rest = [
            (structured.code_words(), "/toolUseResult/returnCodeInterpretation"),
            (structured.output_file(), "/toolUseResult/outputFile"),
            (structured.task().and_then(|task| task.member("output")), "/toolUseResult/task/output"),
        ];
        for (field, pointer) in rest {
            if let Some(said) = non_empty_text(field).filter(|said| !repeats(*said, self.content)) {
                say_beside(Some(said), Pointer::At(pointer), out)?;
            }
        }
        if self.content.is_some_and(|content| content.starts_with("<persisted-output>")) {
            self.say_whole(out)?;
        }
        self.say_written(out)
    }

    /// The texts that were written or replaced, where they are not what the call asked for: a person or the harness changed them, or the
    /// file spells its quotes otherwise.
    fn say_written(&self, out: &mut Emitter) -> Result<(), Fault> {
        let structured = self.structured;
        match self.call.as_ref().map(|call| &call.kept) {
            Some(Kept::Written(asked)) => say_other(structured.content(), *asked, "/toolUseResult/content", out),
            Some(Kept::Replaced([old, new])) => {
                say_other(structured.old_string(), *old, "/toolUseResult/oldString", out)?;
                say_other(structured.new_string(), *new, "/toolUseResult/newString", out)
            }
            _ => Ok(()),
        }
    }

    /// The answer of a sub-agent, where the model was given its beginning and a file's name.
    #[cold]
    fn say_whole(&self, out: &mut Emitter) -> Result<(), Fault> {
        for (index, block) in self.structured.content().into_iter().flat_map(Value::elements).enumerate() {
            if let Some(said) = non_empty_text(Block::lenient(block).text()) {
                say_beside(Some(said), Pointer::Field("/toolUseResult/content", index, "/text"), out)?;
            }
        }
        Ok(())
    }

    /// What the log keeps beside the result, where the model was not told it: why a call was denied or failed.
    #[cold]
    pub fn say_unsaid(&self, said: Option<Text<'_>>, out: &mut Emitter) -> Result<(), Fault> {
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

/// A text that is not the one that was asked for.
fn say_other(said: Field<'_>, asked: u64, pointer: &str, out: &mut Emitter) -> Result<(), Fault> {
    match said.filter(|said| said.text().is_some() && hash64(said.raw()) != asked) {
        Some(said) => say_beside(said.text(), Pointer::At(pointer), out),
        None => Ok(()),
    }
}

/// A text that stands beside a result.
#[cold]
pub(super) fn say_beside(text: Option<Text<'_>>, pointer: Pointer<'_>, out: &mut Emitter) -> Result<(), Fault> {
    out.emit(Meta::Context(ImplicitInput { name: Text::Plain("tool_result"), file: None, hash: None, bytes: None, text }), pointer)?;
    Ok(())
}

/// True when `content` contains the text that the log keeps beside it, but for the word `Error`.
#[inline(never)]
pub(super) fn repeats(said: Text<'_>, content: Option<Text<'_>>) -> bool {
    let Some(content) = content else { return said.is_empty() };
    let (said, content) = (said.decode_lossy(), content.decode_lossy());
    contains(&content, said.strip_prefix("Error: ").unwrap_or(&said).trim())
}
