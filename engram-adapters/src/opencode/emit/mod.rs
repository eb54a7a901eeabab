//! Step 3: from records and their decisions to events.

mod call_events;
mod last_notices;
mod last_stated;
mod later_calls;
mod message_context;
mod messages;
mod parts;
mod replay;
mod revert;
mod session_end;
mod session_info;
mod session_state;
mod step_info;
mod step_messages;
mod step_parts;
mod system_events;
mod titles;
mod typed;
mod usage;

use std::collections::BTreeSet;

use engram_core::adapter::SessionInit;
use engram_core::emit::Pointer;
use engram_core::ledger::Outcome;
use engram_core::steps::{Emitter, Record};

use super::format::{InfoKind, LineKind, rule};
use super::notes::{Note, Place};
use super::plan::{Decision, Files, decide};
use super::readers::{Envelope, Line, Part, StepMessage, StepPart, StepTime, Time};
use crate::shared::value::{Value, integer, raw_str, text};
use message_context::{LastMessage, MessageContext};
use parts::PartRecord;
use session_state::SessionState;
use step_messages::StepRecord;
use step_parts::StepPartRecord;
use typed::emit_typed;

/// Emits the events of records by their decisions.
pub struct Events {
    state: SessionState,
    notes: Vec<Note>,
    decisions: Vec<Decision>,
    files: Files,
    /// The next note.
    at: usize,
    message: LastMessage,
    /// The messages after whose parts something stands, by the numbers of their records.
    has_end: BTreeSet<usize>,
}

impl Events {
    pub fn new(init: &SessionInit<'_>) -> Self {
        let state = SessionState::new(init);
        Events {
            state,
            notes: Vec::new(),
            decisions: Vec::new(),
            files: Files::new(),
            at: 0,
            message: LastMessage::default(),
            has_end: BTreeSet::new(),
        }
    }

    /// Takes the notes of all records.
    pub fn decide(&mut self, notes: Vec<Note>) {
        (self.decisions, self.files) = decide(&notes);
        self.has_end = notes
            .iter()
            .filter(|note| note.has_end)
            .map(|note| note.message as usize)
            .collect();
        self.notes = notes;
    }

    /// Emits a record.
    pub fn record(&mut self, record: &Record<'_>, place: Place, out: &mut Emitter<'_>) -> Outcome {
        let Some((note, decision)) = self
            .notes
            .get(self.at)
            .copied()
            .zip(self.decisions.get(self.at).copied())
        else {
            return Outcome::Mapped;
        };
        self.at += 1;
        self.state.decision = decision;
        self.state.files = self.files.remove(&record.number).unwrap_or_default();
        self.reach(record, place, out);
        let converted = match place {
            Place::Info if note.record == InfoKind::Session.name() => {
                session_info::session_info(&mut self.state, record.value, out)
            }
            Place::Info => step_info::session_info(&mut self.state, record.value, out),
            Place::Message { has_step_finish } => {
                self.message(record, has_step_finish, decision.is_repeat, out)
            }
            Place::Step => self.step(record, decision.is_repeat, out),
            _ if decision.is_repeat => Outcome::Mapped,
            Place::Part { message, .. } => self.part(record, message, out),
            Place::StepPart { message, .. } => self.step_part(record, message, out),
            Place::Line => self.line(record, out),
            Place::Broken | Place::Other(_) => Outcome::Mapped,
        };
        let is_empty = converted == Outcome::Mapped && !out.has_events() && !note.has_end;
        if let Some(message) = decision.ends {
            self.message_end(message as usize, record, out);
        }
        if decision.ends.is_some() || self.at == self.notes.len() {
            emit_typed(&mut self.state.typed, out);
        }
        if self.at == self.notes.len() {
            session_end::session_end(&mut self.state, out);
        }
        match converted {
            // A later state of a call that says nothing new.
            _ if decision.is_repeat || is_empty => {
                Outcome::duplicate(note.record, rule::RECORD_REPEATED)
            }
            converted => converted,
        }
    }

    /// Time, id and session of a record that the check did not accept.
    pub fn envelope(&mut self, record: &Record<'_>, place: Place, out: &mut Emitter<'_>) {
        self.reach(record, place, out);
        match place {
            Place::Line => self.set_line(&Line::lenient(record.value), out),
            Place::Part { message, .. } => {
                let part = Part::lenient(record.value);
                let (state, message) = (&mut self.state, self.message.context(message));
                PartRecord {
                    number: record.number,
                    part: &part,
                    message: &message,
                    pointer: Pointer::Root,
                    others: record.others,
                }
                .set_header(&mut state.clock, out);
            }
            Place::Message { .. } => {
                let id = record.value.member("id");
                let created = record
                    .value
                    .member("time")
                    .and_then(|time| integer(time.member("created")));
                MessageContext::default().set_header(created, id, &mut self.state.clock, out);
            }
            _ => {}
        }
    }

    /// Notes where a person went back to.
    fn reach(&mut self, record: &Record<'_>, place: Place, out: &mut Emitter<'_>) {
        let id = raw_str(record.value.member("id"));
        self.state.titles.reach(id, out);
        match place {
            Place::Message { .. } | Place::Step => {
                self.state.undone.reach(id, out);
                self.state.revert.reach(id, out);
            }
            Place::Part { .. } => {
                self.state.undone.reach_part(id, out);
                self.state.revert.reach_part(id, out);
            }
            _ => {}
        }
    }

