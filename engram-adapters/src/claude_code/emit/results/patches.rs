//! Diffs in results: the line numbers of `structuredPatch`, and the changes of a shell command in `bashEditDiff` (2.1.280 and later).

use std::borrow::Cow;
use std::collections::HashSet;

use engram_core::emit::Pointer;
use engram_core::event::{CodeEdit, EditOp, Range};
use engram_core::file_path::full_path;
use engram_core::hash::Hash;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::result_context::{EditTarget, ResultContext};
use crate::claude_code::emit::state::open_calls::OpenCalls;
use crate::claude_code::readers::{DiffFile, Hunk};
use crate::shared::value::{Field, Value, elements, is_true, text};

/// Consecutive changed lines. A side without lines has a `last` one less than its `first`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub before: Range,
    pub after: Range,
    /// The number of its lines.
    pub lines: usize,
}

impl Run {
    /// The lines before and after, if the patch has the numbers of real lines.
    fn ranges(&self) -> Option<(Range, Range)> {
        (self.before.first > 0 && self.after.first > 0).then_some((self.before, self.after))
    }
}

/// Emits an edit whose text is not known: the line numbers of its patch, and the hash of the file before, if that is known.
pub(super) fn emit_ranges(
    edit: &EditTarget<'_>,
    file_before_hash: Option<Hash>,
    patch: Field<'_>,
    out: &mut Emitter,
) {
    let runs: Vec<Run> = runs_of(patch_lines(patch)).collect();
    let pointer = Pointer::At("/toolUseResult/structuredPatch");
    if runs.is_empty() {
        out.emit(
            CodeEdit {
                file_before_hash,
                ..edit.event(EditOp::Update)
            },
            pointer,
        );
    }
    for run in runs {
        let mut event = CodeEdit {
            file_before_hash,
            ..edit.event(EditOp::Update)
        };
        (event.before_range, event.after_range) = run.ranges().unzip();
        out.emit(event, pointer);
    }
}

/// The changes that the harness found after a shell command. It shows the changed lines of at most five files, but not of big or binary
/// files. Of all other files it has only the name, and whether they are new or deleted is not known. The list also has files that another
/// call changed meanwhile: what the command did to these is not known, so they are left out here.
#[inline(never)]
pub(super) fn emit_shell_diff(
    result: &ResultContext<'_>,
    diff: Value<'_>,
    calls: &mut OpenCalls,
    out: &mut Emitter,
) {
    let pointer = Pointer::At("/toolUseResult/bashEditDiff");
    let is_others = |file: Text<'_>| {
        result
            .call
            .as_ref()
            .is_some_and(|call| calls.is_changed_since(call, file))
    };
    let (mut shown, mut changed) = (HashSet::new(), Vec::new());
    for file in elements(diff.member("files")).map(DiffFile::lenient) {
        let Some(path) = text(file.path()) else {
            continue;
        };
        shown.insert(path.raw());
        if !is_others(path) {
            emit_changed_file(&result.edit_of(path), &file, pointer, out);
            changed.push(path);
        }
    }
    for path in elements(diff.member("changedFiles")).filter_map(Value::text) {
        if shown.insert(path.raw()) && !is_others(path) {
            out.emit(result.edit_of(path).event(EditOp::Update), pointer);
            changed.push(path);
        }
    }
    changed.iter().for_each(|path| calls.set_changed(*path));
}

/// What stands around the names of files in a hint to the model.
const MODIFIED: &str = "[This command modified ";
const NAMES: &str = " you've previously read: ";
const AFTER_NAMES: &str = ". Call ";
/// The harness names this many of them.
const MAX_NAMES: usize = 5;

/// The files that a command changed, as the harness names them to the model: those that the model had read before, relative to the directory
/// of the session. Commands that rewrite files in place (`sed -i`, formatters) have this hint (2.1.329 to 2.1.332:
/// recorded).
#[cold]
pub(super) fn emit_named_files(
    result: &ResultContext<'_>,
    hint: Text<'_>,
    calls: &mut OpenCalls,
    out: &mut Emitter,
) {
    let Ok(hint) = hint.decode() else { return };
    let cwd = result.cwd.and_then(|cwd| cwd.decode().ok());
    for name in names_in(&hint) {
        let full = cwd
            .as_deref()
            .map_or(Cow::Borrowed(name), |cwd| full_path(cwd, name));
        let file = Text::Plain(&full);
        let is_others = result
            .call
            .as_ref()
            .is_some_and(|call| calls.is_changed_since(call, file));
        if !is_others {
            let edit = CodeEdit {
                call_id: result.call_id,
                ..CodeEdit::new(EditOp::Update, file)
            };
            out.emit(edit, Pointer::At("/toolUseResult/staleReadFileStateHint"));
            calls.set_changed(file);
        }
    }
}

