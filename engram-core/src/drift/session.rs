//! The drift of one session: first what its conversion reports, then what the text has that was converted.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::io::{self, BufRead};

use super::compare::Compare;
use super::group::{Change, Group, MAX_DRIFT_ROWS, OTHER, Place};
use super::report::DriftReport;
use crate::descriptor::AdapterDescriptor;
use crate::error::excerpt;
use crate::event::{Event, EventRef, Meta, Origin};
use crate::input::head::{BOM, first_value};
use crate::input::terminal::controls;
use crate::input::truncation::complete_items;
use crate::ledger::Ledger;
use crate::ledger::{LIMIT_EXCEEDED, MALFORMED};
use crate::members::{MemberTable, Path, RawNode};
use crate::sink::EventSink;
use crate::stream_adapter::Framing;
use crate::text::Text;

/// The most changes of version that are followed.
const MAX_VERSIONS: usize = 65_536;
/// The most unknown records that are recognised when the text is read.
const MAX_REPORTED: usize = 65_536;

/// A record of a line format: 1-based physical line, and index on that line. Both are 0 in a document.
type At = (u64, u64);

/// The drift of one session. Convert the session with it as the sink, then read the same text.
///
/// ```
/// use engram_core::adapter::{Framing, StreamAdapter};
/// use engram_core::drift::{DriftReport, SessionDrift};
/// use engram_core::error::AdapterError;
/// use engram_core::pipeline::{Input, Options, convert};
///
/// fn drift_of(adapter: &dyn StreamAdapter, path: &str, log: &str) -> Result<DriftReport, AdapterError> {
///     let options = Options::default();
///     let mut drift = SessionDrift::new(path, *adapter.describe());
///     convert(adapter, Input::in_memory(log, options.limits), &options, &mut drift)?;
///     Ok(drift.read(log.as_bytes(), Framing::Lines)?)
/// }
/// ```
#[derive(Debug)]
pub struct SessionDrift {
    path: String,
    descriptor: AdapterDescriptor,
    report: DriftReport,
    /// The versions that wrote the session, with their first record.
    versions: Vec<(At, Option<String>)>,
    /// Records, and blocks in them, that the adapter does not know, with their pointers.
    reported: HashSet<(At, String)>,
    /// The types of records in a document that the adapter does not know, which have no place, and their numbers.
    unplaced: BTreeMap<String, u64>,
    ledger: Ledger,
    /// True if some event comes from a line.
    names_lines: bool,
    /// True if some event comes from a place in a document.
    names_pointers: bool,
}

impl EventSink for SessionDrift {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        let origin = &record.origin;
        self.names_lines |= origin.line.is_some();
        self.names_pointers |= origin.line.is_none() && origin.has_pointer();
        let Event::Meta(meta) = record.event else {
            return Ok(());
        };
        let at = (origin.line.unwrap_or(0), origin.part);
        let version =
            |version: Option<Text<'_>>| version.map(|version| version.decode_lossy().into_owned());
        match meta {
            Meta::TapeStart(start) => self.add_version(at, version(start.harness.version)),
            Meta::Revision(change) => self.add_version(at, version(change.harness.version)),
            Meta::Unrecognized(unknown) => {
                self.note_unknown(&unknown.name.decode_lossy(), at, origin)
            }
            Meta::TapeStop(stop) => self.ledger = stop.ledger.clone(),
            _ => {}
        }
        Ok(())
    }
}

/// A pointer with every index as `*`.
fn pattern(pointer: &str) -> String {
    let segment = |segment| if is_index(segment) { "*" } else { segment };
    pointer
        .split('/')
        .map(segment)
        .collect::<Vec<_>>()
        .join("/")
}

fn is_index(segment: &str) -> bool {
    !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit())
}

impl SessionDrift {
    /// A session that is not converted yet. `path` is its path in the report.
    pub fn new(path: impl Into<String>, descriptor: AdapterDescriptor) -> Self {
        SessionDrift {
            path: path.into(),
            descriptor,
            report: DriftReport::default(),
            versions: Vec::new(),
            reported: HashSet::new(),
            unplaced: BTreeMap::new(),
            ledger: Ledger::default(),
            names_lines: false,
            names_pointers: false,
        }
    }

    /// Reads the text that was converted, and returns what has changed.
    ///
    /// # Errors
    /// If the source cannot be read.
    pub fn read(mut self, source: impl BufRead, framing: Framing) -> io::Result<DriftReport> {
        // The framing of a text that is converted as a whole is not known before.
        if framing == Framing::Document || (self.names_pointers && !self.names_lines) {
            self.document(source)?;
        } else {
            self.lines(source)?;
        }
        self.unplaced_types();
        self.members_of_the_conversion();
        self.report.sessions = 1;
        Ok(self.report)
    }

    /// Notes an unknown type, unless the record could not be read at all.
    fn note_unknown(&mut self, name: &str, at: At, origin: &Origin<'_>) {
        if name == MALFORMED || name == LIMIT_EXCEEDED {
            return;
        }
        let (name, inside) = (excerpt(name), origin.pointer.to_string());
        let pointer = format!("{}{inside}", origin.pointer_prefix);
        if at.0 == 0 && pointer.is_empty() {
            let is_listed =
                self.unplaced.len() < MAX_DRIFT_ROWS || self.unplaced.contains_key(&name);
            *self
                .unplaced
                .entry(if is_listed { name } else { OTHER.to_owned() })
                .or_default() += 1;
            return;
        }
        let place = self.place(at, pointer.clone());
        self.group(at).add(
            (Change::UnknownType, name, excerpt(&pattern(&inside))),
            1,
            || place,
        );
        if self.reported.len() < MAX_REPORTED {
            self.reported.insert((at, pointer));
        }
    }

