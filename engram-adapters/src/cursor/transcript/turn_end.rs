//! The end of a turn. Only a failed or interrupted turn gives an event.

use engram_core::emit::{Fault, Pointer};
use engram_core::event::Meta;
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::cursor::fields::text_or_json;
use crate::cursor::format::{TranscriptKind, rule};
use crate::cursor::steps::Out;
use crate::shared::value::Field;

/// A turn that ended successfully.
pub(super) const SUCCEEDED: Outcome =
    Outcome::bookkeeping(TranscriptKind::TurnEnded.name(), rule::TURN_END);

/// Converts the end of a turn with this status.
pub(super) fn turn_ended(
    status: &str,
    error: Field<'_>,
    pointer: Pointer<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let text = text_or_json(error);
    let event = match status {
        "success" => return Ok(SUCCEEDED),
        "aborted" => Meta::Interrupt { text },
        status => Meta::error(
            Some(Text::Plain(status)).filter(|status| !status.is_empty()),
            text,
        ),
    };
    out.emit(event, pointer)?;
    Ok(Outcome::Mapped)
}
