//! The comparison of records with the member table.

use super::group::{Change, Group, Place};
use crate::audit::record_type;
use crate::descriptor::AdapterDescriptor;
use crate::error::excerpt;
use crate::members::{
    JsonNode, MemberTable, Path, RawNode, RecordShape, Row, Visitor, Walk, push_name,
};

/// The maximum depth of records inside records.
const MAX_RECORDS_INSIDE: usize = 16;

/// Compares the record on one line, or a document with all its records.
pub(super) struct Compare<'c> {
    pub descriptor: &'c AdapterDescriptor,
    pub table: &'c MemberTable,
    /// Where the line or the document is.
    pub at: Place,
    /// True for the pointer of a record that the conversion has reported as unknown.
    pub is_reported: &'c dyn Fn(&str) -> bool,
    pub group: &'c mut Group,
    /// The type of the current record.
    record: String,
    /// The pointer of the current record.
    prefix: String,
    depth: usize,
}

impl<'c> Compare<'c> {
    /// A comparison that begins at the root of a line or document.
    pub fn new(
        descriptor: &'c AdapterDescriptor,
        table: &'c MemberTable,
        at: Place,
        is_reported: &'c dyn Fn(&str) -> bool,
        group: &'c mut Group,
    ) -> Self {
        Compare {
            descriptor,
            table,
            at,
            is_reported,
            group,
            record: String::new(),
            prefix: String::new(),
            depth: 0,
        }
    }

    /// Compares the outer part of a document, and the records in it.
    pub fn document(&mut self, shape: &RecordShape, root: RawNode<'_>) {
        self.record = "document".to_owned();
        Walk::of(self.table, &|_| None).record(shape, &Path::root(root), self);
    }

    /// Compares a record with the shape of its type.
    pub fn record_at(&mut self, path: &Path<'_, RawNode<'_>>) {
        if self.depth >= MAX_RECORDS_INSIDE {
            return;
        }
        let kind = record_type(self.descriptor, path.node.json());
        let outer_record = std::mem::replace(&mut self.record, excerpt(&kind));
        let outer_prefix = self.prefix.len();
        self.prefix.push_str(&path.pointer());
        self.depth += 1;
        let root = Path::root(path.node);
        match self.table.of_record(&kind) {
            Some((table, shape)) => {
                if !std::ptr::eq(table, self.table) {
                    self.add(Change::Declared, &root);
                }
                Walk::of(table, &|_| None).record(shape, &root, self)
            }
            None if (self.is_reported)(&self.prefix) => {}
            None => self.add(Change::UnknownType, &root),
        }
        self.depth -= 1;
        self.prefix.truncate(outer_prefix);
        self.record = outer_record;
    }

    fn add(&mut self, change: Change, path: &Path<'_, RawNode<'_>>) {
        let place = || Place {
            pointer: format!("{}{}", self.prefix, path.pointer()),
            ..self.at.clone()
        };
        self.group.add(
            (change, self.record.clone(), excerpt(&path.pattern())),
            1,
            place,
        );
    }
}

impl<'n> Visitor<RawNode<'n>> for Compare<'_> {
    const REQUIRED: bool = true;

    fn unknown(&mut self, path: &Path<'_, RawNode<'n>>) {
        self.add(Change::UnknownMember, path);
    }

    fn mismatch(&mut self, path: &Path<'_, RawNode<'n>>, row: &Row) {
        self.add(
            Change::TypeChange {
                expected: Some(row.expected()),
                found: row.found(path.node).into_owned(),
            },
            path,
        );
    }

    fn declared(&mut self, path: &Path<'_, RawNode<'n>>) {
        self.add(Change::Declared, path);
    }

    fn record(&mut self, path: &Path<'_, RawNode<'n>>) {
        self.record_at(path);
    }

    fn required(&mut self, object: &Path<'_, RawNode<'n>>, name: &str, is_present: bool) {
        let mut pointer = object.pattern();
        push_name(&mut pointer, name);
        let place = || {
            let mut pointer = format!("{}{}", self.prefix, object.pointer());
            push_name(&mut pointer, name);
            Place {
                pointer,
                ..self.at.clone()
            }
        };
        self.group.require(&self.record, pointer, is_present, place);
    }
}
