//! An index over a tape: its strings, and its lines by source record.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hasher};

use memchr::memmem;
use serde_json::value::RawValue;

use super::report::UnknownMember;
use super::walk::Walk;
use crate::tape::{Members, RawEvent, TapeError, raw_events};
use crate::text::{Text, push_text};
use crate::time::utc;

/// A record of a line format: 1-based physical line, and index on that line.
pub(super) type RecordKey = (u64, u64);

/// One row of the ledger's `omitted`.
pub(super) struct OmittedRow {
    pub record: String,
    pub rule: String,
    pub count: u64,
}

/// What the audit reads of a usage event.
#[derive(serde::Deserialize)]
struct Usage {
    #[serde(default)]
    tokens: BTreeMap<String, u64>,
    #[serde(default)]
    replay: bool,
}

/// A tape, indexed for the audit.
#[derive(Default)]
pub(super) struct TapeIndex<'t> {
    tape: &'t str,
    /// Where the last words were found: pieces of a text come in its order.
    found: Cell<usize>,
    /// Hashes of all string values of the tape.
    strings: HashSet<u64>,
    /// Hashes of all numbers, booleans and `null`s of the tape, as they are written.
    literals: HashSet<u64>,
    /// True if the tape has a `meta unrecognized`.
    has_unrecognized: bool,
    /// Lines of the tape by record, for line formats.
    by_record: BTreeMap<RecordKey, Vec<&'t str>>,
    /// Lines of the tape by record, for documents, where records are items of a list.
    by_pointer: HashMap<String, Vec<&'t str>>,
    /// Records of which the tape has only size and hash.
    hashed: HashMap<RecordKey, &'t str>,
    /// Records that are in the tape verbatim.
    raw: HashMap<RecordKey, Text<'t>>,
    /// The end of a broken document, which is in the tape verbatim.
    tail: Option<Text<'t>>,
    /// True if the origin of some event has a line.
    names_lines: bool,
    /// The number of records that gave events, from the ledger.
    with_events: u64,
    pub records: u64,
    pub omitted: Vec<OmittedRow>,
    /// The unknown members that the ledger lists.
    pub unknown: Vec<UnknownMember>,
    /// True if there are more than it lists.
    has_more_unknown: bool,
    pub complete: bool,
    /// The sums of usage events by the name of the count, replays apart.
    pub tokens: BTreeMap<String, u64>,
    /// The same sums of replays.
    pub replayed_tokens: BTreeMap<String, u64>,
}

impl<'t> TapeIndex<'t> {
    pub fn of(tape: &'t str) -> Result<Self, TapeError> {
        let mut index = TapeIndex {
            tape,
            complete: true,
            ..TapeIndex::default()
        };
        for (event, line) in raw_events(tape).zip(tape.split_inclusive('\n')) {
            let event = event?;
            let mut walk = Walk::of_json(line);
            while let Some(leaf) = walk.next_leaf() {
                let leaves = if leaf.starts_with('"') {
                    &mut index.strings
                } else {
                    &mut index.literals
                };
                leaves.insert(key(&leaf));
            }
            index.has_unrecognized |= event.label() == Some("unrecognized");
            index.add_origin(&event, line);
            if event.label() == Some("usage") {
                index.add_usage(line);
            }
            if event.label() == Some("tape.stop") {
                index.stop(&event.fields);
            }
        }
        Ok(index)
    }

