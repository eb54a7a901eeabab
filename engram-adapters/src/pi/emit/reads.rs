//! The lines that `read` returned. Its output is the text of the lines as they are, and a notice behind them if the file has more.

use engram_core::emit::Pointer;
use engram_core::event::{CodeRead, Range};
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::state::FileCall;
use crate::pi::readers::{FileArgs, Truncation};
use crate::shared::spans::{line_count, span_facts, without_final_line_end, without_half_line_end};
use crate::shared::value::{Field, count, is_true, raw_str, text};

/// How the output for an image begins.
const IMAGE: &str = "Read image file [image/";
/// How the notice behind an output begins that was cut (`read.ts`): `[Showing lines `, or `[Read output capped at ` (OpenClaw).
const NOTICE: &str = "\n\n[";
/// How OpenClaw says that there is more than it shows (2026.9.6). What it shows is then apart from the notice.
const CUT: &str = "truncated";
/// The highest line number that is accepted. Adding a number of lines to it cannot overflow.
const LAST_LINE: u64 = 1 << 40;

/// The lines of an output.
#[derive(Debug, PartialEq, Eq)]
struct Lines<'t> {
    range: Range,
    /// The number of lines of the file, if the read reached its end.
    total: Option<u64>,
    text: &'t str,
}

/// A read, with what it returned if the log has that. The lines of an image are not known.
pub fn read(file: Text<'_>, call: &FileCall<'_>, printed: Option<&str>, out: &mut Emitter<'_>) {
    let truncation = Truncation::lenient_opt(call.details.truncation());
    let printed = printed.filter(|printed| !printed.starts_with(IMAGE));
    let is_cut = raw_str(call.details.kind()) == CUT;
    let kept = text(call.details.content()).filter(|_| is_cut);
    let kept = kept.map(|kept| kept.decode_lossy());
    let lines = match &kept {
        Some(kept) => lines_kept(kept, &call.args, &truncation),
        None => printed.and_then(|printed| lines_of(printed, &call.args, &truncation)),
    };
    let mut event = CodeRead {
        call_id: call.call_id,
        ..CodeRead::new(file)
    };
    if let Some(lines) = lines {
        event.range = Some(lines.range);
        event.total_lines = lines.total;
        (event.hash, event.anchor_hashes, event.text) = span_facts(lines.text);
    }
    out.emit(event, Pointer::At("/message/content"));
}

/// True for what OpenClaw says in the place of lines (2026.9.6: recorded). A file may have the same words and no other.
fn is_no_line(printed: &str) -> bool {
    let is_beyond = printed.starts_with("Offset ") && printed.contains(" is beyond end of file (");
    printed == "File is empty (0 bytes)." || is_beyond && !printed.contains('\n')
}

fn lines_of<'t>(printed: &'t str, args: &FileArgs<'_>, cut: &Truncation<'_>) -> Option<Lines<'t>> {
    let first = line_number(args.offset())?.unwrap_or(1).max(1);
    let limit = line_number(args.limit())?;
    if is_true(cut.has_no_line()) || is_no_line(printed) {
        return None;
    }
    if is_true(cut.truncated()) {
        let end = printed.rfind(NOTICE)?;
        return part(first, &printed[..end], count(cut.lines())?);
    }
    if let Some(limit) = limit
        && let Some(kept) = before_notice(printed, first + limit)
        && let Some(lines) = part(first, kept, limit)
    {
        return Some(lines);
    }
    let last = first - 1 + line_count(printed);
    Some(Lines {
        range: Range { first, last },
        total: Some(last),
        text: without_final_line_end(printed),
    })
}

/// The lines that OpenClaw shows of a file. Those of a read that goes on in the middle of a line are not known.
fn lines_kept<'t>(kept: &'t str, args: &FileArgs<'_>, cut: &Truncation<'_>) -> Option<Lines<'t>> {
    let is_part = args.cursor().is_some() || is_true(cut.ends_in_line());
    let first = line_number(args.offset()).filter(|_| !is_part)?;
    part(first.unwrap_or(1).max(1), kept, count(cut.lines())?)
}

