//! The audit of one record: each content string is in the tape, omitted by a rule, or left over.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

use serde::de::IgnoredAny;

use super::report::{Amount, AuditReport, LeftOver};
use super::rules::{field_rule, record_rules, record_type};
use super::tape_index::TapeIndex;
use super::walk::{Level, Walk, pointer};
use crate::descriptor::{AdapterDescriptor, Omission, OmissionRule};
use crate::error::excerpt;
use crate::members::{Fate, FateKind};
use crate::tape::Members;
use crate::text::Text;
use crate::text::json::push_json;

/// The maximum number of examples of left-over text in a report.
const MAX_EXAMPLES: usize = 50;
/// The maximum depth at which JSON inside JSON strings is searched.
const MAX_EMBEDDED_DEPTH: usize = 4;
/// Strings longer than this are content in any case.
const MAX_WORD_BYTES: usize = 64;

/// The type pattern of rules for repeated records.
const ANY_TYPE: &str = "*";

/// What the member table says about the strings of a record that are not in the tape as they are, by their pointers.
pub(super) type Fates = Rc<HashMap<String, Treatment>>;

/// How a string is treated that is not in the tape as it is.
#[derive(Debug, Clone)]
pub(super) enum Treatment {
    /// As the row of its member says.
    Row(Fate),
    /// The ledger counts its member as unknown.
    Unknown,
}

/// A record, and the lines of the tape that come from it.
pub(super) struct Record<'r> {
    pub index: &'r TapeIndex<'r>,
    pub descriptor: &'r AdapterDescriptor,
    /// Its 1-based physical line; 0 in a document.
    pub line: u64,
    /// Its text, which contains its type.
    pub text: &'r str,
    /// The lines of the tape that may contain its text.
    pub lines: Vec<&'r str>,
    /// True if it gave an event. Rules that omit records do not apply then.
    pub gave_events: bool,
    /// True if it gave no event, and all its bytes were read before.
    pub is_repeated: bool,
    /// What the member table says about its strings.
    pub fates: Fates,
    pub known: Known<'r>,
}

/// Facts about a record, computed when they are first needed.
#[derive(Default)]
pub(super) struct Known<'r> {
    kind: OnceCell<String>,
    tape_strings: OnceCell<Vec<String>>,
    texts: OnceCell<Vec<String>>,
    omitted_by: OnceCell<Option<&'r OmissionRule>>,
}

impl<'r> Record<'r> {
    /// Its type.
    pub fn kind(&self) -> &str {
        self.known
            .kind
            .get_or_init(|| record_type(self.descriptor, self.text))
    }

    /// The strings in its lines of the tape, decoded, with line ends normalised.
    fn tape_strings(&self) -> &[String] {
        self.known
            .tape_strings
            .get_or_init(|| decoded_strings(&self.lines))
    }

    /// The texts of its events.
    fn texts(&self) -> &[String] {
        let texts_of = |line: &&str| {
            let members = Members::of(line).ok();
            let of = |name| members.as_ref()?.text(name).map(normalised);
            ["text", "stdout", "stderr"].map(of)
        };
        self.known.texts.get_or_init(|| {
            let texts = self.lines.iter().flat_map(texts_of).flatten();
            texts.filter(|text| !text.is_empty()).collect()
        })
    }

    /// True if the text is what several events of this record say, one after the other: words of the harness around those of a person, or
    /// around what a command printed, have an event of their own, and the text of an error has a member of its own.
    fn is_split(&self, text: &str) -> bool {
        let mut rest = text.trim();
        let begins = |rest: &str| {
            self.texts()
                .iter()
                .map(|text| text.trim())
                .filter(|text| rest.starts_with(text))
                .map(str::len)
                .max()
        };
        while let Some(length) = begins(rest).filter(|length| *length > 0) {
            rest = rest[length..].trim_start();
        }
        rest.is_empty() && !text.trim().is_empty()
    }

    /// True if the ledger has records of this type that the rule omits.
    fn is_counted(&self, rule: &OmissionRule) -> bool {
        self.index
            .omitted
            .iter()
            .any(|row| row.rule == rule.rule && row.record == self.kind())
    }

