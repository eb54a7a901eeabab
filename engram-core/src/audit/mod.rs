//! The audit: accounts for every content string of a source, without using the code of the adapter.
//!
//! Each content string of the source's JSON must be in the tape, or in a record or field that a rule of the descriptor omits. Any other
//! string was lost. The source is streamed. The tape must be in memory; the index over it takes a few bytes per string.

mod leaves;
mod record;
mod report;
mod rules;
mod tape_index;
mod tokens;
mod walk;

use std::collections::{BTreeMap, HashSet};
use std::io::{self, BufRead};

use memchr::memmem;
use serde_json::value::RawValue;

use crate::descriptor::AdapterDescriptor;
use crate::error::excerpt;
use crate::hash::Hash;
use crate::input::head::{BOM, first_value};
use crate::input::terminal::controls;
use crate::input::truncation::complete_items;
use crate::json::is_cut;
use crate::keys::hash64;
use crate::members::{MemberTable, RawNode};
use crate::tape::TapeError;
use crate::text::Text;
use crate::text::canonical::with_canonical_escapes;
use record::{Fates, Known, Record};
pub use report::{Amount, AuditReport, Leaves, LeftOver, UnknownMember};
pub use rules::record_type;
use tape_index::{RecordKey, TapeIndex, document_record};
pub use tokens::{TokenMember, Tokens};
use walk::Walk;

/// The name in the report for records that exceed a limit.
const LIMIT: &str = "limit_exceeded";
/// The name in the report for control sequences of a terminal.
const TERMINAL: &str = "terminal_controls";
/// The maximum number of disagreements in a report.
const MAX_DISAGREEMENTS: usize = 50;
/// The maximum number of passes over a broken line in search of the next record.
const RESYNC_PASSES: usize = 32;

/// Why an audit failed.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The source could not be read.
    #[error("the source could not be read: {0}")]
    Io(#[from] io::Error),
    /// A line of the tape is not an event.
    #[error(transparent)]
    Tape(#[from] TapeError),
}

/// Audits a tape against the artifact that it was converted from, with the rules of the adapter's descriptor.
///
/// # Errors
/// If the source cannot be read, or a line of the tape is not an event. Lost text is not an error; it is in the report.
pub fn audit(
    source: impl BufRead,
    tape: &str,
    descriptor: &AdapterDescriptor,
) -> Result<AuditReport, AuditError> {
    let index = TapeIndex::of(tape)?;
    let table = descriptor.members.and_then(|members| members.table().ok());
    let report = AuditReport {
        unknown_members: index.unknown.clone(),
        ..AuditReport::default()
    };
    let mut audit = Audit {
        index: &index,
        descriptor,
        table,
        report,
        repeated_fragments: 0,
        eventless: BTreeMap::new(),
        read: HashSet::new(),
        is_broken: false,
    };
    if index.is_of_document() {
        audit.document(source)?;
    } else {
        audit.lines(source)?;
        audit.count();
    }
    audit.rows();
    audit.tokens();
    audit.report.add_unmet();
    Ok(audit.report)
}

struct Audit<'a> {
    index: &'a TapeIndex<'a>,
    descriptor: &'a AdapterDescriptor,
    /// The adapter's member table.
    table: Option<&'a MemberTable>,
    report: AuditReport,
    /// Texts that are not JSON, gave no event, and are in the tape verbatim: repeats of such a text.
    repeated_fragments: u64,
    /// Records that gave no event, by type.
    eventless: BTreeMap<String, u64>,
    /// Hashes of the records that were read.
    read: HashSet<u64>,
    /// True if a line contained something other than JSON values. Then only the adapter knows how it divides the line into records.
    is_broken: bool,
}

