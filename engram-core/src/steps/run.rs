//! The driver of the three steps.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::vec::IntoIter;

use simdutf8::compat::from_utf8;

use super::check::Checks;
use super::damage::whole_record;
use super::lookup::{InOrder, Lookup, SourceOf, Texts, text_of};
use super::{Conversion, Item, Record};
use crate::conversion::{Options, Summary};
use crate::descriptor::AdapterDescriptor;
use crate::emit::attribution::Attribution;
use crate::emit::verdicts::{Entry, Rejected, Verdict, Verdicts};
use crate::emit::{Emitter, Fault, RecordLocation};
use crate::error::{AdapterError, ErrorCode, error_of, unreadable};
use crate::event::{InputDigest, Kinds, Pointer};
use crate::hash::Hash;
use crate::input::broken::Broken;
use crate::input::head::{Identity, first_value, is_blank};
use crate::input::terminal::controls;
use crate::input::truncation::complete_items;
use crate::input::{ByteSource, Input, UnreadableLine};
use crate::json::{Node, StructuralIndex, Value, parse};
use crate::keys::{KeyMap, hash64};
use crate::members::UnknownMembers;
use crate::policy::Policy;
use crate::sink::EventSink;
use crate::stream_adapter::Framing;
use crate::support::ResolvedSupport;

/// What a conversion starts with.
pub(crate) struct Start<'o> {
    pub descriptor: &'static AdapterDescriptor,
    pub options: &'o Options,
    pub identity: &'o Identity,
    pub support: ResolvedSupport,
    pub framing: Framing,
}

/// Converts an artifact in three steps.
pub(crate) fn convert<S: ByteSource>(
    start: &Start<'_>,
    conversion: &mut dyn Conversion,
    input: &mut Input<S>,
    sink: &mut dyn EventSink,
) -> Result<Summary, AdapterError> {
    match start.framing {
        Framing::Lines => lines(start, conversion, input, sink),
        Framing::Document => document(start, conversion, input, sink),
    }
}

/// Converts an artifact with a record on each line.
fn lines<S: ByteSource>(
    start: &Start<'_>,
    conversion: &mut dyn Conversion,
    input: &mut Input<S>,
    sink: &mut dyn EventSink,
) -> Result<Summary, AdapterError> {
    let mut first = FirstRead::new(start, conversion)?;
    first.lines(input)?;
    let (checked, complete) = first.end(input.truncation_reason())?;
    let digest = digest(input);
    conversion.decide();
    let Checked {
        verdicts: Verdicts { entries, rejected },
        lowered,
        unknown,
        kept,
    } = checked;
    let (expected, bytes) = (digest.hash, digest.bytes);
    let source = input.again();
    let texts = Texts {
        entries: &entries,
        source: SourceOf::Artifact(source),
    };
    let SourceOf::Artifact(source) = &texts.source else {
        return Err(AdapterError::new(ErrorCode::AdapterDefect));
    };
    let mut second = SecondRead::new(start, conversion, sink, &texts, &[], lowered, rejected);
    second.start(unknown)?;
    let (mut in_order, mut index) = (InOrder::default(), StructuralIndex::default());
    for (number, entry) in entries.iter().enumerate() {
        let raw = in_order.bytes(source, entry)?;
        let text = text_of(source, entry, raw);
        let is_parsed = matches!(entry.verdict, Verdict::Accepted | Verdict::Rejected);
        let value = match text.filter(|_| is_parsed) {
            Some(text) => kept
                .value(text, entry)
                .or_else(|| parse(text, &mut index).ok()),
            None => None,
        };
        second.record(number, entry, value, text, raw)?;
    }
    if source.may_have_changed() && source.hash(bytes)? != expected {
        return Err(AdapterError::new(ErrorCode::Io)
            .expected("the same file in both readings")
            .found("another program has changed it"));
    }
    second.end(digest, complete)
}

