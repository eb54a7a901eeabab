//! The emitter, through which a session emits its events. It sets number, time, source, parent and origin, and keeps the ledger.

mod calls;
mod completion;
mod kept;
mod lifecycle;
pub(crate) mod member_check;
mod members;
mod names;
mod pointers;
mod stated;
mod steps;
mod waiting;

use std::mem;

use crate::audit::record_type;
use crate::conversion::Options;
use crate::coverage::Grade;
use crate::descriptor::{AdapterDescriptor, OmissionRule};
pub use crate::error::Fault;
use crate::error::{AdapterError, ErrorCode};
use crate::event::{CodeEdit, Event, EventRecord, EventSource, Kind, KindCounts, Meta, Origin, Seq, TimeBasis, Violation, violation};
pub use crate::event::{Pointer, RecordLocation};
use crate::input::OriginalRecord;
use crate::input::head::Identity;
use crate::ledger::Ledger;
use crate::limits::{LimitExceeded, Limits};
use crate::policy::Policy;
use crate::sink::EventSink;
use crate::support::ResolvedSupport;
use crate::text::{Text, json::nests_deeper, push_text};
use crate::time::is_time;
use calls::Calls;
use kept::KeptBytes;
pub use kept::{KeptText, MAX_KEPT_BYTES, Reserved};
use member_check::{Kinds, MemberCheck};
use names::LongNames;
use stated::Stated;

/// The time of all events of an artifact without times.
pub const NO_TIME: &str = "1970-01-01T00:00:00Z";

/// Facts of a record for the envelope of its events.
#[derive(Debug, Clone, Copy, Default)]
pub struct RecordHeader<'a> {
    /// The time of the record (RFC 3339, UTC, `Z`), if it has one.
    pub t: Option<&'a str>,
    /// The record's own id.
    pub id: Option<Text<'a>>,
    /// True if the record repeats the history of another session.
    pub replay: bool,
}

/// Makes events and passes them to a sink. The pipeline creates it and passes it to the session with each record.
pub struct Emitter<'s> {
    sink: &'s mut dyn EventSink,
    descriptor: &'static AdapterDescriptor,
    policy: Policy,
    limits: Limits,
    /// True if reads and edits have their texts.
    span_text: bool,
    support: ResolvedSupport,
    /// The lowest support of the final events.
    lowest_support: ResolvedSupport,
    ledger: Ledger,
    counts: KindCounts,
    next_seq: Seq,
    calls: Calls,
    source: Source,
    /// Nothing that one session states reaches another.
    is_apart: bool,
    stated: Stated,
    /// Relative paths stay as they are.
    keeps_paths: bool,
    header: Header,
    /// The current record.
    record: RecordLocation,
    /// The number of the first event since the current record began.
    first_seq: Seq,
    /// True if the current record has given an event that is attributed to itself.
    has_own_events: bool,
    /// True if the current record has an id or a time of its own.
    is_identified: bool,
    /// The record that events are attributed to.
    location: RecordLocation,
    pointer_prefix: Pointer<'static>,
    /// The first part of pointers that replaces another one: the part, and the member that the source has.
    pointer_alias: Option<(&'static str, &'static str)>,
    /// The type of the first unknown block of the current record.
    unknown_block: Option<String>,
    /// An error of a method that returns no `Result`. The next event fails with it.
    error: Option<AdapterError>,
    long_names: LongNames,
    kept: KeptBytes,
    /// The record that is settled as it was before it was rewritten.
    original: Option<OriginalRecord>,
    members: MemberCheck,
    /// The state to restore if the current record is rolled back.
    checkpoint: Checkpoint,
}

/// The session and sub-agent that events belong to, as canonical JSON strings.
#[derive(Debug, Default)]
struct Source {
    session_id: Option<String>,
    agent_id: Option<String>,
}

/// Time, id and replay mark of the current record.
#[derive(Debug, Clone, Default)]
struct Header {
    t: String,
    /// `None` if `t` is the own time of the record.
    t_basis: Option<TimeBasis>,
    /// The id of the record as a canonical JSON string; empty if it has none.
    id: String,
    replay: bool,
}

/// The emitter's state after the last final event.
#[derive(Debug, Default)]
struct Checkpoint {
    next_seq: Seq,
    counts: KindCounts,
    /// The support before the record changed it.
    support: Option<ResolvedSupport>,
    /// The kinds whose claims were lowered.
    lowered: Kinds,
    /// The source before the record changed it.
    source: Option<Source>,
    /// What was stated before the record changed it.
    stated: Option<Stated>,
}

