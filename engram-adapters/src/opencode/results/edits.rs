//! Edits: what a call of an editing tool changed, by the form of its arguments.

use engram_core::emit::Pointer;
use engram_core::event::EditOp;
use engram_core::steps::Emitter;

use super::call::Call;
use super::call_edits::{CallEdits, lines_of, snippet};
use super::step_edits;
use crate::opencode::dialect::Dialect;
use crate::opencode::readers::FileArgs;
use crate::opencode::schema::bool_opt;
use crate::shared::value::{non_empty_text, text};

/// An `edit` call.
pub(super) fn edit(call: &Call<'_>, dialect: Dialect, pointer: Pointer<'_>, out: &mut Emitter<'_>) {
    let (edits, args) = (
        CallEdits::new(call, dialect, pointer),
        FileArgs::lenient_opt(call.input),
    );
    match args.path() {
        Some(_) => step_edits::edit(edits, call, &args, out),
        None => edits.edit(&call.metadata, &args, out),
    }
}

/// A `write` call. It says whether the file existed, but not its content. A formatter may change the file afterwards.
pub(super) fn write(
    call: &Call<'_>,
    dialect: Dialect,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    let (edits, args) = (
        CallEdits::new(call, dialect, pointer),
        FileArgs::lenient_opt(call.input),
    );
    let Some(file) = non_empty_text(args.file_path()) else {
        return step_edits::write(edits, call, &args, out);
    };
    let is_new = bool_opt(call.metadata.exists()) == Some(false);
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

/// An `apply_patch` call (1.1.65 and later).
pub(super) fn apply_patch(
    call: &Call<'_>,
    dialect: Dialect,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    let (edits, args) = (
        CallEdits::new(call, dialect, pointer),
        FileArgs::lenient_opt(call.input),
    );
    match call.metadata.files() {
        Some(files) => edits.before_formatter().patched_files(files, &args, out),
        None => edits.patch_text(&args, out),
    }
}

/// A `patch` call. Of 0.1.174, only the text of the patch is recorded, and that it was applied; 2.x has another tool of this name.
pub(super) fn patch(
    call: &Call<'_>,
    dialect: Dialect,
    pointer: Pointer<'_>,
    out: &mut Emitter<'_>,
) {
    let (edits, args) = (
        CallEdits::new(call, dialect, pointer),
        FileArgs::lenient_opt(call.input),
    );
    match call.metadata.files() {
        Some(_) => step_edits::patch(edits, call, &args, out),
        None => edits.patch_text(&args, out),
    }
}
