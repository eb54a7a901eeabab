//! Which handler a record has, and what stands before and behind its events.

use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::Meta;
use engram_core::keys::hash64;
use engram_core::ledger::Outcome;
use engram_core::steps::{Emitter, Record};

use super::files::TurnFiles;
use super::state::State;
use super::{answers, edits, prompts, results, session, usage};
use crate::copilot::format::EventKind;
use crate::copilot::notes::{Notes, agent_of, is_rewind, kind_of};
use crate::copilot::plan::{Plan, plan};
use crate::copilot::readers::Event;
use crate::copilot::snapshots::Snapshots;
use crate::shared::log::LogEvents;
use crate::shared::time::tape_time;
use crate::shared::value::{Value, raw_str, text};

/// Emits the events of a session.
pub struct Events {
    plan: Plan,
    state: State,
}

impl LogEvents<Notes> for Events {
    fn decide(&mut self, notes: &Notes) {
        self.plan = plan(notes, self.state.snapshots.all());
    }

    fn record(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        self.envelope(record, out);
        let data = record.value.member("data");
        let (Ok(kind), Some(data)) = (kind_of(record.value), data) else {
            return Outcome::Mapped;
        };
        if let Some(turn) = self.plan.turns.get(&record.number) {
            self.state.turn = TurnFiles::begin(turn, &self.state.snapshots, record.others);
        }
        let outcome = self.event(kind, record, data, out);
        let is_silent = outcome == Outcome::Mapped
            && !out.has_events()
            && !self.plan.placed.contains_key(&record.number);
        if is_silent {
            let name = raw_str(record.value.member("type"));
            out.emit(Meta::system(name, None), Pointer::Root);
        }
        self.counts(record, out);
        let prompt = self.plan.ends.get(&record.number);
        if let Some(turn) = prompt.and_then(|prompt| self.plan.turns.get(prompt)) {
            edits::others(&self.state, turn, record, out);
        }
        outcome
    }

    fn envelope(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) {
        let agent = agent_of(record.value).map(|agent| agent.decode_lossy());
        self.state.speaker = hash64(agent.as_deref());
        out.set_source(self.state.session.as_deref(), agent.as_deref());
        self.with_header((record.number, record.value), |header| {
            out.set_header(header)
        });
    }
}

impl Events {
    /// Events of the session with this id, with its snapshots.
    pub fn new(session: Option<String>, snapshots: Snapshots) -> Events {
        Events {
            plan: Plan::default(),
            state: State {
                session,
                snapshots,
                ..State::default()
            },
        }
    }

    fn with_header(
        &self,
        (number, value): (usize, Value<'_>),
        then: impl FnOnce(RecordHeader<'_>),
    ) {
        let event = Event::lenient(value);
        let time = tape_time(event.timestamp());
        let is_start = raw_str(value.member("type")) == EventKind::SessionStart.name();
        let fork = self.plan.fork;
        then(RecordHeader {
            t: time.as_deref(),
            // The start of a fork has the id of the other session's start.
            id: text(event.id()).filter(|_| !is_start || fork.is_none()),
            replay: !is_start && fork.is_some_and(|fork| number < fork),
        });
    }

    fn event(
        &mut self,
        kind: EventKind,
        record: &Record<'_>,
        data: Value<'_>,
        out: &mut Emitter<'_>,
    ) -> Outcome {
        let state = &mut self.state;
        match kind {
            EventKind::Omitted(outcome) => return outcome,
            EventKind::SessionStart | EventKind::SessionResume => session::facts(state, data, out),
            EventKind::SessionModelChange | EventKind::SubagentConfigured => {
                return session::changes(state, kind.name(), data, out);
            }
            EventKind::SessionContextChanged => session::context(state, data, out),
            EventKind::SessionShutdown => {
                let sums = self.plan.sums.get(&record.number).copied();
                session::shutdown(state, data, sums, out);
            }
            EventKind::SessionUsageRecord => {
                usage::note(state, data);
                if !self.plan.placed.contains_key(&record.number) {
                    usage::of_requests(data, "usage", out);
                }
            }
            EventKind::SessionError => session::error("error", data, out),
            EventKind::SessionInfo | EventKind::SessionWarning => {
                if is_rewind(data) {
                    let to = out.last_seq();
                    let cut = self.plan.cut.get(&record.number).into_iter().flatten();
                    cut.for_each(|snapshot| edits::cut(state, *snapshot, out));
                    session::rewind(data, to, out);
                }
                let is_fork = self.plan.fork == Some(record.number);
                session::notice(data, is_fork, out);
            }
            EventKind::SessionCompactionComplete => session::compaction(data, out),
            EventKind::SessionBinaryAsset => results::asset(state, data, out),
            EventKind::SubagentStarted => session::agent(state, data, out),
            EventKind::SubagentFailed => session::error("subagent", data, out),
            EventKind::HookEnd => return session::hook(data, out),
            EventKind::PermissionRequested => session::asks(state, data, out),
            EventKind::PermissionCompleted => session::answers(state, data, out),
            EventKind::Abort => session::abort(data, out),
            EventKind::UserMessage => {
                let is_of_agent = agent_of(record.value).is_some();
                prompts::prompt(state, data, is_of_agent, out);
            }
            EventKind::SystemMessage => prompts::system(data, out),
            EventKind::SystemNotification => prompts::notice(data, out),
            EventKind::SkillInvoked => prompts::skill(data, out),
            EventKind::AssistantMessage => answers::answer(data, out),
            EventKind::ToolExecutionStart => {
                answers::opens(state, record, data);
                return self.begins(record.number, data, out);
            }
            EventKind::ToolUserRequested => results::person_shell(data, out),
            EventKind::ToolExecutionComplete => results::result(state, record, data, out),
        }
        Outcome::Mapped
    }

    /// A call begins. A response has it already, unless a person made it.
    fn begins(&self, number: usize, data: Value<'_>, out: &mut Emitter<'_>) -> Outcome {
        if self.plan.repeated.contains_key(&number) {
            return Outcome::duplicate("tool.execution_start", "call.started");
        }
        match self.plan.rewritten.contains_key(&number) {
            true => answers::rewritten(data, out),
            false => answers::begins(data, out),
        }
        Outcome::Mapped
    }

    /// The counts of the response that ends with this record. The log has them before it.
    fn counts(&self, record: &Record<'_>, out: &mut Emitter<'_>) {
        for number in self.plan.counts.get(&record.number).into_iter().flatten() {
            let Some(mut again) = record.others.get(*number) else {
                continue;
            };
            if let Some(value) = again.value()
                && let Some(data) = value.member("data")
            {
                self.with_header((*number, value), |header| {
                    out.of_record(*number, header, |out| {
                        usage::of_requests(data, "usage", out)
                    });
                });
            }
        }
    }
}
