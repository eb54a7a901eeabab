//! The audit of every leaf value: strings of any length, numbers and booleans, by what the member table says becomes of them.

use std::collections::HashMap;
use std::rc::Rc;

use super::record::{Fates, Record, Treatment, record_kind};
use super::report::{AuditReport, LeftOver};
use super::rules::field_rule_at;
use super::tokens::becomes;
use super::walk::{self, Walk};
use crate::descriptor::{AdapterDescriptor, Omission, OmissionRule};
use crate::error::excerpt;
use crate::members::{
    self, Fate, FateKind, JsonNode, MemberTable, Path, RawNode, RecordShape, Row, ValueForms,
    Visitor,
};
use crate::text::Text;

/// The maximum number of examples of left-over values in a report.
const MAX_EXAMPLES: usize = 50;
/// The maximum depth of records inside records.
const MAX_RECORDS_INSIDE: usize = 16;

/// The record type of what is in a document outside its records, as the ledger names it.
const DOCUMENT: &str = "document";

/// The record of a document at a pointer, given the text of the item that contains it.
pub(super) type RecordAt<'d, 'r> = dyn Fn(&str, &'r str) -> Option<Record<'r>> + 'd;

/// Accounts for the leaf values of a line's record. Returns what the table says about them.
pub(super) fn audit_record<'r>(
    record: &Record<'r>,
    table: &MemberTable,
    text: &'r str,
    report: &mut AuditReport,
) -> Fates {
    let mut fates = HashMap::new();
    if let Some(root) = RawNode::parse(text) {
        let records: &RecordAt<'_, 'r> = &|_, _| None;
        let descriptor = record.descriptor;
        let (record, fates, prefix) = (Some(record), &mut fates, String::new());
        let kind = String::new();
        LeafAudit {
            table,
            descriptor,
            records,
            record,
            report,
            fates,
            prefix,
            kind,
            item: text,
            depth: 0,
        }
        .record_at(&Path::root(root));
    }
    Rc::new(fates)
}

/// Accounts for the leaf values of a document.
pub(super) fn audit_document<'r>(
    records: &RecordAt<'_, 'r>,
    descriptor: &AdapterDescriptor,
    (table, document): (&MemberTable, &RecordShape),
    text: &'r str,
    report: &mut AuditReport,
) -> Fates {
    let mut fates = HashMap::new();
    if let Some(root) = RawNode::parse(text) {
        let (fates, prefix) = (&mut fates, String::new());
        let kind = DOCUMENT.to_owned();
        let mut leaves = LeafAudit {
            table,
            descriptor,
            records,
            record: None,
            report,
            fates,
            prefix,
            kind,
            item: "",
            depth: 0,
        };
        members::Walk::of(table, &|_| None).record(document, &Path::root(root), &mut leaves);
    }
    Rc::new(fates)
}

struct LeafAudit<'d, 'r> {
    table: &'d MemberTable,
    descriptor: &'d AdapterDescriptor,
    /// Of a document: the record at a pointer.
    records: &'d RecordAt<'d, 'r>,
    /// The record of a line.
    record: Option<&'d Record<'r>>,
    report: &'d mut AuditReport,
    fates: &'d mut HashMap<String, Treatment>,
    /// The pointer of the record that is walked, if it is inside another one.
    prefix: String,
    /// Its type.
    kind: String,
    /// Of a document: the text of the item that is walked.
    item: &'r str,
    depth: usize,
}

impl<'r> Visitor<RawNode<'r>> for LeafAudit<'_, 'r> {
    const LEAVES: bool = true;

    fn leaf(&mut self, path: &Path<'_, RawNode<'r>>, row: &Row) {
        match &row.fate {
            Some(fate) => self.each(path, Claim::Fate(fate, row.forms)),
            None => self.each(path, Claim::Kept),
        }
    }

    fn unknown(&mut self, path: &Path<'_, RawNode<'r>>) {
        self.each(path, Claim::Unknown);
    }

    fn mismatch(&mut self, path: &Path<'_, RawNode<'r>>, _: &Row) {
        self.each(path, Claim::Unknown);
    }

    fn unrecognized(&mut self, path: &Path<'_, RawNode<'r>>) {
        self.each(path, Claim::Kept);
    }

    fn record(&mut self, path: &Path<'_, RawNode<'r>>) {
        self.record_at(path);
    }
}

impl<'r> LeafAudit<'_, 'r> {
    /// Walks a record along the shape of its type.
    fn record_at(&mut self, path: &Path<'_, RawNode<'r>>) {
        let kind = record_kind(self.descriptor, path.node.json());
        let Some((table, shape)) = self
            .table
            .of_record(&kind)
            .filter(|_| self.depth < MAX_RECORDS_INSIDE)
        else {
            return self.each(path, Claim::Kept);
        };
        let outer_kind = std::mem::replace(&mut self.kind, kind);
        let outer = self.prefix.len();
        self.prefix.push_str(&path.pointer());
        self.item = if self.depth == 0 {
            path.node.json()
        } else {
            self.item
        };
        self.depth += 1;
        members::Walk::of(table, &|_| None).record(shape, &Path::root(path.node), self);
        self.depth -= 1;
        self.prefix.truncate(outer);
        self.kind = outer_kind;
    }

    /// Accounts for all leaf values in a value.
    fn each(&mut self, path: &Path<'_, RawNode<'r>>, claim: Claim<'_>) {
        let pointer = format!("{}{}", self.prefix, path.pointer());
        let of_document = if self.record.is_none() {
            (self.records)(&pointer, self.item)
        } else {
            None
        };
        let Some(record) = self.record.or(of_document.as_ref()) else {
            return;
        };
        let claim = match claim {
            Claim::Unknown if record.index.has_unknown(&self.kind, &path.pattern()) => {
                self.report.meet(&self.kind, &path.pattern());
                Claim::Unknown
            }
            Claim::Unknown => Claim::Kept,
            claim => claim,
        };
        let mut walk = Walk::of_json(path.node.json());
        while let Some(leaf) = walk.next_leaf() {
            if leaf != "null" {
                let pointer = format!("{pointer}{}", walk::pointer(walk.levels()));
                judge(record, &leaf, &pointer, claim, self.report, self.fates);
            }
        }
    }
}

