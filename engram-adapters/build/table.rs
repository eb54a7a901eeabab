//! The compiled member table, as constants: nothing is compiled when the program starts.

use std::fmt::Write;

use engram_core::members::compiled::{
    Choice, Content, Member, Name, NameIndex, Selector, SelectorKey, Shape, Tail,
};
use engram_core::members::{Fate, KnownName, MemberTable, RecordShape, Row, TableContext};

/// The beginning of the code.
const HEAD: &str = "\
use std::borrow::Cow::Borrowed;

use engram_core::event::Kind;
use engram_core::members::compiled::{
    Choice, Content, Member, Name, NameIndex, RowId, Selector, SelectorKey, Shape, ShapeId, Tail,
};
use engram_core::members::{
    Fate, FateKind, JsonTypes, KnownName, MemberSource, MemberTable, Need, RecordShape, Row, TableContext, TableRule,
    ValueForms,
};
";

/// The code of a table. `files` has its texts, as paths from the directory of the package, and `declared` that of the declared types.
pub fn code(table: &MemberTable, files: &[String], declared: Option<&str>) -> String {
    let mut out = String::from(HEAD);
    push_source(&mut out, files);
    let declared = declared.map_or("None", |file| {
        let _ = writeln!(
            out,
            "\nstatic DECLARED: MemberSource = MemberSource::new(&[{}]);",
            included(file)
        );
        "Some(&DECLARED)"
    });
    let rules = table.rules().iter();
    let rules = rules.map(|rule| {
        let (name, reason) = (text(&rule.name), text(&rule.reason));
        format!("TableRule {{ name: {name}, reason: {reason} }}")
    });
    push_list(&mut out, "RULES", "TableRule", rules);
    push_list(&mut out, "ROWS", "Row", table.rows().iter().map(row));
    let mut shapes = Vec::new();
    for (at, shape) in table.shapes().iter().enumerate() {
        shapes.push(push_shape(&mut out, at, shape));
    }
    push_list(&mut out, "SHAPES", "Shape", shapes.into_iter());
    push_records(&mut out, "RECORDS", table.records());
    push_records(&mut out, "DOCUMENTS", table.documents());
    let by_name = index(table.by_name());
    let _ = write!(
        out,
        "\nstatic TABLE: MemberTable = MemberTable::of(&RULES, &ROWS, &SHAPES, &RECORDS, &DOCUMENTS, {by_name}, {declared});\n"
    );
    out
}

/// The texts of the table with the table.
fn push_source(out: &mut String, files: &[String]) {
    out.push_str("\n/// The member table: every member of every record.\n");
    out.push_str("pub(super) static MEMBERS: MemberSource = MemberSource::compiled(&[\n");
    for file in files {
        let _ = writeln!(out, "    {},", included(file));
    }
    out.push_str("], &TABLE);\n");
}

/// The text of a file.
fn included(file: &str) -> String {
    let path = format!("/{file}");
    format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?}))")
}

/// A constant list, one value a line.
fn push_list(
    out: &mut String,
    name: &str,
    of: &str,
    values: impl ExactSizeIterator<Item = String>,
) {
    let _ = writeln!(out, "\nstatic {name}: [{of}; {}] = [", values.len());
    for value in values {
        let _ = writeln!(out, "    {value},");
    }
    out.push_str("];\n");
}

/// The members and the cases of a shape as lists of their own; returns the shape.
fn push_shape(out: &mut String, at: usize, shape: &Shape) -> String {
    let members = format!("MEMBERS_{at}");
    push_list(out, &members, "Member", shape.members.iter().map(member));
    let selector = shape.selector.as_ref().map(|selector| {
        let cases = format!("CASES_{at}");
        let each = |(value, choice): &(Name, Choice)| {
            format!("({}, {})", text(value), self::choice(*choice))
        };
        push_list(
            out,
            &cases,
            "(Name, Choice)",
            selector.cases.iter().map(each),
        );
        self::selector(selector, &cases)
    });
    let (by_name, rest) = (index(&shape.by_name), shape.rest);
    let selector = option(selector);
    format!(
        "Shape {{ members: Borrowed(&{members}), by_name: {by_name}, rest: {rest:?}, selector: {selector} }}"
    )
}

