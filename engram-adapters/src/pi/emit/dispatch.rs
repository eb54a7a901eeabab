//! Which handler a record has, and what stands before its events.

use engram_core::adapter::SessionInit;
use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::{Meta, Seq, SessionFacts};
use engram_core::ledger::Outcome;
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;

use super::assistant::assistant;
use super::entries;
use super::results::result;
use super::state::State;
use super::words::{custom_message, system, user};
use crate::pi::detect::Family;
use crate::pi::format::EntryKind;
use crate::pi::notes::{Notes, kind_of};
use crate::pi::plan::{Plan, plan};
use crate::pi::readers::{Entry, Message};
use crate::shared::log::LogEvents;
use crate::shared::stated::emit_facts;
use crate::shared::time::tape_time;
use crate::shared::value::{raw_str, text};

/// Emits the events of a session.
#[derive(Debug, Default)]
pub struct Events {
    plan: Plan,
    /// The last event so far, by record.
    ends: Vec<Option<Seq>>,
    state: State,
    /// The session and the call that started this one, if it is that of a sub-agent.
    started_by: StartedBy,
}

/// The session and the call that started another one.
type StartedBy = (Option<String>, Option<String>);

impl Events {
    /// Events of a session of this family.
    pub fn new(family: Family, init: &SessionInit<'_>) -> Events {
        let context = init.context;
        Events {
            state: State {
                has_patches: family == Family::OpenClaw,
                ..State::default()
            },
            started_by: (
                context.parent_session_id.clone(),
                context.parent_call_id.clone(),
            ),
            ..Events::default()
        }
    }
}

impl LogEvents<Notes> for Events {
    fn decide(&mut self, notes: &Notes) {
        self.plan = plan(notes);
        self.state.last_copy = self.plan.last_copy;
    }

    fn record(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        self.envelope(record, out);
        if let Some(to) = self.plan.back.get(&record.number)
            && let Some(to) = self.ends.get(*to).copied().flatten()
        {
            out.emit(Meta::Rewind { to, files: false }, Pointer::At("/parentId"));
        }
        if let Ok(kind) = kind_of(record.value) {
            self.entry(kind, record, out);
            if !out.has_events() {
                out.emit(Meta::system(kind.name(), None), Pointer::Root);
            }
        }
        self.ends.resize(record.number, out.last_seq());
        self.ends.push(out.last_seq());
        Outcome::Mapped
    }

    fn envelope(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) {
        let time = tape_time(record.value.member("timestamp"));
        let is_header = raw_str(record.value.member("type")) == EntryKind::Session.name();
        out.set_header(RecordHeader {
            t: time.as_deref(),
            id: text(record.value.member("id")).filter(|_| !is_header),
            replay: !is_header && self.state.is_copy(record.number),
        });
    }
}

impl Events {
    fn header(&self, record: &Record<'_>, out: &mut Emitter<'_>) {
        let (session, call) = &self.started_by;
        let started_by = SessionFacts {
            parent_session_id: session.as_deref().map(Text::Plain),
            parent_call_id: call.as_deref().map(Text::Plain),
            ..SessionFacts::default()
        };
        entries::header(record.value, self.plan.last_copy, started_by, out);
    }

    fn entry(&mut self, kind: EntryKind, record: &Record<'_>, out: &mut Emitter<'_>) {
        let entry = Entry::lenient(record.value);
        let message = Message::lenient_opt(entry.message());
        match kind {
            EntryKind::Session => self.header(record, out),
            EntryKind::ModelChange => {
                let facts = self.state.model(entry.model(), entry.provider(), None);
                emit_facts(facts, Pointer::Root, out);
            }
            EntryKind::ThinkingLevelChange => {
                emit_facts(
                    self.state.model(None, None, entry.level()),
                    Pointer::Root,
                    out,
                );
            }
            EntryKind::SessionInfo => entries::title(&entry, out),
            EntryKind::Label => entries::label(&entry, out),
            EntryKind::Custom => entries::custom(&entry, out),
            EntryKind::ContextEdit => entries::context_edit(kind.name(), &entry, out),
            EntryKind::CustomMessage => custom_message(&entry, out),
            EntryKind::Compaction => entries::summary(&entry, None, out),
            EntryKind::Reset => entries::reset(kind.name(), &entry, out),
            // The rewind is all.
            EntryKind::Leaf => {}
            EntryKind::BranchSummary => entries::summary(&entry, Some(kind.name()), out),
            EntryKind::Usage => entries::usage_alone(&entry, out),
            EntryKind::MessageSystem => system(&message, out),
            EntryKind::MessageCustom => entries::custom_of_message(&message, out),
            EntryKind::MessageUser => user(self.started_by.0.is_some(), &message, out),
            EntryKind::MessageAssistant => assistant(&mut self.state, record, &message, out),
            EntryKind::MessageToolResult => result(&mut self.state, record, &message, out),
            EntryKind::MessageBashExecution => entries::person_shell(&message, out),
        }
    }
}
