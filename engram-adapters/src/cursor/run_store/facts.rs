//! What the records of agents and runs state.

use engram_core::emit::{Fault, Pointer, RecordHeader};
use engram_core::event::{Meta, SessionFacts, Tokens, Usage};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::schema::time;
use crate::cursor::fields::text_or_json;
use crate::cursor::readers::{Agent, Run, RunUsage};
use crate::cursor::steps::Out;
use crate::shared::value::{Field, Value, non_empty_text, raw_str};

/// The title that a chat has until it is named.
const DEFAULT_TITLE: &str = "New Agent";

/// The title of a session. None for the default.
pub(in crate::cursor) fn title(name: Field<'_>) -> Option<Text<'_>> {
    non_empty_text(name).filter(|name| !name.eq_str(DEFAULT_TITLE))
}

/// How a run ended, other than well.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::cursor) enum End {
    /// The user stopped it.
    Cancelled,
    /// It failed, or was given up.
    Failed,
}

/// The end that a status says. None for a run that is under way or has finished. The database and the files spell it differently.
pub(in crate::cursor) fn end(status: &str) -> Option<End> {
    match status.to_ascii_uppercase().as_str() {
        "CANCELLED" => Some(End::Cancelled),
        "ERROR" | "EXPIRED" => Some(End::Failed),
        _ => None,
    }
}

/// Emits the end of a run. A failed one has an error of its own, or its status.
pub(in crate::cursor) fn emit_end(
    end: End,
    status: &str,
    error: Option<Text<'_>>,
    pointer: Pointer<'_>,
    out: &mut Out<'_, '_>,
) -> Result<(), Fault> {
    let event = match end {
        End::Cancelled => Meta::Interrupt { text: error },
        End::Failed => Meta::error(Some(Text::Plain(status)), error),
    };
    out.emit(event, pointer)?;
    Ok(())
}

/// Emits the tokens of a run.
pub(in crate::cursor) fn emit_usage(
    tokens: Tokens,
    request_id: Option<Text<'_>>,
    model: Option<Text<'_>>,
    pointer: Pointer<'_>,
    out: &mut Out<'_, '_>,
) -> Result<(), Fault> {
    out.emit(
        Meta::Usage(Usage {
            tokens,
            request_id,
            model,
            ..Usage::default()
        }),
        pointer,
    )?;
    Ok(())
}

/// The agent: title and directory.
pub(in crate::cursor) fn emit_agent(
    agent: &Agent<'_>,
    pointer: Pointer<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let created = time(agent.created_at());
    out.set_header(RecordHeader {
        t: created.as_deref(),
        ..RecordHeader::default()
    });
    let facts = SessionFacts {
        title: title(agent.name()),
        cwd: non_empty_text(agent.cwd()),
        ..SessionFacts::default()
    };
    out.emit(Meta::Session(facts), pointer)?;
    Ok(Outcome::Mapped)
}

/// The model of a run: a name, or an object with it.
pub(super) fn model<'a>(run: &Run<'a>) -> Option<Text<'a>> {
    non_empty_text(run.model()).or_else(|| non_empty_text(run.model()?.member("id")))
}

/// A run whose events are not in the artifact: its model, its tokens, and how it ended.
pub(in crate::cursor) fn emit_whole_run(
    run: &Run<'_>,
    pointer: Pointer<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let ended = run.ended();
    out.set_header(RecordHeader::new(
        ended.as_deref(),
        non_empty_text(run.run_id()),
    ));
    emit_run(run, pointer, out)?;
    if let Some(tokens) = tokens(run) {
        emit_usage(
            tokens,
            non_empty_text(run.request_id()),
            model(run),
            pointer,
            out,
        )?;
    }
    let status = raw_str(run.status());
    if let Some(end) = end(status) {
        emit_end(end, status, text_or_json(run.error()), pointer, out)?;
    }
    Ok(Outcome::Mapped)
}

/// Emits the model of a run; of a run without one, its id.
pub(super) fn emit_run(
    run: &Run<'_>,
    pointer: Pointer<'_>,
    out: &mut Out<'_, '_>,
) -> Result<(), Fault> {
    let event = match model(run) {
        Some(model) => Meta::session(|facts| facts.model = Some(model)),
        None => Meta::system("run", non_empty_text(run.run_id())),
    };
    out.emit(event, pointer)?;
    Ok(())
}

/// The tokens of a run.
pub(super) fn tokens(run: &Run<'_>) -> Option<Tokens> {
    run.usage()
        .and_then(|usage: Value<'_>| RunUsage::lenient(usage).tokens())
}
