//! The structure of logs: which members the records of each type have, with which JSON types. Says what a new version has added.

use std::collections::BTreeSet;
use std::path::Path;

use engram_adapters::{Registry, conformance};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Fault, RecorderError};

/// The most entries of a shape: a log whose keys are data would grow without end.
const MAX_ENTRIES: usize = 100_000;
/// Keys up to this length, of letters, are names; others are data.
const NAME_BYTES: usize = 48;
/// Names of members whose keys are data: paths, ids.
const KEYED_BY_DATA: &[&str] = &[
    "annotations",
    "env",
    "fileReads",
    "mcp_servers",
    "modelUsage",
    "trackedFileBackups",
];
/// Names of members that belong to a tool and not to the log: what it takes, and the schema of that.
const OF_TOOLS: &[&str] = &[
    "args",
    "arguments",
    "input",
    "input_schema",
    "parameters",
    "properties",
    "structuredContent",
];

/// One fact: the type of a record, a pointer below it with `*` for places in lists and keys that are data, and a JSON type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Entry(pub String, pub String, pub String);

/// All facts of some logs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Shape(pub BTreeSet<Entry>);

impl Shape {
    /// The shape of one recording: of all forms in which it has its sessions.
    pub fn of_recording(harness: &str, recording: &Path) -> Shape {
        let mut shape = Shape::default();
        let (sessions, _) = conformance::sessions(&Registry::builtin(), harness, recording);
        for (session, _) in sessions {
            shape.add_text(&session.bytes);
        }
        shape
    }

    /// The union over all recordings `<directory>/<scenario>/`.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn of_version(harness: &str, directory: &Path) -> Result<Shape, RecorderError> {
        let mut shape = Shape::default();
        for entry in
            std::fs::read_dir(directory).map_err(|error| RecorderError::io(directory, &error))?
        {
            let path = entry
                .map_err(|error| RecorderError::io(directory, &error))?
                .path();
            if path.join("session").is_dir() {
                shape.join(Shape::of_recording(harness, &path));
            }
        }
        Ok(shape)
    }

    /// The union over all recordings of a harness in a tree.
    ///
    /// # Errors
    /// If the tree has none of it.
    pub fn of_harness(harness: &str, tree: &Path) -> Result<Shape, RecorderError> {
        let directory = tree.join(harness);
        let mut shape = Shape::default();
        for entry in std::fs::read_dir(&directory)
            .map_err(|error| RecorderError::io(&directory, &error))?
            .flatten()
        {
            if entry.path().is_dir() {
                shape.join(Shape::of_version(harness, &entry.path())?);
            }
        }
        if shape.0.is_empty() {
            return Err(RecorderError::new(
                Fault::Misconfigured,
                format!("{} has no recordings", directory.display()),
            ));
        }
        Ok(shape)
    }

    /// Adds another shape.
    pub fn join(&mut self, other: Shape) {
        self.0.extend(other.0);
    }

    /// The facts that another shape lacks.
    pub fn beyond<'s>(&'s self, other: &'s Shape) -> Vec<&'s Entry> {
        self.0.difference(&other.0).collect()
    }

    /// A hash of the facts.
    pub fn hash(&self) -> String {
        let lines: String = self
            .0
            .iter()
            .map(|Entry(kind, pointer, json)| format!("{kind}\t{pointer}\t{json}\n"))
            .collect();
        blake3::hash(lines.as_bytes()).to_hex().as_str()[..16].to_owned()
    }

    /// Adds JSON lines, or one document.
    pub fn add_text(&mut self, bytes: &[u8]) {
        if let Ok(document) = serde_json::from_slice::<Value>(bytes) {
            return self.add(&document);
        }
        for line in bytes.split(|byte| *byte == b'\n') {
            if let Ok(record) = serde_json::from_slice::<Value>(line) {
                self.add(&record);
            }
        }
    }

    /// Adds one record.
    pub fn add(&mut self, record: &Value) {
        let kind = kind(record);
        self.below(&kind, String::new(), record);
    }

    fn below(&mut self, kind: &str, pointer: String, value: &Value) {
        if self.0.len() >= MAX_ENTRIES {
            return;
        }
        self.0.insert(Entry(
            kind.to_owned(),
            pointer.clone(),
            json_type(value).to_owned(),
        ));
        match value {
            Value::Array(items) => items
                .iter()
                .for_each(|item| self.below(kind, format!("{pointer}/*{}", typed(item)), item)),
            Value::Object(members) => {
                let own = pointer.rsplit('/').next().unwrap_or_default();
                if OF_TOOLS.contains(&own) {
                    return;
                }
                let is_data = KEYED_BY_DATA.contains(&own);
                for (name, value) in members {
                    let name = if is_data || !is_name(name) { "*" } else { name };
                    self.below(kind, format!("{pointer}/{name}"), value);
                }
            }
            _ => {}
        }
    }
}

