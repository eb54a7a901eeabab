//! What it means that a recording shows a gap: one row a gap code, told from truth and tape alone.

use std::collections::BTreeSet;

use engram_core::event::Kind;
use serde_json::Value;

use crate::scene::{Scene, Side};
use crate::tape::Event;
use crate::truth::{Call, RealEdit};

/// One gap: its code, the kind that it is of, and how a recording shows it.
#[derive(Clone, Copy)]
pub struct GapRow {
    /// The code, as descriptors spell it.
    pub code: &'static str,
    /// The kind of event that is less than it could be.
    pub kind: Kind,
    /// True when the recording shows it.
    pub shows: fn(&Scene<'_>) -> bool,
    lacks_lines: Option<fn(&Event) -> bool>,
    lacks_hash: Option<fn(&Event) -> bool>,
}

impl GapRow {
    /// A gap, and how a recording shows it.
    pub const fn new(code: &'static str, kind: Kind, shows: fn(&Scene<'_>) -> bool) -> GapRow {
        GapRow { code, kind, shows, lacks_lines: None, lacks_hash: None }
    }

    /// The same, for edits that have no lines because of it.
    pub const fn without_lines(self, lacks_lines: fn(&Event) -> bool) -> GapRow {
        GapRow { lacks_lines: Some(lacks_lines), ..self }
    }

    /// The same, for edits that do not hash their file because of it.
    pub const fn without_hash(self, lacks_hash: fn(&Event) -> bool) -> GapRow {
        GapRow { lacks_hash: Some(lacks_hash), ..self }
    }
}

/// The gaps that any harness may have.
pub const ROWS: &[GapRow] = &[
    GapRow::new("edit.shell", Kind::CodeEdit, shell_edit_unseen),
    GapRow::new("edit.shell_no_text", Kind::CodeEdit, |scene| {
        edits_by(scene, &["execute"], |edit, _| is_bare(edit) && edit.range("after_range").is_some())
    })
    .without_hash(is_bare),
    GapRow::new("edit.big_file", Kind::CodeEdit, |scene| edits_by(scene, EDITORS, |edit, real| is_bare(edit) && is_untold(real)))
        .without_hash(is_bare),
    GapRow::new("edit.add_over_file", Kind::CodeEdit, |scene| {
        scene.events(Kind::CodeEdit).any(|(side, edit)| {
            edit.text("op") == Some("create") && is_patch(side, edit) && real_of(scene, edit).is_some_and(|real| real.before.is_some())
        })
    }),
    GapRow::new("read.no_total", Kind::CodeRead, |scene| {
        scene.events(Kind::CodeRead).any(|(_, read)| read.range("range").is_some() && !read.has("total_lines"))
    }),
    GapRow::new("read.no_lines", Kind::CodeRead, |scene| scene.events(Kind::CodeRead).any(|(_, read)| read.range("range").is_none())),
    GapRow::new("read.not_utf8", Kind::CodeRead, |scene| {
        scene.events(Kind::CodeRead).any(|(_, read)| read.range("range").is_some() && !read.has("hash"))
    }),
    GapRow::new("read.shell", Kind::CodeRead, shell_read_unseen),
    GapRow::new("link.no_range", Kind::SpanLink, |scene| scene.events(Kind::SpanLink).any(|(_, link)| link.range("from_range").is_none())),
];

/// An edit of a file that the harness logs with U+FFFD in place of what it could not read. For adapters that can hash other edits.
pub const EDIT_NOT_UTF8: GapRow =
    GapRow::new("edit.not_utf8", Kind::CodeEdit, |scene| edits_by(scene, EDITORS, |edit, real| is_bare(edit) && is_damaged(real)))
        .without_hash(is_bare);
/// An edit of which only the text of the patch is logged. For adapters that can give lines to other edits.
pub const EDIT_PATCH_TEXT: GapRow = GapRow::new("edit.patch_text", Kind::CodeEdit, |scene| {
    scene.events(Kind::CodeEdit).any(|(side, edit)| is_snippet(edit) && is_patch(side, edit))
})
.without_lines(|_| true);

/// Every row that is known for an adapter.
fn rows(more: &[GapRow]) -> impl Iterator<Item = &GapRow> {
    ROWS.iter().chain(more)
}

/// The row of a code.
pub(crate) fn find<'r>(code: &str, more: &'r [GapRow]) -> Option<&'r GapRow> {
    rows(more).find(|row| row.code == code)
}

