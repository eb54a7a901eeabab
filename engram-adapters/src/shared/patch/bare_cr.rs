//! Unified diffs by libraries that end a line at a CR alone too, and write no `\n` after it. Lines of a file end at `\n` only.

use std::borrow::Cow;
use std::ops::ControlFlow;

use super::unified::{ChangedRun, header};

/// What a diff says of the lines of a file in which a CR may stand alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineRuns<'p> {
    /// The changed runs: the diff has all of the file up to its last change.
    Counted(Vec<ChangedRun<'p>>),
    /// The file may have a CR before or between the hunks, so the numbers of the diff are not those of lines.
    Unknown,
}

/// True if a text has a CR without a `\n` after it.
pub fn has_bare_cr(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'\r', bytes).any(|at| bytes.get(at + 1) != Some(&b'\n'))
}

/// The changed runs of a diff without file headers, of a file in which a CR may stand alone. None if the text is not such a diff.
///
/// ```
/// use engram_adapters::shared::patch::{LineRuns, line_runs};
///
/// let LineRuns::Counted(runs) = line_runs("@@ -1,3 +1,3 @@\n a\n b\r-c\n+C\n").expect("a unified diff") else { panic!() };
/// assert_eq!((runs[0].before_first, &*runs[0].before[0], &*runs[0].after[0]), (2, "b\rc", "b\rC"));
/// ```
pub fn line_runs(diff: &str) -> Option<LineRuns<'static>> {
    let mut pieces = Pieces(diff);
    let (mut hunks, mut is_whole, mut runs) = (
        0,
        true,
        Runs {
            before_line: 1,
            after_line: 1,
            ..Runs::default()
        },
    );
    while let Some(piece) = pieces.next() {
        let ((before, after), mut left) = header(piece)
            .ok()
            .map(|(_, hunk)| (hunk, (hunk.0.1, hunk.1.1)))?;
        hunks += 1;
        is_whole &= hunks == 1 && before.0 <= 1 && after.0 <= 1;
        while left != (0, 0) || pieces.0.starts_with('\\') {
            let piece = pieces.next()?;
            if let ControlFlow::Break(()) = runs.add(piece, &mut left) {
                return None;
            }
        }
    }
    Some(match runs.finish() {
        Some(runs) if is_whole => LineRuns::Counted(runs),
        _ => LineRuns::Unknown,
    })
}

/// The parts of a text that end at `\n`, `\r\n` or `\r`, with their ends.
struct Pieces<'t>(&'t str);

impl<'t> Iterator for Pieces<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let bytes = self.0.as_bytes();
        let end = memchr::memchr2(b'\r', b'\n', bytes).map_or(bytes.len(), |at| {
            at + 1 + usize::from(bytes[at..].starts_with(b"\r\n"))
        });
        let (piece, rest) = self.0.split_at(end);
        self.0 = rest;
        (!piece.is_empty()).then_some(piece)
    }
}

/// The runs of changed lines up to a place in a hunk, and the lines that are not complete there.
#[derive(Default)]
struct Runs {
    runs: Vec<ChangedRun<'static>>,
    before_line: u64,
    after_line: u64,
    before: String,
    after: String,
    is_changed: bool,
}

impl Runs {
    /// Adds a piece with its mark. `left` is how many pieces the hunk still has on each side.
    fn add(&mut self, piece: &str, left: &mut (u64, u64)) -> ControlFlow<()> {
        let mut chars = piece.chars();
        let (mark, text) = match chars.next() {
            Some('\r' | '\n') | None => (' ', piece),
            Some(mark) => (mark, chars.as_str()),
        };
        let (in_before, in_after) = match mark {
            ' ' => (true, true),
            '-' => (true, false),
            '+' => (false, true),
            // `\ No newline at end of file`
            '\\' => return ControlFlow::Continue(()),
            _ => return ControlFlow::Break(()),
        };
        let (Some(before), Some(after)) = (
            left.0.checked_sub(in_before.into()),
            left.1.checked_sub(in_after.into()),
        ) else {
            return ControlFlow::Break(());
        };
        *left = (before, after);
        if self.is_complete() && (mark == ' ' || !self.is_changed) {
            self.end_run();
        }
        if in_before {
            self.before.push_str(text);
        }
        if in_after {
            self.after.push_str(text);
        }
        self.is_changed |= mark != ' ';
        ControlFlow::Continue(())
    }

    /// True if the texts of both sides end with a line.
    fn is_complete(&self) -> bool {
        [&self.before, &self.after]
            .into_iter()
            .all(|text| text.is_empty() || text.ends_with('\n'))
    }

