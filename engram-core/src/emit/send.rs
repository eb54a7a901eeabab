//! From an event to the sink: what a tape may have, what the session said before, and the envelope.

use super::calls::call_key;
use super::stated::{Missing, Speaker};
use super::{Emitter, Header};
use crate::coverage::Grade;
use crate::error::{AdapterError, ErrorCode, Fault, error_of};
use crate::event::{
    CodeEdit, Event, EventRecord, EventSource, Kind, Meta, Origin, Pointer, Seq, Violation,
    violation,
};
use crate::keys::hash64;
use crate::limits::LimitExceeded;
use crate::text::Text;

impl Emitter<'_> {
    /// Emits an event if a tape may have it, completed by what the session said.
    pub(super) fn emit_event(
        &mut self,
        parent: Option<Seq>,
        event: &Event<'_>,
        pointer: Pointer<'_>,
    ) -> Seq {
        if let Some(violation) = violation(event) {
            return self.refuse(violation, pointer);
        }
        if self.support.coverage.grade(event.kind()) == Grade::None {
            return self.refuse_unclaimed(event.kind(), pointer);
        }
        if let Some(missing) = self.missing(event) {
            return self.emit_complete(parent, &missing.complete(event), pointer);
        }
        let seq = self.emit_complete(parent, event, pointer);
        if let Event::Meta(Meta::Session(facts)) = event {
            let session = self.source.session_id.as_deref().filter(|_| self.is_apart);
            self.stated.remember(
                facts,
                Speaker {
                    session,
                    agent: self.source.agent_id.as_deref(),
                },
            );
        }
        seq
    }

    /// Emits an event that leaves nothing to what the session said.
    fn emit_complete(
        &mut self,
        parent: Option<Seq>,
        event: &Event<'_>,
        pointer: Pointer<'_>,
    ) -> Seq {
        let of_call = match event {
            Event::ToolResult(result) => {
                let key = result.call_id.map(|id| self.call_key(id));
                key.and_then(|key| self.calls.end(key))
            }
            _ => event
                .caused_by()
                .filter(|_| parent.is_none())
                .and_then(|id| self.seq_of_call(id)),
        };
        let parent = parent.or(of_call);
        match event {
            Event::ToolCall(call) => {
                if call.args.is_some_and(|args| self.nests_too_deep(args)) {
                    return self.exceed(LimitExceeded {
                        limit: "nesting",
                        allowed: self.limits.nesting as u64,
                    });
                }
                let seq = self.send(event, pointer, parent);
                self.register_call(call.call_id, seq);
                seq
            }
            // A snippet without a hash, for example of text with U+FFFD, says nothing about the text.
            Event::CodeEdit(edit)
                if edit.snippet && edit.before_hash.is_none() && edit.after_hash.is_none() =>
            {
                let edit = CodeEdit {
                    snippet: false,
                    ..edit.clone()
                };
                self.send(&edit.into(), pointer, parent)
            }
            _ => self.send(event, pointer, parent),
        }
    }

    /// Passes an event to the sink, and returns its number. After an error nothing is passed on.
    pub(super) fn send(
        &mut self,
        event: &Event<'_>,
        pointer: Pointer<'_>,
        parent: Option<Seq>,
    ) -> Seq {
        let (seq, kind) = (self.next_seq, event.kind());
        if self.error.is_some() {
            return seq;
        }
        let Header {
            t,
            t_basis,
            id,
            replay,
        } = &self.header;
        let (pointer_prefix, pointer) = self.named_as_in_source(pointer);
        let record = EventRecord {
            seq,
            t,
            t_basis: *t_basis,
            source: EventSource {
                harness: self.family,
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
        if let Err(limit) = self.long_names.add(&record) {
            return self.exceed(limit);
        }
        if let Err(error) = self.sink.event(&record) {
            self.fail(error.into());
            return seq;
        }
        self.counts.add(kind);
        self.next_seq = Seq(seq.0 + 1);
        seq
    }

    #[inline(never)]
    fn register_call(&mut self, call_id: Option<Text<'_>>, seq: Seq) {
        if let Some(id) = call_id.filter(|id| !id.is_empty()) {
            let key = self.call_key(id);
            self.calls.open(key, seq);
        }
    }

    /// The pointer's first part and its rest, as the source names them.
    fn named_as_in_source<'p>(&self, pointer: Pointer<'p>) -> (Pointer<'static>, Pointer<'p>) {
        let same = (self.pointer_prefix, pointer);
        let Some((name, member)) = self.pointer_alias.filter(|_| self.pointer_prefix.is_root())
        else {
            return same;
        };
        let rest = |path: &'p str| path.strip_prefix(name);
        let renamed = match pointer {
            Pointer::At(path) => rest(path).map(Pointer::At),
            Pointer::Item(path, index) => rest(path).map(|path| Pointer::Item(path, index)),
            Pointer::Field(path, index, field) => {
                rest(path).map(|path| Pointer::Field(path, index, field))
            }
            _ => None,
        };
        renamed.map_or(same, |rest| (Pointer::At(member), rest))
    }

    /// The key of a call of the current session.
    pub(super) fn call_key(&self, call_id: Text<'_>) -> u64 {
        let key = call_key(call_id);
        self.speaker()
            .session
            .map_or(key, |session| hash64((session, key)))
    }

    /// Whose facts the current record's are. The session counts only if the artifact may have several.
    fn speaker(&self) -> Speaker<'_> {
        Speaker {
            session: self.source.session_id.as_deref().filter(|_| self.is_apart),
            agent: self.source.agent_id.as_deref(),
        }
    }

    /// What the event leaves to the session.
    fn missing(&self, event: &Event<'_>) -> Option<Missing> {
        let missing = self.stated.missing(event, self.speaker())?;
        let is_path = matches!(missing, Missing::File(_) | Missing::Link { .. });
        (!is_path || !self.keeps_paths).then_some(missing)
    }

    #[cold]
    fn refuse(&mut self, violation: Violation, pointer: Pointer<'_>) -> Seq {
        let error = match violation {
            Violation::Defect(expected) => self.defect(expected, "none"),
            Violation::ImpossibleRange => {
                self.defect_at(pointer, "lines that a file can have", "other numbers")
            }
        };
        self.fail(error);
        self.next_seq
    }

    /// The check must have refused the record ([`Check::gives`](crate::steps::Check::gives)).
    #[cold]
    fn refuse_unclaimed(&mut self, kind: Kind, pointer: Pointer<'_>) -> Seq {
        self.fail(self.defect_at(
            pointer,
            "only kinds of events that this form of the log has",
            kind.as_str(),
        ));
        self.next_seq
    }

    fn defect_at(&self, pointer: Pointer<'_>, expected: &str, found: &str) -> AdapterError {
        let mut error = AdapterError::new(ErrorCode::AdapterDefect)
            .expected(expected)
            .found(found);
        error.pointer = Some(format!("{}{pointer}", self.pointer_prefix));
        error.line = Some(self.line()).filter(|line| *line > 0);
        error
    }

    #[cold]
    fn exceed(&mut self, limit: LimitExceeded) -> Seq {
        self.fail(error_of(Fault::Limit(limit), self.line()));
        self.next_seq
    }
}
