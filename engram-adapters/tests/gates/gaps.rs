//! What it means that a fixture shows a gap: one row a gap, told from truth and tape alone.

use std::collections::BTreeSet;

use engram_core::event::Kind;
use serde_json::Value;

use crate::tape::{Event, events, tape_of};
use crate::tree::{Artifact, Case};

/// A case with its truth and tapes.
pub struct Shown {
    case: Case,
    truth: Value,
    tapes: Vec<Vec<Event>>,
}

impl Shown {
    /// A case and the tapes of its sessions. What does not convert is another gate's finding.
    pub fn of(case: &Case, artifacts: &'static [Artifact]) -> Shown {
        let tapes = artifacts.iter().filter_map(|artifact| tape_of(artifact).ok()).map(|tape| events(&tape.text));
        Shown { case: case.clone(), truth: case.truth(), tapes: tapes.collect() }
    }

    /// Its name.
    pub fn name(&self) -> String {
        self.case.name()
    }

    /// Its version.
    pub fn version(&self) -> &str {
        &self.case.version
    }

    /// True for a case of the fixture tree.
    pub fn is_fixture(&self) -> bool {
        self.case.is_fixture()
    }

    /// Its tapes.
    pub fn tapes(&self) -> impl Iterator<Item = &Vec<Event>> {
        self.tapes.iter()
    }

    fn events(&self, kind: Kind) -> impl Iterator<Item = &Event> {
        self.tapes.iter().flatten().filter(move |event| event.is(kind))
    }

    /// The real edits, each with the calls that it may come from.
    fn edits(&self) -> impl Iterator<Item = (&str, Vec<&Value>)> {
        let calls = move |edit: &Value| -> Vec<&Value> {
            let ids: BTreeSet<&str> = edit["call_ids"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            self.truth["calls"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|call| call["id"].as_str().is_some_and(|id| ids.contains(id)))
                .collect()
        };
        self.truth["edits"].as_array().into_iter().flatten().map(move |edit| (edit["file"].as_str().unwrap_or_default(), calls(edit)))
    }
}

/// One gap: its code, the kind that it is of, and how a case shows it.
struct Row {
    code: &'static str,
    kind: Kind,
    shows: fn(&Shown) -> bool,
}

const ROWS: &[Row] = &[Row { code: "edit.shell", kind: Kind::CodeEdit, shows: shell_edit_unseen }];

/// The codes of all rows.
pub fn known() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.code)
}

/// The kind that a gap is of.
pub fn kind(code: &str) -> Option<Kind> {
    ROWS.iter().find(|row| row.code == code).map(|row| row.kind)
}

/// The gaps that a case shows.
pub fn demonstrated(case: &Shown) -> BTreeSet<String> {
    ROWS.iter().filter(|row| (row.shows)(case)).map(|row| row.code.to_owned()).collect()
}

/// Tools that run commands, by their real names.
const SHELLS: &[&str] = &["Bash", "shell", "shell_command", "exec_command"];

/// A file changed by a shell command alone, and no `code.edit` on it by such a call.
fn shell_edit_unseen(case: &Shown) -> bool {
    case.edits().any(|(file, calls)| {
        let by_shell = |call: &&Value| {
            let is_shell = SHELLS.contains(&call["tool"].as_str().unwrap_or_default());
            is_shell && !call["args"].to_string().contains("*** Begin Patch")
        };
        let ids: BTreeSet<&str> = calls.iter().filter_map(|call| call["id"].as_str()).collect();
        let is_logged = case.events(Kind::ToolResult).any(|event| event.text("call_id").is_some_and(|id| ids.contains(id)));
        let is_seen = case.events(Kind::CodeEdit).any(|event| {
            event.text("call_id").is_some_and(|id| ids.contains(id)) && event.text("file").is_some_and(|said| said.ends_with(file))
        });
        !calls.is_empty() && calls.iter().all(by_shell) && is_logged && !is_seen
    })
}
