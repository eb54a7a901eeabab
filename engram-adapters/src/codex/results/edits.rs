//! Applied patches as edits: from the changes that the harness lists (0.129 and later), or from the text of the patch (older).

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::LazyLock;

use engram_core::emit::{Emitter, Fault, Pointer};
use engram_core::event::{CodeEdit, EditOp, Range, SpanLink};
use engram_core::file_path::full_path;
use engram_core::hash::Hash;
use engram_core::text::Text;
use memchr::memmem::Finder;

use crate::shared::patch::{ChangedRun, FileChange, Snippet, begin_patch, unified_runs};
use crate::shared::spans::{full_range, hash_and_anchors, line_count, without_final_line_end};
use crate::shared::value::{Value, raw_str, text};

use super::folders::{folder_of_call, folder_of_script};
use crate::codex::schema::{Change, Command};
use crate::codex::state::emitted::SeenFiles;
use crate::codex::state::open_calls::Patch;

/// The note on the link between the two paths of a moved file.
const MOVED: Option<Text<'_>> = Some(Text::Plain("move"));

/// How a patch begins.
static BEGIN: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("*** Begin Patch"));

/// The input of a custom tool as a JSON token, if it is a patch. Few of them are ever decoded.
pub fn patch_of_input(input: Option<Text<'_>>) -> Option<String> {
    let input = input?;
    let is_patch = match input {
        // Any character may be written as an escape.
        Text::Token(_) => BEGIN.find(input.decode().ok()?.as_bytes()).is_some(),
        _ => BEGIN.find(input.raw().as_bytes()).is_some(),
    };
    is_patch.then(|| input.raw().to_owned())
}

/// True when the arguments of a call contain the beginning of a patch.
pub fn contain_patch(arguments: Value<'_>) -> bool {
    BEGIN.find(arguments.raw().as_bytes()).is_some()
}

/// The patch in the command of a shell tool. The harness extracts and applies it; it becomes edits only if its output reports success.
pub fn patch_of_command(arguments: Value<'_>, cwd: &str) -> Option<Patch> {
    let fields = Command::lenient(arguments);
    let command = fields.command().or(fields.cmd())?;
    let token = match command.text() {
        Some(text) => patch_of_input(Some(text)),
        None => command.elements().find_map(|word| patch_of_input(word.text())),
    }?;
    let workdir = text(fields.workdir()).map(|workdir| workdir.decode_lossy());
    let folder = folder_of_call(cwd, workdir.as_deref());
    let script = Text::Token(&token).decode_lossy();
    let before = BEGIN.find(script.as_bytes()).and_then(|begin| script.get(..begin)).unwrap_or_default();
    let folder = folder_of_script(before, &folder);
    Some(Patch { token, folder })
}

/// How often the command of a shell tool begins a new line.
pub fn command_breaks(arguments: Value<'_>) -> usize {
    let command = Command::lenient(arguments).cmd().and_then(Value::text).filter(|command| command.raw().contains('\\'));
    command.map_or(0, |command| command.decode_lossy().matches('\n').count())
}

/// Emits the edits of changes that the harness listed and made in a directory. False if they change nothing.
pub fn emit_listed_changes(
    files: &mut SeenFiles,
    folder: &str,
    changes: Value<'_>,
    call_id: Text<'_>,
    at: &str,
    out: &mut Emitter<'_>,
) -> Result<bool, Fault> {
    let (mut is_changed, list) = (false, format!("{at}/changes"));
    for (name, change) in changes.members() {
        let token = format!("\"{name}\"");
        let name = Text::Token(&token).decode_lossy();
        let segment = pointer_segment(&name);
        let pointer = format!("{list}/{segment}");
        let path = full_path(folder, &name);
        let file = if *path == *name { Text::Token(&token) } else { Text::Plain(&path) };
        let change = Change::strict(change, &pointer)?;
        let listed = ListedChange { folder, file, kind: raw_str(change.kind()), change, call_id, pointer: &pointer };
        is_changed |= emit_change(files, &listed, Pointer::Member(&list, &segment), out)?;
    }
    Ok(is_changed)
}

