//! `meta` events without state: notices of the harness, errors, interrupts.

use engram_core::emit::Pointer;
use engram_core::event::Meta;
use engram_core::ledger::Outcome;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::opencode::readers::{Error, ErrorData, StepError};
use crate::shared::value::{Value, non_empty_text, raw_str, text};

/// Emits `meta system`, for a record that gives nothing else.
pub(super) fn emit_system(
    name: &'static str,
    text: Option<Text<'_>>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Outcome {
    notice(name, text, pointer, out);
    Outcome::Mapped
}

/// Emits `meta system`, for a record that gives more than that.
pub(super) fn notice(
    name: &'static str,
    text: Option<Text<'_>>,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    out.emit(Meta::system(name, text), pointer);
}

/// Emits an error of 2.x, or an interrupt if the request was stopped.
#[cold]
pub(super) fn emit_step_error(error: Value<'_>, pointer: Pointer<'_>, out: &mut Emitter<'_>) {
    let error = StepError::lenient(error);
    let message = non_empty_text(error.message());
    if raw_str(error.kind()) == "aborted" {
        out.emit(Meta::Interrupt { text: message }, pointer);
        return;
    }
    out.emit(Meta::error(non_empty_text(error.kind()), message), pointer);
    if let Some(body) = error
        .response()
        .and_then(|response| non_empty_text(response.member("body")))
    {
        out.emit(Meta::system("error.response", Some(body)), pointer);
    }
}

/// Emits an error, or an interrupt if the user stopped the request.
#[cold]
pub(super) fn emit_error(error: Value<'_>, pointer: Pointer<'_>, out: &mut Emitter<'_>) {
    let value = error;
    let error = Error::lenient(error);
    if error.name().is_none() {
        // Streams of 2.x.
        return emit_step_error(value, pointer, out);
    }
    let data = ErrorData::lenient_opt(error.data());
    if raw_str(error.name()) == "MessageAbortedError" {
        out.emit(
            Meta::Interrupt {
                text: non_empty_text(data.message()),
            },
            pointer,
        );
        return;
    }
    out.emit(
        Meta::error(text(error.name()), non_empty_text(data.message())),
        pointer,
    );
    if let Some(body) = non_empty_text(data.response_body()) {
        out.emit(Meta::system("error.response", Some(body)), pointer);
    }
}