    /// In a document, where no change has a place, the first version that is given wrote everything.
    fn add_version(&mut self, at: At, version: Option<String>) {
        let is_full = self.versions.len() >= MAX_VERSIONS;
        match self.versions.last_mut() {
            Some((_, last)) if *last == version => {}
            Some((since, last)) if *since >= at => *last = last.take().or(version),
            _ if is_full => {}
            _ => self.versions.push((at, version)),
        }
    }

    fn version(&self, at: At) -> Option<&str> {
        let after = self.versions.partition_point(|(since, _)| *since <= at);
        self.versions[..after]
            .last()
            .and_then(|(_, version)| version.as_deref())
    }

    /// The group of the version that wrote a record.
    fn group(&mut self, at: At) -> &mut Group {
        let version = self.version(at).map(str::to_owned);
        let group = self
            .report
            .group(self.descriptor.harness_family, version.as_deref());
        group.sessions = 1;
        group
    }

    fn place(&self, (line, part): At, pointer: String) -> Place {
        Place {
            path: self.path.clone(),
            line,
            part,
            pointer,
        }
    }

    fn table(&self) -> Option<&'static MemberTable> {
        self.descriptor
            .members
            .and_then(|members| members.table().ok())
    }

    fn lines(&mut self, mut source: impl BufRead) -> io::Result<()> {
        let (mut bytes, mut number) = (Vec::new(), 0);
        while source.read_until(b'\n', &mut bytes)? > 0 {
            number += 1;
            let line = if number == 1 {
                bytes.strip_prefix(BOM).unwrap_or(&bytes)
            } else {
                &bytes
            };
            self.line(&String::from_utf8_lossy(&line[controls(line)..]), number);
            bytes.clear();
        }
        // A version that wrote nothing but its name is listed, too.
        self.group((number, 0));
        Ok(())
    }

    /// Compares the values of a line. What follows after text that is not JSON is not compared: only the adapter knows where it continues.
    fn line(&mut self, text: &str, number: u64) {
        let (mut rest, mut part) = (text, 0);
        while !rest.trim_ascii().is_empty() {
            let Ok(end) = first_value(rest) else { return };
            self.value(&rest[..end], (number, part));
            rest = &rest[end..];
            part += 1;
        }
    }

    fn value(&mut self, text: &str, at: At) {
        self.group(at).records += 1;
        self.compare(at, |compare| {
            if let Some(root) = RawNode::parse(text) {
                compare.record_at(&Path::root(root));
            }
        });
    }

    fn document(&mut self, mut source: impl BufRead) -> io::Result<()> {
        let mut bytes = Vec::new();
        source.read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(bytes.strip_prefix(BOM).unwrap_or(&bytes));
        // Of a document that is cut off or broken, the complete items.
        let text = if RawNode::parse(&text).is_some() {
            text
        } else {
            Cow::Owned(complete_items(&text).map_or(String::new(), |valid| valid.text))
        };
        self.group((0, 0)).records += self.ledger.records;
        let root = RawNode::parse(&text);
        let shape = self
            .table()
            .zip(root)
            .and_then(|(table, root)| table.document(root));
        self.group((0, 0)).is_unchecked |= shape.is_none();
        self.compare((0, 0), |compare| {
            if let Some((shape, root)) = shape.zip(root) {
                compare.document(shape, root);
            }
        });
        Ok(())
    }

    /// Calls `with` with a comparison of what is at this location, if the adapter has a table.
    fn compare(&mut self, at: At, with: impl FnOnce(&mut Compare<'_>)) {
        let Some(table) = self.table() else {
            self.group(at).is_unchecked = true;
            return;
        };
        let place = self.place(at, String::new());
        let (reported, descriptor) = (std::mem::take(&mut self.reported), self.descriptor);
        let is_reported =
            |pointer: &str| !reported.is_empty() && reported.contains(&(at, pointer.to_owned()));
        with(&mut Compare::new(
            &descriptor,
            table,
            place,
            &is_reported,
            self.group(at),
        ));
        self.reported = reported;
    }

    /// Adds the unknown types of records without a place, unless the table shows where they are.
    fn unplaced_types(&mut self) {
        let unplaced = std::mem::take(&mut self.unplaced);
        if unplaced.is_empty() || self.group((0, 0)).unknown_records() >= unplaced.values().sum() {
            return;
        }
        for (name, number) in unplaced {
            let place = self.place((0, 0), String::new());
            let group = self.group((0, 0));
            if !group.has(&Change::UnknownType, &name, "") {
                group.add((Change::UnknownType, name, String::new()), number, || place);
            }
        }
    }

    /// Adds the members that only the conversion finds: the adapter knows more about a record, such as the tool that a result belongs to.
    fn members_of_the_conversion(&mut self) {
        for member in std::mem::take(&mut self.ledger.unknown.listed) {
            let at = (member.first.line, member.first.part);
            let change = match member.found {
                Some(found) => Change::TypeChange {
                    expected: None,
                    found,
                },
                None if member.pointer.is_empty() => Change::UnknownType,
                None => Change::UnknownMember,
            };
            let place = self.place(at, String::new());
            let group = self.group(at);
            if !group.has(&change, &member.record, &member.pointer) {
                group.add(
                    (change, member.record, member.pointer),
                    member.count,
                    || place,
                );
            }
        }
    }
}
