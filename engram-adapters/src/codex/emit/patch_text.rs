//! Applied patches as edits, from the text of the patch: snippets without lines.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use engram_core::emit::Pointer;
use engram_core::event::{CodeEdit, EditOp, SpanLink};
use engram_core::file_path::full_path;
use engram_core::steps::Emitter;
use engram_core::text::Text;
use memchr::memmem::Finder;

use crate::shared::patch::{FileChange, FilePatch, begin_patch, has_bare_cr};
use crate::shared::spans::set_snippet;
use crate::shared::value::{Value, text};

use super::directories::{directory_of_call, directory_of_script};
use super::files::SeenFiles;
use super::printed_files::printed_files;
use crate::codex::readers::Command;

/// How a patch begins.
static BEGIN: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("*** Begin Patch"));

/// A patch that a call asks for.
#[derive(Debug)]
pub struct Patch {
    /// Its text, as a JSON token.
    pub token: String,
    /// The directory that its paths are relative to, if the log says it.
    pub directory: Option<String>,
}

/// The input of a custom tool as a JSON token, if it is a patch. Few of them are ever decoded.
pub fn patch_of_input(input: Option<Text<'_>>) -> Option<&str> {
    input
        .map(|input| input.raw())
        .filter(|token| BEGIN.find(token.as_bytes()).is_some())
}

/// True when the arguments of a call contain the beginning of a patch.
pub fn contain_patch(arguments: Value<'_>) -> bool {
    BEGIN.find(arguments.raw().as_bytes()).is_some()
}

/// The patch in the command of a shell tool, or in the input of `apply_patch`, as a JSON token. The harness extracts and applies it; it becomes edits only if its output reports
/// success.
pub fn patch_of_command(arguments: Value<'_>) -> Option<&str> {
    let fields = Command::lenient(arguments);
    let command = fields.command().or(fields.cmd()).or(fields.input())?;
    match command.text() {
        Some(text) => patch_of_input(Some(text)),
        None => command
            .elements()
            .find_map(|word| patch_of_input(word.text())),
    }
}

/// The directory that the paths of a patch in a command are relative to.
pub fn directory_of_patch(arguments: Value<'_>, cwd: &str) -> Option<String> {
    let workdir = text(Command::lenient(arguments).workdir()).map(|workdir| workdir.decode_lossy());
    let directory = directory_of_call(cwd, workdir.as_deref());
    let script = Text::Token(patch_of_command(arguments)?).decode_lossy();
    let before = BEGIN
        .find(script.as_bytes())
        .and_then(|begin| script.get(..begin))
        .unwrap_or_default();
    directory_of_script(before, &directory)
}

/// Emits the edits of an applied patch of which only the text is recorded. A file that `output` lists and the text does not has its name
/// alone.
pub fn emit_patch_text(
    files: &mut SeenFiles,
    patch: &Patch,
    output: &str,
    (call_id, at): (Text<'_>, Pointer<'_>),
    out: &mut Emitter<'_>,
) {
    match &patch.directory {
        Some(directory) => emit_patch_in(directory, files, patch, output, (call_id, at), out),
        None => out.with_paths_as_stated(|out| {
            emit_patch_in("", files, patch, output, (call_id, at), out)
        }),
    }
}

fn emit_patch_in(
    directory: &str,
    files: &mut SeenFiles,
    patch: &Patch,
    output: &str,
    (call_id, at): (Text<'_>, Pointer<'_>),
    out: &mut Emitter<'_>,
) {
    let Ok(text) = Text::Token(&patch.token).decode() else {
        return;
    };
    let sections = begin_patch(&text).unwrap_or_default();
    for section in &sections {
        emit_section(directory, files, section, (call_id, at), out);
    }
    let printed = printed_files(output);
    if printed.len() <= sections.len() {
        return;
    }
    let paths = sections
        .iter()
        .flat_map(|section| [Some(section.path), new_path_of(section)])
        .flatten();
    let named: HashSet<Cow<'_, str>> = paths.map(|path| full_path(directory, path)).collect();
    for file in &printed {
        let path = full_path(directory, &file.path);
        if !named.contains(&path) {
            emit_name(files, file.op, &path, (call_id, at), out);
        }
    }
}

fn new_path_of<'p>(section: &FilePatch<'p>) -> Option<&'p str> {
    if let FileChange::Update { move_to, .. } = section.change {
        move_to
    } else {
        None
    }
}

/// True if the text of a patch can be read.
pub fn is_readable(patch: &Patch) -> bool {
    count_sections(patch, "").is_some()
}

