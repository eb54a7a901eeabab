//! The `*** Begin Patch` format: added, deleted and updated files, without line numbers.

use memchr::{memchr2, memmem};
use nom::branch::alt;
use nom::bytes::complete::tag;
use nom::character::complete::{char, line_ending};
use nom::combinator::{map, opt, recognize};
use nom::multi::{fold_many1, many0, many1};
use nom::sequence::{delimited, preceded};
use nom::{IResult, Parser};

use super::line::Line;

/// One file of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch<'p> {
    /// The path, as written in the patch.
    pub path: &'p str,
    /// The change.
    pub change: FileChange<'p>,
}

/// What a patch does to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange<'p> {
    /// Creates a file with these lines.
    Add(Vec<&'p str>),
    /// Deletes the file.
    Delete,
    /// Changes the file, and moves it if there is a new path.
    Update {
        /// The new path.
        move_to: Option<&'p str>,
        /// The changes, in file order.
        hunks: Vec<Snippet<'p>>,
    },
}

/// The old and the new lines of one change, without line numbers. Unchanged lines are in both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snippet<'p> {
    /// The old lines.
    pub before: Vec<&'p str>,
    /// The new lines.
    pub after: Vec<&'p str>,
}

/// The files of the first `*** Begin Patch` in `text`, in order. None if there is none, or if it does not parse to its end.
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

/// A hunk: `@@` lines, then lines of the file. The first hunk of a file needs no `@@` line.
fn snippet(input: &str) -> IResult<&str, Snippet<'_>> {
    let anchors = many0(preceded(tag("@@"), patch_line));
    let lines = fold_many1(snippet_line, Snippet::default, Snippet::with);
    let end = opt((tag("*** End of File"), end_of_line));
    delimited(anchors, lines, end).parse(input)
}

impl<'p> Snippet<'p> {
    fn with(mut self, line: Line<'p>) -> Self {
        match line {
            Line::Unchanged(text) => {
                self.before.push(text);
                self.after.push(text);
            }
            Line::Removed(text) => self.before.push(text),
            Line::Added(text) => self.after.push(text),
            Line::NoNewline => {}
        }
        self
    }
}

fn snippet_line(input: &str) -> IResult<&str, Line<'_>> {
    alt((
        map(preceded(char(' '), patch_line), Line::Unchanged),
        map(preceded(char('-'), patch_line), Line::Removed),
        map(preceded(char('+'), patch_line), Line::Added),
        map(recognize(line_ending), |_| Line::Unchanged("")),
    ))
    .parse(input)
}

/// The rest of a line, which must have a line end: `*** End Patch` follows later.
fn patch_line(input: &str) -> IResult<&str, &str> {
    let end = memchr2(b'\r', b'\n', input.as_bytes()).unwrap_or(input.len());
    let (line, rest) = input.split_at(end);
    map(line_ending, |_| line).parse(rest)
}

fn end_of_line(input: &str) -> IResult<&str, &str> {
    recognize((nom::character::complete::space0, line_ending)).parse(input)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn patch_may_add_delete_update_and_move_files() {
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
    fn lines_may_end_with_cr_lf_but_not_with_cr() {
        let text = "*** Begin Patch \t\r\n*** Update File:  u \r\n@@\r\n-o\r\n\r\n*** End of File \n+n\n*** End Patch";
        let hunks = vec![Snippet { before: vec!["o", ""], after: vec![""] }, Snippet { before: vec![], after: vec!["n"] }];
        assert_eq!(begin_patch(text).unwrap(), [FilePatch { path: "u", change: FileChange::Update { move_to: None, hunks } }]);
        for text in [text.replace("-o\r\n", "-o\rx\n"), text.replace("+n\n", "@@\n"), text.replace("Patch \t", "Patch x")] {
            assert_eq!(begin_patch(&text), None, "{text}");
        }
    }

    #[test]
    fn malformed_patch_is_none() {
        for text in ["", "*** Begin Patch\n*** End Patch", "*** Begin Patch\n*** Add File: a\n+x\n", "*** Begin Patch\nx\n*** End Patch"] {
            assert_eq!(begin_patch(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_without_panic(text in "(@@ -[0-9]{1,3}(,[0-9])? \\+[0-9]{1,3}(,[0-9])? @@\n|[ +\\-\\\\@][a\r]?\n|\\*\\*\\* [A-Z][a-z]+ (File: )?[a-zP]*\n?|.|\n){0,30}") {
            let _ = begin_patch(&format!("*** Begin Patch\n{text}"));
        }
    }
}
