//! Hunks of a unified diff, as runs of changed lines.

use std::borrow::Cow;

use nom::branch::alt;
use nom::bytes::complete::{tag, take_until};
use nom::character::complete::{char, digit1};
use nom::combinator::{all_consuming, map, map_res, opt, rest, value, verify};
use nom::multi::many0;
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser};

use super::line::Line;

/// Consecutive changed lines: the removed lines, and the added lines in their place. Lines have no line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedRun<'p> {
    /// The 1-based line at which it begins in the file before the change.
    pub before_first: u64,
    /// The removed lines.
    pub before: Vec<Cow<'p, str>>,
    /// The 1-based line at which it begins in the file after the change.
    pub after_first: u64,
    /// The added lines.
    pub after: Vec<Cow<'p, str>>,
}

/// The changed runs of a unified diff without file headers, in file order. None if the text is not such a diff, or if a hunk does not
/// have the number of lines that its header says.
///
/// ```
/// use engram_adapters::shared::patch::unified_runs;
///
/// let runs = unified_runs("@@ -4,3 +4,3 @@\n a\n-b\n+B\n c\n").expect("a unified diff");
/// assert_eq!((runs[0].before_first, &*runs[0].before[0], &*runs[0].after[0]), (5, "b", "B"));
/// ```
pub fn unified_runs(diff: &str) -> Option<Vec<ChangedRun<'_>>> {
    let (_, hunks) = all_consuming(many0(hunk)).parse(diff).ok()?;
    let mut runs = Vec::new();
    for hunk in &hunks {
        hunk.add_runs(&mut runs)?;
    }
    Some(runs)
}

/// One hunk of a unified diff: start and count of its lines before and after, and the lines.
struct Hunk<'p> {
    before: (u64, u64),
    after: (u64, u64),
    lines: Vec<Line<'p>>,
}

impl<'p> Hunk<'p> {
    /// Adds the hunk's runs. None if its lines are not as many as its header says.
    fn add_runs(&self, runs: &mut Vec<ChangedRun<'p>>) -> Option<()> {
        let first = |(start, count): (u64, u64)| {
            if count == 0 {
                start.checked_add(1)
            } else {
                Some(start)
            }
        };
        let (mut before, mut after) = (first(self.before)?, first(self.after)?);
        let (before_end, after_end) = (
            before.checked_add(self.before.1)?,
            after.checked_add(self.after.1)?,
        );
        let mut in_run = false;
        for line in &self.lines {
            if matches!(line, Line::NoNewline) {
                continue;
            }
            if let Line::Unchanged(_) = line {
                (before, after, in_run) = (before + 1, after + 1, false);
                continue;
            }
            if !in_run {
                runs.push(ChangedRun {
                    before_first: before,
                    before: Vec::new(),
                    after_first: after,
                    after: Vec::new(),
                });
                in_run = true;
            }
            match (line, runs.last_mut()?) {
                (Line::Removed(text), run) => {
                    run.before.push(Cow::Borrowed(text));
                    before += 1;
                }
                (Line::Added(text), run) => {
                    run.after.push(Cow::Borrowed(text));
                    after += 1;
                }
                _ => {}
            }
        }
        (before == before_end && after == after_end).then_some(())
    }
}

fn hunk(input: &str) -> IResult<&str, Hunk<'_>> {
    map((header, many0(hunk_line)), |((before, after), lines)| {
        Hunk {
            before,
            after,
            lines,
        }
    })
    .parse(input)
}

/// Start and count of lines.
type LineSpan = (u64, u64);

/// The first line of a hunk: its lines before and after.
pub(super) fn header(input: &str) -> IResult<&str, (LineSpan, LineSpan)> {
    delimited(
        tag("@@ -"),
        (span, preceded(tag(" +"), span)),
        (tag(" @@"), not_newline, newline),
    )
    .parse(input)
}

/// `start` or `start,count`
fn span(input: &str) -> IResult<&str, LineSpan> {
    map(
        (number, opt(preceded(char(','), number))),
        |(start, count)| (start, count.unwrap_or(1)),
    )
    .parse(input)
}

fn number(input: &str) -> IResult<&str, u64> {
    // No file has as many lines; larger numbers would overflow sums.
    verify(map_res(digit1, str::parse::<u64>), |number| {
        *number < 1 << 40
    })
    .parse(input)
}

fn hunk_line(input: &str) -> IResult<&str, Line<'_>> {
    alt((
        map(preceded(char(' '), line), Line::Unchanged),
        map(preceded(char('-'), line), Line::Removed),
        map(preceded(char('+'), line), Line::Added),
        value(Line::NoNewline, preceded(char('\\'), line)),
        map(verify(newline, |end: &str| !end.is_empty()), |_| {
            Line::Unchanged("")
        }),
    ))
    .parse(input)
}

