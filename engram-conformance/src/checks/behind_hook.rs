//! Edits of files that a hook changed behind the call, where the ground truth has only what was left in the end.

use std::collections::BTreeSet;

use engram_core::event::Kind;
use memchr::memmem;

use super::spans::{sides_of_patches, strings, without_layout};
use crate::case::Case;
use crate::converted_session::ConvertedSession;
use crate::ground_truth::{Call, RealEdit};
use crate::subject::Subject;
use crate::tape::Event;

/// The gap of such edits: they have the text that the call wrote.
pub const GAP: &str = "edit.hook";

/// True if an edit is right for the text that its call wrote, and not for the text that was left, and the session claims the gap: a hook that
/// a record of the call names has changed the file, or one that no record names has changed its layout. Not each form of a session has such
/// records.
pub fn is_of_call_behind_hook(
    (subject, case): (&Subject<'_>, &Case<'_>),
    (session, edit): (&ConvertedSession, &Event),
    real: &RealEdit,
    is_right_for: impl Fn(&str) -> bool,
) -> bool {
    let Some(left) = real.after.as_deref().filter(|left| !is_right_for(left)) else {
        return false;
    };
    let calls = session.call_chain(edit);
    let is_named = calls.iter().any(|id| case.hooked_calls.contains(*id));
    let is_by_hook =
        |text: &str| text != left && (is_named || without_layout(text) == without_layout(left));
    subject.declares_for(session.schema(), Kind::CodeEdit, GAP)
        && calls.iter().filter_map(|id| case.call(id)).any(|call| {
            let written = texts_written(call, real.before.as_deref());
            let mut written = written.iter();
            written.any(|text| is_by_hook(text) && is_right_for(text))
        })
}

/// True if a hook that a record of the call names may have changed the file behind an edit, and the session claims the gap: then the state that
/// the edit left is not known.
pub fn is_behind_hook(
    (subject, case): (&Subject<'_>, &Case<'_>),
    session: &ConvertedSession,
    edit: &Event,
) -> bool {
    let mut calls = session.call_chain(edit).into_iter();
    subject.declares_for(session.schema(), Kind::CodeEdit, GAP)
        && calls.any(|id| case.hooked_calls.contains(id))
}

/// The calls that changed a file, and that a record with the name of a hook names.
pub fn hooked_calls(case: &Case<'_>) -> BTreeSet<String> {
    let has_name = |record: &[u8]| {
        ["hook", "Hook"]
            .iter()
            .any(|name| memmem::find(record, name.as_bytes()).is_some())
    };
    let is_hooked = |id: &&String| {
        let mut sessions = case.sessions.iter();
        sessions.any(|session| session.records_with(id).any(has_name))
    };
    let calls = case.truth.edits.iter().flat_map(|real| &real.call_ids);
    calls.filter(is_hooked).cloned().collect()
}

/// The texts that a call may have written: a text of its arguments, or the file before with one text of the arguments in place of another. A
/// patch is the texts of its hunks.
fn texts_written(call: &Call, before: Option<&str>) -> Vec<String> {
    let given = strings(&call.args).into_iter().map(str::to_owned);
    let given: Vec<String> = given.chain(sides_of_patches(&call.args)).collect();
    let mut written = given.clone();
    let before = before.unwrap_or_default();
    for old in given
        .iter()
        .filter(|old| !old.is_empty() && before.contains(old.as_str()))
    {
        for new in &given {
            written.push(before.replacen(old, new, 1));
            written.push(before.replace(old, new));
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_writes_a_text_or_replaces_one() {
        let call = |args| Call {
            id: "c".to_owned(),
            tool: "edit".to_owned(),
            args,
            thread: None,
        };
        let write = call(serde_json::json!({"content": "x=1\n"}));
        assert_eq!(texts_written(&write, None), ["x=1\n"]);
        let edit = call(serde_json::json!({"old": "a", "new": "b"}));
        let written = texts_written(&edit, Some("a a"));
        assert!(
            ["b a", "b b"]
                .iter()
                .all(|text| written.iter().any(|found| found == text))
        );
        assert!(!written.contains(&"x".to_owned()));
        // A patch in the text of a script.
        let script =
            "patch(\"*** Begin Patch\\n*** Update File: f\\n@@\\n-a\\n+b\\n*** End Patch\\n\")";
        let patched = texts_written(&call(serde_json::json!(script)), Some("a\nc\n"));
        assert!(patched.contains(&"b\nc\n".to_owned()));
    }
}
