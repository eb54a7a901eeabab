//! Applied patches as edits, from the changes that the harness lists: in logs of 0.129 and later, and in what `exec --json` prints up to
//! 0.42. Where a list does not state a change exactly, the text of the patch does.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

use engram_core::emit::Pointer;
use engram_core::event::{CodeEdit, EditOp};
use engram_core::file_path::full_path;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use crate::shared::patch::{ChangedRun, LineRuns, has_bare_cr, line_runs, unified_runs};
use crate::shared::spans::{set_run, set_whole_file};
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

/// Emits the edits of listed changes. `at` points to the list.
pub fn emit_listed_changes(
    files: &mut SeenFiles,
    applied: &Applied<'_>,
    at: &str,
    out: &mut Emitter<'_>,
) {
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
        emit_change(files, &listed, Pointer::Member(at, &segment), out);
    });
    emit_unlisted(files, applied, printed, Pointer::At(at), out);
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

impl<'c> ListedChange<'c> {
    /// An edit of the call without any lines.
    fn edit<'f>(&self, op: EditOp, file: Text<'f>) -> CodeEdit<'f>
    where
        'c: 'f,
    {
        CodeEdit {
            call_id: Some(self.applied.call_id),
            ..CodeEdit::new(op, file)
        }
    }

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

fn emit_change(
    files: &mut SeenFiles,
    listed: &ListedChange<'_>,
    at: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    let before = out.last_seq();
    emit_earlier_changes(files, listed, at, out);
    if listed.kind == "update" && out.last_seq() != before {
        return;
    }
    match listed.kind {
        "add" => {
            let op = add_operation(files, listed.path);
            emit_whole_file(files, listed, op, at, out)
        }
        "delete" => {
            files.remove(listed.path);
            emit_whole_file(files, listed, EditOp::Delete, at, out)
        }
        _ => emit_update(files, listed, at, out),
    }
}

/// Emits the changes of a file that the list lacks, because a later change of the same file has taken their place. If the listed one
/// is an update, its lines count from another state of the file than before the patch, so it is emitted here too.
fn emit_earlier_changes(
    files: &mut SeenFiles,
    listed: &ListedChange<'_>,
    at: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    if listed.printed.is_empty() {
        return;
    }
    let call = (listed.applied.call_id, at);
    if listed.is_long() && listed.kind == "update" {
        emit_name(files, EditOp::Update, listed.path, call, out);
        return;
    }
    if listed.is_long() {
        return;
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
        return;
    }
    let mut ops: Vec<EditOp> = listed
        .printed
        .iter()
        .filter(|file| file.may_be(listed.path))
        .map(|file| file.op)
        .collect();
    if ops.len() < 2 {
        return;
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

/// Emits a file that was added or deleted, and its text if the list has it.
fn emit_whole_file(
    files: &mut SeenFiles,
    listed: &ListedChange<'_>,
    op: EditOp,
    at: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    let mut edit = listed.edit(op, listed.file);
    if let Some(content) = text(listed.change.content()).and_then(|content| content.decode().ok()) {
        set_whole_file(&mut edit, &content);
        if op != EditOp::Delete {
            files.set_bare_cr(listed.path, has_bare_cr(&content));
        }
    }
    out.emit(edit, at);
}

fn emit_update(
    files: &mut SeenFiles,
    listed: &ListedChange<'_>,
    at: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    if listed.is_moved_onto_itself() {
        emit_name(
            files,
            EditOp::Delete,
            listed.path,
            (listed.applied.call_id, at),
            out,
        );
        return;
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
    // The check has read the diff; a CR that the file had before may make its lines others.
    match changed_lines(&diff, files.has_bare_cr(listed.path)) {
        Some(LineRuns::Counted(runs)) => emit_spans(files, listed, &runs, at, out),
        Some(LineRuns::Unknown) | None => emit_without_lines(files, listed, at, out),
    }
}

/// Emits the move of an updated file, if it is moved, and the edits of its spans.
fn emit_spans(
    files: &mut SeenFiles,
    listed: &ListedChange<'_>,
    runs: &[ChangedRun<'_>],
    at: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    let moved_to = emit_listed_move(files, listed, at, out);
    let file = moved_to.as_deref().map_or(listed.file, Text::Plain);
    for run in runs {
        let mut edit = listed.edit(EditOp::Update, file);
        set_run(&mut edit, run);
        out.emit(edit, at);
    }
}

/// Emits the edits of a file whose lines the diff does not state: those of the patch's text, or else its name.
fn emit_without_lines(
    files: &mut SeenFiles,
    listed: &ListedChange<'_>,
    at: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    let call = (listed.applied.call_id, at);
    if let (Some(patch), Some(sections @ 1..)) = (listed.applied.text, listed.sections()) {
        emit_sections(files, patch, (listed.path, sections), call, out);
        return;
    }
    let moved_to = emit_listed_move(files, listed, at, out);
    emit_name(
        files,
        EditOp::Update,
        moved_to.as_deref().unwrap_or(listed.path),
        call,
        out,
    );
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

/// A name as one segment of a JSON Pointer (RFC 6901).
fn pointer_segment(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The changed lines of a diff of a file in which a CR may stand alone. None if the diff cannot be read, or if its lines cannot be those
/// of a file.
pub fn changed_lines(diff: &str, has_bare_cr: bool) -> Option<LineRuns<'_>> {
    let runs = if has_bare_cr {
        line_runs(diff)?
    } else {
        LineRuns::Counted(unified_runs(diff)?)
    };
    let is_possible = |run: &ChangedRun<'_>| run.before_first > 0 && run.after_first > 0;
    match &runs {
        LineRuns::Counted(counted) if !counted.iter().all(is_possible) => None,
        _ => Some(runs),
    }
}
