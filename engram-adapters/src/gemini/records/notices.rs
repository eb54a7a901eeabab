//! Notices of the terminal: information, warnings, errors, cancellations.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::Meta;
use engram_core::text::Text;

use super::message_record::MessageRecord;
use crate::gemini::schema::raw;
use crate::gemini::state::occurrences::HistoryPass;
use crate::gemini::state::session_state::SessionState;
use crate::shared::value::non_empty_text;
use engram_core::keys::hash64;

/// An information.
pub(super) fn info(
    state: &mut SessionState,
    record: &MessageRecord<'_>,
    pass: Option<&mut HistoryPass>,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    notice("info", state, record, pass, out)
}

/// A warning.
pub(super) fn warning(
    state: &mut SessionState,
    record: &MessageRecord<'_>,
    pass: Option<&mut HistoryPass>,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    notice("warning", state, record, pass, out)
}

/// An error.
pub(super) fn error(
    state: &mut SessionState,
    record: &MessageRecord<'_>,
    pass: Option<&mut HistoryPass>,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    notice("error", state, record, pass, out)
}

#[cold]
fn notice(
    kind: &'static str,
    state: &mut SessionState,
    record: &MessageRecord<'_>,
    pass: Option<&mut HistoryPass>,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    let (content, path) = (record.message.content(), record.content_path());
    if let Some(content) = content.filter(|content| content.text().is_none()) {
        return Err(Fault::malformed(path, "text", content.raw()));
    }
    let text = non_empty_text(content);
    if !state.dedup.is_new_text(hash64((kind, raw(content))), pass) {
        return Ok(());
    }
    let event = match kind {
        "error" => Meta::Error { code: None, text },
        _ if text.is_some_and(|text| text.eq_str("Request cancelled.")) => Meta::Interrupt { text },
        _ => Meta::System { name: Text::Plain(kind), text },
    };
    state.tally.emit(event, Pointer::At(&path), out)
}
