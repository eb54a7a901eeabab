//! The record types, marks, and rules of a member table.

use std::fmt::Write;

use engram_core::descriptor::Omission;
use engram_core::members::{MemberTable, RecordShape, TableContext};

/// The beginning of the code.
const HEAD: &str = "use engram_core::descriptor::OmissionRule;\n";

/// The code of a table.
pub fn code(table: &MemberTable) -> String {
    let mut out = String::new();
    if table
        .records()
        .iter()
        .any(|record| record.context.is_some())
    {
        out.push_str(CONTEXT_TYPE);
    }
    let mut groups: Vec<&str> = table
        .records()
        .iter()
        .flat_map(|record| record.groups.iter())
        .map(|group| &**group)
        .collect();
    groups.sort_unstable();
    groups.dedup();
    groups
        .into_iter()
        .for_each(|group| push_kinds(&mut out, group, table));
    push_marks(&mut out, table);
    push_rules(&mut out, table);
    let outcome = if out.contains("Outcome::") {
        "use engram_core::ledger::Outcome;\n"
    } else {
        ""
    };
    format!("{HEAD}{outcome}{out}")
}

/// The record types of one group, as an `enum`.
fn push_kinds(out: &mut String, group: &str, table: &MemberTable) {
    let kinds: Vec<Kind<'_>> = kinds(group, table);
    let (prefix, name) = (prefix(&kinds), format!("{}Kind", camel_case(group)));
    let _ = write!(
        out,
        "\n/// The record types `in {group}`.\n#[derive(Debug, Clone, Copy, PartialEq, Eq)]\npub(super) enum {name} {{\n"
    );
    push_list(
        out,
        kinds
            .iter()
            .filter(|kind| kind.data.is_none())
            .map(|kind| kind.variant(prefix)),
    );
    for (variant, doc) in [(CONTEXT, CONTEXT_DOC), (OMITTED, OMITTED_DOC)] {
        if kinds.iter().any(|kind| kind.is_data(variant)) {
            let _ = writeln!(out, "    /// {doc}\n    {variant},");
        }
    }
    let of_name = if prefix.is_empty() {
        "of this name".to_owned()
    } else {
        format!("`{prefix}` and this name")
    };
    let _ = write!(
        out,
        "}}\n\nimpl {name} {{\n    /// The type {of_name}.\n    pub(super) fn named(name: &str) -> Option<{name}> {{\n"
    );
    out.push_str("        Some(match name {\n");
    for kind in &kinds {
        let short = &kind.name[prefix.len()..];
        let pattern = match short.strip_suffix('*') {
            Some(beginning) => format!("name if name.starts_with({beginning:?})"),
            None => format!("{short:?}"),
        };
        let value = kind.data.clone().unwrap_or_else(|| kind.variant(prefix));
        let _ = writeln!(out, "            {pattern} => {name}::{value},");
    }
    out.push_str(
        "            _ => return None,\n        })\n    }\n\n    /// The name of the type.\n",
    );
    out.push_str("    pub(super) const fn name(self) -> &'static str {\n        match self {\n");
    for kind in kinds.iter().filter(|kind| kind.data.is_none()) {
        let _ = writeln!(
            out,
            "            {name}::{} => {:?},",
            kind.variant(prefix),
            kind.name
        );
    }
    for (variant, value) in [
        (CONTEXT, "Context(name, _) => name"),
        (OMITTED, "Omitted(outcome) => outcome.record()"),
    ] {
        if kinds.iter().any(|kind| kind.is_data(variant)) {
            let _ = writeln!(out, "            {name}::{value},");
        }
    }
    out.push_str("        }\n    }\n}\n");
}

/// Names of variants, as many on a line as there is room for.
fn push_list(out: &mut String, names: impl Iterator<Item = String>) {
    let mut line = String::new();
    for name in names {
        if line.len() + name.len() > 130 {
            let _ = writeln!(out, "   {line}");
            line.clear();
        }
        let _ = write!(line, " {name},");
    }
    if !line.is_empty() {
        let _ = writeln!(out, "   {line}");
    }
}

/// The variant for types that are only data.
const CONTEXT: &str = "Context(&'static str, Context)";
const CONTEXT_DOC: &str = "A type that is only data: its name, and its event.";
/// The variant for types whose records are left out.
const OMITTED: &str = "Omitted(Outcome)";
const OMITTED_DOC: &str = "A type whose records give no event, and what becomes of them.";

/// The type of what [`CONTEXT`] has.
const CONTEXT_TYPE: &str = "
/// The event of a record that is only data: a `meta context` with its name. Values are JSON pointers from the root of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    Name,
    Text(&'static str),
    File { name: &'static str, text: &'static str },
    Hash(&'static str),
}
";

/// One record type of a group.
struct Kind<'t> {
    name: &'t str,
    /// The variant with all that is to be known, if the type has no handler.
    data: Option<String>,
}

