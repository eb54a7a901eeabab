//! Which handler a line has, and what stands before its events.

use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::Meta;
use engram_core::ledger::Outcome;
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;

use super::state::{Connection, State};
use super::{calls, files, session, words};
use crate::acp::format::{LogKind, MessageKind};
use crate::acp::message::{Kind, agent_of, at, kind_of, session_of, time_of};
use crate::acp::plan::Plan;
use crate::shared::by_session::BySession;
use crate::shared::value::{Value, is_true, raw_str, text};

/// Emits the events of a connection.
pub struct Events {
    plan: Plan,
    connection: Connection,
    sessions: BySession<State>,
}

impl Default for Events {
    fn default() -> Self {
        Events {
            plan: Plan::default(),
            connection: Connection::default(),
            sessions: BySession::new(State::default(), State::default),
        }
    }
}

impl Events {
    /// Takes what was decided.
    pub fn decide(&mut self, plan: Plan) {
        self.plan = plan;
    }

    /// The events of a line that the check has accepted.
    pub fn record(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        self.envelope(record, out);
        match kind_of(record.value) {
            Ok(Kind::Log(kind)) => self.of_recorder(kind, record, out),
            Ok(Kind::Message(kind)) => self.message(kind, record, out),
            Ok(Kind::Answer) => self.answer(record, out),
            Ok(Kind::Plain(_) | Kind::Own) | Err(_) => plain(record, out),
        }
    }

    /// Time and session of a line, and whether it is history of a session that is loaded. A line without a session belongs to the one before.
    pub fn envelope(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) {
        let number = record.number;
        let other = match self.plan.requests.get(&number) {
            Some(request) => Some(*request),
            None => self.plan.begins.get(&number).copied(),
        };
        let mut other = other.and_then(|other| record.others.get(other));
        let of_other = other.as_mut().and_then(|other| other.value());
        // A fork names the session that it is made of; the answer names its own.
        let own = session_of(record.value);
        let session = match self.plan.begins.contains_key(&number) {
            true => of_other.and_then(session_of).or(own),
            false => own.or(of_other.and_then(session_of)),
        };
        if let Some(id) = text(session) {
            let id = id.decode_lossy();
            self.sessions.switch_to(&id);
            let agent = text(agent_of(record.value)).map(|agent| agent.decode_lossy());
            out.set_source(Some(&id), agent.as_deref());
        }
        out.set_header(RecordHeader {
            t: time_of(record.value).as_deref(),
            id: None,
            replay: self.plan.replays.contains_key(&number),
        });
    }

    /// A line of the recorder.
    fn of_recorder(
        &mut self,
        kind: LogKind,
        record: &Record<'_>,
        out: &mut Emitter<'_>,
    ) -> Outcome {
        if kind == LogKind::EngramAcp {
            self.connection.is_redacted = is_true(record.value.member("redacted"));
        }
        let json = Some(record.value.json());
        out.emit(Meta::system(kind.name(), json), Pointer::Root);
        Outcome::Mapped
    }

    fn message(
        &mut self,
        kind: MessageKind,
        record: &Record<'_>,
        out: &mut Emitter<'_>,
    ) -> Outcome {
        use MessageKind::*;
        let number = record.number;
        let state = self.sessions.current();
        match kind {
            New | Load | Resume | Fork => {
                session::begin(kind, record, self.plan.begins.contains_key(&number), out);
            }
            Prompt => words::prompt(state, record, out),
            Cancel => {
                // The answer to the prompt has the end of the turn.
                let event = match self.plan.answered_cancels.contains_key(&number) {
                    true => Meta::system(kind.name(), None),
                    false => Meta::Interrupt { text: None },
                };
                out.emit(event, Pointer::Root);
            }
            // It holds once the agent has answered.
            SetMode | SetModel | SetConfigOption => return plain(record, out),
            RequestPermission => {
                calls::ask(state, record, self.plan.call_at(number), out);
            }
            UpdateUserMessageChunk | UpdateAgentMessageChunk | UpdateAgentThoughtChunk => {
                let piece = self.plan.pieces.get(&number);
                return words::piece(state, record, (kind, piece), out);
            }
            UpdateToolCall | UpdateToolCallUpdate => {
                if let Some(plan) = self.plan.call_at(number) {
                    return calls::update((&self.connection, state), record, plan, out);
                }
            }
            UpdatePlan => {
                let entries = at(record.value, "m/params/update/entries").map(Value::json);
                out.emit(
                    Meta::system("plan", entries),
                    Pointer::At("/m/params/update"),
                );
            }
            UpdateCurrentModeUpdate | UpdateConfigOptionUpdate | UpdateSessionInfoUpdate => {
                return session::changed(kind, state, record, out);
            }
            UpdateUsageUpdate => {
                let is_same = self.plan.same_usage.contains_key(&number);
                let is_history = self.plan.replays.contains_key(&number);
                return session::context(state, record, (is_same, is_history), out);
            }
            Omitted(outcome) => return outcome,
        }
        Outcome::Mapped
    }

    /// An answer, by the method of its request.
    fn answer(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        let number = self.plan.requests.get(&record.number);
        let asked_about = number.and_then(|number| self.plan.call_at(*number));
        let mut request = number.and_then(|number| record.others.get(*number));
        let request = request.as_mut().and_then(|request| request.value());
        let method = request.map_or("", |request| raw_str(at(request, "m/method")));
        if let Some(error) = at(record.value, "m/error") {
            match method {
                // An agent asks for files that are not there, such as instructions.
                "fs/read_text_file" => {
                    let error = Meta::system(method, Some(error.json()));
                    out.emit(error, Pointer::At("/m/error"));
                }
                _ => session::error(record, out),
            }
            return Outcome::Mapped;
        }
        let state = self.sessions.current();
        match (method, request) {
            ("initialize", _) => session::agent(&mut self.connection, record, out),
            ("session/new" | "session/load" | "session/resume" | "session/fork", _) => {
                session::began(&self.connection, state, record, out);
            }
            (
                "session/set_mode" | "session/set_model" | "session/set_config_option",
                Some(request),
            ) => {
                session::chosen(state, record, request, out);
                if !out.has_events() {
                    return session::result(method, record, out);
                }
            }
            ("fs/read_text_file" | "fs/write_text_file", Some(request)) => {
                let is_new = self.plan.writes.contains_key(&record.number);
                files::by_client((&self.connection, state), request, is_new, out);
                if !out.has_events() {
                    return session::result(method, record, out);
                }
            }
            ("session/prompt", _) => session::turn_end(&self.connection, state, record, out),
            ("session/request_permission", Some(question)) => {
                calls::decided(state, record, (question, asked_about), out);
            }
            _ => return session::result(method, record, out),
        }
        Outcome::Mapped
    }
}

/// A request or a notice of which the tape has the parameters.
fn plain(record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
    let name = text(at(record.value, "m/method")).unwrap_or(Text::Plain("message"));
    let params = at(record.value, "m/params").map(Value::json);
    out.emit(Meta::system(name, params), Pointer::At("/m/params"));
    Outcome::Mapped
}