    fn end_run(&mut self) {
        let lines = |text: &str| -> Vec<Cow<'static, str>> {
            let line = |line: &str| {
                line.strip_suffix('\n')
                    .map(|line| line.strip_suffix('\r').unwrap_or(line).to_owned().into())
            };
            text.split_inclusive('\n').filter_map(line).collect()
        };
        let (before, after) = (lines(&self.before), lines(&self.after));
        let (before_first, after_first) = (self.before_line, self.after_line);
        self.before_line += before.len() as u64;
        self.after_line += after.len() as u64;
        if self.is_changed {
            self.runs.push(ChangedRun {
                before_first,
                before,
                after_first,
                after,
            });
        }
        self.before.clear();
        self.after.clear();
        self.is_changed = false;
    }

    /// All runs. None if the end of a changed line is not in the diff.
    fn finish(mut self) -> Option<Vec<ChangedRun<'static>>> {
        let is_complete = self.is_complete() || !self.is_changed;
        if self.is_complete() {
            self.end_run();
        }
        is_complete.then_some(self.runs)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::unified::tests::run;
    use super::*;

    fn counted(diff: &str) -> Vec<ChangedRun<'static>> {
        match line_runs(diff).unwrap() {
            LineRuns::Counted(runs) => runs,
            LineRuns::Unknown => panic!("{diff:?}"),
        }
    }

    #[test]
    fn whole_lines_are_counted() {
        assert_eq!(
            counted("@@ -1,4 +1,4 @@\n a\n-b\r-x\n+B\r+y\n c\n"),
            [run(2, &["b\rx"], 2, &["B\ry"])]
        );
        assert_eq!(
            counted("@@ -1,3 +1,3 @@\n p1\r-p2\r+P2\r p3\n"),
            [run(1, &["p1\rp2\rp3"], 1, &["p1\rP2\rp3"])]
        );
        assert_eq!(
            counted("@@ -1,2 +1,3 @@\n a\r\n+b\r c\r\n"),
            [run(2, &["c"], 2, &["b\rc"])]
        );
        let two = counted(
            "@@ -1,5 +1,5 @@\n-a\r+A\r b\n c\n-d\n+D\n+e\r\n f\n\\ No newline at end of file\n"
                .replace(",5 @@", ",6 @@")
                .as_str(),
        );
        assert_eq!(
            two,
            [
                run(1, &["a\rb"], 1, &["A\rb"]),
                run(3, &["d"], 3, &["D", "e"])
            ]
        );
        assert_eq!(
            counted("@@ -0,0 +1,2 @@\n+a\r+b\n"),
            [run(1, &[], 1, &["a\rb"])]
        );
    }

    #[test]
    fn lines_after_text_that_is_not_in_the_diff_are_not_known() {
        for diff in [
            "@@ -4,2 +4,4 @@\n c\n+x\r+y\n d\n",
            "@@ -1,2 +1,2 @@\n-a\n+A\n b\r@@ -7 +7 @@\n-g\n+G\n",
            "@@ -1 +1 @@\n-a\r+b\r",
        ] {
            assert_eq!(line_runs(diff), Some(LineRuns::Unknown), "{diff:?}");
        }
    }

    #[test]
    fn hunk_must_have_the_number_of_lines_in_its_header() {
        for diff in [
            "@@ -1,2 +1,2 @@\n a\r-b\n",
            "@@ -1 +1 @@\n-a\r+b\nnot a diff line\n",
            "@@ -1,1 +1,2 @@\n-a\n-b\n+c\n+d\n",
        ] {
            assert_eq!(line_runs(diff), None, "{diff:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "(@@ -[0-9]{1,3}(,[0-9])? \\+[0-9]{1,3}(,[0-9])? @@\n|[ +\\-\\\\@][aé\r]?[\r\n]|.|\r|\n){0,30}") {
            let _ = line_runs(&text);
        }

        /// A diff of a text without a CR alone has the runs that `unified_runs` finds.
        #[test]
        fn without_a_bare_cr_lines_are_those_of_the_diff(lines in proptest::collection::vec((0..3u8, "[a-z]{0,3}"), 1..20)) {
            let (mut diff, mut counts) = (String::new(), [0, 0]);
            for (kind, text) in &lines {
                diff.push_str(&format!("{}{text}\n", [' ', '-', '+'][usize::from(*kind)]));
                counts[0] += u64::from(*kind != 2);
                counts[1] += u64::from(*kind != 1);
            }
            let start = |count: u64| u64::from(count > 0);
            let diff = format!("@@ -{},{} +{},{} @@\n{diff}", start(counts[0]), counts[0], start(counts[1]), counts[1]);
            let plain = super::super::unified_runs(&diff).unwrap();
            prop_assert_eq!(line_runs(&diff), Some(LineRuns::Counted(plain)));
        }
    }
}
