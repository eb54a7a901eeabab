//! Which tool an op of a scenario becomes: the first candidate of the table that the harness offers, with the arguments that its schema has.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::bounded;
use crate::error::{Fault, RecorderError};
use crate::scenario::{MAX_BYTES, Op};

/// A tool that a request offers to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Offered {
    /// Its name.
    pub name: String,
    /// The name of the group that it is in, if it is in one.
    pub namespace: Option<String>,
    /// How it is called.
    pub form: Form,
    /// The properties of its arguments; empty if the request says none.
    pub properties: Map<String, Value>,
    /// The names of those that a call must have.
    pub required: Vec<String>,
}

/// How a tool is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// With arguments that are a JSON object.
    Function,
    /// With a text.
    Custom,
    /// As the API's own shell.
    LocalShell,
    /// As the API's own search for tools.
    ToolSearch,
}

/// A call that the model makes.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// The group that it is in.
    pub namespace: Option<String>,
    /// How it is called.
    pub form: Form,
    /// The arguments: an object, or a text for [`Form::Custom`].
    pub args: Value,
}

/// A candidate of the table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Candidate {
    /// The name of the tool, also without its group.
    tool: String,
    /// How it must be called; absent: any way.
    #[serde(default)]
    form: Option<Form>,
    /// The arguments, with `{field}` for the op's fields. A text that is one placeholder stands for the field's value; a member without
    /// a value is left out.
    args: Value,
    /// True if members that the schema does not name are kept.
    #[serde(default)]
    keep: bool,
}

/// The table of one harness: `scenarios/ops/<harness>.json`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct OpTable(BTreeMap<String, Vec<Candidate>>);

/// Where the harness works: what paths in calls begin with.
#[derive(Debug, Clone)]
pub struct Place {
    /// The project.
    pub project: String,
    /// The home.
    pub home: String,
}

impl OpTable {
    /// Reads a table.
    ///
    /// # Errors
    /// `bad_scenario` if it is wrong.
    pub fn read(path: &Path) -> Result<OpTable, RecorderError> {
        let text =
            bounded::read_text(path, MAX_BYTES).map_err(|error| RecorderError::io(path, &error))?;
        serde_json::from_str(&text).map_err(|error| {
            RecorderError::new(Fault::BadScenario, format!("{}: {error}", path.display()))
        })
    }

    /// The call that an op becomes; `None` if no tool is offered that can do it. `known` has facts from results: ids that a harness gave.
    pub fn call(
        &self,
        op: &Op,
        offered: &[Offered],
        place: &Place,
        known: &BTreeMap<String, Value>,
    ) -> Option<Call> {
        let fields = fields_of(op, place, known);
        if op.name == "raw" {
            let args = fill(op.fields.get("args").unwrap_or(&Value::Null), &fields)
                .unwrap_or_else(|| json!({}));
            let tool = op.text("tool").to_owned();
            let found = offered.iter().find(|offer| offer.name == tool);
            let form = found.map_or(Form::Function, |offer| offer.form);
            return (found.is_some() || op.fields.contains_key("unknown")).then(|| Call {
                tool,
                namespace: found.and_then(|offer| offer.namespace.clone()),
                form,
                args,
            });
        }
        self.0.get(&op.name)?.iter().find_map(|candidate| {
            let name = fill(&Value::String(candidate.tool.clone()), &fields)?;
            let offer = offered
                .iter()
                .find(|offer| is_named(offer, name.as_str().unwrap_or_default()))?;
            let fits = candidate.form.is_none_or(|form| form == offer.form);
            fits.then(|| candidate.call(offer, &fields)).flatten()
        })
    }
}

/// True if the tool has this name, alone or with what a harness puts before the name of a server's tool.
fn is_named(offer: &Offered, name: &str) -> bool {
    offer.name == name
        || name
            .strip_prefix('*')
            .is_some_and(|end| offer.name.ends_with(end))
}

impl Candidate {
    fn call(&self, offer: &Offered, fields: &BTreeMap<String, Value>) -> Option<Call> {
        let mut args = fill(&self.args, fields)?;
        if let Value::Object(members) = &mut args
            && !self.keep
            && !offer.properties.is_empty()
        {
            members.retain(|name, _| offer.properties.contains_key(name));
        }
        Some(Call {
            tool: offer.name.clone(),
            namespace: offer.namespace.clone(),
            form: offer.form,
            args,
        })
    }
}

/// The values that placeholders stand for.
fn fields_of(op: &Op, place: &Place, known: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let mut fields: BTreeMap<String, Value> = known.clone();
    fields.insert("project".to_owned(), json!(place.project));
    fields.insert("home".to_owned(), json!(place.home));
    let placed = |text: &str| {
        text.replace("{project}", &place.project)
            .replace("{home}", &place.home)
    };
    for (name, value) in &op.fields {
        let value = match value {
            Value::String(text) => json!(placed(text)),
            other => fill(other, &fields.clone()).unwrap_or(Value::Null),
        };
        fields.insert(name.clone(), value);
    }
    if let Some(file) = op.fields.get("file").and_then(Value::as_str) {
        let absolute = if file.starts_with(['/', '{']) {
            placed(file)
        } else {
            format!("{}/{file}", place.project)
        };
        fields.insert("file".to_owned(), json!(absolute));
        fields.insert("relative".to_owned(), json!(file));
    }
    if let (Some(from), Some(count)) = (
        op.fields.get("from").and_then(Value::as_u64),
        op.fields.get("count").and_then(Value::as_u64),
    ) {
        fields.insert("last".to_owned(), json!(from + count - 1));
        fields.insert("skip".to_owned(), json!(from - 1));
    }
    if let Some(patch) = patch_of(op) {
        fields
            .entry("patch".to_owned())
            .or_insert_with(|| json!(patch));
    }
    fields
}