    /// The rule that omits it, if it gave no event. A rule for records of all types is for repetitions: the same bytes, or a record that
    /// the ledger counts by this rule.
    pub fn omitted_by(&self) -> Option<&'r OmissionRule> {
        let rules = || record_rules(self.descriptor, self.kind()).filter(|_| !self.gave_events);
        let of_repeated = || {
            rules()
                .find(|rule| rule.record == ANY_TYPE && (self.is_repeated || self.is_counted(rule)))
        };
        let find = || of_repeated().or_else(|| rules().find(|rule| rule.record != ANY_TYPE));
        *self.known.omitted_by.get_or_init(find)
    }

    /// Accounts for one string. `levels` is its path from the root of the artifact, `own` from the root of the record.
    pub fn judge(
        &self,
        token: &str,
        levels: &[Level<'_>],
        own: &[Level<'_>],
        report: &mut AuditReport,
    ) {
        let text = Text::Token(token);
        if !is_content(text) {
            return;
        }
        let bytes = token.len() - 2;
        if self.index.has(text) {
            return report.in_tape.add(bytes);
        }
        let rule = self
            .omitted_by()
            .or_else(|| field_rule(self.descriptor, self.kind(), own))
            .or_else(|| {
                let of_root = own.len() != levels.len();
                of_root
                    .then(|| field_rule(self.descriptor, "", levels))
                    .flatten()
            });
        if let Some(rule) = rule {
            let by_rule = if rule.omission == Omission::Opaque {
                &mut report.opaque
            } else {
                &mut report.omitted
            };
            return by_rule.entry(rule.rule.to_owned()).or_default().add(bytes);
        }
        if self.is_in_tape(text, 0) {
            return report.in_tape.add(bytes);
        }
        if let Some(treatment) = self.fates.get(&pointer(levels)) {
            return amount_of(treatment, report).add(bytes);
        }
        self.leave(&text.decode_lossy(), bytes, pointer(levels), report);
    }

    /// Reports text as left over.
    pub fn leave(&self, text: &str, bytes: usize, pointer: String, report: &mut AuditReport) {
        report.left_over.add(bytes);
        if report.examples.len() < MAX_EXAMPLES {
            let (record, excerpt) = (self.kind().to_owned(), excerpt(text));
            report.examples.push(LeftOver {
                line: self.line,
                record,
                pointer,
                bytes: bytes as u64,
                excerpt,
            });
        }
    }

    /// True if the text is in the tape: as a string of its own, or in a string that comes from this record.
    pub fn has(&self, text: Text<'_>) -> bool {
        self.index.has(text) || self.is_in_tape(text, 0)
    }

    /// True if a string from this record in the tape contains the text, or if the text is JSON and all its strings are in the tape.
    fn is_in_tape(&self, text: Text<'_>, depth: usize) -> bool {
        let text = normalised(text);
        // The source may have cut the text between `\r` and `\n`.
        let text = text.strip_suffix('\r').unwrap_or(&text);
        self.tape_strings()
            .iter()
            .any(|string| string.contains(text))
            || self.is_split(text)
            || (depth < MAX_EMBEDDED_DEPTH && self.parts_are_in_tape(text, depth))
    }

    fn parts_are_in_tape(&self, json: &str, depth: usize) -> bool {
        if !json.trim_ascii_start().starts_with(['{', '['])
            || serde_json::from_str::<IgnoredAny>(json).is_err()
        {
            return false;
        }
        let mut compact = String::new();
        if push_json(&mut compact, json, usize::MAX).is_ok()
            && self.lines.iter().any(|line| line.contains(&compact))
        {
            return true;
        }
        let (mut walk, mut has_content, mut words) = (Walk::of_json(json), false, Vec::new());
        while let Some(token) = walk.next_string() {
            let text = Text::Token(&token);
            if !is_content(text) {
                words.push(normalised(text));
                continue;
            }
            has_content = true;
            if !self.index.has(text) && !self.is_in_tape(text, depth + 1) {
                return false;
            }
        }
        // JSON with short words only is in the tape if all its words are.
        has_content
            || (!words.is_empty() && words.iter().all(|word| self.tape_strings().contains(word)))
    }
}

/// The amount that a string with this treatment belongs to.
fn amount_of<'r>(treatment: &Treatment, report: &'r mut AuditReport) -> &'r mut Amount {
    let Treatment::Row(fate) = treatment else {
        return &mut report.unknown;
    };
    match fate.kind {
        FateKind::Tape | FateKind::As => &mut report.converted,
        FateKind::Omit => report.omitted.entry(fate.name.to_string()).or_default(),
        FateKind::Opaque => report.opaque.entry(fate.name.to_string()).or_default(),
    }
}

/// The type of a record, by its text.
pub(super) fn record_kind(descriptor: &AdapterDescriptor, text: &str) -> String {
    record_type(descriptor, text)
}

/// True if the string contains white space or is longer than [`MAX_WORD_BYTES`]. Other strings are identifiers and flags.
fn is_content(text: Text<'_>) -> bool {
    let text = text.decode_lossy();
    text.len() > MAX_WORD_BYTES || text.contains(char::is_whitespace)
}

fn decoded_strings(lines: &[&str]) -> Vec<String> {
    let mut strings = Vec::new();
    for line in lines {
        let mut walk = Walk::of_json(line);
        while let Some(token) = walk.next_string() {
            push_decoded(&mut strings, normalised(Text::Token(&token)));
        }
    }
    strings
}

/// Adds a text, and the strings in it if it is JSON: a structured result is in the tape as JSON.
fn push_decoded(strings: &mut Vec<String>, text: String) {
    if text.starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(&text).is_ok() {
        let mut walk = Walk::of_json(&text);
        while let Some(token) = walk.next_string() {
            strings.push(normalised(Text::Token(&token)));
        }
    }
    strings.push(text);
}

fn normalised(text: Text<'_>) -> String {
    text.decode_lossy().replace("\r\n", "\n")
}