impl<'s> Emitter<'s> {
    pub(crate) fn new(
        sink: &'s mut dyn EventSink,
        descriptor: &'static AdapterDescriptor,
        options: &Options,
        identity: &Identity,
        support: ResolvedSupport,
    ) -> Self {
        let t_basis = if identity.start.is_some() { TimeBasis::Inherited } else { TimeBasis::Absent };
        let t = identity.start.as_deref().unwrap_or(NO_TIME).to_owned();
        let mut emitter = Emitter {
            sink,
            descriptor,
            policy: options.policy,
            limits: options.limits,
            span_text: options.span_text,
            lowest_support: support.clone(),
            support,
            ledger: Ledger::default(),
            counts: KindCounts::default(),
            next_seq: Seq::default(),
            calls: Calls::new(),
            source: Source::default(),
            is_apart: false,
            stated: Stated::default(),
            keeps_paths: false,
            header: Header { t, t_basis: Some(t_basis), ..Header::default() },
            record: RecordLocation::default(),
            first_seq: Seq::default(),
            has_own_events: false,
            is_identified: false,
            location: RecordLocation::default(),
            pointer_prefix: Pointer::Root,
            pointer_alias: None,
            unknown_block: None,
            error: None,
            long_names: LongNames::default(),
            kept: KeptBytes::default(),
            original: None,
            members: MemberCheck::default(),
            checkpoint: Checkpoint::default(),
        };
        match MemberCheck::new(descriptor.members) {
            Ok(members) => emitter.members = members,
            Err(error) => emitter.fail(AdapterError::new(ErrorCode::AdapterDefect).expected("a member table").found(&error.to_string())),
        }
        emitter.set_source(identity.session_id.as_deref(), identity.agent_id.as_deref());
        emitter
    }

    /// The policy of this conversion.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Sets the session and sub-agent of all following events.
    pub fn set_source(&mut self, session_id: Option<&str>, agent_id: Option<&str>) {
        if is_token_of(&self.source.session_id, session_id) && is_token_of(&self.source.agent_id, agent_id) {
            return;
        }
        let before = mem::replace(&mut self.source, Source { session_id: token(session_id), agent_id: token(agent_id) });
        self.checkpoint.source.get_or_insert(before);
    }

    /// Begins a record. The pipeline does this for lines; a session does it for the records of a document.
    pub fn begin(&mut self) {
        self.begin_at(RecordLocation::default());
    }

    pub(crate) fn begin_at(&mut self, location: RecordLocation) {
        self.set_checkpoint();
        self.calls.begin_record();
        self.record = location;
        self.first_seq = self.next_seq;
        self.has_own_events = false;
        self.is_identified = false;
        self.location = location;
        self.pointer_prefix = Pointer::Root;
        self.inherit_time();
        self.header.id.clear();
        self.header.replay = false;
        self.unknown_block = None;
        self.members.forget(self.checkpoint.lowered);
    }

    /// Makes all events so far final.
    fn set_checkpoint(&mut self) {
        if let Err(error) = self.sink.commit() {
            self.fail(error.into());
        }
        self.checkpoint.next_seq = self.next_seq;
        self.checkpoint.counts = self.counts;
        self.calls.commit();
        if self.checkpoint.support.take().is_some() {
            self.lowest_support.lower_to(&self.support);
        }
        self.checkpoint.lowered = self.members.lowered();
        self.checkpoint.source = None;
        self.checkpoint.stated = None;
    }

    /// Makes the next event fail with this error, unless there is an earlier one.
    fn fail(&mut self, error: AdapterError) {
        self.error.get_or_insert(error);
    }

    fn inherit_time(&mut self) {
        self.header.t_basis.get_or_insert(TimeBasis::Inherited);
    }

    /// Sets time, id and replay mark of the current record. Call it before the first event of the record. If the time is not in the format
    /// of a tape, the next event fails with `adapter_defect`.
    pub fn set_header(&mut self, header: RecordHeader<'_>) {
        match header.t {
            None => self.inherit_time(),
            Some(t) if !is_time(t) => self.fail(self.defect("a time in RFC 3339 with `Z`", t)),
            Some(t) => {
                self.header.t.clear();
                self.header.t.push_str(t);
                self.header.t_basis = None;
            }
        }
        self.header.id.clear();
        if let Some(id) = header.id.filter(|id| !id.is_empty()) {
            push_text(&mut self.header.id, id);
        }
        self.header.replay = header.replay;
        self.is_identified |= self.location == self.record && (self.header.t_basis.is_none() || !self.header.id.is_empty());
    }

    fn defect(&self, expected: &str, found: &str) -> AdapterError {
        let error = AdapterError::new(ErrorCode::AdapterDefect).expected(expected).found(found);
        if self.line() > 0 { error.line(self.line()) } else { error }
    }

    /// The 1-based line of the current record; 0 in a document.
    pub fn line(&self) -> u64 {
        self.location.line
    }

