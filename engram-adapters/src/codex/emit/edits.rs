//! Applied patches as edits, from the changes that the harness lists: in logs of 0.129 and later, and in what `exec --json` prints up to
//! 0.42. Where a list does not state a change exactly, the text of the patch does.

use std::borrow::{Borrow, Cow};
use std::collections::HashSet;
use std::path::Path;

use engram_core::emit::Pointer;
use engram_core::event::{CodeEdit, EditOp, Range};
use engram_core::file_path::full_path;
use engram_core::hash::Hash;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::shared::patch::{LineRuns, has_bare_cr, line_runs, unified_runs};
use crate::shared::spans::{full_range, span_facts, without_final_line_end};
use crate::shared::value::{Value, raw_str, text};

use super::files::SeenFiles;
use super::patch_text::{
    Patch, add_operation, count_sections, emit_move, emit_name, emit_sections, is_readable,
};
use super::printed_files::{PrintedFile, printed_files};
use crate::codex::readers::Change;

/// The patch is read once for each listed file, up to this many files. In longer lists only names are certain where the list lacks a
/// change.
const MAX_COMPARED: usize = 256;

/// The length of the longest path that a file system has.
const LONGEST_PATH: usize = 4096;

/// A patch that the harness applied, and the list of its changes: of several changes of one file it has only the last one.
pub struct Applied<'p> {
    /// The directory that the paths are relative to.
    pub directory: &'p str,
    /// The change of each path.
    pub changes: Value<'p>,
    /// What `apply_patch` printed: a line for each change.
    pub printed: &'p str,
    /// The patch, if the log has its text.
    pub text: Option<&'p Patch>,
    pub call_id: Text<'p>,
}

/// Emits the edits of listed changes. `at` points to the list. False if they change nothing.
pub fn emit_listed_changes(
    files: &mut SeenFiles,
    applied: &Applied<'_>,
    at: &str,
    out: &mut Emitter<'_>,
) -> bool {
    let mut is_changed = false;
    let printed = &applied.printed_if_more();
    for_each_change(applied, |token, path, change| {
        let segment = pointer_segment(&Text::Token(token).decode_lossy());
        let file = if path == Text::Token(token).decode_lossy() {
            Text::Token(token)
        } else {
            Text::Plain(path)
        };
        let change = Change::lenient(change);
        let listed = ListedChange {
            applied,
            printed,
            path,
            file,
            kind: raw_str(change.kind()),
            change,
        };
        is_changed |= emit_change(files, &listed, Pointer::Member(at, &segment), out);
    });
    emit_unlisted(files, applied, printed, Pointer::At(at), out);
    is_changed
}

/// Emits the edits of changes as `exec --json` lists them up to 0.42, before they are made: `{PATH: {"add": {..}}}`, and `{PATH: "delete"}`
/// up to
/// 0.29. `at` is the record of their success.
pub fn emit_printed_changes(
    files: &mut SeenFiles,
    applied: &Applied<'_>,
    at: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    let printed = &applied.printed_if_more();
    for_each_change(applied, |token, path, stated| {
        let (kind, change) = stated
            .members()
            .next()
            .map_or((raw_str(Some(stated)), None), |(kind, change)| {
                (kind, Some(change))
            });
        let change = Change::lenient_opt(change);
        let listed = ListedChange {
            applied,
            printed,
            path,
            file: Text::Token(token),
            kind,
            change,
        };
        emit_change(files, &listed, at, out);
    });
    emit_unlisted(files, applied, printed, at, out)
}

/// Calls `convert` with the name of each listed file as a JSON token, its full path and its change.
fn for_each_change(applied: &Applied<'_>, mut convert: impl FnMut(&str, &str, Value<'_>)) {
    for (name, change) in applied.changes.members() {
        let token = format!("\"{name}\"");
        convert(
            &token,
            &full_path(applied.directory, &Text::Token(&token).decode_lossy()),
            change,
        );
    }
}

