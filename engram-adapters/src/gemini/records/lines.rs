//! One line of a log, or one message of a document.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::Meta;
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::changes::{change, type_of_changes};
use super::dispatch::MESSAGES;
use super::header::header;
use super::message_record::set_header;
use super::messages::message;
use crate::gemini::descriptor::rule;
use crate::gemini::members;
use crate::gemini::schema::Record;
use crate::gemini::state::session_state::SessionState;
use crate::shared::value::{non_empty_text, raw_str};

/// True if all bytes of the line, its id or its time among them, were read before.
fn is_repeated(state: &mut SessionState, line: &Record<'_>) -> bool {
    let is_identified = match line.changes() {
        // The messages of a history have ids and times. A time alone changes nothing, repeated or not.
        Some(changes) => {
            changes.member("messages").is_some() || (changes.member("lastUpdated").is_some() && changes.members().nth(1).is_some())
        }
        None => non_empty_text(line.id()).is_some() || line.timestamp().is_some() || line.start_time().is_some(),
    };
    is_identified && !state.dedup.is_new_record(line.object().raw())
}

/// The type of a line.
pub(super) fn type_of(line: &Record<'_>) -> &'static str {
    if let Some(changes) = line.changes() {
        return type_of_changes(changes);
    }
    let stated = raw_str(line.kind().or(line.object().member("kind")));
    MESSAGES.iter().map(|row| row.record).chain(["main", "subagent"]).find(|name| *name == stated).unwrap_or_default()
}

/// Converts a line. Its type follows from the first of these members that it has: `$set`, `$rewindTo`, `type`, `sessionId`.
pub(super) fn line(state: &mut SessionState, line: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    if is_repeated(state, line) {
        return Ok(Outcome::Duplicate { record: type_of(line), rule: rule::REPEATED });
    }
    state.usage.flush_before(line, out)?;
    if let Some(changes) = line.changes() {
        change(state, line, changes, out)
    } else if line.kind().is_some() && line.rewind_to().is_none() {
        state.rewind_points.begin_message(line.id(), out.last_seq());
        message(state, line, "", out)
    } else {
        other_record(state, line, out)
    }
}

/// Converts a line that is neither a message nor a change.
#[cold]
fn other_record(state: &mut SessionState, line: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    if let Some(to) = line.rewind_to() {
        let rewind = match state.rewind_points.before(to) {
            Some(to) => Meta::Rewind { to, files: false },
            None => Meta::System { name: Text::Plain("rewind"), text: to.text() },
        };
        set_header(line.timestamp(), None, out);
        members::check("", line.object(), Pointer::Root, out)?;
        state.tally.emit(rewind, Pointer::At("/$rewindTo"), out)?;
        return Ok(Outcome::Mapped);
    }
    if line.session_id().is_some() {
        set_header(line.start_time(), None, out);
        members::check(raw_str(line.role()), line.object(), Pointer::Root, out)?;
        header(state, line, out)?;
        return Ok(Outcome::Mapped);
    }
    Err(Fault::unrecognized("a line without a type"))
}
