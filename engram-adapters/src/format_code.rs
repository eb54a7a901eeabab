//! The Rust code that follows from a member table: record types, marks, and rules. It is kept as `format.rs` beside the adapter's `mod.rs`.
//! The test here generates it again and compares; `ENGRAM_BLESS=1` writes it.

use std::fmt::Write;
use std::{env, fs};

use engram_core::members::{MemberTable, RecordShape};

/// The directories of the adapters whose code is generated, with the files of their tables.
const FORMATS: &[(&str, &[&str])] = &[("gemini", &["records", "tools", "rules"]), ("tool_intent", &["records", "rules"])];

/// The code of a table.
fn code(table: &MemberTable) -> String {
    let mut out = String::from(
        "//! The record types, marks and rules of the format. Generated from `members/*.members` (`ENGRAM_BLESS=1` with the unit tests writes\n\
         //! it). Do not edit it.\n\n#![allow(dead_code, reason = \"an adapter need not use each name of its format\")]\n\nuse engram_core::descriptor::OmissionRule;\n",
    );
    let mut groups: Vec<&String> = table.records().iter().flat_map(|record| &record.groups).collect();
    groups.sort_unstable();
    groups.dedup();
    groups.into_iter().for_each(|group| push_kinds(&mut out, group, table.records()));
    push_marks(&mut out, table);
    push_rules(&mut out, table);
    out
}

/// The record types of one group, as an `enum`.
fn push_kinds(out: &mut String, group: &str, records: &[RecordShape]) {
    let records: Vec<&RecordShape> = records.iter().filter(|record| record.groups.iter().any(|of| of == group)).collect();
    let kind = format!("{}Kind", camel_case(group));
    let _ = write!(out, "\n/// The record types `in {group}`.\n#[derive(Debug, Clone, Copy, PartialEq, Eq)]\npub(super) enum {kind} {{\n");
    for record in &records {
        let feeds: Vec<&str> = record.feeds.iter().map(|kind| kind.as_str()).collect();
        let feeds = if feeds.is_empty() { "nothing".to_owned() } else { format!("`{}`", feeds.join("`, `")) };
        let _ = write!(out, "    /// `{}`. Gives {feeds}.\n    {},\n", record.name, camel_case(&record.name));
    }
    let _ = write!(
        out,
        "}}\n\nimpl {kind} {{\n    /// The type of this name.\n    pub(super) fn named(name: &str) -> Option<{kind}> {{\n        Some(match name {{\n"
    );
    for record in &records {
        let _ = writeln!(out, "            {:?} => {kind}::{},", record.name, camel_case(&record.name));
    }
    out.push_str("            _ => return None,\n        })\n    }\n\n    /// The name of the type.\n    pub(super) const fn name(self) -> &'static str {\n        match self {\n");
    for record in &records {
        let _ = writeln!(out, "            {kind}::{} => {:?},", camel_case(&record.name), record.name);
    }
    out.push_str("        }\n    }\n}\n");
}

fn push_marks(out: &mut String, table: &MemberTable) {
    out.push_str("\n/// The marks by which a log is recognised.\npub(super) mod mark {\n");
    for mark in table.marks() {
        let _ = write!(out, "    /// {}\n    pub(in super::super) const {}: &str = {:?};\n", mark.meaning, mark.name, mark.mark);
    }
    let names: Vec<&str> = table.marks().iter().map(|mark| &*mark.name).collect();
    let _ = write!(out, "\n    /// Every mark.\n    pub(in super::super) const ALL: &[&str] = &[{}];\n}}\n", names.join(", "));
}

fn push_rules(out: &mut String, table: &MemberTable) {
    out.push_str("\n/// The rules that leave out whole records.\npub(super) mod rule {\n");
    let mut known: Vec<&str> = Vec::new();
    for rule in table.omissions().iter().filter(|rule| rule.pointer.is_none()) {
        if !known.contains(&&*rule.rule) {
            known.push(&rule.rule);
            let name = rule.rule.replace('.', "_").to_uppercase();
            let _ = write!(out, "    /// {}.\n    pub(in super::super) const {name}: &str = {:?};\n", rule.reason, rule.rule);
        }
    }
    out.push_str("}\n\n/// Every rule, with its reason.\npub(super) const RULES: &[OmissionRule] = &[\n");
    for rule in table.omissions() {
        let pointer = rule.pointer.as_ref().map(|pointer| format!("{pointer:?}, ")).unwrap_or_default();
        let kind = format!("{:?}", rule.omission).to_lowercase();
        let _ = writeln!(out, "    OmissionRule::{kind}({:?}, {:?}, {pointer}{:?}),", rule.rule, rule.record, rule.reason);
    }
    out.push_str("];\n");
}

/// `message/user` as `MessageUser`. The empty name is `Unnamed`.
fn camel_case(name: &str) -> String {
    let words = name.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    Some(words.map(capital).collect::<String>()).filter(|name| !name.is_empty()).unwrap_or_else(|| "Unnamed".to_owned())
}

#[test]
fn the_code_of_each_format_is_generated_from_its_table() {
    for (directory, files) in FORMATS {
        let directory = format!("{}/src/{directory}", env!("CARGO_MANIFEST_DIR"));
        let read = |name: &str| fs::read_to_string(format!("{directory}/{name}")).unwrap_or_default();
        let text: String = files.iter().map(|file| read(&format!("members/{file}.members"))).collect();
        let expected = code(&MemberTable::parse(&text).unwrap());
        if env::var_os("ENGRAM_BLESS").is_some_and(|value| value == "1") {
            fs::write(format!("{directory}/format.rs"), &expected).unwrap();
        }
        assert!(read("format.rs") == expected, "{directory}/format.rs does not follow from the table; ENGRAM_BLESS=1 writes it");
    }
}

#[test]
fn code_changes_with_the_table() {
    let code = |text: &str| code(&MemberTable::parse(text).unwrap());
    let table = "mark A a.b  A log.\nomission duplicate x.y a/b  twice\nrecord a/b in line feeds msg.in\n  t string tape\n";
    let known = code(table);
    for part in [
        "enum LineKind",
        "`a/b`. Gives `msg.in`.\n    AB,",
        "const A: &str = \"a.b\"",
        "const X_Y",
        "duplicate(\"x.y\", \"a/b\", \"twice\")",
    ] {
        assert!(known.contains(part), "{part}: {known}");
    }
    for (from, to) in
        [("a/b in", "a/c in"), ("in line", "in item"), ("msg.in", "msg.out"), ("a.b", "a.c"), ("twice", "again"), ("x.y", "x.z")]
    {
        assert_ne!(known, code(&table.replace(from, to)), "{from}");
    }
}

#[test]
fn types_have_names_of_rust() {
    for (name, expected) in [("message/user", "MessageUser"), ("tool_use", "ToolUse"), ("lastUpdated", "LastUpdated"), ("", "Unnamed")] {
        assert_eq!(camel_case(name), expected);
    }
}
