//! The `*** Begin Patch` format: added, deleted and updated files, without line numbers.

use std::ops::Range;

use memchr::memmem;

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
    /// Where lines changed, in both.
    changed: Vec<(Range<usize>, Range<usize>)>,
}

/// An old and a new text. None for a side without lines.
pub type Sides = (Option<String>, Option<String>);

/// The files of the first `*** Begin Patch` in `text`, in order. None if there is none, or if it does not parse to its end.
///
/// Lines end at `\n` or `\r\n`; a `\r` alone is text. White space around the first and last line and around the line of a file is no part
/// of it, as the tools that apply patches see it.
pub fn begin_patch(text: &str) -> Option<Vec<FilePatch<'_>>> {
    let at = memmem::find(text.as_bytes(), BEGIN.as_bytes())?;
    let (rest_of_line, body) = text[at + BEGIN.len()..].split_once('\n')?;
    if !rest_of_line.trim().is_empty() {
        return None;
    }
    let lines: Vec<&str> = body.lines().collect();
    let mut lines = PatchLines(&lines[..end_of_patch(&lines)?]);
    let mut files = Vec::new();
    while let Some(line) = lines.next_if(|_| true) {
        files.push(file_patch(line.trim(), &mut lines)?);
    }
    (!files.is_empty()).then_some(files)
}

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// The number of lines before the end mark of a patch. The last line may be indented and still be the end mark; an earlier indented line is
/// text of a file.
fn end_of_patch(lines: &[&str]) -> Option<usize> {
    lines
        .iter()
        .position(|line| line.starts_with(END))
        .or_else(|| lines.iter().rposition(|line| line.trim() == END))
}

/// The lines of a patch that have not been read.
struct PatchLines<'l, 'p>(&'l [&'p str]);

impl<'p> PatchLines<'_, 'p> {
    fn next_if(&mut self, is_wanted: impl Fn(&str) -> bool) -> Option<&'p str> {
        let (line, rest) = self.0.split_first()?;
        is_wanted(line).then(|| {
            self.0 = rest;
            *line
        })
    }

    fn starts_with(&self, beginning: &str) -> bool {
        self.0
            .first()
            .is_some_and(|line| line.starts_with(beginning))
    }
}

/// One file, given its line without white space around it.
fn file_patch<'p>(directive: &'p str, lines: &mut PatchLines<'_, 'p>) -> Option<FilePatch<'p>> {
    let path_after = |name: &str| directive.strip_prefix(name).map(str::trim);
    if let Some(path) = path_after("*** Add File: ") {
        let added = std::iter::from_fn(|| lines.next_if(|line| line.starts_with('+')));
        return Some(FilePatch {
            path,
            change: FileChange::Add(added.map(|line| &line[1..]).collect()),
        });
    }
    if let Some(path) = path_after("*** Delete File: ") {
        return Some(FilePatch {
            path,
            change: FileChange::Delete,
        });
    }
    let path = path_after("*** Update File: ")?;
    let moved = lines
        .next_if(|line| line.trim_start().starts_with(MOVE))
        .map(|line| line.trim());
    let move_to = moved
        .and_then(|line| line.strip_prefix(MOVE))
        .map(str::trim);
    let mut hunks = Vec::new();
    loop {
        while lines.next_if(|line| line.trim().is_empty()).is_some() {}
        if lines.0.is_empty() || lines.starts_with("***") {
            return Some(FilePatch {
                path,
                change: FileChange::Update { move_to, hunks },
            });
        }
        hunks.push(snippet(lines)?);
    }
}

const MOVE: &str = "*** Move to: ";

/// A hunk: `@@` lines, then lines of the file. The first hunk of a file needs no `@@` line.
fn snippet<'p>(lines: &mut PatchLines<'_, 'p>) -> Option<Snippet<'p>> {
    while lines.next_if(|line| line.starts_with("@@")).is_some() {}
    let mut snippet = Snippet::default();
    while let Some(line) =
        lines.next_if(|line| line.is_empty() || line.starts_with([' ', '-', '+']))
    {
        snippet.add(line);
    }
    lines.next_if(|line| line.trim_end() == "*** End of File");
    (!snippet.before.is_empty() || !snippet.after.is_empty()).then_some(snippet)
}

impl<'p> Snippet<'p> {
    /// The old and the new text.
    pub fn texts(&self) -> Sides {
        self.sides(&(0..self.before.len(), 0..self.after.len()))
    }

    /// The changed lines without those around them: each run of them.
    pub fn changes(&self) -> impl Iterator<Item = Sides> {
        self.changed.iter().map(move |run| self.sides(run))
    }

    fn sides(&self, (before, after): &(Range<usize>, Range<usize>)) -> Sides {
        let text = |lines: &[&str]| (!lines.is_empty()).then(|| lines.join("\n"));
        (
            text(&self.before[before.clone()]),
            text(&self.after[after.clone()]),
        )
    }

