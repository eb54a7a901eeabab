//! The limit of names: ids, versions, times, paths and words of a fixed set. Adapters copy and compare them freely.

use crate::emit::Fault;
use crate::limits::LimitExceeded;

use super::json_type::JsonType;
use super::node::Node;

/// The longest name in bytes, as it is written. No path of a file system and no id of a harness has a hundredth of it.
const MAX_NAME_BYTES: usize = 1 << 20;

/// The members whose values are names, besides those with one of the [`ENDS`].
const NAMES: &[&[u8]] = &[
    b"agent",
    b"attributionAgent",
    b"branch",
    b"cwd",
    b"edit_mode",
    b"effort",
    b"file",
    b"finish",
    b"gitBranch",
    b"hook_event_name",
    b"kind",
    b"lastUpdated",
    b"mime",
    b"mode",
    b"name",
    b"namespace",
    b"operation",
    b"parent",
    b"permissionMode",
    b"projectHash",
    b"role",
    b"root",
    b"service_tier",
    b"startTime",
    b"status",
    b"stop_reason",
    b"subtype",
    b"time",
    b"tool",
    b"toolName",
    b"tool_name",
    b"trigger",
    b"type",
    b"variant",
    b"workdir",
    b"worktree",
];

/// How the members end whose values are ids, versions, models, paths and times.
const ENDS: &[&[u8]] = &[
    b"id",
    b"Id",
    b"ID",
    b"version",
    b"Version",
    b"model",
    b"Model",
    b"path",
    b"Path",
    b"directory",
    b"Directory",
    b"timestamp",
    b"AtMs",
    b"_at",
];

/// Members whose contents are data: what a model or a tool has written.
const DATA: &[&[u8]] = &[
    b"args",
    b"arguments",
    b"functionCall",
    b"functionResponse",
    b"input",
    b"metadata",
    b"output",
    b"parameters",
    b"response",
    b"result",
    b"structuredContent",
    b"structured_content",
    b"toolUseResult",
    b"tool_input",
    b"tool_output",
    b"tool_use_result",
];

/// The names among data: what tools of the harnesses call the files and directories that they work on.
const NAMES_IN_DATA: &[&[u8]] = &[
    b"absPath",
    b"absolute_path",
    b"filePath",
    b"file_path",
    b"movePath",
    b"notebook_path",
    b"outputPath",
    b"relativePath",
    b"workdir",
    b"workingDirectory",
    b"working_directory",
];

/// Lists of names.
const LISTS: &[&[u8]] = &[b"directories", b"files", b"workspace_roots"];

/// Checks the names among these values.
///
/// # Errors
/// [`Fault::Limit`] if one is too long.
#[inline]
pub(super) fn check(text: &str, nodes: &[Node]) -> Result<(), Fault> {
    let bytes = nodes.first().map_or(0, |node| node.end.saturating_sub(node.start));
    if bytes as usize > MAX_NAME_BYTES && has_long_name(text.as_bytes(), nodes) { Err(too_long()) } else { Ok(()) }
}

#[cold]
fn too_long() -> Fault {
    LimitExceeded { limit: "name_bytes", allowed: MAX_NAME_BYTES as u64 }.into()
}

#[cold]
fn has_long_name(text: &[u8], nodes: &[Node]) -> bool {
    let is_long = |node: &Node| node.is(JsonType::String) && (node.end - node.start) as usize > MAX_NAME_BYTES;
    let name_of = |node: &Node| text.get(node.name_in(text)).unwrap_or_default();
    let mut list: &[u8] = &[];
    let mut data_end = 0;
    nodes.iter().enumerate().any(|(at, node)| {
        let is_element = node.name == node.start;
        if !is_element && !is_long(node) {
            list = if node.is(JsonType::Array) { name_of(node) } else { &[] };
            if DATA.contains(&name_of(node)) {
                data_end = data_end.max(at + node.size());
            }
            return false;
        }
        let is_data = at < data_end;
        is_long(node)
            && match (is_element, is_data) {
                (true, is_data) => !is_data && LISTS.contains(&list),
                (false, true) => NAMES_IN_DATA.contains(&name_of(node)),
                (false, false) => is_name(name_of(node)),
            }
    })
}

/// True for the name of a member whose value is a name.
fn is_name(member: &[u8]) -> bool {
    NAMES.contains(&member) || ENDS.iter().any(|end| member.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{StructuralIndex, parse};

    #[test]
    fn names_are_limited_and_texts_are_not() {
        let long = "x".repeat(MAX_NAME_BYTES);
        let is_refused = |json: String| {
            let mut index = StructuralIndex::default();
            matches!(parse(&json, &mut index), Err(Fault::Limit(LimitExceeded { limit: "name_bytes", .. })))
        };
        for name in ["type", "cwd", "sessionId", "call_id", "messageID"] {
            assert!(is_refused(format!(r#"{{"a":[1,{{"{name}":"{long}"}}]}}"#)), "{name}");
            assert!(!is_refused(format!(r#"{{"a":[1,{{"{name}":"{}"}}]}}"#, &long[2..])), "{name}");
        }
        assert!(is_refused(format!(r#"{{"workspace_roots":["a","{long}"]}}"#)));
        assert!(is_refused(format!(r#"{{"input":{{"a":[],"file_path":"{long}"}}}}"#)));
        assert!(is_refused(format!(r#"{{"input":{{"name":"{long}"}},"model":"{long}"}}"#)));
        for name in ["file", "name", "path", "model", "id"] {
            assert!(!is_refused(format!(r#"{{"message":{{"input":{{"a":{{"{name}":"{long}"}}}}}},"b":1}}"#)), "{name}");
        }
        for json in [format!(r#"{{"text":"{long}"}}"#), format!(r#"["{long}"]"#), format!(r#"{{"files":[{{"text":"{long}"}}]}}"#)] {
            assert!(!is_refused(json));
        }
    }
}
