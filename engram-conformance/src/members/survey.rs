//! Every member of a session, by a walk along the adapter's member table.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use engram_core::descriptor::AdapterDescriptor;
use engram_core::event::Kind;
use engram_core::members::{
    JsonNode, MemberTable, Path, RawNode, RecordShape, Row, Step, Visitor, Walk,
};
use serde_json::Value;

use super::change::Allowed;
use super::record_type::record_type;
use crate::converted_session::ConvertedSession;
use crate::tape::Event;

/// Records in records are looked at down to this depth.
const MAX_DEPTH: usize = 8;
/// The key of selectors whose value is a tool. What other keys mean, only the adapter knows.
const TOOL: &str = "tool";
/// A value that no selector has a case for.
const NO_CASE: &str = "\u{1}";

/// A member that the table names.
#[derive(Debug, Clone)]
pub struct Member {
    /// The type of the record that contains its record; `document` in a document, and empty for the record of a line.
    pub outer: String,
    /// The record type.
    pub record: String,
    /// The pointer in the record, with `*` for items and keys of maps.
    pub pattern: String,
    /// The line, from 1; 0 in a document.
    pub line: u64,
    /// Where its line ends in the source.
    pub end: usize,
    /// Where its name is, without the quotes. `None` for keys of maps, which are user data.
    pub name: Option<Range<usize>>,
    /// Where its value is.
    pub value: Range<usize>,
    /// The values that the table allows.
    pub allowed: Allowed,
}

/// What a session has, compared with the table.
#[derive(Default)]
pub struct Survey {
    /// Members that the table names.
    pub members: Vec<Member>,
    /// What the table does not describe, by record type and pattern: the first line, and what is wrong.
    pub faults: BTreeMap<(String, String), (u64, String)>,
    /// Values that the table declares as user data.
    pub user_data: u64,
    /// Lines that are not one JSON value.
    pub other_lines: u64,
}

/// Surveys a session. `None` if its source is not UTF-8.
pub fn survey(
    descriptor: &AdapterDescriptor,
    table: &MemberTable,
    session: &ConvertedSession,
) -> Option<Survey> {
    let source = str::from_utf8(session.source()).ok()?;
    let mut surveyor = Surveyor {
        descriptor,
        table,
        source,
        tools: Tools::of(session),
        survey: Survey::default(),
    };
    // Events of a document have a pointer and no line. Without events of records, the lines are all of omitted types.
    if session
        .events
        .iter()
        .any(|event| event.has("origin") && event.line().is_none())
    {
        surveyor.document();
    } else {
        surveyor.lines();
    }
    Some(surveyor.survey)
}

struct Surveyor<'s> {
    descriptor: &'s AdapterDescriptor,
    table: &'s MemberTable,
    source: &'s str,
    tools: Tools<'s>,
    survey: Survey,
}

/// Where a record is.
struct Place<'p> {
    line: u64,
    end: usize,
    pointer: &'p str,
    /// The type of the record around it.
    outer: &'p str,
    depth: usize,
}

impl<'s> Surveyor<'s> {
    fn lines(&mut self) {
        let mut end = 0;
        for (line, text) in (1..).zip(self.source.split_inclusive('\n')) {
            end += text.len();
            let text = text.trim_start_matches('\u{feff}').trim_ascii();
            match RawNode::parse(text) {
                Some(node) => self.record(
                    node,
                    &Place {
                        line,
                        end,
                        pointer: "",
                        outer: "",
                        depth: 0,
                    },
                ),
                None => self.survey.other_lines += u64::from(!text.is_empty()),
            }
        }
    }

    fn document(&mut self) {
        let place = Place {
            line: 0,
            end: self.source.len(),
            pointer: "",
            outer: "",
            depth: 0,
        };
        let text = self.source.trim_start_matches('\u{feff}').trim_ascii();
        let Some(node) = RawNode::parse(text) else {
            self.survey.other_lines += 1;
            return;
        };
        match self.table.document(node) {
            Some(shape) => self.walk("document", shape, node, &place),
            None => self.fault(
                "document",
                String::new(),
                0,
                "the table has no document".to_owned(),
            ),
        }
    }

