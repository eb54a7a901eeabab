//! Documentation tests: generated tables are current, and examples and test vectors are correct.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use engram_core::anchor::{SCHEME, anchors};
use engram_core::check::Rule;
use engram_core::error::ErrorCode;
use engram_core::event::Kind;
use engram_core::event_schema::{ENVELOPE_HEAD, ENVELOPE_TAIL, EVENTS, Field, FieldType, Presence};
use engram_core::json_schema::json_schema;

/// The beginning of the line before a generated part of a document. The name of the part and ` -->` follow.
const BEGIN: &str = "<!-- generated: ";
/// The line after it.
const END: &str = "<!-- end generated -->";

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../docs")
        .join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(path(name))
        .unwrap()
        .replace("\r\n", "\n")
}

/// Checks that the generated parts of a document are current. `ENGRAM_BLESS=1` rewrites them.
fn compare(name: &str) {
    let text = read(name);
    let mut expected = String::new();
    let mut rest = text.as_str();
    while let Some((before, from)) = rest.split_once(BEGIN) {
        let (part, after) = from.split_once(" -->").unwrap();
        let (_, remaining) = after.split_once(END).unwrap();
        let _ = write!(
            expected,
            "{before}{BEGIN}{part} -->\n\n{}\n{END}",
            generated(part)
        );
        rest = remaining;
    }
    expected += rest;
    if std::env::var_os("ENGRAM_BLESS").is_some_and(|value| value == "1") {
        fs::write(path(name), expected).unwrap();
    } else {
        assert!(
            text == expected,
            "docs/{name} is out of date: ENGRAM_BLESS=1 rewrites it"
        );
    }
}

fn generated(part: &str) -> String {
    match part {
        "envelope" => table(
            ["key", "value"],
            ENVELOPE_HEAD
                .iter()
                .chain(ENVELOPE_TAIL)
                .map(|field| [name(field), describe(&field.field_type)]),
        ),
        "events" => table(
            ["event", "meaning", "fields"],
            EVENTS.iter().map(|event| {
                let kind = event.label.map_or_else(
                    || format!("`{}`", event.kind.as_str()),
                    |label| format!("`meta` `{label}`"),
                );
                let own = event.fields.iter().filter(|field| field.key != "label");
                let fields: Vec<String> = own
                    .map(|field| format!("{}: {}", name(field), describe(&field.field_type)))
                    .collect();
                [kind, event.meaning.to_owned(), fields.join("<br>")]
            }),
        ),
        "rules" => table(
            ["rule", "meaning"],
            Rule::ALL
                .iter()
                .map(|rule| [format!("`{rule}`"), rule.description().to_owned()]),
        ),
        "errors" => table(
            ["code", "what happened, and what to do"],
            ErrorCode::ALL
                .iter()
                .map(|code| [format!("`{code}`"), code.explain_strict()]),
        ),
        other => panic!("nothing generates `{other}`"),
    }
}

/// `ENGRAM_BLESS=1` rewrites the file.
#[test]
fn the_schema_file_is_current() {
    let name = "tape-v1.schema.json";
    if std::env::var_os("ENGRAM_BLESS").is_some_and(|value| value == "1") {
        fs::write(path(name), json_schema()).unwrap();
    } else {
        assert!(
            read(name) == json_schema(),
            "docs/{name} is out of date: ENGRAM_BLESS=1 rewrites it"
        );
    }
}

fn table<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let mut out = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(N));
    for row in rows {
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
    out
}

fn name(field: &Field) -> String {
    format!(
        "`{}`{}",
        field.key,
        if field.presence == Presence::Stated {
            "?"
        } else {
            ""
        }
    )
}

fn describe(field_type: &FieldType) -> String {
    match field_type {
        FieldType::Text => "text".to_owned(),
        FieldType::Name => "name".to_owned(),
        FieldType::Word(words) => words
            .iter()
            .map(|word| format!("`{word}`"))
            .collect::<Vec<_>>()
            .join("/"),
        FieldType::Scheme(name) => format!("`{name}`"),
        FieldType::Count => "count".to_owned(),
        FieldType::Integer => "integer".to_owned(),
        FieldType::Number => "number".to_owned(),
        FieldType::Bool => "`true`/`false`".to_owned(),
        FieldType::Only(only) => format!("`{only}`"),
        FieldType::Time => "time (RFC 3339, UTC, `Z`)".to_owned(),
        FieldType::Hash => "hash".to_owned(),
        FieldType::Range => "range".to_owned(),
        FieldType::Anchors => "list of anchors".to_owned(),
        FieldType::Pointer => "JSON pointer".to_owned(),
        FieldType::Json => "any JSON value of the source".to_owned(),
        FieldType::Object([meta, rest @ ..])
            if meta.key == Kind::Meta.as_str() && rest.len() + 1 == Kind::ALL.len() =>
        {
            format!("{{each kind: {}}}", describe(&meta.field_type))
        }
        FieldType::Object(fields) => {
            format!(
                "{{{}}}",
                fields
                    .iter()
                    .map(|field| format!("{}: {}", name(field), describe(&field.field_type)))
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
        FieldType::List(of, _) => format!("list of {}", describe(of)),
    }
}

#[test]
fn tape_format_is_current() {
    compare("tape-format.md");
}

#[test]
fn errors_are_current_and_the_example_is_real() {
    compare("errors.md");
    let example = r#"{"code":"malformed_record","adapter":"toy","harness":"toy","version":"1.0.0","line":2,"pointer":"/text","expected":"a string","found":"7"}"#;
    let log = format!("{}\n{{\"type\":\"say\",\"text\":7}}\n", crate::toy::HEADER);
    let options = engram_core::pipeline::Options {
        policy: engram_core::policy::Policy::Strict,
        ..Default::default()
    };
    let error = crate::chunks::tape(log.as_bytes(), 7, &options).unwrap_err();
    assert_eq!(serde_json::to_string(&error).unwrap(), example);
    assert!(read("errors.md").contains(example));
}

#[test]
fn test_vectors_of_anchors_are_correct() {
    let document = read("anchors.md");
    assert!(document.contains(SCHEME));
    let vectors: Vec<(&str, &str)> = document
        .lines()
        .filter(|line| line.starts_with('"'))
        .filter_map(|line| line.rsplit_once(" -> "))
        .collect();
    assert_eq!(vectors.len(), 11);
    for (text, expected) in vectors {
        let text: String = serde_json::from_str(text).unwrap();
        let found: Vec<String> = anchors(&text)
            .iter()
            .map(|anchor| format!("{anchor:016x}"))
            .collect();
        let found = if found.is_empty() {
            "none".to_owned()
        } else {
            found.join(" ")
        };
        assert_eq!(found, expected, "{text:?}");
    }
}
