//! The emitter of step 3: it makes events of what a conversion says, passes them to the sink, and keeps the ledger.

pub(crate) mod attribution;
mod calls;
mod driver;
mod frame;
mod long_names;
mod permissions;
mod send;
mod stated;
pub(crate) mod verdicts;

use std::fmt;
use std::mem;

use crate::descriptor::AdapterDescriptor;
pub use crate::error::Fault;
use crate::error::{AdapterError, ErrorCode, error_of};
use crate::event::{Event, KindCounts, Kinds, Seq, TimeBasis};
pub use crate::event::{Pointer, RecordLocation};
use crate::input::head::Identity;
use crate::keys::KeySet;
use crate::ledger::Ledger;
use crate::limits::Limits;
use crate::policy::Policy;
use crate::sink::EventSink;
use crate::support::ResolvedSupport;
use crate::text::{Text, json::nests_deeper, push_text};
use crate::time::is_time;
use crate::version::Revision;
use attribution::Attribution;
use calls::Calls;
use long_names::LongNames;
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

impl<'a> RecordHeader<'a> {
    /// Time and id of a record that is no copy.
    pub const fn new(t: Option<&'a str>, id: Option<Text<'a>>) -> Self {
        RecordHeader {
            t,
            id,
            replay: false,
        }
    }
}

/// Makes events and passes them to the sink: it sets number, time, source, parent and origin, and keeps the ledger.
///
/// No method fails. What cannot be emitted (a limit, a sink that fails, an event that no tape may have) ends the conversion after the record,
/// and nothing is passed to the sink after it.
pub struct Emitter<'s> {
    sink: &'s mut dyn EventSink,
    descriptor: &'static AdapterDescriptor,
    /// The family of the harness: that of the adapter, or the one that the artifact states.
    pub(crate) family: &'static str,
    policy: Policy,
    limits: Limits,
    /// True if reads and edits have their texts.
    span_text: bool,
    support: ResolvedSupport,
    /// The lowest support of the events so far.
    lowest_support: ResolvedSupport,
    /// The kinds whose claims are lowered so far.
    lowered: Kinds,
    /// The kinds whose claims the current record lowers, before its first event.
    lowers: Option<Kinds>,
    ledger: Ledger,
    counts: KindCounts,
    next_seq: Seq,
    calls: Calls,
    /// The calls that were denied, and have no result so far.
    denied: KeySet,
    source: Source,
    /// The source before the current record changed it.
    source_before: Option<Source>,
    /// Nothing that one session says reaches another.
    is_apart: bool,
    stated: Stated,
    /// Relative paths stay as they are.
    keeps_paths: bool,
    header: Header,
    /// The record that events are attributed to.
    location: RecordLocation,
    pointer_prefix: Pointer<'static>,
    /// The first part of pointers that replaces another one: the part, and the member that the source has.
    pointer_alias: Option<(&'static str, &'static str)>,
    records: Attribution<'s>,
    /// The type of the first unknown block of the current record.
    unknown_block: Option<String>,
    long_names: LongNames,
    error: Option<AdapterError>,
}

impl fmt::Debug for Emitter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emitter")
            .field("adapter", &self.descriptor.adapter_id)
            .field("next_seq", &self.next_seq)
            .finish_non_exhaustive()
    }
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

impl Header {
    /// The header of events before the first record.
    fn first(start: Option<&str>) -> Header {
        let t_basis = if start.is_some() {
            TimeBasis::Inherited
        } else {
            TimeBasis::Absent
        };
        Header {
            t: start.unwrap_or(NO_TIME).to_owned(),
            t_basis: Some(t_basis),
            ..Header::default()
        }
    }

    /// The header of a record that says nothing: it has the time before it.
    fn clear(&mut self) {
        self.t_basis.get_or_insert(TimeBasis::Inherited);
        self.id.clear();
        self.replay = false;
    }
}

