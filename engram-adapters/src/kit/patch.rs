//! Patches: the hunks of a unified diff, and the `*** Begin Patch` format. What does not parse to its end is no patch.

use memchr::{memchr, memchr2, memmem};

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

impl Run<'_> {
    /// A run that begins at these lines.
    fn at((before_first, after_first): (u64, u64)) -> Self {
        Run { before_first, before: Vec::new(), after_first, after: Vec::new() }
    }
}

/// The changed runs of a unified diff without file headers, in file order. None where it is no such diff, or where a hunk does not
/// have the lines that it announces.
pub fn unified_runs(diff: &str) -> Option<Vec<Run<'_>>> {
    let (mut rest, mut runs) = (DiffText(diff), Vec::new());
    while !rest.0.is_empty() {
        rest.hunk(&mut runs)?;
    }
    Some(runs)
}

/// One line of a diff or a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line<'p> {
    Kept(&'p str),
    Gone(&'p str),
    Come(&'p str),
    /// `\ No newline at end of file`
    NoNewline,
}

/// What is left of a unified diff.
struct DiffText<'p>(&'p str);

impl<'p> DiffText<'p> {
    /// Takes a hunk and adds its runs. None where there is none, or its lines are not those that its header counts.
    fn hunk(&mut self, runs: &mut Vec<Run<'p>>) -> Option<()> {
        self.take("@@ -")?;
        let (mut before, before_end) = self.span()?;
        self.take(" +")?;
        let (mut after, after_end) = self.span()?;
        self.take(" @@")?;
        self.line();
        let mut run = None;
        while let Some(line) = self.hunk_line() {
            let at = (before, after);
            match line {
                Line::NoNewline => {}
                Line::Kept(_) => {
                    runs.extend(run.take());
                    (before, after) = (before + 1, after + 1);
                }
                Line::Gone(text) => {
                    run.get_or_insert_with(|| Run::at(at)).before.push(text);
                    before += 1;
                }
                Line::Come(text) => {
                    run.get_or_insert_with(|| Run::at(at)).after.push(text);
                    after += 1;
                }
            }
        }
        runs.extend(run);
        (before == before_end && after == after_end).then_some(())
    }

    /// Takes `start` or `start,count`: the first line and the one behind the last. Where there are no lines, `start` is the one
    /// before them.
    fn span(&mut self) -> Option<(u64, u64)> {
        let start = self.number()?;
        let count = if self.take(",").is_some() { self.number()? } else { 1 };
        let first = if count == 0 { start + 1 } else { start };
        Some((first, first + count))
    }

    fn number(&mut self) -> Option<u64> {
        let (digits, rest) = self.0.split_at(self.0.bytes().take_while(u8::is_ascii_digit).count());
        self.0 = rest;
        // More lines than a file can have would only overflow sums.
        digits.parse().ok().filter(|number| *number < 1 << 40)
    }

    fn take(&mut self, beginning: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(beginning)?;
        Some(())
    }

    /// Takes a line of a hunk.
    fn hunk_line(&mut self) -> Option<Line<'p>> {
        let line = match self.0.as_bytes().first()? {
            b' ' => Line::Kept,
            b'-' => Line::Gone,
            b'+' => Line::Come,
            b'\\' => |_| Line::NoNewline,
            b'\n' => {
                self.0 = &self.0[1..];
                return Some(Line::Kept(""));
            }
            _ => return None,
        };
        self.0 = &self.0[1..];
        Some(line(self.line()))
    }

    /// Takes the rest of the line. A file with CR LF line ends shows as lines that end in CR; any other CR belongs to the line.
    fn line(&mut self) -> &'p str {
        let (line, rest) = match memchr(b'\n', self.0.as_bytes()) {
            Some(end) => (&self.0[..end], &self.0[end + 1..]),
            None => (self.0, ""),
        };
        self.0 = rest;
        line.strip_suffix('\r').unwrap_or(line)
    }
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

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// The files of the first `*** Begin Patch` in `text`, in its order. None where there is none, or it does not parse to its end.
pub fn begin_patch(text: &str) -> Option<Vec<FilePatch<'_>>> {
    let at = memmem::find(text.as_bytes(), BEGIN.as_bytes())?;
    let (mut rest, mut files) = (PatchText(&text[at..]), Vec::new());
    rest.mark(BEGIN)?;
    while !rest.0.starts_with(END) {
        files.push(rest.file()?);
    }
    (!files.is_empty()).then_some(files)
}

/// What is left of a `*** Begin Patch`. Every line has an end: the patch goes on to `*** End Patch`.
struct PatchText<'p>(&'p str);

impl<'p> PatchText<'p> {
    fn file(&mut self) -> Option<FilePatch<'p>> {
        if let Some(path) = self.line("*** Add File: ") {
            let lines = std::iter::from_fn(|| self.line("+")).collect();
            return Some(FilePatch { path: path.trim(), change: FileChange::Add(lines) });
        }
        if let Some(path) = self.line("*** Delete File: ") {
            return Some(FilePatch { path: path.trim(), change: FileChange::Delete });
        }
        let path = self.line("*** Update File: ")?.trim();
        let move_to = self.line("*** Move to: ").map(str::trim);
        let hunks = std::iter::from_fn(|| self.snippet()).collect();
        Some(FilePatch { path, change: FileChange::Update { move_to, hunks } })
    }

    /// Takes a hunk: an optional `@@` line, then lines; the first hunk of a file may leave the `@@` line out.
    fn snippet(&mut self) -> Option<Snippet<'p>> {
        let start = self.0;
        while self.line("@@").is_some() {}
        let mut snippet = Snippet::default();
        while let Some(line) = self.snippet_line() {
            if let Line::Kept(text) | Line::Gone(text) = line {
                snippet.before.push(text);
            }
            if let Line::Kept(text) | Line::Come(text) = line {
                snippet.after.push(text);
            }
        }
        if snippet.before.is_empty() && snippet.after.is_empty() {
            self.0 = start;
            return None;
        }
        self.mark("*** End of File");
        Some(snippet)
    }

    fn snippet_line(&mut self) -> Option<Line<'p>> {
        match self.0.as_bytes().first()? {
            b' ' => self.line(" ").map(Line::Kept),
            b'-' => self.line("-").map(Line::Gone),
            b'+' => self.line("+").map(Line::Come),
            b'\r' | b'\n' => self.line("").map(Line::Kept),
            _ => None,
        }
    }

    /// Takes a line of these words, and perhaps spaces behind them.
    fn mark(&mut self, words: &str) -> Option<()> {
        let start = self.0;
        if self.line(words)?.bytes().all(|byte| matches!(byte, b' ' | b'\t')) {
            return Some(());
        }
        self.0 = start;
        None
    }

    /// Takes a line that begins so, and gives what follows in it. A CR is a part of its line end, or there is no such line.
    fn line(&mut self, beginning: &str) -> Option<&'p str> {
        let rest = self.0.strip_prefix(beginning)?;
        let end = memchr2(b'\r', b'\n', rest.as_bytes())?;
        let (line, behind) = rest.split_at(end);
        self.0 = behind.strip_prefix('\r').unwrap_or(behind).strip_prefix('\n')?;
        Some(line)
    }
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