    /// The location of the current record, for [`Emitter::attribute_to`].
    pub fn location(&self) -> RecordLocation {
        self.location
    }

    /// Attributes the following events to an earlier record. For facts that only a later record decides.
    pub fn attribute_to(&mut self, location: RecordLocation, header: RecordHeader<'_>) {
        if location == self.record && !self.has_own_events {
            // Back at the current record: the events of earlier records stay, whatever happens to this one.
            self.set_checkpoint();
        }
        self.location = location;
        self.pointer_prefix = Pointer::Root;
        self.set_header(header);
    }

    /// The number of the latest `tool.call` with this id that is still open, else of the latest one; `None` if there is none so far.
    #[inline(never)]
    pub fn seq_of_call(&self, call_id: Text<'_>) -> Option<Seq> {
        self.calls.latest(self.call_key(call_id))
    }

    /// The number of the latest `tool.call` with this id that has no result; `None` if there is none. Where a log states a call by its end
    /// alone, the end of a call that is not open is that of another call with the same id.
    pub fn seq_of_open_call(&self, call_id: Text<'_>) -> Option<Seq> {
        self.calls.latest_open(self.call_key(call_id))
    }

    /// The number of the last event so far, for a later event that refers to it.
    pub fn last_seq(&self) -> Option<Seq> {
        self.next_seq.0.checked_sub(1).map(Seq)
    }