    fn add_usage(&mut self, line: &str) {
        let Ok(usage) = serde_json::from_str::<Usage>(line) else {
            return;
        };
        let sums = if usage.replay {
            &mut self.replayed_tokens
        } else {
            &mut self.tokens
        };
        for (name, count) in usage.tokens {
            let sum = sums.entry(name).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// Adds the origin of an event. A revision belongs to the artifact, not to the record where it is found.
    fn add_origin(&mut self, event: &RawEvent<'t>, line: &'t str) {
        let origin = &event.envelope.origin;
        self.names_lines |= origin.line.is_some();
        if origin.is_empty() && event.label() == Some("unrecognized") {
            self.tail = event.fields.text("raw");
        }
        if origin.is_empty() || event.label() == Some("revision") {
            return;
        }
        let Some(number) = origin.line else {
            let pointer = origin.pointer.to_string();
            return self
                .by_pointer
                .entry(document_record(&pointer).to_owned())
                .or_default()
                .push(line);
        };
        self.by_record
            .entry((number, origin.part))
            .or_default()
            .push(line);
        if event.label() == Some("unrecognized") {
            let record = (number, origin.part);
            self.hashed
                .extend(event.fields.word("hash").map(|hash| (record, hash)));
            self.raw
                .extend(event.fields.text("raw").map(|raw| (record, raw)));
        }
    }

    fn stop(&mut self, stop: &Members<'_>) {
        let ledger = stop.object("ledger").unwrap_or_default();
        self.records = ledger.count("records").unwrap_or_default();
        self.with_events = ["mapped", "unrecognized", "malformed"]
            .iter()
            .filter_map(|name| ledger.count(name))
            .sum();
        self.complete = stop.get("complete").is_none_or(|raw| raw == "true");
        let rows = ledger
            .get("omitted")
            .and_then(|raw| serde_json::from_str::<Vec<&RawValue>>(raw).ok());
        self.omitted = rows
            .unwrap_or_default()
            .iter()
            .filter_map(|row| omitted_row(row.get()))
            .collect();
        let rows = ledger
            .get("unknown_members")
            .and_then(|raw| serde_json::from_str::<Vec<&RawValue>>(raw).ok());
        self.unknown = rows
            .unwrap_or_default()
            .iter()
            .filter_map(|row| unknown_row(row.get()))
            .collect();
        self.has_more_unknown = ledger.count("unknown_members_more").unwrap_or_default() > 0;
    }

    /// True if the ledger counts the member at this pointer of records of this type as unknown.
    pub fn has_unknown(&self, record: &str, pattern: &str) -> bool {
        self.has_more_unknown || self.unknown.iter().any(|row| row.is(record, pattern))
    }

    /// True if the tape has this time, in its own form.
    pub fn has_time(&self, text: Text<'_>) -> bool {
        utc(&text.decode_lossy()).is_some_and(|time| self.has(Text::Plain(&time)))
    }

    /// True if the tape has exactly this string.
    pub fn has(&self, text: Text<'_>) -> bool {
        self.strings.contains(&key(&canonical(text)))
    }

    /// True if some string of the tape has these words. Half a character, as a stream may cut it, is not searched for.
    pub fn has_words(&self, text: Text<'_>) -> bool {
        let token = canonical(text);
        let words = token.get(1..token.len() - 1).unwrap_or_default();
        let words = without_halves(words);
        let search = |from: usize| {
            let tape = self.tape.get(from..)?;
            Some(from + memmem::find(tape.as_bytes(), words.as_bytes())?)
        };
        // The words of the next piece are near those of the last one.
        let place = search(self.found.get()).or_else(|| search(0));
        place.inspect(|at| self.found.set(*at)).is_some()
    }

    /// True if the tape has this number, written in the same way.
    pub fn has_number(&self, number: &str) -> bool {
        self.literals.contains(&key(number))
    }

    /// True if the tape has a record or block that the adapter does not know.
    pub fn has_unrecognized(&self) -> bool {
        self.has_unrecognized
    }

    /// True if the artifact is a document: it has events, and none of them has a line.
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

    /// The lines of the tape that come from any record on a line.
    pub fn lines_on(&self, number: u64) -> Vec<&'t str> {
        self.lines_from((number, 0)).collect()
    }

    /// The lines of the tape that come from a record or one after it on the same line.
    pub fn lines_from(&self, record: RecordKey) -> impl Iterator<Item = &'t str> {
        self.by_record
            .range(record..(record.0 + 1, 0))
            .flat_map(|(_, lines)| lines)
            .copied()
    }

    /// The hash in the tape of a record that exceeds a limit.
    pub fn hash_of(&self, record: RecordKey) -> Option<&'t str> {
        self.hashed.get(&record).copied()
    }

    /// The end of a broken document that is in the tape verbatim.
    pub fn tail(&self) -> Option<Cow<'t, str>> {
        self.tail.map(|tail| tail.decode_lossy())
    }

    /// The text of an unrecognized record that is in the tape verbatim.
    pub fn raw_of(&self, record: RecordKey) -> Option<Cow<'t, str>> {
        self.raw.get(&record).map(|raw| raw.decode_lossy())
    }
}

/// The record that a pointer in a document belongs to: the outermost list item on its path, or `""` if it is not in a list.
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

fn omitted_row(row: &str) -> Option<OmittedRow> {
    let row = Members::of(row).ok()?;
    let text = |key| row.text(key).map(|text| text.decode_lossy().into_owned());
    Some(OmittedRow {
        record: text("type")?,
        rule: text("rule")?,
        count: row.count("count")?,
    })
}

fn unknown_row(row: &str) -> Option<UnknownMember> {
    let row = Members::of(row).ok()?;
    let text = |key| row.text(key).map(|text| text.decode_lossy().into_owned());
    Some(UnknownMember {
        record: text("type")?,
        pointer: text("pointer")?,
        count: row.count("count")?,
        is_walked: false,
    })
}

/// The canonical token of a text; borrowed if the text is one.
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

/// The words of a token without the half of a surrogate pair at either end.
fn without_halves(words: &str) -> &str {
    const LENGTH: usize = r"\ud83d".len();
    let is_half = |half: &str| half.starts_with(r"\ud");
    let words = match words.split_at_checked(LENGTH) {
        Some((half, rest)) if is_half(half) => rest,
        _ => words,
    };
    let end = words.len().checked_sub(LENGTH);
    match end.and_then(|end| words.split_at_checked(end)) {
        Some((rest, half)) if is_half(half) => rest,
        _ => words,
    }
}

fn key(token: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(token.as_bytes());
    hasher.finish()
}
