//! The lines that `view` returned. All versions show them as a diff without changes, which numbers them.

use engram_core::emit::Pointer;
use engram_core::event::{CodeRead, Range};
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::copilot::diff::{Shown, sections};
use crate::copilot::readers::{FileArgs, Output};
use crate::shared::spans::span_facts;
use crate::shared::value::{elements, integer, non_empty_text, text};

/// A read. A directory gives none, nor a file that was too large to be shown: its result has nothing for the terminal. Of an image no lines are
/// known.
pub fn read(
    args: &FileArgs<'_>,
    call_id: Option<Text<'_>>,
    output: &Output<'_>,
    out: &mut Emitter<'_>,
) {
    let Some(detail) = text(output.detail()).map(|detail| detail.decode_lossy()) else {
        return;
    };
    let sections = sections(&detail).unwrap_or_default();
    if sections.iter().any(|section| section.is_created) {
        return;
    }
    let Some(file) = non_empty_text(args.path()) else {
        return;
    };
    let mut event = CodeRead {
        call_id,
        ..CodeRead::new(file)
    };
    if let [only] = &sections[..]
        && let Some(shown) = only.shown()
    {
        set_lines(&mut event, &shown, last_line(args));
    }
    out.emit(event, Pointer::At("/data/result"));
}

/// The last line that was asked for. None for the end of the file.
fn last_line(args: &FileArgs<'_>) -> Option<u64> {
    let last = elements(args.view_range()).nth(1);
    integer(last).and_then(|last| u64::try_from(last).ok())
}

/// Sets range and hash. An empty last line is left out: where it is shown because the text before it ends with a line end, there is no line.
fn set_lines(event: &mut CodeRead<'_>, shown: &Shown<'_>, asked: Option<u64>) {
    let lines = match shown.lines.split_last() {
        Some((&"", before)) => before,
        _ => &shown.lines,
    };
    let range = Range {
        first: shown.first,
        last: shown.first + lines.len() as u64 - 1,
    };
    let reaches_end = asked.is_none_or(|last| shown.first + (shown.lines.len() as u64) <= last);
    event.range = (shown.first > 0).then_some(range);
    event.total_lines = reaches_end.then_some(range.last);
    (event.hash, event.anchor_hashes, event.text) = span_facts(&lines.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_last_line_is_left_out() {
        let of = |lines: &[&'static str], asked| {
            let mut event = CodeRead::new(Text::Plain("/p/a"));
            let shown = Shown {
                first: 4,
                lines: lines.to_vec(),
            };
            set_lines(&mut event, &shown, asked);
            let range = event.range.unwrap();
            (range.first, range.last, event.total_lines)
        };
        assert_eq!(of(&["a", "b", ""], None), (4, 5, Some(5)));
        assert_eq!(of(&["a", "b"], Some(5)), (4, 5, None));
        // Whether the file ends there is not in the log.
        assert_eq!(of(&["a", ""], Some(5)), (4, 4, None));
        assert_eq!(of(&["a", ""], Some(9)), (4, 4, Some(4)));
    }
}
