//! What a call read and changed where the agent returns a diff as it shows it to a terminal (`detailedContent` of Copilot CLI).

use engram_core::emit::Pointer;
use engram_core::event::CodeRead;
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;

use super::state::Connection;
use crate::acp::call_line::read;
use crate::acp::plan::CallPlan;
use crate::acp::readers::Call;
use crate::shared::shown::{emit_edits, emit_read, sections};
use crate::shared::value::{elements, integer, owned, raw_str, text};

const DETAIL: Pointer<'static> = Pointer::At("/m/params/update/rawOutput/detailedContent");

/// Whether the diff says what the call read or changed.
pub enum Diff {
    /// It does, and its events are emitted.
    Told,
    /// There is no diff, or it does not say it.
    Absent,
}

/// The reads and edits that a diff shows of a call of this kind and file. `content` is what the call writes as a whole.
pub fn file_events(
    (connection, record, plan): (&Connection, &Record<'_>, &CallPlan),
    update: &Call<'_>,
    (kind, file, content): (&str, Option<&str>, Option<&str>),
    out: &mut Emitter<'_>,
) -> Diff {
    let raw = update.output();
    let of = |name| raw.and_then(|raw| raw.member(name));
    let detail = owned(of("detailedContent"));
    let Some(detail) = connection.whole(detail.as_deref()) else {
        return Diff::Absent;
    };
    let is_diff = sections(detail).is_some();
    let call_id = text(update.id());
    match (kind, file) {
        ("read", Some(file)) => {
            // A file that is too large to be shown has the same words for the model and for the terminal.
            if is_diff || raw_str(of("content")) != raw_str(of("detailedContent")) {
                let event = CodeRead {
                    call_id,
                    ..CodeRead::new(Text::Plain(file))
                };
                let asked = read(record, Some(plan.args), last_line).flatten();
                emit_read((event, DETAIL), (detail, asked), out);
            }
        }
        ("edit" | "delete" | "move", _) if is_diff => {
            emit_edits((detail, content), (call_id, DETAIL, false), |_| None, out);
        }
        _ => return Diff::Absent,
    }
    Diff::Told
}

/// The last line that a call asks for.
fn last_line(call: &Call<'_>) -> Option<u64> {
    let range = call.input()?.member("view_range");
    let last = integer(elements(range).nth(1));
    last.and_then(|last| u64::try_from(last).ok())
}
