//! The declared types: each member that they have is known, in each of its types, and each record of theirs is converted under strict policy.

use std::collections::{BTreeMap, BTreeSet};

use engram_core::adapter::SideInfo;
use engram_core::audit::{audit, record_type};
use engram_core::descriptor::AdapterDescriptor;
use engram_core::members::compiled::{
    Choice, Content, RowId, Selector, SelectorKey, Shape, ShapeId,
};
use engram_core::members::{
    JsonTypes, MemberTable, Need, Path, RawNode, RecordShape, Row, Visitor, Walk,
};
use engram_core::policy::Policy;
use serde_json::{Map, Value, json};

use crate::report::{self, Tally};
use crate::tape::convert_bytes;
use crate::tree::{Artifact, files, fixtures, registered, root};

/// A string that is also a time.
const TEXT: &str = "2026-11-21T10:02:05.000Z";

/// A value, and the tool of the call that it is the result of.
#[derive(Clone)]
struct Sample<'t> {
    value: Value,
    tool: Option<&'t str>,
}

impl<'t> Sample<'t> {
    fn of(value: Value) -> Sample<'t> {
        Sample { value, tool: None }
    }

    fn with(self, outer: impl FnOnce(Value) -> Value) -> Sample<'t> {
        Sample {
            value: outer(self.value),
            tool: self.tool,
        }
    }
}

/// Makes values of all types and members that the records of one type have.
struct Samples<'t> {
    table: &'t MemberTable,
    /// The values that make the type of the record, by their pointers.
    types: BTreeMap<&'static str, &'t str>,
    /// The pointer of the current value.
    pointer: String,
    /// The shapes around it: a shape that contains itself is made once.
    open: Vec<ShapeId>,
}