/// The number in an argument: none if it is absent. No result if it is something else.
fn line_number(field: Field<'_>) -> Option<Option<u64>> {
    match field {
        None => Some(None),
        field => count(field).filter(|number| *number <= LAST_LINE).map(Some),
    }
}

/// The text before the notice that the file has more lines, if it is there: `[R more lines in file. Use offset=N to continue.]`.
fn before_notice(printed: &str, next: u64) -> Option<&str> {
    let end = format!(" more lines in file. Use offset={next} to continue.]");
    let (kept, rest) = printed.strip_suffix(&end)?.rsplit_once("\n\n[")?;
    rest.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then_some(kept)
}

/// So many lines before others. None if the text has another number of lines.
fn part(first: u64, text: &str, lines: u64) -> Option<Lines<'_>> {
    let is_right = lines > 0 && text.split('\n').count() as u64 == lines;
    is_right.then(|| Lines {
        range: Range {
            first,
            last: first + lines - 1,
        },
        total: None,
        text: without_half_line_end(text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::value::{StructuralIndex, parse};

    /// First and last line, number of lines, and text.
    fn lines(printed: &str, args: &str, cut: &str) -> Option<(u64, u64, Option<u64>, String)> {
        let (mut one, mut other) = (StructuralIndex::default(), StructuralIndex::default());
        let args = FileArgs::lenient(parse(args, &mut one).unwrap());
        let cut = Truncation::lenient(parse(cut, &mut other).unwrap());
        let found = lines_of(printed, &args, &cut)?;
        Some((
            found.range.first,
            found.range.last,
            found.total,
            found.text.to_owned(),
        ))
    }

    #[test]
    fn a_read_to_the_end_has_the_number_of_lines() {
        assert_eq!(
            lines("a\r\nb\n", "{}", "{}"),
            Some((1, 2, Some(2), "a\r\nb".into()))
        );
        assert_eq!(
            lines("b", r#"{"offset":2}"#, "{}"),
            Some((2, 2, Some(2), "b".into()))
        );
        assert_eq!(lines("", "{}", "{}"), Some((1, 0, Some(0), String::new())));
        let beyond = "Offset 50 is beyond end of file (20 lines total). Retry with offset <= 20.";
        for notice in ["File is empty (0 bytes).", beyond] {
            assert_eq!(lines(notice, "{}", "{}"), None);
        }
        // Behind the last line end.
        assert_eq!(
            lines("", r#"{"offset":3}"#, "{}"),
            Some((3, 2, Some(2), String::new()))
        );
    }

    #[test]
    fn a_notice_is_no_line_if_the_lines_before_it_are_those_that_were_asked_for() {
        let args = r#"{"offset":4,"limit":2}"#;
        let printed = "a\r\nb\r\n\n[3 more lines in file. Use offset=6 to continue.]";
        assert_eq!(
            lines(printed, args, "{}"),
            Some((4, 5, None, "a\r\nb".into()))
        );
        // The file itself has this text.
        let printed = "a\n\n[3 more lines in file. Use offset=6 to continue.]";
        assert_eq!(lines(printed, args, "{}").map(|found| found.1), Some(6));
    }

    #[test]
    fn an_output_that_was_cut_has_the_lines_that_it_counts() {
        let printed = "a\nb\n\n[Showing lines 1-2 of 9. Use offset=3 to continue.]";
        let cut = r#"{"truncated":true,"outputLines":2}"#;
        assert_eq!(lines(printed, "{}", cut), Some((1, 2, None, "a\nb".into())));
        assert_eq!(
            lines(printed, "{}", r#"{"truncated":true,"outputLines":3}"#),
            None
        );
        let notice = r#"{"truncated":true,"outputLines":0,"firstLineExceedsLimit":true}"#;
        assert_eq!(lines("[Line 1 is 60.0KB]", "{}", notice), None);
    }

    #[test]
    fn arguments_that_are_no_numbers_of_lines_say_nothing() {
        assert_eq!(lines("a", r#"{"limit":-1}"#, "{}"), None);
        assert_eq!(lines("a", r#"{"offset":1.5}"#, "{}"), None);
    }
}
