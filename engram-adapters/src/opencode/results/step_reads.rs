//! Reads of OpenCode 2: numbered lines, or in betas the text of a file or of a page of it.

use engram_core::event::Range;

use super::call::Call;
use super::read_lines::{Lines, numbered};
use crate::opencode::readers::StepDetails;
use crate::shared::spans::{line_count, with_unix_line_ends, without_final_line_end};
use crate::shared::value::{integer, raw_str, text};

/// What ends an output that does not reach the end of the file.
const CONTINUES: &str = "[Output truncated. Continue reading with offset: ";

/// The lines that a `read` returned.
pub(super) fn lines(call: &Call<'_>) -> Option<Lines> {
    let details = StepDetails::lenient_opt(call.metadata_value);
    match text(details.content()) {
        Some(content) if raw_str(details.encoding()) != "base64" => {
            let content = with_unix_line_ends(content.decode().ok()?);
            page(
                &content,
                integer(details.offset()).and_then(|offset| u64::try_from(offset).ok()),
            )
        }
        Some(_) => None,
        None => of_output(call.output()?),
    }
}

/// True for the output of a directory.
pub(super) fn is_directory(call: &Call<'_>) -> bool {
    let details = StepDetails::lenient_opt(call.metadata_value);
    details.entries().is_some()
        || call
            .output()
            .is_some_and(|output| output.starts_with("Read directory "))
}

/// A complete file, or the page of one that begins at this line.
fn page(content: &str, offset: Option<u64>) -> Option<Lines> {
    let (first, total, count) = match offset {
        None => (1, Some(line_count(content)), line_count(content)),
        Some(0) => return None,
        Some(first) => (first, None, content.split('\n').count() as u64),
    };
    let text = match offset {
        None => without_final_line_end(content),
        Some(_) => content,
    };
    Some(Lines::new(
        Range {
            first,
            last: first.checked_add(count)?.checked_sub(1)?,
        },
        total,
        text.to_owned(),
    ))
}

/// `Read file P, lines A-B`, then the lines with their numbers; `Read file P, 0 lines` for an empty file.
fn of_output(output: &str) -> Option<Lines> {
    let (header, rest) = output.split_once('\n').unwrap_or((output, ""));
    let header = header.strip_prefix("Read file ")?;
    if header.ends_with(", 0 lines") {
        return Some(Lines::new(
            Range { first: 1, last: 0 },
            Some(0),
            String::new(),
        ));
    }
    let (_, stated) = header.rsplit_once(", lines ")?;
    let (first, last) = stated.split_once('-')?;
    let range = Range {
        first: first.parse().ok().filter(|first| *first > 0)?,
        last: last.parse().ok()?,
    };
    let rest = format!("{}\n", rest.trim_end_matches('\n'));
    let (mut lines, mut left) = (Vec::new(), rest.as_str());
    while let Some((number, line, after)) = numbered(left, ": ") {
        if Some(number) != range.first.checked_add(lines.len() as u64) {
            break;
        }
        lines.push(line);
        left = after;
    }
    let is_complete = lines.len() as u64 == range.last.checked_sub(range.first)? + 1
        && (left.is_empty() || left.trim_start().starts_with(CONTINUES));
    is_complete.then(|| Lines::new(range, None, lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(lines: Option<Lines>) -> Option<(u64, u64, Option<u64>, String)> {
        lines.map(|lines| (lines.range.first, lines.range.last, lines.total, lines.text))
    }

    #[test]
    fn a_released_version_numbers_the_lines() {
        let text = "Read file a.py, lines 3-5\n3: a\n4: \n5: b: c";
        assert_eq!(
            span(of_output(text)),
            Some((3, 5, None, "a\n\nb: c".into()))
        );
        let more = "Read file a, b.py, lines 1-1\n1: a\n\n[Output truncated. Continue reading with offset: 2]";
        assert_eq!(span(of_output(more)), Some((1, 1, None, "a".into())));
        assert_eq!(
            span(of_output("Read file a.py, 0 lines")),
            Some((1, 0, Some(0), String::new()))
        );
        assert_eq!(
            span(of_output("Read file a.py, lines 1-3\n1: a\n2: b")),
            None,
            "fewer lines than the header states"
        );
        assert_eq!(span(of_output("Image read successfully")), None);
    }

    #[test]
    fn a_beta_returns_the_file_or_a_page() {
        assert_eq!(
            span(page("a\nb\n", None)),
            Some((1, 2, Some(2), "a\nb".into()))
        );
        assert_eq!(span(page("", None)), Some((1, 0, Some(0), String::new())));
        assert_eq!(
            span(page("c\n\nd", Some(3))),
            Some((3, 5, None, "c\n\nd".into()))
        );
    }
}
