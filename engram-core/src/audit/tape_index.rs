//! What a tape holds, for looking up what a source says.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hasher};

use serde_json::value::RawValue;

use super::walk::Walk;
use crate::event::Kind;
use crate::tape::{Members, RawEvent, TapeError, raw_events};
use crate::text::{Text, push_text};

/// A record of a line format: physical line, and index on that line.
pub(super) type RecordKey = (u64, u64);

/// One row of the ledger's `omitted`.
pub(super) struct OmittedRow {
    pub record: String,
    pub rule: String,
    pub count: u64,
}

/// A tape as the audit asks for it.
#[derive(Default)]
pub(super) struct TapeIndex<'t> {
    /// Every string value of the tape, as eight bytes.
    strings: HashSet<u64>,
    /// The lines of the tape whose events come from a record of a line format.
    by_record: BTreeMap<RecordKey, Vec<&'t str>>,
    /// The same for documents, whose records are items of a list.
    by_pointer: HashMap<String, Vec<&'t str>>,
    /// Records that are on the tape by size and hash only.
    hashed: HashMap<RecordKey, &'t str>,
    /// Records that are on the tape as they are.
    raw: HashMap<RecordKey, Text<'t>>,
    /// What stands in the tape as it is of a document that is no JSON to its end.
    tail: Option<Text<'t>>,
    /// Some event names a line.
    names_lines: bool,
    /// Records that gave events, as the ledger has it.
    with_events: u64,
    pub records: u64,
    pub omitted: Vec<OmittedRow>,
    pub complete: bool,
}

impl<'t> TapeIndex<'t> {
    pub fn of(tape: &'t str) -> Result<Self, TapeError> {
        let mut index = TapeIndex { complete: true, ..TapeIndex::default() };
        for (event, line) in raw_events(tape).zip(tape.split_inclusive('\n')) {
            let event = event?;
            let mut walk = Walk::of_json(line);
            while let Some(token) = walk.next_string() {
                index.strings.insert(key(&token));
            }
            index.place(&event, line);
            if event.label() == Some("tape.stop") {
                index.stop(&event.fields);
            }
        }
        Ok(index)
    }

    /// Remembers where an event comes from. A revision is of the artifact, not of the record at which it shows.
    fn place(&mut self, event: &RawEvent<'t>, line: &'t str) {
        let origin = &event.origin;
        self.names_lines |= origin.line.is_some();
        if origin.is_empty() && event.label() == Some("unrecognized") {
            self.tail = event.fields.text("raw");
        }
        if origin.is_empty() || event.label() == Some("revision") {
            return;
        }
        let Some(number) = origin.line else {
            let pointer = origin.pointer.to_string();
            return self.by_pointer.entry(document_record(&pointer).to_owned()).or_default().push(line);
        };
        self.by_record.entry((number, origin.part)).or_default().push(line);
        if event.kind == Kind::Meta && event.label() == Some("unrecognized") {
            let record = (number, origin.part);
            self.hashed.extend(event.fields.word("hash").map(|hash| (record, hash)));
            self.raw.extend(event.fields.text("raw").map(|raw| (record, raw)));
        }
    }

    fn stop(&mut self, stop: &Members<'_>) {
        let ledger = stop.object("ledger").unwrap_or_default();
        self.records = ledger.count("records").unwrap_or_default();
        self.with_events = ["mapped", "unrecognized", "malformed"].iter().filter_map(|name| ledger.count(name)).sum();
        self.complete = stop.get("complete").is_none_or(|raw| raw.get() == "true");
        let rows = ledger.get("omitted").and_then(|raw| serde_json::from_str::<Vec<&RawValue>>(raw.get()).ok());
        self.omitted = rows.unwrap_or_default().iter().filter_map(|row| omitted_row(row)).collect();
    }

    /// True when the text stands in the tape as it is.
    pub fn has(&self, text: Text<'_>) -> bool {
        self.strings.contains(&key(&canonical(text)))
    }

    /// True when the tape is of a document: records gave events, and none of these names a line.
    pub fn is_of_document(&self) -> bool {
        !self.names_lines && (!self.by_pointer.is_empty() || self.with_events > 0)
    }

    /// The lines of the tape that come from a record.
    pub fn lines_of(&self, record: RecordKey) -> &[&'t str] {
        self.by_record.get(&record).map_or(&[], Vec::as_slice)
    }

    /// The lines of the tape that come from a record of a document.
    pub fn lines_under(&self, record: &str) -> &[&'t str] {
        self.by_pointer.get(record).map_or(&[], Vec::as_slice)
    }

    /// The lines of the tape that come from anywhere on a line.
    pub fn lines_on(&self, number: u64) -> Vec<&'t str> {
        self.lines_from((number, 0)).collect()
    }

    /// The lines of the tape that come from a record or one after it on the same line.
    pub fn lines_from(&self, record: RecordKey) -> impl Iterator<Item = &'t str> {
        self.by_record.range(record..(record.0 + 1, 0)).flat_map(|(_, lines)| lines).copied()
    }

    /// The hash that stands in the tape for a record over a limit.
    pub fn hash_of(&self, record: RecordKey) -> Option<&'t str> {
        self.hashed.get(&record).copied()
    }

    /// The end of a document that stands in the tape as it is.
    pub fn tail(&self) -> Option<Cow<'t, str>> {
        self.tail.map(|tail| tail.decode_lossy())
    }

    /// The text that stands in the tape for a record that is not understood.
    pub fn raw_of(&self, record: RecordKey) -> Option<Cow<'t, str>> {
        self.raw.get(&record).map(|raw| raw.decode_lossy())
    }
}

/// The record that a place in a document belongs to: the outermost item of a list on the way there, or what is beside all lists.
pub(super) fn document_record(pointer: &str) -> &str {
    let mut end = 0;
    for segment in pointer.split('/').skip(1) {
        end += 1 + segment.len();
        if !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit()) {
            return &pointer[..end];
        }
    }
    ""
}

fn omitted_row(row: &RawValue) -> Option<OmittedRow> {
    let row = Members::of(row.get()).ok()?;
    let text = |key| row.text(key).map(|text| text.decode_lossy().into_owned());
    Some(OmittedRow { record: text("type")?, rule: text("rule")?, count: row.count("count")? })
}

/// The canonical token of a text, borrowed where it already is.
fn canonical(text: Text<'_>) -> Cow<'_, str> {
    match text {
        Text::Token(token) if !token.contains('\\') => Cow::Borrowed(token),
        text => {
            let mut out = String::new();
            push_text(&mut out, text);
            Cow::Owned(out)
        }
    }
}

fn key(token: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(token.as_bytes());
    hasher.finish()
}