/// Emits the edits of changes as `exec --json` lists them up to 0.42, before they are made: `{PATH: {"add": {..}}}`, and `{PATH: "delete"}` up to
/// 0.29. `at` is the record of their success, with what the tool printed.
///
/// Of two changes of one file only the last is listed. What the tool printed names such a file twice: how it changed is not known, unless the
/// last change was a new file or a deletion.
pub fn emit_printed_changes(
    files: &mut SeenFiles,
    changes: Value<'_>,
    (call_id, printed): (Text<'_>, &str),
    at: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    let names_changed = |line: &&str| ["A ", "M ", "D "].iter().any(|op| line.starts_with(op));
    let mut changed: HashMap<&Path, usize> = HashMap::new();
    for line in printed.lines().filter(names_changed) {
        *changed.entry(Path::new(&line[2..])).or_default() += 1;
    }
    for (name, stated) in changes.members() {
        let token = format!("\"{name}\"");
        let (kind, change) = stated.members().next().map_or((raw_str(Some(stated)), None), |(kind, change)| (kind, Some(change)));
        let path = Text::Token(&token).decode_lossy();
        if kind == "update" && times_named(&changed, &path) > 1 {
            files.insert(&path);
            out.emit(CodeEdit { call_id: Some(call_id), ..CodeEdit::new(EditOp::Update, Text::Token(&token)) }, at)?;
            continue;
        }
        let change = Change::lenient_opt(change);
        let listed = ListedChange { folder: "", file: Text::Token(&token), kind, change, call_id, pointer: "/msg/changes" };
        emit_change(files, &listed, at, out)?;
    }
    Ok(())
}

/// The length of the longest path that a file system has.
const LONGEST_PATH: usize = 4096;

/// How many of the names, which are relative to any folder, can be that of the file at this path.
fn times_named(names: &HashMap<&Path, usize>, path: &str) -> usize {
    let mut rest = Path::new(path).components();
    let mut times = 0;
    while path.len() <= LONGEST_PATH && !rest.as_path().as_os_str().is_empty() {
        times += names.get(rest.as_path()).copied().unwrap_or_default();
        rest.next();
    }
    times
}

/// One file of a list of changes.
struct ListedChange<'c> {
    folder: &'c str,
    file: Text<'c>,
    kind: &'c str,
    change: Change<'c>,
    call_id: Text<'c>,
    pointer: &'c str,
}

/// False for an update that leaves the file as it was.
fn emit_change(files: &mut SeenFiles, listed: &ListedChange<'_>, at: Pointer<'_>, out: &mut Emitter<'_>) -> Result<bool, Fault> {
    let path = listed.file.decode_lossy();
    match listed.kind {
        "add" => {
            out.emit(added_file(listed, add_operation(files, &path)), at)?;
            Ok(true)
        }
        "delete" => {
            out.emit(deleted_file(listed), at)?;
            Ok(true)
        }
        "update" => {
            files.insert(&path);
            emit_update(listed, at, out)
        }
        other => Err(Fault::malformed(format!("{}/type", listed.pointer), "add, delete or update", other)),
    }
}

/// Adding over a file is logged as an addition too. A file that this session wrote before is known to exist.
fn add_operation(files: &mut SeenFiles, path: &str) -> EditOp {
    if files.insert(path) { EditOp::Create } else { EditOp::Overwrite }
}

fn added_file<'c>(listed: &ListedChange<'c>, op: EditOp) -> CodeEdit<'c> {
    let mut edit = CodeEdit { call_id: Some(listed.call_id), ..CodeEdit::new(op, listed.file) };
    if let Some(content) = text(listed.change.content()).and_then(|content| content.decode().ok()) {
        edit.after_range = Some(full_range(&content));
        edit.file_after_hash = Hash::of_lossless_text(&content);
        describe_after(&mut edit, without_final_line_end(&content));
    }
    edit
}

fn deleted_file<'c>(listed: &ListedChange<'c>) -> CodeEdit<'c> {
    let mut edit = CodeEdit { call_id: Some(listed.call_id), ..CodeEdit::new(EditOp::Delete, listed.file) };
    if let Some(content) = text(listed.change.content()).and_then(|content| content.decode().ok()) {
        edit.before_range = Some(full_range(&content));
        edit.file_before_hash = Hash::of_lossless_text(&content);
        describe_before(&mut edit, without_final_line_end(&content));
    }
    edit
}

fn emit_update(listed: &ListedChange<'_>, at: Pointer<'_>, out: &mut Emitter<'_>) -> Result<bool, Fault> {
    let Ok(diff) = text(listed.change.unified_diff()).map_or(Ok(Cow::Borrowed("")), |diff| diff.decode()) else {
        // What the patch changed is not known, only that it did.
        out.emit(CodeEdit { call_id: Some(listed.call_id), ..CodeEdit::new(EditOp::Update, listed.file) }, at)?;
        return Ok(true);
    };
    let Some(runs) = unified_runs(&diff) else {
        return Err(Fault::malformed(format!("{}/unified_diff", listed.pointer), "a unified diff", &diff));
    };
    let moved_to = text(listed.change.move_path()).map(|path| full_path_of(listed.folder, path));
    let new_path = moved_to.as_deref().map(Text::Plain);
    if let Some(new_path) = new_path {
        emit_move(listed.file, new_path, listed.call_id, at, out)?;
    }
    for run in &runs {
        let mut edit = CodeEdit { call_id: Some(listed.call_id), ..CodeEdit::new(EditOp::Update, new_path.unwrap_or(listed.file)) };
        describe_run(&mut edit, run);
        out.emit(edit, at)?;
    }
    Ok(!runs.is_empty() || listed.change.move_path().is_some())
}