impl Kind<'_> {
    fn variant(&self, prefix: &str) -> String {
        camel_case(&self.name[prefix.len()..])
    }

    /// True if the type is data of this variant.
    fn is_data(&self, variant: &str) -> bool {
        let name = |variant: &str| variant.split('(').next().map(str::to_owned);
        self.data
            .as_deref()
            .is_some_and(|data| name(data) == name(variant))
    }
}

/// The types of a group. Those with `*` come last, since they are for what no other names.
fn kinds<'t>(group: &str, table: &'t MemberTable) -> Vec<Kind<'t>> {
    let records = table
        .records()
        .iter()
        .filter(|record| record.groups.iter().any(|of| of == group));
    let mut kinds: Vec<_> = records
        .map(|record| Kind {
            name: &record.name,
            data: context(record).or_else(|| omitted(record, table)),
        })
        .collect();
    kinds.sort_by_key(|kind| kind.name.ends_with('*'));
    kinds
}

/// The outcome of the records of a type that gives no event, by the rule for exactly this type.
fn omitted(record: &RecordShape, table: &MemberTable) -> Option<String> {
    let rule = table.rule_of(record).filter(|_| record.feeds.is_empty())?;
    let omission = table
        .omissions()
        .iter()
        .find(|omission| omission.rule == rule && omission.record == record.name);
    let outcome = match omission.map(|omission| omission.omission) {
        Some(Omission::Duplicate | Omission::Piece) => "Duplicate",
        Some(Omission::Bookkeeping) => "Bookkeeping",
        _ => panic!(
            "the record `{}` gives nothing, and no `omission` line `{rule}` is for it",
            record.name
        ),
    };
    Some(format!(
        "Omitted(Outcome::{outcome} {{ record: {:?}, rule: {rule:?} }})",
        record.name
    ))
}

/// The event of a record that is only data.
fn context(record: &RecordShape) -> Option<String> {
    let context = match record.context.as_ref()? {
        TableContext::Name => "Name".to_owned(),
        TableContext::Text(value) => format!("Text({value:?})"),
        TableContext::File { name, text } => format!("File {{ name: {name:?}, text: {text:?} }}"),
        TableContext::Hash(value) => format!("Hash({value:?})"),
    };
    Some(format!("Context({:?}, Context::{context})", record.name))
}

/// The parts, up to a `/`, with which all names of a group begin.
fn prefix<'t>(kinds: &[Kind<'t>]) -> &'t str {
    let first = kinds[0].name;
    let is_common = |prefix: &&str| kinds.iter().all(|kind| kind.name.starts_with(prefix));
    first
        .rmatch_indices('/')
        .map(|(at, _)| &first[..=at])
        .find(is_common)
        .unwrap_or_default()
}

fn push_marks(out: &mut String, table: &MemberTable) {
    out.push_str("\n/// The marks by which a log is recognised.\npub(super) mod mark {\n");
    for mark in table.marks() {
        let _ = write!(
            out,
            "    /// {}\n    pub(in super::super) const {}: &str = {:?};\n",
            mark.meaning, mark.name, mark.mark
        );
    }
    let names: Vec<&str> = table.marks().iter().map(|mark| &*mark.name).collect();
    let _ = write!(
        out,
        "\n    /// Every mark.\n    pub(in super::super) const ALL: &[&str] = &[{}];\n}}\n",
        names.join(", ")
    );
}

fn push_rules(out: &mut String, table: &MemberTable) {
    out.push_str("\n/// The rules that leave out whole records.\npub(super) mod rule {\n");
    let mut known: Vec<&str> = Vec::new();
    for rule in table
        .omissions()
        .iter()
        .filter(|rule| rule.pointer.is_none())
    {
        if !known.contains(&&*rule.rule) {
            known.push(&rule.rule);
            let name = rule.rule.replace('.', "_").to_uppercase();
            let _ = writeln!(
                out,
                "    pub(in super::super) const {name}: &str = {:?};",
                rule.rule
            );
        }
    }
    out.push_str(
        "}\n\n/// Every rule, with its reason.\npub(super) const RULES: &[OmissionRule] = &[\n",
    );
    for rule in table.omissions() {
        let pointer = rule
            .pointer
            .as_ref()
            .map(|pointer| format!("{pointer:?}, "))
            .unwrap_or_default();
        let kind = format!("{:?}", rule.omission).to_lowercase();
        let _ = writeln!(
            out,
            "    OmissionRule::{kind}({:?}, {:?}, {pointer}{:?}),",
            rule.rule, rule.record, rule.reason
        );
    }
    out.push_str("];\n");
}

/// `message/user` as `MessageUser`. The empty name is `Unnamed`.
pub fn camel_case(name: &str) -> String {
    let words = name
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    Some(words.map(capital).collect::<String>())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "Unnamed".to_owned())
}