    fn fault(&mut self, record: &str, pattern: String, line: u64, what: String) {
        self.survey
            .faults
            .entry((record.to_owned(), pattern))
            .or_insert((line, what));
    }

    fn record(&mut self, node: RawNode<'s>, place: &Place<'_>) {
        let record = record_type(self.descriptor, node);
        match self.table.record(&record) {
            Some(shape) => self.walk(&record, shape, node, place),
            None => self.fault(
                &record,
                String::new(),
                place.line,
                format!("the table has no record `{record}`"),
            ),
        }
    }

    /// Lists the members of one record and its faults, and then those of the records inside it.
    fn walk(&mut self, record: &str, shape: &RecordShape, node: RawNode<'s>, place: &Place<'_>) {
        let seen = self.all_cases(shape, node, place);
        self.survey.user_data += seen[0].free.len() as u64;
        for (pointer, member) in members(&seen) {
            self.survey.members.push(Member {
                outer: place.outer.to_owned(),
                record: record.to_owned(),
                pattern: member.pattern.clone(),
                line: place.line,
                end: place.end,
                name: member.name.clone(),
                value: offset(self.source, member.node.json()),
                allowed: allowed(&seen, pointer),
            });
        }
        for (pointer, (pattern, what)) in &seen[0].faults {
            if seen.iter().all(|seen| seen.faults.contains_key(pointer)) {
                self.fault(record, pattern.clone(), place.line, what.clone());
            }
        }
        for (pointer, inner) in seen[0].records.iter().filter(|_| place.depth < MAX_DEPTH) {
            let pointer = format!("{}{pointer}", place.pointer);
            self.record(
                *inner,
                &Place {
                    pointer: &pointer,
                    outer: record,
                    depth: place.depth + 1,
                    ..*place
                },
            );
        }
    }

    /// Walks once for each case that may apply. Mostly that is one: only if the adapter chooses a case, it is each tool that the tape names
    /// for this record. If it names none: the case that fits best, and the one for tools without a case.
    fn all_cases(
        &self,
        shape: &RecordShape,
        node: RawNode<'s>,
        place: &Place<'_>,
    ) -> Vec<Seen<'s>> {
        let walk = |choice: Option<&'s str>| {
            let (is_asked, mut seen) = (Cell::new(false), Seen::of(self.source));
            let select = |key: &str| {
                is_asked.set(is_asked.get() || key == TOOL);
                choice.filter(|_| key == TOOL)
            };
            Walk::of(self.table, &select).record(shape, &Path::root(node), &mut seen);
            (seen, is_asked.get())
        };
        let (best, is_asked) = walk(None);
        if !is_asked {
            return vec![best];
        }
        let tools = self.tools.of_record(place);
        if tools.is_empty() {
            return vec![best, walk(Some(NO_CASE)).0];
        }
        tools.into_iter().map(|tool| walk(Some(tool)).0).collect()
    }
}

/// The members that some walk found, unless another walk found that they are in user data.
fn members<'w, 's>(seen: &'w [Seen<'s>]) -> BTreeMap<&'w str, &'w SeenMember<'s>> {
    let is_in = |pointer: &str, outer: &str| pointer != outer && is_under(pointer, outer);
    let is_free = |pointer: &str| {
        seen.len() > 1
            && seen
                .iter()
                .flat_map(|seen| &seen.free)
                .any(|outer| is_in(pointer, outer))
    };
    let all = seen
        .iter()
        .flat_map(|seen| &seen.members)
        .map(|(pointer, member)| (pointer.as_str(), member));
    all.filter(|(pointer, _)| !is_free(pointer)).collect()
}

