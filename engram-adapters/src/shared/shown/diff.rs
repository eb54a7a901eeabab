//! The diffs in which results show files to the terminal: of an edit, and of a read too, where nothing changed.
//!
//! Each file has a section that begins with `diff --git`. Its lines are the text divided at `\n`, so that a final line end shows as an empty
//! last line; a CR before a line end is left out (1.0.12 to 1.0.102: recorded).

use crate::shared::patch::{ChangedRun, unified_runs};

const SECTION: &str = "diff --git ";
const NOTHING: &str = "dev/null";
const CREATED: &str = "\ncreate file mode ";

/// The section of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section<'d> {
    /// The file before; none if it is created.
    pub before: Option<&'d str>,
    /// The file after; none if it is deleted.
    pub after: Option<&'d str>,
    /// True if the file is shown as a new one. A read of a directory is shown so.
    pub is_created: bool,
    /// The hunks.
    hunks: &'d str,
}

/// The lines of a file that a read shows: the number of the first one, and their text, divided at `\n`.
#[derive(Debug, PartialEq, Eq)]
pub struct Shown<'d> {
    pub first: u64,
    pub lines: Vec<&'d str>,
}

/// The sections of a diff. None if the text is no such diff.
pub fn sections(detail: &str) -> Option<Vec<Section<'_>>> {
    let text = detail.trim_start_matches('\n').strip_prefix(SECTION)?;
    text.split("\n\ndiff --git ").map(section).collect()
}

fn section(text: &str) -> Option<Section<'_>> {
    let header = text.find("\n@@ ").map_or(text, |at| &text[..=at]);
    let name = |mark: &str, prefix: &str| {
        let line = header.lines().find_map(|line| line.strip_prefix(mark))?;
        let path = line.strip_prefix(prefix)?;
        Some(Some(path).filter(|path| *path != NOTHING))
    };
    Some(Section {
        before: name("--- ", "a/")?,
        after: name("+++ ", "b/")?,
        is_created: header.contains(CREATED),
        hunks: text[header.len()..].trim_end_matches('\n'),
    })
}

impl<'d> Section<'d> {
    /// The path of the file, as far as the diff has it: without a `/` at its beginning.
    pub fn path(&self) -> &'d str {
        self.after.or(self.before).unwrap_or_default()
    }

    /// The changed runs. None if the hunks cannot be read.
    pub fn runs(&self) -> Option<Vec<ChangedRun<'d>>> {
        unified_runs(self.hunks)
    }

    /// True if the file stays as it was: a patch may put the same lines in place of some.
    pub fn changes_nothing(&self) -> bool {
        self.before == self.after && self.runs().is_some_and(|runs| runs.is_empty())
    }

    /// True if a hunk ends with an empty line that was added or removed. It may be the end of the file and no line.
    pub fn ends_in_doubt(&self) -> bool {
        let last = self.hunks.rsplit('\n').next();
        let changed = || {
            self.hunks
                .rsplit('\n')
                .take_while(|line| line.starts_with(['+', '-']))
        };
        last.is_some_and(|line| line.starts_with(['+', '-']))
            && changed().any(|line| line.len() == 1)
    }

    /// The lines that a read shows. None if it shows something else.
    pub fn shown(&self) -> Option<Shown<'d>> {
        let (header, lines) = self.hunks.split_once('\n').unwrap_or((self.hunks, ""));
        let (first, rest) = header.strip_prefix("@@ -")?.split_once(',')?;
        let count: usize = rest.split_once(' ')?.0.parse().ok()?;
        let lines: Option<Vec<&str>> = match lines.is_empty() && count == 0 {
            true => Some(Vec::new()),
            false => lines
                .split('\n')
                .map(|line| line.strip_prefix(' '))
                .collect(),
        };
        let shown = Shown {
            first: first.parse().ok().filter(|first| *first < 1 << 40)?,
            lines: lines?,
        };
        (shown.lines.len() == count).then_some(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDIT: &str = "\ndiff --git a/p/a.py b/p/a.py\nindex 0000000..0000000 100644\n--- a/p/a.py\n+++ b/p/a.py\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n \n";
    const DELETED: &str = "\ndiff --git a/p/o b/dev/null\nindex 0000000..0000000 100644\n--- a/p/o\n+++ b/dev/null\n@@ -1,2 +1,0 @@\n-x\n-\n";

    #[test]
    fn a_diff_has_a_section_for_each_file() {
        let both = format!("{EDIT}\n{DELETED}\n");
        let found = sections(&both).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].path(), found[1].path()), ("p/a.py", "p/o"));
        assert_eq!((found[1].before, found[1].after), (Some("p/o"), None));
        let runs = found[0].runs().unwrap();
        assert_eq!((runs[0].before_first, &*runs[0].before[0]), (2, "b"));
        assert!(!found[0].ends_in_doubt() && found[1].ends_in_doubt());
        assert_eq!(sections("40 src/multi.py\n<exited with exit code 0>"), None);
    }

    #[test]
    fn a_read_shows_lines_and_changes_nothing() {
        let read = "\ndiff --git a/p/a b/p/a\nindex 0000000..0000000 100644\n--- a/p/a\n+++ b/p/a\n@@ -4,2 +4,2 @@\n x\n \n";
        let found = sections(read).unwrap();
        let shown = Shown {
            first: 4,
            lines: vec!["x", ""],
        };
        assert!(found[0].changes_nothing());
        assert_eq!(found[0].shown(), Some(shown));
    }
}
