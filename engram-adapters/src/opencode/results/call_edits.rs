//! The edits of one call, as exactly as its result says them.

use std::borrow::Cow;
use std::collections::HashMap;

use engram_core::emit::Pointer;
use engram_core::event::{CodeEdit, EditOp, Range, SpanLink};
use engram_core::hash::Hash;
use engram_core::steps::Emitter;
use engram_core::text::Text;

use super::call::Call;
use super::diffs::{Diff, Proof};
use super::paths::absolute;
use crate::opencode::dialect::Dialect;
use crate::opencode::readers::{FileArgs, FileDiff, Metadata, PatchedFile};
use crate::shared::patch::{FileChange, begin_patch};
use crate::shared::spans::{
    Rewrite, has_crlf, set_run, set_run_ranges, set_snippet, set_whole_file, spans_between,
    with_unix_line_ends,
};
use crate::shared::value::{Field, Value, is_true, non_empty_text, raw_str, text};

/// What all edits of one call have in common.
#[derive(Clone, Copy)]
pub(super) struct CallEdits<'e> {
    call_id: Option<Text<'e>>,
    directory: Option<&'e str>,
    pointer: Pointer<'e>,
    moves_are_links: bool,
    /// The result was made before a formatter ran, so it has what was asked for, not what the file became.
    is_before_formatter: bool,
}

impl<'e> CallEdits<'e> {
    pub fn new<'c: 'e>(call: &Call<'c>, dialect: Dialect, pointer: Pointer<'e>) -> Self {
        CallEdits {
            call_id: call.id,
            directory: call.directory,
            pointer,
            moves_are_links: dialect.moves_are_links,
            is_before_formatter: false,
        }
    }

    /// The edits of a result that was made before a formatter ran: `apply_patch` (1.1.65 to 1.18.34).
    pub fn before_formatter(self) -> Self {
        CallEdits {
            is_before_formatter: true,
            ..self
        }
    }

    /// Emits an edit, with the absolute path of its file.
    pub fn emit(self, event: CodeEdit<'_>, out: &mut Emitter<'_>) {
        let event = if self.is_before_formatter && event.op != EditOp::Delete {
            as_requested(event)
        } else {
            event
        };
        let absolute = absolute(event.file, self.directory);
        let file = absolute.as_deref().map_or(event.file, Text::Plain);
        out.emit(
            CodeEdit {
                call_id: self.call_id,
                file,
                ..event
            },
            self.pointer,
        );
    }

    pub fn edit(self, metadata: &Metadata<'e>, args: &FileArgs<'e>, out: &mut Emitter<'_>) {
        let Some(file) = non_empty_text(args.file_path()) else {
            return;
        };
        let (old, new) = (
            text(args.old_string()).and_then(lines_of),
            text(args.new_string()).and_then(lines_of),
        );
        // With an empty old text the tool creates the file. The result shows an empty file before, even if there was one.
        if old.as_deref() == Some("") {
            return self.emit(snippet(EditOp::Create, file, None, new), out);
        }
        let filediff = FileDiff::lenient_opt(metadata.filediff());
        let all = is_true(args.replace_all());
        if let Some((before, after)) = file_versions(filediff.before(), filediff.after()) {
            let replaced = old.as_deref().zip(new.as_deref());
            return self.between_versions(
                file,
                &before,
                &after,
                replaced.map(|(old, new)| (old, new, all)),
                out,
            );
        }
        let has_versions = filediff.before().is_some() && filediff.after().is_some();
        let diff = diff_of(filediff.patch(), metadata.diff()).filter(|_| !has_versions);
        let Some(diff) = diff.as_deref().and_then(Diff::parse) else {
            let edit = whole_file(filediff.before(), filediff.after(), file);
            return self.emit(
                edit.unwrap_or_else(|| snippet(EditOp::Update, file, old, new)),
                out,
            );
        };
        let proof = old
            .as_deref()
            .zip(new.as_deref())
            .map_or(Proof::None, |(old, new)| Proof::Replaced { old, new, all });
        self.of_diff(EditOp::Update, file, &diff, proof, out)
    }