impl<'t> Samples<'t> {
    /// The records of one type, as JSON.
    fn of_record(
        descriptor: &AdapterDescriptor,
        table: &'t MemberTable,
        record: &'t RecordShape,
    ) -> Vec<Sample<'t>> {
        let parts: Vec<&str> = record.name.split('/').collect();
        let pointers = descriptor.record_type.iter().enumerate();
        let part = |at: usize| *parts.get(at).unwrap_or(&parts[0]);
        let mut samples = Samples {
            table,
            types: pointers.map(|(at, pointer)| (*pointer, part(at))).collect(),
            pointer: String::new(),
            open: Vec::new(),
        };
        samples.of_row(samples.row(record.row))
    }

    /// Values of a row: of each of its types, and for each member in it, in each case, one object that has it.
    fn of_row(&mut self, row: &'t Row) -> Vec<Sample<'t>> {
        let has = |types: JsonTypes| row.types.meets(types);
        let mut values = Vec::new();
        for (types, value) in [
            (JsonTypes::STRING, json!(self.text())),
            (JsonTypes::BOOL, json!(true)),
            (JsonTypes::NATURAL, json!(1)),
            (JsonTypes::NULL, Value::Null),
        ] {
            values.extend(has(types).then_some(Sample::of(value)));
        }
        let (object, items) = match row.content {
            Content::Described { object, items } => (object, items),
            Content::Free | Content::Record => (None, None),
        };
        match object.filter(|_| has(JsonTypes::OBJECT)) {
            Some(shape) => values.extend(self.of_shape(shape, &Map::new())),
            None if has(JsonTypes::OBJECT) => values.push(Sample::of(json!({}))),
            None => {}
        }
        if has(JsonTypes::ARRAY) {
            let items = items.map(|id| self.within("*", |samples| samples.of_row(samples.row(id))));
            values.push(Sample::of(json!([])));
            let items = items.unwrap_or_default().into_iter();
            values.extend(items.map(|item| item.with(|item| json!([item]))));
        }
        values
    }

    /// Objects of a shape, each with one of its members beside those that it always has. `chosen` are the members that chose the shape.
    fn of_shape(&mut self, id: ShapeId, chosen: &Map<String, Value>) -> Vec<Sample<'t>> {
        if self.open.contains(&id) {
            return Vec::new();
        }
        self.open.push(id);
        let shape = &self.table.shapes()[id.0 as usize];
        let values = match &shape.selector {
            Some(selector) => self.of_cases(selector, chosen),
            None => self.of_members(shape, chosen),
        };
        self.open.pop();
        values
    }

    fn of_cases(&mut self, selector: &'t Selector, chosen: &Map<String, Value>) -> Vec<Sample<'t>> {
        let mut values = Vec::new();
        for (value, choice) in self.cases(selector) {
            let mut chosen = chosen.clone();
            let tool = choose(&selector.key, value, &mut chosen);
            if let Choice::Shape(shape) = choice {
                let of_case = self.of_shape(shape, &chosen).into_iter();
                values.extend(of_case.map(|sample| Sample {
                    tool: sample.tool.or(tool),
                    ..sample
                }));
            }
        }
        values
    }

    /// The cases of a selector that a record of the type can have.
    fn cases(&self, selector: &'t Selector) -> Vec<(&'t str, Choice)> {
        let wanted = match &selector.key {
            SelectorKey::Member { name, .. } => self
                .types
                .get(&*format!("{}/{name}", self.pointer))
                .copied(),
            SelectorKey::Adapter(_) => None,
        };
        let cases = selector
            .cases
            .iter()
            .map(|(value, choice)| (&**value, *choice));
        cases
            .filter(|(value, _)| wanted.is_none_or(|wanted| wanted == *value))
            .collect()
    }

    fn of_members(&mut self, shape: &'t Shape, chosen: &Map<String, Value>) -> Vec<Sample<'t>> {
        let least = self.least_of(shape, chosen);
        let mut values = vec![Sample::of(Value::Object(least.clone()))];
        let rest = shape.rest.map(|row| ("key", row));
        let members = shape
            .members
            .iter()
            .map(|member| (&*member.name, member.row));
        for (name, row) in members
            .chain(rest)
            .filter(|(name, _)| !chosen.contains_key(*name))
        {
            let of_member = self.within(name, |samples| samples.of_row(samples.row(row)));
            values.extend(of_member.into_iter().map(|sample| {
                sample.with(|value| {
                    let mut object = least.clone();
                    object.insert(name.to_owned(), value);
                    Value::Object(object)
                })
            }));
        }
        values
    }

    /// The members that an object of this shape always has.
    fn least_of(&mut self, shape: &'t Shape, chosen: &Map<String, Value>) -> Map<String, Value> {
        let mut least = chosen.clone();
        for member in shape
            .members
            .iter()
            .filter(|member| member.need == Need::Always)
        {
            if !least.contains_key(&*member.name) {
                let row = self.row(member.row);
                let value = self.within(&member.name, |samples| samples.least(row));
                least.insert(member.name.to_string(), value);
            }
        }
        least
    }

    /// One value of a row.
    fn least(&mut self, row: &'t Row) -> Value {
        match row.content {
            _ if row.types.meets(JsonTypes::STRING) => json!(self.text()),
            _ if row.types.meets(JsonTypes::NATURAL) => json!(1),
            _ if row.types.meets(JsonTypes::BOOL) => json!(true),
            _ if row.types.meets(JsonTypes::ARRAY) => json!([]),
            Content::Described {
                object: Some(id), ..
            } => self.least_object(id, &Map::new()),
            _ => json!({}),
        }
    }

    fn least_object(&mut self, id: ShapeId, chosen: &Map<String, Value>) -> Value {
        if self.open.contains(&id) {
            return json!({});
        }
        self.open.push(id);
        let shape = &self.table.shapes()[id.0 as usize];
        let selector = shape.selector.as_ref();
        let first = selector.and_then(|selector| Some((selector, *self.cases(selector).first()?)));
        let value = match first {
            Some((selector, (value, Choice::Shape(inner)))) => {
                let mut chosen = chosen.clone();
                choose(&selector.key, value, &mut chosen);
                self.least_object(inner, &chosen)
            }
            _ => Value::Object(self.least_of(shape, chosen)),
        };
        self.open.pop();
        value
    }

    fn row(&self, id: RowId) -> &'t Row {
        &self.table.rows()[id.0 as usize]
    }

    /// A string for the current value.
    fn text(&self) -> &'t str {
        self.types.get(&*self.pointer).copied().unwrap_or(TEXT)
    }

    /// Makes values of a member or an item.
    fn within<T>(&mut self, name: &str, make: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(name);
        let made = make(self);
        self.pointer.truncate(outer);
        made
    }
}

/// Gives an object the member with which a selector chooses a case. Returns the tool, if the adapter chooses.
fn choose<'t>(
    key: &SelectorKey,
    value: &'t str,
    chosen: &mut Map<String, Value>,
) -> Option<&'t str> {
    match key {
        SelectorKey::Adapter(_) => Some(value),
        SelectorKey::Member { name, .. } => {
            if !value.is_empty() {
                chosen.insert(name.to_string(), json!(value));
            }
            None
        }
    }
}

