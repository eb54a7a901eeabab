//! The parts of a message: what was said, what a request cost, and everything that is not a tool call.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{Channel, ImplicitInput, Meta, MsgIn, MsgOut, Role};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::calls::attachment;
use super::converter::{Converter, bookkeeping, notice};
use super::descriptor::rule;
use super::messages::{Speaker, Turn, state_error, usage};
use super::schema::{Part, Time, Tokens, flag};
use crate::shared::value::{Value, integer, is_true, non_empty_text, raw_str, text};

impl Converter {
    /// Converts one part.
    pub fn part(&mut self, part: &Part<'_>, turn: &Turn<'_>, place: Pointer<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let time = Time::lenient_opt(part.time());
        turn.set_header(integer(time.start().or(time.created())), part.id(), &mut self.clock, out);
        match raw_str(part.kind()) {
            "text" => self.text(part, turn, place, out),
            "reasoning" => reasoning(part, turn, place, out),
            "tool" | "tool-invocation" => self.call(part, turn, place, out),
            "step-start" => Ok(bookkeeping("part/step-start", rule::STEP_START)),
            "step-finish" => step_finish(part, turn, place, out),
            "patch" => patch(part, place, out),
            "snapshot" => notice("snapshot", non_empty_text(part.snapshot()), place, out),
            "file" => file(part, turn, place, out),
            "compaction" => {
                // 1.0.98 does not say.
                self.compaction_trigger = flag(part.auto()).map(|auto| if auto { "auto" } else { "manual" });
                notice("compaction", self.compaction_trigger.map(Text::Plain), place, out)
            }
            "retry" => {
                let error = part.error().ok_or_else(|| Fault::malformed("/error", "an error", "nothing"))?;
                state_error(error, place, out)?;
                Ok(Outcome::Mapped)
            }
            "agent" => notice("agent", non_empty_text(part.name()), place, out),
            "subtask" => subtask(part, place, out),
            "source-url" => notice("source", non_empty_text(part.url()), place, out),
            "" => Err(Fault::malformed("/type", "a type of part", "nothing")),
            other => Err(Fault::unrecognized(other)),
        }
    }

    fn text(&mut self, part: &Part<'_>, turn: &Turn<'_>, place: Pointer<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let said = text(part.text()).ok_or_else(|| Fault::malformed("/text", "text", "nothing"))?;
        if said.is_empty() {
            return notice("empty_text", None, place, out);
        }
        match turn.speaker {
            Speaker::User => {
                let synthetic = is_true(part.synthetic());
                out.emit(MsgIn { role: Role::User, text: Some(said), synthetic, attachments: Vec::new() }, place)?;
            }
            Speaker::Assistant if turn.is_summary => {
                let trigger = self.compaction_trigger.take().map(Text::Plain);
                out.emit(Meta::Compaction { text: Some(said), trigger }, place)?;
            }
            Speaker::Assistant => {
                let message = MsgOut { text: Some(said), channel: None, model: turn.model, message_id: turn.message_id, redacted: false };
                out.emit(message, place)?;
            }
            Speaker::Unknown => return Err(nobody()),
        }
        Ok(Outcome::Mapped)
    }
}

/// A part of a message that does not say who speaks.
#[cold]
fn nobody() -> Fault {
    Fault::malformed("/messageID", "a message with a role", "none")
}

/// Reasoning. That which only its provider can read has no text.
fn reasoning(part: &Part<'_>, turn: &Turn<'_>, place: Pointer<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
    let said = non_empty_text(part.text());
    if said.is_none() && part.metadata().is_none() {
        return notice("empty_reasoning", None, place, out);
    }
    let message =
        MsgOut { text: said, channel: Some(Channel::Reasoning), model: turn.model, message_id: turn.message_id, redacted: said.is_none() };
    out.emit(message, place)?;
    Ok(Outcome::Mapped)
}

fn step_finish(part: &Part<'_>, turn: &Turn<'_>, place: Pointer<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
    let tokens = part.tokens().ok_or_else(|| Fault::malformed("/tokens", "token counts", "nothing"))?;
    out.emit(usage(&Tokens::strict(tokens, "/tokens")?, part.cost(), turn.model), place)?;
    Ok(Outcome::Mapped)
}

/// The files that a step changed, by whichever tool: the only trace of what a command did to a file.
#[inline(never)]
fn patch(part: &Part<'_>, place: Pointer<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
    let files = part.files().ok_or_else(|| Fault::malformed("/files", "a list of files", "nothing"))?;
    let files: Vec<_> = files.elements().filter_map(Value::text).map(|file| file.decode_lossy()).collect();
    let list = files.join("\n");
    notice("files_changed", (!list.is_empty()).then_some(Text::Plain(&list)), place, out)
}

#[inline(never)]
fn file(part: &Part<'_>, turn: &Turn<'_>, place: Pointer<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
    let attached = attachment(part.mime().or(part.media_type()), part.url(), part.filename());
    match turn.speaker {
        Speaker::User => {
            let synthetic = is_true(part.synthetic());
            out.emit(MsgIn { role: Role::User, text: None, synthetic, attachments: vec![attached] }, place)?;
        }
        Speaker::Assistant => {
            let context =
                ImplicitInput { name: Text::Plain("file"), file: attached.name, hash: attached.hash, bytes: attached.bytes, text: None };
            out.emit(Meta::Context(context), place)?;
        }
        Speaker::Unknown => return Err(nobody()),
    }
    Ok(Outcome::Mapped)
}

/// A task that the user hands to an agent with a command.
#[inline(never)]
fn subtask(part: &Part<'_>, place: Pointer<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
    if let Some(prompt) = non_empty_text(part.prompt()) {
        out.emit(MsgIn { role: Role::User, text: Some(prompt), synthetic: false, attachments: Vec::new() }, place)?;
    }
    notice("subtask", non_empty_text(part.description()), place, out)
}
