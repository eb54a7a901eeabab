//! Edits: what a call of an editing tool changed, as far as its result pins it down.

use std::borrow::Cow;

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{CodeEdit, EditOp, SpanLink};
use engram_core::hash::Hash;
use engram_core::text::Text;
use memchr::memchr;

use super::calls::Call;
use super::converter::Converter;
use super::diffs::{Diff, Proof};
use super::schema::{FileArgs, FileDiff, Metadata, PatchedFile, flag};
use crate::shared::patch::{FileChange, Snippet, begin_patch};
use crate::shared::spans::{ChangedSpan, Rewrite, hash_and_anchors};
use crate::shared::value::{Field, is_true, non_empty_text, raw_str, text};

/// Where the edits of one call go.
#[derive(Clone, Copy)]
struct Edits<'e> {
    call_id: Option<Text<'e>>,
    place: Pointer<'e>,
    moves_are_links: bool,
}

impl Converter {
    /// States what a call changed.
    #[inline(never)]
    pub fn edits(&self, call: &Call<'_>, place: Pointer<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let Some(input) = call.input else { return Ok(()) };
        let edits = Edits { call_id: call.id, place, moves_are_links: self.dialect.moves_are_links };
        match &*call.tool {
            "edit" => edits.edit(&call.metadata, &FileArgs::lenient(input), out),
            "write" => edits.write(&call.metadata, &FileArgs::lenient(input), out),
            "apply_patch" => edits.apply_patch(&call.metadata, &FileArgs::lenient(input), out),
            "patch" => edits.patch_text(&FileArgs::lenient(input), out),
            _ => Ok(()),
        }
    }
}

impl<'e> Edits<'e> {
    fn emit(self, mut event: CodeEdit<'e>, out: &mut Emitter) -> Result<(), Fault> {
        event.call_id = self.call_id;
        out.emit(event, self.place).map(drop)
    }

    /// `write` says whether the file was there, but not what it held. A formatter may change the file afterwards.
    fn write(self, metadata: &Metadata<'e>, input: &FileArgs<'e>, out: &mut Emitter) -> Result<(), Fault> {
        let Some(file) = non_empty_text(input.file_path()) else { return Ok(()) };
        let is_new = flag(metadata.exists()) == Some(false);
        let op = if is_new { EditOp::Create } else { EditOp::Overwrite };
        self.emit(snippet(op, file, None, text(input.content()).and_then(lines_of)), out)
    }

    fn edit(self, metadata: &Metadata<'e>, input: &FileArgs<'e>, out: &mut Emitter) -> Result<(), Fault> {
        let Some(file) = non_empty_text(input.file_path()) else { return Ok(()) };
        let (old, new) = (text(input.old_string()).and_then(lines_of), text(input.new_string()).and_then(lines_of));
        // An empty old text asks for a new file. The result shows an empty file before, whatever there was.
        if old.as_deref() == Some("") {
            return self.emit(snippet(EditOp::Create, file, None, new), out);
        }
        let filediff = FileDiff::lenient_opt(metadata.filediff());
        let all = is_true(input.replace_all());
        if let Some((before, after)) = whole_files(filediff.before(), filediff.after()) {
            let replaced = old.as_deref().zip(new.as_deref());
            return self.between(file, &before, &after, replaced.map(|(old, new)| (old, new, all)), out);
        }
        let diff = text(filediff.patch().or(metadata.diff())).and_then(lines_of);
        let Some(diff) = diff.as_deref().and_then(Diff::parse) else {
            return self.emit(snippet(EditOp::Update, file, old, new), out);
        };
        let proof = old.as_deref().zip(new.as_deref()).map_or(Proof::None, |(old, new)| Proof::Replaced { old, new, all });
        self.by_diff(EditOp::Update, file, &diff, proof, out)
    }

    /// The edit between a whole file before and after.
    fn between(
        self,
        file: Text<'e>,
        before: &str,
        after: &str,
        replaced: Option<(&str, &str, bool)>,
        out: &mut Emitter,
    ) -> Result<(), Fault> {
        let mut rewrite = Rewrite::new(before);
        if let Some((old, new, all)) = replaced {
            rewrite.replace(old, new, all);
        }
        // The tool also finds text that differs in white space, and a formatter may have run.
        let spans = if rewrite.after() == after { rewrite.spans() } else { vec![ChangedSpan::trimmed(1, before, 1, after)] };
        for span in spans.iter().filter(|_| before != after) {
            let mut event = CodeEdit::new(EditOp::Update, file);
            span.describe(&mut event);
            event.file_before_hash = Hash::of_pinned_text(before);
            event.file_after_hash = Hash::of_pinned_text(after);
            self.emit(event, out)?;
        }
        Ok(())
    }

    /// The edits of a diff whose lines lie where it says, but whose indentation was altered unless proven otherwise.
    fn by_diff(self, op: EditOp, file: Text<'e>, diff: &Diff<'_>, proof: Proof<'_>, out: &mut Emitter) -> Result<(), Fault> {
        let is_exact = diff.is_exact(proof);
        for run in &diff.runs {
            let mut event = CodeEdit::new(op, file);
            diff.describe(run, is_exact, &mut event);
            self.emit(event, out)?;
        }
        Ok(())
    }

