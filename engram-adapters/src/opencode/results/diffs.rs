//! Unified diffs of edits. The harness removes the indentation that all their lines share, so their text is used only if the call
//! itself proves that nothing was removed.

use crate::shared::patch::{ChangedRun, FileChange, unified_runs};
use crate::shared::spans::has_crlf;

/// A diff of one file.
pub(super) struct Diff<'d> {
    /// The changed runs of lines.
    pub runs: Vec<ChangedRun<'d>>,
    /// The text of the hunks.
    hunks: &'d str,
}

/// What the arguments of a call prove about the text of the changed lines.
#[derive(Clone, Copy)]
pub(super) enum Proof<'p> {
    /// Nothing.
    None,
    /// The diff itself is complete: the version that wrote it removes no indentation.
    Complete,
    /// `old` was replaced by `new`.
    Replaced {
        old: &'p str,
        new: &'p str,
        all: bool,
    },
    /// The patch requested these lines.
    Requested(&'p FileChange<'p>),
}

impl<'d> Diff<'d> {
    /// Parses a diff, with or without file headers (`Index:`, `---`, `+++`). None if it is not complete.
    pub fn parse(diff: &'d str) -> Option<Diff<'d>> {
        let hunks = if diff.starts_with("@@ -") {
            diff
        } else {
            diff.find("\n@@ -").map_or("", |at| &diff[at + 1..])
        };
        Some(Diff {
            runs: unified_runs(hunks)?,
            hunks,
        })
    }

    /// True if the diff shows its lines with all their indentation.
    ///
    /// The proof is a line that the arguments contain from its first column: the diff would show less of it if indentation were removed. A
    /// line of the old text proves that only beside a new text with a visible line: the tool finds an old text without its indentation too,
    /// and writes the new one as it is.
    ///
    /// A line with a CR at its end proves nothing: the harness has changed the line ends, and the file may have had more of them.
    pub fn is_exact(&self, proof: Proof<'_>) -> bool {
        match proof {
            _ if has_crlf(self.hunks) => false,
            Proof::None => false,
            Proof::Complete => true,
            Proof::Replaced { old, new, all } => {
                let is_shown = contains_line_start(new)
                    || (contains_line_start(old) && new.split('\n').any(shows_indentation));
                is_shown && self.replaces(old, new, all)
            }
            Proof::Requested(FileChange::Add(lines)) => {
                lines.iter().copied().any(shows_indentation)
                    && self.runs.iter().flat_map(|run| &run.after).eq(lines)
            }
            Proof::Requested(FileChange::Update { hunks, .. }) => {
                let added = self
                    .runs
                    .iter()
                    .flat_map(|run| &run.after)
                    .map(|line| &**line)
                    .collect::<Vec<_>>();
                let requested: Vec<&str> = hunks
                    .iter()
                    .flat_map(|hunk| new_lines(&hunk.before, &hunk.after))
                    .collect();
                added.iter().copied().any(shows_indentation) && added == requested
            }
            Proof::Requested(FileChange::Delete) => false,
        }
    }

    /// True if, in every hunk, the replacement turns the text before into the text after.
    fn replaces(&self, old: &str, new: &str, all: bool) -> bool {
        let mut hunks = self.hunks.split("\n@@ -").peekable();
        hunks.peek().is_some()
            && hunks.all(|hunk| {
                let side = |other_side: char| -> String {
                    let lines = hunk
                        .lines()
                        .skip(1)
                        .filter(|line| !line.starts_with([other_side, '\\']));
                    lines
                        .flat_map(|line| [line.get(1..).unwrap_or_default(), "\n"])
                        .collect()
                };
                let (before, after) = (side('+'), side('-'));
                is_replaced(&before, old, new, if all { usize::MAX } else { 1 }, &after)
            })
    }
}

/// True if `old` is in the text before, and `new` in its first places, at most so many, makes it the text after. A long text that makes
/// another length is not put together.
fn is_replaced(before: &str, old: &str, new: &str, most: usize, after: &str) -> bool {
    let places = before.matches(old).take(most).count();
    let len = places
        .checked_mul(new.len())
        .and_then(|added| added.checked_add(before.len() - places * old.len()));
    places > 0 && len == Some(after.len()) && before.replacen(old, new, places) == after
}

/// True if a line that shows its indentation follows a line end.
fn contains_line_start(text: &str) -> bool {
    text.split('\n').skip(1).any(shows_indentation)
}

/// True for a line whose indentation the harness counts. Blank lines have none. Lines such as `-- comment` become `--- comment` when they
/// are removed: the harness takes that for a file header, and keeps it as it is.
fn shows_indentation(line: &str) -> bool {
    !line.trim().is_empty() && !line.starts_with("--") && !line.starts_with("++")
}

/// The new lines of a requested change, without the context lines that both sides have.
fn new_lines<'p>(before: &[&'p str], after: &[&'p str]) -> Vec<&'p str> {
    let lead = before
        .iter()
        .zip(after)
        .take_while(|(one, other)| one == other)
        .count();
    let rest = before.len().min(after.len()) - lead;
    let tail = before
        .iter()
        .rev()
        .zip(after.iter().rev())
        .take(rest)
        .take_while(|(one, other)| one == other)
        .count();
    after[lead..after.len() - tail].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "Index: /f\n===\n--- /f\n+++ /f\n";

    fn is_exact(hunks: &str, old: &str, new: &str, all: bool) -> bool {
        Diff::parse(&format!("{HEADER}{hunks}"))
            .unwrap()
            .is_exact(Proof::Replaced { old, new, all })
    }

    #[test]
    fn a_line_from_its_first_column_proves_the_indentation() {
        let hunks =
            "@@ -1,3 +1,4 @@\n def f():\n-    return 1\n+    \"\"\"doc\"\"\"\n+    return 2\n \n";
        assert!(is_exact(
            hunks,
            "    return 1\n",
            "    \"\"\"doc\"\"\"\n    return 2\n",
            false
        ));
        assert!(is_exact(
            hunks,
            "return 1",
            "\"\"\"doc\"\"\"\n    return 2",
            false
        ));
    }

    #[test]
    fn a_diff_without_its_indentation_is_not_exact() {
        // The file has four more spaces before each of these lines.
        let hunks = "@@ -8,2 +8,3 @@\n if x:\n-    y = 1\n+    y = 2\n+    z = 3\n";
        assert!(!is_exact(hunks, "y = 1", "y = 2\n        z = 3", false));
        assert!(
            !is_exact("@@ -1,1 +1,1 @@\n-y = 1\n+y = 2\n", "y = 1", "y = 2", false),
            "part of one line proves nothing"
        );
    }

    #[test]
    fn lines_that_look_like_a_file_header_prove_nothing() {
        // The file has four more spaces before each line but the comment.
        let hunks = "@@ -4,4 +4,3 @@\n c int,\n-d int,\n--- obsolete\n+d text,\n e int,\n";
        assert!(!is_exact(
            hunks,
            "d int,\n-- obsolete\n",
            "d text,\n",
            false
        ));
        let added = Diff::parse("@@ -0,0 +1,1 @@\n+-- a\n").unwrap();
        assert!(!added.is_exact(Proof::Requested(&FileChange::Add(vec!["-- a"]))));
    }

    #[test]
    fn an_old_text_alone_proves_nothing() {
        // The tool found these lines although the file has eight more spaces before each.
        let hunks = "@@ -6,4 +6,3 @@\n d\n-x = [1,\n-     2]\n+\n e\n";
        assert!(!is_exact(hunks, "x = [1,\n     2]", "", false));
        assert!(is_exact(
            "@@ -6,4 +6,3 @@\n d\n-x = [1,\n-     2]\n+y\n e\n",
            "x = [1,\n     2]",
            "y",
            false
        ));
    }

    #[test]
    fn a_replacement_is_checked_in_every_hunk() {
        let hunks = "@@ -1,2 +1,2 @@\n-a\n-b\n+a\n+B\n@@ -9,2 +9,2 @@\n-a\n-b\n+a\n+B\n";
        assert!(is_exact(hunks, "a\nb", "a\nB", true));
        assert!(!is_exact(
            &hunks.replace("+a\n+B\n@@", "+a\n+ B\n@@"),
            "a\nb",
            "a\nB",
            true
        ));
    }

    #[test]
    fn a_replacement_that_would_be_huge_is_not_made() {
        let (before, new) = ("a".repeat(1 << 20), "b".repeat(1 << 24));
        assert!(!is_replaced(&before, "a", &new, usize::MAX, "b"));
        assert!(
            is_replaced("a-a", "a", "b", usize::MAX, "b-b")
                && is_replaced("a-a", "a", "b", 1, "b-a")
        );
        assert!(
            is_replaced("ab", "", "-", usize::MAX, "-a-b-") && !is_replaced("ab", "c", "", 1, "ab")
        );
    }

    #[test]
    fn the_requested_lines_prove_an_added_file() {
        let diff = Diff::parse("@@ -0,0 +1,2 @@\n+a\n+ b\n").unwrap();
        assert!(diff.is_exact(Proof::Requested(&FileChange::Add(vec!["a", " b"]))));
        assert!(!diff.is_exact(Proof::Requested(&FileChange::Add(vec!["  a", "   b"]))));
        assert!(!diff.is_exact(Proof::None));
    }
}
