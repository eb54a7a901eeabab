//! Which handler a record has, and what stands before and behind its events.

use engram_core::adapter::{SessionInit, SideInfo};
use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::{Author, Meta, Seq, SessionFacts};
use engram_core::ledger::Outcome;
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;

use super::prompts::{Of, prompt, words};
use super::responses::response;
use super::results::result;
use super::state::State;
use super::system;
use super::telemetry;
use super::usage;
use crate::qwen::format::LineKind;
use crate::qwen::notes::{Notes, kind_of};
use crate::qwen::plan::{Plan, plan};
use crate::qwen::readers::{Line, Origin};
use crate::qwen::side_info::interface;
use crate::shared::log::LogEvents;
use crate::shared::stated::emit_facts;
use crate::shared::time::tape_time;
use crate::shared::value::{non_empty_text, text};

/// Emits the events of a session.
pub struct Events {
    plan: Plan,
    side_info: SideInfo,
    /// The last event before the first message, if there is one.
    root: Option<Seq>,
    /// The last event so far, by record.
    ends: Vec<Option<Seq>>,
    is_first: bool,
    state: State,
}

impl LogEvents<Notes> for Events {
    fn decide(&mut self, notes: &Notes) {
        self.plan = plan(notes);
    }

    fn record(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        self.envelope(record, out);
        let line = Line::lenient(record.value);
        if let Some(version) = text(line.version()) {
            out.version(&version.decode_lossy());
        }
        // Another version is no content of the line.
        let before = out.last_seq();
        self.facts(&line, out);
        if let Some(to) = self.plan.back.get(&record.number) {
            let to = to.map_or(self.root, |to| self.ends.get(to).copied().flatten());
            if let Some(to) = to {
                out.emit(
                    Meta::Rewind { to, files: false },
                    Pointer::At("/parentUuid"),
                );
            }
        }
        let outcome = match kind_of(record.value) {
            Ok(kind) => self.line(kind, record, &line, out),
            Err(_) => Outcome::Mapped,
        };
        self.ends.resize(record.number, out.last_seq());
        self.ends.push(out.last_seq());
        match outcome {
            // What the line says beside its own content is on the tape.
            _ if out.has_events() && out.last_seq() != before => Outcome::Mapped,
            outcome => outcome,
        }
    }

    fn envelope(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) {
        let line = Line::lenient(record.value);
        let time = tape_time(line.timestamp());
        out.set_header(RecordHeader {
            t: time.as_deref(),
            id: text(line.uuid()),
            replay: line.forked_from().is_some(),
        });
    }
}

impl Events {
    /// Nothing is decided yet.
    pub fn new(init: &SessionInit<'_>) -> Self {
        Events {
            plan: Plan::default(),
            side_info: init.context.clone(),
            root: None,
            ends: Vec::new(),
            is_first: true,
            state: State {
                interface: interface(init),
                ..State::default()
            },
        }
    }

    /// Facts about the session that are new in this line.
    fn facts(&mut self, line: &Line<'_>, out: &mut Emitter<'_>) {
        let stated = &mut self.state.stated;
        let mut facts = SessionFacts {
            cwd: stated.changed("cwd", line.cwd()),
            repo_branch: stated.changed("branch", line.branch()),
            model: stated.changed("model", line.model()),
            ..SessionFacts::default()
        };
        let side_info = self.side_info.clone();
        if std::mem::take(&mut self.is_first) && line.agent_id().is_some() {
            facts.agent = non_empty_text(line.agent_name());
            facts.parent_session_id = text(line.session_id());
            facts.parent_call_id = side_info.parent_call_id.as_deref().map(Text::Plain);
            facts.model = facts.model.or(side_info.model.as_deref().map(Text::Plain));
        }
        if let Some(copied) = line.forked_from().filter(|_| !self.state.is_fork_stated) {
            self.state.is_fork_stated = true;
            facts.fork_of = text(Origin::lenient(copied).session());
        }
        emit_facts(facts, Pointer::Root, out);
        if self.ends.is_empty() {
            self.root = out.last_seq();
        }
    }

    fn line(
        &mut self,
        kind: LineKind,
        record: &Record<'_>,
        line: &Line<'_>,
        out: &mut Emitter<'_>,
    ) -> Outcome {
        let state = &mut self.state;
        match kind {
            // In the place of the user of a sub-agent is another agent.
            LineKind::User if line.agent_id().is_some() => {
                words(line, Author::Agent, Of::Prompt, out);
            }
            LineKind::User => prompt(state, line, out),
            LineKind::UserMidTurnUserMessage => words(line, Author::Person, Of::Meanwhile, out),
            LineKind::UserNotification | LineKind::UserCron => {
                words(line, Author::Harness, Of::Prompt, out);
            }
            LineKind::Assistant => {
                response(state, record, line, out);
                if !self.plan.later.contains(&record.number) {
                    let request = state.request(record.number);
                    usage::of_line(line, &request, out);
                }
                if let Some(of) = self.plan.usages.get(&record.number) {
                    let request = state.request(*of);
                    usage::of_earlier(record, (*of, &request), out);
                }
            }
            LineKind::ToolResult => result(state, record, line, out),
            LineKind::SystemUiTelemetryQwenCodeApiResponse => {
                let counted = self.plan.counted.get(&record.number).copied();
                return telemetry::response(state, record, (kind.name(), counted), out);
            }
            LineKind::SystemUiTelemetryQwenCodeApiError => telemetry::error(record.value, out),
            LineKind::SystemUiTelemetryQwenCodeToolCall => {
                let counted = self.plan.counted.get(&record.number).copied();
                return telemetry::call(state, record, (kind.name(), counted), out);
            }
            LineKind::SystemRewind => {}
            LineKind::SystemCustomTitle => return system::title(state, line, out),
            LineKind::SystemChatCompression => system::compression(line, out),
            LineKind::SystemSlashCommand => system::command(state, line, out),
            LineKind::SystemAtCommand => system::files(line, out),
            LineKind::Omitted(outcome) => return outcome,
        }
        // The tokens of a response may stand behind a later line.
        if !out.has_events() && !self.plan.later.contains(&record.number) {
            let name = kind.name().rsplit('/').next().unwrap_or_default();
            out.emit(Meta::system(name, None), Pointer::Root);
        }
        Outcome::Mapped
    }
}
