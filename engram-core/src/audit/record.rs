//! One record against the law: each of its content strings stands in the tape, or a rule says why not.

use std::cell::OnceCell;

use serde::de::IgnoredAny;

use super::report::{AuditReport, LeftOver};
use super::rules::{field_rule, record_rules, record_type};
use super::tape_index::TapeIndex;
use super::walk::{Level, Walk, pointer};
use crate::descriptor::{AdapterDescriptor, Omission, OmissionRule};
use crate::error::excerpt;
use crate::text::Text;
use crate::text::json::push_json;

/// The most examples of left-over text that a report gives.
const MAX_EXAMPLES: usize = 50;
/// How deep JSON inside strings inside JSON is looked into.
const MAX_EMBEDDED: usize = 4;
/// Longer strings are content, whatever they hold.
const WORD_BYTES: usize = 64;

/// A record, and what the tape has of it.
pub(super) struct Record<'r> {
    pub index: &'r TapeIndex<'r>,
    pub descriptor: &'r AdapterDescriptor,
    /// Its 1-based physical line; 0 in a document.
    pub line: u64,
    /// Its text, from which its type is read.
    pub text: &'r str,
    /// The lines of the tape where its text may stand.
    pub lines: Vec<&'r str>,
    /// Whether it gave an event. A rule for whole records does not excuse one that did.
    pub gave_events: bool,
    pub known: Known<'r>,
}

/// What is found out about a record when it is needed first.
#[derive(Default)]
pub(super) struct Known<'r> {
    kind: OnceCell<String>,
    tape_strings: OnceCell<Vec<String>>,
    omitted_by: OnceCell<Option<&'r OmissionRule>>,
}

impl<'r> Record<'r> {
    /// Its type.
    pub fn kind(&self) -> &str {
        self.known.kind.get_or_init(|| record_type(self.descriptor, self.text))
    }

    /// The strings of its lines of the tape, decoded, line ends normalised.
    fn tape_strings(&self) -> &[String] {
        self.known.tape_strings.get_or_init(|| decoded_strings(&self.lines))
    }

    /// The rule that omits it, if it gave no event.
    pub fn omitted_by(&self) -> Option<&'r OmissionRule> {
        let find = || record_rules(self.descriptor, self.kind()).next().filter(|_| !self.gave_events);
        *self.known.omitted_by.get_or_init(find)
    }

    /// Judges one string. `levels` lead to it from the artifact's root, `own` from the record's.
    pub fn judge(&self, token: &str, levels: &[Level<'_>], own: &[Level<'_>], report: &mut AuditReport) {
        let text = Text::Token(token);
        if !is_content(text) {
            return;
        }
        let bytes = token.len() - 2;
        if self.index.has(text) {
            return report.in_tape.add(bytes);
        }
        let rule = self.omitted_by().or_else(|| field_rule(self.descriptor, self.kind(), own)).or_else(|| {
            let of_root = own.len() != levels.len();
            of_root.then(|| field_rule(self.descriptor, "", levels)).flatten()
        });
        if let Some(rule) = rule {
            let by_rule = if rule.omission == Omission::Opaque { &mut report.opaque } else { &mut report.omitted };
            return by_rule.entry(rule.rule.to_owned()).or_default().add(bytes);
        }
        if self.stands(text, 0) {
            return report.in_tape.add(bytes);
        }
        self.leave(&text.decode_lossy(), bytes, pointer(levels), report);
    }

    /// Reports text that nothing accounts for.
    pub fn leave(&self, text: &str, bytes: usize, pointer: String, report: &mut AuditReport) {
        report.left_over.add(bytes);
        if report.examples.len() < MAX_EXAMPLES {
            let (record, excerpt) = (self.kind().to_owned(), excerpt(text));
            report.examples.push(LeftOver { line: self.line, record, pointer, bytes: bytes as u64, excerpt });
        }
    }

    /// True when the text is part of a text that this record gave, or JSON whose parts all are.
    fn stands(&self, text: Text<'_>, depth: usize) -> bool {
        let text = normalised(text);
        // A text that ends inside of a line end: the other half stands behind it in the tape.
        let text = text.strip_suffix('\r').unwrap_or(&text);
        self.tape_strings().iter().any(|string| string.contains(text)) || (depth < MAX_EMBEDDED && self.parts_stand(text, depth))
    }

    fn parts_stand(&self, json: &str, depth: usize) -> bool {
        if !json.trim_ascii_start().starts_with(['{', '[']) || serde_json::from_str::<IgnoredAny>(json).is_err() {
            return false;
        }
        let mut compact = String::new();
        if push_json(&mut compact, json, usize::MAX).is_ok() && self.lines.iter().any(|line| line.contains(&compact)) {
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
            if !self.index.has(text) && !self.stands(text, depth + 1) {
                return false;
            }
        }
        // JSON of nothing but words stands when its words do.
        has_content || (!words.is_empty() && words.iter().all(|word| self.tape_strings().contains(word)))
    }
}

/// A string value that holds white space or is longer than [`WORD_BYTES`]; shorter words are identifiers and flags.
fn is_content(text: Text<'_>) -> bool {
    let text = text.decode_lossy();
    text.len() > WORD_BYTES || text.contains(char::is_whitespace)
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

/// A text, and the strings in it where it is JSON: a structured result stands in the tape as its JSON.
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
