//! Events that the emitter makes itself: start and stop of the tape, changes of version and claims, and what is kept of records that are
//! unknown or malformed.

use simdutf8::basic::from_utf8;

use super::Emitter;
use crate::anchor;
use crate::coverage::Coverage;
use crate::error::{AdapterError, Fault, error_of, excerpt};
use crate::event::{
    InputDigest, Kind, Kinds, Meta, Pointer, RecordLocation, RevisionChange, SPANS_TEXT, TapeStart,
    TapeStop, Unrecognized,
};
use crate::hash::Hash;
use crate::ledger::{LIMIT_EXCEEDED, MALFORMED};
use crate::members::DEGRADED_BY_MEMBERS;
use crate::policy::Policy;
use crate::support::{refusal, resolve_support};
use crate::tape::TAPE_SCHEMA;
use crate::text::{MAX_DECODED_BYTES, Text};
use crate::version::Revision;

impl Emitter<'_> {
    /// Emits `tape.start`.
    ///
    /// # Errors
    /// That of the sink.
    pub(crate) fn start(&mut self) -> Result<(), AdapterError> {
        let support = self.support.clone();
        let start = TapeStart {
            schema: TAPE_SCHEMA,
            adapter_id: self.descriptor.adapter_id,
            adapter_version: self.descriptor.adapter_version,
            harness: support.harness(self.family),
            policy: self.policy,
            anchors: anchor::SCHEME,
            redaction: None,
            unicode: None,
            spans: self.span_text.then_some(SPANS_TEXT),
            claims: support.claims(),
        };
        self.send(
            &Meta::TapeStart(Box::new(start)).into(),
            Pointer::Root,
            None,
        );
        self.end_record()
    }

    /// Emits `tape.stop`, and finishes the sink.
    ///
    /// # Errors
    /// That of the sink.
    pub(crate) fn stop(&mut self, input: InputDigest, complete: bool) -> Result<(), AdapterError> {
        self.begin_at(RecordLocation::default(), Pointer::Root);
        let (mut counts, ledger) = (self.counts, self.ledger.clone());
        counts.add(Kind::Meta);
        let stop = TapeStop {
            counts,
            ledger,
            input,
            complete,
        };
        self.send(&Meta::TapeStop(Box::new(stop)).into(), Pointer::Root, None);
        self.end_record()?;
        Ok(self.sink.finish()?)
    }

    /// Another version than before wrote the current record.
    pub(super) fn change_version(&mut self, version: &str) -> Option<&'static Revision> {
        let (revision, support) = self.descriptor.matrix.resolve(Some(version));
        if self.policy == Policy::Strict
            && let Some(error) = refusal(self.descriptor, support, Some(version))
        {
            self.fail(error);
            return None;
        }
        self.support = resolve_support(self.descriptor, Some(version), revision, support);
        self.apply_lowered_claims();
        self.emit_revision();
        revision
    }

    /// Lowers the claims of these kinds, and emits `meta revision` if that changes anything.
    #[cold]
    pub(super) fn lower_kinds(&mut self, kinds: Kinds) {
        self.lowered = kinds;
        let before = self.support.clone();
        self.apply_lowered_claims();
        if self.support != before {
            self.emit_revision();
        }
    }

    /// Lowers the claims for the current version as unknown members of records so far require.
    fn apply_lowered_claims(&mut self) {
        if self.lowered.contains(&true) {
            self.support.coverage = lower(&self.support.coverage, self.lowered);
            if !self.support.degraded.contains(&DEGRADED_BY_MEMBERS) {
                self.support.degraded.push(DEGRADED_BY_MEMBERS);
            }
        }
    }

    fn emit_revision(&mut self) {
        self.lowest_support.lower_to(&self.support);
        let support = self.support.clone();
        let change = RevisionChange {
            harness: support.harness(self.family),
            claims: support.claims(),
        };
        self.send(
            &Meta::Revision(Box::new(change)).into(),
            Pointer::Root,
            None,
        );
    }

    /// Emits a record or a block whose type only the harness's own types declare: the last part of its type, and its JSON.
    pub(super) fn emit_declared(&mut self, name: &str, raw: &str, pointer: Pointer<'_>) {
        let notice = Meta::system(
            name.rsplit('/').next().unwrap_or_default(),
            Some(Text::Plain(raw)),
        );
        self.emit_event(None, &notice.into(), pointer);
    }

    /// Keeps a block of an unknown type. The record counts as unrecognized.
    pub(super) fn keep_block(&mut self, name: &str, raw: &str, pointer: Pointer<'_>) {
        self.unknown_block.get_or_insert_with(|| excerpt(name));
        self.emit_unrecognized(name, raw, pointer);
    }

    /// Keeps a record that the adapter does not know or cannot read.
    pub(super) fn keep_faulty(&mut self, fault: Fault, raw: &str) {
        match fault {
            Fault::Fatal(_) => self.fail(error_of(fault, self.line())),
            Fault::Limit(_) => self.keep_oversize(raw.len() as u64, Hash::of_bytes(raw.as_bytes())),
            Fault::Unrecognized { name } => {
                self.emit_unrecognized(&name, raw, Pointer::Root);
                self.ledger.unrecognized(&name);
            }
            Fault::Json(_) | Fault::Malformed { .. } | Fault::Refused { .. } => {
                self.emit_unrecognized(MALFORMED, raw, Pointer::Root);
                self.ledger.malformed(MALFORMED);
            }
        }
    }

    /// Keeps bytes that are not JSON or not UTF-8.
    pub(super) fn keep_bytes(&mut self, bytes: &[u8]) {
        let is_text = from_utf8(bytes).is_ok();
        if !is_text && bytes.len() > MAX_DECODED_BYTES {
            return self.keep_oversize(bytes.len() as u64, Hash::of_bytes(bytes));
        }
        let text = String::from_utf8_lossy(bytes);
        let unrecognized = Unrecognized {
            name: Text::Plain(MALFORMED),
            text: Some(Text::Plain(&text)),
            lossy: !is_text,
            ..Unrecognized::default()
        };
        self.send(
            &Meta::Unrecognized(unrecognized).into(),
            Pointer::Root,
            None,
        );
        self.ledger.malformed(MALFORMED);
    }

    /// Keeps hash and size of a record that exceeds a limit.
    pub(super) fn keep_oversize(&mut self, bytes: u64, hash: Hash) {
        self.emit_oversize(bytes, hash, LIMIT_EXCEEDED);
        self.ledger.unrecognized(LIMIT_EXCEEDED);
    }

    fn emit_oversize(&mut self, bytes: u64, hash: Hash, name: &str) {
        let unrecognized = Unrecognized {
            name: Text::Plain(name),
            bytes: Some(bytes),
            hash: Some(hash),
            ..Unrecognized::default()
        };
        self.send(
            &Meta::Unrecognized(unrecognized).into(),
            Pointer::Root,
            None,
        );
    }

    /// Emits the value if it is JSON, or the text as a JSON string if it is not. Of JSON that nests too deep, emits hash and size.
    fn emit_unrecognized(&mut self, name: &str, raw: &str, pointer: Pointer<'_>) {
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(raw).is_ok();
        if is_json && self.nests_too_deep(raw) {
            return self.emit_oversize(raw.len() as u64, Hash::of_bytes(raw.as_bytes()), name);
        }
        let text = if is_json {
            None
        } else {
            Some(Text::Plain(raw))
        };
        let unrecognized = Unrecognized {
            name: Text::Plain(name),
            raw: Some(raw).filter(|_| is_json),
            text,
            ..Unrecognized::default()
        };
        self.send(&Meta::Unrecognized(unrecognized).into(), pointer, None);
    }
}

fn lower(coverage: &Coverage, kinds: Kinds) -> Coverage {
    let degraded = coverage.degraded();
    coverage.map(|kind, grade| {
        if kinds[kind as usize] {
            degraded.grade(kind)
        } else {
            grade
        }
    })
}
