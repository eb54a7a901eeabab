//! Edits of files that a hook changed behind the call, where the ground truth has only what was left in the end.

use std::collections::BTreeSet;

use engram_core::event::Kind;
use memchr::memmem;

use super::spans::strings;
use crate::case::Case;
use crate::converted_session::ConvertedSession;
use crate::ground_truth::{Call, RealEdit};
use crate::subject::Subject;
use crate::tape::Event;

/// The gap of such edits: they have the text that the call wrote.
pub const GAP: &str = "edit.hook";

/// True if an edit is right for the text that its call wrote, and not for the text that was left: a hook that a record of the call names has
/// changed the file, and the session claims the gap. Not each form of a session has such records.
pub fn is_of_call_behind_hook(
    (subject, case): (&Subject<'_>, &Case<'_>),
    (session, edit): (&ConvertedSession, &Event),
    real: &RealEdit,
    is_right_for: impl Fn(&str) -> bool,
) -> bool {
    let Some(left) = real.after.as_deref().filter(|left| !is_right_for(left)) else {
        return false;
    };
    subject.declares_for(session.schema(), Kind::CodeEdit, GAP)
        && edit.text("call_id").is_some_and(|id| {
            let call = case.call(id);
            let written = call.map(|call| texts_written(call, real.before.as_deref()));
            let mut written = written.into_iter().flatten();
            written.any(|text| text != left && is_right_for(&text))
                && case.hooked_calls.contains(id)
        })
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

/// The texts that a call may have written: a text of its arguments, or the file before with one text of the arguments in place of another.
fn texts_written(call: &Call, before: Option<&str>) -> Vec<String> {
    let given = strings(&call.args);
    let mut written: Vec<String> = given.iter().map(|text| (*text).to_owned()).collect();
    let before = before.unwrap_or_default();
    for old in given
        .iter()
        .filter(|old| !old.is_empty() && before.contains(**old))
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
    }
}