/// Converts an artifact that is one document. Both steps use one index of it.
fn document<S: ByteSource>(
    start: &Start<'_>,
    conversion: &mut dyn Conversion,
    input: &mut Input<S>,
    sink: &mut dyn EventSink,
) -> Result<Summary, AdapterError> {
    let _: usize = input.rest()?.0.len();
    let digest = digest(input);
    let truncation = input.truncation_reason().map(str::to_owned);
    let (bytes, text) = input.whole();
    let (mut index, mut index_of_prefix) = (StructuralIndex::default(), StructuralIndex::default());
    let broken = match text {
        Ok(text) => match parse(text, &mut index) {
            Ok(document) => {
                return items(
                    start,
                    conversion,
                    sink,
                    document,
                    &[],
                    true,
                    truncation.as_deref(),
                    digest,
                );
            }
            Err(Fault::Json(error)) => match conversion.mended(text) {
                None => Broken::json(text, &error),
                Some(mended) => {
                    let document =
                        parse(&mended, &mut index_of_prefix).map_err(|fault| error_of(fault, 0))?;
                    return items(
                        start,
                        conversion,
                        sink,
                        document,
                        &[],
                        true,
                        truncation.as_deref(),
                        digest,
                    );
                }
            },
            Err(fault) => return Err(error_of(fault, 0)),
        },
        Err(error) => Broken::utf8(bytes, error),
    };
    let valid =
        complete_items(broken.valid_prefix).filter(|_| start.options.policy == Policy::Permissive);
    let Some(valid) = valid else {
        return Err(broken.error);
    };
    let document = parse(&valid.text, &mut index_of_prefix).map_err(|fault| error_of(fault, 0))?;
    let is_truncated = broken.error.code == ErrorCode::TruncatedInput;
    let rest = if is_truncated {
        &[][..]
    } else {
        &bytes[valid.end..]
    };
    items(
        start,
        conversion,
        sink,
        document,
        rest,
        !is_truncated,
        truncation.as_deref(),
        digest,
    )
}

/// Converts the items of a document. `rest` is what follows its valid part.
#[allow(clippy::too_many_arguments, reason = "the facts about one document")]
fn items(
    start: &Start<'_>,
    conversion: &mut dyn Conversion,
    sink: &mut dyn EventSink,
    document: Value<'_>,
    rest: &[u8],
    complete: bool,
    truncation: Option<&str>,
    digest: InputDigest,
) -> Result<Summary, AdapterError> {
    let mut first = FirstRead::new(start, conversion)?;
    let items = first.items(document)?;
    for (at, item) in items.iter().enumerate() {
        first.item(at, item)?;
    }
    if !rest.is_empty() {
        first.reject(
            Entry {
                offset: u64::MAX,
                ..FirstRead::entry_of_item(0)
            },
            Rejected::Unreadable,
            Some(rest),
        )?;
    }
    first.complete &= complete;
    let (checked, complete) = first.end(truncation)?;
    conversion.decide();
    let Checked {
        verdicts: Verdicts { entries, rejected },
        lowered,
        unknown,
        ..
    } = checked;
    let bases: Vec<Pointer<'static>> = items.iter().map(|item| item.base).collect();
    let values: Vec<Value<'_>> = items.iter().map(|item| item.value).collect();
    let texts = Texts {
        entries: &entries,
        source: SourceOf::Items(&values),
    };
    let mut second = SecondRead::new(start, conversion, sink, &texts, &bases, lowered, rejected);
    second.start(unknown)?;
    for (number, entry) in entries.iter().enumerate() {
        match items.get(entry.offset as usize) {
            Some(item) if entry.verdict != Verdict::Accepted => {
                let raw = raw_of(item);
                second.record(number, entry, Some(item.value), Some(&raw), raw.as_bytes())?;
            }
            Some(item) => second.record(number, entry, Some(item.value), None, &[])?,
            None => second.record(number, entry, None, None, rest)?,
        }
    }
    second.end(digest, complete)
}

/// The text that is kept of an item that was not accepted.
fn raw_of<'a>(item: &Item<'a>) -> Cow<'a, str> {
    let Some(without) = item.without else {
        return Cow::Borrowed(item.value.raw());
    };
    let members = item.value.members().filter(|(name, _)| *name != without);
    let members: Vec<String> = members
        .map(|(name, value)| format!("\"{name}\":{}", value.raw()))
        .collect();
    Cow::Owned(format!("{{{}}}", members.join(",")))
}

fn digest<S: ByteSource>(input: &mut Input<S>) -> InputDigest {
    let (hash, bytes) = input.consumed();
    InputDigest {
        hash,
        bytes,
        beside: Vec::new(),
    }
}

/// What step 1 has found.
struct Checked {
    verdicts: Verdicts,
    lowered: Vec<(usize, Kinds)>,
    unknown: UnknownMembers,
    kept: KeptNodes,
}

/// The nodes of records that fit into memory, so that step 3 need not index them again.
#[derive(Default)]
struct KeptNodes {
    nodes: Vec<Node>,
}

/// The most nodes that are kept: 32 MiB.
const MAX_KEPT_NODES: usize = (32 << 20) / size_of::<Node>();

