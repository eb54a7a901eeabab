//! The lines that `read_file` returned. The tool takes white space at the end of each line away (`processSingleFileContent`), so they have no
//! hash.

use engram_core::event::{CodeRead, Range};
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::state::{OUTPUT, Returned};
use crate::qwen::readers::FileArgs;
use crate::shared::spans::{full_range, line_count};

/// How the line begins that the terminal shows of a part of a file.
const SHOWN_LINES: &str = "Read lines ";
/// How the line begins that the terminal shows of a file that was not returned: of a kind that the model does not take, or the same as before.
const SKIPPED: [&str; 2] = ["Skipped ", "Unchanged: "];
/// How the output begins of a part of a file, and what is between this line and the lines of the file.
const SHOWING: &str = "Showing lines ";
const RULE: &str = " total lines.\n\n---\n\n";
/// The output in the place of an empty one.
const NOTHING: &str = "(read_file completed with no output)";
/// How the output begins for a file that was not read, where the log does not have what the terminal shows.
const NOT_READ: [&str; 3] = ["Cannot display content of ", "[Unsupported ", "[File "];

/// The lines of a read, and how many the file has, if the read reached its end.
type Lines = (Range, Option<u64>);

/// A read. A file that the tool skipped was not read.
pub fn read(file: Text<'_>, returned: &Returned<'_>, args: &FileArgs<'_>, out: &mut Emitter<'_>) {
    let Some(output) = returned.output else {
        return;
    };
    let output = output.decode_lossy();
    let shown = returned.shown.map(|shown| shown.decode_lossy());
    let is_skipped = match &shown {
        Some(shown) => SKIPPED.iter().any(|begin| shown.starts_with(begin)),
        None => NOT_READ.iter().any(|notice| output.starts_with(notice)),
    };
    if is_skipped {
        return;
    }
    let lines = match &shown {
        Some(shown) if shown.starts_with(SHOWN_LINES) => part(&output).or_else(|| printed(shown)),
        Some(shown) if shown.is_empty() => whole(&output),
        Some(_) => None,
        None if args.offset().is_some() || args.limit().is_some() => part(&output),
        None => part(&output).or_else(|| whole(&output)),
    };
    let (range, total_lines) = lines.unzip();
    let event = CodeRead {
        call_id: returned.call_id,
        range,
        total_lines: total_lines.flatten(),
        ..CodeRead::new(file)
    };
    out.emit(event, OUTPUT);
}

/// All lines of a file. None of an empty output: the file itself may have the words of the notice. None if a text may follow the file: hooks and
/// reminders of the harness stand behind an empty line, and nothing marks them (`appendAdditionalContext`).
fn whole(output: &str) -> Option<Lines> {
    let may_go_on = !output.ends_with('\n') && output.contains("\n\n");
    (output != NOTHING && !may_go_on).then(|| (full_range(output), Some(line_count(output))))
}

/// The lines of a part. The harness counts the empty text after a final line end as a line; this does not.
fn part(output: &str) -> Option<Lines> {
    let (first, rest) = output.strip_prefix(SHOWING)?.split_once('-')?;
    let (last, rest) = rest.split_once(" of ")?;
    let (total, content) = rest.split_once(RULE)?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    let shown = content.split('\n').count() as u64;
    if first == 0 || last.checked_sub(first)?.checked_add(1)? != shown {
        return None;
    }
    // `at least 9` is no number.
    let ends_file = total.parse() == Ok(last);
    let is_beyond = total.parse().is_ok_and(|total: u64| first > total);
    if is_beyond || ends_file && content.is_empty() {
        return None;
    }
    let last = last - u64::from(ends_file && content.ends_with('\n'));
    Some((Range { first, last }, ends_file.then_some(last)))
}

/// The lines of a part, as the line says that the terminal shows. The last of all lines may be the empty text after a line end.
fn printed(shown: &str) -> Option<Lines> {
    let (first, rest) = shown.strip_prefix(SHOWN_LINES)?.split_once('-')?;
    let (last, rest) = rest.split_once(" of ")?;
    let (total, _) = rest.split_once(" from ")?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    let total: u64 = total.parse().ok()?;
    let is_range = 0 < first && first <= last && last < total;
    is_range.then_some((Range { first, last }, None))
}

/// True if the terminal shows that a read had more than may be returned (0.24.4: recorded).
pub fn is_cut_read(shown: &str) -> bool {
    shown.starts_with(SHOWN_LINES) && shown.ends_with(" (truncated)")
}

/// True for a text that is not the output of a read, but what the terminal shows of it. A file may have the same line and no other.
pub fn is_shown(output: &str) -> bool {
    let begins = |begin: &&str| output.starts_with(begin);
    !output.contains('\n') && [SHOWN_LINES, SKIPPED[0], SKIPPED[1]].iter().any(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(output: &str) -> Option<(u64, u64, Option<u64>)> {
        part(output).map(|(range, total)| (range.first, range.last, total))
    }

    #[test]
    fn a_part_says_which_lines_it_has() {
        let shown = |lines: &str, content: &str| format!("{SHOWING}{lines}{RULE}{content}");
        assert_eq!(lines(&shown("11-13 of 61", "a\n\nb")), Some((11, 13, None)));
        assert_eq!(
            lines(&shown("59-61 of 61", "a\n\n")),
            Some((59, 60, Some(60)))
        );
        assert_eq!(
            lines(&shown("59-61 of 61", "a\n\nb")),
            Some((59, 61, Some(61)))
        );
        assert_eq!(
            lines(&shown("1-2 of at least 2", "a\nb")),
            Some((1, 2, None))
        );
        // No line of the file, which ends with a line end, or which is shorter.
        assert_eq!(lines(&shown("61-61 of 61", "")), None);
        assert_eq!(lines(&shown("99-99 of 61", "")), None);
        // Another text of the file.
        assert_eq!(lines(&shown("1-9 of 61", "a")), None);
        assert_eq!(lines("Showing lines of a report"), None);
    }

    #[test]
    fn what_the_terminal_shows_has_the_lines_of_a_part() {
        let of = |shown| printed(shown).map(|(range, _)| (range.first, range.last));
        assert_eq!(
            of("Read lines 11-13 of 41 from src/multi.py"),
            Some((11, 13))
        );
        // The last line may be none.
        assert_eq!(of("Read lines 39-41 of 41 from src/multi.py"), None);
        assert_eq!(of("Read lines 3-1 of 41 from a"), None);
        assert!(is_cut_read(
            "Read lines 1-715 of 2001 from x/big.txt (truncated)"
        ));
        assert!(!is_cut_read("Read lines 11-13 of 41 from src/multi.py"));
        assert!(is_shown("Skipped image file: a.png"));
        assert!(!is_shown("Read lines\n"));
    }

    #[test]
    fn a_whole_file_has_all_its_lines() {
        let of = |output| whole(output).map(|(range, total)| (range.first, range.last, total));
        assert_eq!(of("a\nb\n"), Some((1, 2, Some(2))));
        assert_eq!(of("a\n\nb\n"), Some((1, 3, Some(3))));
        assert_eq!(of("a\n\n\nfrom a hook"), None);
        assert_eq!(of(NOTHING), None);
    }
}
