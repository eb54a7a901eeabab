//! What the calls of one turn report to have changed.

use std::collections::HashMap;

use crate::gemini::schema::{Call, FileChange, raw};
use crate::gemini::state::dedup::CallKey;
use crate::shared::value::raw_str;

/// A file before and after a call, as the call reports it.
pub(super) struct Change<'a> {
    pub file: FileChange<'a>,
    /// Another call of the turn changed the same version of the same file, so one of the two changes is lost.
    ///
    /// From 0.35.3 to 0.47.0 the calls of a turn ran in parallel, and both report success.
    pub is_contested: bool,
}

/// A call of a turn.
pub(super) struct StatedCall<'a> {
    pub call: Call<'a>,
    /// Which call it is, if it has an id.
    pub key: Option<CallKey>,
    /// The log has not stated it before.
    pub is_new: bool,
}

/// True for the tools that edit files.
fn is_edit(call: &Call<'_>) -> bool {
    matches!(raw_str(call.name()), "replace" | "write_file")
}

/// The changes that the calls of a turn report, by the index of the call. Only successful calls count: a cancelled call reports what it
/// would have done.
pub(super) fn changes<'a>(calls: &[StatedCall<'a>], is_open: impl Fn(&StatedCall<'_>) -> bool) -> Vec<Option<Change<'a>>> {
    let mut changes: Vec<Option<Change<'a>>> = Vec::new();
    // The last change of each file.
    let mut last = HashMap::new();
    for (n, stated) in calls.iter().enumerate() {
        let call = &stated.call;
        let Some(display) = call.display().filter(|display| display.is_object() && is_edit(call) && call.succeeded() && is_open(stated))
        else {
            continue;
        };
        let file = FileChange::lenient(display);
        let before = last.insert(raw(file.file_path()), n).and_then(|before: usize| changes.get_mut(before)?.as_mut());
        let is_contested = before.is_some_and(|before| {
            let same = raw(before.file.original()) == raw(file.original());
            before.is_contested |= same;
            same
        });
        changes.resize_with(n, || None);
        changes.push(Some(Change { file, is_contested }));
    }
    changes
}
