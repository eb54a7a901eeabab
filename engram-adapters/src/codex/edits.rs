//! Applied patches as edits: from the changes that the harness lists (0.135 and later), or from the patch text alone (before).

use std::sync::LazyLock;

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{CodeEdit, EditOp, Range, SpanLink};
use engram_core::hash::Hash;
use engram_core::text::Text;
use memchr::memmem::Finder;

use crate::shared::patch::{FileChange, Run, Snippet, begin_patch, unified_runs};
use crate::shared::spans::{hash_and_anchors, whole_range};
use crate::shared::value::{Value, raw_str, text};

use super::convert::Converter;
use super::schema::{Change, Command};

/// The note on the link between the names of a file that a patch moves.
const MOVED: Option<Text<'_>> = Some(Text::Plain("move"));

/// How a patch begins.
static BEGIN: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("*** Begin Patch"));

/// The patch that a custom tool's input is, as a JSON token: few are ever decoded.
pub(super) fn patch_of_input(input: Option<Text<'_>>) -> Option<String> {
    let input = input?;
    let holds_patch = match input {
        // It may be spelled in any way.
        Text::Token(_) => BEGIN.find(input.decode().ok()?.as_bytes()).is_some(),
        _ => BEGIN.find(input.raw().as_bytes()).is_some(),
    };
    holds_patch.then(|| input.raw().to_owned())
}

/// The patch inside the command of a shell tool: the harness takes it out and applies it. Only what `apply_patch` then reports as
/// done becomes an edit.
pub(super) fn patch_of_command(arguments: Value<'_>) -> Option<String> {
    BEGIN.find(arguments.raw().as_bytes())?;
    let asked = Command::lenient(arguments);
    let command = asked.command().or(asked.cmd())?;
    match command.text() {
        Some(text) => patch_of_input(Some(text)),
        None => command.elements().find_map(|word| patch_of_input(word.text())),
    }
}

impl Converter {
    /// The edits of changes that the harness lists and has made, in its order. False when they change nothing.
    pub(super) fn applied(&mut self, changes: Value<'_>, call_id: Text<'_>, at: &str, out: &mut Emitter) -> Result<bool, Fault> {
        let (mut changed, list) = (false, format!("{at}/changes"));
        for (name, change) in changes.members() {
            let token = format!("\"{name}\"");
            let file = Text::Token(&token);
            let segment = pointer_segment(&file.decode_lossy());
            let change = Change::strict(change, &format!("{list}/{segment}"))?;
            changed |= self.change(file, &change, call_id, Pointer::Member(&list, &segment), out)?;
        }
        Ok(changed)
    }

    /// False for an update that leaves the file as it was.
    fn change(
        &mut self,
        file: Text<'_>,
        change: &Change<'_>,
        call_id: Text<'_>,
        at: Pointer<'_>,
        out: &mut Emitter,
    ) -> Result<bool, Fault> {
        let name = file.decode_lossy();
        match raw_str(change.kind()) {
            "add" => {
                // Adding over a file is logged as `add` too. What this session wrote before is known to be there.
                let known = !self.history.said.first(("file", name.as_ref()));
                let mut edit = CodeEdit::new(if known { EditOp::Overwrite } else { EditOp::Create }, file);
                edit.call_id = Some(call_id);
                if let Some(content) = text(change.content()).and_then(|content| content.decode().ok()) {
                    edit.after_range = Some(whole_range(&content));
                    edit.file_after_hash = Hash::of_lossless_text(&content);
                    describe_after(&mut edit, content.strip_suffix('\n').unwrap_or(&content));
                }
                out.emit(edit, at)?;
            }
            "delete" => {
                let mut edit = CodeEdit::new(EditOp::Delete, file);
                edit.call_id = Some(call_id);
                if let Some(content) = text(change.content()).and_then(|content| content.decode().ok()) {
                    edit.before_range = Some(whole_range(&content));
                    edit.file_before_hash = Hash::of_lossless_text(&content);
                    describe_before(&mut edit, content.strip_suffix('\n').unwrap_or(&content));
                }
                out.emit(edit, at)?;
            }
            "update" => {
                self.history.said.first(("file", name.as_ref()));
                let diff = text(change.unified_diff()).and_then(|diff| diff.decode().ok()).unwrap_or_default();
                let Some(runs) = unified_runs(&diff) else {
                    return Err(Fault::malformed("/payload", "a unified diff", &diff));
                };
                self.moved(file, text(change.move_path()), call_id, at, out)?;
                for run in &runs {
                    let mut edit = CodeEdit::new(EditOp::Update, text(change.move_path()).unwrap_or(file));
                    edit.call_id = Some(call_id);
                    describe_run(&mut edit, run);
                    out.emit(edit, at)?;
                }
                return Ok(!runs.is_empty() || change.move_path().is_some());
            }
            other => return Err(Fault::malformed("/payload", "a change that adds, deletes or updates", other)),
        }
        Ok(true)
    }

    /// A move stands in front of what the same patch changes in the file: the edits name the file as it is called then.
    fn moved(&mut self, from: Text<'_>, to: Option<Text<'_>>, call_id: Text<'_>, at: Pointer<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let Some(to) = to else { return Ok(()) };
        let mut edit = CodeEdit::new(EditOp::Move, from);
        edit.call_id = Some(call_id);
        out.emit(edit, at)?;
        let link = SpanLink { call_id: Some(call_id), from_file: from, from_range: None, to_file: to, to_range: None, note: MOVED };
        out.emit(link, at)?;
        Ok(())
    }

    /// The edits of a patch of which only the text (a token) is known, and that it was applied.
    pub(super) fn patched(&mut self, patch: &str, call_id: Text<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let Ok(patch) = Text::Token(patch).decode() else { return Ok(()) };
        let at = self.at("/payload/output");
        let at = Pointer::At(&at);
        for file in begin_patch(&patch).unwrap_or_default() {
            let path = Text::Plain(file.path);
            match &file.change {
                FileChange::Add(lines) => {
                    let known = !self.history.said.first(("file", file.path));
                    let op = if known { EditOp::Overwrite } else { EditOp::Create };
                    let added = Snippet { before: Vec::new(), after: lines.clone() };
                    out.emit(snippet_edit(op, path, &added, call_id), at)?;
                }
                FileChange::Delete => {
                    let mut edit = CodeEdit::new(EditOp::Delete, path);
                    edit.call_id = Some(call_id);
                    out.emit(edit, at)?;
                }
                FileChange::Update { move_to, hunks } => {
                    self.history.said.first(("file", file.path));
                    self.moved(path, move_to.map(Text::Plain), call_id, at, out)?;
                    let named = move_to.map_or(path, Text::Plain);
                    for hunk in hunks {
                        out.emit(snippet_edit(EditOp::Update, named, hunk, call_id), at)?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn snippet_edit<'a>(op: EditOp, file: Text<'a>, snippet: &Snippet<'_>, call_id: Text<'a>) -> CodeEdit<'a> {
    let mut edit = CodeEdit { call_id: Some(call_id), snippet: true, ..CodeEdit::new(op, file) };
    if !snippet.before.is_empty() {
        describe_before(&mut edit, &snippet.before.join("\n"));
    }
    if !snippet.after.is_empty() {
        describe_after(&mut edit, &snippet.after.join("\n"));
    }
    edit
}

fn describe_run(edit: &mut CodeEdit<'_>, run: &Run<'_>) {
    let range = |first: u64, lines: &[&str]| Range { first, last: first + lines.len() as u64 - 1 };
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

/// A name as one segment of a pointer (RFC 6901).
fn pointer_segment(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