/// The type of a record: its `type`, and what tells apart records of that type.
fn kind(record: &Value) -> String {
    let words = [
        "/type",
        "/subtype",
        "/payload/type",
        "/payload/item/type",
        "/role",
    ];
    let found = words
        .iter()
        .filter_map(|pointer| record.pointer(pointer).and_then(Value::as_str))
        .filter(|word| is_name(word));
    let kind = found.collect::<Vec<_>>().join("/");
    if kind.is_empty() {
        "-".to_owned()
    } else {
        kind
    }
}

/// The type that an item of a list says.
fn typed(item: &Value) -> String {
    item.get("type")
        .and_then(Value::as_str)
        .filter(|kind| is_name(kind))
        .map(|kind| format!("<{kind}>"))
        .unwrap_or_default()
}

fn is_name(key: &str) -> bool {
    let is_long_id = key.len() >= 12 && key.bytes().filter(u8::is_ascii_digit).count() > 2;
    key.len() <= NAME_BYTES
        && !is_long_id
        && !key.is_empty()
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-$".contains(&byte))
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Shape {
        let mut shape = Shape::default();
        shape.add_text(text.as_bytes());
        shape
    }

    #[test]
    fn renamed_member_is_beyond_and_data_is_not() {
        let old = shape(
            "{\"type\":\"user\",\"cwd\":\"/a\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}}\n",
        );
        let other = shape(
            "{\"type\":\"user\",\"cwd\":\"/b\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"y\"}]}}\n",
        );
        assert_eq!((old.beyond(&other).len(), old.hash()), (0, other.hash()));
        let new = shape(
            "{\"type\":\"user\",\"cwd2\":\"/b\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"y\",\"deep\":{\"er\":1}}]}}\n",
        );
        let beyond: Vec<&str> = new
            .beyond(&old)
            .iter()
            .map(|entry| entry.1.as_str())
            .collect();
        assert_eq!(
            beyond,
            [
                "/cwd2",
                "/message/content/*<text>/deep",
                "/message/content/*<text>/deep/er"
            ]
        );
    }

    #[test]
    fn what_a_tool_takes_is_no_fact_of_the_log() {
        let one =
            shape("{\"type\":\"call\",\"input\":{\"a\":1},\"mcp_servers\":{\"x\":{\"on\":true}}}");
        let two = shape(
            "{\"type\":\"call\",\"input\":{\"b\":{\"c\":1}},\"mcp_servers\":{\"y\":{\"on\":false}}}",
        );
        assert_eq!(one, two);
        assert!(
            one.0.iter().any(|entry| entry.1 == "/mcp_servers/*/on"),
            "{one:?}"
        );
    }

    #[test]
    fn keys_that_are_data_are_one_place() {
        let one = shape("{\"files\":{\"/a/b.txt\":1,\"c.py\":2},\"ids\":{\"0123456789abcdef\":1}}");
        let two = shape("{\"files\":{\"/z\":1},\"ids\":{\"fedcba9876543210\":1}}");
        assert_eq!(one, two);
    }
}
