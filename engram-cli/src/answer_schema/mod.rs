//! The JSON Schema of the answers that commands print with `--json`, generated from one table ([`table`]).
//!
//! It allows members that a later version may add. `tests/cli/answer_schema.rs` validates real answers without that: there a member that the
//! table lacks is a fault.

mod form;
mod members;
pub mod table;

use serde_json::{Map, Value, json};

use self::form::{Answer, Is, Member, When};
use self::table::ANSWERS;

/// The `$id` of the schema. It is a name and no address.
const SCHEMA_ID: &str = "urn:engram:answers:1";

/// The commands whose answers are in the schema.
pub fn commands() -> Vec<&'static str> {
    let mut commands: Vec<&str> = ANSWERS.iter().map(|answer| answer.command).collect();
    commands.sort_unstable();
    commands.dedup();
    commands
}

/// The JSON Schema (draft 2020-12) of one line of an answer: of this command, or of any. It is indented, with a final line end.
///
/// A row of `query` has the members that were asked for, so it is only in the schema of `query`: beside it, any object would be valid.
pub fn json_schema(command: Option<&str>) -> String {
    let is_meant = |answer: &&Answer| command.is_none_or(|command| answer.command == command);
    let answers: Vec<&Answer> = ANSWERS.iter().filter(is_meant).collect();
    let lines = answers
        .iter()
        .filter(|answer| command.is_some() || !matches!(answer.is, Is::Row))
        .map(|answer| json!({"$ref": format!("#/$defs/{}", key(answer))}));
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": command.map_or(SCHEMA_ID.to_owned(), |command| format!("{SCHEMA_ID}:{command}")),
        "title": "A line of an answer that `engram` prints with --json",
        "description": "Each command prints lines of its own kinds: `$defs` has them as `<command>.<line>`. `engram schema --answers COMMAND` has those of one command alone, and the rows of `query`, whose members are what was asked for, are valid only there. Later releases may add members. A reader skips what it does not know.",
        "anyOf": lines.collect::<Vec<_>>(),
        "$defs": answers.iter().map(|answer| (key(answer), line(answer))).collect::<Map<_, _>>(),
    });
    format!("{schema:#}\n")
}

fn key(answer: &Answer) -> String {
    format!("{}.{}", answer.command, answer.name)
}

fn line(answer: &Answer) -> Value {
    let mut schema = value(&answer.is);
    schema["description"] = json!(answer.about);
    schema
}

fn object(members: &[Member]) -> Value {
    let property = |member: &Member| {
        let mut schema = value(&member.is);
        schema["description"] = json!(member.about);
        (member.name.to_owned(), schema)
    };
    let properties: Map<String, Value> = members.iter().map(property).collect();
    let required: Vec<&str> = members
        .iter()
        .filter(|member| member.when == When::Always)
        .map(|member| member.name)
        .collect();
    json!({"type": "object", "properties": properties, "required": required})
}

fn value(is: &Is) -> Value {
    match is {
        Is::Text => json!({"type": "string"}),
        Is::Word(words) => json!({"enum": words}),
        Is::Time => {
            json!({"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$"})
        }
        Is::Count => json!({"type": "integer", "minimum": 0}),
        Is::Number => json!({"type": "number"}),
        Is::Bool => json!({"type": "boolean"}),
        Is::True => json!({"const": true}),
        Is::Lines => {
            json!({"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2, "maxItems": 2})
        }
        Is::Row => json!({"type": "object"}),
        Is::Event => json!({"type": "object", "required": ["seq", "k"]}),
        Is::Object(members) => object(members),
        Is::List(of) => json!({"type": "array", "items": value(of)}),
        Is::Map(of) => json!({"type": "object", "additionalProperties": value(of)}),
        Is::OrNull(of) => json!({"anyOf": [value(of), {"type": "null"}]}),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::CommandFactory;

    use super::*;
    use crate::args::CommandLine;

    /// Rewritten with `ENGRAM_BLESS=1`.
    #[test]
    fn the_document_is_generated() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/answers.schema.json");
        if std::env::var_os("ENGRAM_BLESS").is_some() {
            std::fs::write(&path, json_schema(None)).unwrap();
        }
        let document = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            document,
            json_schema(None),
            "docs/answers.schema.json is stale: ENGRAM_BLESS=1 cargo test rewrites it"
        );
    }

    #[test]
    fn every_command_that_answers_in_json_is_in_the_table() {
        let (mut missing, mut command) = (Vec::new(), CommandLine::command());
        command.build();
        let mut open: Vec<(String, clap::Command)> = command
            .get_subcommands()
            .map(|command| (command.get_name().to_owned(), command.clone()))
            .collect();
        while let Some((name, command)) = open.pop() {
            let has_json = command
                .get_arguments()
                .any(|argument| argument.get_long() == Some("json"));
            let is_known = ANSWERS.iter().any(|answer| answer.command == name);
            if has_json && !is_known {
                missing.push(name.clone());
            }
            for inner in command.get_subcommands() {
                open.push((format!("{name}-{}", inner.get_name()), inner.clone()));
            }
        }
        assert_eq!(missing, [""; 0]);
    }
}
