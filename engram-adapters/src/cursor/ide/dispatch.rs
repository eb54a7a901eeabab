//! From the type of an opened conversation's line to its handler.

use engram_core::emit::Fault;
use engram_core::ledger::Outcome;

use super::messages::{self, Facts};
use crate::cursor::format::EditorKind;
use crate::cursor::readers::EditorLine;
use crate::cursor::steps::Out;
use crate::shared::value::{Value, raw_str};

/// Converts one line.
pub(super) fn convert(
    facts: &mut Facts,
    line: Value<'_>,
    out: &mut Out<'_, '_>,
) -> Result<Outcome, Fault> {
    let line = EditorLine::strict(line, "")?;
    let record = raw_str(line.store());
    match EditorKind::named(record).ok_or_else(|| Fault::unrecognized(record))? {
        EditorKind::Bubble => messages::bubble(facts, &line, out),
        EditorKind::Composer | EditorKind::InlineComposer | EditorKind::Tab => {
            messages::composer(facts, &line, out)
        }
    }
}