impl<'a> Audit<'a> {
    fn record<'r>(
        &self,
        line: u64,
        text: &'r str,
        lines: Vec<&'r str>,
        gave_events: bool,
    ) -> Record<'r>
    where
        'a: 'r,
    {
        let (fates, known) = (Fates::default(), Known::default());
        Record {
            index: self.index,
            descriptor: self.descriptor,
            line,
            text,
            lines,
            gave_events,
            is_repeated: false,
            fates,
            known,
        }
    }

    fn lines(&mut self, mut source: impl BufRead) -> io::Result<()> {
        let (mut bytes, mut number) = (Vec::new(), 0);
        while source.read_until(b'\n', &mut bytes)? > 0 {
            number += 1;
            let (line, terminated) = bytes
                .strip_suffix(b"\n")
                .map_or((&bytes[..], false), |line| (line, true));
            self.line(line, number, terminated);
            bytes.clear();
        }
        Ok(())
    }

    fn line(&mut self, bytes: &[u8], number: u64, terminated: bool) {
        if self.is_hashed(bytes, (number, 0)) {
            return;
        }
        let bytes = if number == 1 {
            bytes.strip_prefix(BOM).unwrap_or(bytes)
        } else {
            bytes
        };
        let may_be_cut = !terminated && !self.index.complete;
        match str::from_utf8(bytes) {
            Ok(text) => self.split_line(text, number, may_be_cut),
            // The artifact ends inside a character. The records before it may still be complete.
            Err(error) if may_be_cut && error.error_len().is_none() => {
                self.split_line(
                    str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
                    number,
                    true,
                );
            }
            // The tape has a broken piece with each broken character replaced; records beside the piece are divided as on any line.
            Err(_) => self.split_line(&String::from_utf8_lossy(bytes), number, false),
        }
    }

    /// Audits the values of a line, and the text between them.
    fn split_line(&mut self, text: &str, number: u64, may_be_cut: bool) {
        let (mut rest, mut part, mut is_broken) = (self.without_controls(text, number), 0, false);
        while !rest.trim_ascii().is_empty() {
            let key = (number, part);
            let value = first_value(rest);
            let raw = self
                .index
                .raw_of(key)
                .filter(|raw| !raw.is_empty() && rest.starts_with(&**raw));
            let end = match (value, raw) {
                // With its broken characters replaced, a broken piece may read as a value.
                (value, Some(raw))
                    if value.is_err() || raw.contains(char::REPLACEMENT_CHARACTER) =>
                {
                    self.fragment(&raw, key);
                    raw.len()
                }
                (Ok(end), _) => {
                    self.value(&rest[..end], key, is_broken);
                    end
                }
                (Err(ends_early), _) => {
                    let next = resync(rest, may_be_cut.then_some(usize::from(ends_early)));
                    // Before the first fragment that is not in the tape verbatim, the adapter divides the line in the same way.
                    let gave_events = self
                        .index
                        .lines_from(if is_broken { (number, 0) } else { key })
                        .next()
                        .is_some();
                    if ends_early && may_be_cut && (next.is_none() || !gave_events) {
                        self.is_broken |= next.is_some() || gave_events;
                        return self.report.cut.add(rest.len());
                    }
                    let end = next.unwrap_or(rest.len());
                    self.fragment(&rest[..end], key);
                    is_broken = true;
                    end
                }
            };
            rest = &rest[end..];
            part += 1;
        }
    }

    /// The line without the control sequences of a terminal before its record. If the line is in the tape verbatim, they are part of it.
    fn without_controls<'t>(&mut self, text: &'t str, number: u64) -> &'t str {
        let (before, record) = text.split_at(controls(text.as_bytes()));
        if before.is_empty()
            || self
                .index
                .raw_of((number, 0))
                .is_some_and(|raw| raw.starts_with(before))
        {
            return text;
        }
        self.report
            .omitted
            .entry(TERMINAL.to_owned())
            .or_default()
            .add(before.len());
        record
    }

    /// Audits a JSON value, which is one record.
    fn value(&mut self, text: &str, key: RecordKey, is_broken: bool) {
        if key.1 > 0 && self.is_hashed(text.as_bytes(), key) {
            return;
        }
        self.report.records += 1;
        let own = self.index.lines_of(key).to_vec();
        let gave_events = !own.is_empty();
        let is_repeated = !self.read.insert(hash64(text)) && !gave_events;
        let text = &*with_canonical_escapes(text);
        // On a broken line the adapter may count the values differently.
        let lines = if is_broken {
            self.index.lines_on(key.0)
        } else {
            own
        };
        let mut record = Record {
            is_repeated,
            ..self.record(key.0, text, lines, gave_events)
        };
        if !gave_events {
            if record.omitted_by().is_none() && !is_broken {
                self.disagree(format!(
                    "line {}: a record of type `{}` gave no event, and no rule omits it",
                    key.0,
                    excerpt(record.kind())
                ));
            }
            *self.eventless.entry(record.kind().to_owned()).or_default() += 1;
        }
        if let Some(table) = self.table {
            record.fates = leaves::audit_record(&record, table, text, &mut self.report);
        }
        let mut walk = Walk::of_json(text);
        while let Some(token) = walk.next_string() {
            record.judge(&token, walk.levels(), walk.levels(), &mut self.report);
        }
    }

    /// Audits text that is not JSON. It must be in the tape verbatim, or the strings that can be read from it must be.
    fn fragment(&mut self, text: &str, key: RecordKey) {
        self.report.records += 1;
        // White space around it is not content.
        if [text, text.trim_ascii()]
            .into_iter()
            .any(|text| self.index.has(Text::Plain(text)))
        {
            self.repeated_fragments += u64::from(self.index.lines_of(key).is_empty());
            return self.report.in_tape.add(text.len());
        }
        self.is_broken = true;
        let gave_events = !self.index.lines_of(key).is_empty();
        let record = self.record(key.0, text, self.index.lines_on(key.0), gave_events);
        let mut walk = Walk::of_fragment(text);
        let mut is_empty = true;
        while let Some(token) = walk.next_string() {
            is_empty = false;
            record.judge(&token, walk.levels(), walk.levels(), &mut self.report);
        }
        if is_empty {
            record.leave(text, text.len(), String::new(), &mut self.report);
        }
    }

    /// True if the tape has only size and hash of this record, because it exceeds a limit.
    fn is_hashed(&mut self, bytes: &[u8], key: RecordKey) -> bool {
        let is_hashed = self
            .index
            .hash_of(key)
            .is_some_and(|hash| hash == Hash::of_bytes(bytes).to_string());
        if is_hashed {
            self.report.records += 1;
            self.report
                .omitted
                .entry(LIMIT.to_owned())
                .or_default()
                .add(bytes.len());
        }
        is_hashed
    }

    fn document(&mut self, mut source: impl BufRead) -> io::Result<()> {
        let mut bytes = Vec::new();
        source.read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(bytes.strip_prefix(BOM).unwrap_or(&bytes));
        let text = with_canonical_escapes(self.valid_part(&text));
        let text = &*text;
        let value = first_value(text);
        let end = value.unwrap_or(text.len());
        self.report.records = self.index.records;
        let mut walk = if value.is_ok() {
            Walk::of_json(&text[..end])
        } else {
            Walk::of_fragment(text)
        };
        let fates = if value.is_ok() {
            self.document_leaves(&text[..end])
        } else {
            Fates::default()
        };
        let mut current: Option<(String, Record<'_>)> = None;
        while let Some(token) = walk.next_string() {
            let levels = walk.levels();
            let pointer = walk::pointer(levels);
            let own = document_record(&pointer);
            let depth = own.matches('/').count();
            if current.as_ref().is_none_or(|(known, _)| known != own) {
                let lines = self.index.lines_under(own).to_vec();
                let gave_events = !lines.is_empty();
                let text = levels
                    .get(depth)
                    .filter(|_| depth > 0)
                    .map_or("", |level| &text[level.start..end]);
                let record = self.record(0, text, lines, gave_events);
                current = Some((
                    own.to_owned(),
                    Record {
                        fates: fates.clone(),
                        ..record
                    },
                ));
            }
            if let Some((_, record)) = &current {
                record.judge(&token, levels, &levels[depth..], &mut self.report);
            }
        }
        if !text[end..].trim_ascii().is_empty() {
            self.fragment(&text[end..], (0, 0));
        }
        Ok(())
    }

    /// Accounts for the leaf values of a document.
    fn document_leaves<'r>(&mut self, text: &'r str) -> Fates
    where
        'a: 'r,
    {
        let root = RawNode::parse(text);
        let Some((table, document)) = self
            .table
            .and_then(|table| Some((table, table.document(root?)?)))
        else {
            return Fates::default();
        };
        let mut report = std::mem::take(&mut self.report);
        let audit = &*self;
        let records = |pointer: &str, item: &'r str| -> Option<Record<'r>> {
            let lines = audit.index.lines_under(document_record(pointer)).to_vec();
            let gave_events = !lines.is_empty();
            Some(audit.record(0, item, lines, gave_events))
        };
        let fates = leaves::audit_document(
            &records,
            self.descriptor,
            (table, document),
            text,
            &mut report,
        );
        self.report = report;
        fates
    }

    /// The part of a document before the position where it is truncated, or from which on it is broken and kept verbatim.
    fn valid_part<'t>(&mut self, text: &'t str) -> &'t str {
        if let Some(valid) = self.index.tail().and_then(|tail| text.strip_suffix(&*tail)) {
            self.report.in_tape.add(text.len() - valid.len());
            return valid;
        }
        let prefix = complete_items(text).filter(|_| !self.index.complete);
        let (valid, cut) = text.split_at(prefix.map_or(text.len(), |prefix| prefix.end));
        if !cut.is_empty() {
            self.report.cut.add(cut.len());
        }
        valid
    }

    /// Compares the counts of the ledger with those of the source.
    fn count(&mut self) {
        if self.is_broken {
            return;
        }
        if self.report.records != self.index.records {
            self.disagree(format!(
                "the source has {} records, but the ledger counts {}",
                self.report.records, self.index.records
            ));
        }
        let mut listed = BTreeMap::new();
        for row in &self.index.omitted {
            if self
                .descriptor
                .rule(&row.rule)
                .is_some_and(rules::is_record_rule)
            {
                *listed.entry(row.record.clone()).or_default() += row.count;
            }
        }
        let types: Vec<String> = listed
            .keys()
            .chain(self.eventless.keys())
            .cloned()
            .collect();
        for record in types {
            let (counted, found) = (
                listed.remove(&record).unwrap_or(0),
                self.eventless.remove(&record).unwrap_or(0),
            );
            // The audit does not know how the adapter names a text that is not JSON.
            let fragments = counted.saturating_sub(found).min(self.repeated_fragments);
            self.repeated_fragments -= fragments;
            if counted != found + fragments {
                self.disagree(format!(
                    "{found} records of type `{}` gave no event, but the ledger omits {counted}",
                    excerpt(&record)
                ));
            }
        }
    }

    /// Checks that each row of `omitted` names a rule for its type.
    fn rows(&mut self) {
        for row in &self.index.omitted {
            let is_by_rule = !matches!(row.rule.as_str(), "unrecognized" | "malformed");
            let named =
                rules::record_rules(self.descriptor, &row.record).any(|rule| rule.rule == row.rule);
            if is_by_rule && !named {
                self.disagree(format!(
                    "the ledger omits `{}` by `{}`, which is not a rule for it",
                    excerpt(&row.record),
                    excerpt(&row.rule)
                ));
            }
        }
    }

    /// Puts the usage of the tape beside what the source calls tokens.
    fn tokens(&mut self) {
        self.report.tokens.tape.clone_from(&self.index.tokens);
        self.report
            .tokens
            .replayed
            .clone_from(&self.index.replayed_tokens);
    }

    fn disagree(&mut self, what: String) {
        if self.report.disagreements.len() < MAX_DISAGREEMENTS {
            self.report.disagreements.push(what);
        }
    }
}

/// The offset from which on the line is a sequence of JSON values. The last one may be truncated if at least `before_cut` complete values
/// come before it.
fn resync(text: &str, before_cut: Option<usize>) -> Option<usize> {
    let mut budget = RESYNC_PASSES.saturating_mul(text.len());
    let lead = text.len() - text.trim_ascii_start().len();
    for at in memmem::find_iter(text.as_bytes(), b"{\"").filter(|at| *at > lead) {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<&RawValue>();
        let mut failed = None;
        let complete = values
            .by_ref()
            .map_while(|value| value.map_err(|error| failed = Some(error)).ok())
            .count();
        match failed {
            None => return Some(at),
            Some(error)
                if is_cut(&text[at..], &error)
                    && before_cut.is_some_and(|least| complete >= least) =>
            {
                return Some(at);
            }
            // The text is one line, so the column is the number of bytes read.
            Some(error) => budget = budget.checked_sub(error.column())?,
        }
    }
    None
}