impl KeptNodes {
    /// Keeps the nodes of a record, and returns where. Nothing if there are too many, or if the record was rewritten in canonical form.
    fn keep(&mut self, text: &str, value: Value<'_>) -> (u32, u32) {
        let (of, nodes) = value.parts();
        if !std::ptr::eq(of, text) || self.nodes.len() + nodes.len() > MAX_KEPT_NODES {
            return (0, 0);
        }
        let at = self.nodes.len() as u32;
        self.nodes.extend_from_slice(nodes);
        (at, nodes.len() as u32)
    }

    fn value<'a>(&'a self, text: &'a str, entry: &Entry) -> Option<Value<'a>> {
        let (at, count) = entry.nodes;
        let nodes = self
            .nodes
            .get(at as usize..(at + count) as usize)
            .filter(|nodes| !nodes.is_empty())?;
        Some(Value::of_nodes(text, nodes))
    }
}

/// Step 1.
struct FirstRead<'r> {
    start: &'r Start<'r>,
    conversion: &'r mut dyn Conversion,
    checks: Checks,
    index: StructuralIndex,
    /// The keys of identified records, if later ones are compared with them.
    repeats: Option<KeyMap<()>>,
    kept: KeptNodes,
    has_controls: bool,
    verdicts: Verdicts,
    complete: bool,
}

/// Whether a text is one JSON value.
enum Text {
    Json,
    /// Nothing is known about it yet.
    Other,
}

impl<'r> FirstRead<'r> {
    fn new(start: &'r Start<'r>, conversion: &'r mut dyn Conversion) -> Result<Self, AdapterError> {
        let checks = Checks::new(
            start.descriptor,
            start.options.policy,
            start.support.clone(),
        )?;
        Ok(FirstRead {
            start,
            checks,
            index: StructuralIndex::with_max_depth(start.options.limits.nesting),
            repeats: conversion.repeats_are_exact().then(KeyMap::default),
            kept: KeptNodes::default(),
            has_controls: conversion.has_terminal_controls(),
            conversion,
            verdicts: Verdicts::default(),
            complete: true,
        })
    }

    fn is_strict(&self) -> bool {
        self.start.options.policy == Policy::Strict
    }

    /// An error, with the version that was said last.
    fn error(&self, mut error: AdapterError) -> AdapterError {
        if error.version.is_none() {
            error.version.clone_from(&self.checks.support.version);
        }
        error
    }

    fn lines<S: ByteSource>(&mut self, input: &mut Input<S>) -> Result<(), AdapterError> {
        let mut number = 0;
        while let Some(line) = input.next_line()? {
            number += 1;
            let offset = line.offset + line.lead as u64;
            let converted = match line.text {
                Ok(text) => self.line(text, offset, number, line.terminated),
                Err(why) => self.unreadable_line(*why, offset, number, line.terminated),
            };
            converted.map_err(|error| self.error(error))?;
        }
        Ok(())
    }

    /// Checks one physical line. In nearly all cases it is one record.
    fn line(
        &mut self,
        text: &str,
        offset: u64,
        number: u64,
        terminated: bool,
    ) -> Result<(), AdapterError> {
        let lead = if self.has_controls {
            controls(text.as_bytes())
        } else {
            0
        };
        let (text, offset) = (&text[lead..], offset + lead as u64);
        if is_blank(text.as_bytes()) {
            return Ok(());
        }
        match self.record(
            text,
            offset,
            RecordLocation {
                line: number,
                part: 0,
            },
        )? {
            Text::Json => Ok(()),
            Text::Other => self.irregular_line(text, offset, number, 0, terminated),
        }
    }