    /// Adds a line with its mark. An empty line is an unchanged one.
    fn add(&mut self, line: &'p str) {
        let text = line.get(1..).unwrap_or_default();
        let (before, after) = (self.before.len(), self.after.len());
        if !line.starts_with('+') {
            self.before.push(text);
        }
        if !line.starts_with('-') {
            self.after.push(text);
        }
        if !line.starts_with(['+', '-']) {
            return;
        }
        match self.changed.last_mut() {
            Some(run) if run.0.end == before && run.1.end == after => {}
            _ => self.changed.push((before..before, after..after)),
        }
        if let Some(run) = self.changed.last_mut() {
            (run.0.end, run.1.end) = (self.before.len(), self.after.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The change of these lines, each with its mark.
    fn snippet(lines: &[&'static str]) -> Snippet<'static> {
        let mut snippet = Snippet::default();
        lines.iter().for_each(|line| snippet.add(line));
        snippet
    }

    #[test]
    fn patch_may_add_delete_update_and_move_files() {
        let text = "apply_patch <<'E'\n*** Begin Patch\n*** Add File: a b.py\n+x\n+\n*** Delete File: d\n*** Update File: u\n*** Move to: m\n\
                    @@ fn u\n k\n-o\n+n\n@@\n+end\n*** End of File\n*** End Patch\nE\n";
        let files = begin_patch(text).unwrap();
        assert_eq!(
            files,
            [
                FilePatch {
                    path: "a b.py",
                    change: FileChange::Add(vec!["x", ""])
                },
                FilePatch {
                    path: "d",
                    change: FileChange::Delete
                },
                FilePatch {
                    path: "u",
                    change: FileChange::Update {
                        move_to: Some("m"),
                        hunks: vec![snippet(&[" k", "-o", "+n"]), snippet(&["+end"])]
                    }
                },
            ]
        );
    }

    #[test]
    fn lines_may_end_with_cr_lf() {
        let text = "*** Begin Patch \t\r\n*** Update File:  u \r\n@@\r\n-o\r\n\r\n*** End of File \n+n\n*** End Patch";
        let hunks = vec![snippet(&["-o", ""]), snippet(&["+n"])];
        assert_eq!(
            begin_patch(text).unwrap(),
            [FilePatch {
                path: "u",
                change: FileChange::Update {
                    move_to: None,
                    hunks
                }
            }]
        );
        for text in [
            text.replace("+n\n", "@@\n"),
            text.replace("Patch \t", "Patch x"),
        ] {
            assert_eq!(begin_patch(&text), None, "{text}");
        }
    }

    #[test]
    fn a_cr_alone_is_text_of_a_line() {
        let files = begin_patch("*** Begin Patch\n*** Add File: a\n+x\ry\n*** Update File: u\n@@\n c\rd\n-\r\r\n*** End Patch").unwrap();
        let hunks = vec![snippet(&[" c\rd", "-\r"])];
        let update = FileChange::Update {
            move_to: None,
            hunks,
        };
        assert_eq!(
            files,
            [
                FilePatch {
                    path: "a",
                    change: FileChange::Add(vec!["x\ry"])
                },
                FilePatch {
                    path: "u",
                    change: update
                }
            ]
        );
    }

    #[test]
    fn lines_of_a_patch_and_of_a_file_may_be_indented() {
        let text = " *** Begin Patch \n  *** Update File: u\n *** Move to: m \n\n@@\n-o\n *** End Patch\n+n\n\t*** End Patch ";
        let hunks = vec![snippet(&["-o", " *** End Patch", "+n"])];
        assert_eq!(
            begin_patch(text).unwrap(),
            [FilePatch {
                path: "u",
                change: FileChange::Update {
                    move_to: Some("m"),
                    hunks
                }
            }]
        );
    }

    #[test]
    fn changes_are_runs_of_changed_lines() {
        let hunk = snippet(&[" a", "-b", "+B", "+C", "", "+d", " e", "-f"]);
        let text = |text: &str| Some(text.to_owned());
        let found: Vec<Sides> = hunk.changes().collect();
        assert_eq!(
            found,
            [
                (text("b"), text("B\nC")),
                (None, text("d")),
                (text("f"), None)
            ]
        );
        assert_eq!(hunk.texts().1, text("a\nB\nC\n\nd\ne"));
        assert_eq!(snippet(&[" a"]).changes().count(), 0);
    }

    #[test]
    fn malformed_patch_is_none() {
        for text in [
            "",
            "*** Begin Patch\n*** End Patch",
            "*** Begin Patch\n*** Add File: a\n+x\n",
            "*** Begin Patch\nx\n*** End Patch",
        ] {
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