impl<'s> Emitter<'s> {
    pub(crate) fn new(
        sink: &'s mut dyn EventSink,
        descriptor: &'static AdapterDescriptor,
        policy: Policy,
        limits: Limits,
        identity: &Identity,
        support: ResolvedSupport,
        records: Attribution<'s>,
    ) -> Self {
        Emitter {
            sink,
            descriptor,
            family: identity.family.unwrap_or(descriptor.harness_family),
            policy,
            limits,
            span_text: false,
            lowest_support: support.clone(),
            support,
            lowered: Kinds::default(),
            lowers: None,
            ledger: Ledger::default(),
            counts: KindCounts::default(),
            next_seq: Seq::default(),
            calls: Calls::new(),
            denied: KeySet::default(),
            source: Source {
                session_id: token(identity.session_id.as_deref()),
                agent_id: token(identity.agent_id.as_deref()),
            },
            source_before: None,
            is_apart: false,
            stated: Stated::default(),
            keeps_paths: false,
            header: Header::first(identity.start.as_deref()),
            location: RecordLocation::default(),
            pointer_prefix: Pointer::Root,
            pointer_alias: None,
            records,
            unknown_block: None,
            long_names: LongNames::default(),
            error: None,
        }
    }

    /// The policy of this conversion.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Sets the session and sub-agent of all following events.
    pub fn set_source(&mut self, session_id: Option<&str>, agent_id: Option<&str>) {
        if is_token_of(&self.source.session_id, session_id)
            && is_token_of(&self.source.agent_id, agent_id)
        {
            return;
        }
        let before = mem::replace(
            &mut self.source,
            Source {
                session_id: token(session_id),
                agent_id: token(agent_id),
            },
        );
        self.source_before.get_or_insert(before);
    }

    /// Sets time, id and replay mark of the current record. Call it before the first event of the record. A time that is not in the format of
    /// a tape ends the conversion with `adapter_defect`.
    pub fn set_header(&mut self, header: RecordHeader<'_>) {
        self.header.clear();
        match header.t {
            None => {}
            Some(t) if !is_time(t) => self.fail(self.defect("a time in RFC 3339 with `Z`", t)),
            Some(t) => {
                self.header.t.clear();
                self.header.t.push_str(t);
                self.header.t_basis = None;
            }
        }
        if let Some(id) = header.id.filter(|id| !id.is_empty()) {
            push_text(&mut self.header.id, id);
        }
        self.header.replay = header.replay;
    }

    /// Sets the first part of all pointers until the next record. For a record inside another record.
    pub fn set_pointer_prefix(&mut self, prefix: Pointer<'static>) {
        self.pointer_prefix = prefix;
    }

    /// Makes pointers that begin with `name` begin with `member`, for an artifact that names a member otherwise. Records inside others keep
    /// their names.
    pub fn set_pointer_alias(&mut self, name: &'static str, member: &'static str) {
        self.pointer_alias = Some((name, member));
    }

    /// Emits relative paths as they are: for a call whose directory is not in the log.
    pub fn with_paths_as_stated<T>(&mut self, emit: impl FnOnce(&mut Self) -> T) -> T {
        let before = mem::replace(&mut self.keeps_paths, true);
        let emitted = emit(self);
        self.keeps_paths = before;
        emitted
    }

    /// The 1-based line of the current record; 0 in a document.
    pub fn line(&self) -> u64 {
        self.location.line
    }

    /// The number of the latest `tool.call` with this id that is still open, else of the latest one; `None` if there is none so far.
    #[inline(never)]
    pub fn seq_of_call(&self, call_id: Text<'_>) -> Option<Seq> {
        self.calls.latest(self.call_key(call_id))
    }

    /// The number of the latest `tool.call` with this id that is still without a result. If a log has only the ends of calls, then
    /// an end without an open call belongs to another call with the same id.
    pub fn seq_of_open_call(&self, call_id: Text<'_>) -> Option<Seq> {
        self.calls.latest_open(self.call_key(call_id))
    }

    /// True if a JSON value nests too deep to be the arguments of a call. That of a record does not; one inside a string may.
    pub fn nests_too_deep(&self, json: &str) -> bool {
        nests_deeper(json, self.limits.nesting)
    }

    /// The number of the last event so far, for a later event that refers to it.
    pub fn last_seq(&self) -> Option<Seq> {
        self.next_seq.0.checked_sub(1).map(Seq)
    }

    /// True if the current record has given an event of its own.
    pub fn has_events(&self) -> bool {
        self.records.has_events
    }