    /// Checks a line that is not one JSON value: several values, a damaged one, or something else. `part` is the index of the first of them.
    #[cold]
    fn irregular_line(
        &mut self,
        text: &str,
        offset: u64,
        number: u64,
        part: u64,
        terminated: bool,
    ) -> Result<(), AdapterError> {
        let (mut at, mut part) = (0, part);
        while !is_blank(&text.as_bytes()[at..]) {
            let rest = &text[at..];
            let location = RecordLocation { line: number, part };
            let end = match first_value(rest) {
                Ok(end) => {
                    self.record(&rest[..end], offset + at as u64, location)?;
                    end
                }
                // An object inside a record that is cut is no record behind it: with one behind it, the text is no beginning of JSON.
                Err(true) if !terminated => return self.end_inside_record(number),
                Err(_) => {
                    let end = whole_record(rest)
                        .filter(|whole| *whole > 0)
                        .unwrap_or(rest.len());
                    let (text, offset) = (&rest[..end], offset + at as u64);
                    match self.conversion.cut_record(text) {
                        Some(code) => {
                            let (bytes, verdict) = (text.len() as u64, Verdict::Rejected);
                            self.verdicts.reject(
                                Entry {
                                    offset,
                                    bytes,
                                    location,
                                    verdict,
                                    nodes: (0, 0),
                                },
                                Rejected::Cut(code),
                            );
                        }
                        None if self.conversion.is_notice(text) => {
                            let (bytes, verdict) = (text.len() as u64, Verdict::Rejected);
                            self.verdicts.reject(
                                Entry {
                                    offset,
                                    bytes,
                                    location,
                                    verdict,
                                    nodes: (0, 0),
                                },
                                Rejected::Notice,
                            );
                        }
                        None => self.damaged(text.as_bytes(), offset, location, "JSON")?,
                    }
                    end
                }
            };
            at += end;
            part += 1;
        }
        Ok(())
    }

    #[cold]
    fn unreadable_line(
        &mut self,
        line: UnreadableLine<'_>,
        offset: u64,
        number: u64,
        terminated: bool,
    ) -> Result<(), AdapterError> {
        let location = RecordLocation {
            line: number,
            part: 0,
        };
        match line {
            UnreadableLine::Oversize {
                bytes,
                hash,
                allowed,
            } => self.oversize(bytes, hash, allowed, offset, location),
            UnreadableLine::NotUtf8 { bytes, error } => {
                let valid = from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
                let Some(length) = error.error_len().or(terminated.then_some(1)) else {
                    // The artifact ends inside a character. The record before it may still be complete.
                    self.line(valid, offset, number, false)?;
                    return self.end_inside_record(number);
                };
                // A record may be cut inside a character, and a whole one follow it.
                let after = error.valid_up_to() + length;
                let rest = from_utf8(&bytes[after..]).ok();
                match rest.and_then(|rest| Some((rest, whole_record(rest)?))) {
                    Some((rest, whole)) => {
                        self.damaged(&bytes[..after + whole], offset, location, "UTF-8")?;
                        self.irregular_line(
                            &rest[whole..],
                            offset + (after + whole) as u64,
                            number,
                            1,
                            terminated,
                        )
                    }
                    None => self.damaged(bytes, offset, location, "UTF-8"),
                }
            }
        }
    }

    fn oversize(
        &mut self,
        bytes: u64,
        hash: Hash,
        allowed: u64,
        offset: u64,
        location: RecordLocation,
    ) -> Result<(), AdapterError> {
        if self.is_strict() {
            let error = AdapterError::new(ErrorCode::LimitExceeded)
                .expected(format!("at most {allowed} bytes"))
                .line(location.line());
            return Err(error.found(&format!("{bytes} bytes")));
        }
        let entry = Entry {
            offset,
            bytes: 0,
            location,
            verdict: Verdict::Rejected,
            nodes: (0, 0),
        };
        self.reject(entry, Rejected::Oversize { bytes, hash }, None)
    }

    /// A part of a line that cannot be read.
    fn damaged(
        &mut self,
        bytes: &[u8],
        offset: u64,
        location: RecordLocation,
        expected: &str,
    ) -> Result<(), AdapterError> {
        if self.is_strict() {
            return Err(unreadable(bytes, expected, location.line()));
        }
        let entry = Entry {
            offset,
            bytes: bytes.len() as u64,
            location,
            verdict: Verdict::Rejected,
            nodes: (0, 0),
        };
        self.reject(entry, Rejected::Unreadable, None)
    }

    /// The artifact ends inside a record.
    fn end_inside_record(&mut self, line: u64) -> Result<(), AdapterError> {
        self.complete = false;
        if self.is_strict() {
            Err(AdapterError::new(ErrorCode::TruncatedInput).line(line))
        } else {
            Ok(())
        }
    }