fn push_records(out: &mut String, list: &str, records: &[RecordShape]) {
    for (at, record) in records.iter().enumerate() {
        let groups = record.groups.iter().map(text);
        push_list(out, &format!("{list}_GROUPS_{at}"), "Name", groups);
    }
    let record = |(at, record): (usize, &RecordShape)| {
        let feeds: Vec<String> = record
            .feeds
            .iter()
            .map(|kind| format!("Kind::{kind:?}"))
            .collect();
        format!(
            "RecordShape {{ name: {}, groups: Borrowed(&{list}_GROUPS_{at}), feeds: Borrowed(&[{}]), context: {}, row: {:?} }}",
            text(&record.name),
            feeds.join(", "),
            option(record.context.as_ref().map(context)),
            record.row,
        )
    };
    push_list(
        out,
        list,
        "RecordShape",
        records.iter().enumerate().map(record),
    );
}

fn row(row: &Row) -> String {
    let (types, forms) = (row.types, row.forms);
    let (fate, content) = (option(row.fate.as_ref().map(fate)), content(row.content));
    format!("Row {{ types: {types:?}, forms: {forms:?}, fate: {fate}, content: {content} }}")
}

fn fate(fate: &Fate) -> String {
    format!(
        "Fate {{ kind: FateKind::{:?}, name: {} }}",
        fate.kind,
        text(&fate.name)
    )
}

fn content(content: Content) -> String {
    format!("Content::{content:?}")
}

fn member(member: &Member) -> String {
    let Member {
        name,
        types,
        forms,
        need,
        row,
        repeats,
    } = member;
    let name = text(name);
    format!(
        "Member {{ name: {name}, types: {types:?}, forms: {forms:?}, need: Need::{need:?}, row: {row:?}, repeats: {repeats} }}"
    )
}

fn selector(selector: &Selector, cases: &str) -> String {
    let key = match &selector.key {
        SelectorKey::Adapter(key) => format!("SelectorKey::Adapter({})", text(key)),
        SelectorKey::Member {
            levels,
            name,
            known,
        } => {
            let (name, known) = (text(name), known_name(known));
            format!("SelectorKey::Member {{ levels: {levels}, name: {name}, known: {known} }}")
        }
    };
    let (by_value, otherwise) = (index(&selector.by_value), choice(selector.otherwise));
    format!(
        "Selector {{ key: {key}, cases: Borrowed(&{cases}), by_value: {by_value}, otherwise: {otherwise} }}"
    )
}

fn choice(choice: Choice) -> String {
    format!("Choice::{choice:?}")
}

fn known_name(name: &KnownName) -> String {
    let KnownName { head, mask, tail } = name;
    let tail = match tail {
        Tail::Nothing => "Tail::Nothing".to_owned(),
        Tail::Chunk(bytes, at) => format!("Tail::Chunk({bytes:?}, {at})"),
        Tail::Long(name) => format!("Tail::Long({})", text(name)),
    };
    format!("KnownName {{ head: {head:?}, mask: {mask:?}, tail: {tail} }}")
}

fn index(index: &NameIndex) -> String {
    let NameIndex { first, next } = index;
    format!("NameIndex {{ first: {first:?}, next: Borrowed(&{next:?}) }}")
}

fn context(context: &TableContext) -> String {
    match context {
        TableContext::Name => "TableContext::Name".to_owned(),
        TableContext::Text(value) => format!("TableContext::Text({})", text(value)),
        TableContext::Hash(value) => format!("TableContext::Hash({})", text(value)),
        TableContext::File { name, text: of } => {
            format!(
                "TableContext::File {{ name: {}, text: {} }}",
                text(name),
                text(of)
            )
        }
    }
}

fn text(text: &Name) -> String {
    format!("Borrowed({text:?})")
}

fn option(value: Option<String>) -> String {
    value.map_or_else(|| "None".to_owned(), |value| format!("Some({value})"))
}