impl Applied<'_> {
    /// The printed lines, if there are more of them than listed changes: then the list does not have all.
    fn printed_if_more(&self) -> Vec<PrintedFile> {
        let mut printed = printed_files(self.printed);
        if printed.len() <= self.changes.members().count() {
            printed.clear();
        }
        printed
    }
}

/// One file of a list of changes.
struct ListedChange<'c> {
    applied: &'c Applied<'c>,
    /// What `apply_patch` printed, if that is more than the list has.
    printed: &'c [PrintedFile],
    /// The full path.
    path: &'c str,
    file: Text<'c>,
    kind: &'c str,
    change: Change<'c>,
}

impl ListedChange<'_> {
    /// How many sections of the patch begin with the file. None if the log does not have its text, or if the list is too long.
    fn sections(&self) -> Option<usize> {
        self.applied
            .text
            .filter(|_| !self.is_long())
            .and_then(|patch| count_sections(patch, self.path))
    }

    /// True if the file is moved to its own path. The program writes the new path and then deletes the old one: nothing is left (0.171.0).
    fn is_moved_onto_itself(&self) -> bool {
        text(self.change.move_path())
            .is_some_and(|path| full_path_of(self.applied.directory, path) == self.path)
    }

    /// True if the list has too many files to read the patch for each of them.
    fn is_long(&self) -> bool {
        self.applied.changes.members().nth(MAX_COMPARED).is_some()
    }
}

/// False for an update that leaves the file as it was.
fn emit_change(
    files: &mut SeenFiles,
    listed: &ListedChange<'_>,
    at: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> bool {
    let is_update = listed.kind == "update";
    if emit_earlier_changes(files, listed, at, out) && is_update {
        return true;
    }
    match listed.kind {
        "add" => {
            let operation = add_operation(files, listed.path);
            out.emit(added_file(files, listed, operation), at);
            true
        }
        "delete" => {
            files.remove(listed.path);
            out.emit(deleted_file(listed), at);
            true
        }
        _ => emit_update(files, listed, at, out),
    }
}

/// Emits the changes of a file that the list does not have, because a later one of the same file has taken their place. If the listed one
/// is an update, its lines count from another state of the file than before the patch, so it is emitted here too. False if there is only
/// the listed one.
fn emit_earlier_changes(
    files: &mut SeenFiles,
    listed: &ListedChange<'_>,
    at: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> bool {
    if listed.printed.is_empty() {
        return false;
    }
    let call = (listed.applied.call_id, at);
    if listed.is_long() && listed.kind == "update" {
        emit_name(files, EditOp::Update, listed.path, call, out);
        return true;
    }
    if listed.is_long() {
        return false;
    }
    if let (Some(patch), Some(sections)) = (listed.applied.text, listed.sections()) {
        let count = if listed.kind == "update" {
            sections
        } else {
            sections.saturating_sub(1)
        };
        if sections > 1 {
            emit_sections(files, patch, (listed.path, count), call, out);
        }
        return sections > 1;
    }
    let mut ops: Vec<EditOp> = listed
        .printed
        .iter()
        .filter(|file| file.may_be(listed.path))
        .map(|file| file.op)
        .collect();
    if ops.len() < 2 {
        return false;
    }
    let last = if listed.kind == "add" {
        EditOp::Create
    } else {
        EditOp::Delete
    };
    if let Some(listed) = ops
        .iter()
        .rposition(|op| *op == last && listed.kind != "update")
    {
        ops.remove(listed);
    }
    ops.dedup();
    for op in ops {
        emit_name(files, op, listed.path, call, out);
    }
    true
}

/// Emits the names of printed files that belong to no listed change. The text of the patch, if it can be read, has given their edits.
fn emit_unlisted(
    files: &mut SeenFiles,
    applied: &Applied<'_>,
    printed: &[PrintedFile],
    at: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    if printed.is_empty() || applied.text.is_some_and(is_readable) {
        return;
    }
    let mut unlisted: HashSet<&Path> = printed.iter().map(PrintedFile::name).collect();
    for_each_change(applied, |_, path, change| {
        let change = change
            .members()
            .next()
            .map(|(_, change)| change)
            .filter(|change| change.is_object())
            .unwrap_or(change);
        if let Some(new_path) = text(change.first_member("move_path")) {
            remove_names_of(&full_path_of(applied.directory, new_path), &mut unlisted);
        }
        remove_names_of(path, &mut unlisted);
    });
    for file in printed.iter().filter(|file| unlisted.contains(file.name())) {
        emit_name(
            files,
            file.op,
            &full_path(applied.directory, &file.path),
            (applied.call_id, at),
            out,
        );
    }
}

/// Removes the names, which are relative to any directory, that can be that of the file at this path.
fn remove_names_of(path: &str, names: &mut HashSet<&Path>) {
    let mut rest = Path::new(path).components();
    while path.len() <= LONGEST_PATH && !rest.as_path().as_os_str().is_empty() {
        names.remove(rest.as_path());
        rest.next();
    }
}

fn added_file<'c>(files: &mut SeenFiles, listed: &ListedChange<'c>, op: EditOp) -> CodeEdit<'c> {
    let mut edit = CodeEdit {
        call_id: Some(listed.applied.call_id),
        ..CodeEdit::new(op, listed.file)
    };
    if let Some(content) = text(listed.change.content()).and_then(|content| content.decode().ok()) {
        edit.after_range = Some(full_range(&content));
        edit.file_after_hash = Hash::of_lossless_text(&content);
        describe_after(&mut edit, without_final_line_end(&content));
        files.set_bare_cr(listed.path, has_bare_cr(&content));
    }
    edit
}

