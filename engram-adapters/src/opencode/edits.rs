//! Edits: what a call of an editing tool changed, as far as its result pins it down.

use std::borrow::Cow;

use engram_core::anchor::anchors;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{CodeEdit, EditOp};
use engram_core::hash::{Hash, is_pinned};
use engram_core::render::Pointer;
use engram_core::text::Text;
use serde::Deserialize;

use super::calls::Call;
use super::convert::Converter;
use super::schema::FileDiff;
use crate::kit::json::{Raw, boolean, filled_text, text};
use crate::kit::spans::{ChangedSpan, Rewrite};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input<'a> {
    #[serde(borrow)]
    file_path: Raw<'a>,
    #[serde(borrow)]
    old_string: Raw<'a>,
    #[serde(borrow)]
    new_string: Raw<'a>,
    #[serde(borrow)]
    replace_all: Raw<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
}

impl Converter {
    /// States what a call changed.
    pub fn edits(&self, call: &Call<'_>, place: Pointer<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let Some(input) = call.input.and_then(|input| serde_json::from_str::<Input<'_>>(input.get()).ok()) else { return Ok(()) };
        match &*call.tool {
            "edit" => edit(call, &input, place, out),
            "write" => write(call, &input, place, out),
            _ => Ok(()),
        }
    }
}

/// `write` says whether the file was there, but not what it held. A formatter may change the file afterwards.
fn write(call: &Call<'_>, input: &Input<'_>, place: Pointer<'_>, out: &mut Emitter) -> Result<(), Fault> {
    let Some(file) = filled_text(input.file_path) else { return Ok(()) };
    let is_new = call.metadata.is_some_and(|metadata| boolean(metadata.exists) == Some(false));
    let op = if is_new { EditOp::Create } else { EditOp::Overwrite };
    emit_snippet(call, op, file, None, text(input.content), place, out)
}

fn edit(call: &Call<'_>, input: &Input<'_>, place: Pointer<'_>, out: &mut Emitter) -> Result<(), Fault> {
    let Some(file) = filled_text(input.file_path) else { return Ok(()) };
    let (old, new) = (text(input.old_string), text(input.new_string));
    // An empty old text means: the whole file is the new text. The result then shows an empty file before, whatever it held.
    if old.is_some_and(|old| old.is_empty()) {
        return emit_snippet(call, EditOp::Overwrite, file, None, new, place, out);
    }
    let diff: Option<FileDiff<'_>> =
        call.metadata.and_then(|metadata| metadata.filediff).and_then(|diff| serde_json::from_str(diff.get()).ok());
    let files = diff.and_then(|diff| Some((lines_of(text(diff.before)?)?, lines_of(text(diff.after)?)?)));
    let Some((before, after)) = files else {
        return emit_snippet(call, EditOp::Update, file, old, new, place, out);
    };
    let replaced = old.zip(new).and_then(|(old, new)| Some((lines_of(old)?, lines_of(new)?)));
    let mut rewrite = Rewrite::new(&before);
    if let Some((old, new)) = &replaced {
        rewrite.replace(old, new, boolean(input.replace_all) == Some(true));
    }
    // The tool also finds text that differs in white space, and a formatter may have run.
    let spans = if rewrite.after() == after { rewrite.spans() } else { vec![ChangedSpan::trimmed(1, &before, 1, &after)] };
    for span in spans.iter().filter(|_| before != after) {
        let mut event = CodeEdit::new(EditOp::Update, file);
        event.call_id = call.id;
        span.describe(&mut event);
        event.file_before_hash = Hash::of_pinned_text(&before);
        event.file_after_hash = Hash::of_pinned_text(&after);
        out.emit(event, place)?;
    }
    Ok(())
}

/// The text with its line ends as the tape counts them; none where it is no text for UTF-8.
fn lines_of(text: Text<'_>) -> Option<Cow<'_, str>> {
    let text = text.decode().ok()?;
    Some(if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { text })
}

/// An edit whose place in the file is not known.
fn emit_snippet(
    call: &Call<'_>,
    op: EditOp,
    file: Text<'_>,
    old: Option<Text<'_>>,
    new: Option<Text<'_>>,
    place: Pointer<'_>,
    out: &mut Emitter,
) -> Result<(), Fault> {
    let mut event = CodeEdit::new(op, file);
    event.call_id = call.id;
    let pinned = |text: Option<Text<'_>>| text.and_then(lines_of_owned).filter(|text| is_pinned(text));
    if let Some(old) = pinned(old) {
        event.before_hash = Some(Hash::of_text(&old));
        event.before_anchor_hashes = anchors(&old);
    }
    if let Some(new) = pinned(new) {
        event.after_hash = Some(Hash::of_text(&new));
        event.after_anchor_hashes = anchors(&new);
    }
    event.snippet = event.before_hash.is_some() || event.after_hash.is_some();
    out.emit(event, place)?;
    Ok(())
}

fn lines_of_owned(text: Text<'_>) -> Option<String> {
    lines_of(text).map(Cow::into_owned)
}
