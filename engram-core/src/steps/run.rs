//! The driver of the three steps.

use std::borrow::Cow;

use super::first_read::{Checked, FirstRead, Start};
use super::lookup::{InOrder, SourceOf, Texts, text_of};
use super::second_read::SecondRead;
use super::{Conversion, Item};
use crate::conversion::Summary;
use crate::emit::Fault;
use crate::emit::verdicts::{Entry, Rejected, Verdict, Verdicts};
use crate::error::{AdapterError, ErrorCode, error_of};
use crate::event::{InputDigest, Pointer};
use crate::input::broken::Broken;
use crate::input::truncation::complete_items;
use crate::input::{ByteSource, Input};
use crate::json::{StructuralIndex, Value, parse};
use crate::policy::Policy;
use crate::sink::EventSink;
use crate::stream_adapter::Framing;

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
    let truncation = truncation.as_deref();
    let (bytes, text) = input.whole();
    let (mut index, mut index_of_prefix) = (StructuralIndex::default(), StructuralIndex::default());
    let broken = match text {
        Ok(text) => match parse(text, &mut index) {
            Ok(document) => {
                return items(start, conversion, sink, whole(document), truncation, digest);
            }
            Err(Fault::Json(error)) => match conversion.mended(text) {
                None => Broken::json(text, &error),
                Some(mended) => {
                    let document =
                        parse(&mended, &mut index_of_prefix).map_err(|fault| error_of(fault, 0))?;
                    return items(start, conversion, sink, whole(document), truncation, digest);
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
    let mut part = whole(document);
    if broken.error.code == ErrorCode::TruncatedInput {
        part.complete = false;
    } else {
        part.rest = &bytes[valid.end..];
    }
    items(start, conversion, sink, part, truncation, digest)
}

/// The valid part of a document.
struct Valid<'d> {
    document: Value<'d>,
    /// What follows it.
    rest: &'d [u8],
    complete: bool,
}

/// A document that is valid to its end.
fn whole(document: Value<'_>) -> Valid<'_> {
    Valid {
        document,
        rest: &[],
        complete: true,
    }
}

/// Converts the items of a document.
fn items(
    start: &Start<'_>,
    conversion: &mut dyn Conversion,
    sink: &mut dyn EventSink,
    valid: Valid<'_>,
    truncation: Option<&str>,
    digest: InputDigest,
) -> Result<Summary, AdapterError> {
    let mut first = FirstRead::new(start, conversion)?;
    let items = first.items(valid.document)?;
    for (at, item) in items.iter().enumerate() {
        first.item(at, item)?;
    }
    if !valid.rest.is_empty() {
        first.reject(
            Entry {
                offset: u64::MAX,
                ..FirstRead::entry_of_item(0)
            },
            Rejected::Unreadable,
            Some(valid.rest),
        )?;
    }
    first.complete &= valid.complete;
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
            None => second.record(number, entry, None, None, valid.rest)?,
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
