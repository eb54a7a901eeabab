//! What it means that a recording exhibits a gap: one row per gap code, decided by the ground truth and the tape alone.

use std::collections::BTreeSet;

use engram_core::event::Kind;
use engram_core::hash::Hash;

use crate::call_args::is_rewritten;
use crate::case::Case;
use crate::converted_session::ConvertedSession;
use crate::ground_truth::{Call, FileState, RealEdit};
use crate::tape::Event;

/// One gap: its code, the kind of event that it concerns, and how a recording exhibits it.
#[derive(Clone, Copy)]
pub struct GapRow {
    /// The code, as in descriptors.
    pub code: &'static str,
    /// The kind of event that lacks something because of it.
    pub kind: Kind,
    exhibits: fn(&Case<'_>) -> bool,
    missing_lines: Option<fn(&Event) -> bool>,
    missing_hash: Option<fn(&Event) -> bool>,
    mistaken_author: Option<fn(&Case<'_>, &Event) -> bool>,
    unproven_prompt: Option<fn(&ConvertedSession, &Event) -> bool>,
    prompts_may_be_missing: bool,
}

impl GapRow {
    /// A gap, and the test whether a recording exhibits it.
    pub const fn new(code: &'static str, kind: Kind, exhibits: fn(&Case<'_>) -> bool) -> GapRow {
        GapRow {
            code,
            kind,
            exhibits,
            missing_lines: None,
            missing_hash: None,
            mistaken_author: None,
            unproven_prompt: None,
            prompts_may_be_missing: false,
        }
    }

    /// Adds: this gap explains why such an edit has no line range.
    pub const fn without_lines(self, is_explained: fn(&Event) -> bool) -> GapRow {
        GapRow {
            missing_lines: Some(is_explained),
            ..self
        }
    }

    /// Adds: this gap explains why such an edit does not hash its file.
    pub const fn without_hash(self, is_explained: fn(&Event) -> bool) -> GapRow {
        GapRow {
            missing_hash: Some(is_explained),
            ..self
        }
    }

    /// Adds: this gap explains why such a message is by a person, although nobody sent it, or not alone.
    pub const fn with_mistaken_author(self, is_explained: fn(&Case<'_>, &Event) -> bool) -> GapRow {
        GapRow {
            mistaken_author: Some(is_explained),
            ..self
        }
    }

    /// Adds: this gap explains why such a message is not by a person, although a person sent it.
    pub const fn with_unproven_prompt(
        self,
        is_explained: fn(&ConvertedSession, &Event) -> bool,
    ) -> GapRow {
        GapRow {
            unproven_prompt: Some(is_explained),
            ..self
        }
    }

    /// Adds: this gap explains why a session lacks prompts.
    pub const fn without_prompts(self) -> GapRow {
        GapRow {
            prompts_may_be_missing: true,
            ..self
        }
    }

    pub(crate) fn explains_missing_prompts(&self) -> bool {
        self.prompts_may_be_missing
    }

    pub(crate) fn explains_author(&self, case: &Case<'_>, message: &Event) -> bool {
        self.mistaken_author
            .is_some_and(|is_explained| is_explained(case, message))
    }

    pub(crate) fn explains_unproven_prompt(
        &self,
        session: &ConvertedSession,
        message: &Event,
    ) -> bool {
        self.unproven_prompt
            .is_some_and(|is_explained| is_explained(session, message))
    }

    pub(crate) fn explains_missing_lines(&self, edit: &Event) -> bool {
        self.missing_lines
            .is_some_and(|is_explained| is_explained(edit))
    }

    /// An edit without lines has no hash of its file either.
    pub(crate) fn explains_missing_hash(&self, edit: &Event) -> bool {
        self.missing_hash
            .is_some_and(|is_explained| is_explained(edit))
            || (is_snippet(edit) && self.explains_missing_lines(edit))
    }
}

/// The gaps that any harness may have.
pub const ROWS: &[GapRow] = &[
    GapRow::new("edit.shell", Kind::CodeEdit, has_unseen_shell_edit),
    GapRow::new("edit.shell_no_text", Kind::CodeEdit, |case| {
        edits_by(case, &["execute"], |edit, _| {
            has_no_hashes(edit) && edit.range("after_range").is_some()
        })
    })
    .without_hash(has_no_hashes),
    GapRow::new("edit.add_over_file", Kind::CodeEdit, |case| {
        case.events(Kind::CodeEdit).any(|(session, edit)| {
            edit.text("op") == Some("create")
                && is_patch(session, edit)
                && real_of(case, session, edit).is_some_and(|real| real.before.is_some())
        })
    }),
    GapRow::new("edit.hook", Kind::CodeEdit, has_file_changed_by_hook),
    GapRow::new("edit.after_error", Kind::CodeEdit, has_edit_of_failed_call),
    GapRow::new("call.rewritten", Kind::ToolCall, has_rewritten_call),
    GapRow::new("read.no_total", Kind::CodeRead, |case| {
        case.events(Kind::CodeRead)
            .any(|(_, read)| read.range("range").is_some() && !read.has("total_lines"))
    }),
    GapRow::new("read.no_lines", Kind::CodeRead, |case| {
        case.events(Kind::CodeRead)
            .any(|(_, read)| read.range("range").is_none())
    }),
    GapRow::new("read.not_utf8", Kind::CodeRead, |case| {
        case.events(Kind::CodeRead)
            .any(|(session, read)| has_lines_alone(read) && !is_cut(session, read))
    }),
    GapRow::new("read.cut_line", Kind::CodeRead, |case| {
        case.events(Kind::CodeRead)
            .any(|(session, read)| has_lines_alone(read) && is_cut(session, read))
    }),
    GapRow::new("read.shell", Kind::CodeRead, has_unseen_shell_read),
    GapRow::new("link.no_range", Kind::SpanLink, |case| {
        case.events(Kind::SpanLink)
            .any(|(_, link)| link.range("from_range").is_none())
    }),
];

/// A command of which only the prompt that it stands for is logged, as if the user had written it.
pub const PROMPT_COMMAND: GapRow = GapRow::new("prompt.command", Kind::MsgIn, |case| {
    has_event(case, Kind::MsgIn, |prompt| is_not_typed(case, prompt))
})
.with_mistaken_author(is_not_typed);

/// True for a prompt by a person that is not what was typed.
fn is_not_typed(case: &Case<'_>, prompt: &Event) -> bool {
    let is_typed = |text: &str| {
        let mut typed = case.truth.prompts.iter();
        typed.any(|prompt| prompt.trim() == text.trim())
    };
    prompt.text("by") == Some("person") && !prompt.text("text").is_none_or(is_typed)
}

/// A read of the beginning of a file, without its byte order mark. For adapters of harnesses that leave the mark out of what they log.
pub const READ_BOM: GapRow = GapRow::new("read.bom", Kind::CodeRead, |case| {
    has_event(case, Kind::CodeRead, |read| {
        let file = read.text("file").unwrap_or_default();
        let is_marked = |real: &&RealEdit| {
            real.before
                .as_deref()
                .is_some_and(|text| text.starts_with('\u{feff}'))
        };
        let begins = read.has("hash") && read.range("range").is_some_and(|(first, _)| first == 1);
        begins
            && case
                .truth
                .edits
                .iter()
                .filter(is_marked)
                .any(|real| file.ends_with(&real.file))
    })
});

/// An edit of a file that is not UTF-8: the harness logs U+FFFD in place of invalid bytes. For adapters that can hash other edits.
pub const EDIT_NOT_UTF8: GapRow = GapRow::new("edit.not_utf8", Kind::CodeEdit, |case| {
    edits_by(case, EDITORS, |edit, real| {
        has_no_hashes(edit) && has_replaced_bytes(real)
    })
})
.without_hash(has_no_hashes);
/// An edit of which the log has only the text of the patch. For adapters that know the lines of other edits.
pub const EDIT_PATCH_TEXT: GapRow = GapRow::new("edit.patch_text", Kind::CodeEdit, |case| {
    case.events(Kind::CodeEdit)
        .any(|(session, edit)| is_snippet(edit) && is_patch(session, edit))
})
.without_lines(|_| true);

/// True for a read whose lines are known, and not their text.
fn has_lines_alone(read: &Event) -> bool {
    read.range("range").is_some() && !read.has("hash")
}

/// True for a read of which the harness says that it cut the result.
fn is_cut(session: &ConvertedSession, read: &Event) -> bool {
    let is_of_call = |event: &Event| event.text("call_id") == read.text("call_id");
    let mut results = session
        .events
        .iter()
        .filter(|event| event.is(Kind::ToolResult));
    results.any(|result| is_of_call(result) && result.has("truncated"))
}

/// The row of a code; `more` are the adapter's own rows.
pub(crate) fn find<'r>(code: &str, more: &'r [GapRow]) -> Option<&'r GapRow> {
    ROWS.iter().chain(more).find(|row| row.code == code)
}

