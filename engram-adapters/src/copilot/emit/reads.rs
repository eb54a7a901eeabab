//! The lines that `view` returned.

use engram_core::emit::Pointer;
use engram_core::event::CodeRead;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::copilot::readers::{FileArgs, Output};
use crate::shared::shown::emit_read;
use crate::shared::value::{elements, integer, non_empty_text, text};

/// A read. A file that was too large to be shown gives none: its result has nothing for the terminal.
pub fn read(
    args: &FileArgs<'_>,
    call_id: Option<Text<'_>>,
    output: &Output<'_>,
    out: &mut Emitter<'_>,
) {
    let detail = text(output.detail()).map(|detail| detail.decode_lossy());
    let (Some(detail), Some(file)) = (detail, non_empty_text(args.path())) else {
        return;
    };
    let event = CodeRead {
        call_id,
        ..CodeRead::new(file)
    };
    let last = integer(elements(args.view_range()).nth(1));
    let asked = last.and_then(|last| u64::try_from(last).ok());
    emit_read((event, Pointer::At("/data/result")), (&detail, asked), out);
}