/// The names in a hint. None if there are not as many as it says: a name may have a comma.
fn names_in(hint: &str) -> Vec<&str> {
    let parts = || {
        let (count, rest) = hint.strip_prefix(MODIFIED)?.split_once(NAMES)?;
        let count: usize = count.split(' ').next()?.parse().ok()?;
        let names = &rest[..rest.rfind(AFTER_NAMES)?];
        let more = format!(" and {} more", count.saturating_sub(MAX_NAMES));
        let names = if count > MAX_NAMES {
            names.strip_suffix(&more)?
        } else {
            names
        };
        let names: Vec<&str> = if count == 1 {
            vec![names]
        } else {
            names.split(", ").collect()
        };
        (names.len() == count.min(MAX_NAMES)).then_some(names)
    };
    parts().unwrap_or_default()
}

/// One file of which the changed lines are shown.
fn emit_changed_file(
    edit: &EditTarget<'_>,
    file: &DiffFile<'_>,
    pointer: Pointer<'_>,
    out: &mut Emitter,
) {
    let op = match (is_true(file.created()), is_true(file.deleted())) {
        (true, _) => EditOp::Create,
        (_, true) => EditOp::Delete,
        _ => EditOp::Update,
    };
    let runs: Vec<Run> = runs_of(patch_lines(file.hunks())).collect();
    if runs.is_empty() {
        out.emit(edit.event(op), pointer);
    }
    for run in runs {
        let mut event = edit.event(op);
        event.before_range = (op != EditOp::Create).then_some(run.before);
        event.after_range = (op != EditOp::Delete).then_some(run.after);
        out.emit(event, pointer);
    }
}

/// The runs of changed lines of one hunk, or of a patch whose hunks do not touch.
pub(super) fn runs_of<'a>(lines: impl Iterator<Item = PatchLine<'a>>) -> impl Iterator<Item = Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut next = None;
    for line in lines.filter(|line| line.side != Side::Unchanged) {
        if next != Some((line.before, line.after)) {
            let empty = |first: u64| Range {
                first,
                last: first.wrapping_sub(1),
            };
            runs.push(Run {
                before: empty(line.before),
                after: empty(line.after),
                lines: 0,
            });
        }
        if let Some(run) = runs.last_mut() {
            let (side, number) = if line.is_before() {
                (&mut run.before, line.before)
            } else {
                (&mut run.after, line.after)
            };
            side.last = number;
            run.lines += 1;
        }
        next = Some((
            line.before + u64::from(line.is_before()),
            line.after + u64::from(line.is_after()),
        ));
    }
    runs.into_iter()
}

/// What a line of a patch says about the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Unchanged,
    Removed,
    Added,
}

/// A line of a patch. A line that is only before the edit, or only after it, has on the other side the number of the next line.
#[derive(Clone, Copy)]
pub(super) struct PatchLine<'a> {
    pub side: Side,
    /// The 1-based number of the line before the edit.
    pub before: u64,
    /// The same after the edit.
    pub after: u64,
    line: Value<'a>,
}

impl<'a> PatchLine<'a> {
    /// The text, as displayed; none if it has half a surrogate pair.
    pub fn text(&self) -> Option<Cow<'a, str>> {
        match self.line.text()?.decode().ok()? {
            Cow::Borrowed(text) => text.get(1..).map(Cow::Borrowed),
            Cow::Owned(text) => text.get(1..).map(|text| Cow::Owned(text.to_owned())),
        }
    }

    pub fn is_before(&self) -> bool {
        self.side != Side::Added
    }

    pub fn is_after(&self) -> bool {
        self.side != Side::Removed
    }
}

/// The highest line number that is taken for one. Sums of it and the lines of a record cannot overflow.
pub(in crate::claude_code) const LAST_LINE: u64 = 1 << 40;

