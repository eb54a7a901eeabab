//! The JSON Schema of events, generated from [`crate::event_schema`].

use serde_json::{Map, Value, json};

use crate::event::Kind;
use crate::event_schema::{
    ENVELOPE_HEAD, ENVELOPE_TAIL, EVENTS, Empty, EventSchema, Field, FieldType, Presence,
};

/// The `$id` of the schema. It names the format of the tape and is not an address.
pub const SCHEMA_ID: &str = "urn:engram:tape:1";

/// The JSON Schema (draft 2020-12) of one line of a tape, indented, with a final line end. It forbids nothing that a later version of Engram
/// may add to tapes of version 1: labels, members, and names of schemes. [`crate::check`] is strict about its own version, and checks what a
/// schema cannot express: rules about several lines, the order of keys, and the canonical form of strings.
pub fn json_schema() -> String {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "One event of an Engram tape, version 1",
        "description": "Later releases may add labels and members. A reader skips what it does not know.",
        "oneOf": EVENTS.iter().map(event).chain([later_label()]).collect::<Vec<_>>(),
    });
    format!("{schema:#}\n")
}

fn event(event: &EventSchema) -> Value {
    let fields = ENVELOPE_HEAD
        .iter()
        .chain(event.fields)
        .chain(ENVELOPE_TAIL);
    let mut schema = object(fields);
    // Kind and label identify the event.
    schema["properties"]["k"] = json!({ "const": event.kind.as_str() });
    if let Some(label) = event.label {
        schema["properties"]["label"] = json!({ "const": label });
    }
    schema["title"] = json!(event.label.unwrap_or(event.kind.as_str()));
    schema["description"] = json!(event.meaning);
    schema
}

/// A `meta` event with a label that is not in the table.
fn later_label() -> Value {
    let labels: Vec<&str> = EVENTS.iter().filter_map(|event| event.label).collect();
    let mut schema = object(ENVELOPE_HEAD.iter().chain(ENVELOPE_TAIL));
    schema["properties"]["k"] = json!({ "const": Kind::Meta.as_str() });
    schema["properties"]["label"] =
        json!({ "type": "string", "minLength": 1, "not": { "enum": labels } });
    let required = ENVELOPE_HEAD.iter().map(|field| field.key);
    schema["required"] = json!(required.chain(["label"]).collect::<Vec<_>>());
    schema["title"] = json!("meta");
    schema["description"] = json!("an event with a label of a later release");
    schema
}

fn object<'f>(fields: impl Iterator<Item = &'f Field> + Clone) -> Value {
    let required: Vec<&str> = fields
        .clone()
        .filter(|field| field.presence == Presence::Always)
        .map(|field| field.key)
        .collect();
    let properties: Map<String, Value> = fields
        .map(|field| (field.key.to_owned(), value(&field.field_type)))
        .collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

fn value(field_type: &FieldType) -> Value {
    match field_type {
        FieldType::Text => json!({ "type": "string" }),
        FieldType::Name => json!({ "type": "string", "minLength": 1 }),
        FieldType::Word(words) => json!({ "enum": words }),
        FieldType::Scheme(_) => json!({ "type": "string", "minLength": 1 }),
        FieldType::Count => json!({ "type": "integer", "minimum": 0 }),
        FieldType::Integer => json!({ "type": "integer" }),
        FieldType::Number => json!({ "type": "number" }),
        FieldType::Bool => json!({ "type": "boolean" }),
        FieldType::Only(only) => json!({ "const": only }),
        FieldType::Time => {
            json!({ "type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$" })
        }
        FieldType::Hash => json!({ "type": "string", "pattern": "^blake3:[0-9a-f]{64}$" }),
        FieldType::Range => {
            json!({ "type": "array", "items": { "type": "integer", "minimum": 0 }, "minItems": 2, "maxItems": 2 })
        }
        FieldType::Anchors => {
            json!({ "type": "array", "items": { "type": "string", "pattern": "^[0-9a-f]{16}$" }, "minItems": 1, "uniqueItems": true })
        }
        FieldType::Pointer => json!({ "type": "string", "pattern": "^(/([^~/]|~[01])*)+$" }),
        FieldType::Json => json!(true),
        FieldType::Object(fields) => object(fields.iter()),
        FieldType::List(of, empty) => {
            json!({ "type": "array", "items": value(of), "minItems": usize::from(*empty == Empty::Omitted) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_in_the_schema() {
        let schema: Value = serde_json::from_str(&json_schema()).unwrap();
        let titles: Vec<&str> = schema["oneOf"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| event["title"].as_str().unwrap())
            .collect();
        let expected: Vec<&str> = EVENTS
            .iter()
            .map(|event| event.label.unwrap_or(event.kind.as_str()))
            .chain(["meta"])
            .collect();
        assert_eq!(titles, expected);
        let read = &schema["oneOf"][titles
            .iter()
            .position(|title| *title == "code.read")
            .unwrap()];
        assert_eq!(read["required"], json!(["seq", "t", "k", "source", "file"]));
        assert_eq!(read["properties"]["k"], json!({ "const": "code.read" }));
    }
}
