//! The events of each record: headers, changes, messages and notices.

use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::{ImplicitInput, Meta, Seq, SessionFacts};
use engram_core::keys::hash64;
use engram_core::ledger::Outcome;
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;

use super::state::{Events, set_header};
use crate::gemini::format::{ChangeKind, HeaderKind, MessageKind, SavedKind, rule};
use crate::gemini::notes::Note;
use crate::gemini::readers::{
    FunctionResponse, Line, SavedTurn, Scratchpad, StreamLine, TypedPrompt,
};
use crate::gemini::schema::{CANCELLED, Form, parts};
use crate::shared::value::{Field, Value, elements, non_empty_text, raw_str, text};

/// One message, as its handlers get it.
pub(super) struct Message<'m> {
    pub line: Line<'m>,
    /// The field with the content: `/content`, in a saved conversation `/parts`.
    pub path: &'static str,
    pub in_history: bool,
}

impl Events {
    /// Sets time and id of a record that is kept as it is.
    pub fn envelope(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) {
        let member = |name| record.value.member(name);
        set_header(
            member("timestamp").or(member("startTime")),
            member("id").filter(|_| self.form != Form::Stream),
            out,
        );
    }

    /// Step 3 of one record.
    pub fn record(&mut self, record: &Record<'_>, out: &mut Emitter<'_>) -> Outcome {
        self.number = record.number;
        self.plan.begin(record.number);
        let outcome = match self.form {
            Form::Stream => self.stream_line(record, &StreamLine::lenient(record.value), out),
            Form::TypedPrompts => self.typed_prompt(&TypedPrompt::lenient(record.value), out),
            Form::Saved => self.saved_turn(&SavedTurn::lenient(record.value), out),
            Form::Lines => self.line(&Line::lenient(record.value), out),
            Form::Document if record.base.is_root() => {
                self.header(&Line::lenient(record.value), out)
            }
            Form::Document => {
                self.message(Line::lenient(record.value), rule::MESSAGE_REWRITTEN, out)
            }
        };
        self.end_response(out);
        if let Some(id) = self.open_point.take() {
            self.rewind_points.insert(id, out.last_seq());
        }
        outcome
    }

    fn line(&mut self, line: &Line<'_>, out: &mut Emitter<'_>) -> Outcome {
        if let Some(changes) = line.changes() {
            self.changes(changes, out)
        } else if let Some(to) = line.rewind_to() {
            self.plan.is_new();
            set_header(line.timestamp(), None, out);
            let rewind = match self.point_of(Some(hash64(to.raw()))) {
                Some(to) => Meta::Rewind { to, files: false },
                None => Meta::system("rewind", to.text()),
            };
            out.emit(rewind, "/$rewindTo");
            Outcome::Mapped
        } else if line.kind().is_some() {
            self.message(*line, rule::MESSAGE_REWRITTEN, out)
        } else {
            self.header(line, out)
        }
    }

    /// The last event that holds if a person goes back to this message.
    fn point_of(&self, message: Option<u64>) -> Option<Seq> {
        self.rewind_points.get(&message?).copied().flatten()
    }

    /// A header: the first line, or a document without its messages.
    #[cold]
    fn header(&mut self, header: &Line<'_>, out: &mut Emitter<'_>) -> Outcome {
        set_header(header.start_time(), None, out);
        self.is_subagent = HeaderKind::named(raw_str(header.role())) == Some(HeaderKind::Subagent);
        let is_first = !std::mem::replace(&mut self.has_header, true);
        self.switch_to(header.session_id(), out);
        if !is_first && header.directories().is_none() && header.summary().is_none() {
            out.emit(Meta::system("resumed", None), Pointer::Root);
            return Outcome::Mapped;
        }
        let side_info = self.side_info.clone();
        let mut facts = SessionFacts::default();
        if is_first {
            facts.parent_session_id = side_info.parent_session_id.as_deref().map(Text::Plain);
            facts.parent_call_id = side_info.parent_call_id.as_deref().map(Text::Plain);
            facts.agent = side_info.agent.as_deref().map(Text::Plain);
            facts.cwd = side_info.cwd.as_deref().map(Text::Plain);
        }
        self.session_facts(facts, header, true, out);
        if let Some(scratchpad) = header.scratchpad() {
            emit_scratchpad(scratchpad, Pointer::At("/memoryScratchpad"), out);
        }
        Outcome::Mapped
    }