fn deleted_file<'c>(listed: &ListedChange<'c>) -> CodeEdit<'c> {
    let mut edit = CodeEdit {
        call_id: Some(listed.applied.call_id),
        ..CodeEdit::new(EditOp::Delete, listed.file)
    };
    if let Some(content) = text(listed.change.content()).and_then(|content| content.decode().ok()) {
        edit.before_range = Some(full_range(&content));
        edit.file_before_hash = Hash::of_lossless_text(&content);
        describe_before(&mut edit, without_final_line_end(&content));
    }
    edit
}

fn emit_update(
    files: &mut SeenFiles,
    listed: &ListedChange<'_>,
    at: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> bool {
    if listed.is_moved_onto_itself() {
        emit_name(
            files,
            EditOp::Delete,
            listed.path,
            (listed.applied.call_id, at),
            out,
        );
        return true;
    }
    let Ok(diff) =
        text(listed.change.unified_diff()).map_or(Ok(Cow::Borrowed("")), |diff| diff.decode())
    else {
        return emit_without_lines(files, listed, at, out);
    };
    files.insert(listed.path);
    if has_bare_cr(&diff) {
        files.set_bare_cr(listed.path, true);
    }
    // The check has read the diff; that of an earlier CR may make its lines others.
    if !is_readable_diff(&diff) {
        return emit_without_lines(files, listed, at, out);
    }
    if !files.has_bare_cr(listed.path) {
        let runs = unified_runs(&diff).unwrap_or_default();
        let runs = runs.iter().map(|run| {
            span_edit(
                (run.before_first, &run.before),
                (run.after_first, &run.after),
            )
        });
        return emit_spans(files, listed, runs, at, out);
    }
    match line_runs(&diff) {
        Some(LineRuns::Counted(runs)) => {
            let runs = runs.iter().map(|run| {
                span_edit(
                    (run.before_first, &run.before),
                    (run.after_first, &run.after),
                )
            });
            emit_spans(files, listed, runs, at, out)
        }
        Some(LineRuns::Unknown) | None => emit_without_lines(files, listed, at, out),
    }
}

/// Emits the move of an updated file, if it is moved, and the edits of its spans.
fn emit_spans(
    files: &mut SeenFiles,
    listed: &ListedChange<'_>,
    spans: impl Iterator<Item = CodeEdit<'static>>,
    at: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> bool {
    let moved_to = emit_listed_move(files, listed, at, out);
    let file = moved_to.as_deref().map_or(listed.file, Text::Plain);
    let mut is_changed = moved_to.is_some();
    for span in spans {
        out.emit(
            CodeEdit {
                call_id: Some(listed.applied.call_id),
                file,
                ..span
            },
            at,
        );
        is_changed = true;
    }
    is_changed
}

/// Emits the edits of a file whose lines the diff does not state: those of the patch's text, or else its name.
fn emit_without_lines(
    files: &mut SeenFiles,
    listed: &ListedChange<'_>,
    at: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> bool {
    let call = (listed.applied.call_id, at);
    if let (Some(patch), Some(sections @ 1..)) = (listed.applied.text, listed.sections()) {
        emit_sections(files, patch, (listed.path, sections), call, out);
        return true;
    }
    let moved_to = emit_listed_move(files, listed, at, out);
    emit_name(
        files,
        EditOp::Update,
        moved_to.as_deref().unwrap_or(listed.path),
        call,
        out,
    );
    true
}

/// Emits the move of an updated file, if it is moved. Returns its new path.
fn emit_listed_move(
    files: &mut SeenFiles,
    listed: &ListedChange<'_>,
    at: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Option<String> {
    let new_path = text(listed.change.move_path())?;
    let new_path = full_path_of(listed.applied.directory, new_path).into_owned();
    files.rename(listed.path, &new_path);
    emit_move(
        listed.file,
        Text::Plain(&new_path),
        listed.applied.call_id,
        at,
        out,
    );
    Some(new_path)
}

fn full_path_of<'p>(directory: &str, path: Text<'p>) -> Cow<'p, str> {
    match path.decode_lossy() {
        Cow::Borrowed(path) => full_path(directory, path),
        Cow::Owned(path) => Cow::Owned(full_path(directory, &path).into_owned()),
    }
}

/// An edit of a span, without its file and call.
fn span_edit<L: Borrow<str>>(
    (before_first, before): (u64, &[L]),
    (after_first, after): (u64, &[L]),
) -> CodeEdit<'static> {
    let range = |first: u64, lines: &[L]| Range {
        first,
        last: (first + lines.len() as u64).saturating_sub(1),
    };
    let mut edit = CodeEdit::new(EditOp::Update, Text::Plain(""));
    edit.before_range = Some(range(before_first, before));
    edit.after_range = Some(range(after_first, after));
    describe_before(&mut edit, &before.join("\n"));
    describe_after(&mut edit, &after.join("\n"));
    edit
}

fn describe_before(edit: &mut CodeEdit<'_>, text: &str) {
    (
        edit.before_hash,
        edit.before_anchor_hashes,
        edit.before_text,
    ) = span_facts(text);
}

fn describe_after(edit: &mut CodeEdit<'_>, text: &str) {
    (edit.after_hash, edit.after_anchor_hashes, edit.after_text) = span_facts(text);
}

/// A name as one segment of a JSON Pointer (RFC 6901).
fn pointer_segment(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// True if a diff can be read, and its lines can be those of a file.
pub fn is_readable_diff(diff: &str) -> bool {
    let is_possible = |first: u64, lines: usize| {
        first > 0
            && (first + lines as u64)
                .checked_sub(2)
                .is_none_or(|last| last + 1 >= first - 1)
    };
    if has_bare_cr(diff) {
        return match line_runs(diff) {
            None => false,
            Some(LineRuns::Unknown) => true,
            Some(LineRuns::Counted(runs)) => runs.iter().all(|run| {
                is_possible(run.before_first, run.before.len())
                    && is_possible(run.after_first, run.after.len())
            }),
        };
    }
    let runs = unified_runs(diff);
    runs.is_some_and(|runs| {
        runs.iter().all(|run| {
            is_possible(run.before_first, run.before.len())
                && is_possible(run.after_first, run.after.len())
        })
    })
}
