//! The emitter: the only way to make an event. It owns order, time, source, parents and the ledger.

use std::io::Write;

use crate::adapter::Identity;
use crate::anchor;
use crate::buffer::{Buffer, Piece, Push as _};
use crate::descriptor::AdapterDescriptor;
use crate::error::{AdapterError, ErrorCode, excerpt};
use crate::event::{Event, Kind};
pub use crate::fault::Fault;
use crate::hash::Hash;
use crate::keys::{self, KeyMap};
use crate::ledger::{Ledger, Outcome};
use crate::limits::{LimitExceeded, Limits};
use crate::policy::Policy;
use crate::render::{Object, Place, Pointer, key, push_fields, push_number, push_origin};
use crate::standing::{Standing, push_harness, push_standing, refusal, stand};
use crate::text::{LoneSurrogate, Text, push_json, push_plain, push_text};
use crate::version::Revision;

/// The schema of the tapes that this crate writes.
pub const TAPE_SCHEMA: &str = "engram.tape/1";

/// The time that stands where an artifact has none.
pub const NO_TIME: &str = "1970-01-01T00:00:00Z";

/// The tape is handed on when this much of it is written, between two events.
const FLUSH_BYTES: usize = 128 << 10;

/// How an event begins: its number, its time, its kind.
const SEQ: &Piece = &Piece::of(&["{\"seq\":"]);
const T: &Piece = &Piece::of(&[",\"t\":\""]);
/// In the order of [`Kind::ALL`].
static KINDS: [Piece; Kind::ALL.len()] = {
    let mut pieces = [Piece::of(&[]); Kind::ALL.len()];
    let mut number = 0;
    while number < pieces.len() {
        pieces[number] = Piece::of(&["\",\"k\":\"", Kind::ALL[number].as_str(), "\",\"source\":"]);
        number += 1;
    }
    pieces
};

/// What a record says of itself, for the envelope of its events.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stamp<'a> {
    /// The record's own time in the tape's form (RFC 3339, UTC, `Z`), if it has one.
    pub t: Option<&'a str>,
    /// The record's own id.
    pub id: Option<Text<'a>>,
    /// True when the record repeats another session's history.
    pub replay: bool,
}

/// Writes events in order. Made by the driver, handed to the session with each record.
pub struct Emitter<'s> {
    /// Where the tape goes.
    sink: &'s mut dyn Write,
    descriptor: &'static AdapterDescriptor,
    policy: Policy,
    limits: Limits,
    out: Buffer,
    seq: u64,
    counts: [u64; 8],
    ledger: Ledger,
    /// `"source":{...}` as it stands in the current events.
    source: Buffer,
    source_key: (Option<String>, Option<String>),
    last_t: Option<String>,
    own_t: bool,
    place: Place,
    /// The record's own id as a canonical token; empty where it has none.
    id: String,
    replay: bool,
    calls: KeyMap<u64>,
    next_parent: Option<u64>,
    at_begin: u64,
    unknown_blocks: Option<String>,
    standing: Standing,
}

impl<'s> Emitter<'s> {
    pub(crate) fn new(
        sink: &'s mut dyn Write,
        descriptor: &'static AdapterDescriptor,
        policy: Policy,
        limits: Limits,
        identity: &Identity,
        standing: Standing,
    ) -> Self {
        let mut emitter = Emitter {
            sink,
            descriptor,
            policy,
            limits,
            out: Buffer::with_capacity(FLUSH_BYTES / 2),
            seq: 0,
            counts: [0; 8],
            ledger: Ledger::default(),
            source: Buffer::default(),
            source_key: (None, None),
            last_t: identity.start.clone(),
            own_t: false,
            place: Place::default(),
            id: String::new(),
            replay: false,
            calls: KeyMap::default(),
            next_parent: None,
            at_begin: 0,
            unknown_blocks: None,
            standing,
        };
        emitter.render_source();
        emitter.source(identity.session_id.as_deref(), identity.agent_id.as_deref());
        emitter
    }

    /// The policy of this conversion.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// States which session (and sub-agent) the events from here on belong to. Costs nothing when it does not change.
    pub fn source(&mut self, session_id: Option<&str>, agent_id: Option<&str>) {
        if self.source_key.0.as_deref() == session_id && self.source_key.1.as_deref() == agent_id {
            return;
        }
        self.source_key = (session_id.map(str::to_owned), agent_id.map(str::to_owned));
        self.render_source();
    }

    fn render_source(&mut self) {
        self.source.truncate(0);
        let mut source = Object::open(&mut self.source);
        source.word(key!("harness"), self.descriptor.harness_family);
        source.name(key!("session_id"), self.source_key.0.as_deref().map(Text::Plain));
        source.name(key!("agent_id"), self.source_key.1.as_deref().map(Text::Plain));
        source.close();
    }

    /// Begins a record. The driver does this for lines; a session does it for the records of a document.
    pub fn begin(&mut self) {
        self.begin_at(Place::default());
    }

