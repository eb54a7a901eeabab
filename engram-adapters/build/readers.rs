//! The views of the objects that an adapter reads, from `readers.members` and the member table.

use std::fmt::Write;

use engram_core::members::{JsonTypes, Reader};

/// The code of some readers.
pub fn code(readers: &[Reader]) -> String {
    let mut out = String::from("use crate::shared::view::view;\n");
    for reader in readers {
        out.push_str("\nview! {\n");
        push_meaning(&mut out, "    ", &reader.meaning);
        let _ = writeln!(out, "    {} {{", reader.name);
        for field in &reader.fields {
            push_meaning(&mut out, "        ", &field.meaning);
            let _ = writeln!(
                out,
                "        {}: {:?} {},",
                field.name,
                field.member,
                json_type(field.types)
            );
        }
        out.push_str("    }\n}\n");
    }
    out
}

fn push_meaning(out: &mut String, indent: &str, meaning: &str) {
    if !meaning.is_empty() {
        let _ = writeln!(out, "{indent}/// {meaning}");
    }
}

/// The name of the `JsonType` of a view for values of these types; `null` counts as absent there.
fn json_type(types: JsonTypes) -> &'static str {
    let one = [
        (JsonTypes::STRING, "String"),
        (JsonTypes::BOOL, "Bool"),
        (JsonTypes::NATURAL, "Number"),
        (JsonTypes::OBJECT, "Object"),
        (JsonTypes::ARRAY, "Array"),
    ];
    let is_one = |of: JsonTypes| types.or(JsonTypes::NULL).or(of) == of.or(JsonTypes::NULL);
    one.into_iter()
        .find(|(of, _)| is_one(*of))
        .map_or("Any", |(_, name)| name)
}
