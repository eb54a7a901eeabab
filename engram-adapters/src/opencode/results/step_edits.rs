//! Edits of OpenCode 2: `edit` and `patch` state a diff of each file that they changed, `write` whether the file existed.

use std::collections::HashMap;

use engram_core::event::{CodeEdit, EditOp};
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::call::Call;
use super::call_edits::{CallEdits, lines_of, snippet, target};
use super::diffs::{Diff, Proof};
use super::paths::absolute;
use crate::opencode::readers::{ChangedFile, FileArgs, StepDetails};
use crate::shared::patch::begin_patch;
use crate::shared::value::{elements, non_empty_text, raw_str, text};

/// What `write` prints for a file that did not exist.
const CREATED: &str = "Created file successfully";

/// An `edit` call. Its diff is that of the file as it was written, after a formatter, with all its indentation.
pub(super) fn edit(
    edits: CallEdits<'_>,
    call: &Call<'_>,
    args: &FileArgs<'_>,
    out: &mut Emitter<'_>,
) {
    let mut has_diff = false;
    for changed in changed_files(call) {
        // The arguments have the absolute path more often than the result.
        let named = non_empty_text(args.path()).filter(|path| path.decode_lossy().starts_with('/'));
        let Some(file) = named.or(non_empty_text(changed.file())) else {
            continue;
        };
        let diff = text(changed.patch()).and_then(lines_of);
        let Some(diff) = diff.as_deref().and_then(Diff::parse) else {
            continue;
        };
        edits.of_diff(op(&changed), file, &diff, Proof::Complete, out);
        has_diff = true;
    }
    match non_empty_text(args.path()) {
        Some(file) if !has_diff => {
            let (old, new) = (
                text(args.old_string()).and_then(lines_of),
                text(args.new_string()).and_then(lines_of),
            );
            edits.emit(snippet(EditOp::Update, file, old, new), out)
        }
        _ => (),
    }
}

/// A `write` call. A formatter may change the file afterwards.
pub(super) fn write(
    edits: CallEdits<'_>,
    call: &Call<'_>,
    args: &FileArgs<'_>,
    out: &mut Emitter<'_>,
) {
    let Some(file) = non_empty_text(args.path()) else {
        return;
    };
    let is_new = call
        .output()
        .is_some_and(|output| output.starts_with(CREATED));
    let op = if is_new {
        EditOp::Create
    } else {
        EditOp::Overwrite
    };
    edits.emit(
        snippet(op, file, None, text(args.content()).and_then(lines_of)),
        out,
    )
}

/// A `patch` call. Betas state complete diffs; later versions remove the indentation that all lines of a diff share.
pub(super) fn patch(
    edits: CallEdits<'_>,
    call: &Call<'_>,
    args: &FileArgs<'_>,
    out: &mut Emitter<'_>,
) {
    let patch_text = text(args.patch_text()).and_then(lines_of);
    let requested = patch_text
        .as_deref()
        .and_then(begin_patch)
        .unwrap_or_default();
    let (mut by_target, mut by_path) = (HashMap::new(), HashMap::new());
    let name_of = |path: &str| absolute_name(Text::Plain(path), call.directory);
    for request in &requested {
        if let Some(to) = target(&request.change) {
            by_target.entry(name_of(to)).or_insert(request);
        }
        by_path.entry(name_of(request.path)).or_insert(request);
    }
    for changed in changed_files(call) {
        let Some(file) = non_empty_text(changed.file()) else {
            continue;
        };
        let name = absolute_name(file, call.directory);
        let moved = by_target.get(&name);
        if let Some(request) = moved {
            edits.emit_move(Text::Plain(request.path), file, out);
        }
        let request = moved.or_else(|| by_path.get(&name));
        let proof = match request {
            _ if call.is_exact => Proof::Complete,
            Some(request) => Proof::Requested(&request.change),
            None => Proof::None,
        };
        let diff = text(changed.patch()).and_then(lines_of);
        match diff.as_deref().and_then(Diff::parse) {
            Some(diff) if !diff.runs.is_empty() => {
                edits.of_diff(op(&changed), file, &diff, proof, out)
            }
            _ if moved.is_some() => {}
            _ => edits.emit(CodeEdit::new(op(&changed), file), out),
        }
    }
}

fn changed_files<'e>(call: &Call<'e>) -> impl Iterator<Item = ChangedFile<'e>> {
    elements(StepDetails::lenient_opt(call.metadata_value).files()).map(ChangedFile::lenient)
}

fn op(changed: &ChangedFile<'_>) -> EditOp {
    match raw_str(changed.status()) {
        "added" => EditOp::Create,
        "deleted" => EditOp::Delete,
        _ => EditOp::Update,
    }
}

fn absolute_name(file: Text<'_>, directory: Option<&str>) -> String {
    absolute(file, directory).unwrap_or_else(|| file.decode_lossy().into_owned())
}
