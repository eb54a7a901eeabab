//! The end of a call as an item or event stated it, until the output for the model comes and both become one result.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault, RecordHeader, RecordLocation};
use engram_core::event::{Meta, Status, ToolResult};
use engram_core::text::Text;

use super::outputs::{body, is_cut_rendering, listing, unquote};
use crate::shared::search::contains;

/// The most ends that wait at a time. An older one gives its result without the output.
const MAX_WAITING: usize = 256;

/// The end of a call, with what its record says of itself.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// The record's type, and the rule by which it is a duplicate once the output has said the same.
    pub record: &'static str,
    pub rule: &'static str,
    /// Where the record's fields lie.
    pub at: &'static str,
    /// The record gave events of its own.
    pub mapped: bool,
    pub location: RecordLocation,
    pub t: Option<String>,
    pub replay: bool,
    pub status: Option<Status>,
    pub exit: Option<i64>,
    pub duration_ms: Option<u64>,
    /// Texts as JSON tokens.
    pub stdout: Option<String>,
    pub stderr: Option<String>,
    /// What an MCP server says in words beside the structured answer that the model gets.
    pub words: Option<String>,
}

impl Held {
    /// The text that the record states: what the command printed, or why it did not run.
    pub fn said(&self) -> Option<&str> {
        let filled = |token: &&str| token.len() > 2;
        self.stdout.as_deref().filter(filled).or(self.stderr.as_deref()).filter(filled)
    }

    /// The result, where no output for the model completes it.
    pub fn result<'h>(&'h self, tool: Option<&'h str>, call_id: Text<'h>) -> ToolResult<'h> {
        let stderr = self.stderr.as_deref().filter(|token| token.len() > 2);
        ToolResult {
            tool: tool.map(Text::Plain),
            call_id: Some(call_id),
            status: self.status,
            exit: self.exit,
            stdout: self.stdout.as_deref().filter(|token| stderr.is_none() || token.len() > 2).map(Text::Token),
            stderr: stderr.map(Text::Token),
            duration_ms: self.duration_ms,
            ..ToolResult::default()
        }
    }

    /// Adds to the result of an output what only the item states.
    pub fn complete(&self, result: &mut ToolResult<'_>) {
        result.exit = self.exit.or(result.exit);
        result.status = self.status.or(result.status);
        result.duration_ms = self.duration_ms.or(result.duration_ms);
    }

    /// True when the output (a token) says all that the item says. Either may be cut, and an event is cut at fewer characters.
    pub fn is_in(&self, output: &str) -> bool {
        let (output, said) = (unquote(output), self.said().map(unquote));
        said.is_none_or(|said| contains(output, said) || is_cut_rendering(said, listing(body(output))))
    }

    /// True when the output (a token) is what the item says, cut.
    pub fn is_cut_in(&self, output: &str) -> bool {
        self.said().is_some_and(|said| is_cut_rendering(body(unquote(output)), unquote(said)))
    }

    /// Writes the result at the item's own place.
    pub fn emit(&self, tool: Option<&str>, call_id: &str, out: &mut Emitter) -> Result<(), Fault> {
        out.attribute_to(self.location, RecordHeader { t: self.t.as_deref(), id: None, replay: self.replay });
        out.emit(self.result(tool, Text::Plain(call_id)), Pointer::At(self.at))?;
        self.say_words("", Text::Plain(call_id), out)?;
        if !self.mapped {
            out.duplicate_was_mapped(self.record, self.rule);
        }
        Ok(())
    }

    /// States what the item says beside the result of its call.
    pub fn notice(&self, call_id: Text<'_>, out: &mut Emitter) -> Result<(), Fault> {
        self.say(self.said(), call_id, out)
    }

    /// States the words beside a structured answer, unless the output (a token) says them.
    pub fn say_words(&self, output: &str, call_id: Text<'_>, out: &mut Emitter) -> Result<(), Fault> {
        match self.words.as_deref() {
            Some(words) if !contains(unquote(output), unquote(words)) => self.say(Some(words), call_id, out),
            _ => Ok(()),
        }
    }

    fn say(&self, said: Option<&str>, call_id: Text<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let name = self.record.rsplit('/').next().unwrap_or_default();
        out.parent_of_next(out.seq_of_call(call_id));
        out.emit(Meta::System { name: Text::Plain(name), text: said.map(Text::Token) }, Pointer::At(self.at))?;
        Ok(())
    }
}

/// The ends that wait for an output, oldest first.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    ends: Vec<(String, Held)>,
}

impl Waiting {
    /// Lets an end wait. Gives back one that has waited too long.
    pub fn push(&mut self, call_id: &str, held: Held) -> Option<(String, Held)> {
        self.ends.push((call_id.to_owned(), held));
        (self.ends.len() > MAX_WAITING).then(|| self.ends.remove(0))
    }

    /// The end that waits for this call's output.
    pub fn take(&mut self, call_id: &str) -> Option<Held> {
        let at = self.ends.iter().position(|(waiting, _)| waiting == call_id)?;
        Some(self.ends.remove(at).1)
    }

    /// All that still wait.
    pub fn drain(&mut self) -> Vec<(String, Held)> {
        std::mem::take(&mut self.ends)
    }
}
