//! Step 3: has the events of each record emitted, by its verdict.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::vec::IntoIter;

use super::first_read::Start;
use super::lookup::{Lookup, Texts};
use super::{Conversion, Record};
use crate::conversion::Summary;
use crate::emit::attribution::Attribution;
use crate::emit::verdicts::{Entry, Rejected, Verdict};
use crate::emit::{Emitter, RecordLocation};
use crate::error::{AdapterError, ErrorCode};
use crate::event::{InputDigest, Kinds, Pointer};
use crate::json::Value;
use crate::members::UnknownMembers;
use crate::sink::EventSink;

/// Step 3.
pub(super) struct SecondRead<'r> {
    start: &'r Start<'r>,
    conversion: &'r mut dyn Conversion,
    out: Emitter<'r>,
    texts: &'r Texts<'r>,
    bases: &'r [Pointer<'static>],
    lowered: Peekable<IntoIter<(usize, Kinds)>>,
    rejected: BTreeMap<usize, Rejected>,
}

impl<'r> SecondRead<'r> {
    pub(super) fn new(
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

    pub(super) fn start(&mut self, unknown: UnknownMembers) -> Result<(), AdapterError> {
        self.out.set_unknown_members(unknown);
        self.out.start()
    }

    /// Emits one record by its verdict. `value` is there if it could be parsed; `text` is read of omitted and repeated records, `raw` of
    /// rejected ones.
    pub(super) fn record(
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
                if let Some(record) =
                    record.filter(|_| matches!(why, Rejected::Fault(_) | Rejected::Declared(_)))
                {
                    self.conversion.envelope(&record, &mut self.out);
                }
                self.out.settle_rejected(why, raw)
            }
        };
        settled.map_err(|error| self.error(error))
    }

    pub(super) fn end(
        mut self,
        digest: InputDigest,
        complete: bool,
    ) -> Result<Summary, AdapterError> {
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
