//! Redaction: a sink that replaces keys and tokens in the texts of events, and leaves out hashes that would prove them.
//!
//! Events keep their number, order, kind and place. Secrets that no rule describes stay, such as a password in a sentence: redaction makes
//! a tape less dangerous, not safe to publish.

mod find;
mod formats;
mod hashes;
mod random;
mod rules;
mod slots;

use std::borrow::Cow;
use std::fmt;
use std::io;

use self::find::{COMPILED, Compiled};
use self::hashes::{Calls, strip_secret_spans};
use self::rules::TABLE;
use self::slots::{Slot, each_slot};
use crate::event::{Event, EventRef, Meta, Pointer, TapeStop};
use crate::ledger::Redactions;
use crate::sink::EventSink;
pub use crate::tape::REDACTION as RULES;
use crate::text::Text;

/// A sink that passes events on without keys and tokens. Each is replaced by `[redacted:<rule>]`.
///
/// ```
/// use engram_core::redact::Redacting;
/// use engram_core::tape::{JsonLines, replay};
///
/// let tape = concat!(
///     r#"{"seq":0,"t":"2026-01-02T03:04:05Z","k":"msg.in","source":{"harness":"toy"},"role":"user","by":"person","#,
///     r#""text":"use AKIAIOSFODNN7EXAMPLE"}"#,
///     "\n"
/// );
/// let mut redacted = Vec::new();
/// replay(tape.as_bytes(), &mut Redacting::new(JsonLines::new(&mut redacted))?)?;
/// assert!(String::from_utf8_lossy(&redacted).contains("use [redacted:aws-access-key-id]"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Redacting<S> {
    sink: S,
    rules: &'static Compiled,
    calls: Calls,
    /// Secrets per rule.
    counts: Vec<u64>,
}

impl<S> fmt::Debug for Redacting<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redacting")
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

/// The names of all rules.
pub fn rule_names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|rule| rule.name)
}

/// A text without keys and tokens, for messages about a session. If the rules were not valid, nothing of the text would be left.
pub fn redacted(text: &str) -> Cow<'_, str> {
    replaced(text, |rules| rules.text(text, &mut Vec::new()))
}

/// As [`redacted`], for the strings of JSON text.
pub fn redacted_json(json: &str) -> Cow<'_, str> {
    replaced(json, |rules| rules.json(json, &mut Vec::new()))
}

fn replaced(text: &str, replace: impl Fn(&Compiled) -> Option<String>) -> Cow<'_, str> {
    match COMPILED.as_ref() {
        Ok(rules) => replace(rules).map_or(Cow::Borrowed(text), Cow::Owned),
        Err(_) => Cow::Borrowed(""),
    }
}

/// The names of the rules that are fixed characters and a number of others.
pub fn fixed_formats() -> impl Iterator<Item = &'static str> {
    self::formats::FORMATS.iter().map(|format| format.name)
}

impl<S: EventSink> Redacting<S> {
    /// A sink that passes events on to `sink`.
    ///
    /// # Errors
    /// If the rules are not valid, which a test excludes.
    pub fn new(sink: S) -> io::Result<Self> {
        let rules = COMPILED
            .as_ref()
            .map_err(|error| io::Error::other(error.clone()))?;
        Ok(Redacting {
            sink,
            rules,
            calls: Calls::default(),
            counts: vec![0; TABLE.len()],
        })
    }

    /// How many secrets were replaced, by rule. Rules that replaced nothing are left out.
    pub fn redactions(&self) -> Vec<Redactions> {
        let counted = TABLE
            .iter()
            .zip(&self.counts)
            .filter(|(_, count)| **count > 0);
        let mut redactions: Vec<Redactions> = counted
            .map(|(rule, count)| Redactions {
                rule: Cow::Borrowed(rule.name),
                count: *count,
            })
            .collect();
        redactions.sort_by(|one, other| one.rule.cmp(&other.rule));
        redactions
    }

    /// The sink that events were passed on to.
    pub fn into_inner(self) -> S {
        self.sink
    }