/// The gaps that a recording shows.
pub(crate) fn shown_by(scene: &Scene<'_>) -> BTreeSet<&'static str> {
    rows(scene.subject.offered.gaps).filter(|row| (row.shows)(scene)).map(|row| row.code).collect()
}

/// The gaps of edits that hold for the revision of a tape.
fn claimed(scene: &Scene<'_>, side: &Side) -> &'static [&'static str] {
    let schema = side.events.first().and_then(|start| start.0.pointer("/harness/schema")).and_then(Value::as_str);
    let descriptor = &scene.subject.descriptor;
    let coverage = schema.and_then(|schema| descriptor.matrix.schema(schema)).map_or(descriptor.coverage, |revision| revision.coverage);
    coverage.grade(Kind::CodeEdit).gaps()
}

/// The gap by which an edit has no lines, if its revision has one.
pub(crate) fn lacks_lines_by_a_gap(scene: &Scene<'_>, side: &Side, edit: &Event) -> Option<&'static str> {
    let excuses = |row: &GapRow| row.lacks_lines.is_some_and(|lacks| lacks(edit));
    claimed(scene, side).iter().copied().find(|code| find(code, scene.subject.offered.gaps).is_some_and(excuses))
}

/// The gap by which an edit does not hash its file, before or after, if its revision has one.
pub(crate) fn lacks_hash_by_a_gap(scene: &Scene<'_>, side: &Side, edit: &Event) -> Option<&'static str> {
    let excuses = |row: &GapRow| {
        row.lacks_hash.is_some_and(|lacks| lacks(edit)) || (is_snippet(edit) && row.lacks_lines.is_some_and(|lacks| lacks(edit)))
    };
    claimed(scene, side).iter().copied().find(|code| find(code, scene.subject.offered.gaps).is_some_and(excuses))
}

/// Kinds of tools that edit files.
pub(crate) const EDITORS: &[&str] = &["edit", "write"];
/// Commands that show a file.
const SHOWING: &[&str] = &["cat ", "sed -n", "head ", "tail "];

/// True when an edit by a tool of one of these kinds shows it, given the real edit.
pub(crate) fn edits_by(scene: &Scene<'_>, kinds: &[&str], shows: impl Fn(&Event, &RealEdit) -> bool) -> bool {
    scene.events(Kind::CodeEdit).any(|(side, edit)| {
        let of_kind = side.call_of(edit).and_then(|call| call.text("kind")).is_some_and(|kind| kinds.contains(&kind));
        of_kind && real_of(scene, edit).is_some_and(|real| shows(edit, real))
    })
}

/// The real edit that an edit is of, by its own call.
fn real_of<'s>(scene: &'s Scene<'_>, edit: &Event) -> Option<&'s RealEdit> {
    let (id, file) = (edit.text("call_id")?, edit.text("file")?);
    scene.truth.edits.iter().find(|real| real.call_ids.iter().any(|call| call == id) && file.ends_with(&real.file))
}

/// True when the call of an edit gives a patch.
fn is_patch(side: &Side, edit: &Event) -> bool {
    side.call_of(edit).and_then(|call| call.0.get("args")).is_some_and(|args| args.to_string().contains("*** Begin Patch"))
}

/// The file was not UTF-8, and the harness wrote U+FFFD in place of what it could not read.
fn is_damaged(real: &RealEdit) -> bool {
    let written = real.after.as_deref().is_some_and(|after| after.contains('\u{fffd}'));
    written && real.before.is_none() && real.before_sha256.is_some()
}

/// The file was there before and after, and too big for truth to hold.
fn is_untold(real: &RealEdit) -> bool {
    let untold = |text: &Option<String>, sha256: &Option<String>| text.is_none() && sha256.is_some();
    untold(&real.before, &real.before_sha256) && untold(&real.after, &real.after_sha256)
}

/// No hash of the file, and none of the span before.
pub(crate) fn is_bare(edit: &Event) -> bool {
    lacks_before(edit) && !edit.has("before_hash") && !edit.has("file_after_hash")
}

pub(crate) fn lacks_before(edit: &Event) -> bool {
    !edit.has("file_before_hash")
}

pub(crate) fn is_snippet(edit: &Event) -> bool {
    edit.text("basis") == Some("snippet")
}

fn is_shell(scene: &Scene<'_>, call: &Call) -> bool {
    let is_execute = scene.said_call(&call.id).and_then(|said| said.text("kind")) == Some("execute");
    is_execute && !call.args.to_string().contains("*** Begin Patch")
}

/// A file changed by a shell command alone, and no `code.edit` on it by such a call.
fn shell_edit_unseen(scene: &Scene<'_>) -> bool {
    scene.truth.edits.iter().any(|real| {
        let calls: Vec<&Call> = real.call_ids.iter().filter_map(|id| scene.call(id)).collect();
        let of_edit = |event: &Event| event.text("call_id").is_some_and(|id| real.call_ids.iter().any(|call| call == id));
        let is_logged = scene.events(Kind::ToolResult).any(|(_, result)| of_edit(result));
        let on_file = |edit: &Event| edit.text("file").is_some_and(|file| file.ends_with(&real.file));
        let is_seen = scene.events(Kind::CodeEdit).any(|(_, edit)| of_edit(edit) && on_file(edit));
        // Calls of agents that run side by side share a turn: the command has to name the file.
        let is_named = calls.iter().any(|call| call.args.to_string().contains(&real.file));
        is_named && calls.into_iter().all(|call| is_shell(scene, call)) && is_logged && !is_seen
    })
}

/// A shell command that showed a file, and no `code.read` by that call.
fn shell_read_unseen(scene: &Scene<'_>) -> bool {
    scene.truth.calls.iter().filter(|call| is_shell(scene, call)).any(|call| {
        let args = call.args.to_string();
        let of_call = |event: &Event| event.text("call_id") == Some(call.id.as_str());
        let is_ok = scene.events(Kind::ToolResult).any(|(_, result)| of_call(result) && result.text("status") == Some("ok"));
        SHOWING.iter().any(|command| args.contains(command)) && is_ok && !scene.events(Kind::CodeRead).any(|(_, read)| of_call(read))
    })
}
