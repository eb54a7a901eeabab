//! Events that the emitter makes itself: start and stop of the tape, changes of version, and records that are unknown or malformed.

use simdutf8::basic::from_utf8;

use super::Emitter;
use crate::anchor;
use crate::error::{Fault, excerpt};
use crate::event::{InputDigest, Kind, Meta, Pointer, RecordLocation, RevisionChange, SPANS_TEXT, TapeStart, TapeStop, Unrecognized};
use crate::hash::Hash;
use crate::input::OriginalRecord;
use crate::ledger::{LIMIT_EXCEEDED, MALFORMED, Outcome};
use crate::policy::Policy;
use crate::support::{refusal, resolve_support};
use crate::tape::TAPE_SCHEMA;
use crate::text::json::nests_deeper;
use crate::text::{MAX_DECODED_BYTES, Text};
use crate::version::Revision;

impl Emitter<'_> {
    pub(crate) fn start(&mut self) -> Result<(), Fault> {
        let support = self.support.clone();
        let start = TapeStart {
            schema: TAPE_SCHEMA,
            adapter_id: self.descriptor.adapter_id,
            adapter_version: self.descriptor.adapter_version,
            harness: support.harness(self.descriptor.harness_family),
            policy: self.policy,
            anchors: anchor::SCHEME,
            redaction: None,
            unicode: None,
            spans: self.span_text.then_some(SPANS_TEXT),
            claims: support.claims(),
        };
        self.send(&Meta::TapeStart(Box::new(start)).into(), Pointer::Root, None).map(drop)
    }

    pub(crate) fn stop(&mut self, input: InputDigest, complete: bool) -> Result<(), Fault> {
        self.begin();
        let (mut counts, ledger) = (self.counts, self.ledger.clone());
        counts.add(Kind::Meta);
        let stop = TapeStop { counts, ledger, input, complete };
        self.send(&Meta::TapeStop(Box::new(stop)).into(), Pointer::Root, None)?;
        let finished = self.sink.commit().and_then(|()| self.sink.finish());
        finished.map_err(|error| Fault::Fatal(error.into()))
    }

    /// States the version that wrote the current record. If it changes, emits `meta revision` and returns the new revision.
    ///
    /// # Errors
    /// [`Fault::Fatal`] under strict policy, if the new version is not supported.
    pub fn version(&mut self, version: &str) -> Result<Option<&'static Revision>, Fault> {
        if self.support.version.as_deref() == Some(version) {
            return Ok(None);
        }
        let (revision, support) = self.descriptor.matrix.resolve(Some(version));
        if self.policy == Policy::Strict
            && let Some(error) = refusal(self.descriptor, support, Some(version))
        {
            return Err(Fault::Fatal(error));
        }
        let support = resolve_support(self.descriptor, Some(version), revision, support);
        let before = std::mem::replace(&mut self.support, support);
        self.checkpoint.support.get_or_insert(before);
        self.apply_lowered_claims();
        let support = self.support.clone();
        let change = RevisionChange { harness: support.harness(self.descriptor.harness_family), claims: support.claims() };
        self.send(&Meta::Revision(Box::new(change)).into(), Pointer::Root, None)?;
        Ok(revision)
    }

    /// Keeps an unknown block of a mapped record as `meta unrecognized`. `name` is the type of the block, `raw` its JSON.
    ///
    /// # Errors
    /// [`Fault::Unrecognized`] under strict policy.
    pub fn unrecognized_block(&mut self, name: &str, raw: &str, pointer: Pointer<'_>) -> Result<(), Fault> {
        if self.policy == Policy::Strict {
            return Err(Fault::unrecognized(name));
        }
        self.unknown_block.get_or_insert_with(|| excerpt(name));
        self.emit_unrecognized(name, raw, pointer)
    }

    /// Goes on with an earlier record, whose outcome was [`Outcome::Pending`]. Its session settles it; then it resumes the current record.
    pub fn resume(&mut self, location: RecordLocation) {
        self.begin_at(location);
    }

    /// Ends a record of a document with its outcome. The pipeline does this for lines.
    pub fn settle(&mut self, outcome: Outcome) {
        self.settle_members();
        match self.unknown_block.take() {
            Some(name) => self.ledger.unrecognized(&name),
            None => self.ledger.settle(outcome),
        }
    }

    /// Ends a record of a document, or one that has waited, with what its conversion returned. `raw` is its text.
    ///
    /// # Errors
    /// Those of [`Emitter::settle_fault`].
    pub fn settle_result(&mut self, converted: Result<Outcome, Fault>, raw: &str) -> Result<(), Fault> {
        match converted {
            Ok(outcome) => {
                self.settle(outcome);
                Ok(())
            }
            Err(fault) => self.settle_fault(fault, raw),
        }
    }

    /// Counts an earlier record as mapped that was counted as a duplicate, because the record that it repeats never came. Emit its event
    /// after a call of [`Emitter::attribute_to`].
    pub fn duplicate_was_mapped(&mut self, record: &'static str, rule: &'static str) {
        self.ledger.duplicate_was_mapped(record, rule);
    }

    /// Applies the policy to a record that the adapter does not know or cannot read. Permissive policy takes back the events of the record
    /// so far and keeps it as `meta unrecognized`.
    ///
    /// # Errors
    /// The fault itself under strict policy.
    pub fn settle_fault(&mut self, fault: Fault, raw: &str) -> Result<(), Fault> {
        if self.policy == Policy::Strict || matches!(fault, Fault::Fatal(_)) {
            return Err(fault);
        }
        self.roll_back();
        self.settle_unrecognized(fault, raw)?;
        // What is kept of the record belongs to the session that it names, and the next record to the one before it.
        if let Some(source) = self.checkpoint.source.take() {
            self.source = source;
        }
        Ok(())
    }

    /// Sets what the record that is settled next was before it was rewritten.
    pub(crate) fn set_original(&mut self, original: Option<OriginalRecord>) {
        self.original = original;
    }

    /// Size and hash of a record or block, as the log has it.
    fn size_and_hash(&self, raw: &str) -> (u64, Hash) {
        self.original.map_or_else(|| (raw.len() as u64, Hash::of_bytes(raw.as_bytes())), |original| (original.bytes, original.hash))
    }

    /// Keeps a record that the adapter does not know or cannot read.
    pub(crate) fn settle_unrecognized(&mut self, fault: Fault, raw: &str) -> Result<(), Fault> {
        match fault {
            Fault::Fatal(_) => Err(fault),
            Fault::Limit(_) => {
                let (bytes, hash) = self.size_and_hash(raw);
                self.oversize(bytes, hash)
            }
            Fault::Unrecognized { name } => {
                self.emit_unrecognized(&name, raw, Pointer::Root)?;
                self.ledger.unrecognized(&name);
                Ok(())
            }
            Fault::Json(_) | Fault::Malformed { .. } | Fault::Refused { .. } => {
                self.emit_unrecognized(MALFORMED, raw, Pointer::Root)?;
                self.ledger.malformed(MALFORMED);
                Ok(())
            }
        }
    }

    /// Keeps bytes that are not JSON or not UTF-8.
    pub(crate) fn malformed_bytes(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let is_text = from_utf8(bytes).is_ok();
        if !is_text && bytes.len() > MAX_DECODED_BYTES {
            return self.oversize(bytes.len() as u64, Hash::of_bytes(bytes));
        }
        let text = String::from_utf8_lossy(bytes);
        let unrecognized =
            Unrecognized { name: Text::Plain(MALFORMED), text: Some(Text::Plain(&text)), lossy: !is_text, ..Unrecognized::default() };
        self.send(&Meta::Unrecognized(unrecognized).into(), Pointer::Root, None)?;
        self.ledger.malformed(MALFORMED);
        Ok(())
    }

    /// Keeps hash and size of a record that exceeds a limit.
    pub(crate) fn oversize(&mut self, bytes: u64, hash: Hash) -> Result<(), Fault> {
        self.emit_oversize(bytes, hash, LIMIT_EXCEEDED)?;
        self.ledger.unrecognized(LIMIT_EXCEEDED);
        Ok(())
    }

    fn emit_oversize(&mut self, bytes: u64, hash: Hash, name: &str) -> Result<(), Fault> {
        let unrecognized = Unrecognized { name: Text::Plain(name), bytes: Some(bytes), hash: Some(hash), ..Unrecognized::default() };
        self.send(&Meta::Unrecognized(unrecognized).into(), Pointer::Root, None).map(drop)
    }

    /// Emits the value if it is JSON, or the text as a JSON string if it is not. Of JSON that nests too deep, emits hash and size.
    fn emit_unrecognized(&mut self, name: &str, raw: &str, pointer: Pointer<'_>) -> Result<(), Fault> {
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(raw).is_ok();
        if is_json && nests_deeper(raw, self.limits.nesting) {
            let (bytes, hash) = self.size_and_hash(raw);
            return self.emit_oversize(bytes, hash, name);
        }
        let text = if is_json { None } else { Some(Text::Plain(raw)) };
        let unrecognized = Unrecognized { name: Text::Plain(name), raw: Some(raw).filter(|_| is_json), text, ..Unrecognized::default() };
        self.send(&Meta::Unrecognized(unrecognized).into(), pointer, None).map(drop)
    }
}
