//! Step 1: divides the artifact into records, has each of them checked, and keeps its verdict.

use simdutf8::compat::from_utf8;

use super::check::Checks;
use super::damage::whole_record;
use super::lookup::Lookup;
use super::{Conversion, Item, Record};
use crate::conversion::Options;
use crate::descriptor::AdapterDescriptor;
use crate::emit::verdicts::{Entry, Rejected, Verdict, Verdicts};
use crate::emit::{Fault, RecordLocation};
use crate::error::{AdapterError, ErrorCode, error_of, unreadable};
use crate::event::{Kinds, Pointer};
use crate::hash::Hash;
use crate::input::head::{Identity, first_value, is_blank};
use crate::input::terminal::controls;
use crate::input::{ByteSource, Input, UnreadableLine};
use crate::json::{Node, StructuralIndex, Value, parse};
use crate::keys::{KeyMap, hash64};
use crate::members::UnknownMembers;
use crate::policy::Policy;
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

/// What step 1 has found.
pub(super) struct Checked {
    pub verdicts: Verdicts,
    pub lowered: Vec<(usize, Kinds)>,
    pub unknown: UnknownMembers,
    pub kept: KeptNodes,
}

/// The nodes of records that fit into memory, so that step 3 need not index them again.
#[derive(Default)]
pub(super) struct KeptNodes {
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

    pub(super) fn value<'a>(&'a self, text: &'a str, entry: &Entry) -> Option<Value<'a>> {
        let (at, count) = entry.nodes;
        let nodes = self
            .nodes
            .get(at as usize..(at + count) as usize)
            .filter(|nodes| !nodes.is_empty())?;
        Some(Value::of_nodes(text, nodes))
    }
}

/// Step 1.
pub(super) struct FirstRead<'r> {
    start: &'r Start<'r>,
    conversion: &'r mut dyn Conversion,
    checks: Checks,
    index: StructuralIndex,
    /// The keys of identified records, if later ones are compared with them.
    repeats: Option<KeyMap<()>>,
    kept: KeptNodes,
    has_controls: bool,
    verdicts: Verdicts,
    pub complete: bool,
}

/// Whether a text is one JSON value.
enum Text {
    Json,
    /// Nothing is known about it yet.
    Other,
}

impl<'r> FirstRead<'r> {
    pub(super) fn new(
        start: &'r Start<'r>,
        conversion: &'r mut dyn Conversion,
    ) -> Result<Self, AdapterError> {
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

    pub(super) fn lines<S: ByteSource>(
        &mut self,
        input: &mut Input<S>,
    ) -> Result<(), AdapterError> {
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
                // A notice may begin with a time. No harness writes a number as a record.
                Ok(end) if !rest.starts_with(|c: char| c.is_ascii_digit()) => {
                    self.record(&rest[..end], offset + at as u64, location)?;
                    end
                }
                // An object inside a record that is cut is no record behind it: with one behind it, the text is no beginning of JSON.
                Err(true) if !terminated => return self.end_inside_record(number),
                Ok(_) | Err(_) => {
                    let end = whole_record(rest)
                        .filter(|whole| *whole > 0)
                        .unwrap_or(rest.len());
                    let (text, offset) = (&rest[..end], offset + at as u64);
                    self.irregular_part(text, offset, location)?;
                    end
                }
            };
            at += end;
            part += 1;
        }
        Ok(())
    }

    /// Keeps a part of a line that is no JSON: a record that is cut, a notice, or something damaged.
    fn irregular_part(
        &mut self,
        text: &str,
        offset: u64,
        location: RecordLocation,
    ) -> Result<(), AdapterError> {
        let why = match self.conversion.cut_record(text) {
            Some(code) => Rejected::Cut(code),
            None if self.conversion.is_notice(text) => Rejected::Notice,
            None => return self.damaged(text.as_bytes(), offset, location, "JSON"),
        };
        let entry = Entry {
            offset,
            bytes: text.len() as u64,
            location,
            verdict: Verdict::Rejected,
            nodes: (0, 0),
        };
        self.verdicts.reject(entry, why);
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
                if self.checks.declared(&fault, value, number, location)? {
                    self.verdicts.reject(entry, Rejected::Declared(fault));
                } else {
                    self.refuse(entry, fault)?;
                }
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

    pub(super) fn items<'a>(&mut self, document: Value<'a>) -> Result<Vec<Item<'a>>, AdapterError> {
        let mut check = self.checks.begin(Pointer::Root);
        let items = self
            .conversion
            .items(document, &mut check)
            .map_err(|fault| error_of(fault, 0))?;
        check.accept(0, RecordLocation::default())?;
        Ok(items)
    }

    pub(super) fn entry_of_item(at: usize) -> Entry {
        Entry {
            offset: at as u64,
            bytes: 0,
            location: RecordLocation::default(),
            verdict: Verdict::Accepted,
            nodes: (0, 0),
        }
    }

    pub(super) fn item(&mut self, at: usize, item: &Item<'_>) -> Result<(), AdapterError> {
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
                let declared = self
                    .checks
                    .declared(&fault, item.value, number, entry.location);
                if declared.map_err(|error| self.error(error))? {
                    self.verdicts.reject(entry, Rejected::Declared(fault));
                    return Ok(());
                }
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

    pub(super) fn reject(
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

    pub(super) fn end(mut self, truncation: Option<&str>) -> Result<(Checked, bool), AdapterError> {
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