/// What should have become of a value.
#[derive(Debug, Clone, Copy)]
enum Claim<'c> {
    /// The fate and the form of its row.
    Fate(&'c Fate, ValueForms),
    /// No row fits it, and the ledger counts it as an unknown member.
    Unknown,
    /// No row fits it. It must be in a record or block that is kept as it is.
    Kept,
}

/// Accounts for one leaf value.
fn judge(
    record: &Record<'_>,
    leaf: &str,
    pointer: &str,
    claim: Claim<'_>,
    report: &mut AuditReport,
    fates: &mut HashMap<String, Treatment>,
) {
    report.leaves.total += 1;
    report.tokens.add(record.kind(), pointer, leaf, || {
        match (record.omitted_by(), claim) {
            (Some(rule), _) => format!("record {}", rule.rule),
            (None, Claim::Fate(fate, _)) => becomes(fate),
            (None, Claim::Unknown | Claim::Kept) => "unknown".to_owned(),
        }
    });
    if let Some(rule) = record.omitted_by() {
        // A search that finds nothing goes over the whole tape: the examples are enough.
        let is_searched = report.leaves.left_over < MAX_EXAMPLES as u64;
        if is_searched && is_lost_piece(record, rule, leaf, claim) {
            return leave(record, leaf, pointer, report);
        }
        return *report
            .leaves
            .omitted
            .entry(rule.rule.to_owned())
            .or_default() += 1;
    }
    let (fate, forms) = match claim {
        Claim::Fate(fate, forms) => (fate, forms),
        _ if record.index.has_unrecognized() && is_in_tape(record, leaf, ValueForms::NONE) => {
            report.leaves.in_tape += 1;
            return;
        }
        Claim::Unknown => {
            report.leaves.unknown += 1;
            fates.insert(pointer.to_owned(), Treatment::Unknown);
            return;
        }
        Claim::Kept => return leave(record, leaf, pointer, report),
    };
    let is_in_tape = || is_in_tape(record, leaf, forms);
    if (fate.kind != FateKind::Tape || !forms.is_none()) && leaf.starts_with('"') {
        fates.insert(pointer.to_owned(), Treatment::Row(fate.clone()));
    }
    let name = || fate.name.to_string();
    match fate.kind {
        FateKind::As => report.leaves.converted += 1,
        FateKind::Omit => *report.leaves.omitted.entry(name()).or_default() += 1,
        FateKind::Opaque => *report.leaves.opaque.entry(name()).or_default() += 1,
        FateKind::Tape if is_in_tape() => report.leaves.in_tape += 1,
        FateKind::Tape => match field_rule_at(record.descriptor, record.kind(), pointer) {
            Some(rule) if rule.omission == Omission::Opaque => {
                *report
                    .leaves
                    .opaque
                    .entry(rule.rule.to_owned())
                    .or_default() += 1
            }
            Some(rule) => {
                *report
                    .leaves
                    .omitted
                    .entry(rule.rule.to_owned())
                    .or_default() += 1
            }
            None => leave(record, leaf, pointer, report),
        },
    }
}

/// True for words of a piece that no text of the tape has: its rule says that the whole has them.
fn is_lost_piece(record: &Record<'_>, rule: &OmissionRule, leaf: &str, claim: Claim<'_>) -> bool {
    let is_text =
        matches!(claim, Claim::Fate(fate, forms) if fate.kind == FateKind::Tape && forms.is_none());
    is_text
        && rule.omission == Omission::Piece
        && leaf.starts_with('"')
        && !record.index.has_words(Text::Token(leaf))
}

/// True if the value is in the tape. A time is if the tape has the same instant, in its own form.
fn is_in_tape(record: &Record<'_>, leaf: &str, forms: ValueForms) -> bool {
    if leaf.starts_with('"') {
        let text = Text::Token(leaf);
        return record.has(text) || (!forms.is_none() && record.index.has_time(text));
    }
    // A tape leaves out a boolean that has its usual value, so its words prove nothing.
    matches!(leaf, "true" | "false") || record.index.has_number(leaf)
}

fn leave(record: &Record<'_>, leaf: &str, pointer: &str, report: &mut AuditReport) {
    report.leaves.left_over += 1;
    if report.examples.len() < MAX_EXAMPLES {
        let (kind, bytes) = (record.kind().to_owned(), leaf.len() as u64);
        let value = LeftOver {
            line: record.line,
            record: kind,
            pointer: pointer.to_owned(),
            bytes,
            excerpt: excerpt(leaf),
        };
        report.examples.push(value);
    }
}
