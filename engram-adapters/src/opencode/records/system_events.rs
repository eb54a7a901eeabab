//! `meta` events without state: notices of the harness, errors, interrupts.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::Meta;
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::opencode::schema::{Error, ErrorData};
use crate::shared::value::{Value, non_empty_text, raw_str, text};

/// Emits `meta system`.
pub(super) fn emit_system(
    name: &'static str,
    text: Option<Text<'_>>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Result<Outcome, Fault> {
    out.emit(Meta::System { name: Text::Plain(name), text }, pointer)?;
    Ok(Outcome::Mapped)
}

/// Emits an error, or an interrupt if the user stopped the request.
#[cold]
pub(super) fn emit_error(error: Value<'_>, pointer: Pointer<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    let error = Error::strict(error, "/error")?;
    let data = ErrorData::lenient_opt(error.data());
    if raw_str(error.name()) == "MessageAbortedError" {
        out.emit(Meta::Interrupt { text: non_empty_text(data.message()) }, pointer)?;
        return Ok(());
    }
    out.emit(Meta::Error { code: text(error.name()), text: non_empty_text(data.message()) }, pointer)?;
    if let Some(body) = non_empty_text(data.response_body()) {
        out.emit(Meta::System { name: Text::Plain("error.response"), text: Some(body) }, pointer)?;
    }
    Ok(())
}
