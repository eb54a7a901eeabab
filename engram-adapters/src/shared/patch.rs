//! Patches: the hunks of a unified diff, and the `*** Begin Patch` format. What does not parse to its end is no patch.

use memchr::{memchr2, memmem};
use nom::branch::alt;
use nom::bytes::complete::{tag, take_until};
use nom::character::complete::{char, digit1, line_ending};
use nom::combinator::{all_consuming, map, map_res, opt, recognize, rest, value, verify};
use nom::multi::{fold_many1, many0, many1};
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser};

/// One changed run of lines: the lines that went, and the lines that came in their place. Lines have no line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run<'p> {
    /// The 1-based line before at which it begins.
    pub before_first: u64,
    /// The lines that went.
    pub before: Vec<&'p str>,
    /// The 1-based line after at which it begins.
    pub after_first: u64,
    /// The lines that came.
    pub after: Vec<&'p str>,
}

/// The changed runs of a unified diff without file headers, in file order. None where it is no such diff, or where a hunk does not
/// have the lines that it announces.
pub fn unified_runs(diff: &str) -> Option<Vec<Run<'_>>> {
    let (_, hunks) = all_consuming(many0(hunk)).parse(diff).ok()?;
    let mut runs = Vec::new();
    for hunk in &hunks {
        hunk.runs_into(&mut runs)?;
    }
    Some(runs)
}

/// One hunk of a unified diff.
struct Hunk<'p> {
    before: (u64, u64),
    after: (u64, u64),
    lines: Vec<Line<'p>>,
}

/// One line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line<'p> {
    Kept(&'p str),
    Gone(&'p str),
    Come(&'p str),
    /// `\ No newline at end of file`
    NoNewline,
}

impl<'p> Hunk<'p> {
    /// Adds the hunk's runs. None where its lines are not those that its header counts.
    fn runs_into(&self, runs: &mut Vec<Run<'p>>) -> Option<()> {
        let first = |(start, count): (u64, u64)| if count == 0 { start.checked_add(1) } else { Some(start) };
        let (mut before, mut after) = (first(self.before)?, first(self.after)?);
        let (before_end, after_end) = (before.checked_add(self.before.1)?, after.checked_add(self.after.1)?);
        let mut in_run = false;
        for line in &self.lines {
            if matches!(line, Line::NoNewline) {
                continue;
            }
            if let Line::Kept(_) = line {
                (before, after, in_run) = (before + 1, after + 1, false);
                continue;
            }
            if !in_run {
                runs.push(Run { before_first: before, before: Vec::new(), after_first: after, after: Vec::new() });
                in_run = true;
            }
            match (line, runs.last_mut()?) {
                (Line::Gone(text), run) => {
                    run.before.push(text);
                    before += 1;
                }
                (Line::Come(text), run) => {
                    run.after.push(text);
                    after += 1;
                }
                _ => {}
            }
        }
        (before == before_end && after == after_end).then_some(())
    }
}

fn hunk(input: &str) -> IResult<&str, Hunk<'_>> {
    let header = delimited(tag("@@ -"), (span, preceded(tag(" +"), span)), (tag(" @@"), not_newline, newline));
    map((header, many0(hunk_line)), |((before, after), lines)| Hunk { before, after, lines }).parse(input)
}

/// `start` or `start,count`
fn span(input: &str) -> IResult<&str, (u64, u64)> {
    map((number, opt(preceded(char(','), number))), |(start, count)| (start, count.unwrap_or(1))).parse(input)
}

fn number(input: &str) -> IResult<&str, u64> {
    // More lines than a file can have would only overflow sums.
    verify(map_res(digit1, str::parse::<u64>), |number| *number < 1 << 40).parse(input)
}

fn hunk_line(input: &str) -> IResult<&str, Line<'_>> {
    alt((
        map(preceded(char(' '), line), Line::Kept),
        map(preceded(char('-'), line), Line::Gone),
        map(preceded(char('+'), line), Line::Come),
        value(Line::NoNewline, preceded(char('\\'), line)),
        map(verify(newline, |end: &str| !end.is_empty()), |_| Line::Kept("")),
    ))
    .parse(input)
}

/// The rest of the line, with its end passed over. A file with CR LF line ends shows as lines that end in CR.
fn line(input: &str) -> IResult<&str, &str> {
    map(terminated(not_newline, newline), |line: &str| line.strip_suffix('\r').unwrap_or(line)).parse(input)
}

