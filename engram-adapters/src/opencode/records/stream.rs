//! `run --format json`: lines without a part (1.0.0 and later). The stream has neither prompts nor reasoning.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::system_events::{emit_error, emit_system};
use crate::opencode::schema::Line;
use crate::opencode::state::session_state::SessionState;

/// An error line.
pub(super) fn error(_: &mut SessionState, line: &Line<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let error = line.error().ok_or_else(|| Fault::malformed("/error", "an error", "nothing"))?;
    emit_error(error, Pointer::At("/error"), out)?;
    Ok(Outcome::Mapped)
}

/// Plain text between the lines of a stream: the harness prints notices to the same output, for example of a database migration
/// (1.2.1). None if the text does not look like prose.
pub(super) fn plain_text(text: &str, out: &mut Emitter<'_>) -> Option<Result<Outcome, Fault>> {
    let text = text.trim_ascii();
    let is_prose = text.starts_with(|first: char| first.is_alphabetic());
    is_prose.then(|| emit_system("stdout", Some(Text::Plain(text)), Pointer::Root, out))
}
