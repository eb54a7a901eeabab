//! The edits of one call on one file, and how they are joined with the ground truth.

use std::borrow::Cow;
use std::collections::BTreeMap;

use engram_core::event::Kind;
use engram_core::hash::Hash;
use serde_json::Value;

use super::spans;
use crate::case::Case;
use crate::converted_session::ConvertedSession;
use crate::ground_truth::{Call, RealEdit, in_project};
use crate::tape::Event;

/// The `code.edit` events of one call on one file.
pub struct CallEdits<'a> {
    pub session: &'a ConvertedSession,
    pub call_chain: Vec<&'a str>,
    pub file: Cow<'a, str>,
    pub events: Vec<&'a Event>,
}

impl CallEdits<'_> {
    /// True if the log has only the request, not its result: then the edit says nothing about the file.
    pub fn is_request(&self) -> bool {
        self.events
            .iter()
            .all(|event| event.0.get("confirmed") == Some(&Value::Bool(false)))
    }
}

/// The edits of all tapes, grouped by call and file, in tape order.
pub fn call_edits<'a>(case: &'a Case<'_>) -> Vec<CallEdits<'a>> {
    let mut groups: Vec<CallEdits<'a>> = Vec::new();
    let mut at: BTreeMap<(&str, &str, String), usize> = BTreeMap::new();
    for (session, event) in case.own_events(Kind::CodeEdit) {
        let (id, file) = (
            event.text("call_id").unwrap_or_default(),
            in_project(event.text("file").unwrap_or_default()),
        );
        let group = *at
            .entry((session.name(), id, file.to_string()))
            .or_insert(groups.len());
        if group == groups.len() {
            groups.push(CallEdits {
                session,
                call_chain: session.call_chain(event),
                file,
                events: Vec::new(),
            });
        }
        groups[group].events.push(event);
    }
    groups
}

/// The edits of the tapes that belong to a real edit.
pub fn matching<'m, 'a>(edits: &'m [CallEdits<'a>], real: &RealEdit) -> Vec<&'m CallEdits<'a>> {
    edits.iter().filter(|edits| is_of(real, edits)).collect()
}

pub fn is_of(real: &RealEdit, edits: &CallEdits<'_>) -> bool {
    let by_call = real.is_revert()
        || edits
            .call_chain
            .iter()
            .any(|root| real.call_ids.iter().any(|id| id == root));
    by_call && (real.file == edits.file || moved_to(edits).any(|to| to == real.file))
}

/// The new names of a moved file.
pub fn moved_to<'m>(edits: &'m CallEdits<'_>) -> impl Iterator<Item = Cow<'m, str>> {
    let links = edits
        .session
        .events
        .iter()
        .filter(|event| event.is(Kind::SpanLink));
    let (file, call) = (
        &edits.file,
        edits.events.first().and_then(|event| event.text("call_id")),
    );
    links
        .filter(move |link| link.text("call_id") == call || link.text("call_id").is_none())
        .filter(move |link| link.text("from_file").map(in_project).as_ref() == Some(file))
        .filter_map(|link| link.text("to_file").map(in_project))
}

/// True if no other call of the turn can have changed the file.
pub fn is_alone(case: &Case<'_>, real: &RealEdit, edits: &CallEdits<'_>) -> bool {
    edits.file == real.file
        && real.call_ids.iter().all(|id| {
            edits.call_chain.contains(&id.as_str())
                || case.call(id).is_some_and(|call| !touches(call, &real.file))
        })
}

/// True if a call may change a file: its arguments name the file.
pub fn touches(call: &Call, file: &str) -> bool {
    call.args.to_string().contains(file)
}

/// True if the call is one of an edit tool on this file.
pub fn is_edit_of(case: &Case<'_>, call: &Call, file: &str) -> bool {
    let args = call.args.to_string();
    let kind = case
        .tool_call(&call.id)
        .and_then(|event| event.text("kind"));
    if args.contains("*** Begin Patch") {
        let named = |directive: &str| args.contains(&format!("{directive}{file}"));
        return ["Update File: ", "Add File: ", "Delete File: ", "Move to: "]
            .into_iter()
            .any(named);
    }
    matches!(kind, Some("edit" | "write" | "delete")) && args.contains(file)
}

/// The text of the calls that has the hash: a string of the arguments, or one side of a patch.
pub fn text_of(calls: &[&Call], hash: &str) -> Option<String> {
    let texts = |call: &&Call| -> Vec<String> {
        let strings = spans::strings(&call.args).into_iter().map(str::to_owned);
        strings.chain(spans::sides_of_patches(&call.args)).collect()
    };
    calls
        .iter()
        .flat_map(texts)
        .find(|text| Hash::of_text(text).to_string() == hash)
}