    /// Checks a text that may be a record.
    fn record(
        &mut self,
        text: &str,
        offset: u64,
        location: RecordLocation,
    ) -> Result<Text, AdapterError> {
        let entry = Entry {
            offset,
            bytes: text.len() as u64,
            location,
            verdict: Verdict::Accepted,
            nodes: (0, 0),
        };
        if self.conversion.omitted(text).is_some() {
            self.verdicts.entries.push(Entry {
                verdict: Verdict::Omitted,
                ..entry
            });
            return Ok(Text::Json);
        }
        let Some(key) = self.new_key(text) else {
            self.verdicts.entries.push(Entry {
                verdict: Verdict::Repeated,
                ..entry
            });
            return Ok(Text::Json);
        };
        let value = match parse(text, &mut self.index) {
            Ok(value) => value,
            Err(Fault::Json(_)) => return Ok(Text::Other),
            Err(fault) => return self.refuse(entry, fault).map(|()| Text::Json),
        };
        let number = self.verdicts.entries.len();
        let (line, part) = (location.line, location.part);
        let record = Record {
            value,
            base: Pointer::Root,
            number,
            line,
            part,
            others: Lookup::default(),
        };
        let mut check = self.checks.begin(Pointer::Root);
        match self.conversion.check(&record, &mut check) {
            Ok(()) => {
                if check.accept(number, location)?
                    && let Some(repeats) = &mut self.repeats
                {
                    repeats.insert(key, ());
                }
                let nodes = self.kept.keep(text, value);
                self.verdicts.entries.push(Entry { nodes, ..entry });
            }
            Err(fault) => {
                check.reject();
                self.refuse(entry, fault)?;
            }
        }
        Ok(Text::Json)
    }

    /// The key of a record; 0 if records are not compared. `None` if an identified record with these bytes was read before.
    #[inline]
    fn new_key(&self, text: &str) -> Option<u64> {
        let Some(repeats) = &self.repeats else {
            return Some(0);
        };
        let key = hash64(text.trim_ascii());
        (!repeats.contains_key(&key)).then_some(key)
    }

    fn items<'a>(&mut self, document: Value<'a>) -> Result<Vec<Item<'a>>, AdapterError> {
        let mut check = self.checks.begin(Pointer::Root);
        let items = self
            .conversion
            .items(document, &mut check)
            .map_err(|fault| error_of(fault, 0))?;
        check.accept(0, RecordLocation::default())?;
        Ok(items)
    }

    fn entry_of_item(at: usize) -> Entry {
        Entry {
            offset: at as u64,
            bytes: 0,
            location: RecordLocation::default(),
            verdict: Verdict::Accepted,
            nodes: (0, 0),
        }
    }

    fn item(&mut self, at: usize, item: &Item<'_>) -> Result<(), AdapterError> {
        let (number, entry) = (self.verdicts.entries.len(), FirstRead::entry_of_item(at));
        let is_outer = item.without.is_some();
        let Some(key) = (if is_outer {
            Some(0)
        } else {
            self.new_key(item.value.raw())
        }) else {
            self.verdicts.entries.push(Entry {
                verdict: Verdict::Repeated,
                ..entry
            });
            return Ok(());
        };
        let record = Record {
            value: item.value,
            base: item.base,
            number,
            line: 0,
            part: 0,
            others: Lookup::default(),
        };
        let mut check = self.checks.begin(item.base);
        match self.conversion.check(&record, &mut check) {
            Ok(()) => {
                let accepted = check.accept(number, entry.location);
                let is_identified = accepted.map_err(|error| self.error(error))?;
                if let Some(repeats) = self.repeats.as_mut().filter(|_| is_identified && !is_outer)
                {
                    repeats.insert(key, ());
                }
                self.verdicts.entries.push(entry);
                Ok(())
            }
            Err(fault) => {
                check.reject();
                self.refuse(entry, fault.within(item.base))
                    .map_err(|error| self.error(error))
            }
        }
    }

    /// Applies the policy to a record that the conversion does not accept.
    #[cold]
    fn refuse(&mut self, entry: Entry, fault: Fault) -> Result<(), AdapterError> {
        if self.is_strict() || matches!(fault, Fault::Fatal(_)) {
            return Err(error_of(fault, entry.location.line()));
        }
        self.verdicts.reject(entry, Rejected::Fault(fault));
        Ok(())
    }

    fn reject(
        &mut self,
        entry: Entry,
        why: Rejected,
        bytes: Option<&[u8]>,
    ) -> Result<(), AdapterError> {
        if let Some(bytes) = bytes.filter(|_| self.is_strict()) {
            return Err(unreadable(bytes, "JSON", 0));
        }
        self.verdicts.reject(entry, why);
        Ok(())
    }

    fn end(mut self, truncation: Option<&str>) -> Result<(Checked, bool), AdapterError> {
        if let Some(reason) = truncation {
            self.complete = false;
            if self.is_strict() {
                let error = AdapterError::new(ErrorCode::TruncatedInput)
                    .expected("a complete artifact")
                    .found(reason);
                return Err(self.error(error));
            }
        }
        let FirstRead {
            checks,
            verdicts,
            complete,
            kept,
            ..
        } = self;
        Ok((
            Checked {
                verdicts,
                lowered: checks.lowered,
                unknown: checks.unknown,
                kept,
            },
            complete,
        ))
    }
}