/// The values that some walk allows at a pointer.
fn allowed(seen: &[Seen<'_>], pointer: &str) -> Allowed {
    let all = seen
        .iter()
        .filter_map(|seen| seen.members.get(pointer))
        .map(|member| member.allowed);
    all.reduce(Allowed::or).unwrap_or_default()
}

/// True if a pointer is this one, or leads into its value.
fn is_under(pointer: &str, outer: &str) -> bool {
    pointer
        .strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Where a part of a text is in it.
fn offset(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr() - text.as_ptr().addr();
    start..start + part.len()
}

/// What one walk finds, by pointer.
struct Seen<'s> {
    source: &'s str,
    members: BTreeMap<String, SeenMember<'s>>,
    free: Vec<String>,
    faults: BTreeMap<String, (String, String)>,
    records: Vec<(String, RawNode<'s>)>,
}

struct SeenMember<'s> {
    pattern: String,
    name: Option<Range<usize>>,
    node: RawNode<'s>,
    allowed: Allowed,
}

impl<'s> Seen<'s> {
    fn of(source: &'s str) -> Seen<'s> {
        Seen {
            source,
            members: BTreeMap::new(),
            free: Vec::new(),
            faults: BTreeMap::new(),
            records: Vec::new(),
        }
    }
}

impl<'s> Visitor<RawNode<'s>> for Seen<'s> {
    const VALUES: bool = true;
    const LEAVES: bool = true;

    fn unknown(&mut self, path: &Path<'_, RawNode<'s>>) {
        self.faults.insert(
            path.pointer(),
            (path.pattern(), "the table does not name it".to_owned()),
        );
    }

    fn mismatch(&mut self, path: &Path<'_, RawNode<'s>>, row: &Row) {
        let what = format!(
            "it is {}, but {} in the table",
            row.found(path.node),
            row.expected()
        );
        self.faults.insert(path.pointer(), (path.pattern(), what));
    }

    fn value(&mut self, path: &Path<'_, RawNode<'s>>, row: &Row, declared: Option<&Row>) {
        let name = match path.step() {
            Step::Name(name) => Some(offset(self.source, name)),
            Step::Key(_) => None,
            Step::Root | Step::Item(_) => return,
        };
        // A value of a declared type comes again with the declared row.
        self.members
            .entry(path.pointer())
            .or_insert_with(|| SeenMember {
                pattern: path.pattern(),
                name,
                node: path.node,
                allowed: Allowed {
                    types: declared.map_or(row.types, |also| row.types_beside(also)),
                    forms: row.forms,
                },
            });
    }

    fn leaf(&mut self, path: &Path<'_, RawNode<'s>>, row: &Row) {
        if row.is_free() {
            self.free.push(path.pointer());
        }
    }

    fn record(&mut self, path: &Path<'_, RawNode<'s>>) {
        self.records.push((path.pointer(), path.node));
    }
}

/// The tools of the events that each record gave.
struct Tools<'s>(Vec<(u64, &'s str, &'s str)>);

impl<'s> Tools<'s> {
    fn of(session: &'s ConvertedSession) -> Tools<'s> {
        let of_tools = session
            .events
            .iter()
            .filter(|event| event.is(Kind::ToolCall) || event.is(Kind::ToolResult));
        let tool = |event: &'s Event| {
            let pointer = event
                .0
                .pointer("/origin/pointer")
                .and_then(Value::as_str)
                .unwrap_or_default();
            Some((
                event.line().unwrap_or_default(),
                pointer,
                event.text("tool")?,
            ))
        };
        Tools(of_tools.filter_map(tool).collect())
    }

    fn of_record(&self, place: &Place<'_>) -> BTreeSet<&'s str> {
        let is_here =
            |line: u64, pointer: &str| line == place.line && is_under(pointer, place.pointer);
        self.0
            .iter()
            .filter(|(line, pointer, _)| is_here(*line, pointer))
            .map(|(_, _, tool)| *tool)
            .collect()
    }
}