    fn apply_patch(self, metadata: &Metadata<'e>, input: &FileArgs<'e>, out: &mut Emitter) -> Result<(), Fault> {
        let Some(files) = metadata.files() else { return self.patch_text(input, out) };
        let patch_text = text(input.patch_text()).and_then(lines_of);
        let requested = patch_text.as_deref().and_then(begin_patch).unwrap_or_default();
        for patched in files.elements().map(PatchedFile::lenient) {
            let Some(file) = non_empty_text(patched.file_path()) else { continue };
            let named = non_empty_text(patched.move_path()).unwrap_or(file);
            let kind = raw_str(patched.kind());
            if kind == "move" {
                self.moved(file, named, out)?;
            }
            if let Some((before, after)) = whole_files(patched.before(), patched.after()).filter(|_| kind != "delete") {
                self.between(named, &before, &after, None, out)?;
                continue;
            }
            let diff = text(patched.patch()).and_then(lines_of);
            let diff = diff.as_deref().and_then(Diff::parse);
            let op = match kind {
                "add" => EditOp::Create,
                "delete" => EditOp::Delete,
                _ => EditOp::Update,
            };
            let relative = text(patched.relative_path()).map(|path| path.decode_lossy()).unwrap_or_default();
            let request = requested.iter().find(|request| request.path == relative || moves_to(&request.change, &relative));
            let proof = request.map_or(Proof::None, |request| Proof::Requested(&request.change));
            match diff {
                Some(diff) if !diff.runs.is_empty() => self.by_diff(op, named, &diff, proof, out)?,
                // A move that changes nothing, or an empty file: the diff has no lines.
                Some(_) if op == EditOp::Update => {}
                _ => self.emit(CodeEdit::new(op, named), out)?,
            }
        }
        Ok(())
    }

    /// A move stands in front of what the same patch changes in the file: the edits name the file as it is called then.
    fn moved(self, from: Text<'e>, to: Text<'e>, out: &mut Emitter) -> Result<(), Fault> {
        self.emit(CodeEdit::new(EditOp::Move, from), out)?;
        if !self.moves_are_links {
            return Ok(());
        }
        let note = Some(Text::Plain("move"));
        let link = SpanLink { call_id: self.call_id, from_file: from, from_range: None, to_file: to, to_range: None, note };
        out.emit(link, self.place).map(drop)
    }

    /// The edits of a patch of which only the text is known, and that it was applied (`patch`, 0.1.174).
    fn patch_text(self, input: &FileArgs<'e>, out: &mut Emitter) -> Result<(), Fault> {
        let Some(patch) = text(input.patch_text()).and_then(lines_of) else { return Ok(()) };
        for file in begin_patch(&patch).unwrap_or_default() {
            let edits = Edits { call_id: self.call_id, place: self.place, ..self };
            let path = Text::Plain(file.path);
            match &file.change {
                FileChange::Add(lines) => edits.emit(snippet(EditOp::Create, path, None, Some(lines.join("\n").into())), out)?,
                FileChange::Delete => edits.emit(CodeEdit::new(EditOp::Delete, path), out)?,
                FileChange::Update { move_to, hunks } => {
                    let named = move_to.map_or(path, Text::Plain);
                    if move_to.is_some() {
                        edits.moved(path, named, out)?;
                    }
                    for Snippet { before, after } in hunks {
                        let (before, after) = (before.join("\n").into(), after.join("\n").into());
                        edits.emit(snippet(EditOp::Update, named, Some(before), Some(after)), out)?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn moves_to(change: &FileChange<'_>, path: &str) -> bool {
    matches!(change, FileChange::Update { move_to: Some(to), .. } if *to == path)
}

/// The text with its line ends as the tape counts them; none where it is no text for UTF-8.
fn lines_of(text: Text<'_>) -> Option<Cow<'_, str>> {
    let text = text.decode().ok()?;
    Some(if memchr(b'\r', text.as_bytes()).is_some() { Cow::Owned(text.replace("\r\n", "\n")) } else { text })
}

/// A whole file before and after an edit, where both are given.
fn whole_files<'a>(before: Field<'a>, after: Field<'a>) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
    Some((text(before).and_then(lines_of)?, text(after).and_then(lines_of)?))
}

/// An edit whose place in the file is not known.
fn snippet<'a>(op: EditOp, file: Text<'a>, old: Option<Cow<'_, str>>, new: Option<Cow<'_, str>>) -> CodeEdit<'a> {
    let mut event = CodeEdit::new(op, file);
    if let Some(old) = old {
        (event.before_hash, event.before_anchor_hashes) = hash_and_anchors(&old);
    }
    if let Some(new) = new {
        (event.after_hash, event.after_anchor_hashes) = hash_and_anchors(&new);
    }
    event.snippet = event.before_hash.is_some() || event.after_hash.is_some();
    event
}