    /// The edit between two versions of a whole file.
    fn between_versions(
        self,
        file: Text<'_>,
        before: &str,
        after: &str,
        replaced: Option<(&str, &str, bool)>,
        out: &mut Emitter<'_>,
    ) {
        let mut rewrite = Rewrite::new(before);
        if let Some((old, new, all)) = replaced {
            rewrite.replace(old, new, all);
        }
        // The tool also matches text that differs in white space, and a formatter may have run: then the replacement proves nothing.
        let spans = spans_between(before, after, Some(&rewrite));
        if before == after {
            return;
        }
        let (file_before_hash, file_after_hash) = (
            Hash::of_lossless_text(before),
            Hash::of_lossless_text(after),
        );
        for span in &spans {
            let mut event = CodeEdit {
                file_before_hash,
                file_after_hash,
                ..CodeEdit::new(EditOp::Update, file)
            };
            span.set_in(&mut event);
            self.emit(event, out);
        }
    }

    /// The edits of a diff. Its line numbers are right, but its indentation is altered unless proven otherwise.
    pub fn of_diff(
        self,
        op: EditOp,
        file: Text<'_>,
        diff: &Diff<'_>,
        proof: Proof<'_>,
        out: &mut Emitter<'_>,
    ) {
        let is_exact = diff.is_exact(proof);
        for run in &diff.runs {
            let mut event = CodeEdit::new(op, file);
            if is_exact {
                set_run(&mut event, run);
            } else {
                set_run_ranges(&mut event, run);
            }
            self.emit(event, out);
        }
    }

    /// The files that the result of a patch lists.
    pub fn patched_files(self, files: Value<'e>, args: &FileArgs<'e>, out: &mut Emitter<'_>) {
        let patch_text = text(args.patch_text()).and_then(lines_of);
        let requested = patch_text
            .as_deref()
            .and_then(begin_patch)
            .unwrap_or_default();
        let mut changes: HashMap<&str, &FileChange<'_>> = HashMap::new();
        for request in &requested {
            for name in [Some(request.path), target(&request.change)]
                .into_iter()
                .flatten()
            {
                changes.entry(name).or_insert(&request.change);
            }
        }
        for patched in files.elements().map(PatchedFile::lenient) {
            let Some(file) = non_empty_text(patched.file_path()) else {
                continue;
            };
            let target = non_empty_text(patched.move_path()).unwrap_or(file);
            let kind = raw_str(patched.kind());
            if kind == "move" {
                self.emit_move(file, target, out);
            }
            if let Some((before, after)) =
                file_versions(patched.before(), patched.after()).filter(|_| kind != "delete")
            {
                match kind {
                    "add" | "move" => self.new_file(target, &after, out),
                    _ => self.between_versions(target, &before, &after, None, out),
                }
                continue;
            }
            if let Some(edit) = whole_file(patched.before(), patched.after(), target)
                .filter(|_| !matches!(kind, "add" | "move" | "delete"))
            {
                self.emit(edit, out);
                continue;
            }
            let diff = diff_of(patched.patch(), None);
            let diff = diff.as_deref().and_then(Diff::parse);
            let op = match kind {
                "add" => EditOp::Create,
                "delete" => EditOp::Delete,
                _ => EditOp::Update,
            };
            let relative = text(patched.relative_path())
                .map(|path| path.decode_lossy())
                .unwrap_or_default();
            let proof = changes
                .get(&*relative)
                .map_or(Proof::None, |change| Proof::Requested(change));
            match diff {
                Some(diff) if !diff.runs.is_empty() => self.of_diff(op, target, &diff, proof, out),
                // The diff has no lines: a move without changes, or an empty file.
                Some(_) if op == EditOp::Update => {}
                _ => self.emit(CodeEdit::new(op, target), out),
            }
        }
    }

    /// A file that did not exist under this name, and its text.
    fn new_file(self, file: Text<'_>, text: &str, out: &mut Emitter<'_>) {
        let mut event = CodeEdit::new(EditOp::Create, file);
        set_whole_file(&mut event, text);
        self.emit(event, out)
    }

    /// Emits a move. It precedes the other edits of the same patch, which name the file by its new name.
    pub fn emit_move(self, from: Text<'_>, to: Text<'_>, out: &mut Emitter<'_>) {
        self.emit(CodeEdit::new(EditOp::Move, from), out);
        if !self.moves_are_links {
            return;
        }
        let (absolute_from, absolute_to) =
            (absolute(from, self.directory), absolute(to, self.directory));
        let (from, to) = (
            absolute_from.as_deref().map_or(from, Text::Plain),
            absolute_to.as_deref().map_or(to, Text::Plain),
        );
        out.emit(SpanLink::of_move(self.call_id, from, to), self.pointer);
    }