    pub(crate) fn begin_at(&mut self, place: Place) {
        self.place = place;
        self.own_t = false;
        self.id.clear();
        self.replay = false;
        self.next_parent = None;
        self.at_begin = self.seq;
        self.unknown_blocks = None;
    }

    /// States what the current record says of itself. To be called before its first event.
    pub fn stamp(&mut self, stamp: Stamp<'_>) {
        self.own_t = stamp.t.is_some();
        if let Some(t) = stamp.t {
            let last = self.last_t.get_or_insert_default();
            last.clear();
            last.push_str(t);
        }
        self.id.clear();
        if let Some(id) = stamp.id {
            push_text(&mut self.id, id);
        }
        self.replay = stamp.replay;
    }

    /// The 1-based line of the current record, 0 in a document.
    pub fn line(&self) -> u64 {
        self.place.line
    }

    /// Places the events that follow at another record, for facts that only a later record settles.
    pub fn restamp(&mut self, line: u64, stamp: Stamp<'_>) {
        self.place = Place { line, ..Place::default() };
        self.stamp(stamp);
    }

    /// States that the pointers of the events that follow begin at this place of the record, until another one begins. For a record that
    /// wraps another.
    pub fn within(&mut self, place: Pointer<'static>) {
        self.place.within = place;
    }

    /// Makes the next event a child of this one. For the first event of a sub-agent.
    pub fn parent_of_next(&mut self, parent: Option<u64>) {
        self.next_parent = parent;
    }

    /// The `seq` of the `tool.call` with this id, if it has come.
    pub fn call(&self, call_id: Text<'_>) -> Option<u64> {
        self.calls.get(&call_key(call_id)).copied()
    }

