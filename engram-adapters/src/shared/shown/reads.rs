//! The lines that `view` returned. All versions show them as a diff without changes, which numbers them.

use engram_core::emit::Pointer;
use engram_core::event::{CodeRead, Range};
use engram_core::steps::Emitter;

use super::diff::{Shown, sections};
use crate::shared::spans::span_facts;

/// Emits the read of a file with the lines that are shown. A directory gives none; of an image no lines are known. `asked` is the last line that was
/// asked for, none for the end of the file.
pub fn emit_read(
    (mut event, at): (CodeRead<'_>, Pointer<'_>),
    (detail, asked): (&str, Option<u64>),
    out: &mut Emitter<'_>,
) {
    let sections = sections(detail).unwrap_or_default();
    if sections.iter().any(|section| section.is_created) {
        return;
    }
    if let [only] = &sections[..]
        && let Some(shown) = only.shown()
    {
        set_lines(&mut event, &shown, asked);
    }
    out.emit(event, at);
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
    use engram_core::text::Text;

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
