//! Diffs in results: the line numbers of `structuredPatch`, and the changes of a shell command in `bashEditDiff` (2.1.300 and later).

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{EditOp, Range};

use super::result_context::{EditTarget, ResultContext};
use crate::claude_code::schema::{DiffFile, Hunk};
use crate::shared::value::{Field, Value, is_true, text};

/// Consecutive changed lines. A side without lines has a `last` one less than its `first`.
#[derive(Debug, PartialEq, Eq)]
struct Run {
    before: Range,
    after: Range,
}

/// How many lines the patch adds to the file, or removes if negative. None without a patch.
pub(super) fn growth(patch: Field<'_>) -> Option<i64> {
    let mut grown = None;
    for hunk in patch?.elements().map(Hunk::lenient) {
        let count = |field: Field<'_>| field.and_then(Value::unsigned).and_then(|count| i64::try_from(count).ok());
        *grown.get_or_insert(0) += count(hunk.new_lines())? - count(hunk.old_lines())?;
    }
    grown
}

/// True for a patch without hunks, which changes nothing.
pub(super) fn is_empty(patch: Field<'_>) -> bool {
    patch.is_some_and(|patch| patch.is_array() && patch.elements().next().is_none())
}

/// Emits an edit whose file is not in the log: the line numbers of its patch, without text.
pub(super) fn emit_ranges(edit: &EditTarget<'_>, patch: Field<'_>, out: &mut Emitter) -> Result<bool, Fault> {
    let runs: Vec<Run> = patch.into_iter().flat_map(Value::elements).flat_map(|hunk| runs(&Hunk::lenient(hunk))).collect();
    let pointer = Pointer::At("/toolUseResult/structuredPatch");
    if runs.is_empty() {
        out.emit(edit.event(EditOp::Update), pointer)?;
    }
    for run in runs {
        let mut event = edit.event(EditOp::Update);
        (event.before_range, event.after_range) = (Some(run.before), Some(run.after));
        out.emit(event, pointer)?;
    }
    Ok(true)
}

/// The changes that the harness found after a shell command.
#[inline(never)]
pub(super) fn emit_shell_diff(result: &ResultContext<'_>, diff: Value<'_>, out: &mut Emitter) -> Result<bool, Fault> {
    let mut any = false;
    for file in diff.member("files").into_iter().flat_map(Value::elements).map(DiffFile::lenient) {
        let Some(path) = text(file.path()) else { continue };
        let edit = EditTarget { call_id: result.call_id, file: path };
        let op = match (is_true(file.created()), is_true(file.deleted())) {
            (true, _) => EditOp::Create,
            (_, true) => EditOp::Delete,
            _ => EditOp::Update,
        };
        let pointer = Pointer::At("/toolUseResult/bashEditDiff");
        let runs: Vec<Run> = file.hunks().into_iter().flat_map(Value::elements).flat_map(|hunk| runs(&Hunk::lenient(hunk))).collect();
        if runs.is_empty() {
            out.emit(edit.event(op), pointer)?;
        }
        for run in runs {
            let mut event = edit.event(op);
            event.before_range = (op != EditOp::Create).then_some(run.before);
            event.after_range = (op != EditOp::Delete).then_some(run.after);
            out.emit(event, pointer)?;
        }
        any = true;
    }
    Ok(any)
}

/// The highest line number that is taken for one. Sums of it and the lines of a record cannot overflow.
const LAST_LINE: u64 = 1 << 40;

/// The changed lines of a hunk. Numbers that cannot be line numbers become 0, which the emitter refuses.
fn runs(hunk: &Hunk<'_>) -> Vec<Run> {
    let start = |field: Field<'_>| field.and_then(Value::unsigned).filter(|start| *start <= LAST_LINE).unwrap_or(0);
    let (mut old, mut new) = (start(hunk.old_start()), start(hunk.new_start()));
    let mut runs: Vec<Run> = Vec::new();
    let mut open = false;
    for line in hunk.lines().into_iter().flat_map(Value::elements) {
        let sign = line.raw().as_bytes().get(1);
        if !matches!(sign, Some(b'-' | b'+')) {
            // "\ No newline at end of file" is not a line of the file.
            let counts = u64::from(!line.raw().starts_with("\"\\\\"));
            (old, new) = (old + counts, new + counts);
            open &= counts == 0;
            continue;
        }
        if !std::mem::replace(&mut open, true) {
            runs.push(Run {
                before: Range { first: old, last: old.wrapping_sub(1) },
                after: Range { first: new, last: new.wrapping_sub(1) },
            });
        }
        if let Some(run) = runs.last_mut() {
            let (side, next) = if sign == Some(&b'-') { (&mut run.before, &mut old) } else { (&mut run.after, &mut new) };
            side.last = *next;
            *next += 1;
        }
    }
    runs
}
