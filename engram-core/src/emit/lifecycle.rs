//! Events that no session states: the tape's start and stop, versions, and what the adapter does not know or cannot read.

use super::{Emitter, TAPE_SCHEMA};
use crate::anchor;
use crate::buffer::Push as _;
use crate::digits::push_number;
use crate::error::{AdapterError, ErrorCode, excerpt};
use crate::event::Kind;
use crate::fault::Fault;
use crate::hash::Hash;
use crate::json::push_json;
use crate::members::{key, word};
use crate::origin::Pointer;
use crate::policy::Policy;
use crate::support::{push_harness, push_support, refusal, resolve_support};
use crate::text::{Text, push_plain};
use crate::version::Revision;

impl Emitter<'_> {
    pub(crate) fn start(&mut self) -> Result<(), Fault> {
        let (descriptor, policy, support) = (self.descriptor, self.policy, self.support.clone());
        self.write(Kind::Meta, Pointer::Root, None, |out| {
            out.piece(word!("label", "tape.start"));
            out.word(key!("schema"), TAPE_SCHEMA);
            out.object(key!("adapter"), |adapter| {
                adapter.word(key!("id"), descriptor.adapter_id);
                adapter.word(key!("version"), descriptor.adapter_version);
            });
            push_harness(out, descriptor.harness_family, &support);
            out.word(key!("policy"), policy.as_str());
            out.word(key!("anchors"), anchor::SCHEME);
            push_support(out, &support);
            Ok(())
        })?;
        Ok(())
    }

    pub(crate) fn stop(&mut self, input: (Hash, u64), complete: bool) -> Result<(), Fault> {
        self.begin();
        let mut counts = self.counts;
        counts[Kind::Meta as usize] += 1;
        let ledger = serde_json::to_string(&self.ledger).map_err(|_| Fault::Fatal(AdapterError::new(ErrorCode::AdapterDefect)))?;
        self.write(Kind::Meta, Pointer::Root, None, |out| {
            out.piece(word!("label", "tape.stop"));
            out.object(key!("counts"), |inner| {
                for kind in Kind::ALL {
                    push_number(inner.named(kind.as_str()), counts[kind as usize]);
                }
            });
            out.piece(key!("ledger"));
            out.push_str(&ledger);
            out.object(key!("input"), |inner| {
                inner.hash(key!("hash"), &Some(input.0));
                inner.number(key!("bytes"), Some(input.1));
            });
            out.truth(key!("complete"), complete);
            Ok(())
        })?;
        Ok(())
    }

    /// States that the record was written by this version. When it changes, writes `meta revision` and gives the new revision.
    ///
    /// # Errors
    /// [`Fault::Fatal`] in strict policy, when the new version is not supported.
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
        self.support = resolve_support(self.descriptor, Some(version), revision, support);
        let support = self.support.clone();
        let family = self.descriptor.harness_family;
        self.write(Kind::Meta, Pointer::Root, None, |out| {
            out.piece(word!("label", "revision"));
            push_harness(out, family, &support);
            push_support(out, &support);
            Ok(())
        })?;
        Ok(revision)
    }

    /// Keeps a block of a mapped record that the adapter does not know.
    ///
    /// # Errors
    /// [`Fault::Unrecognized`] in strict policy.
    pub fn unrecognized_block(&mut self, name: &str, raw: &str, pointer: Pointer<'_>) -> Result<(), Fault> {
        if self.policy == Policy::Strict {
            return Err(Fault::unrecognized(name));
        }
        self.unknown_blocks.get_or_insert_with(|| excerpt(name));
        self.write_unrecognized(name, raw, pointer)
    }

    /// Keeps a record of a document that the adapter does not know or cannot read, as the policy says.
    ///
    /// # Errors
    /// The fault itself in strict policy.
    pub fn settle_fault(&mut self, fault: Fault, raw: &str) -> Result<(), Fault> {
        if self.policy == Policy::Strict {
            return Err(fault);
        }
        match fault {
            Fault::Fatal(_) => return Err(fault),
            Fault::Limit(_) => {
                self.write_oversize(raw.len() as u64, Hash::of_bytes(raw.as_bytes()), "limit_exceeded")?;
                self.ledger.unrecognized("limit_exceeded");
            }
            Fault::Unrecognized { name } => {
                self.write_unrecognized(&name, raw, Pointer::Root)?;
                self.ledger.unrecognized(&name);
            }
            Fault::Json(_) | Fault::Malformed { .. } => {
                self.write_unrecognized("malformed", raw, Pointer::Root)?;
                self.ledger.malformed("malformed");
            }
        }
        Ok(())
    }

    pub(crate) fn malformed_bytes(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let text = String::from_utf8_lossy(bytes);
        let lossy = matches!(text, std::borrow::Cow::Owned(_));
        self.write(Kind::Meta, Pointer::Root, None, |out| {
            out.piece(word!("label", "unrecognized"));
            out.piece(word!("name", "malformed"));
            out.text(key!("raw"), &Text::Plain(&text));
            out.flag(key!("lossy"), lossy, false);
            Ok(())
        })?;
        self.ledger.malformed("malformed");
        Ok(())
    }

    pub(crate) fn oversize(&mut self, bytes: u64, hash: Hash) -> Result<(), Fault> {
        self.write_oversize(bytes, hash, "limit_exceeded")?;
        self.ledger.unrecognized("limit_exceeded");
        Ok(())
    }

    fn write_oversize(&mut self, bytes: u64, hash: Hash, name: &str) -> Result<(), Fault> {
        self.write(Kind::Meta, Pointer::Root, None, |out| {
            out.piece(word!("label", "unrecognized"));
            out.text(key!("name"), &Text::Plain(name));
            out.number(key!("bytes"), Some(bytes));
            out.hash(key!("hash"), &Some(hash));
            Ok(())
        })?;
        Ok(())
    }

    /// `raw` is the value where it is JSON that nests within the limit, else its hash and size stand for it.
    fn write_unrecognized(&mut self, name: &str, raw: &str, pointer: Pointer<'_>) -> Result<(), Fault> {
        let mut spelled = String::new();
        if serde_json::from_str::<serde::de::IgnoredAny>(raw).is_err() {
            spelled.push('"');
            push_plain(&mut spelled, raw);
            spelled.push('"');
        } else if push_json(&mut spelled, raw, self.limits.nesting).is_err() {
            return self.write_oversize(raw.len() as u64, Hash::of_bytes(raw.as_bytes()), name);
        }
        self.write(Kind::Meta, pointer, None, |out| {
            out.piece(word!("label", "unrecognized"));
            out.text(key!("name"), &Text::Plain(name));
            out.piece(key!("raw"));
            out.push_str(&spelled);
            Ok(())
        })?;
        Ok(())
    }
}