    /// Emits an event, and returns its number. `pointer` is the place in the record that the event comes from. The parent of results, reads,
    /// edits and links is the call with their `call_id`. The result of a denied call has a `meta permission` before it, unless there was one.
    /// A relative path becomes absolute by the directory that the session said last, and a usage without a model gets the one that the session
    /// said last.
    pub fn emit<'e, 'p>(
        &mut self,
        event: impl Into<Event<'e>>,
        pointer: impl Into<Pointer<'p>>,
    ) -> Seq {
        self.emit_child(None, event, pointer)
    }

    /// As [`Emitter::emit`], for an event with this parent.
    pub fn emit_child<'e, 'p>(
        &mut self,
        parent: Option<Seq>,
        event: impl Into<Event<'e>>,
        pointer: impl Into<Pointer<'p>>,
    ) -> Seq {
        self.emit_at(parent, event.into(), pointer.into())
    }

    fn emit_at(&mut self, parent: Option<Seq>, mut event: Event<'_>, pointer: Pointer<'_>) -> Seq {
        self.lower_claims();
        if !self.span_text {
            event.forget_span_text();
        }
        self.keep_denial(&event, pointer);
        let seq = self.emit_event(parent, &event, pointer);
        self.records.note_event();
        seq
    }

    /// Keeps a part of the record of an unknown type as `meta unrecognized`, or as `meta system` if the harness's own types declare it. `name`
    /// is its type, `raw` its JSON. The check has named it ([`Check::unknown_block`](crate::steps::Check::unknown_block)).
    pub fn unrecognized_block(&mut self, name: &str, raw: &str, pointer: Pointer<'_>) {
        self.lower_claims();
        if self.descriptor.declares_block(name) {
            self.emit_declared(name, raw, pointer);
            return self.records.note_event();
        }
        if self.policy == Policy::Strict {
            return self.fail(error_of(Fault::unrecognized(name), self.line()));
        }
        self.keep_block(name, raw, pointer);
        self.records.note_event();
    }

    /// Says which version wrote the record. If it is another one than before, emits `meta revision` and returns the new revision.
    pub fn version(&mut self, version: &str) -> Option<&'static Revision> {
        self.lower_claims();
        if self.support.version.as_deref() == Some(version) {
            return None;
        }
        let revision = self.change_version(version);
        self.records.note_event();
        revision
    }

    /// Emits events that belong to another record: a fact that only a later record decides, or that stands after a later one. They have the
    /// origin of that record and this header. Afterwards the current record goes on as before.
    pub fn of_record<T>(
        &mut self,
        number: usize,
        header: RecordHeader<'_>,
        emit: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let attributed = mem::replace(&mut self.records.attributed, number);
        let location = mem::replace(&mut self.location, self.records.location(number));
        let prefix = mem::replace(&mut self.pointer_prefix, self.records.base(number));
        let own_header = self.header.clone();
        self.set_header(header);
        let emitted = emit(self);
        let given = mem::replace(&mut self.header, own_header);
        // From now on a time is known, and what has none of its own inherits it.
        if self.header.t_basis == Some(TimeBasis::Absent)
            && given.t_basis != Some(TimeBasis::Absent)
        {
            self.header.t = given.t;
            self.header.t_basis = Some(TimeBasis::Inherited);
        }
        (self.pointer_prefix, self.location, self.records.attributed) =
            (prefix, location, attributed);
        emitted
    }

    /// Ends the conversion after the record with this error, unless there is an earlier one.
    fn fail(&mut self, error: AdapterError) {
        self.error.get_or_insert(error);
    }

    /// A defect of the adapter in the current record.
    fn defect(&self, expected: &str, found: &str) -> AdapterError {
        let error = AdapterError::new(ErrorCode::AdapterDefect)
            .expected(expected)
            .found(found);
        if self.line() > 0 {
            error.line(self.line())
        } else {
            error
        }
    }

    /// Before the first event of a record with unknown members: lowers the claims of the kinds that it gives.
    #[inline]
    fn lower_claims(&mut self) {
        if let Some(kinds) = self.lowers.take() {
            self.lower_kinds(kinds);
        }
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
        (Some(token), Some(plain)) => {
            token.len() == plain.len() + 2 && token[1..].starts_with(plain)
        }
        (None, None) => true,
        _ => false,
    }
}