/// Step 3.
struct SecondRead<'r> {
    start: &'r Start<'r>,
    conversion: &'r mut dyn Conversion,
    out: Emitter<'r>,
    texts: &'r Texts<'r>,
    bases: &'r [Pointer<'static>],
    lowered: Peekable<IntoIter<(usize, Kinds)>>,
    rejected: BTreeMap<usize, Rejected>,
}

impl<'r> SecondRead<'r> {
    fn new(
        start: &'r Start<'r>,
        conversion: &'r mut dyn Conversion,
        sink: &'r mut dyn EventSink,
        texts: &'r Texts<'r>,
        bases: &'r [Pointer<'static>],
        lowered: Vec<(usize, Kinds)>,
        rejected: BTreeMap<usize, Rejected>,
    ) -> Self {
        let Start {
            descriptor,
            options,
            identity,
            ref support,
            ..
        } = *start;
        let records = Attribution::new(texts.entries, bases);
        let mut out = Emitter::new(
            sink,
            descriptor,
            options.policy,
            options.limits,
            identity,
            support.clone(),
            records,
        );
        out.set_span_text(options.span_text);
        out.set_apart(conversion.sessions_are_apart());
        SecondRead {
            start,
            conversion,
            out,
            texts,
            bases,
            lowered: lowered.into_iter().peekable(),
            rejected,
        }
    }

    fn error(&mut self, mut error: AdapterError) -> AdapterError {
        if error.version.is_none() {
            error.version.clone_from(&self.out.support().version);
        }
        error
    }

    fn start(&mut self, unknown: UnknownMembers) -> Result<(), AdapterError> {
        self.out.set_unknown_members(unknown);
        self.out.start()
    }

    /// Emits one record. `raw` is its text if it was not accepted.
    fn record(
        &mut self,
        number: usize,
        entry: &Entry,
        value: Option<Value<'_>>,
        text: Option<&str>,
        raw: &[u8],
    ) -> Result<(), AdapterError> {
        let lowers = self
            .lowered
            .next_if(|(at, _)| *at == number)
            .map(|(_, kinds)| kinds);
        self.out.begin(number, entry.location, lowers);
        let RecordLocation { line, part } = entry.location;
        let base = self.bases.get(number).copied().unwrap_or_default();
        let record = value.map(|value| Record {
            value,
            base,
            number,
            line,
            part,
            others: Lookup::of(self.texts),
        });
        let settled = match (entry.verdict, record) {
            (Verdict::Accepted, Some(record)) => {
                let outcome = self.conversion.emit(&record, &mut self.out);
                self.out.settle(outcome)
            }
            (Verdict::Accepted, None) => Err(AdapterError::new(ErrorCode::Io)
                .expected("the same file in both readings")
                .line(line)),
            (Verdict::Omitted, _) => match text.and_then(|text| self.conversion.omitted(text)) {
                Some(outcome) => self.out.settle(outcome),
                None => Err(AdapterError::new(ErrorCode::Io)
                    .expected("the same file in both readings")
                    .line(line)),
            },
            (Verdict::Repeated, _) => self.out.settle_repeat(text.unwrap_or_default()),
            (Verdict::Rejected, record) => {
                let why = self
                    .rejected
                    .remove(&number)
                    .unwrap_or(Rejected::Unreadable);
                if let Some(record) = record.filter(|_| matches!(why, Rejected::Fault(_))) {
                    self.conversion.envelope(&record, &mut self.out);
                }
                self.out.settle_rejected(why, raw)
            }
        };
        settled.map_err(|error| self.error(error))
    }

    fn end(mut self, digest: InputDigest, complete: bool) -> Result<Summary, AdapterError> {
        self.out.end()?;
        let beside = self
            .start
            .options
            .context
            .side_files
            .as_ref()
            .map(|files| files.files_read())
            .unwrap_or_default();
        let bytes = digest.bytes;
        self.out.stop(InputDigest { beside, ..digest }, complete)?;
        Ok(Summary::of(
            self.start.descriptor,
            self.start.identity,
            &self.out,
            bytes,
            complete,
        ))
    }
}