/// The lines of a hunk. Numbers that cannot be line numbers begin at 0.
pub(super) fn hunk_lines<'a>(hunk: &Hunk<'a>) -> impl Iterator<Item = PatchLine<'a>> + use<'a> {
    let start = |field: Field<'_>| {
        field
            .and_then(Value::unsigned)
            .filter(|start| *start <= LAST_LINE)
            .unwrap_or(0)
    };
    let (mut before, mut after) = (start(hunk.old_start()), start(hunk.new_start()));
    elements(hunk.lines()).filter_map(move |line| {
        let side = match line.raw().as_bytes().get(1) {
            Some(b'-') => Side::Removed,
            Some(b'+') => Side::Added,
            // "\ No newline at end of file" is not a line of the file.
            _ if line.raw().starts_with("\"\\\\") => return None,
            _ => Side::Unchanged,
        };
        let at = PatchLine {
            side,
            before,
            after,
            line,
        };
        (before, after) = (
            before + u64::from(at.is_before()),
            after + u64::from(at.is_after()),
        );
        Some(at)
    })
}

/// The lines of all hunks of a patch.
pub(super) fn patch_lines<'a>(patch: Field<'a>) -> impl Iterator<Item = PatchLine<'a>> {
    elements(patch).flat_map(|hunk| hunk_lines(&Hunk::lenient(hunk)))
}

/// How many lines the patch adds to the file, or removes if negative. None without a patch.
pub(super) fn growth(patch: Field<'_>) -> Option<i64> {
    let mut grown: Option<i64> = None;
    for hunk in patch?.elements().map(Hunk::lenient) {
        let count = |field: Field<'_>| {
            field
                .and_then(Value::unsigned)
                .and_then(|count| i64::try_from(count).ok())
        };
        let more = count(hunk.new_lines())? - count(hunk.old_lines())?;
        grown = Some(grown.unwrap_or_default().checked_add(more)?);
    }
    grown
}

/// True for a patch without hunks, which changes nothing.
pub(super) fn is_empty(patch: Field<'_>) -> bool {
    patch.is_some_and(|patch| patch.is_array() && patch.elements().next().is_none())
}

/// A line of a file as a patch displays it.
pub(super) fn displayed(line: &str) -> Cow<'_, str> {
    let rest = line.trim_start_matches('\t');
    let tabs = line.len() - rest.len();
    if tabs == 0 {
        Cow::Borrowed(line)
    } else {
        Cow::Owned(format!("{}{rest}", "  ".repeat(tabs)))
    }
}

/// True if a patch displays this line of a file so. A `\r` at its end may be that of a line end.
pub(super) fn is_displayed_as(line: &str, shown: &str) -> bool {
    line == shown || {
        let line = displayed(line);
        line == shown || shown.strip_suffix('\r').is_some_and(|shown| line == shown)
    }
}

/// True if several lines are displayed as this one: its beginning may be a tab, or spaces.
pub(super) fn is_ambiguous(shown: &str) -> bool {
    shown.starts_with("  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::value::{StructuralIndex, parse};

    #[test]
    fn counts_that_cannot_be_give_no_growth() {
        let hunk = format!(r#"{{"oldLines":0,"newLines":{}}}"#, i64::MAX);
        let mut index = StructuralIndex::default();
        let mut grown = |patch: &str| growth(Some(parse(patch, &mut index).unwrap()));
        assert_eq!(
            (
                grown(&format!("[{hunk}]")),
                grown(&format!("[{hunk},{hunk}]"))
            ),
            (Some(i64::MAX), None)
        );
    }

    #[test]
    fn tabs_at_the_beginning_are_displayed_as_spaces() {
        assert_eq!(displayed("\t\ta\tb"), "    a\tb");
        assert_eq!(displayed(" \ta"), " \ta");
        assert!(
            is_displayed_as("\ta", "  a")
                && is_displayed_as("a", "a\r")
                && is_displayed_as("a\r", "a\r")
        );
        assert!(!is_displayed_as("\ta", " a") && !is_displayed_as("a\r", "a"));
    }

    #[test]
    fn a_hint_names_files_or_none() {
        let names = |text: &str| {
            names_in(&format!(
                "[This command modified {text}. Call Read before editing.]"
            ))
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
        };
        assert_eq!(names("1 file you've previously read: a, b.py"), ["a, b.py"]);
        assert_eq!(
            names("2 files you've previously read: a, ../b"),
            ["a", "../b"]
        );
        assert_eq!(
            names("7 files you've previously read: a, b, c, d, e and 2 more"),
            ["a", "b", "c", "d", "e"]
        );
        assert_eq!(names("2 files you've previously read: a, b, c"), [""; 0]);
        assert_eq!(names("some files"), [""; 0]);
    }
}