    fn message(
        &mut self,
        record: &Record<'_>,
        has_step_finish: bool,
        is_repeat: bool,
        out: &mut Emitter<'_>,
    ) -> Outcome {
        let mut envelope = Envelope::default();
        if envelope.fill_message(record.value).is_err() {
            return Outcome::Mapped;
        }
        let state = &mut self.state;
        let context = MessageContext::of(&envelope, has_step_finish, &state.replay);
        let completed = integer(Time::lenient_opt(envelope.time()).completed());
        self.message = LastMessage::of(
            record.number,
            &context,
            envelope.tool().is_some(),
            state.decision.stated,
            completed,
        );
        if is_repeat {
            return Outcome::Mapped;
        }
        context.set_header(
            integer(Time::lenient_opt(envelope.time()).created()),
            envelope.id(),
            &mut state.clock,
            out,
        );
        messages::message(state, &envelope, &context, out)
    }

    fn step(&mut self, record: &Record<'_>, is_repeat: bool, out: &mut Emitter<'_>) -> Outcome {
        let state = &mut self.state;
        let view = StepMessage::lenient(record.value);
        let context = MessageContext::of_step(&view, &state.replay);
        let completed = integer(StepTime::lenient_opt(view.time()).completed())
            .filter(|_| raw_str(view.kind()) == "assistant");
        self.message = LastMessage::of(
            record.number,
            &context,
            false,
            state.decision.stated,
            completed,
        );
        if is_repeat {
            return Outcome::Mapped;
        }
        context.set_header(
            integer(StepTime::lenient_opt(view.time()).created()),
            view.id(),
            &mut state.clock,
            out,
        );
        step_messages::step(
            state,
            &StepRecord {
                message: &view,
                context: &context,
                pointer: Pointer::Root,
            },
            out,
        )
    }

    fn part(&mut self, record: &Record<'_>, message: u32, out: &mut Emitter<'_>) -> Outcome {
        let part = Part::lenient(record.value);
        let context = self.message.context(message);
        let part = PartRecord {
            number: record.number,
            part: &part,
            message: &context,
            pointer: Pointer::Root,
            others: record.others,
        };
        part.set_header(&mut self.state.clock, out);
        parts::part(&mut self.state, &part, out)
    }

    fn step_part(&mut self, record: &Record<'_>, message: u32, out: &mut Emitter<'_>) -> Outcome {
        let part = StepPart::lenient(record.value);
        let context = self.message.context(message);
        let part = StepPartRecord {
            part: &part,
            message: &context,
            pointer: Pointer::Root,
        };
        part.set_header(&mut self.state, out);
        step_parts::part(&mut self.state, &part, out)
    }

    /// A line of a stream.
    fn line(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        let line = Line::lenient(record.value);
        self.set_line(&line, out);
        let kind = LineKind::named(raw_str(line.kind()));
        if let Some(error) = line.error().filter(|_| kind == Some(LineKind::Error)) {
            system_events::emit_error(error, Pointer::At("/error"), out);
            return Outcome::Mapped;
        }
        let part = Part::lenient_opt(line.part());
        let context = MessageContext::of_line(&line, &part);
        let part = PartRecord {
            number: record.number,
            part: &part,
            message: &context,
            pointer: Pointer::At("/part"),
            others: record.others,
        };
        part.set_header(&mut self.state.clock, out);
        match (kind, parts::part(&mut self.state, &part, out)) {
            (Some(LineKind::Omitted(omitted)), Outcome::Bookkeeping { .. }) => omitted,
            (_, outcome) => outcome,
        }
    }

    /// Sets the session and the time of a line. Nothing that one session says reaches another.
    fn set_line(&mut self, line: &Line<'_>, out: &mut Emitter<'_>) {
        if let Some(session) = text(line.session_id()).map(|id| id.decode_lossy()) {
            out.set_source(Some(&*session), None);
        }
        MessageContext {
            printed_at: integer(line.timestamp()),
            ..MessageContext::default()
        }
        .set_header(None, None, &mut self.state.clock, out);
    }

    /// What stands after the parts of a message: what it cost, and how it ended. Later records without a time have that of the end.
    fn message_end(&mut self, number: usize, record: &Record<'_>, out: &mut Emitter<'_>) {
        let context = self.message.context(number as u32);
        let stated = self.message.stated;
        if self.has_end.contains(&number) {
            let mut again = record.others.get(number);
            if let Some(value) = again.as_mut().and_then(|again| again.value()) {
                end_of(value, number, &context, stated, &mut self.state, out);
            }
        }
        if self.message.completed.is_some() {
            context.set_header(self.message.completed, None, &mut self.state.clock, out);
        }
    }
}

/// Emits the end of the message whose record is `value`.
fn end_of(
    value: Value<'_>,
    number: usize,
    context: &MessageContext<'_>,
    stated: [bool; 3],
    state: &mut SessionState,
    out: &mut Emitter<'_>,
) {
    let dialect = state.dialect;
    if value.first_member("role").is_none() {
        let message = StepMessage::lenient(value);
        let completed = integer(StepTime::lenient_opt(message.time()).completed());
        let header = context.header(completed, message.id(), &mut state.clock);
        let record = StepRecord {
            message: &message,
            context,
            pointer: Pointer::Root,
        };
        out.of_record(number, header, |out| {
            step_messages::answer_end(&record, stated, out)
        });
        return;
    }
    let mut envelope = Envelope::default();
    if envelope.fill_message(value).is_ok() {
        let completed = integer(Time::lenient_opt(envelope.time()).completed());
        let header = context.header(completed, envelope.id(), &mut state.clock);
        out.of_record(number, header, |out| {
            messages::message_end(&envelope, context, stated, dialect, out)
        });
    }
}