/// The codes of the gaps that a recording exhibits; `more` are the adapter's own rows.
pub(crate) fn exhibited_by(case: &Case<'_>, more: &[GapRow]) -> BTreeSet<&'static str> {
    ROWS.iter()
        .chain(more)
        .filter(|row| (row.exhibits)(case))
        .map(|row| row.code)
        .collect()
}

/// Kinds of tools that edit files.
pub const EDITORS: &[&str] = &["edit", "write"];
/// Commands that print a file.
const PRINT_COMMANDS: &[&str] = &["cat ", "sed -n", "head ", "tail "];

/// A text with `\n` in place of each CR that stands alone, so without a `\n` behind it. `None` if there is no such CR. Some harnesses count
/// lines like this.
pub fn split_at_cr(text: &str) -> Option<String> {
    let text = text.replace("\r\n", "\n");
    text.contains('\r').then(|| text.replace('\r', "\n"))
}

/// True if `exhibits` accepts an event of the kind.
pub fn has_event(case: &Case<'_>, kind: Kind, exhibits: impl Fn(&Event) -> bool) -> bool {
    case.events(kind).any(|(_, event)| exhibits(event))
}

/// True if `exhibits` accepts an edit by a tool of one of these kinds, together with the real edit.
pub fn edits_by(
    case: &Case<'_>,
    kinds: &[&str],
    exhibits: impl Fn(&Event, &RealEdit) -> bool,
) -> bool {
    case.events(Kind::CodeEdit).any(|(session, edit)| {
        let of_kind = session
            .call_of(edit)
            .and_then(|call| call.text("kind"))
            .is_some_and(|kind| kinds.contains(&kind));
        of_kind && real_of(case, session, edit).is_some_and(|real| exhibits(edit, real))
    })
}

/// The real edit behind a `code.edit`, found by its file and its call, or the call of the model that made that one.
fn real_of<'s>(
    case: &'s Case<'_>,
    session: &ConvertedSession,
    edit: &Event,
) -> Option<&'s RealEdit> {
    let file = edit.text("file")?;
    let mut calls = session.call_chain(edit);
    calls.extend(edit.text("call_id"));
    case.truth.edits.iter().find(|real| {
        let mut ids = real.call_ids.iter();
        ids.any(|id| calls.contains(&id.as_str())) && file.ends_with(&real.file)
    })
}