    /// The replacements of the texts of an event, in the order of their slots. Adds the rules of the secrets to `found`.
    fn replacements(&self, event: &Event<'_>, found: &mut Vec<usize>) -> Vec<Option<String>> {
        let (mut replacements, rules) = (Vec::new(), self.rules);
        each_slot(&mut event.clone(), &mut |slot| {
            replacements.push(match slot {
                Slot::Text(text) => rules.event_text(*text, found),
                Slot::Json(json) => rules.json(json, found),
            });
        });
        replacements
    }

    /// The stop with its counts, and without secrets in names that come from the source.
    fn stop(&mut self, stop: &TapeStop) -> TapeStop {
        let (mut stop, rules) = (stop.clone(), self.rules);
        let mut found = Vec::new();
        let mut replace = |name: &mut String| {
            if let Some(replaced) = rules.text(name, &mut found) {
                *name = replaced;
            }
        };
        stop.input.beside.iter_mut().for_each(|file| {
            replace(&mut file.name);
            file.hash = None;
        });
        stop.ledger
            .omitted
            .iter_mut()
            .for_each(|row| replace(row.record.to_mut()));
        stop.ledger
            .omitted
            .sort_by(|row, next| (&row.record, &row.rule).cmp(&(&next.record, &next.rule)));
        stop.ledger.omitted.dedup_by(|next, row| {
            let is_same = (&next.record, &next.rule) == (&row.record, &row.rule);
            row.count = if is_same {
                row.count.saturating_add(next.count)
            } else {
                row.count
            };
            is_same
        });
        for member in &mut stop.ledger.unknown.listed {
            replace(&mut member.record);
            replace(&mut member.pointer);
        }
        self.count(&found);
        // A tape that is redacted again keeps its earlier counts.
        let mut redactions = std::mem::take(&mut stop.ledger.redactions);
        for more in self.redactions() {
            match redactions.iter_mut().find(|known| known.rule == more.rule) {
                Some(known) => known.count = known.count.saturating_add(more.count),
                None => redactions.push(more),
            }
        }
        redactions.sort_by(|one, other| one.rule.cmp(&other.rule));
        stop.ledger.redactions = redactions;
        stop
    }

    /// True for a pointer with a secret in the name of a member.
    fn has_secret(&self, pointer: Pointer<'_>, found: &mut Vec<usize>) -> bool {
        let may_have = matches!(pointer, Pointer::Member(..) | Pointer::Read(_));
        may_have && self.rules.text(&pointer.to_string(), found).is_some()
    }

    fn count(&mut self, rules: &[usize]) {
        rules.iter().for_each(|rule| self.counts[*rule] += 1);
    }
}

impl<S: EventSink> EventSink for Redacting<S> {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        let mut found = Vec::new();
        let replacements = self.replacements(record.event, &mut found);
        let has_secret = replacements.iter().any(Option::is_some);
        let mut event = record.event.clone();
        let mut texts = replacements.iter();
        each_slot(&mut event, &mut |slot| {
            if let Some(Some(text)) = texts.next() {
                match slot {
                    Slot::Text(slot) => *slot = Text::Plain(text),
                    Slot::Json(slot) => *slot = text,
                }
            }
        });
        let has_secret_in_place = self.has_secret(record.origin.pointer, &mut found)
            || self.has_secret(record.origin.pointer_prefix, &mut found);
        self.count(&found);
        match &mut event {
            Event::Meta(Meta::TapeStart(start)) => start.redaction = Some(RULES),
            Event::Meta(Meta::TapeStop(stop)) => **stop = self.stop(stop),
            _ => {}
        }
        self.calls.note(record, has_secret);
        self.calls.strip(&mut event, record.parent, has_secret);
        strip_secret_spans(&mut event, |text| {
            self.rules.text(text, &mut Vec::new()).is_some()
        });
        let mut redacted = EventRef {
            event: &event,
            ..record.clone()
        };
        if has_secret_in_place {
            redacted.origin.pointer = Pointer::Root;
            redacted.origin.pointer_prefix = Pointer::Root;
        }
        self.sink.event(&redacted)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.sink.finish()
    }
}