/// Up to the next `\n`. Other characters, a lone CR among them, belong to the line.
fn not_newline(input: &str) -> IResult<&str, &str> {
    alt((take_until("\n"), rest)).parse(input)
}

/// `\n`, or the end of the text.
fn newline(input: &str) -> IResult<&str, &str> {
    alt((tag("\n"), nom::combinator::eof)).parse(input)
}

/// One file of a `*** Begin Patch`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch<'p> {
    /// The file, as the patch spells it.
    pub path: &'p str,
    /// What is to be done.
    pub change: FileChange<'p>,
}

/// What a patch does to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange<'p> {
    /// Write a file with these lines.
    Add(Vec<&'p str>),
    /// Remove it.
    Delete,
    /// Change it, and perhaps move it.
    Update {
        /// Its new name.
        move_to: Option<&'p str>,
        /// The changes, in file order.
        hunks: Vec<Snippet<'p>>,
    },
}

/// The old and the new lines of one change, without line numbers. Lines that stay are in both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snippet<'p> {
    /// The old lines.
    pub before: Vec<&'p str>,
    /// The new lines.
    pub after: Vec<&'p str>,
}

/// The files of the first `*** Begin Patch` in `text`, in its order. None where there is none, or it does not parse to its end.
pub fn begin_patch(text: &str) -> Option<Vec<FilePatch<'_>>> {
    let at = memmem::find(text.as_bytes(), BEGIN.as_bytes())?;
    let patch = delimited((tag(BEGIN), end_of_line), many1(file_patch), tag(END)).parse(&text[at..]);
    patch.ok().map(|(_, files)| files)
}

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

fn file_patch(input: &str) -> IResult<&str, FilePatch<'_>> {
    let add = map((directive("*** Add File: "), many0(preceded(char('+'), patch_line))), |(path, lines)| FilePatch {
        path,
        change: FileChange::Add(lines),
    });
    let delete = map(directive("*** Delete File: "), |path| FilePatch { path, change: FileChange::Delete });
    let update = map((directive("*** Update File: "), opt(directive("*** Move to: ")), many0(snippet)), |(path, move_to, hunks)| {
        FilePatch { path, change: FileChange::Update { move_to, hunks } }
    });
    alt((add, delete, update)).parse(input)
}

fn directive<'p>(name: &'static str) -> impl Parser<&'p str, Output = &'p str, Error = nom::error::Error<&'p str>> {
    map(preceded(tag(name), patch_line), str::trim)
}

/// A hunk: an optional `@@` line, then lines; the first hunk of a file may leave the `@@` line out.
fn snippet(input: &str) -> IResult<&str, Snippet<'_>> {
    let anchors = many0(preceded(tag("@@"), patch_line));
    let lines = fold_many1(snippet_line, Snippet::default, Snippet::with);
    let end = opt((tag("*** End of File"), end_of_line));
    delimited(anchors, lines, end).parse(input)
}

impl<'p> Snippet<'p> {
    fn with(mut self, line: Line<'p>) -> Self {
        match line {
            Line::Kept(text) => {
                self.before.push(text);
                self.after.push(text);
            }
            Line::Gone(text) => self.before.push(text),
            Line::Come(text) => self.after.push(text),
            Line::NoNewline => {}
        }
        self
    }
}

fn snippet_line(input: &str) -> IResult<&str, Line<'_>> {
    alt((
        map(preceded(char(' '), patch_line), Line::Kept),
        map(preceded(char('-'), patch_line), Line::Gone),
        map(preceded(char('+'), patch_line), Line::Come),
        map(recognize(line_ending), |_| Line::Kept("")),
    ))
    .parse(input)
}

/// A line that has an end: the patch goes on to `*** End Patch`.
fn patch_line(input: &str) -> IResult<&str, &str> {
    let end = memchr2(b'\r', b'\n', input.as_bytes()).unwrap_or(input.len());
    let (line, behind) = input.split_at(end);
    map(line_ending, |_| line).parse(behind)
}