    /// Emits an event, and returns its number. `pointer` is the location in the current record that the event comes from. The parent of
    /// results, reads, edits and links is the call with their `call_id`. A relative path becomes absolute by the directory that the session
    /// stated last, and a usage without a model gets the one that the session stated last.
    ///
    /// # Errors
    /// [`Fault::Limit`] if `args` nest too deep or the names that events repeat are too long, [`Fault::Refused`] if a range cannot be or
    /// the claims have no event of this kind, [`Fault::Fatal`] if the event is not one that a tape may have (`adapter_defect`), or if the
    /// sink fails.
    pub fn emit<'e>(&mut self, event: impl Into<Event<'e>>, pointer: Pointer<'_>) -> Result<Seq, Fault> {
        self.emit_event(None, event.into(), pointer)
    }

    /// As [`Emitter::emit`], for an event with this parent.
    ///
    /// # Errors
    /// As [`Emitter::emit`].
    pub fn emit_child<'e>(&mut self, parent: Option<Seq>, event: impl Into<Event<'e>>, pointer: Pointer<'_>) -> Result<Seq, Fault> {
        self.emit_event(parent, event.into(), pointer)
    }

    fn emit_event(&mut self, parent: Option<Seq>, mut event: Event<'_>, pointer: Pointer<'_>) -> Result<Seq, Fault> {
        if !self.span_text {
            event.forget_span_text();
        }
        let event = &event;
        if let Some(violation) = violation(event) {
            return Err(self.refused(violation, pointer));
        }
        if self.support.coverage.grade(event.kind()) == Grade::None {
            return Err(self.unclaimed(event.kind(), pointer));
        }
        if let Some(missing) = self.missing(event) {
            return self.emit_complete(parent, &missing.complete(event), pointer);
        }
        let seq = self.emit_complete(parent, event, pointer)?;
        if let Event::Meta(Meta::Session(facts)) = event {
            self.remember(facts);
        }
        Ok(seq)
    }

    /// Emits an event that leaves nothing to what the session stated.
    fn emit_complete(&mut self, parent: Option<Seq>, event: &Event<'_>, pointer: Pointer<'_>) -> Result<Seq, Fault> {
        let of_call = match event {
            Event::ToolResult(result) => {
                let key = result.call_id.map(|id| self.call_key(id));
                key.and_then(|key| self.calls.end(key))
            }
            _ => event.caused_by().filter(|_| parent.is_none()).and_then(|id| self.seq_of_call(id)),
        };
        let parent = parent.or(of_call);
        match event {
            Event::ToolCall(call) => {
                if call.args.is_some_and(|args| nests_deeper(args, self.limits.nesting)) {
                    return Err(LimitExceeded { limit: "nesting", allowed: self.limits.nesting as u64 }.into());
                }
                let seq = self.send(event, pointer, parent)?;
                self.register_call(call.call_id, seq);
                Ok(seq)
            }
            // A snippet without a hash, for example of text with U+FFFD, states nothing about the text.
            Event::CodeEdit(edit) if edit.snippet && edit.before_hash.is_none() && edit.after_hash.is_none() => {
                let edit = CodeEdit { snippet: false, ..edit.clone() };
                self.send(&edit.into(), pointer, parent)
            }
            _ => self.send(event, pointer, parent),
        }
    }

    /// True if a JSON value nests deeper than the limit.
    pub(crate) fn nests_too_deep(&self, json: &str) -> bool {
        nests_deeper(json, self.limits.nesting)
    }

    #[cold]
    fn refused(&self, violation: Violation, pointer: Pointer<'_>) -> Fault {
        match violation {
            Violation::Defect(expected) => Fault::Fatal(self.defect(expected, "none")),
            Violation::ImpossibleRange => {
                let pointer = format!("{}{pointer}", self.pointer_prefix);
                Fault::Refused { pointer, expected: "lines that a file can have", found: "other numbers".into() }
            }
        }
    }

    /// A log that mixes forms can have records that its form does not have.
    #[cold]
    fn unclaimed(&self, kind: Kind, pointer: Pointer<'_>) -> Fault {
        let pointer = format!("{}{pointer}", self.pointer_prefix);
        Fault::Refused { pointer, expected: "only kinds of events that this form of the log has", found: kind.as_str().into() }
    }

    #[inline(never)]
    fn register_call(&mut self, call_id: Option<Text<'_>>, seq: Seq) {
        if let Some(id) = call_id.filter(|id| !id.is_empty()) {
            let key = self.call_key(id);
            self.calls.open(key, seq);
        }
    }

    /// True if the current record has an id or a time of its own.
    pub(crate) fn is_identified(&self) -> bool {
        self.is_identified
    }

    /// Ends a record that is an exact repeat.
    pub(crate) fn settle_repeat(&mut self, record: &str) {
        self.ledger.repeated(record_type(self.descriptor, record), OmissionRule::REPEATED.rule);
    }

    /// True if the current record has given an event.
    pub(crate) fn has_events(&self) -> bool {
        self.next_seq > self.first_seq
    }

    /// Drops all events of the current record, but not those of earlier records that came before them.
    fn roll_back(&mut self) {
        self.sink.rollback();
        self.next_seq = self.checkpoint.next_seq;
        self.counts = self.checkpoint.counts;
        self.calls.roll_back();
        if let Some(support) = self.checkpoint.support.take() {
            self.support = support;
        }
        if let Some(stated) = self.checkpoint.stated.take() {
            self.stated = stated;
        }
        self.members.forget(self.checkpoint.lowered);
        self.unknown_block = None;
    }

    /// Passes an event to the sink.
    fn send(&mut self, event: &Event<'_>, pointer: Pointer<'_>, parent: Option<Seq>) -> Result<Seq, Fault> {
        let (seq, kind) = (self.next_seq, event.kind());
        if let Some(error) = self.error.take() {
            return Err(Fault::Fatal(error));
        }
        let Header { t, t_basis, id, replay } = &self.header;
        let (pointer_prefix, pointer) = self.named_as_in_source(pointer);
        let record = EventRecord {
            seq,
            t,
            t_basis: *t_basis,
            source: EventSource {
                harness: self.descriptor.harness_family,
                session_id: self.source.session_id.as_deref().map(Text::Canonical),
                agent_id: self.source.agent_id.as_deref().map(Text::Canonical),
            },
            event,
            parent,
            origin: Origin {
                line: Some(self.location.line).filter(|line| *line > 0),
                part: self.location.part,
                pointer_prefix,
                pointer,
                id: Some(&**id).filter(|id| !id.is_empty()).map(Text::Canonical),
            },
            replay: *replay,
        };
        self.long_names.add(&record)?;
        self.sink.event(&record).map_err(|error| Fault::Fatal(error.into()))?;
        self.counts.add(kind);
        self.next_seq = Seq(seq.0 + 1);
        self.has_own_events |= self.location == self.record;
        Ok(seq)
    }

    /// The error of a method that returned no `Result`, if there is one.
    pub(crate) fn take_error(&mut self) -> Option<AdapterError> {
        self.error.take()
    }

    pub(crate) fn counts(&self) -> KindCounts {
        self.counts
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(crate) fn support(&self) -> &ResolvedSupport {
        &self.support
    }

    pub(crate) fn lowest_support(&self) -> &ResolvedSupport {
        &self.lowest_support
    }
}

/// The canonical JSON string of an id, if there is one.
fn token(plain: Option<&str>) -> Option<String> {
    let plain = plain.filter(|plain| !plain.is_empty())?;
    let mut canonical = String::with_capacity(plain.len() + 2);
    push_text(&mut canonical, Text::Plain(plain));
    Some(canonical)
}

/// True if the token is that of the id. False for ids with escapes.
fn is_token_of(token: &Option<String>, plain: Option<&str>) -> bool {
    match (token, plain.filter(|plain| !plain.is_empty())) {
        (Some(token), Some(plain)) => token.len() == plain.len() + 2 && token[1..].starts_with(plain),
        (None, None) => true,
        _ => false,
    }
}