/// True if the arguments of the edit's call are a patch.
fn is_patch(session: &ConvertedSession, edit: &Event) -> bool {
    session.call_of(edit).is_some_and(|call| {
        call.text("tool") == Some("apply_patch")
            || call
                .0
                .get("args")
                .is_some_and(|args| args.to_string().contains("*** Begin Patch"))
    })
}

/// The file was not UTF-8, and the harness wrote U+FFFD in place of invalid bytes.
pub fn has_replaced_bytes(real: &RealEdit) -> bool {
    let written = real
        .after
        .as_deref()
        .is_some_and(|after| after.contains('\u{fffd}'));
    written && real.before.is_none() && real.before_sha256.is_some()
}

/// The file existed before and after, but the ground truth has only its hashes: it was too big.
pub fn truth_hash_only(real: &RealEdit) -> bool {
    real.state_before() == FileState::Unknown && real.state_after() == FileState::Unknown
}

/// The edit hashes neither the file nor the span before.
pub fn has_no_hashes(edit: &Event) -> bool {
    lacks_file_before_hash(edit) && !edit.has("before_hash") && !edit.has("file_after_hash")
}

/// The edit hashes the file neither before nor after.
pub fn has_no_file_hash(edit: &Event) -> bool {
    lacks_file_before_hash(edit) && !edit.has("file_after_hash")
}

/// The edit has the file and the operation alone.
pub fn names_only(edit: &Event) -> bool {
    [
        "before_range",
        "after_range",
        "before_hash",
        "after_hash",
        "file_before_hash",
        "file_after_hash",
    ]
    .iter()
    .all(|key| !edit.has(key))
}

/// The edit does not hash the file before.
pub fn lacks_file_before_hash(edit: &Event) -> bool {
    !edit.has("file_before_hash")
}

/// The edit has texts, but no line ranges.
pub fn is_snippet(edit: &Event) -> bool {
    edit.text("basis") == Some("snippet")
}

