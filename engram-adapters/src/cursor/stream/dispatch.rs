//! From the type of a capture's line to its handler.

use engram_core::emit::{Fault, Pointer, RecordHeader};
use engram_core::ledger::Outcome;

use super::schema::Record;
use super::state::{Shared, StreamState};
use super::{approvals, messages, notices, tool_calls};
use crate::cursor::fields::{decoded_non_empty, time_of_millis};
use crate::cursor::format::CaptureKind;
use crate::cursor::members::{self, form};
use crate::cursor::readers::CaptureLine;
use crate::cursor::steps::Out;
use crate::shared::value::raw_str;

/// Converts one line.
pub(super) fn convert(
    state: &mut StreamState,
    shared: &mut Shared,
    line: CaptureLine<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let time = time_of_millis(line.timestamp_ms());
    let record = Record {
        line,
        header: RecordHeader {
            t: time.as_deref(),
            ..RecordHeader::default()
        },
    };
    let (kind, subtype) = (raw_str(line.kind()), raw_str(line.subtype()));
    let name = if subtype.is_empty() {
        kind.to_owned()
    } else {
        format!("{kind}/{subtype}")
    };
    let kind = CaptureKind::named(&name).ok_or_else(|| Fault::unrecognized(&name))?;
    begin_record(&line, out);
    members::check_chosen(&name, line.object(), Pointer::Root, form::CAPTURE, out);
    if !matches!(kind, CaptureKind::Assistant | CaptureKind::ThinkingDelta) {
        shared.pieces.end_run(shared.session, out);
    }
    match kind {
        CaptureKind::ThinkingDelta => messages::reasoning_delta(shared, &record, out),
        CaptureKind::Assistant => messages::assistant(shared, &record, out),
        CaptureKind::User => messages::user(&record, out),
        CaptureKind::ResultSuccess | CaptureKind::Result => messages::result(shared, &record, out),
        CaptureKind::ToolCallStarted => tool_calls::started(state, shared, &record, out),
        CaptureKind::ToolCallCompleted => tool_calls::completed(state, shared, &record, out),
        CaptureKind::InteractionQueryRequest => approvals::request(state, shared, &record, out),
        CaptureKind::InteractionQueryResponse => approvals::response(state, &record, out),
        CaptureKind::SystemInit => notices::init(&record, out),
        CaptureKind::SystemTaskNotification | CaptureKind::SystemBackgroundShellTimeout => {
            notices::background_task(&record, out)
        }
        CaptureKind::Connection | CaptureKind::Retry => notices::connection(&record, out),
        CaptureKind::Omitted(outcome) => Ok(outcome),
    }
}

/// Sets session and time.
pub(super) fn begin_record(line: &CaptureLine<'_>, out: &mut Out<'_, '_>) {
    if let Some(session_id) = decoded_non_empty(line.session_id()) {
        out.set_source(Some(&session_id), None);
    }
    let time = time_of_millis(line.timestamp_ms());
    out.set_header(RecordHeader {
        t: time.as_deref(),
        ..RecordHeader::default()
    });
}