/// The members of samples, and what is wrong.
#[derive(Default)]
struct Found {
    /// Those with a row of the adapter's table, those that only the types declare, and those that nothing names.
    seen: BTreeSet<String>,
    declared: BTreeSet<String>,
    unknown: BTreeSet<String>,
    /// What is walked through: the type of the record, and the value in it that only the types declare.
    record: String,
    inside: Option<String>,
}

impl Found {
    fn pointer(&self, path: &Path<'_, RawNode<'_>>) -> String {
        format!("{}{}", self.record, path.pattern())
    }
}

impl<'n> Visitor<RawNode<'n>> for Found {
    const VALUES: bool = true;

    fn value(&mut self, path: &Path<'_, RawNode<'n>>, _: &Row, _: Option<&Row>) {
        let (pointer, inner) = (self.pointer(path), path.pointer());
        let is_inside = |outer: &String| inner.starts_with(outer.as_str());
        if self.inside.as_ref().is_some_and(is_inside) {
            self.declared.insert(pointer);
        } else {
            self.seen.insert(pointer);
        }
    }

    fn declared(&mut self, path: &Path<'_, RawNode<'n>>) {
        self.inside = Some(path.pointer());
    }

    fn unknown(&mut self, path: &Path<'_, RawNode<'n>>) {
        self.unknown.insert(self.pointer(path));
    }

    fn mismatch(&mut self, path: &Path<'_, RawNode<'n>>, row: &Row) {
        let found = row.found(path.node);
        self.unknown.insert(format!(
            "{} {found}, not {}",
            self.pointer(path),
            row.expected()
        ));
    }
}

/// The adapters with declared types: descriptor, table, and declared table. A fork has the table of another adapter.
fn tables() -> Vec<(
    AdapterDescriptor,
    &'static MemberTable,
    &'static MemberTable,
)> {
    let table = |descriptor: AdapterDescriptor| {
        let table = descriptor.members?.table().expect("a table");
        Some((descriptor, table, table.declared()?))
    };
    let found = registered().adapters();
    let mut found: Vec<_> = found
        .filter_map(|entry| table(entry.descriptor()))
        .collect();
    found.dedup_by(|(_, table, _), (_, before, _)| std::ptr::eq(*table, *before));
    found
}

/// The members of all samples of an adapter.
fn members(descriptor: &AdapterDescriptor, table: &MemberTable, declared: &MemberTable) -> Found {
    let mut found = Found::default();
    for record in declared.records() {
        found.record = record.name.to_string();
        for sample in Samples::of_record(descriptor, declared, record) {
            let json = sample.value.to_string();
            let root = Path::root(RawNode::parse(&json).expect("it is JSON"));
            found.inside = None;
            let (table, shape) = table.of_record(&record.name).expect("the types have it");
            if std::ptr::eq(table, declared) {
                found.declared(&root);
            }
            Walk::of(table, &|_| sample.tool).record(shape, &root, &mut found);
        }
    }
    found
}

/// Values that a tape has in one JSON type, while the types declare others too: no log has them, and the adapters do not read them. They are
/// unknown members, so that none is missing without a word.
const NOT_READ: [&str; 15] = [
    // The types allow any word; the rows name those that the adapter knows.
    "claude-code: control_request/request/subtype",
    "claude-code: user/message/content/*/type",
    "claude-code: user/tool_use_result/content/*/type",
    "claude-code: user/tool_use_result/type",
    "gemini: gemini/toolCalls/*/status",
    // A part, an item or a text that no adapter reads.
    "codex: event_msg/item_completed/WebSearch/payload/item/results/* ",
    "opencode: content/tool/state/result ",
    "gemini: error/content ",
    "gemini: gemini/content",
    "gemini: info/content ",
    "gemini: user/content",
    "gemini: user/displayContent",
    "gemini: warning/content ",
    "gemini: gemini/displayContent",
    // What a tool of an extension may add.
    "pi: message/toolResult/message/details ",
];

#[test]
fn every_declared_member_is_known() {
    let mut wrong = Vec::new();
    for (descriptor, table, declared) in tables() {
        let found = members(&descriptor, table, declared);
        let mut tally = Tally::default();
        tally.count_many("seen", found.seen.len() as u64);
        let only = found.declared.difference(&found.seen).count();
        tally.count_many("declared", only as u64);
        report::print(
            "declared members",
            format!("{}: {tally}", descriptor.adapter_id),
        );
        let unknown = found.unknown.iter();
        let named = unknown.map(|pointer| format!("{}: {pointer}", descriptor.adapter_id));
        wrong.extend(
            named.filter(|pointer| !NOT_READ.iter().any(|known| pointer.starts_with(known))),
        );
    }
    report::assert_none("declared members", &wrong);
}