    /// What a header says, or a change of it.
    #[cold]
    fn session_facts<'f>(
        &self,
        mut facts: SessionFacts<'f>,
        header: &Line<'f>,
        is_header: bool,
        out: &mut Emitter<'_>,
    ) {
        let (summary_at, directories_at) = if is_header {
            ("/summary", "/directories")
        } else {
            ("/$set/summary", "/$set/directories")
        };
        let directories: Vec<Text<'_>> = elements(header.directories())
            .filter_map(Value::text)
            .collect();
        // The first directory is the working directory; the user added the others.
        facts.cwd = directories.first().copied().or(facts.cwd);
        let summary = non_empty_text(header.summary());
        // The summary of a sub-agent is what it returns, not a title.
        facts.title = summary.filter(|_| !self.is_subagent);
        if is_header || facts.cwd.is_some() || facts.title.is_some() {
            out.emit(Meta::Session(facts), Pointer::Root);
        }
        if let Some(summary) = summary.filter(|_| self.is_subagent) {
            let system = Meta::system("summary", Some(summary));
            out.emit(system, Pointer::At(summary_at));
        }
        for (n, directory) in directories.iter().enumerate().skip(1) {
            let name = Text::Plain("directory");
            let input = ImplicitInput {
                name,
                file: Some(*directory),
                hash: None,
                bytes: None,
                text: None,
            };
            out.emit(Meta::Context(input), Pointer::Item(directories_at, n));
        }
    }

    /// True if the following events belong to another session than the ones before.
    fn switch_to(&mut self, session_id: Field<'_>, out: &mut Emitter<'_>) -> bool {
        let Some(session_id) = text(session_id).map(|id| id.decode_lossy()) else {
            return false;
        };
        if self.session_id.as_deref() == Some(&*session_id) {
            return false;
        }
        out.set_source(Some(&*session_id), self.is_subagent.then_some(&*session_id));
        self.session_id = Some(session_id.into_owned());
        true
    }

    /// A `$set` line: what the harness changes in the header and the history.
    fn changes(&mut self, changes: Value<'_>, out: &mut Emitter<'_>) -> Outcome {
        let mut members = changes.members();
        let Some(kind) = members.next().and_then(|(name, _)| ChangeKind::named(name)) else {
            return Outcome::Mapped;
        };
        let record = kind.name();
        if kind == ChangeKind::LastUpdated && members.next().is_none() {
            return Outcome::bookkeeping(record, rule::SESSION_CLOCK);
        }
        let (set, time) = (Line::lenient(changes), changes.member("lastUpdated"));
        if set.summary().is_some() || set.directories().is_some() {
            set_header(time, None, out);
            self.session_facts(SessionFacts::default(), &set, false, out);
        }
        if let Some(scratchpad) = set.scratchpad() {
            set_header(time, None, out);
            emit_scratchpad(scratchpad, Pointer::At("/$set/memoryScratchpad"), out);
        }
        if set.session_id().is_some() && self.switch_to(set.session_id(), out) {
            set_header(time, None, out);
            out.emit(Meta::Session(SessionFacts::default()), "/$set/sessionId");
        }
        if let Some(messages) = set.messages().filter(|messages| !messages.is_empty_list()) {
            if let Some(to) = self.point_of(self.plan.rewinds.get(&self.number).copied()) {
                set_header(time, None, out);
                out.emit(Meta::Rewind { to, files: false }, "/$set/messages");
            }
            // Only what the log does not have yet is new; nothing is taken back.
            for (n, message) in messages.elements().enumerate() {
                out.set_pointer_prefix(Pointer::Item("/$set/messages", n));
                self.message_events(Line::lenient(message), out);
            }
            return self.outcome(record, rule::HISTORY_RESTATED, out);
        }
        let rule = match kind {
            _ if out.has_events() => return Outcome::Mapped,
            ChangeKind::SessionId => rule::SESSION_SAME_ID,
            ChangeKind::LastUpdated => rule::SESSION_CLOCK,
            ChangeKind::Messages | ChangeKind::Summary | ChangeKind::Directories => {
                rule::MESSAGE_EMPTY
            }
            ChangeKind::MemoryScratchpad => rule::MESSAGE_EMPTY,
        };
        Outcome::bookkeeping(record, rule)
    }

    /// A message that is a record of its own.
    fn message(
        &mut self,
        line: Line<'_>,
        repeated: &'static str,
        out: &mut Emitter<'_>,
    ) -> Outcome {
        let (record, in_history) = self.message_events(line, out);
        let repeated = if in_history {
            rule::HISTORY_RELOGGED
        } else {
            repeated
        };
        self.outcome(record, repeated, out)
    }

    /// The outcome of a record: mapped if it gives events, else a duplicate if something in it was given before, else without content.
    fn outcome(&self, record: &'static str, repeated: &'static str, out: &Emitter<'_>) -> Outcome {
        let gives_usage = self.open_usages.contains_key(&self.number);
        if out.has_events() || gives_usage {
            Outcome::Mapped
        } else if self.plan.has_repeats {
            Outcome::duplicate(record, repeated)
        } else {
            Outcome::bookkeeping(record, rule::MESSAGE_EMPTY)
        }
    }

    /// Emits a message. Returns its type, and whether it is part of a history.
    fn message_events(&mut self, line: Line<'_>, out: &mut Emitter<'_>) -> (&'static str, bool) {
        let (note, decision) = self.plan.next_note();
        let before = out.last_seq();
        set_header(line.timestamp(), line.id(), out);
        let message = Message {
            line,
            path: "/content",
            in_history: decision.in_history,
        };
        let Some(kind) = MessageKind::named(raw_str(line.kind())) else {
            return ("", decision.in_history);
        };
        match kind {
            MessageKind::Gemini => self.turn(&message, out),
            MessageKind::User => self.user(&message, out),
            MessageKind::Info | MessageKind::Warning | MessageKind::Error => {
                self.notice(kind, &message, out)
            }
        }
        if let Note::Message { id, .. } = note
            && let Some(point @ None) = self.rewind_points.get_mut(&id)
        {
            let is_new = out.last_seq() != before;
            // What a history only repeats has no place of its own, but the response of a call stands behind the call.
            *point = match decision.in_history && !is_new {
                true => last_call_of(&line, out),
                false => before,
            };
            // The usage of the response before it may stand behind this record.
            self.open_point = Some(id).filter(|_| !decision.in_history && !is_new);
        }
        (kind.name(), decision.in_history)
    }

    /// A notice of the terminal: an information, a warning, an error, a cancellation.
    #[cold]
    fn notice(&mut self, kind: MessageKind, message: &Message<'_>, out: &mut Emitter<'_>) {
        let text = non_empty_text(message.line.content());
        if !self.plan.is_new() {
            return;
        }
        let event = match kind {
            MessageKind::Error => Meta::error(None, text),
            _ if text.is_some_and(|text| CANCELLED.iter().any(|notice| text.eq_str(notice))) => {
                Meta::Interrupt { text }
            }
            _ => Meta::system(kind.name(), text),
        };
        out.emit(event, "/content");
    }

    /// A turn of a saved conversation, as the message that it would be in a log.
    fn saved_turn(&mut self, turn: &SavedTurn<'_>, out: &mut Emitter<'_>) -> Outcome {
        let texts = || {
            parts(turn.parts())
                .filter_map(|part| part.text().or(part.call()?.member("id")))
                .filter_map(Value::text)
        };
        if let Some(text) = texts().next() {
            self.is_saved_copy = self
                .side_info
                .side_files
                .as_ref()
                .is_some_and(|files| files.has_text(None, text.raw()));
        }
        out.set_header(RecordHeader {
            replay: self.is_saved_copy,
            ..RecordHeader::default()
        });
        let message = Message {
            line: Line::of_turn(turn),
            path: "/parts",
            in_history: false,
        };
        self.plan.next_note();
        let Some(kind) = SavedKind::named(raw_str(turn.role())) else {
            return Outcome::Mapped;
        };
        match kind {
            SavedKind::User => self.user(&message, out),
            SavedKind::Model => {
                self.plan.next_note();
                self.model_content(&message, out);
            }
        }
        if out.has_events() {
            Outcome::Mapped
        } else {
            Outcome::bookkeeping(kind.name(), rule::MESSAGE_EMPTY)
        }
    }
}

/// The last call that has a response in this message.
#[cold]
fn last_call_of(message: &Line<'_>, out: &Emitter<'_>) -> Option<Seq> {
    let responses = parts(message.content()).filter_map(|part| part.response());
    responses
        .filter_map(|response| out.seq_of_call(text(FunctionResponse::lenient(response).id())?))
        .max()
}

/// Emits the summary that the harness makes of the calls of the session.
#[cold]
fn emit_scratchpad(scratchpad: Value<'_>, place: Pointer<'_>, out: &mut Emitter<'_>) {
    let summary = non_empty_text(Scratchpad::lenient(scratchpad).summary());
    let event = Meta::system("memory_scratchpad", summary);
    out.emit(event, place);
}
