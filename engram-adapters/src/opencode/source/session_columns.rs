//! The row of a session in a database, as the session's own record of an export.

use std::collections::BTreeMap;

use rusqlite::Row;
use rusqlite::types::ValueRef;

use super::export_writer::push_string;

/// The columns of a row, by name.
pub(super) fn columns<'r>(row: &'r Row<'_>) -> BTreeMap<String, ValueRef<'r>> {
    let names: Vec<String> = row.as_ref().column_names().map(str::to_owned).collect();
    names
        .into_iter()
        .enumerate()
        .filter_map(|(n, name)| Some((name, row.get_ref(n).ok()?)))
        .collect()
}

/// How the session's record represents a column.
enum ColumnForm {
    /// As a string or a number.
    Value,
    /// As the JSON that the column contains.
    Json,
}

/// A field of a session's record: path, column, form.
type InfoField = (&'static [&'static str], &'static str, ColumnForm);

/// The fields of a session's record in the order of the export of 1.x.
const FIELDS: &[InfoField] = &[
    (&["id"], "id", ColumnForm::Value),
    (&["slug"], "slug", ColumnForm::Value),
    (&["projectID"], "project_id", ColumnForm::Value),
    (&["workspaceID"], "workspace_id", ColumnForm::Value),
    (&["directory"], "directory", ColumnForm::Value),
    (&["path"], "path", ColumnForm::Value),
    (&["parentID"], "parent_id", ColumnForm::Value),
    (&["title"], "title", ColumnForm::Value),
    (&["agent"], "agent", ColumnForm::Value),
    (&["model"], "model", ColumnForm::Json),
    (&["version"], "version", ColumnForm::Value),
    (
        &["summary", "additions"],
        "summary_additions",
        ColumnForm::Value,
    ),
    (
        &["summary", "deletions"],
        "summary_deletions",
        ColumnForm::Value,
    ),
    (&["summary", "files"], "summary_files", ColumnForm::Value),
    (&["summary", "diffs"], "summary_diffs", ColumnForm::Json),
    (&["cost"], "cost", ColumnForm::Value),
    (&["tokens", "input"], "tokens_input", ColumnForm::Value),
    (&["tokens", "output"], "tokens_output", ColumnForm::Value),
    (
        &["tokens", "reasoning"],
        "tokens_reasoning",
        ColumnForm::Value,
    ),
    (
        &["tokens", "cache", "read"],
        "tokens_cache_read",
        ColumnForm::Value,
    ),
    (
        &["tokens", "cache", "write"],
        "tokens_cache_write",
        ColumnForm::Value,
    ),
    (&["share", "url"], "share_url", ColumnForm::Value),
    (&["metadata"], "metadata", ColumnForm::Json),
    (&["revert"], "revert", ColumnForm::Json),
    (&["permission"], "permission", ColumnForm::Json),
    (&["time", "created"], "time_created", ColumnForm::Value),
    (&["time", "updated"], "time_updated", ColumnForm::Value),
    (
        &["time", "compacting"],
        "time_compacting",
        ColumnForm::Value,
    ),
    (&["time", "archived"], "time_archived", ColumnForm::Value),
];