/// A move precedes the other edits of the same patch: they name the file by its new path.
fn emit_move(from: Text<'_>, to: Text<'_>, call_id: Text<'_>, at: Pointer<'_>, out: &mut Emitter<'_>) -> Result<(), Fault> {
    out.emit(CodeEdit { call_id: Some(call_id), ..CodeEdit::new(EditOp::Move, from) }, at)?;
    let link = SpanLink { call_id: Some(call_id), from_file: from, from_range: None, to_file: to, to_range: None, note: MOVED };
    out.emit(link, at)?;
    Ok(())
}

fn full_path_of<'p>(folder: &str, path: Text<'p>) -> Cow<'p, str> {
    match path.decode_lossy() {
        Cow::Borrowed(path) => full_path(folder, path),
        Cow::Owned(path) => Cow::Owned(full_path(folder, &path).into_owned()),
    }
}

/// Emits the edits of an applied patch of which only the text is recorded.
pub fn emit_patch_text(
    files: &mut SeenFiles,
    patch: &Patch,
    call_id: Text<'_>,
    at: Pointer<'_>,
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    match &patch.folder {
        Some(folder) => emit_patch_in(folder, files, patch, (call_id, at), out),
        None => out.with_paths_as_stated(|out| emit_patch_in("", files, patch, (call_id, at), out)),
    }
}

fn emit_patch_in(
    folder: &str,
    files: &mut SeenFiles,
    patch: &Patch,
    (call_id, at): (Text<'_>, Pointer<'_>),
    out: &mut Emitter<'_>,
) -> Result<(), Fault> {
    let Ok(text) = Text::Token(&patch.token).decode() else { return Ok(()) };
    let full = |path| full_path(folder, path);
    for file in begin_patch(&text).unwrap_or_default() {
        let full_name = full(file.path);
        let path = Text::Plain(&full_name);
        match &file.change {
            FileChange::Add(lines) => {
                let added = Snippet { before: Vec::new(), after: lines.clone() };
                out.emit(snippet_edit(add_operation(files, &full_name), path, &added, call_id), at)?;
            }
            FileChange::Delete => {
                out.emit(CodeEdit { call_id: Some(call_id), ..CodeEdit::new(EditOp::Delete, path) }, at)?;
            }
            FileChange::Update { move_to, hunks } => {
                files.insert(&full_name);
                let moved_to = move_to.map(full);
                if let Some(new_path) = &moved_to {
                    emit_move(path, Text::Plain(new_path), call_id, at, out)?;
                }
                let current_path = moved_to.as_deref().map_or(path, Text::Plain);
                for hunk in hunks {
                    out.emit(snippet_edit(EditOp::Update, current_path, hunk, call_id), at)?;
                }
            }
        }
    }
    Ok(())
}

fn snippet_edit<'a>(op: EditOp, file: Text<'a>, snippet: &Snippet<'_>, call_id: Text<'a>) -> CodeEdit<'a> {
    let mut edit = CodeEdit { call_id: Some(call_id), snippet: true, ..CodeEdit::new(op, file) };
    if !snippet.before.is_empty() {
        let text = snippet.before.join("\n");
        describe_before(&mut edit, &text);
        edit.before_lines = edit.before_hash.map(|_| line_count(&text));
    }
    if !snippet.after.is_empty() {
        let text = snippet.after.join("\n");
        describe_after(&mut edit, &text);
        edit.after_lines = edit.after_hash.map(|_| line_count(&text));
    }
    edit
}

fn describe_run(edit: &mut CodeEdit<'_>, run: &ChangedRun<'_>) {
    let range = |first: u64, lines: &[&str]| Range { first, last: (first + lines.len() as u64).saturating_sub(1) };
    edit.before_range = Some(range(run.before_first, &run.before));
    edit.after_range = Some(range(run.after_first, &run.after));
    describe_before(edit, &run.before.join("\n"));
    describe_after(edit, &run.after.join("\n"));
}

fn describe_before(edit: &mut CodeEdit<'_>, text: &str) {
    (edit.before_hash, edit.before_anchor_hashes) = hash_and_anchors(text);
}

fn describe_after(edit: &mut CodeEdit<'_>, text: &str) {
    (edit.after_hash, edit.after_anchor_hashes) = hash_and_anchors(text);
}

/// A name as one segment of a JSON Pointer (RFC 6901).
fn pointer_segment(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
