//! Lines of a capture that are not part of the conversation: session facts, connection, and background tasks.

use engram_core::emit::{Fault, Pointer};
use engram_core::event::{Meta, SessionFacts};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::schema::Record;
use crate::cursor::steps::Out;
use crate::shared::value::{non_empty_text, raw_str, text};

/// The session's model and directory.
pub(super) fn init(record: &Record<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
    let (model, cwd) = (
        non_empty_text(record.line.model()),
        non_empty_text(record.line.cwd()),
    );
    out.emit(
        Meta::Session(SessionFacts {
            model,
            cwd,
            ..SessionFacts::default()
        }),
        Pointer::Root,
    )?;
    Ok(Outcome::Mapped)
}

/// A message about a task or a shell in the background, kept as JSON.
pub(super) fn background_task(
    record: &Record<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let (name, json) = (
        Text::Plain(raw_str(record.line.subtype())),
        record.line.object().json(),
    );
    out.emit(Meta::system(name, Some(json)), Pointer::Root)?;
    Ok(Outcome::Mapped)
}

/// A lost connection or a retry is an error of the harness; reconnecting is a notice.
pub(super) fn connection(record: &Record<'_>, out: &mut Out<'_, '_>) -> Result<Outcome, Fault> {
    let subtype = raw_str(record.line.subtype());
    let name = format!("{}/{subtype}", raw_str(record.line.kind()));
    let (name, text) = (Text::Plain(&name), text(record.line.endpoint_url()));
    let notice = match subtype {
        "reconnecting" | "starting" => Meta::error(Some(name), text),
        _ => Meta::system(name, text),
    };
    out.emit(notice, Pointer::Root)?;
    Ok(Outcome::Mapped)
}