/// The rest of the line, without its end. In a file with CR LF line ends, each line ends with CR.
fn line(input: &str) -> IResult<&str, &str> {
    map(terminated(not_newline, newline), |line: &str| {
        line.strip_suffix('\r').unwrap_or(line)
    })
    .parse(input)
}

/// The text up to the next `\n`. A CR alone is part of the line.
fn not_newline(input: &str) -> IResult<&str, &str> {
    alt((take_until("\n"), rest)).parse(input)
}

/// `\n`, or the end of the text.
fn newline(input: &str) -> IResult<&str, &str> {
    alt((tag("\n"), nom::combinator::eof)).parse(input)
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A run of these lines.
    pub(in super::super) fn run<'p>(
        before_first: u64,
        before: &[&'p str],
        after_first: u64,
        after: &[&'p str],
    ) -> ChangedRun<'p> {
        ChangedRun {
            before_first,
            before: before.iter().copied().map(Cow::Borrowed).collect(),
            after_first,
            after: after.iter().copied().map(Cow::Borrowed).collect(),
        }
    }

    #[test]
    fn each_hunk_gives_its_changed_runs() {
        let diff =
            "@@ -4,3 +4,4 @@ fn\n a\n-b\n+B\n+C\n c\n@@ -43,4 +44,3 @@\n-x\n k\n-y\n+Y\n l\n";
        let runs = unified_runs(diff).unwrap();
        assert_eq!(
            runs,
            [
                run(5, &["b"], 5, &["B", "C"]),
                run(43, &["x"], 44, &[]),
                run(45, &["y"], 45, &["Y"])
            ]
        );
    }

    #[test]
    fn header_of_an_empty_side_names_the_line_before() {
        assert_eq!(
            unified_runs("@@ -0,0 +1,2 @@\n+a\n+b\n").unwrap(),
            [run(1, &[], 1, &["a", "b"])]
        );
        assert_eq!(
            unified_runs("@@ -1 +0,0 @@\n-a\n").unwrap(),
            [run(1, &["a"], 1, &[])]
        );
    }

    #[test]
    fn line_ends_are_not_part_of_lines() {
        let runs = unified_runs(
            "@@ -1,2 +1,2 @@\n alpha\r\n-beta\r\n+BETA\r\n\\ No newline at end of file\n",
        )
        .unwrap();
        assert_eq!(runs, [run(2, &["beta"], 2, &["BETA"])]);
    }

    #[test]
    fn hunk_must_have_the_number_of_lines_in_its_header() {
        assert_eq!(unified_runs("@@ -1,2 +1,2 @@\n a\n-b\n"), None);
        assert_eq!(unified_runs("@@ -1 +1 @@\n-a\n+b\nnot a diff line\n"), None);
        assert_eq!(
            unified_runs("@@ -18446744073709551615,9 +1 @@\n-a\n+b\n"),
            None
        );
        assert_eq!(unified_runs(""), Some(vec![]));
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_without_panic(text in "(@@ -[0-9]{1,3}(,[0-9])? \\+[0-9]{1,3}(,[0-9])? @@\n|[ +\\-\\\\@][a\r]?\n|\\*\\*\\* [A-Z][a-z]+ (File: )?[a-zP]*\n?|.|\n){0,30}") {
            let _ = unified_runs(&text);
        }

        /// Applying the runs of a diff to the text before gives the text after.
        #[test]
        fn runs_lead_from_the_text_before_to_the_text_after(lines in proptest::collection::vec((0..3u8, "[a-z]{0,3}"), 1..20)) {
            let (mut diff, mut before, mut after) = (String::new(), Vec::new(), Vec::new());
            for (kind, text) in &lines {
                diff.push_str(&format!("{}{text}\n", [' ', '-', '+'][usize::from(*kind)]));
                if *kind != 2 { before.push(text.as_str()); }
                if *kind != 1 { after.push(text.as_str()); }
            }
            let start = |lines: &[&str]| usize::from(!lines.is_empty());
            let diff = format!("@@ -{},{} +{},{} @@\n{diff}", start(&before), before.len(), start(&after), after.len());
            let (mut rebuilt, mut next) = (Vec::new(), 1);
            for run in unified_runs(&diff).unwrap() {
                rebuilt.extend(before[next - 1..run.before_first as usize - 1].iter().map(|line| line.to_string()));
                prop_assert_eq!(run.after_first as usize, rebuilt.len() + 1);
                rebuilt.extend(run.after.iter().map(|line| line.to_string()));
                next = run.before_first as usize + run.before.len();
            }
            rebuilt.extend(before[next - 1..].iter().map(|line| line.to_string()));
            prop_assert_eq!(rebuilt, after);
        }
    }
}
