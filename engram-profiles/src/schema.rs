//! The JSON Schema of a profile, made from its types and [`crate::limits`].

use serde_json::{Value, json};

use crate::profile::Profile;

/// The `$id` of the schema. It names the form and is not an address.
pub const SCHEMA_ID: &str = "urn:engram:agent-adapter-profile:1";

/// The JSON Schema (draft 2020-12) of a profile, indented, with a final line end. [`Profile::parse`] also checks what a schema cannot
/// express: canonical bytes, the order of lists, placeholders and patterns.
pub fn json_schema() -> String {
    let mut schema = schemars::schema_for!(Profile).to_value();
    if let Value::Object(members) = &mut schema {
        members.insert("$id".to_owned(), json!(SCHEMA_ID));
        members.insert(
            "title".to_owned(),
            json!("AgentAdapterProfileV1: how one command-line agent is run"),
        );
    }
    format!("{schema:#}\n")
}
