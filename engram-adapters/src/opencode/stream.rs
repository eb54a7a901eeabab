//! `run --format json`: the agent's finished parts as lines, without prompts and reasoning (1.0.0 and later).

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::convert::under;
use super::converter::{Converter, notice};
use super::messages::{Speaker, Turn, state_error};
use super::schema::{Line, Part};
use crate::shared::value::{raw_str, text};

impl Converter {
    /// Converts one line of a stream.
    pub fn stream_line(&mut self, line: &Line<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        if let Some(session) = text(line.session_id()).map(|id| id.decode_lossy()) {
            out.set_source(Some(&*session), None);
        }
        let printed = line.timestamp();
        match (raw_str(line.kind()), line.part(), line.error()) {
            ("step_start" | "step_finish" | "text" | "tool_use" | "reasoning", Some(stated), _) => {
                let mut part = Part::default();
                part.strict_into(stated, "/part")?;
                let message_id = text(part.message_id());
                let turn = Turn { speaker: Speaker::Assistant, printed, message_id, has_steps: true, ..Turn::default() };
                self.part(&part, &turn, Pointer::At("/part"), out).map(as_line).map_err(|fault| under(Pointer::At("/part"), fault))
            }
            ("error", _, Some(error)) => {
                Turn { printed, ..Turn::default() }.set_header(None, None, &mut self.clock, out);
                state_error(error, Pointer::At("/error"), out)?;
                Ok(Outcome::Mapped)
            }
            ("step_start" | "step_finish" | "text" | "tool_use" | "reasoning", None, _) => {
                Err(Fault::malformed("/part", "a part", "nothing"))
            }
            ("error", _, None) => Err(Fault::malformed("/error", "an error", "nothing")),
            ("", ..) => Err(Fault::malformed("/type", "a type of line", "nothing")),
            (other, ..) => Err(Fault::unrecognized(other)),
        }
    }

    /// A line of plain words between the lines of a stream: what the harness prints on the same output, such as the notice of a
    /// database migration (1.2.1).
    pub fn stream_notice(&self, words: &str, out: &mut Emitter) -> Option<Result<Outcome, Fault>> {
        let words = words.trim_ascii();
        let is_prose = words.starts_with(|first: char| first.is_alphabetic());
        is_prose.then(|| notice("stdout", Some(Text::Plain(words)), Pointer::Root, out))
    }
}

/// A line's type in the ledger is its own, not its part's.
fn as_line(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Bookkeeping { record: "part/step-start", rule } => Outcome::Bookkeeping { record: "step_start", rule },
        other => other,
    }
}