/// The fields of a session's record in the order of the export of 2.x, which leaves out other columns.
const STEP_FIELDS: &[InfoField] = &[
    (&["id"], "id", ColumnForm::Value),
    (&["parentID"], "parent_id", ColumnForm::Value),
    (&["fork", "sessionID"], "fork_session_id", ColumnForm::Value),
    (&["fork", "boundary"], "fork_boundary", ColumnForm::Json),
    (&["projectID"], "project_id", ColumnForm::Value),
    (&["agent"], "agent", ColumnForm::Value),
    (&["model"], "model", ColumnForm::Json),
    (&["cost"], "cost", ColumnForm::Value),
    (&["tokens", "input"], "tokens_input", ColumnForm::Value),
    (&["tokens", "output"], "tokens_output", ColumnForm::Value),
    (
        &["tokens", "reasoning"],
        "tokens_reasoning",
        ColumnForm::Value,
    ),
    (
        &["tokens", "cache", "read"],
        "tokens_cache_read",
        ColumnForm::Value,
    ),
    (
        &["tokens", "cache", "write"],
        "tokens_cache_write",
        ColumnForm::Value,
    ),
    (&["outcome"], "idle_outcome", ColumnForm::Value),
    (&["time", "created"], "time_created", ColumnForm::Value),
    (&["time", "updated"], "time_updated", ColumnForm::Value),
    (&["time", "idle"], "time_idle", ColumnForm::Value),
    (&["time", "viewed"], "time_viewed", ColumnForm::Value),
    (&["time", "archived"], "time_archived", ColumnForm::Value),
    (&["title"], "title", ColumnForm::Value),
    (&["location", "directory"], "directory", ColumnForm::Value),
    (
        &["location", "workspaceID"],
        "workspace_id",
        ColumnForm::Value,
    ),
    (&["subpath"], "path", ColumnForm::Value),
    (&["metadata"], "metadata", ColumnForm::Json),
    (&["revert"], "revert", ColumnForm::Json),
];

/// Columns that neither export has: what a fork was made from in betas of 2.x, and when the harness runs the session.
const LEFT_OUT: &[&str] = &[
    "fork_message_id",
    "fork_seq",
    "time_suspended",
    "resume_attempts",
];

/// The session's own record, in the form of the export of 1.x.
pub(super) fn info(columns: &BTreeMap<String, ValueRef<'_>>) -> String {
    record(columns, FIELDS)
}

/// The session's own record, in the form of the export of 2.x.
pub(super) fn step_info(columns: &BTreeMap<String, ValueRef<'_>>) -> String {
    record(columns, STEP_FIELDS)
}

fn record(columns: &BTreeMap<String, ValueRef<'_>>, fields: &[InfoField]) -> String {
    let mut out = String::from("{");
    let mut open_objects: &[&str] = &[];
    for (path, column, form) in fields {
        let Some(value) = columns.get(*column).and_then(|value| json(*value, form)) else {
            continue;
        };
        let Some((name, objects)) = path.split_last() else {
            continue;
        };
        let shared = open_objects
            .iter()
            .zip(objects)
            .take_while(|(one, other)| one == other)
            .count();
        out.push_str(&"}".repeat(open_objects.len() - shared));
        for object in &objects[shared..] {
            push_key(&mut out, object);
            out.push('{');
        }
        push_key(&mut out, name);
        out.push_str(&value);
        open_objects = objects;
    }
    out.push_str(&"}".repeat(open_objects.len()));
    // A column of a later version is reported as a member that no table names.
    for (column, value) in columns.iter().filter(|(column, _)| !is_known(column)) {
        if let Some(value) = json(*value, &ColumnForm::Json) {
            push_key(&mut out, column);
            out.push_str(&value);
        }
    }
    out.push('}');
    out
}

fn is_known(column: &str) -> bool {
    [FIELDS, STEP_FIELDS]
        .into_iter()
        .flatten()
        .any(|(_, known, _)| *known == column)
        || LEFT_OUT.contains(&column)
}

fn push_key(out: &mut String, key: &str) {
    if !out.ends_with('{') {
        out.push(',');
    }
    push_string(out, key);
    out.push(':');
}

/// A column's value as JSON. None for NULL, which the export omits.
fn json(value: ValueRef<'_>, form: &ColumnForm) -> Option<String> {
    let mut out = String::new();
    match (value, form) {
        (ValueRef::Null, _) => return None,
        (ValueRef::Integer(number), _) => out = number.to_string(),
        // JavaScript writes a whole number without a fraction.
        (ValueRef::Real(number), _) if number.fract() == 0.0 && number.abs() < 1e15 => {
            out = format!("{number:.0}")
        }
        (ValueRef::Real(number), _) => out = serde_json::to_string(&number).ok()?,
        (ValueRef::Text(text) | ValueRef::Blob(text), form) => {
            let text = String::from_utf8_lossy(text);
            match form {
                ColumnForm::Json
                    if serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok() =>
                {
                    out.push_str(&text)
                }
                _ => push_string(&mut out, &text),
            }
        }
    }
    Some(out)
}