    /// Writes an event and gives its `seq`.
    ///
    /// # Errors
    /// [`Fault::Limit`] when `args` nest too deep; nothing is written then.
    pub fn emit<'e>(&mut self, event: impl Into<Event<'e>>, pointer: Pointer<'_>) -> Result<u64, Fault> {
        self.emit_event(&event.into(), pointer)
    }

    fn emit_event(&mut self, event: &Event<'_>, pointer: Pointer<'_>) -> Result<u64, Fault> {
        let parent = self.next_parent.take().or_else(|| match event {
            Event::ToolResult(result) => result.call_id.and_then(|id| self.call(id)),
            Event::CodeRead(read) => read.call_id.and_then(|id| self.call(id)),
            Event::CodeEdit(edit) => edit.call_id.and_then(|id| self.call(id)),
            Event::SpanLink(link) => link.call_id.and_then(|id| self.call(id)),
            _ => None,
        });
        let max_depth = self.limits.nesting;
        let seq = self.write(event.kind(), pointer, parent, |object| push_fields(object, event, max_depth))?;
        if let Event::ToolCall(call) = event
            && let Some(id) = call.call_id.filter(|id| !id.is_empty())
        {
            self.calls.entry(call_key(id)).or_insert(seq);
        }
        Ok(seq)
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

    /// States that the record was written by this version. When it changes, writes `meta revision` and gives the new revision.
    ///
    /// # Errors
    /// [`Fault::Fatal`] in strict policy, when the new version is not supported.
    pub fn version(&mut self, version: &str) -> Result<Option<&'static Revision>, Fault> {
        if self.standing.version.as_deref() == Some(version) {
            return Ok(None);
        }
        let (revision, support) = self.descriptor.matrix.resolve(Some(version));
        if self.policy == Policy::Strict
            && let Some(error) = refusal(self.descriptor, support, Some(version))
        {
            return Err(Fault::Fatal(error));
        }
        self.standing = stand(self.descriptor, Some(version), revision, support);
        let standing = self.standing.clone();
        let family = self.descriptor.harness_family;
        self.write(Kind::Meta, Pointer::Root, None, |object| {
            object.word(key!("label"), "revision");
            push_harness(object, family, &standing);
            push_standing(object, &standing);
            Ok(())
        })?;
        Ok(revision)
    }

    /// Ends a record of a document. The driver does this for lines.
    pub fn settle(&mut self, outcome: Outcome) {
        match (self.unknown_blocks.take(), outcome) {
            (Some(name), _) => self.ledger.unrecognized(&name),
            (None, outcome) => self.ledger.settle(outcome),
        }
    }

    /// Takes back that an earlier record was a duplicate. Its event must have been written after [`Emitter::restamp`].
    pub fn duplicate_was_mapped(&mut self, record: &'static str, rule: &'static str) {
        self.ledger.duplicate_was_mapped(record, rule);
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

    /// True when the current record has given an event.
    pub(crate) fn has_events(&self) -> bool {
        self.seq > self.at_begin
    }

    pub(crate) fn malformed_bytes(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let text = String::from_utf8_lossy(bytes);
        let lossy = matches!(text, std::borrow::Cow::Owned(_));
        self.write(Kind::Meta, Pointer::Root, None, |object| {
            object.word(key!("label"), "unrecognized");
            object.word(key!("name"), "malformed");
            object.text(key!("raw"), Some(Text::Plain(&text)));
            object.flag(key!("lossy"), lossy, false);
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
        self.write(Kind::Meta, Pointer::Root, None, |object| {
            object.word(key!("label"), "unrecognized");
            object.text(key!("name"), Some(Text::Plain(name)));
            object.number(key!("bytes"), Some(bytes));
            object.hash(key!("hash"), Some(hash));
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
        self.write(Kind::Meta, pointer, None, |object| {
            object.word(key!("label"), "unrecognized");
            object.text(key!("name"), Some(Text::Plain(name)));
            object.key(key!("raw")).push_str(&spelled);
            Ok(())
        })?;
        Ok(())
    }

    /// Writes one line: the envelope around what `fields` writes.
    fn write(
        &mut self,
        kind: Kind,
        pointer: Pointer<'_>,
        parent: Option<u64>,
        fields: impl FnOnce(&mut Object<'_>) -> Result<(), LimitExceeded>,
    ) -> Result<u64, Fault> {
        if self.out.len() >= FLUSH_BYTES {
            self.flush().map_err(Fault::Fatal)?;
        }
        let before = self.out.len();
        self.push_head(kind);
        if let Err(limit) = fields(&mut Object::resume(&mut self.out)) {
            self.out.truncate(before);
            return Err(limit.into());
        }
        self.push_tail(pointer, parent);
        self.counts[kind as usize] += 1;
        self.seq += 1;
        Ok(self.seq - 1)
    }

    /// The envelope before the event's own fields.
    fn push_head(&mut self, kind: Kind) {
        let out = &mut self.out;
        out.piece(SEQ, 0);
        push_number(out, self.seq);
        out.piece(T, 0);
        out.push_str(self.last_t.as_deref().unwrap_or(NO_TIME));
        out.piece(&KINDS[kind as usize], 0);
        out.append(&self.source);
    }

    /// The envelope behind the event's own fields.
    fn push_tail(&mut self, pointer: Pointer<'_>, parent: Option<u64>) {
        let mut object = Object::resume(&mut self.out);
        object.number(key!("parent"), parent);
        if self.last_t.is_none() {
            object.word(key!("t_basis"), "absent");
        } else if !self.own_t {
            object.word(key!("t_basis"), "inherited");
        }
        push_origin(&mut object, self.place, pointer, &self.id);
        object.flag(key!("replay"), self.replay, false);
        object.close();
        self.out.byte(b'\n');
    }

    pub(crate) fn start(&mut self) -> Result<(), Fault> {
        let (descriptor, policy, standing) = (self.descriptor, self.policy, self.standing.clone());
        self.write(Kind::Meta, Pointer::Root, None, |object| {
            object.word(key!("label"), "tape.start");
            object.word(key!("schema"), TAPE_SCHEMA);
            object.object(key!("adapter"), |adapter| {
                adapter.word(key!("id"), descriptor.adapter_id);
                adapter.word(key!("version"), descriptor.adapter_version);
            });
            push_harness(object, descriptor.harness_family, &standing);
            object.word(key!("policy"), policy.as_str());
            object.word(key!("anchors"), anchor::SCHEME);
            push_standing(object, &standing);
            Ok(())
        })?;
        Ok(())
    }

    pub(crate) fn stop(&mut self, input: (Hash, u64), complete: bool) -> Result<(), Fault> {
        self.begin();
        let mut counts = self.counts;
        counts[Kind::Meta as usize] += 1;
        let ledger = serde_json::to_string(&self.ledger).map_err(|_| Fault::Fatal(AdapterError::new(ErrorCode::AdapterDefect)))?;
        self.write(Kind::Meta, Pointer::Root, None, |object| {
            object.word(key!("label"), "tape.stop");
            object.object(key!("counts"), |inner| {
                for kind in Kind::ALL {
                    push_number(inner.named(kind.as_str()), counts[kind as usize]);
                }
            });
            object.key(key!("ledger")).push_str(&ledger);
            object.object(key!("input"), |inner| {
                inner.hash(key!("hash"), Some(input.0));
                inner.number(key!("bytes"), Some(input.1));
            });
            object.key(key!("complete")).push_str(if complete { "true" } else { "false" });
            Ok(())
        })?;
        Ok(())
    }

    /// Hands on what has been written.
    pub(crate) fn flush(&mut self) -> Result<(), AdapterError> {
        self.sink.write_all(self.out.as_bytes())?;
        self.out.truncate(0);
        Ok(())
    }

    pub(crate) fn counts(&self) -> [u64; 8] {
        self.counts
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(crate) fn standing(&self) -> &Standing {
        &self.standing
    }
}

fn call_key(call_id: Text<'_>) -> u64 {
    match call_id.decode() {
        Ok(id) => keys::key(id),
        // Two ids that differ in half a surrogate pair are two ids.
        Err(LoneSurrogate) => {
            let mut spelled = String::new();
            push_text(&mut spelled, call_id);
            keys::key(spelled)
        }
    }
}