    /// The edits of a patch of which only the text is known (0.1.174).
    pub fn patch_text(self, args: &FileArgs<'e>, out: &mut Emitter<'_>) {
        let Some(patch) = text(args.patch_text()).and_then(lines_of) else {
            return;
        };
        for file in begin_patch(&patch).unwrap_or_default() {
            let edits = CallEdits { ..self };
            let path = Text::Plain(file.path);
            match &file.change {
                FileChange::Add(lines) => edits.emit(
                    snippet(EditOp::Create, path, None, Some(lines.join("\n").into())),
                    out,
                ),
                FileChange::Delete => edits.emit(CodeEdit::new(EditOp::Delete, path), out),
                FileChange::Update { move_to, hunks } => {
                    let target = move_to.map_or(path, Text::Plain);
                    if move_to.is_some() {
                        edits.emit_move(path, target, out);
                    }
                    // The tool also applies a hunk where the file has other text, so its lines prove nothing.
                    if !hunks.is_empty() {
                        edits.emit(CodeEdit::new(EditOp::Update, target), out);
                    }
                }
            }
        }
    }
}

/// The name that a change moves its file to.
pub(super) fn target<'p>(change: &FileChange<'p>) -> Option<&'p str> {
    match change {
        FileChange::Update { move_to, .. } => *move_to,
        _ => None,
    }
}

/// The text with `\n` for its line ends. None if it is not valid Unicode, or has a CR before a `\r\n`: a diff of such a text lacks the CR,
/// because the harness, too, writes `\n` for `\r\n`.
pub(super) fn lines_of(text: Text<'_>) -> Option<Cow<'_, str>> {
    text.decode()
        .ok()
        .map(with_unix_line_ends)
        .filter(|text| !has_crlf(text))
}

/// The text of a diff. A `patch` (1.3.3 and later) is of texts in which the harness has written `\n` for `\r\n`, so its line ends are as it
/// has them: a `\r\n` is a line with another CR, and [`Diff::is_exact`] does not trust it. A `diff` of earlier versions has the line ends of
/// the file.
fn diff_of<'a>(patch: Field<'a>, diff: Field<'a>) -> Option<Cow<'a, str>> {
    match text(patch) {
        Some(patch) => patch.decode().ok(),
        None => text(diff).and_then(lines_of),
    }
}

/// An edit of a file whose versions are recorded, but not as lines: the hashes of the whole file. None if no version is recorded.
fn whole_file<'a>(before: Field<'_>, after: Field<'_>, file: Text<'a>) -> Option<CodeEdit<'a>> {
    let (before, after) = (text(before)?.decode().ok()?, text(after)?.decode().ok()?);
    let (file_before_hash, file_after_hash) = (
        Hash::of_lossless_text(&before),
        Hash::of_lossless_text(&after),
    );
    Some(CodeEdit {
        file_before_hash,
        file_after_hash,
        ..CodeEdit::new(EditOp::Update, file)
    })
}

/// A whole file before and after an edit, if both are recorded.
fn file_versions<'a>(before: Field<'a>, after: Field<'a>) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
    Some((
        text(before).and_then(lines_of)?,
        text(after).and_then(lines_of)?,
    ))
}

/// The edit with the texts that were asked for, and without the lines that they have in the file. Of an edit without texts, the lines before it.
fn as_requested(mut event: CodeEdit<'_>) -> CodeEdit<'_> {
    let count = |range: Option<Range>| range.map_or(0, |range| range.last + 1 - range.first);
    let (before, after) = (count(event.before_range), count(event.after_range));
    event.after_range = None;
    event.file_after_hash = None;
    if event.before_hash.is_none() && event.after_hash.is_none() {
        return event;
    }
    event.before_range = None;
    if before == 0 {
        (event.before_hash, event.before_text) = (None, None);
        event.before_anchor_hashes = Default::default();
    }
    if after == 0 {
        (event.after_hash, event.after_text) = (None, None);
        event.after_anchor_hashes = Default::default();
    }
    event.before_lines = event.before_hash.is_some().then_some(before);
    event.after_lines = event.after_hash.is_some().then_some(after);
    event.snippet = true;
    event
}

/// An edit whose lines in the file are not known.
pub(super) fn snippet<'a>(
    op: EditOp,
    file: Text<'a>,
    old: Option<Cow<'_, str>>,
    new: Option<Cow<'_, str>>,
) -> CodeEdit<'a> {
    let mut event = CodeEdit::new(op, file);
    set_snippet(&mut event, old.as_deref(), new.as_deref());
    event
}