/// The patch that does what an op on files does.
fn patch_of(op: &Op) -> Option<String> {
    let file = op.text("file");
    let lines = |sign: char, text: &str| {
        text.lines()
            .map(|line| format!("{sign}{line}\n"))
            .collect::<String>()
    };
    let body = match op.name.as_str() {
        "edit" => format!(
            "*** Update File: {file}\n@@\n{}{}",
            lines('-', op.text("old")),
            lines('+', op.text("new"))
        ),
        "write" => format!("*** Add File: {file}\n{}", lines('+', op.text("content"))),
        "delete" => format!("*** Delete File: {file}\n"),
        _ => return None,
    };
    Some(format!("*** Begin Patch\n{body}*** End Patch\n"))
}

/// Replaces placeholders. `None` if the value is one placeholder that has no value. In a longer text, `{field:json}` is the value as JSON.
pub(crate) fn fill(template: &Value, fields: &BTreeMap<String, Value>) -> Option<Value> {
    match template {
        Value::String(text) => {
            if let Some(name) = text
                .strip_prefix('{')
                .and_then(|rest| rest.strip_suffix('}'))
                && is_name(name)
            {
                return fields.get(name).cloned();
            }
            Some(Value::String(fill_text(text, fields)))
        }
        Value::Array(items) => items
            .iter()
            .map(|item| fill(item, fields))
            .collect::<Option<Vec<_>>>()
            .map(Value::Array),
        Value::Object(members) => Some(Value::Object(
            members
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), fill(value, fields)?)))
                .collect(),
        )),
        other => Some(other.clone()),
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

pub(crate) fn fill_text(text: &str, fields: &BTreeMap<String, Value>) -> String {
    let mut filled = text.to_owned();
    for (name, value) in fields {
        if filled.contains('{') {
            filled = filled.replace(&format!("{{{name}:json}}"), &value.to_string());
            if let Value::String(text) = value {
                filled = filled.replace(&format!("{{{name}}}"), text);
            }
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(name: &str, properties: Value) -> Offered {
        Offered {
            name: name.to_owned(),
            namespace: None,
            form: Form::Function,
            properties: properties.as_object().cloned().unwrap(),
            required: Vec::new(),
        }
    }

    fn table() -> OpTable {
        serde_json::from_value(json!({
            "read": [
                {"tool": "Read", "args": {"file_path": "{file}", "path": "{file}", "offset": "{from}"}},
                {"tool": "exec", "args": {"script": "cat({relative:json})"}}
            ],
            "edit": [{"tool": "apply_patch", "args": {"input": "{patch}"}}],
            "mcp": [{"tool": "*__{name}", "args": "{arguments}"}]
        }))
        .unwrap()
    }

    fn call(op: Value, offered: &[Offered]) -> Option<Call> {
        let place = Place {
            project: "/p".to_owned(),
            home: "/h".to_owned(),
        };
        table().call(
            &serde_json::from_value(op).unwrap(),
            offered,
            &place,
            &BTreeMap::new(),
        )
    }

    #[test]
    fn first_offered_candidate_is_called_with_what_its_schema_has() {
        let read = offer("Read", json!({"file_path": {}, "offset": {}}));
        assert_eq!(
            call(
                json!({"read": {"file": "a.py"}}),
                std::slice::from_ref(&read)
            )
            .unwrap()
            .args,
            json!({"file_path": "/p/a.py"})
        );
        let ranged = call(
            json!({"read": {"file": "a.py", "from": 3, "count": 2}}),
            &[read],
        )
        .unwrap();
        assert_eq!(ranged.args, json!({"file_path": "/p/a.py", "offset": 3}));
        let other = call(
            json!({"read": {"file": "a.py"}}),
            &[offer("exec", json!({}))],
        )
        .unwrap();
        assert_eq!(other.args, json!({"script": "cat(\"a.py\")"}));
        assert_eq!(call(json!({"read": {"file": "a.py"}}), &[]), None);
    }

    #[test]
    fn edit_becomes_a_patch_and_a_tool_of_a_server_is_found_by_its_end() {
        let patch = call(
            json!({"edit": {"file": "a", "old": "x", "new": "y\nz"}}),
            &[offer("apply_patch", json!({}))],
        )
        .unwrap();
        assert_eq!(
            patch.args["input"],
            "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n+z\n*** End Patch\n"
        );
        let echo = call(
            json!({"mcp": {"name": "echo", "arguments": {"text": "{project}"}}}),
            &[offer("mcp__s__echo", json!({}))],
        )
        .unwrap();
        assert_eq!(
            (echo.tool.as_str(), echo.args),
            ("mcp__s__echo", json!({"text": "/p"}))
        );
    }
}
