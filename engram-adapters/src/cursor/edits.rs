//! The edits that a call asks for, where the artifact does not show whether they were made.

use std::borrow::Cow;

use engram_core::anchor::anchors;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{CodeEdit, EditOp};
use engram_core::hash::{Hash, is_pinned};
use engram_core::render::Pointer;
use engram_core::text::Text;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::kit::json::{Raw, filled_text, text};
use crate::kit::spans::ChangedSpan;

/// The arguments of `Write`, `StrReplace` and `Delete` (SDK 1.0.32, real transcripts of 2026).
#[derive(Deserialize)]
struct Args<'a> {
    #[serde(borrow)]
    path: Raw<'a>,
    #[serde(borrow)]
    contents: Raw<'a>,
    #[serde(borrow)]
    old_string: Raw<'a>,
    #[serde(borrow)]
    new_string: Raw<'a>,
}

/// Writes the edit that a call asks for, if its tool is one whose arguments hold the text.
pub(super) fn requested(tool: &str, args: &RawValue, call: u64, out: &mut Emitter, pointer: Pointer<'_>) -> Result<(), Fault> {
    let op = match tool {
        "Write" => EditOp::Overwrite,
        "StrReplace" => EditOp::Update,
        "Delete" => EditOp::Delete,
        _ => return Ok(()),
    };
    let Ok(args) = serde_json::from_str::<Args<'_>>(args.get()) else { return Ok(()) };
    let Some(file) = filled_text(args.path) else { return Ok(()) };
    let mut edit = CodeEdit::new(op, file);
    edit.unconfirmed = true;
    (edit.before_hash, edit.before_anchor_hashes) = snippet(text(args.old_string));
    (edit.after_hash, edit.after_anchor_hashes) = snippet(text(args.contents).or(text(args.new_string)));
    edit.snippet = edit.before_hash.is_some() || edit.after_hash.is_some();
    out.parent_of_next(Some(call));
    out.emit(edit, pointer)?;
    Ok(())
}

/// Hash and anchors of a text, where it is one that a file can hold.
pub(super) fn snippet(text: Option<Text<'_>>) -> (Option<Hash>, Vec<u64>) {
    match text.map(|text| text.decode()) {
        Some(Ok(text)) if is_pinned(&text) => (Some(Hash::of_text(&text)), anchors(&text)),
        _ => (None, Vec::new()),
    }
}

/// An edit by the whole file before and after it. None when nothing changed; without the text before, the file is new.
pub(super) fn whole_file_edit<'a>(mut edit: CodeEdit<'a>, before: Option<Text<'_>>, after: Text<'_>) -> Option<CodeEdit<'a>> {
    let content = |text: Option<Text<'_>>| text.and_then(|text| text.decode().ok().map(Cow::into_owned));
    let had_before = before.is_some();
    match (content(before), content(Some(after))) {
        (Some(before), Some(after)) if before == after => return None,
        (Some(before), Some(after)) => {
            edit.file_before_hash = Hash::of_pinned_text(&before);
            edit.file_after_hash = Hash::of_pinned_text(&after);
            ChangedSpan::trimmed(1, &before, 1, &after).describe(&mut edit);
        }
        (None, Some(after)) => {
            edit.file_after_hash = Hash::of_pinned_text(&after);
            if !had_before && edit.op == EditOp::Create {
                ChangedSpan::whole("", &after).describe(&mut edit);
            }
        }
        _ => {}
    }
    Some(edit)
}
