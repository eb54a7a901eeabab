//! The code that the build script makes from member tables changes with them, and the compiled tables are those of the texts.

use engram_core::members::{MemberTable, readers};

use crate::tree::registered;

#[path = "../../build/format.rs"]
mod format;
#[path = "../../build/readers.rs"]
mod reader_code;

#[test]
fn compiled_tables_are_those_of_the_texts() {
    let mut count = 0;
    for registration in registered().adapters() {
        let Some(source) = registration.descriptor().members else {
            continue;
        };
        let text = MemberTable::parse(&source.text()).unwrap();
        let compiled = source.table().unwrap();
        assert!(compiled.shapes().len() > 1);
        let of = |table: &MemberTable| {
            let parts = (table.rules(), table.rows(), table.shapes());
            format!("{parts:?} {:?} {:?}", table.records(), table.documents())
        };
        assert_eq!(of(compiled), of(&text), "{}", registration.id());
        count += 1;
    }
    assert!(count >= 6, "each adapter has a table: {count}");
}

#[test]
fn code_changes_with_the_table() {
    let code = |text: &str| format::code(&MemberTable::parse(text).unwrap());
    let table = "mark A a.b  A log.\nomission duplicate x.y a/b  twice\nomission bookkeeping z a/off  nothing\n\
                 record a/c* in line feeds msg.in\n  t string tape\nrecord a/b in line feeds msg.in\n  t string tape\nrecord a/off in line omit z\nrecord a/note in line context text /n feeds meta\n  n string tape\n";
    let known = code(table);
    for part in [
        "enum LineKind {\n    B, C,\n",
        "\"b\" => LineKind::B",
        "name if name.starts_with(\"c\") => LineKind::C",
        "LineKind::B => \"a/b\"",
        "\"off\" => LineKind::Omitted(Outcome::Bookkeeping { record: \"a/off\", rule: \"z\" })",
        "\"note\" => LineKind::Context(\"a/note\", Context::Text(\"/n\"))",
        "const A: &str = \"a.b\"",
        "const X_Y",
        "duplicate(\"x.y\", \"a/b\", \"twice\")",
    ] {
        assert!(known.contains(part), "{part}: {known}");
    }
    for (from, to) in [
        ("a/b in", "a/d in"),
        ("in line", "in item"),
        ("a.b", "a.c"),
        ("twice", "again"),
        ("x.y", "x.z"),
        ("a/", "b/"),
        ("context text /n", "context name"),
    ] {
        assert_ne!(known, code(&table.replace(from, to)), "{from}");
    }
}

#[test]
#[should_panic(expected = "no `omission` line `z` is for it")]
fn a_record_that_gives_nothing_needs_an_omission() {
    format::code(&MemberTable::parse("rule z  nothing\nrecord a in line omit z\n").unwrap());
}

#[test]
fn types_have_names_of_rust() {
    for (name, expected) in [
        ("message/user", "MessageUser"),
        ("tool_use", "ToolUse"),
        ("lastUpdated", "LastUpdated"),
        ("", "Unnamed"),
    ] {
        assert_eq!(format::camel_case(name), expected);
    }
}

#[test]
fn code_changes_with_the_table_and_the_readers() {
    let table = "record a feeds msg.in\n  t? string tape\n  n string|number tape\n";
    let text = "reader Line  A line.\n  of a\n  t  text  What is said.\n  n  number\n";
    let code = |table: &str, text: &str| reader_code::code(&readers(table, text).unwrap());
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