fn is_shell(case: &Case<'_>, call: &Call) -> bool {
    let is_execute = executed(case, call).and_then(|event| event.text("kind")) == Some("execute");
    is_execute && !call.args.to_string().contains("*** Begin Patch")
}

/// The `tool.call` of a real call: the one with its id, or else that with its command. A log of calls as they are executed has other ids.
fn executed<'s>(case: &'s Case<'_>, call: &Call) -> Option<&'s Event> {
    let command = call.args.get("command");
    let has_command =
        |event: &&Event| command.is_some() && event.0.pointer("/args/command") == command;
    case.tool_call(&call.id).or_else(|| {
        case.events(Kind::ToolCall)
            .map(|(_, event)| event)
            .find(has_command)
    })
}

/// Only shell commands changed a file, and they have no `code.edit` of it.
fn has_unseen_shell_edit(case: &Case<'_>) -> bool {
    case.truth.edits.iter().any(|real| {
        let calls: Vec<&Call> = real
            .call_ids
            .iter()
            .filter_map(|id| case.call(id))
            .collect();
        let ids: BTreeSet<&str> = calls
            .iter()
            .filter_map(|call| executed(case, call)?.text("call_id"))
            .collect();
        let of_edit = |event: &Event| event.text("call_id").is_some_and(|id| ids.contains(id));
        let is_logged = case
            .events(Kind::ToolResult)
            .any(|(_, result)| of_edit(result));
        let on_file = |edit: &Event| {
            edit.text("file")
                .is_some_and(|file| file.ends_with(&real.file))
        };
        let is_seen = case
            .events(Kind::CodeEdit)
            .any(|(_, edit)| of_edit(edit) && on_file(edit));
        // Parallel agents share a turn, so the command must name the file.
        let is_named = calls
            .iter()
            .any(|call| call.args.to_string().contains(&real.file));
        is_named && calls.into_iter().all(|call| is_shell(case, call)) && is_logged && !is_seen
    })
}

/// A hook or a formatter changed a file after a call wrote it: the edit has not the hash of what was left, but that before the change, or
/// none beside the hash of the file before.
fn has_file_changed_by_hook(case: &Case<'_>) -> bool {
    edits_by(case, EDITORS, |edit, real| {
        let left = real
            .formatted
            .as_deref()
            .map(|text| Hash::of_text(text).to_string());
        let is_hashed = edit.has("file_before_hash") || edit.has("file_after_hash");
        left.is_some() && is_hashed && edit.text("file_after_hash") != left.as_deref()
    })
}

/// Only edit tools can have changed the file, and the call failed and has no edit.
fn has_edit_of_failed_call(case: &Case<'_>) -> bool {
    case.truth.edits.iter().any(|real| {
        let of_edit = |event: &Event| {
            event
                .text("call_id")
                .is_some_and(|id| real.call_ids.iter().any(|call| call == id))
        };
        let is_editor = |id: &String| {
            let kind = case.tool_call(id).and_then(|call| call.text("kind"));
            kind.is_none_or(|kind| EDITORS.contains(&kind))
        };
        let has_failed = |result: &Event| of_edit(result) && result.text("status") == Some("error");
        let is_known = |edit: &Event| {
            let file = edit.text("file").unwrap_or_default();
            of_edit(edit) && file.ends_with(&real.file)
        };
        real.call_ids.iter().all(is_editor)
            && has_event(case, Kind::ToolResult, has_failed)
            && !has_event(case, Kind::CodeEdit, is_known)
    })
}

/// A call has other arguments than the model sent, and its record has them.
fn has_rewritten_call(case: &Case<'_>) -> bool {
    let real = |event: &Event| event.text("call_id").and_then(|id| case.call(id));
    case.own_events(Kind::ToolCall)
        .any(|(session, event)| real(event).is_some_and(|call| is_rewritten(session, event, call)))
}

/// A shell command printed a file, and it has no `code.read`.
fn has_unseen_shell_read(case: &Case<'_>) -> bool {
    case.truth
        .calls
        .iter()
        .filter(|call| is_shell(case, call))
        .any(|call| {
            let args = call.args.to_string();
            let of_call = |event: &Event| event.text("call_id") == Some(call.id.as_str());
            let is_ok = case
                .events(Kind::ToolResult)
                .any(|(_, result)| of_call(result) && result.text("status") == Some("ok"));
            PRINT_COMMANDS.iter().any(|command| args.contains(command))
                && is_ok
                && !case.events(Kind::CodeRead).any(|(_, read)| of_call(read))
        })
}