/// How many sections of a patch begin with the file at a full path. None if the patch cannot be read.
pub fn count_sections(patch: &Patch, path: &str) -> Option<usize> {
    let text = Text::Token(&patch.token).decode().ok()?;
    let directory = patch.directory.as_deref().unwrap_or_default();
    Some(
        begin_patch(&text)?
            .iter()
            .filter(|section| full_path(directory, section.path) == path)
            .count(),
    )
}

/// Emits the edits of the first `count` sections that begin with the file at a full path.
pub fn emit_sections(
    files: &mut SeenFiles,
    patch: &Patch,
    (path, count): (&str, usize),
    (call_id, at): (Text<'_>, Pointer<'_>),
    out: &mut Emitter<'_>,
) {
    let Ok(text) = Text::Token(&patch.token).decode() else {
        return;
    };
    let directory = patch.directory.as_deref().unwrap_or_default();
    let sections = begin_patch(&text).unwrap_or_default();
    for section in sections
        .iter()
        .filter(|section| full_path(directory, section.path) == path)
        .take(count)
    {
        emit_section(directory, files, section, (call_id, at), out);
    }
}

fn emit_section(
    directory: &str,
    files: &mut SeenFiles,
    section: &FilePatch<'_>,
    (call_id, at): (Text<'_>, Pointer<'_>),
    out: &mut Emitter<'_>,
) {
    let full_name = full_path(directory, section.path);
    let path = Text::Plain(&full_name);
    match &section.change {
        FileChange::Add(lines) => {
            let op = add_operation(files, &full_name);
            let added = (!lines.is_empty()).then(|| lines.join("\n"));
            emit_snippet(op, path, (None, added), (call_id, at), out);
            files.set_bare_cr(&full_name, lines.iter().any(|line| has_bare_cr(line)));
        }
        FileChange::Delete => emit_name(files, EditOp::Delete, &full_name, (call_id, at), out),
        FileChange::Update { move_to, hunks } => {
            files.insert(&full_name);
            let moved_to = move_to.map(|path| full_path(directory, path));
            // The program writes the new path and then deletes the old one: of a file that is moved onto itself nothing is left (0.171.0).
            if moved_to.as_deref() == Some(&*full_name) {
                return emit_name(files, EditOp::Delete, &full_name, (call_id, at), out);
            }
            if let Some(new_path) = &moved_to {
                files.rename(&full_name, new_path);
                emit_move(path, Text::Plain(new_path), call_id, at, out);
            }
            let current_path = moved_to.as_deref().map_or(path, Text::Plain);
            for hunk in hunks {
                emit_snippet(
                    EditOp::Update,
                    current_path,
                    hunk.texts(),
                    (call_id, at),
                    out,
                );
            }
        }
    }
}

/// Emits a changed file of which no more is known.
pub fn emit_name(
    files: &mut SeenFiles,
    op: EditOp,
    path: &str,
    (call_id, at): (Text<'_>, Pointer<'_>),
    out: &mut Emitter<'_>,
) {
    let op = operation(files, op, path);
    out.emit(
        CodeEdit {
            call_id: Some(call_id),
            ..CodeEdit::new(op, Text::Plain(path))
        },
        at,
    );
}

/// Records what becomes of a file that is created, updated or deleted. Returns the operation.
pub fn operation(files: &mut SeenFiles, op: EditOp, path: &str) -> EditOp {
    match op {
        EditOp::Create => return add_operation(files, path),
        EditOp::Delete => files.remove(path),
        _ => _ = files.insert(path),
    }
    op
}

/// Adding over a file is logged as an addition too. A file that this session wrote before is known to exist.
pub fn add_operation(files: &mut SeenFiles, path: &str) -> EditOp {
    if files.insert(path) {
        EditOp::Create
    } else {
        EditOp::Overwrite
    }
}

/// A move precedes the other edits of the same patch: they name the file by its new path.
pub fn emit_move(
    from: Text<'_>,
    to: Text<'_>,
    call_id: Text<'_>,
    at: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    out.emit(
        CodeEdit {
            call_id: Some(call_id),
            ..CodeEdit::new(EditOp::Move, from)
        },
        at,
    );
    out.emit(SpanLink::of_move(Some(call_id), from, to), at);
}

/// Emits an edit by its old and new lines, which have no numbers.
fn emit_snippet(
    op: EditOp,
    file: Text<'_>,
    (before, after): (Option<String>, Option<String>),
    (call_id, at): (Text<'_>, Pointer<'_>),
    out: &mut Emitter<'_>,
) {
    let mut edit = CodeEdit {
        call_id: Some(call_id),
        snippet: true,
        ..CodeEdit::new(op, file)
    };
    set_snippet(&mut edit, before.as_deref(), after.as_deref());
    out.emit(edit, at);
}