/// A type of which the harness declares the name alone allows any member, so no row by hand may name it: then new members are noticed.
#[test]
fn a_type_that_rows_name_is_not_declared_by_its_name_alone() {
    let mut wrong = Vec::new();
    for (descriptor, table, declared) in tables() {
        let id = descriptor.adapter_id;
        let path = format!(
            "engram-adapters/src/{}/members/declared.members",
            id.replace('-', "_")
        );
        let text = std::fs::read_to_string(root().join(path)).expect("a table");
        for record in declared.records() {
            let name = &record.name;
            let is_open = ["", "\""].iter().any(|quote| {
                let row =
                    format!("record {quote}{name}{quote} feeds meta omit declared\n  * any free\n");
                text.contains(&row)
            });
            let is_by_hand = !std::ptr::eq(
                table.of_record(name).expect("the types have it").0,
                declared,
            );
            wrong.extend((is_open && is_by_hand).then(|| format!("{id}: {name}")));
        }
    }
    report::assert_none("types that are declared by name", &wrong);
}

/// A log of each harness whose records are lines: its first line goes before a record that only the types declare.
const LOGS: [&str; 2] = ["codex/0.171.0/", "gemini/0.61.0/"];

/// The first line of the first log in a directory of fixtures.
fn first_line(artifact: &Artifact) -> String {
    let text = String::from_utf8_lossy(&artifact.bytes);
    format!("{}\n", text.lines().next().unwrap_or_default())
}

/// What is wrong with the tape of a record of a type that only the types declare: it is under strict policy, and nothing is lost.
fn faults(artifact: &Artifact, record: &str, sample: &str) -> Vec<String> {
    let log = format!("{}{sample}\n", first_line(artifact));
    let adapter = artifact.adapter();
    let tape = match convert_bytes(adapter, log.as_bytes(), Policy::Strict, SideInfo::default()) {
        Ok(tape) => tape,
        Err(error) => return vec![format!("{record}: {error}: {sample}")],
    };
    let report =
        audit(log.as_bytes(), &tape.text, adapter.describe()).expect("a tape can be audited");
    let lost = report
        .examples
        .iter()
        .map(|lost| format!("{record}: {} is lost: {sample}", lost.pointer));
    let lowered = tape
        .text
        .contains("\"degraded\":[\"")
        .then(|| format!("{record}: the claims are lowered: {sample}"));
    lost.chain(lowered).collect()
}

#[test]
fn a_record_that_only_the_types_declare_is_converted() {
    let mut wrong = Vec::new();
    for (descriptor, table, declared) in tables() {
        let is_log = |artifact: &&Artifact| {
            let name = artifact.full_name();
            LOGS.iter().any(|log| name.starts_with(log))
                && name.starts_with(descriptor.harness_family)
        };
        let Some(artifact) = fixtures().artifacts().find(is_log) else {
            continue;
        };
        let only_declared = |record: &&RecordShape| table.record(&record.name).is_none();
        for record in declared.records().iter().filter(only_declared) {
            let all = Samples::of_record(&descriptor, declared, record).into_iter();
            let is_own = |sample: &Sample<'_>| {
                record_type(&descriptor, &sample.value.to_string()) == *record.name
            };
            for sample in all.filter(is_own) {
                wrong.extend(faults(artifact, &record.name, &sample.value.to_string()));
            }
        }
    }
    report::assert_none("declared records", &wrong);
}

/// The number of rows that the head of a file of declared types names, and the number that it has.
fn rows(text: &str) -> (Option<usize>, usize) {
    let head = text
        .lines()
        .find_map(|line| line.strip_prefix("# ")?.strip_suffix(" rows."));
    let is_row =
        |line: &&str| !line.is_empty() && !line.starts_with(['#']) && !line.starts_with("rule ");
    (
        head.and_then(|number| number.parse().ok()),
        text.lines().filter(is_row).count(),
    )
}

#[test]
fn a_file_of_declared_types_is_as_it_was_made() {
    let mut count = 0;
    for file in files(&root().join("engram-adapters/src")) {
        if file.ends_with("declared.members") {
            let text = std::fs::read_to_string(&file).expect("a text");
            let (head, found) = rows(&text);
            assert_eq!(
                head,
                Some(found),
                "{}: make it again with `scripts/declared-members`",
                file.display()
            );
            let cut: String = text
                .lines()
                .take(text.lines().count() - 1)
                .map(|line| format!("{line}\n"))
                .collect();
            assert_ne!(rows(&cut).0, Some(rows(&cut).1), "a row is missing");
            count += 1;
        }
    }
    assert!(count > 0);
}
