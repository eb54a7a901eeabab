//! Lines of a capture that are not part of the conversation: session facts, connection, background tasks, and standard error.

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{Meta, SessionFacts};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::schema::Record;
use super::state::StreamState;
use crate::shared::value::{non_empty_text, raw_str, text};

/// The session's model and directory.
pub(super) fn init(_: &mut StreamState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let (model, cwd) = (non_empty_text(record.line.model()), non_empty_text(record.line.cwd()));
    out.emit(Meta::Session(SessionFacts { model, cwd, ..SessionFacts::default() }), Pointer::Root)?;
    Ok(Outcome::Mapped)
}

/// A message about a task or a shell in the background, kept as JSON.
pub(super) fn background_task(_: &mut StreamState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let (name, json) = (Text::Plain(raw_str(record.line.subtype())), record.line.object().json());
    out.emit(Meta::System { name, text: Some(json) }, Pointer::Root)?;
    Ok(Outcome::Mapped)
}

/// A lost connection or a retry is an error of the harness; reconnecting is a notice.
pub(super) fn connection(_: &mut StreamState, record: &Record<'_>, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let subtype = raw_str(record.line.subtype());
    let name = format!("{}/{subtype}", raw_str(record.line.kind()));
    let (name, text) = (Text::Plain(&name), text(record.line.endpoint_url()));
    let notice = match subtype {
        "reconnecting" | "starting" => Meta::Error { code: Some(name), text },
        _ => Meta::System { name, text },
    };
    out.emit(notice, Pointer::Root)?;
    Ok(Outcome::Mapped)
}

/// True for a line of standard error, which often shares the pipe: it is not a JSON object.
pub(super) fn is_error_output(text: &str) -> bool {
    let text = text.trim_ascii();
    !text.starts_with('{') && !text.ends_with('}')
}

/// A line of standard error.
pub(super) fn error_output(text: &str, out: &mut Emitter<'_>) -> Result<Outcome, Fault> {
    let text = text.strip_suffix('\r').unwrap_or(text);
    out.emit(Meta::Error { code: Some(Text::Plain("stderr")), text: Some(Text::Plain(text)) }, Pointer::Root)?;
    Ok(Outcome::Mapped)
}