fn end_of_line(input: &str) -> IResult<&str, &str> {
    recognize((nom::character::complete::space0, line_ending)).parse(input)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run<'p>(before_first: u64, before: &[&'p str], after_first: u64, after: &[&'p str]) -> Run<'p> {
        Run { before_first, before: before.to_vec(), after_first, after: after.to_vec() }
    }

    #[test]
    fn each_changed_run_of_each_hunk() {
        let diff = "@@ -4,3 +4,4 @@ fn\n a\n-b\n+B\n+C\n c\n@@ -43,4 +44,3 @@\n-x\n k\n-y\n+Y\n l\n";
        let runs = unified_runs(diff).unwrap();
        assert_eq!(runs, [run(5, &["b"], 5, &["B", "C"]), run(43, &["x"], 44, &[]), run(45, &["y"], 45, &["Y"])]);
    }

    #[test]
    fn hunks_with_an_empty_side_count_from_the_line_before() {
        assert_eq!(unified_runs("@@ -0,0 +1,2 @@\n+a\n+b\n").unwrap(), [run(1, &[], 1, &["a", "b"])]);
        assert_eq!(unified_runs("@@ -1 +0,0 @@\n-a\n").unwrap(), [run(1, &["a"], 1, &[])]);
    }

    #[test]
    fn line_ends_are_not_part_of_lines() {
        let runs = unified_runs("@@ -1,2 +1,2 @@\n alpha\r\n-beta\r\n+BETA\r\n\\ No newline at end of file\n").unwrap();
        assert_eq!(runs, [run(2, &["beta"], 2, &["BETA"])]);
    }

    #[test]
    fn a_hunk_must_have_the_lines_that_it_announces() {
        assert_eq!(unified_runs("@@ -1,2 +1,2 @@\n a\n-b\n"), None);
        assert_eq!(unified_runs("@@ -1 +1 @@\n-a\n+b\nno line of a diff\n"), None);
        assert_eq!(unified_runs("@@ -18446744073709551615,9 +1 @@\n-a\n+b\n"), None);
        assert_eq!(unified_runs(""), Some(vec![]));
    }

    #[test]
    fn files_of_a_patch() {
        let text = "apply_patch <<'E'\n*** Begin Patch\n*** Add File: a b.py\n+x\n+\n*** Delete File: d\n*** Update File: u\n*** Move to: m\n\
                    @@ fn u\n k\n-o\n+n\n@@\n+end\n*** End of File\n*** End Patch\nE\n";
        let files = begin_patch(text).unwrap();
        let snippet = |before: &[&'static str], after: &[&'static str]| Snippet { before: before.to_vec(), after: after.to_vec() };
        assert_eq!(
            files,
            [
                FilePatch { path: "a b.py", change: FileChange::Add(vec!["x", ""]) },
                FilePatch { path: "d", change: FileChange::Delete },
                FilePatch {
                    path: "u",
                    change: FileChange::Update {
                        move_to: Some("m"),
                        hunks: vec![snippet(&["k", "o"], &["k", "n"]), snippet(&[], &["end"])]
                    }
                },
            ]
        );
    }

    #[test]
    fn lines_may_end_in_cr_lf_but_not_in_cr() {
        let text = "*** Begin Patch \t\r\n*** Update File:  u \r\n@@\r\n-o\r\n\r\n*** End of File \n+n\n*** End Patch";
        let hunks = vec![Snippet { before: vec!["o", ""], after: vec![""] }, Snippet { before: vec![], after: vec!["n"] }];
        assert_eq!(begin_patch(text).unwrap(), [FilePatch { path: "u", change: FileChange::Update { move_to: None, hunks } }]);
        for text in [text.replace("-o\r\n", "-o\rx\n"), text.replace("+n\n", "@@\n"), text.replace("Patch \t", "Patch x")] {
            assert_eq!(begin_patch(&text), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_patch_is_none() {
        for text in ["", "*** Begin Patch\n*** End Patch", "*** Begin Patch\n*** Add File: a\n+x\n", "*** Begin Patch\nx\n*** End Patch"] {
            assert_eq!(begin_patch(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parsers(text in "(@@ -[0-9]{1,3}(,[0-9])? \\+[0-9]{1,3}(,[0-9])? @@\n|[ +\\-\\\\@][a\r]?\n|\\*\\*\\* [A-Z][a-z]+ (File: )?[a-zP]*\n?|.|\n){0,30}") {
            let _ = unified_runs(&text);
            let _ = begin_patch(&format!("*** Begin Patch\n{text}"));
        }

        /// The runs of a diff that is made of two texts lead from the one to the other.
        #[test]
        fn runs_lead_from_before_to_after(lines in proptest::collection::vec((0..3u8, "[a-z]{0,3}"), 1..20)) {
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
                rebuilt.extend_from_slice(&before[next - 1..run.before_first as usize - 1]);
                prop_assert_eq!(run.after_first as usize, rebuilt.len() + 1);
                rebuilt.extend(run.after);
                next = run.before_first as usize + run.before.len();
            }
            rebuilt.extend_from_slice(&before[next - 1..]);
            prop_assert_eq!(rebuilt, after);
        }
    }
}
