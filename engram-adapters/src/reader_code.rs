//! The views of the objects that an adapter reads. They are kept as `readers.rs` beside the adapter's `mod.rs`, and follow from
//! `members/readers.members` and the member table. The test here generates them again and compares; `ENGRAM_BLESS=1` writes them.

use std::fmt::Write;
use std::fs;

use engram_core::members::{JsonTypes, Reader, readers};

use crate::format_code::{READERS, follows, formats, table_text};

/// The code of some readers.
fn code(readers: &[Reader]) -> String {
    let mut out = String::from(
        "//! The views of the objects that the adapter reads. Generated from `members/*.members` (`ENGRAM_BLESS=1` with the unit tests writes\n\
         //! it). Do not edit it.\n\nuse crate::shared::view::view;\n",
    );
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

#[test]
fn the_views_of_each_adapter_are_generated_from_its_table() {
    let adapters: Vec<_> = formats()
        .filter(|(_, tables)| tables.join(READERS).is_file())
        .collect();
    assert!(adapters.len() > 1, "{adapters:?}");
    for (directory, tables) in adapters {
        let text = fs::read_to_string(tables.join(READERS)).unwrap();
        let readers = readers(&table_text(&tables), &text)
            .unwrap_or_else(|error| panic!("{}/{READERS}: {error}", tables.display()));
        follows(&directory.join("readers.rs"), &code(&readers));
    }
}

#[test]
fn code_changes_with_the_table_and_the_readers() {
    let table = "record a feeds msg.in\n  t? string tape\n  n string|number tape\n";
    let text = "reader Line  A line.\n  of a\n  t  text  What is said.\n  n  number\n";
    let code = |table: &str, text: &str| code(&readers(table, text).unwrap());
    let known = code(table, text);
    assert!(known.ends_with(
        "view! {\n    /// A line.\n    Line {\n        /// What is said.\n        text: \"t\" String,\n        number: \"n\" Any,\n    }\n}\n"
    ));
    for (from, to) in [
        ("Line", "Row"),
        ("A line", "A row"),
        ("text", "said"),
        ("What", "All that"),
        ("number", "number number"),
    ] {
        assert_ne!(known, code(table, &text.replace(from, to)), "{from}");
    }
    assert_ne!(known, code(&table.replace("t? string", "t? bool"), text));
    assert_ne!(known, code(&table.replace("string|number", "count"), text));
}
